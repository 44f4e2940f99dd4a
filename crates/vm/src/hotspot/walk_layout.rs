//! The layout that the stack walker wants, as this VM has it.

use hprof_walker::Machine;
use hprof_walker::layout::{
    AnchorLayout, BlobLayout, EntryLayout, Integer, InterpretedLayout, Layout, Metadata,
    MethodLayout, NmethodLayout, PcDescLayout, Start, UpcallLayout,
};

use super::releases::layout::{
    AARCH64_CALL_WRAPPER, CONTINUATION_BLOB, Constant, FREE_SEGMENT, Field, METHOD_BLOBS,
    NATIVE_METHOD, SHORT_TYPES, Type, UPCALL_BLOB, interpreted,
};
use super::stack_key::interpreter;
use crate::{Release, VmStructs};

/// Learns the layout. `None` when this VM does not tell all of it.
pub(super) fn learn(structs: VmStructs, release: Release) -> Option<Layout> {
    Some(Layout {
        machine: Machine::HERE?,
        blob: blob(structs)?,
        nmethod: nmethod(structs, release)?,
        method: method(structs)?,
        interpreted: InterpretedLayout {
            code: interpreter(structs)?,
            caller_pc: interpreted::CALLER_PC,
            caller_fp: interpreted::CALLER_FP,
            caller_sp: interpreted::CALLER_SP,
            method: interpreted::METHOD,
            bytecode: release.interpreted_bytecode(),
            locals: release.interpreted_locals(),
        },
        entry: EntryLayout {
            return_pc: {
                let stub = structs.address(Field::CallStubReturn)?;
                // SAFETY: the static field holds what vmStructs.cpp says, an address.
                unsafe { *(stub as *const usize) }
            },
            call_wrapper: call_wrapper(structs)?,
            anchor: structs.offset(Field::CallAnchor)?,
        },
        upcall: upcall(structs),
        anchor: AnchorLayout {
            sp: structs.offset(Field::AnchorSp)?,
            pc: structs.offset(Field::AnchorPc)?,
            fp: structs.offset(Field::AnchorFp)?,
        },
    })
}

/// Words from the frame pointer of an entry frame to the address of the VM's description of the call.
pub(super) fn call_wrapper(structs: VmStructs) -> Option<isize> {
    match structs.int_constant(Constant::EntryFrameCallWrapper) {
        Some(words) => isize::try_from(words).ok(),
        None => (Machine::HERE == Some(Machine::Aarch64)).then_some(AARCH64_CALL_WRAPPER),
    }
}

fn upcall(structs: VmStructs) -> Option<UpcallLayout> {
    Some(UpcallLayout {
        data: structs.offset(Field::UpcallData)?,
        anchor: structs.offset(Field::UpcallAnchor)?,
    })
}

fn blob(structs: VmStructs) -> Option<BlobLayout> {
    let code = match structs.offset(Field::BlobCodeBegin) {
        Some(offset) => Start::Address(offset),
        None => Start::FromBlob(Integer::Int(structs.offset(Field::BlobCodeOffset)?)),
    };
    let [nmethod_name, native_name] = METHOD_BLOBS;
    Some(BlobLayout {
        block_header: structs.type_size(Type::HeapBlock)?,
        block_used: structs.offset(Field::BlockHeader)? + structs.offset(Field::BlockUsed)?,
        free_segment: FREE_SEGMENT,
        name: structs.offset(Field::BlobName)?,
        size: structs.offset(Field::BlobSize)?,
        frame_size: structs.offset(Field::BlobFrameSize)?,
        frame_complete: integer(structs, Field::BlobFrameComplete)?,
        code,
        nmethod_name: nmethod_name.to_bytes_with_nul(),
        native_name: native_name.to_bytes_with_nul(),
        continuation_name: CONTINUATION_BLOB.to_bytes(),
        upcall_name: UPCALL_BLOB.to_bytes(),
    })
}

/// A field that is as wide as the VM declares it: some had 16 bits for a few releases.
fn integer(structs: VmStructs, field: Field) -> Option<Integer> {
    let offset = structs.offset(field)?;
    let is_short = SHORT_TYPES.contains(&structs.declared_type(field)?);
    Some(match is_short {
        true => Integer::Short(offset),
        false => Integer::Int(offset),
    })
}

fn nmethod(structs: VmStructs, release: Release) -> Option<NmethodLayout> {
    let offset = |field| structs.offset(field);
    let pc_desc = PcDescLayout {
        size: structs.type_size(Type::PcDesc)?,
        pc: offset(Field::PcDescPc)?,
        scope: offset(Field::PcDescScope)?,
    };
    let method = offset(Field::CompiledMethod)?;
    let original_pc = offset(Field::MethodOriginalPc)?;
    let scopes_pcs = offset(Field::ScopesPcs)?;
    let excluded_byte = release.excluded_byte();
    if let Some(immutable) = offset(Field::ImmutableData) {
        let scopes_data = offset(Field::ScopesDataOffset)?;
        let deopt_handler = offset(Field::DeoptHandlerOffset)?;
        let after_handles = offset(Field::DeoptMhHandlerOffset).unwrap_or(deopt_handler);
        return Some(NmethodLayout {
            method,
            original_pc,
            deopt_handlers: [deopt_handler, after_handles]
                .map(|offset| Start::FromBlob(Integer::Int(offset))),
            verified_entry: Start::FromCode(integer(structs, Field::VerifiedEntryOffset)?),
            scopes_pcs,
            scopes_pcs_end: scopes_data,
            scopes_data: Start::FromImmutable(Integer::Int(scopes_data)),
            immutable: Some(immutable),
            metadata: Metadata::Apart {
                block: offset(Field::BlobMutableData)?,
                relocations: offset(Field::BlobRelocationSize)?,
            },
            pc_desc,
            excluded_byte,
        });
    }
    let before = |deopt_handlers, scopes_data| {
        Some(NmethodLayout {
            method,
            original_pc,
            deopt_handlers,
            verified_entry: Start::Address(offset(Field::VerifiedEntry)?),
            scopes_pcs,
            scopes_pcs_end: offset(Field::Dependencies)?,
            scopes_data,
            immutable: None,
            metadata: Metadata::InBlob(offset(Field::MetadataOffset)?),
            pc_desc,
            excluded_byte,
        })
    };
    let from_blob = |field| Some(Start::FromBlob(Integer::Int(offset(field)?)));
    if let Some(scopes_data) = from_blob(Field::ScopesDataOffset) {
        // JDK 8 has no `CompiledMethod`, whose fields are addresses.
        let handlers = [
            from_blob(Field::DeoptimizeOffset)?,
            from_blob(Field::DeoptimizeMhOffset)?,
        ];
        return before(handlers, scopes_data);
    }
    let handlers = [
        Start::Address(offset(Field::DeoptHandler)?),
        Start::Address(offset(Field::DeoptMhHandler)?),
    ];
    before(handlers, Start::Address(offset(Field::ScopesDataBegin)?))
}

pub(super) fn method(structs: VmStructs) -> Option<MethodLayout> {
    let offset = |field| structs.offset(field);
    Some(MethodLayout {
        constant: offset(Field::MethodConst)?,
        access_flags: offset(Field::MethodAccess)?,
        native_flag: NATIVE_METHOD,
        pool: offset(Field::ConstPool)?,
        number: offset(Field::ConstNumber)?,
        code_size: offset(Field::ConstCodeSize)?,
        constant_size: structs.type_size(Type::ConstMethod)?,
        holder: offset(Field::PoolHolder)?,
        ids: offset(Field::MethodIds)?,
        methods: offset(Field::ClassMethods)?,
        array_data: offset(Field::MethodArrayData)?,
    })
}

//! Assumptions of this crate about HotSpot's data: names in the tables that the VM exports for debuggers
//! (`vmStructs.cpp`), flags, and the few numbers that are in no table.
//!
//! `docs/new-jdk-checklist.md` lists all of them; a test compares.

use std::ffi::CStr;
use std::ops::Range;

/// Defines an enum of things that HotSpot has under one name, or different ones in different releases.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident: $named:ty; $($(#[$each:meta])* $name:ident = $names:expr;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$each])* $name,)*
        }

        impl $type {
            /// All of them.
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$name),*];

            pub(crate) fn name(self) -> $named {
                match self {
                    $(Self::$name => $names,)*
                }
            }
        }
    };
}

/// A type of the VM and a field of it.
type FieldName = (&'static CStr, &'static CStr);

named! {
    /// A field of a VM type, under the names that it has in the supported releases.
    Field: &'static [FieldName];
    /// The first of all flags.
    Flags = &[(c"JVMFlag", c"flags"), (c"Flag", c"flags")];
    /// How many flags there are, an end mark included.
    FlagCount = &[(c"JVMFlag", c"numFlags"), (c"Flag", c"numFlags")];
    /// The VM's arguments, those of environment variables included.
    VmArguments = &[(c"Arguments", c"_jvm_args_array")];
    /// How many arguments there are.
    VmArgumentCount = &[(c"Arguments", c"_num_jvm_args")];
    /// A flag's name.
    FlagName = &[(c"JVMFlag", c"_name"), (c"Flag", c"_name")];
    /// Where a flag's value is.
    FlagAddress = &[(c"JVMFlag", c"_addr"), (c"Flag", c"_addr")];
    /// A flag's origin, in the bits of `FLAG_ORIGIN`.
    FlagBits = &[(c"JVMFlag", c"_flags"), (c"Flag", c"_flags")];
    /// The part of a thread that the operating system knows.
    OsThread = &[(c"Thread", c"_osthread"), (c"JavaThread", c"_osthread")];
    /// The kernel's id of a thread.
    ThreadId = &[(c"OSThread", c"_thread_id")];
    /// The highest address of a thread's stack.
    StackBase = &[(c"JavaThread", c"_stack_base"), (c"Thread", c"_stack_base")];
    /// Bytes of a thread's stack.
    StackSize = &[(c"JavaThread", c"_stack_size"), (c"Thread", c"_stack_size")];
    /// The last Java frame of a thread.
    ThreadAnchor = &[(c"JavaThread", c"_anchor")];
    /// Stack pointer of such a frame.
    AnchorSp = &[(c"JavaFrameAnchor", c"_last_Java_sp")];
    /// Program counter of such a frame.
    AnchorPc = &[(c"JavaFrameAnchor", c"_last_Java_pc")];
    /// Frame pointer of such a frame.
    AnchorFp = &[(c"JavaFrameAnchor", c"_last_Java_fp")];
    /// The last Java frame before native code called Java.
    CallAnchor = &[(c"JavaCallWrapper", c"_anchor")];
    /// Bytes from the stack pointer of a call through a pointer to what it keeps; since JDK 22.
    UpcallData = &[(c"UpcallStub", c"_frame_data_offset")];
    /// In there: the last Java frame before the call.
    UpcallAnchor = &[(c"UpcallStub::FrameData", c"jfa")];
    /// Where native code returns to that has called Java.
    CallStubReturn = &[(c"StubRoutines", c"_call_stub_return_address")];
    /// The interpreter's code.
    Interpreter = &[(c"AbstractInterpreter", c"_code")];
    /// Where the code of a queue of stubs begins.
    StubBuffer = &[(c"StubQueue", c"_stub_buffer")];
    /// Bytes of code in a queue of stubs.
    StubLimit = &[(c"StubQueue", c"_buffer_limit")];
    /// The lowest address of the code cache.
    CodeCacheLow = &[(c"CodeCache", c"_low_bound")];
    /// The address after the code cache.
    CodeCacheHigh = &[(c"CodeCache", c"_high_bound")];
    /// The heaps that the code cache is made of.
    CodeHeaps = &[(c"CodeCache", c"_heaps")];
    /// The only heap of the code cache, in JDK 8.
    OnlyCodeHeap = &[(c"CodeCache", c"_heap")];
    /// The memory of a heap of code.
    HeapMemory = &[(c"CodeHeap", c"_memory")];
    /// The map of the segments of a heap of code.
    HeapSegments = &[(c"CodeHeap", c"_segmap")];
    /// The width of these segments.
    HeapSegmentShift = &[(c"CodeHeap", c"_log2_segment_size")];
    /// The lowest address of a reserved space.
    SpaceLow = &[(c"VirtualSpace", c"_low")];
    /// The address after what is committed of it.
    SpaceHigh = &[(c"VirtualSpace", c"_high")];
    /// Elements of a growable array.
    ArrayLength = &[(c"GrowableArrayBase", c"_len"), (c"GenericGrowableArray", c"_len")];
    /// The first of them.
    ArrayData = &[(c"GrowableArray<int>", c"_data")];
    /// The head of a block of code.
    BlockHeader = &[(c"HeapBlock", c"_header")];
    /// A flag: the block is in use.
    BlockUsed = &[(c"HeapBlock::Header", c"_used")];
    /// The name of a blob.
    BlobName = &[(c"CodeBlob", c"_name")];
    /// Words of a blob's frame.
    BlobFrameSize = &[(c"CodeBlob", c"_frame_size")];
    /// The number of a compilation.
    MethodCompileId = &[(c"nmethod", c"_compile_id")];
    /// How far the life of a compiled method is.
    MethodState = &[(c"nmethod", c"_state")];
    /// Where a frame that is due for deoptimization keeps its return address.
    MethodOriginalPc = &[(c"nmethod", c"_orig_pc_offset")];
    /// Bytes of a blob.
    BlobSize = &[(c"CodeBlob", c"_size")];
    /// Where a blob's code begins, an address; to JDK 22.
    BlobCodeBegin = &[(c"CodeBlob", c"_code_begin")];
    /// Where a blob's code begins, from its start; in JDK 8, and since JDK 23.
    BlobCodeOffset = &[(c"CodeBlob", c"_code_offset")];
    /// Where a blob's frame is complete, from the start of its code.
    BlobFrameComplete = &[(c"CodeBlob", c"_frame_complete_offset")];
    /// A blob's data outside the code cache; since JDK 25.
    BlobMutableData = &[(c"CodeBlob", c"_mutable_data")];
    /// Bytes of the relocations, with which this data begins.
    BlobRelocationSize = &[(c"CodeBlob", c"_relocation_size")];
    /// The method of compiled code.
    CompiledMethod = &[(c"CompiledMethod", c"_method"), (c"nmethod", c"_method")];
    /// Where callers that know the class enter, an address; to JDK 22.
    VerifiedEntry = &[(c"nmethod", c"_verified_entry_point")];
    /// The verified entry, from the start of the code, 16 bits; since JDK 23.
    VerifiedEntryOffset = &[(c"nmethod", c"_verified_entry_offset")];
    /// Where frames that are due for deoptimization return to, an address; to JDK 22.
    DeoptHandler = &[(c"CompiledMethod", c"_deopt_handler_begin")];
    /// Where frames that are due for deoptimization return to after calls of method handles.
    DeoptMhHandler = &[(c"CompiledMethod", c"_deopt_mh_handler_begin")];
    /// Where frames that are due for deoptimization return to, from the start of the blob; since JDK 23.
    DeoptHandlerOffset = &[
        (c"nmethod", c"_deopt_handler_offset"),
        (c"nmethod", c"_deopt_handler_entry_offset"),
    ];
    /// As `DeoptHandlerOffset`, after calls of method handles, to JDK 25. Later releases have one place for both.
    DeoptMhHandlerOffset = &[(c"nmethod", c"_deopt_mh_handler_offset")];
    /// The records of program counters in compiled code.
    ScopesPcs = &[(c"nmethod", c"_scopes_pcs_offset")];
    /// The part of a compiled method after these records, to JDK 22.
    Dependencies = &[(c"nmethod", c"_dependencies_offset")];
    /// The scopes of compiled code, an address; to JDK 22.
    ScopesDataBegin = &[(c"CompiledMethod", c"_scopes_data_begin")];
    /// The scopes of compiled code: in JDK 8 from the start of the blob; since JDK 23 from the immutable data, where
    /// they follow the records.
    ScopesDataOffset = &[(c"nmethod", c"_scopes_data_offset")];
    /// The immutable data of compiled code, outside the code cache; since JDK 23.
    ImmutableData = &[(c"nmethod", c"_immutable_data")];
    /// Where frames that are due for deoptimization return to, from the start of the blob; in JDK 8.
    DeoptimizeOffset = &[(c"nmethod", c"_deoptimize_offset")];
    /// The place after calls of method handles, in JDK 8.
    DeoptimizeMhOffset = &[(c"nmethod", c"_deoptimize_mh_offset")];
    /// The methods and classes of compiled code, from the start of the blob; to JDK 22.
    MetadataOffset = &[(c"nmethod", c"_metadata_offset")];
    /// The program counter of a record.
    PcDescPc = &[(c"PcDesc", c"_pc_offset")];
    /// The scope of a record.
    PcDescScope = &[(c"PcDesc", c"_scope_decode_offset")];
    /// The unchanging part of a method.
    MethodConst = &[(c"Method", c"_constMethod")];
    /// The access flags of a method.
    MethodAccess = &[(c"Method", c"_access_flags")];
    /// The constant pool of a method.
    ConstPool = &[(c"ConstMethod", c"_constants")];
    /// The number of a method in its class.
    ConstNumber = &[(c"ConstMethod", c"_method_idnum")];
    /// Bytes of bytecode of a method.
    ConstCodeSize = &[(c"ConstMethod", c"_code_size")];
    /// The class of a constant pool.
    PoolHolder = &[(c"ConstantPool", c"_pool_holder")];
    /// The ids of a class's methods.
    MethodIds = &[(c"InstanceKlass", c"_methods_jmethod_ids")];
    /// The methods of a class.
    ClassMethods = &[(c"InstanceKlass", c"_methods")];
    /// The first of them.
    MethodArrayData = &[(c"Array<Method*>", c"_data")];
    /// In the object of a class: the class.
    MirrorClass = &[(c"java_lang_Class", c"_klass_offset")];
    /// The size of a class's instances, or the layout of arrays.
    ClassLayout = &[(c"Klass", c"_layout_helper")];
    /// The state of a thread.
    ThreadState = &[(c"JavaThread", c"_thread_state")];
    /// The virtual thread that runs on a thread, or the thread itself; since JDK 21.
    ThreadVirtual = &[(c"JavaThread", c"_vthread")];
    /// The address of the narrow reference 0.
    NarrowBase = &[(c"CompressedOops", c"_narrow_oop._base"), (c"CompressedOops", c"_base")];
    /// The distance of narrow references, as a power of two.
    NarrowShift = &[(c"CompressedOops", c"_narrow_oop._shift"), (c"CompressedOops", c"_shift")];
    /// The globals that ZGC exports for debuggers.
    ZgcGlobals = &[(c"ZGlobalsForVMStructs", c"_instance_p")];
    /// The address of the bits of references that may be stale.
    ZgcBadMask = &[(c"ZGlobalsForVMStructs", c"_ZPointerLoadBadMask")];
    /// The address of the number of bits right of the address in a reference.
    ZgcShift = &[(c"ZGlobalsForVMStructs", c"_ZPointerLoadShift")];
    /// The globals that ZGC without generations exports for debuggers, to JDK 23.
    PlainZgcGlobals = &[(c"XGlobalsForVMStructs", c"_instance_p")];
    /// The address of its bits of references that may be stale.
    PlainZgcBadMask = &[(c"XGlobalsForVMStructs", c"_XAddressBadMask")];
}

named! {
    /// A type whose size the VM tells, under the names that it has in the supported releases.
    Type: &'static [&'static CStr];
    /// A flag.
    Flag = &[c"JVMFlag", c"Flag"];
    /// The head of a block of code.
    HeapBlock = &[c"HeapBlock"];
    /// A record of a program counter in compiled code.
    PcDesc = &[c"PcDesc"];
    /// The unchanging part of a method.
    ConstMethod = &[c"ConstMethod"];
}

named! {
    /// A constant of the VM.
    Constant: &'static CStr;
    /// From the frame pointer of a call of Java by native code to the VM's description of it, in words.
    EntryFrameCallWrapper = c"frame::entry_frame_call_wrapper_offset";
    /// The state of a thread in Java code.
    InJava = c"_thread_in_Java";
    /// The state of a thread in code of the VM.
    InVm = c"_thread_in_vm";
}

named! {
    /// A flag of type `bool`.
    BoolFlag: &'static CStr;
    /// Threads have allocation buffers of their own.
    UseTlab = c"UseTLAB";
    /// G1 is in use.
    UseG1 = c"UseG1GC";
    /// ZGC is in use.
    UseZgc = c"UseZGC";
    /// Shenandoah is in use.
    UseShenandoah = c"UseShenandoahGC";
    /// ZGC has generations; to JDK 23.
    ZGenerational = c"ZGenerational";
    /// References in objects have 32 bits.
    UseCompressedOops = c"UseCompressedOops";
    /// Classes in objects have 32 bits.
    UseCompressedClassPointers = c"UseCompressedClassPointers";
    /// Objects have their class in the first word; since JDK 24 (JEP 450).
    UseCompactObjectHeaders = c"UseCompactObjectHeaders";
    /// Compilers keep debug information between safepoints.
    DebugNonSafepoints = c"DebugNonSafepoints";
    /// The compiler joins strings by code of its own; JDK 8 has an agent that counts what methods make.
    OptimizeStringConcat = c"OptimizeStringConcat";
    /// The interpreter returns fields without the code of methods that do only that; JDK 8, with `-Xint`.
    UseFastAccessors = c"UseFastAccessorMethods";
    /// The VM ends at the first `OutOfMemoryError`.
    ExitOnOutOfMemory = c"ExitOnOutOfMemoryError";
    /// The VM crashes at the first `OutOfMemoryError`.
    CrashOnOutOfMemory = c"CrashOnOutOfMemoryError";
}

named! {
    /// A flag of type `ccstr`, a text.
    TextFlag: &'static CStr;
    /// The use of an AOT cache (JEP 483).
    AotMode = c"AOTMode";
    /// Where an AOT cache goes (JEP 514).
    AotCacheOutput = c"AOTCacheOutput";
    /// Code of `jaotc` (JDK 11, JEP 295).
    AotLibrary = c"AOTLibrary";
}

named! {
    /// A flag of type `uintx`.
    WordFlag: &'static CStr;
    /// The part of an allocation buffer that may be wasted, as a divisor.
    TlabRefillWasteFraction = c"TLABRefillWasteFraction";
}

/// Types of 16 bits, by the names that the VM has for them.
pub(crate) const SHORT_TYPES: [&CStr; 3] = [c"int16_t", c"u2", c"short"];

/// How arguments begin that load an agent.
pub(crate) const AGENT_ARGUMENTS: [&CStr; 4] =
    [c"-agentlib:", c"-agentpath:", c"-javaagent:", c"-Xrun"];
/// More arguments than a VM gets; a larger count is a misread table.
pub(crate) const MAX_ARGUMENTS: i32 = 1 << 16;

/// The bits of a flag that tell its origin; all 0 for the default (`JVMFlagOrigin`).
pub(crate) const FLAG_ORIGIN: i32 = 0xf;

/// The bits of a reference that mark its kind (`jniHandles.hpp`): 0 for local, 1 for weak, 2 for global
/// references.
pub(crate) const HANDLE_KIND: usize = 3;

/// Words from the frame pointer of an entry frame to the address of its `JavaCallWrapper` on AArch64, where the VM does not export the
/// constant (`entry_frame_call_wrapper_offset` in `frame_aarch64.hpp`).
pub(crate) const AARCH64_CALL_WRAPPER: isize = -8;

/// Words from the frame pointer of an interpreted frame (`frame_x86.hpp`, `frame_aarch64.hpp`).
pub(crate) mod interpreted {
    /// Whether the frames are those of AArch64.
    const IS_AARCH64: bool = cfg!(target_arch = "aarch64");

    pub(crate) const CALLER_PC: isize = 1;
    pub(crate) const CALLER_FP: isize = 0;
    pub(crate) const CALLER_SP: isize = -1;
    pub(crate) const METHOD: isize = -3;
    pub(crate) const LOCALS: isize = if IS_AARCH64 { -8 } else { -7 };
    pub(crate) const BYTECODE: isize = if IS_AARCH64 { -9 } else { -8 };
    /// In JDK 8 the frame has no word for the class's mirror, and on AArch64 none for the stack pointer, so locals and bytecode
    /// are that much nearer.
    pub(crate) const MIRROR_WORDS: isize = if IS_AARCH64 { 2 } else { 1 };
}

/// The lowest bits of a field id of an instance; the others are the offset (`jfieldIDWorkaround.hpp`).
pub(crate) const INSTANCE_FIELD: usize = 2;
/// How many these bits are: 2 to JDK 27, and one more, of flat fields, since JDK 28.
pub(crate) const FIELD_KIND_BITS: [u32; 2] = [2, 3];
/// Fewer bytes than the head of an object has in any release.
pub(crate) const SMALLEST_HEAD: usize = 8;
/// The bits of a class's layout that are not part of the size of its instances (`klass.hpp`,
/// `_lh_instance_slow_path_bit`).
pub(crate) const LAYOUT_FLAGS: usize = 7;

/// Marks a segment of code that is free (`heap.cpp`, `CodeHeap::free_sentinel`).
pub(crate) const FREE_SEGMENT: u8 = 0xff;
/// More heaps of code than any VM has.
pub(crate) const MAX_CODE_HEAPS: usize = 8;
/// Segments of code have 64 bytes at least, and a page at most, as powers of two.
pub(crate) const SEGMENT_SHIFTS: Range<u32> = 6..13;
/// The names of blobs of methods, and of methods that are native.
pub(crate) const METHOD_BLOBS: [&CStr; 2] = [c"nmethod", c"native nmethod"];
/// How the names of blobs begin that hold the return barrier of virtual threads, since JDK 21
/// (`stubRoutines.cpp`, `stubDeclarations.hpp`).
pub(crate) const CONTINUATION_BLOB: &CStr = c"StubRoutines (continuation";
/// How the names begin of code through which native code calls Java by a pointer (`upcallLinker_x86_64.cpp`).
pub(crate) const UPCALL_BLOB: &CStr = c"upcall_stub";
/// The access flag of native methods (`JVM_ACC_NATIVE`).
pub(crate) const NATIVE_METHOD: u16 = 0x100;
/// A compiled method's code may be entered (`nmethod::in_use`).
pub(crate) const METHOD_IN_USE: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checklist_names_everything() {
        let text = include_str!("../../../../../docs/new-jdk-checklist.md");
        let mut missing = Vec::new();
        let mut look_for = |name: String| {
            if !text.contains(&format!("`{name}`")) {
                missing.push(name);
            }
        };
        let plain = |name: &CStr| name.to_str().expect("ASCII").to_owned();
        for field in Field::ALL {
            for (of, name) in field.name() {
                look_for(format!("{}::{}", plain(of), plain(name)));
            }
        }
        Type::ALL
            .iter()
            .flat_map(|it| it.name())
            .for_each(|name| look_for(plain(name)));
        Constant::ALL
            .iter()
            .for_each(|it| look_for(plain(it.name())));
        BoolFlag::ALL
            .iter()
            .for_each(|it| look_for(plain(it.name())));
        TextFlag::ALL
            .iter()
            .for_each(|it| look_for(plain(it.name())));
        WordFlag::ALL
            .iter()
            .for_each(|it| look_for(plain(it.name())));
        assert_eq!(missing, [""; 0], "not in the checklist");
    }
}

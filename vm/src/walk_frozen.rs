//! The way to the frames of virtual threads in the heap, as this VM has it.

use hprof_walker::layout::{ChunkLayout, FrozenLayout, References, ThreadLayout};

use super::guarded::load;
use super::releases::layout::{BoolFlag, Constant, Field, LAYOUT_FLAGS};
use super::walk_layout::method;
use super::{Class, Jvmti, Ref, Result, VmStructs};

/// The classes of the objects that lead to the frames.
#[derive(Clone, Copy)]
pub struct FrozenClasses<'a> {
    /// `java.lang.VirtualThread`.
    pub thread: Ref<'a, Class>,
    /// `jdk.internal.vm.Continuation`.
    pub continuation: Ref<'a, Class>,
    /// `jdk.internal.vm.StackChunk`.
    pub chunk: Ref<'a, Class>,
}

/// Learns the way. `None` when this VM does not tell all of it.
///
/// # Errors
/// The error of `GetClassFields`, usually `CLASS_NOT_PREPARED`.
pub(super) fn learn(
    structs: VmStructs,
    jvmti: &Jvmti,
    classes: FrozenClasses<'_>,
) -> Result<Option<FrozenLayout>> {
    let field = |class, name| jvmti.field_offset(class, name);
    let continuation = field(classes.thread, "cont")?;
    let tail = field(classes.continuation, "tail")?;
    let [parent, size, sp, bottom] = [
        field(classes.chunk, "parent")?,
        field(classes.chunk, "size")?,
        field(classes.chunk, "sp")?,
        field(classes.chunk, "bottom")?,
    ];
    let stack = instance_bytes(structs, jvmti, classes.chunk)?;
    let whole = || {
        Some(FrozenLayout {
            thread: thread(structs)?,
            references: references(structs)?,
            continuation: continuation?,
            tail: tail?,
            chunk: ChunkLayout {
                parent: parent?,
                size: size?,
                sp: sp?,
                bottom: bottom?,
                stack: stack?,
            },
        })
    };
    Ok(whole())
}

fn thread(structs: VmStructs) -> Option<ThreadLayout> {
    Some(ThreadLayout {
        anchor: structs.offset(Field::ThreadAnchor)?,
        state: structs.offset(Field::ThreadState)?,
        stops_safepoints: [
            structs.int_constant(Constant::InJava)?,
            structs.int_constant(Constant::InVm)?,
        ],
        virtual_thread: structs.offset(Field::ThreadVirtual)?,
    })
}

fn references(structs: VmStructs) -> Option<References> {
    if structs.bool_flag(BoolFlag::UseZgc) == Some(true) {
        // Since JDK 24 there is none without generations.
        return match structs.bool_flag(BoolFlag::ZGenerational) {
            Some(false) => Some(References::Colored {
                bad: pointer(structs, Field::PlainZgcGlobals, Field::PlainZgcBadMask)?,
                shift: None,
            }),
            _ => Some(References::Colored {
                bad: pointer(structs, Field::ZgcGlobals, Field::ZgcBadMask)?,
                shift: Some(pointer(structs, Field::ZgcGlobals, Field::ZgcShift)?),
            }),
        };
    }
    let are_forwarded = structs.bool_flag(BoolFlag::UseShenandoah) == Some(true);
    if !structs.bool_flag(BoolFlag::UseCompressedOops)? {
        return Some(References::Addresses { are_forwarded });
    }
    let (base, shift) = (
        structs.address(Field::NarrowBase)?,
        structs.address(Field::NarrowShift)?,
    );
    // SAFETY: static fields of the VM; the table says that they are an address and an int.
    let (base, shift) = unsafe { (load::<usize>(base)?, load::<i32>(shift)?) };
    Some(References::Narrow {
        base,
        shift: u32::try_from(shift).ok()?,
        are_forwarded,
    })
}

/// The address in a field of the object that a static field leads to.
fn pointer(structs: VmStructs, globals: Field, field: Field) -> Option<usize> {
    let (globals, offset) = (structs.address(globals)?, structs.offset(field)?);
    // SAFETY: a static field of the VM, which leads to an object of the VM that lives for ever.
    let found = unsafe { load::<usize>(load::<usize>(globals)?.checked_add(offset)?)? };
    (found != 0).then_some(found)
}

/// Bytes of an instance of a class that has a method, without what follows its fields.
fn instance_bytes(
    structs: VmStructs,
    jvmti: &Jvmti,
    class: Ref<'_, Class>,
) -> Result<Option<usize>> {
    let methods = jvmti.declared_methods(class)?;
    let Some(id) = methods.first() else {
        return Ok(None);
    };
    let layout = || {
        let at = method(structs)?;
        let helper = structs.offset(Field::ClassLayout)?;
        // SAFETY: in these releases the id of a method is the address of the method's, and the class, which `class`
        // keeps, keeps all that is read.
        unsafe {
            let method = load::<usize>(id.as_raw() as usize)?;
            let constant = load::<usize>(method.checked_add(at.constant)?)?;
            let pool = load::<usize>(constant.checked_add(at.pool)?)?;
            let holder = load::<usize>(pool.checked_add(at.holder)?)?;
            usize::try_from(load::<i32>(holder.checked_add(helper)?)?).ok()
        }
    };
    Ok(layout().map(|layout| layout & !LAYOUT_FLAGS))
}

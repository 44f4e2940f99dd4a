//! The way to the frames of virtual threads in the heap, as this VM has it.

use hprof_walker::layout::{ChunkLayout, FrozenLayout, References, ThreadLayout};

use super::guarded::load;
use super::handles::handle_word;
use super::releases::layout::{
    BoolFlag, Constant, FIELD_KIND_BITS, Field, LAYOUT_FLAGS, SMALLEST_HEAD,
};
use crate::{Class, Ref, Result, Vm, VmStructs};

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
    vm: Vm<'_>,
    classes: FrozenClasses<'_>,
) -> Result<Option<FrozenLayout>> {
    let Some(kind_bits) = field_kind_bits(structs, vm)? else {
        return Ok(None);
    };
    let field = |class, name| vm.jvmti.field_offset(class, name, kind_bits);
    let continuation = field(classes.thread, "cont")?;
    let tail = field(classes.continuation, "tail")?;
    let [parent, size, sp, bottom] = [
        field(classes.chunk, "parent")?,
        field(classes.chunk, "size")?,
        field(classes.chunk, "sp")?,
        field(classes.chunk, "bottom")?,
    ];
    let stack = instance_bytes(structs, vm, classes.chunk)?;
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

/// How many bits an id of a field has besides the offset: those with which the only field of `Integer` ends where its instances
/// do. `None` where no number of bits does that.
fn field_kind_bits(structs: VmStructs, vm: Vm<'_>) -> Result<Option<u32>> {
    let class = vm.jni.find_class(c"java/lang/Integer")?;
    let bytes = instance_bytes(structs, vm, class.get())?;
    for bits in FIELD_KIND_BITS {
        let offset = vm.jvmti.field_offset(class.get(), "value", bits)?;
        if bytes.is_some() && bytes == offset.and_then(integer_bytes) {
            return Ok(Some(bits));
        }
    }
    Ok(None)
}

/// Bytes of an object whose last field is an `int` at this offset; `None` where no field can be.
fn integer_bytes(offset: usize) -> Option<usize> {
    let is_possible = offset >= SMALLEST_HEAD && offset.is_multiple_of(size_of::<i32>());
    let end = offset.checked_add(size_of::<i32>())?;
    is_possible.then_some(end.next_multiple_of(size_of::<usize>()))
}

/// Bytes of an instance of a class, without what follows its fields. `None` when this VM does not tell, or the object of the
/// class moved again and again.
fn instance_bytes(structs: VmStructs, vm: Vm<'_>, mirror: Ref<'_, Class>) -> Result<Option<usize>> {
    let methods = vm.jvmti.declared_methods(mirror)?;
    let learn = || {
        let class_at = structs.address(Field::MirrorClass)?;
        let (ids, layout) = (
            structs.offset(Field::MethodIds)?,
            structs.offset(Field::ClassLayout)?,
        );
        let id = methods.first()?.as_raw() as usize;
        // The word of a local reference has an address without colors.
        let mirror = vm.jni.local_class(mirror)?;
        // SAFETY: a static field of the VM, which the table calls an int.
        let class_at = usize::try_from(unsafe { load::<i32>(class_at)? }).ok()?;
        // A collector may move the object meanwhile.
        (0..TRIES).find_map(|_| {
            // SAFETY: HotSpot has such tables only, and the reference is live.
            let object = unsafe { handle_word(mirror.get().as_raw()) };
            // SAFETY: Rust has no references to objects of Java or to the VM's classes. The result is proven by an id
            // that the VM has given for a method of this class.
            unsafe {
                let class = load::<usize>(object.checked_add(class_at)?)?;
                if !has_id(class, ids, id)? {
                    return None;
                }
                usize::try_from(load::<i32>(class.checked_add(layout)?)?).ok()
            }
        })
    };
    Ok(learn().map(|layout| layout & !LAYOUT_FLAGS))
}

/// How often the class is looked for behind its object.
const TRIES: u32 = 16;
/// More methods than a class can have, those of old versions included.
const MAX_METHODS: usize = 1 << 17;

/// True if a class keeps the id of a method.
///
/// # Safety
/// Rust has no reference to the memory at `class`, which need not be a class.
unsafe fn has_id(class: usize, ids: usize, id: usize) -> Option<bool> {
    let word = |address: usize| {
        let is_aligned = address != 0 && address.is_multiple_of(size_of::<usize>());
        // SAFETY: by the caller's promise; the VM's array of ids is its own.
        is_aligned.then(|| unsafe { load::<usize>(address) })?
    };
    let ids = word(class.checked_add(ids)?)?;
    let count = word(ids).filter(|&count| count < MAX_METHODS)?;
    let mut places =
        (1..=count).map(|index| ids.checked_add(index.checked_mul(size_of::<usize>())?));
    Some(places.any(|place| place.and_then(word) == Some(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compact heads, compressed class pointers, and neither.
    #[test]
    fn one_number_of_bits_fits_each_layout_of_an_integer() {
        for (offset, bytes) in [(8, 16), (12, 16), (16, 24)] {
            for bits in FIELD_KIND_BITS {
                let id: usize = offset << bits;
                let fits = |&bits: &u32| integer_bytes(id >> bits) == Some(bytes);
                let fitting: Vec<u32> = FIELD_KIND_BITS.into_iter().filter(fits).collect();
                assert_eq!(fitting, [bits], "{offset}");
            }
        }
    }
}

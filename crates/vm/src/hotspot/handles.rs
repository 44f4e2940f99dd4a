//! HotSpot's representation of a reference.

use jni_sys::jobject;

use super::releases::layout::HANDLE_KIND;
use crate::{Jni, Ref, VmStructs, WeakRef};

/// The address of the word that a reference of HotSpot points to. The VM's heap dumps have it beside the object of a global
/// reference.
pub fn handle_place(reference: Ref<'_>) -> u64 {
    (reference.as_raw() as usize & !HANDLE_KIND) as u64
}

/// The word that a reference of HotSpot points to: the object's address as the
/// collector in use writes it. Two references whose words are equal at the same
/// time refer to the same object; the converse does not hold, as a concurrent
/// collector mends references one after the other. 0 means that the referent of a
/// weak reference was collected.
///
/// # Safety
/// The VM is HotSpot, and `reference` is live and not null.
#[inline]
pub unsafe fn handle_word(reference: jobject) -> usize {
    let slot = (reference as usize & !HANDLE_KIND) as *const usize;
    // SAFETY: a live reference is the address of a word of the VM, with the kind
    // in its low bits. The collector may write it at any time, hence volatile.
    unsafe { slot.read_volatile() }
}

/// Compares references of HotSpot by their words, where that is possible.
#[derive(Clone, Copy, Debug)]
pub struct FastCompare {
    /// The VM is HotSpot.
    hotspot: bool,
}

impl FastCompare {
    /// Comparison for the VM with these tables, which only HotSpot has.
    pub fn of(structs: Option<VmStructs>) -> Self {
        Self {
            hotspot: structs.is_some(),
        }
    }

    /// Returns whether a weak reference is of the same object as a local one.
    #[inline]
    pub fn is_weak_of<T>(self, jni: &Jni, object: Ref<'_, T>, weak: &WeakRef) -> bool {
        let (one, other) = (object.as_raw(), weak.as_raw());
        // SAFETY: HotSpot, and both references are live and not null. The words are
        // compared at one time: when the first has not changed, no collection moved
        // the object in between.
        let same = self.hotspot
            && unsafe {
                let before = handle_word(one);
                before == handle_word(other) && before == handle_word(one)
            };
        same || jni.is_weak_of(object, weak)
    }

    /// A number that is likely to be the same for the same object until the next
    /// collection.
    #[inline]
    pub fn hint<T>(self, object: Ref<'_, T>) -> usize {
        if !self.hotspot {
            return 0;
        }
        // SAFETY: `hotspot` was checked above, and a `Ref` is live and not null.
        unsafe { handle_word(object.as_raw()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_no_part_of_the_address() {
        let word = 0x1234usize;
        let address = &raw const word as usize;
        for kind in 0..3 {
            // SAFETY: the address of a word, as a reference of each kind has it.
            assert_eq!(unsafe { handle_word((address | kind) as jobject) }, 0x1234);
        }
    }
}

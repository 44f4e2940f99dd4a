//! A cache for each thread of the return addresses that were on its stack before.
//!
//! To find the code of an address by the VM's tables takes half a dozen loads of memory that is all over the code
//! cache. Here one is enough, and another one to see that the code is still there: the number of a compilation, which no other code
//! gets, lies where it was.

use std::cell::{Cell, RefCell};

/// A return address in code whose frames are not due for deoptimization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct Place {
    /// The address; 0 for none.
    pub(super) pc: usize,
    /// Where `id` is in the code cache.
    pub(super) id_at: usize,
    /// The number of a compilation, or the name of other code as the VM has it, cut.
    pub(super) id: u32,
    /// Bytes of the frame, the return address included.
    pub(super) frame_bytes: u32,
    /// How many Java frames it stands for.
    pub(super) frames: u32,
}

/// The addresses of one thread, which alone uses them.
#[derive(Default)]
pub struct CodePlaces {
    /// At the place that its address says each; a power of two.
    known: RefCell<Box<[Cell<Place>]>>,
    /// How many were replaced.
    replaced: Cell<usize>,
}

const FIRST: usize = 1 << 6;
/// How many one thread remembers.
const MOST: usize = 1 << 14;

impl CodePlaces {
    /// The frame size and the count of Java frames of an address, if it is in the cache and its code is still there.
    #[inline]
    pub(super) fn find(&self, pc: usize) -> Option<Place> {
        let known = self.known.borrow();
        let place = known.get(index(pc, known.len()))?.get();
        // SAFETY: an address in the code cache, which the VM has committed for ever; `pc` is none in an empty place.
        let is_there = place.pc == pc
            && pc != 0
            && unsafe { (place.id_at as *const u32).read_volatile() } == place.id;
        is_there.then_some(place)
    }

    /// Takes note of an address.
    pub(super) fn add(&self, place: Place) {
        let mut known = self.known.borrow_mut();
        if known.is_empty() || (self.replaced.get() > known.len() && known.len() < MOST) {
            let larger = (2 * known.len()).max(FIRST);
            let old = std::mem::replace(&mut *known, vec![Cell::default(); larger].into());
            for place in old.into_iter().filter(|place| place.get().pc != 0) {
                if let Some(free) = known.get(index(place.get().pc, larger)) {
                    free.set(place.get());
                }
            }
            self.replaced.set(0);
        }
        if let Some(old) = known.get(index(place.pc, known.len()))
            && old.replace(place).pc != 0
        {
            self.replaced.set(self.replaced.get() + 1);
        }
    }
}

/// `places` is a power of two, or 0.
#[inline]
fn index(pc: usize, places: usize) -> usize {
    let spread = pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    spread & places.wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(pc: usize, id: &u32) -> Place {
        Place {
            pc,
            id_at: &raw const *id as usize,
            id: 7,
            frame_bytes: 32,
            frames: 2,
        }
    }

    #[test]
    fn an_address_is_known_while_its_code_is_there() {
        let (places, mut id) = (CodePlaces::default(), 7);
        assert_eq!(places.find(0x1000), None);
        places.add(place(0x1000, &id));
        assert_eq!(places.find(0x1000), Some(place(0x1000, &id)));
        assert_eq!((places.find(0x1001), places.find(0)), (None, None));
        id += 1;
        assert_eq!(places.find(0x1000), None, "other code lies there: {id}");
    }

    #[test]
    fn the_places_grow_to_their_limit() {
        let (places, id) = (CodePlaces::default(), 7);
        for pc in 1..20 * MOST {
            places.add(place(pc * 8, &id));
        }
        assert_eq!(places.known.borrow().len(), MOST);
        let kept = (1..20 * MOST).filter(|pc| places.find(pc * 8).is_some());
        assert!(kept.count() > MOST / 2);
    }
}

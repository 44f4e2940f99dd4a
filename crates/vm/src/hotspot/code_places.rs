//! A cache for each thread of the places in code that were on its stack before, with the frames that they stand for.
//!
//! To find the code of an address by the VM's tables takes half a dozen loads of memory that is all over the code
//! cache, and its frames dozens. Here one is enough, and another one to see that the code is still there: the number of
//! a compilation, which no other code gets, lies where it was.
//!
//! # Hashes of frames
//!
//! A place stands for none, one or, where methods are inlined, several frames `f1 ... fn`, and its hash is
//! `h(f1) * R^(n-1) + ... + h(fn)` modulo 2^64. [`StackHash`] makes that of a whole stack of those of its places. A stack has
//! one hash for all compilers and all ways of inlining.

use std::cell::{Cell, RefCell};

use crate::hash::mix;

/// A place in code: a return address whose frame is not due for deoptimization, or a bytecode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct Place {
    at: PlaceKey,
    /// The hash of the frames.
    pub(super) hash: u64,
    pub(super) code: Code,
}

// Two of them in a line of the processor's cache.
const _: () = assert!(size_of::<Place>() == 32);

/// The code of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Code {
    /// Where `id` is in memory.
    pub(super) id_at: usize,
    /// The number of a compilation, the name of other code as the VM has it, cut, or for bytecodes the number of times that
    /// the VM has unloaded classes.
    pub(super) id: u32,
    /// The size of the frame on the stack, the return address included; nothing for bytecodes.
    pub(super) frame_words: u16,
    /// How many Java frames it stands for, at most as many as were wanted.
    pub(super) frames: u16,
}

impl Place {
    pub(super) fn new(at: PlaceKey, code: Code, hash: StackHash) -> Self {
        Self {
            at,
            hash: hash.0,
            code,
        }
    }
}

/// A return address, and how many frames are wanted of what is there; or a bytecode, and some bits of the method's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlaceKey(u64);

impl PlaceKey {
    /// `None` for addresses and numbers that are not remembered.
    #[inline]
    pub(super) fn new(address: usize, frames: usize) -> Option<Self> {
        let is_short = address < 1 << ADDRESS_BITS && frames < 1 << METHOD_BITS;
        is_short.then_some(Self(address as u64 | (frames as u64) << ADDRESS_BITS))
    }

    /// The place of an interpreted frame, by the addresses of its method and bytecode. A native method has no bytecode.
    #[inline]
    pub(super) fn of_interpreted(method: usize, bytecode: usize) -> Option<Self> {
        let address = if bytecode == 0 { method } else { bytecode };
        Self::new(address, method / size_of::<usize>() % (1 << METHOD_BITS))
    }
}

/// Bits of addresses that programs have (x86-64, without 5-level paging).
const ADDRESS_BITS: u32 = 47;
const METHOD_BITS: u32 = u64::BITS - ADDRESS_BITS;

/// The hash of the innermost frames of a stack, of which more are added at the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StackHash(u64);

/// Odd, and one less is twice an odd number, so that two frames in another order have another hash.
const R: u64 = 0xd134_2543_de82_ef97;

/// The first powers of `R`.
const POWERS: [u64; 16] = {
    let mut powers = [1u64; 16];
    let mut n = 1;
    while n < powers.len() {
        powers[n] = powers[n - 1].wrapping_mul(R);
        n += 1;
    }
    powers
};

impl StackHash {
    /// The hash of no frames.
    pub(super) const NONE: Self = Self(0);

    #[inline]
    pub(super) fn new(start: u64) -> Self {
        Self(start)
    }

    /// Adds `count` frames with this hash.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, count: usize) {
        let power = POWERS
            .get(count)
            .copied()
            .unwrap_or_else(|| R.wrapping_pow(count as u32));
        self.0 = self.0.wrapping_mul(power).wrapping_add(hash);
    }

    /// Adds one frame: a method and a location in it.
    #[inline]
    pub(super) fn add_frame(&mut self, method: u64, location: u64) {
        self.add(mix(mix(R, method), location), 1);
    }

    /// The number itself, which is that of a place if all frames of the place were added to none.
    pub(super) fn of_place(self) -> u64 {
        self.0
    }

    /// A key whose bits are all as good as the others.
    #[inline]
    pub(super) fn key(self) -> u64 {
        mix(self.0, R)
    }
}

/// The places of one thread, which alone uses them.
#[derive(Default)]
pub struct CodePlaces {
    /// At the pair that its key says each; a power of two.
    known: RefCell<Box<[Pair]>>,
    /// How many were replaced.
    replaced: Cell<usize>,
    /// How many were added, and how many were not because methods had no ids.
    added: Cell<usize>,
    waited: Cell<usize>,
    /// There is no more room than at the start.
    is_fixed: bool,
}

/// Two places in one line of the processor's cache, the one that was added last first.
#[derive(Default)]
#[repr(align(64))]
struct Pair([Cell<Place>; 2]);

const FIRST: usize = 1 << 5;
/// How many pairs one thread remembers.
const MOST: usize = 1 << 13;

impl CodePlaces {
    /// Room for this many pairs of places, rounded up to a power of two; there is never more, so that nothing allocates.
    pub fn with_room(pairs: usize) -> Self {
        let pairs = pairs.clamp(1, MOST).next_power_of_two();
        Self {
            known: RefCell::new((0..pairs).map(|_| Pair::default()).collect()),
            is_fixed: true,
            ..Self::default()
        }
    }

    /// A place, if it is in the cache and its code is still there.
    #[inline]
    pub(super) fn find(&self, at: PlaceKey) -> Option<Place> {
        let known = self.known.borrow();
        let Pair([first, second]) = known.get(index(at, known.len()))?;
        let (first, second) = (first.get(), second.get());
        let place = if first.at == at { first } else { second };
        // SAFETY: an address in the code cache, which the VM has committed for ever, or of a number that is never freed; no empty
        // place has the key.
        let is_there = place.at == at
            && at != PlaceKey::default()
            && unsafe { (place.code.id_at as *const u32).read_volatile() } == place.code.id;
        is_there.then_some(place)
    }

    /// Returns whether a place of methods without ids should not be remembered: methods have ids once the VM has given
    /// the stack. Limits apply, so that a place that never gets ids is not looked up for ever.
    pub(super) fn waits_for_ids(&self) -> bool {
        let waited = self.waited.get();
        self.waited.set(waited + 1);
        waited <= FIRST + 2 * self.added.get()
    }

    /// Takes note of a place.
    pub(super) fn add(&self, place: Place) {
        self.added.set(self.added.get() + 1);
        let mut known = self.known.borrow_mut();
        let is_full = self.replaced.get() > known.len() && known.len() < MOST;
        if known.is_empty() || is_full && !self.is_fixed {
            let larger = (2 * known.len()).max(FIRST);
            let new = (0..larger).map(|_| Pair::default()).collect();
            let old = std::mem::replace(&mut *known, new);
            // The newer ones of a pair last.
            for old in old.iter().flat_map(|Pair([first, second])| [second, first]) {
                put(&known, old.get());
            }
            self.replaced.set(0);
        }
        if put(&known, place) {
            self.replaced.set(self.replaced.get() + 1);
        }
    }
}

/// Puts a place in; true if another one was thrown out for it.
fn put(known: &[Pair], place: Place) -> bool {
    let Some(Pair([first, second])) = known.get(index(place.at, known.len())) else {
        return false;
    };
    if place == Place::default() {
        return false;
    }
    let before = first.replace(place);
    if before.at == place.at || before == Place::default() {
        return false;
    }
    second.replace(before) != Place::default()
}

/// `pairs` is a power of two, or 0.
#[inline]
fn index(at: PlaceKey, pairs: usize) -> usize {
    let folded = at.0 ^ at.0 >> ADDRESS_BITS;
    let spread = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    spread as usize & pairs.wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn at(address: usize) -> PlaceKey {
        PlaceKey::new(address, 4).unwrap()
    }

    fn place(address: usize, id: &AtomicU32) -> Place {
        let code = Code {
            id_at: id.as_ptr().expose_provenance(),
            id: 7,
            frame_words: 4,
            frames: 2,
        };
        Place::new(at(address), code, StackHash::new(99))
    }

    #[test]
    fn a_place_is_known_while_its_code_is_there() {
        let (places, id) = (CodePlaces::default(), AtomicU32::new(7));
        assert_eq!(places.find(at(0x1000)), None);
        places.add(place(0x1000, &id));
        assert_eq!(places.find(at(0x1000)), Some(place(0x1000, &id)));
        for other in [at(0x1001), PlaceKey::default()] {
            assert_eq!(places.find(other), None);
        }
        assert_eq!(places.find(PlaceKey::new(0x1000, 3).unwrap()), None);
        id.fetch_add(1, Ordering::Relaxed);
        assert_eq!(places.find(at(0x1000)), None, "other code lies there");
    }

    #[test]
    fn the_places_grow_to_their_limit() {
        let (places, id) = (CodePlaces::default(), AtomicU32::new(7));
        for pc in 1..40 * MOST {
            places.add(place(pc * 8, &id));
        }
        assert_eq!(places.known.borrow().len(), MOST);
        let kept = (1..40 * MOST).filter(|pc| places.find(at(pc * 8)).is_some());
        assert!(kept.count() > MOST);
    }

    #[test]
    fn room_that_is_fixed_does_not_grow() {
        let (places, id) = (CodePlaces::with_room(100), AtomicU32::new(7));
        for pc in 1..10_000 {
            places.add(place(pc * 8, &id));
            assert!(places.find(at(pc * 8)).is_some());
        }
        assert_eq!(places.known.borrow().len(), 128);
    }

    #[test]
    fn addresses_and_numbers_that_do_not_fit_are_not_remembered() {
        assert!(PlaceKey::new((1 << 47) - 1, (1 << 17) - 1).is_some());
        assert_eq!(PlaceKey::new(1 << 47, 1), None);
        assert_eq!(PlaceKey::new(1, 1 << 17), None);
        let keys = [
            (8, 64),
            (16, 64),
            (8, 65),
            (8, 0),
            (16, 0),
            (24 + (1 << 40), 0),
        ];
        let keys = keys.map(|(method, bytecode)| PlaceKey::of_interpreted(method, bytecode));
        for (number, key) in keys.iter().enumerate() {
            assert!(key.is_some() && !keys[..number].contains(key));
        }
    }

    /// The hash of frames that are added in groups of these sizes.
    fn hash(frames: &[(u64, u64)], groups: &[usize]) -> StackHash {
        let mut hash = StackHash::new(5);
        let mut rest = frames;
        for &group in groups {
            let mut place = StackHash::default();
            let (these, others) = rest.split_at(group);
            for &(method, location) in these {
                place.add_frame(method, location);
            }
            hash.add(place.of_place(), group);
            rest = others;
        }
        hash
    }

    #[test]
    fn frames_have_one_hash_whatever_is_inlined() {
        let frames: Vec<(u64, u64)> = (0..40).map(|n| (0x7f00_0000 + 8 * n, n % 3)).collect();
        let one = hash(&frames, &[1; 40]);
        for groups in [&[40][..], &[20, 20], &[0, 1, 39, 0], &[17, 0, 3, 16, 4]] {
            assert_eq!(hash(&frames, groups), one, "{groups:?}");
        }
        let mut turned = frames.clone();
        turned.swap(3, 4);
        assert_ne!(hash(&turned, &[40]), one);
        assert_ne!(hash(&frames[1..], &[39]), one);
    }
}

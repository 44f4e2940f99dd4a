//! The stacks of calls, each once, with two sums: an amount, as of bytes or nanoseconds, and a count.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::capture::Taken;
use super::room::{Zeroed, zeroed};
use crate::cpu_samples::AsgctFrame;

/// Stacks at most; more share one place.
const MAX_STACKS: usize = 1 << 14;
/// Frames of all stacks.
const MAX_FRAMES: usize = 1 << 20;
/// Places that are tried for a stack.
const MAX_PROBES: usize = 64;

/// Smaller keys are those of a free place and of the first.
const FIRST_KEY: u64 = 2;

/// The place of a stack. The first is for all that find no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackId(pub u32);

struct Place {
    /// The hash of the stack, which stands for it; 0 if free.
    key: AtomicU64,
    first: AtomicU32,
    count: AtomicU32,
    thread: AtomicU32,
    function: AtomicU8,
    is_ready: AtomicU8,
    amount: AtomicU64,
    number: AtomicU64,
}

// SAFETY: atomic numbers only.
unsafe impl Zeroed for Place {}
// SAFETY: as above.
unsafe impl Zeroed for (AtomicU32, AtomicU64) {}

/// The frames of a stack, by its place.
pub struct Stored<'a> {
    /// The number of the function that is called, as the mode has it.
    pub function: u8,
    /// The kernel's id of the thread, or 0.
    pub thread: i32,
    pub frames: Vec<AsgctFrame>,
    /// It stands for all that found no room.
    pub is_overflow: bool,
    place: &'a Place,
}

/// All stacks.
pub struct Stacks {
    places: &'static [Place],
    /// Locations and methods of frames.
    frames: &'static [(AtomicU32, AtomicU64)],
    used: AtomicU32,
    stacks: AtomicU32,
}

impl Stacks {
    pub fn new() -> Self {
        let stacks = Self {
            places: zeroed(MAX_STACKS),
            frames: zeroed(MAX_FRAMES),
            used: AtomicU32::new(0),
            stacks: AtomicU32::new(0),
        };
        stacks.make_overflow();
        stacks
    }

    fn make_overflow(&self) {
        if let Some(first) = self.places.first() {
            first.key.store(1, Ordering::Relaxed);
            first.is_ready.store(1, Ordering::Release);
        }
    }

    /// Adds to the sums of a stack.
    pub fn add(&self, id: StackId, amount: u64, number: u64) {
        if let Some(place) = self.places.get(id.0 as usize) {
            place.amount.fetch_add(amount, Ordering::Relaxed);
            place.number.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// The stack with this key, if it is there.
    pub fn find(&self, key: u64) -> Option<StackId> {
        let key = key.max(FIRST_KEY);
        for index in places_of(key) {
            match self.places.get(index)?.key.load(Ordering::Acquire) {
                0 => return None,
                found if found == key => return Some(StackId(index as u32)),
                _ => {}
            }
        }
        None
    }

    /// The stack with this key, which is added if it is not there.
    pub fn intern(&self, key: u64, taken: &Taken<'_>) -> StackId {
        let key = key.max(FIRST_KEY);
        for index in places_of(key) {
            let Some(place) = self.places.get(index) else {
                break;
            };
            let found = match place.key.load(Ordering::Acquire) {
                0 => place
                    .key
                    .compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire)
                    .map(|_| self.fill(place, taken)),
                other => Err(other),
            };
            match found {
                Ok(()) => return StackId(index as u32),
                Err(other) if other == key => return StackId(index as u32),
                Err(_) => {}
            }
        }
        StackId(0)
    }

    fn fill(&self, place: &Place, taken: &Taken<'_>) {
        let count = u32::try_from(taken.frames.len()).unwrap_or(0);
        let first = self.used.fetch_add(count, Ordering::Relaxed);
        let range = first as usize..first.saturating_add(count) as usize;
        match self.frames.get(range) {
            Some(room) => {
                for ((location, method), frame) in room.iter().zip(taken.frames) {
                    location.store(frame.location.cast_unsigned(), Ordering::Relaxed);
                    method.store(frame.method.as_word(), Ordering::Relaxed);
                }
                place.first.store(first, Ordering::Relaxed);
                place.count.store(count, Ordering::Relaxed);
            }
            // No room for frames: a stack without any.
            None => place.count.store(0, Ordering::Relaxed),
        }
        place
            .thread
            .store(taken.thread.cast_unsigned(), Ordering::Relaxed);
        place.function.store(taken.function, Ordering::Relaxed);
        place.is_ready.store(1, Ordering::Release);
        self.stacks.fetch_add(1, Ordering::Release);
    }

    /// The number of stacks; it changes when one is added.
    pub fn count(&self) -> u32 {
        self.stacks.load(Ordering::Acquire)
    }

    /// The number of places.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The stack at a place, if there is one and it is complete.
    pub fn get(&self, index: usize) -> Option<Stored<'_>> {
        let place = self.places.get(index)?;
        if place.is_ready.load(Ordering::Acquire) == 0 {
            return None;
        }
        let first = place.first.load(Ordering::Relaxed) as usize;
        let count = place.count.load(Ordering::Relaxed) as usize;
        let frames = self.frames.get(first..first.saturating_add(count));
        let frames = frames.unwrap_or_default().iter();
        let frame = |(location, method): &(AtomicU32, AtomicU64)| {
            let location = location.load(Ordering::Relaxed).cast_signed();
            AsgctFrame::from_words(location, method.load(Ordering::Relaxed))
        };
        Some(Stored {
            function: place.function.load(Ordering::Relaxed),
            thread: place.thread.load(Ordering::Relaxed).cast_signed(),
            frames: frames.map(frame).collect(),
            is_overflow: index == 0,
            place,
        })
    }

    /// Forgets all stacks. No hook may be at work.
    pub fn clear(&self) {
        for place in self
            .places
            .iter()
            .filter(|it| it.key.load(Ordering::Relaxed) != 0)
        {
            place.is_ready.store(0, Ordering::Relaxed);
            place.amount.store(0, Ordering::Relaxed);
            place.number.store(0, Ordering::Relaxed);
            place.first.store(0, Ordering::Relaxed);
            place.count.store(0, Ordering::Relaxed);
            place.key.store(0, Ordering::Release);
        }
        self.used.store(0, Ordering::Relaxed);
        self.stacks.store(0, Ordering::Relaxed);
        self.make_overflow();
    }
}

impl Stored<'_> {
    /// Amount and number of the stack so far.
    pub fn sums(&self) -> (u64, u64) {
        let place = self.place;
        (
            place.amount.load(Ordering::Relaxed),
            place.number.load(Ordering::Relaxed),
        )
    }
}

/// The places of a key, in the order in which they are tried.
fn places_of(key: u64) -> impl Iterator<Item = usize> {
    let start = key as usize;
    (0..MAX_PROBES).map(move |probe| start.wrapping_add(probe) % MAX_STACKS)
}

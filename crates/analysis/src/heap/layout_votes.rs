//! Guesses from the distances between arrays how a VM lays out its objects.
//!
//! A dump does not say whether references took 4 or 8 bytes in the heap, nor how long object
//! headers were; identifiers are as wide as pointers in any case. But HotSpot writes objects in
//! the order of their addresses, region by region, so the distance from an array to the next
//! object is as a rule the array's size. Eclipse MAT tells compressed references the same way.

use hprof_format::ids::ObjectId;

use super::layout::{CANDIDATES, Layout, MAX_ALIGNMENT};

/// 8, 16, 32, and so on up to [`MAX_ALIGNMENT`].
const ALIGNMENTS: usize = 6;

/// Votes enough; after these, looking costs time only.
const MAX_VOTES: u32 = 20_000;
/// With fewer votes than these nothing is decided.
const MIN_VOTES: u32 = 16;

/// Counts which layouts explain the distances seen.
#[derive(Debug, Clone, Default)]
pub struct LayoutVotes {
    last: Option<(u64, u64, bool)>,
    /// By alignment, by layout.
    votes: [[u32; CANDIDATES.len()]; ALIGNMENTS],
    seen: u32,
    /// Arrays with an object after them, explained or not.
    tried: u32,
}

impl LayoutVotes {
    /// False when there is nothing more to learn.
    #[inline]
    pub fn wants(&self) -> bool {
        self.seen < MAX_VOTES
    }

    /// Sees the next object of the dump. `array` holds the number of elements, or of bytes for
    /// primitives, and whether the elements are references.
    pub fn see(&mut self, object: ObjectId, array: Option<(u64, bool)>) {
        if let Some((start, length, is_references)) = self.last
            && let Some(distance) = object.get().checked_sub(start)
        {
            let mut fits = false;
            for (candidate, (layout, _)) in CANDIDATES.iter().enumerate() {
                let end = if is_references {
                    layout.object_array_end(length)
                } else {
                    layout.array_header.saturating_add(length)
                };
                let Some(padding) = distance.checked_sub(end) else {
                    continue;
                };
                let mut alignment = 8;
                for votes in &mut self.votes {
                    if padding >= MAX_ALIGNMENT {
                        break;
                    }
                    if padding < alignment && distance.is_multiple_of(alignment) {
                        votes[candidate] += 1;
                        fits = true;
                    }
                    alignment *= 2;
                }
            }
            self.seen += u32::from(fits);
            self.tried = self.tried.saturating_add(1);
        }
        self.last = array.map(|(length, is_references)| (object.get(), length, is_references));
    }

    /// Tells that the next object does not follow on the last one.
    pub fn interrupt(&mut self) {
        self.last = None;
    }

    /// Adds the votes of another part of the dump.
    pub fn merge(&mut self, other: &Self) {
        let others = other.votes.as_flattened();
        for (vote, more) in self.votes.as_flattened_mut().iter_mut().zip(others) {
            *vote += more;
        }
        self.seen += other.seen;
        self.tried = self.tried.saturating_add(other.tried);
    }

    /// True if objects come in the order of their addresses, without gaps: four out of five arrays
    /// reach to the next object.
    pub fn is_in_order(&self) -> bool {
        self.seen >= MIN_VOTES && u64::from(self.seen) * 5 >= u64::from(self.tried) * 4
    }

    /// The layout that most distances agree with, if there are enough.
    pub fn winner(&self) -> Option<Layout> {
        let votes = self.votes.as_flattened();
        let best = *votes.iter().max()?;
        let index = votes.iter().position(|&votes| votes == best)?;
        let (layout, _) = CANDIDATES[index % CANDIDATES.len()];
        (best >= MIN_VOTES).then(|| layout.aligned(8 << (index / CANDIDATES.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_in_a_row_tell_each_layout() {
        for (layout, name) in CANDIDATES {
            for alignment in [8, 16, 32, 64, 128, 256] {
                let layout = layout.aligned(alignment);
                let mut votes = LayoutVotes::default();
                let mut address = 0x7000_0000;
                for length in 0..200 {
                    votes.see(ObjectId::new(address), Some((length, true)));
                    address += layout.object_array(length);
                    votes.see(ObjectId::new(address), Some((length, false)));
                    address += layout.primitive_array(length);
                }
                let winner = votes.winner().unwrap();
                for length in 0..100 {
                    assert_eq!(
                        (winner.object_array(length), winner.primitive_array(length)),
                        (layout.object_array(length), layout.primitive_array(length)),
                        "{name}, {alignment}"
                    );
                }
            }
        }
    }

    #[test]
    fn running_numbers_tell_nothing() {
        let mut votes = LayoutVotes::default();
        for number in 0..1000 {
            votes.see(ObjectId::new(number), Some((number % 7, number % 2 == 0)));
        }
        assert!(votes.winner().is_none());
    }
}

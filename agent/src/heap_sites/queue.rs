//! The way of full segments to the profile thread.
//!
//! The profile thread may be late by many segments, for instance while it writes a dump. The
//! queue then has an end all the same, in three steps that cost more and more exactness:
//! beyond [`MAX_EXACT`] segments fewer and fewer new objects are followed, each of which stands
//! for more, so that figures of live objects are estimates (`live_objects_estimated`). Beyond
//! [`MAX_FULL`] threads keep their full segments, and follow no object before there is
//! room. Beyond [`MAX`] the last segments of threads that end are dropped. What is lost in the
//! last two steps is counted (`objects_dropped`). Counts of allocations do not come this way,
//! and stay exact.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::live::Segment;

/// Up to this number of segments in the queue (128 MB when full), the agent follows all objects.
const MAX_EXACT: usize = 8 << 10;
/// Full segments in the queue.
const MAX_FULL: usize = 16 << 10;
/// Segments in the queue.
const MAX: usize = MAX_FULL + (4 << 10);
/// Up to [`MAX_FULL`], objects are followed with a probability of 2 to the power of minus this.
const MAX_SHIFT: usize = 12;

/// The queue.
pub(super) struct SegmentQueue {
    sender: Sender<Arc<Segment>>,
    receiver: Receiver<Arc<Segment>>,
    dropped: AtomicU64,
}

impl SegmentQueue {
    pub(super) fn new() -> Self {
        let (sender, receiver) = bounded(MAX);
        Self {
            sender,
            receiver,
            dropped: AtomicU64::new(0),
        }
    }

    /// Where the profile thread takes segments.
    pub(super) fn receiver(&self) -> Receiver<Arc<Segment>> {
        self.receiver.clone()
    }

    /// Returns true if a full segment may be handed over now.
    pub(super) fn has_room(&self) -> bool {
        self.sender.len() < MAX_FULL
    }

    /// Hands a segment over. False when it was dropped: its objects are not followed any more,
    /// and their references stay in the VM, as a dump may be looking at them.
    pub(super) fn push(&self, segment: Arc<Segment>) -> bool {
        let objects = segment.len() as u64;
        let taken = self.sender.try_send(segment).is_ok();
        if !taken {
            self.dropped.fetch_add(objects, Ordering::Relaxed);
        }
        taken
    }

    /// Drops what waits, and forgets what was counted.
    pub(super) fn clear(&self) {
        self.receiver.try_iter().for_each(drop);
        self.dropped.store(0, Ordering::Relaxed);
    }

    /// Counts an object that is not followed for want of room.
    pub(super) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Objects that are not followed, or not any more, for want of room.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// New objects are followed with a probability of 2 to the power of minus this.
    pub(super) fn shift(&self) -> u8 {
        shift_for(self.sender.len())
    }
}

fn shift_for(queued: usize) -> u8 {
    let Some(beyond) = queued.checked_sub(MAX_EXACT) else {
        return 0;
    };
    let step = (MAX_FULL - MAX_EXACT) / MAX_SHIFT;
    u8::try_from((beyond / step).min(MAX_SHIFT)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_nobody_empties_has_an_end() {
        let queue = SegmentQueue::new();
        let mut full = 0;
        while queue.has_room() {
            assert!(queue.push(Segment::new(1)));
            full += 1;
            assert!(full <= MAX_FULL);
        }
        for _ in 0..2 * MAX {
            queue.push(Segment::new(0));
        }
        assert_eq!(queue.receiver().len(), MAX);
        assert_eq!(queue.receiver().try_iter().count(), MAX);
        assert!(queue.has_room() && queue.push(Segment::new(0)));
    }

    #[test]
    fn fewer_objects_are_followed_when_the_queue_is_long() {
        assert_eq!(shift_for(0), 0);
        assert_eq!(shift_for(MAX_EXACT), 0);
        assert_eq!(shift_for(MAX_EXACT + MAX_EXACT / 2), 6);
        assert_eq!(shift_for(MAX_FULL), 12);
        assert_eq!(shift_for(usize::MAX), 12);
    }
}

//! Which recorded objects are still alive.
//!
//! Each object that is followed has a weak global reference, which the collector
//! clears. Threads fill segments with them; a full segment goes to the profile
//! thread, which keeps it in fewer bytes ([`Run`](super::run::Run)), deletes the cleared references after a collection
//! and keeps the others. Most objects die young, so survivors are swept less often.
//!
//! Against a tag for each object this needs a third of the memory and a tenth of the time,
//! and nothing has to be mended when the collector moves objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use jni_sys::jobject;

use super::sites::SiteId;
use crate::vm::{Jni, WeakRef, handle_word};

/// An object that is followed.
pub(super) struct Followed {
    pub(super) weak: WeakRef,
    pub(super) site: SiteId,
    /// It represents 2 to the power of this many objects.
    pub(super) shift: u8,
    /// Its size in bytes.
    pub(super) size: u64,
}

/// How a followed object is kept.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    /// The weak reference.
    pub(super) weak: usize,
    /// Site and shift, in this order from the lowest bit on.
    pub(super) site_and_shift: u32,
    /// In units of 8 bytes, which sizes of objects are multiples of.
    pub(super) size: u32,
}

const SITE_BITS: u32 = 24;

impl Packed {
    /// Stands for none.
    pub(super) const ZERO: Self = Self {
        weak: 0,
        site_and_shift: 0,
        size: 0,
    };

    fn new(object: Followed) -> Self {
        Self {
            weak: object.weak.as_raw() as usize,
            site_and_shift: object.site.0 | u32::from(object.shift) << SITE_BITS,
            size: u32::try_from(object.size / 8).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn unpack(self) -> Followed {
        Followed {
            // SAFETY: made from a reference that is deleted only by `sweep`, which
            // then drops this value.
            weak: unsafe { WeakRef::from_raw(self.weak as jobject) }
                .unwrap_or_else(|| unreachable!("only references are packed")),
            site: SiteId(self.site_and_shift & ((1 << SITE_BITS) - 1)),
            shift: (self.site_and_shift >> SITE_BITS) as u8,
            size: u64::from(self.size) * 8,
        }
    }
}

/// Followed objects of one thread. The thread adds, others only read.
pub(super) struct Segment {
    places: Box<[AtomicPacked]>,
    len: AtomicUsize,
    /// Its own among all segments.
    number: u64,
    /// The collection during which it was full, or left by its thread.
    epoch: AtomicUsize,
}

/// A [`Packed`] that its thread writes once.
#[derive(Default)]
struct AtomicPacked {
    weak: AtomicUsize,
    site_and_shift: AtomicU32,
    size: AtomicU32,
}

impl Segment {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self {
            places: (0..capacity).map(|_| AtomicPacked::default()).collect(),
            len: AtomicUsize::new(0),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            epoch: AtomicUsize::new(0),
        })
    }

    /// Returns true if there is room for another object.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.len.load(Ordering::Relaxed) < self.places.len()
    }

    /// Adds an object; false without room. Only the thread that owns the segment calls this.
    #[inline]
    pub(super) fn push(&self, object: Followed) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let Some(place) = self.places.get(len) else {
            return false;
        };
        let packed = Packed::new(object);
        place.weak.store(packed.weak, Ordering::Relaxed);
        place
            .site_and_shift
            .store(packed.site_and_shift, Ordering::Relaxed);
        place.size.store(packed.size, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Release);
        true
    }

    /// The objects in it.
    pub(super) fn objects(&self) -> impl Iterator<Item = Packed> + '_ {
        let len = self.len.load(Ordering::Acquire);
        self.places.iter().take(len).map(|place| Packed {
            weak: place.weak.load(Ordering::Relaxed),
            site_and_shift: place.site_and_shift.load(Ordering::Relaxed),
            size: place.size.load(Ordering::Relaxed),
        })
    }

    /// No other segment has this number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// How many objects are in it.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Notes the number of collections when nothing more comes.
    pub(super) fn close(&self, epoch: usize) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    pub(super) fn epoch(&self) -> usize {
        self.epoch.load(Ordering::Relaxed)
    }
}

/// Looks whether objects are alive.
#[derive(Clone, Copy)]
pub(super) struct LivenessCheck {
    /// References may be read as HotSpot keeps them.
    pub(super) hotspot: bool,
}

impl LivenessCheck {
    /// Returns true if the object has been collected.
    pub(super) fn is_dead(self, jni: &Jni, weak: &WeakRef) -> bool {
        // A null word is all that is needed to know; any other word may still
        // mean a dead object to a concurrent collector.
        // SAFETY: HotSpot, and the reference was not deleted.
        (self.hotspot && unsafe { handle_word(weak.as_raw()) } == 0) || jni.is_cleared(weak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(site: u32, shift: u8, size: u64) -> Followed {
        Followed {
            // SAFETY: never passed to a VM.
            weak: unsafe { WeakRef::from_raw(0x7fff_1234_5671 as jobject) }.unwrap(),
            site: SiteId(site),
            shift,
            size,
        }
    }

    #[test]
    fn packing_keeps_everything() {
        for object in [
            followed(0, 0, 16),
            followed((1 << SITE_BITS) - 1, 40, 17_179_869_200 / 8 * 8),
        ] {
            let facts = |object: &Followed| {
                let weak = object.weak.as_raw();
                (weak, object.site, object.shift, object.size)
            };
            let before = facts(&object);
            assert_eq!(facts(&Packed::new(object).unpack()), before);
        }
    }

    #[test]
    fn a_segment_tells_when_it_is_full() {
        let segment = Segment::new(3);
        assert!(segment.push(followed(1, 0, 8)));
        assert!(segment.push(followed(2, 0, 8)));
        assert!(segment.has_room());
        assert!(segment.push(followed(3, 0, 8)));
        assert!(!segment.has_room());
        assert!(!segment.push(followed(4, 0, 8)));
        let sites: Vec<u32> = segment.objects().map(|o| o.unpack().site.0).collect();
        assert_eq!(sites, [1, 2, 3]);
    }
}

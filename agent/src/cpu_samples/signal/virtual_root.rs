//! The root of a virtual thread whose outer frames are in the heap.
//!
//! The VM copies the frames of a virtual thread back to a carrier as they are returned to. A walk in a handler
//! ends where the copies end, since objects may move meanwhile. All virtual threads have the same two outermost
//! frames, the second of them `VirtualThread.run`. They are remembered from the first stack that has them, and put
//! below the others. The frames between are not known.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};

use super::asgct::AsgctFrame;
use crate::vm::{JMethodId, Jni};

/// How many outermost frames are remembered.
const FRAMES: usize = 2;
const UNKNOWN: u8 = 0;
const BEING_WRITTEN: u8 = 1;
const KNOWN: u8 = 2;

/// The outermost frames of virtual threads.
pub(super) struct VirtualRoot {
    run: JMethodId,
    /// The methods of the frames that are below, of the continuation.
    entries: [JMethodId; 2],
    state: AtomicU8,
    methods: [AtomicUsize; FRAMES],
    locations: [AtomicI32; FRAMES],
}

impl VirtualRoot {
    /// Finds the methods. `None` in a VM without virtual threads.
    pub(super) fn learn(jni: &Jni) -> Option<Self> {
        let thread = jni.find_class(c"java/lang/VirtualThread").ok()?;
        let run = jni
            .method_id(thread.get(), c"run", c"(Ljava/lang/Runnable;)V")
            .ok()?;
        let continuation = jni.find_class(c"jdk/internal/vm/Continuation").ok()?;
        let class = continuation.get();
        let enter = c"(Ljdk/internal/vm/Continuation;Z)V";
        Some(Self {
            run,
            entries: [
                jni.method_id(class, c"enter0", c"()V").ok()?,
                jni.static_method_id(class, c"enter", enter).ok()?,
            ],
            state: AtomicU8::new(UNKNOWN),
            methods: Default::default(),
            locations: Default::default(),
        })
    }

    /// Remembers the outermost frames from a stack that has them. Safe in a signal handler.
    pub(super) fn note(&self, frames: &[AsgctFrame]) {
        if self.state.load(Ordering::Relaxed) != UNKNOWN {
            return;
        }
        let mut methods = frames.iter().map(|frame| frame.method);
        let Some(root) = methods
            .position(|method| self.entries.contains(&method))
            .and_then(|end| frames.get(end.checked_sub(FRAMES)?..end))
        else {
            return;
        };
        let is_run = root.first().is_some_and(|frame| frame.method == self.run);
        let claim = || {
            let (relaxed, to) = (Ordering::Relaxed, BEING_WRITTEN);
            let claimed = self.state.compare_exchange(UNKNOWN, to, relaxed, relaxed);
            claimed.is_ok()
        };
        if is_run && claim() {
            let places = self.methods.iter().zip(&self.locations);
            for (frame, (method, location)) in root.iter().zip(places) {
                method.store(frame.method.as_raw() as usize, Ordering::Relaxed);
                location.store(frame.location, Ordering::Relaxed);
            }
            self.state.store(KNOWN, Ordering::Release);
        }
    }

    /// The frames to put below a stack whose outermost frame is of this method: the two that are known, or
    /// those of them that are not there yet. Safe in a signal handler.
    pub(super) fn below(&self, outermost: JMethodId) -> impl Iterator<Item = AsgctFrame> + '_ {
        let is_known = self.state.load(Ordering::Acquire) == KNOWN;
        let method = |place: &AtomicUsize| {
            // SAFETY: `note` had it from a frame.
            unsafe { JMethodId::from_raw(place.load(Ordering::Relaxed) as jni_sys::jmethodID) }
        };
        let present = self
            .methods
            .iter()
            .position(|place| method(place) == outermost)
            .map_or(0, |place| place.saturating_add(1));
        let places = self.methods.iter().zip(&self.locations);
        places
            .skip(present)
            .filter(move |_| is_known)
            .map(move |(place, location)| AsgctFrame {
                location: location.load(Ordering::Relaxed),
                method: method(place),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(method: usize, location: i32) -> AsgctFrame {
        AsgctFrame {
            location,
            // SAFETY: nothing looks behind it.
            method: unsafe { JMethodId::from_raw(method as jni_sys::jmethodID) },
        }
    }

    #[test]
    fn the_root_is_learnt_once_and_put_below() {
        let root = VirtualRoot {
            run: frame(10, 0).method,
            entries: [frame(20, 0).method, frame(21, 0).method],
            state: AtomicU8::new(UNKNOWN),
            methods: Default::default(),
            locations: Default::default(),
        };
        let below = |method| root.below(frame(method, 0).method).collect::<Vec<_>>();
        // No continuation, and one of another kind.
        root.note(&[frame(1, 0), frame(10, 5), frame(11, 6)]);
        root.note(&[frame(1, 0), frame(9, 5), frame(11, 6), frame(20, 0)]);
        root.note(&[frame(11, 6), frame(20, 0)]);
        assert_eq!(below(1), []);
        root.note(&[frame(1, 0), frame(10, 5), frame(11, 6), frame(20, 0)]);
        root.note(&[frame(1, 0), frame(10, 7), frame(12, 8), frame(20, 0)]);
        assert_eq!(below(1), [frame(10, 5), frame(11, 6)]);
        assert_eq!(below(10), [frame(11, 6)]);
        assert_eq!(below(11), []);
    }
}

//! The root of a virtual thread whose outer frames are in the heap and cannot be read.
//!
//! The VM copies the frames of a virtual thread back to a carrier as they are returned to. A walk in a handler
//! ends where the copies end if objects may move meanwhile, as they may while the thread runs native code. All virtual
//! threads have the same two outermost frames, the second of them `VirtualThread.run`. They are remembered from the first
//! stack that has them, and put below the others. The frames between are not known.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};

use super::asgct::AsgctFrame;
use crate::vm::{Class, FrozenClasses, GlobalRef, JMethodId, Jni, Jvmti, Ref};

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

/// The classes of virtual threads, which may not be prepared yet.
///
/// JNI initializes classes that it looks up or into, and the initialization of `VirtualThread` makes its scheduler,
/// which a program without virtual threads never needs. JVMTI lists the methods of prepared classes.
pub(super) struct VirtualClasses {
    thread: GlobalRef<Class>,
    continuation: GlobalRef<Class>,
    chunk: GlobalRef<Class>,
}

impl VirtualClasses {
    /// Finds the classes. `None` in a VM without virtual threads.
    pub(super) fn find(jni: &Jni) -> Option<Self> {
        let find = |name| jni.new_global(jni.find_class_only(name).ok()?.get()).ok();
        Some(Self {
            thread: find(c"java.lang.VirtualThread")?,
            continuation: find(c"jdk.internal.vm.Continuation")?,
            chunk: find(c"jdk.internal.vm.StackChunk")?,
        })
    }

    /// The classes of the objects that lead to frames in the heap.
    pub(super) fn frozen(&self) -> FrozenClasses<'_> {
        FrozenClasses {
            thread: self.thread.get(),
            continuation: self.continuation.get(),
            chunk: self.chunk.get(),
        }
    }

    /// Finds the methods. `None` until the classes are prepared.
    pub(super) fn root(&self, jvmti: &Jvmti) -> Option<VirtualRoot> {
        let find = |class: Ref<'_, Class>, name: &str, descriptor: &str| {
            let methods = jvmti.declared_methods(class).ok()?;
            let is_it = |id: &JMethodId| {
                let found = jvmti.method_name(*id);
                found.is_ok_and(|found| found.name == name && found.descriptor == descriptor)
            };
            methods.iter().copied().find(is_it)
        };
        let continuation = self.continuation.get();
        let enter = "(Ljdk/internal/vm/Continuation;Z)V";
        Some(VirtualRoot {
            run: find(self.thread.get(), "run", "(Ljava/lang/Runnable;)V")?,
            entries: [
                find(continuation, "enter0", "()V")?,
                find(continuation, "enter", enter)?,
            ],
            state: AtomicU8::new(UNKNOWN),
            methods: Default::default(),
            locations: Default::default(),
        })
    }
}

impl VirtualRoot {
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

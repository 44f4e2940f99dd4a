//! The waits that hooks record.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::hooks::Function;
use crate::native_calls::{Capture, StackId, Stacks, end_in_child};

/// Waits are recorded. The child of a fork records none.
pub(super) static IS_ON: AtomicBool = AtomicBool::new(false);

static STATE: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

/// The state that hooks record into. Leaked, since a hook may be late.
pub(super) struct State {
    pub(super) capture: Capture,
    pub(super) stacks: Stacks,
    /// The shortest wait that counts, in nanoseconds.
    threshold: AtomicU64,
    /// Waits that were shorter.
    below: AtomicU64,
    /// The number of times that recording began: what a wait has found is of the time in which it began.
    epoch: AtomicU32,
    /// Hooks that use the tables of stacks now. None does while it waits.
    inside: AtomicUsize,
}

/// A wait that has begun.
pub(super) struct Wait {
    began: Instant,
    epoch: u32,
    stack: StackId,
}

impl State {
    /// The one state of this process.
    pub(super) fn the() -> &'static Self {
        if let Some(state) = Self::get() {
            return state;
        }
        let state = Box::into_raw(Box::new(Self {
            capture: Capture::default(),
            stacks: Stacks::new(),
            threshold: AtomicU64::new(0),
            below: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
            inside: AtomicUsize::new(0),
        }));
        STATE.store(state, Ordering::Release);
        // SAFETY: it has just been leaked. The child of a fork has none of the agent's threads.
        unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
            &*state
        }
    }

    pub(super) fn get() -> Option<&'static Self> {
        let state = STATE.load(Ordering::Acquire);
        // SAFETY: null, or leaked.
        unsafe { state.as_ref() }
    }

    /// Begins a recording of waits that are as long or longer: all is forgotten.
    pub(super) fn begin(&self, threshold: Duration) {
        self.pause();
        self.stacks.clear();
        self.below.store(0, Ordering::Relaxed);
        let nanos = u64::try_from(threshold.as_nanos()).unwrap_or(u64::MAX);
        self.threshold.store(nanos, Ordering::Relaxed);
    }

    /// Waits that begin from now on are recorded.
    pub(super) fn resume(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        IS_ON.store(true, Ordering::SeqCst);
    }

    /// No wait is recorded from now on, also of those under way.
    pub(super) fn pause(&self) {
        IS_ON.store(false, Ordering::SeqCst);
        while self.inside.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
    }

    pub(super) fn is_on(&self) -> bool {
        IS_ON.load(Ordering::Relaxed)
    }

    /// Waits that were shorter than the threshold.
    pub(super) fn below(&self) -> u64 {
        self.below.load(Ordering::Relaxed)
    }

    /// Calls `body`, which may use the tables, unless nothing is recorded.
    fn with<T>(&self, body: impl FnOnce() -> Option<T>) -> Option<T> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let result = match IS_ON.load(Ordering::SeqCst) {
            true => body(),
            false => None,
        };
        self.inside.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// A wait begins: takes its stack. None if nothing is recorded.
    pub(super) fn begins(&self, function: Function) -> Option<Wait> {
        let began = Instant::now();
        self.with(|| {
            Some(Wait {
                began,
                epoch: self.epoch.load(Ordering::SeqCst),
                stack: self.capture.take(function as u8, &self.stacks),
            })
        })
    }

    /// A wait has ended: it counts, unless the recording of its begin is over.
    pub(super) fn ends(&self, wait: &Wait) {
        let nanos = u64::try_from(wait.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let _ = self.with(|| {
            if self.epoch.load(Ordering::SeqCst) == wait.epoch {
                if nanos < self.threshold.load(Ordering::Relaxed) {
                    self.below.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.stacks.add(wait.stack, nanos, 1);
                }
            }
            Some(())
        });
    }
}

/// The child of a fork records nothing.
unsafe extern "C" fn in_child() {
    end_in_child();
    IS_ON.store(false, Ordering::SeqCst);
}

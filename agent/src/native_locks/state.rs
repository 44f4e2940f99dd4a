//! The waits that hooks record.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::hooks::Function;
use crate::native_calls::{Capture, Gate, Leaked, StackId, Stacks};

/// Waits are recorded. The child of a fork records none, and no thread is inside while it waits.
pub(super) static GATE: Gate = Gate::closed();

static STATE: Leaked<State> = Leaked::none();

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
        let make = || Self {
            capture: Capture::default(),
            stacks: Stacks::new(),
            threshold: AtomicU64::new(0),
            below: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
        };
        STATE.get_or_make(make, in_child)
    }

    pub(super) fn get() -> Option<&'static Self> {
        STATE.get()
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
        GATE.open();
    }

    /// No wait is recorded from now on, also of those under way.
    pub(super) fn pause(&self) {
        GATE.close();
    }

    pub(super) fn is_on(&self) -> bool {
        GATE.is_open()
    }

    /// Waits that were shorter than the threshold.
    pub(super) fn below(&self) -> u64 {
        self.below.load(Ordering::Relaxed)
    }

    /// A wait begins: takes its stack. None if nothing is recorded.
    pub(super) fn begins(&self, function: Function) -> Option<Wait> {
        let began = Instant::now();
        GATE.pass(|| Wait {
            began,
            epoch: self.epoch.load(Ordering::SeqCst),
            stack: self.capture.take(function as u8, &self.stacks),
        })
    }

    /// A wait has ended: it counts, unless the recording of its begin is over.
    pub(super) fn ends(&self, wait: &Wait) {
        let nanos = u64::try_from(wait.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let _ = GATE.pass(|| {
            if self.epoch.load(Ordering::SeqCst) == wait.epoch {
                if nanos < self.threshold.load(Ordering::Relaxed) {
                    self.below.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.stacks.add(wait.stack, nanos, 1);
                }
            }
        });
    }
}

/// The child of a fork records nothing.
unsafe extern "C" fn in_child() {
    GATE.close_in_child();
}

//! The states of threads that a profile distinguishes.

use hprof_native_headers as raw;

use crate::vm::ThreadState;

/// The state of a thread at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallState {
    /// It has a CPU, in Java code, native code or the VM.
    Running,
    /// It would run, but has no CPU.
    Runnable,
    /// It wants a monitor that another thread has.
    Blocked,
    /// It waits in `Object.wait` or is parked.
    Waiting,
    /// It is in `Thread.sleep`.
    Sleeping,
    /// Native code that it has called waits, for input say.
    Native,
    /// It waits in the VM: for a safepoint, a collection, a class.
    Vm,
}

impl WallState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Running,
        Self::Runnable,
        Self::Blocked,
        Self::Waiting,
        Self::Sleeping,
        Self::Native,
        Self::Vm,
    ];

    /// The state of a thread that does not run, by the VM's words for it.
    pub fn of(state: ThreadState) -> Self {
        // A thread that sleeps waits too, by its bits.
        let order = [
            (
                raw::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER,
                Self::Blocked,
            ),
            (raw::JVMTI_THREAD_STATE_SLEEPING, Self::Sleeping),
            (raw::JVMTI_THREAD_STATE_WAITING, Self::Waiting),
            (raw::JVMTI_THREAD_STATE_IN_NATIVE, Self::Native),
        ];
        let found = order.into_iter().find(|&(bit, _)| state.has(bit));
        found.map_or(Self::Vm, |(_, state)| state)
    }

    /// The name of the frame that stands for it.
    pub fn frame(self) -> &'static str {
        match self {
            Self::Running => "[running]",
            Self::Runnable => "[runnable]",
            Self::Blocked => "[blocked]",
            Self::Waiting => "[waiting]",
            Self::Sleeping => "[sleeping]",
            Self::Native => "[native]",
            Self::Vm => "[vm]",
        }
    }

    /// The word in counters.
    pub fn word(self) -> &'static str {
        self.frame().trim_matches(['[', ']'])
    }
}

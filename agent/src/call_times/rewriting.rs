//! The handles of the Java side, and the steps in which its classes are rewritten.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hprof_lockfree::late_threads::VmThread;

use crate::vm::{Class, GlobalRef, JFieldId, Jni, Ref};

/// How long a step may take in which some classes of a running program are rewritten. The
/// program stands still in the last part of it, in which the VM looks at all classes there
/// are: at JDK 11 once for each class of the step, later once.
const STEP_TIME: Duration = Duration::from_millis(25);
/// Classes in a step. It grows and shrinks with the time that steps take.
pub(super) const FIRST_STEP: usize = 32;
const STEP_SIZES: RangeInclusive<usize> = 8..=512;

/// The handles of the Java side.
pub(super) struct Java {
    pub(super) place: StatePlace,
    pub(super) virtual_thread: Option<GlobalRef<Class>>,
    pub(super) hooks: GlobalRef<Class>,
    /// Whether the hook class has its natives.
    pub(super) registered: AtomicBool,
}

/// Where hooks find a thread's state.
pub(super) enum StatePlace {
    /// In this field of the thread.
    Field(JFieldId),
    /// In a table, by what the thread has in this field.
    Table { vm_thread: JFieldId },
}

impl Java {
    /// Whether a thread is virtual.
    pub(super) fn is_virtual(&self, jni: &Jni, thread: Ref<'_>) -> bool {
        self.virtual_thread
            .as_ref()
            .is_some_and(|class| jni.is_instance(thread, class.get()))
    }

    /// The key of a thread, if its state is in the table.
    ///
    /// # Safety
    /// `thread` is of class `Thread`.
    pub(super) unsafe fn vm_thread(&self, jni: &Jni, thread: Ref<'_>) -> Option<VmThread> {
        match self.place {
            StatePlace::Field(_) => None,
            StatePlace::Table { vm_thread } => {
                // SAFETY: a field of type long that threads have.
                let word = unsafe { jni.long_field(thread, vm_thread) };
                Some(VmThread(word.cast_unsigned()))
            }
        }
    }

    /// The field with a thread's state, if that is where it is.
    pub(super) fn state_field(&self) -> Option<JFieldId> {
        match self.place {
            StatePlace::Field(field) => Some(field),
            StatePlace::Table { .. } => None,
        }
    }
}

/// How many classes are rewritten at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// All, before the program runs.
    One,
    /// Some, while the program runs: this many in the next step.
    Short(usize),
}

impl Steps {
    pub(super) fn size(self) -> usize {
        match self {
            Self::One => usize::MAX,
            Self::Short(size) => size,
        }
    }

    /// Learns from a step that has taken so long.
    pub(super) fn learn(&mut self, took: Duration) {
        if let Self::Short(size) = self {
            let next = match took {
                _ if took > STEP_TIME => *size / 2,
                _ if took < STEP_TIME / 2 => *size * 2,
                _ => *size,
            };
            *size = next.clamp(*STEP_SIZES.start(), *STEP_SIZES.end());
        }
    }
}

/// The cost of inserting hooks into the classes of a running program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rewriting {
    pub(super) classes: usize,
    pub(super) steps: u32,
    pub(super) longest: Duration,
    pub(super) total: Duration,
}

impl fmt::Display for Rewriting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rewritten while the program ran: classes={} steps={} longest_step_ms={} \
             all_steps_ms={}",
            self.classes,
            self.steps,
            self.longest.as_millis(),
            self.total.as_millis(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_as_large_as_the_time_allows() {
        let mut steps = Steps::Short(FIRST_STEP);
        for (millis, size) in [(3, 64), (20, 64), (40, 32), (400, 16), (400, 8), (400, 8)] {
            steps.learn(Duration::from_millis(millis));
            assert_eq!(steps.size(), size);
        }
        for _ in 0..20 {
            steps.learn(Duration::ZERO);
        }
        assert_eq!(steps.size(), 512);
    }
}

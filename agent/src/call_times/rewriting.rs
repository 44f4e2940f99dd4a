//! The handles of the Java side, and the steps in which its classes are rewritten.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jni_sys::jlong;

use crate::vm::{Class, GlobalRef, JFieldId, Jni, Ref, Result};

/// How long a step may take in which some classes of a running program are rewritten. The
/// program stands still in the last part of it, in which the VM looks at all classes there
/// are: at JDK 11 once for each class of the step, later once.
const STEP_TIME: Duration = Duration::from_millis(25);
/// Classes in a step. It grows and shrinks with the time that steps take.
const FIRST_STEP: usize = 32;
const STEP_SIZES: RangeInclusive<usize> = 8..=512;

/// The handles of the Java side.
pub(super) struct Java {
    pub(super) place: StatePlace,
    pub(super) hooks: GlobalRef<Class>,
    /// True if the hook class has its natives.
    pub(super) registered: AtomicBool,
    /// Threads that have entered a method are never without a state.
    pub(super) keeps_states: bool,
}

/// Where a thread object has the address of its state: in a field of the agent, or in the place of the size of its
/// stack, which no code reads once it runs.
pub(super) struct StatePlace {
    pub(super) variant: Variant,
    /// The field of the thread with the object that has it.
    holder: Option<JFieldId>,
    state: JFieldId,
}

/// The variants of the hook class, by where it finds the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// In a field that the agent has added to `Thread`.
    Fields,
    /// In `Thread`, where the size is before JDK 19.
    Thread,
    /// In its holder, where the size is since then.
    Holder,
}

impl StatePlace {
    /// Looks the fields of threads up.
    ///
    /// # Errors
    /// Their names are others in this VM.
    pub(super) fn find(jni: &Jni) -> Result<Self> {
        let size = c"stackSize";
        let thread = jni.find_class(c"java/lang/Thread")?;
        let of_thread = |name| jni.field_id(thread.get(), name, c"J");
        let in_thread = |variant, state| Self {
            variant,
            holder: None,
            state,
        };
        if let Ok(state) = of_thread(c"hprofState") {
            return Ok(in_thread(Variant::Fields, state));
        }
        if let Ok(state) = of_thread(size) {
            return Ok(in_thread(Variant::Thread, state));
        }
        let class = jni.find_class(c"java/lang/Thread$FieldHolder")?;
        let of_class = c"Ljava/lang/Thread$FieldHolder;";
        Ok(Self {
            variant: Variant::Holder,
            holder: Some(jni.field_id(thread.get(), c"holder", of_class)?),
            state: jni.field_id(class.get(), size, c"J")?,
        })
    }

    /// Sets the state of a thread.
    ///
    /// # Safety
    /// `thread` is of class `Thread`. A state is 0, or the address of one.
    pub(super) unsafe fn set(&self, jni: &Jni, thread: Ref<'_>, state: jlong) {
        // Apart from the sizes that threads are made with.
        let state = match self.variant {
            Variant::Fields => state,
            Variant::Thread | Variant::Holder => state.wrapping_neg(),
        };
        let Some(holder) = self.holder else {
            // SAFETY: a field of type long that threads have.
            unsafe { jni.set_long_field(thread, self.state, state) };
            return;
        };
        // SAFETY: a reference that threads have.
        if let Some(holder) = unsafe { jni.object_field(thread, holder) } {
            // SAFETY: a field of type long that all objects in that field have.
            unsafe { jni.set_long_field(holder.get(), self.state, state) };
        }
    }
}

/// How many classes of a running program are rewritten in the next step.
pub(super) struct Steps(usize);

impl Default for Steps {
    fn default() -> Self {
        Self(FIRST_STEP)
    }
}

impl Steps {
    pub(super) fn size(&self) -> usize {
        self.0
    }

    /// Learns from a step that has taken so long.
    pub(super) fn learn(&mut self, took: Duration) {
        let next = match took {
            _ if took > STEP_TIME => self.0 / 2,
            _ if took < STEP_TIME / 2 => self.0 * 2,
            _ => self.0,
        };
        self.0 = next.clamp(*STEP_SIZES.start(), *STEP_SIZES.end());
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
        let mut steps = Steps::default();
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

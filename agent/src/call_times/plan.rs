//! How calls are to be counted.

use super::state::CallClock;
use crate::options::Patterns;
use crate::os::TimerError;

/// When the agent came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Before the VM loaded `java.lang.Thread`.
    Early,
    /// The VM was up.
    Late,
}

/// How calls are counted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Methods in a path.
    pub depth: u32,
    /// How their time is known.
    pub timing: CallClock,
    /// Whose calls.
    pub classes: ChosenClasses,
    /// `Thread` gets fields, as the agent sees the VM load it.
    pub adds_fields: bool,
    /// The interpreter reads fields in place of short methods, without their code, as with `-Xint` on JDK 8.
    pub has_fast_accessors: bool,
    /// The user's choice of a signal for the timers of threads, if any.
    pub signal: Option<i32>,
}

/// Why calls cannot be counted.
#[derive(Debug, thiserror::Error)]
pub enum Unprepared {
    /// The system gives no memory.
    #[error("no memory for counting calls")]
    NoMemory,
    /// The signal that the user asked for cannot be had.
    #[error("cpu=times cannot time threads: {0}")]
    Signal(#[from] TimerError),
    /// Another run counts.
    #[error("calls are being counted in this JVM")]
    Busy,
    /// Methods that were running at the end of an earlier run still have its paths.
    #[error(
        "calls were counted in this JVM before with depth={0}{1}, and can be again only with the \
         same: methods that have been running since then go on with it"
    )]
    Different(usize, &'static str),
}

/// Which classes are counted.
#[derive(Clone, Debug, Default)]
pub struct ChosenClasses {
    /// Only these, unless there are none.
    pub include: Patterns,
    /// Not these.
    pub exclude: Patterns,
}

impl ChosenClasses {
    /// Returns true if the calls of a class are counted.
    pub(super) fn choose(&self, class: &str) -> bool {
        (self.include.is_empty() || self.include.matches(class)) && !self.exclude.matches(class)
    }
}

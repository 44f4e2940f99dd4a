//! Threads that are started one after the other.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::counted;

/// Platform threads that were started.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewThreads {
    /// Per second.
    pub per_second: f64,
    /// The line that starts most of them (JDK 17 and later).
    pub place: Option<Place>,
}

impl Figures for NewThreads {
    const RULE: &'static str = "new-threads";
    const NEEDS: &'static [&'static str] = &["jdk.ThreadStart"];

    fn of(recorded: &Recorded) -> Self {
        let starts = recorded.thread_starts.iter();
        let traces = starts.filter_map(|(_, trace)| trace.map(|trace| (trace, 1.0)));
        // A start without a stack has the thread that was started as its own.
        let place = recorded.place(traces).filter(|place| place.is_own);
        Self {
            per_second: recorded.thread_starts.len() as f64 / recorded.seconds(),
            place,
        }
    }

    fn level(&self) -> Level {
        Level::of(self.per_second, 100.0, 2_000.0)
    }

    fn headline(&self) -> String {
        format!(
            "{} started{}.",
            counted(
                self.per_second,
                "thread a second was",
                "threads a second were"
            ),
            match self.level() {
                Level::Ok => String::new(),
                _ => at(self.place.as_ref()),
            }
        )
    }

    fn cause(&self) -> String {
        "A platform thread costs some tens of microseconds and a stack, more than a short task does.".to_owned()
    }

    fn next(&self) -> String {
        "Give the tasks to an executor that keeps its threads, or start virtual threads (JDK 21)."
            .to_owned()
    }
}

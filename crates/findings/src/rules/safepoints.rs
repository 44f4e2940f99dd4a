//! Stops of the JVM for which threads are slow to reach a safepoint.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{percent, time};

/// The time from the wish to stop all threads to the stop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Safepoints {
    /// The share of time in which threads that had stopped waited for others.
    pub share: f64,
    /// The stops that took longer than the recording's limit.
    pub count: u64,
    /// The longest, in nanoseconds.
    pub longest_nanos: f64,
    /// The line that ran before or in such times.
    pub place: Option<Place>,
}

impl Figures for Safepoints {
    const RULE: &'static str = "safepoints";
    const NEEDS: &'static [&'static str] = &["jdk.SafepointBegin"];

    fn of(recorded: &Recorded) -> Self {
        let all = &recorded.safepoints;
        let is_slow = |nanos: f64| nanos >= 5e6;
        // The JVM cannot sample a thread while it stops; the loop ran before, too.
        let near = |at: i64| {
            all.iter().any(|&(start, nanos)| {
                is_slow(nanos) && at >= start - 100_000_000 && at <= start + nanos as i64
            })
        };
        let samples = || recorded.samples.iter().map(|it| (it.trace, it.count));
        let during = recorded.samples.iter().filter(|it| near(it.at));
        let during = recorded.place(during.map(|it| (it.trace, it.count)));
        Self {
            share: all.iter().map(|it| it.1).sum::<f64>() / recorded.nanos(),
            count: all.len() as u64,
            longest_nanos: all.iter().map(|it| it.1).fold(0.0, f64::max),
            place: during.or_else(|| recorded.place(samples())),
        }
    }

    fn level(&self) -> Level {
        Level::of(self.share, 0.03, 0.15)
    }

    fn headline(&self) -> String {
        let share = percent(self.share);
        match self.level() {
            Level::Ok => {
                format!("Threads waited {share} of the time for others to reach a safepoint.")
            }
            _ => format!(
                "Threads waited {share} of the time for others to reach a safepoint, up to {} at once, while the program ran{}.",
                time(self.longest_nanos),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "Compiled code asks whether to stop at the ends of methods and loops, but not in counted loops by int, nor in copies of large arrays; \
         a collection or thread dump waits for the slowest thread."
            .to_owned()
    }

    fn next(&self) -> String {
        "Find the loop and divide its work, count by long, or set -XX:+UseCountedLoopSafepoints; \
         -Xlog:safepoint shows which operation asked. If the machine was short of CPU, that is the cause."
            .to_owned()
    }
}

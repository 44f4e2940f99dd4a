//! Garbage collections that stop the program.

use serde::Serialize;

use super::Figures;
use super::explicit::is_explicit;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{bytes, counted, percent, time};

/// Pauses of collections, but those for which the program asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectionPauses {
    /// The share of time that they took.
    pub pause_share: f64,
    /// Collections per second.
    pub per_second: f64,
    /// The longest sum of pauses of one, in nanoseconds.
    pub longest_nanos: f64,
    /// The median of what was in use after collections, of the largest size of the heap; none if the recording does not say.
    pub live_share: Option<f64>,
    /// Allocation in bytes per second, if the recording says.
    pub allocated_per_second: Option<f64>,
    /// The line that allocates most.
    pub place: Option<Place>,
}

impl Figures for CollectionPauses {
    const RULE: &'static str = "collection-pauses";
    const NEEDS: &'static [&'static str] = &["jdk.GarbageCollection"];

    fn of(recorded: &Recorded) -> Self {
        let all = || {
            recorded
                .collections
                .iter()
                .filter(|it| !is_explicit(&it.cause))
        };
        let mut after: Vec<f64> = recorded.heap.values().filter_map(|it| it.1).collect();
        after.sort_by(f64::total_cmp);
        let live = after.get(after.len() / 2).zip(recorded.heap_limit);
        let allocated = super::allocation::rate(recorded);
        let allocations = recorded.allocations.iter();
        Self {
            pause_share: all().map(|it| it.pauses).sum::<f64>() / recorded.nanos(),
            per_second: all().count() as f64 / recorded.seconds(),
            longest_nanos: all().map(|it| it.pauses).fold(0.0, f64::max),
            live_share: live.map(|(live, limit)| live / limit),
            allocated_per_second: (allocated > 0.0).then_some(allocated),
            place: recorded.place(allocations.map(|it| (it.trace, it.bytes))),
        }
    }

    fn level(&self) -> Level {
        Level::of(self.pause_share, 0.1, 0.25)
    }

    fn headline(&self) -> String {
        let share = percent(self.pause_share);
        match self.level() {
            Level::Ok => format!("Garbage collection paused the program {share} of the time."),
            _ => format!(
                "Garbage collection paused the program {share} of the time, {} a second and up to {}{}{}.",
                counted(self.per_second, "time", "times"),
                time(self.longest_nanos),
                self.allocated_per_second
                    .map_or_else(String::new, |rate| format!(
                        "; {} a second were allocated",
                        bytes(rate)
                    )),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        match self.live_share {
            Some(live) if live > 0.6 => format!(
                "After collections {} of the largest heap is still in use, so that the next one is soon due and finds little to free.",
                percent(live)
            ),
            _ => "The program allocates faster than the collector frees in the time that it has."
                .to_owned(),
        }
    }

    fn next(&self) -> String {
        match self.live_share {
            Some(live) if live > 0.6 => "Give the heap more room (-Xmx), or see what fills it: `hprof-rs leaks` of a heap dump. `hprof-rs gc` of this \
                 recording lists the collections."
                .to_owned(),
            _ => "Allocate less at this line, or let the collector have more room (-Xmx). `hprof-rs gc` of this recording lists the collections."
                .to_owned(),
        }
    }
}

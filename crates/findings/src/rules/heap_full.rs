//! A heap that is nearly full after collections.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::Place;
use crate::recorded::Recorded;
use crate::units::{bytes, percent};

/// How much of the largest heap stays in use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeapFull {
    /// The least that was in use after a collection in the second half of the recording, in bytes; none if there were fewer
    /// than three collections in it.
    pub kept: Option<f64>,
    /// The largest size of the heap in bytes, if the recording says.
    pub limit: Option<f64>,
    /// The line that allocates most.
    pub place: Option<Place>,
}

/// Collections of which the least is taken, as one alone may come at a bad time.
const LEAST: usize = 3;

impl HeapFull {
    /// The share of the heap that stays in use.
    fn share(&self) -> Option<f64> {
        Some(self.kept? / self.limit?)
    }
}

impl Figures for HeapFull {
    const RULE: &'static str = "heap-full";
    const NEEDS: &'static [&'static str] = &["jdk.GCHeapSummary"];

    fn of(recorded: &Recorded) -> Self {
        let after: Vec<f64> = recorded.heap.values().filter_map(|it| it.1).collect();
        let second_half = &after[after.len() / 2..];
        let kept = second_half.iter().copied().min_by(f64::total_cmp);
        let allocations = recorded.allocations.iter();
        Self {
            kept: kept.filter(|_| second_half.len() >= LEAST),
            limit: recorded.heap_limit,
            place: recorded.place(allocations.map(|it| (it.trace, it.bytes))),
        }
    }

    fn level(&self) -> Level {
        Level::of(self.share().unwrap_or(0.0), 0.75, f64::INFINITY)
    }

    fn headline(&self) -> String {
        match (self.share(), self.limit, self.level()) {
            (Some(share), Some(limit), Level::Ok) => format!(
                "Collections left {} of the largest heap ({}) in use.",
                percent(share),
                bytes(limit)
            ),
            (Some(share), Some(limit), _) => format!(
                "No collection left less than {} of the largest heap ({}) in use{}.",
                percent(share),
                bytes(limit),
                self.place
                    .as_ref()
                    .map_or_else(String::new, |place| format!(
                        "; {} allocates most",
                        place.words()
                    ))
            ),
            _ => "There were too few collections to say how full the heap is.".to_owned(),
        }
    }

    fn cause(&self) -> String {
        "The program keeps almost all that the heap can hold: collections become frequent, and the next peak may end in an \
         OutOfMemoryError."
            .to_owned()
    }

    fn next(&self) -> String {
        "See what keeps it: `hprof-rs leaks` of a heap dump (`hprof-rs dump PID`). If all of it is needed, give the heap more room (-Xmx)."
            .to_owned()
    }
}

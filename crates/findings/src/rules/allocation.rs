//! Allocation by the gigabyte a second.

use serde::Serialize;

use super::{Figures, most};
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::bytes;

/// The rate of allocation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Allocation {
    /// Bytes per second.
    pub per_second: f64,
    /// Bytes per second of CPU time, where other programs left the program less than one CPU.
    pub per_cpu_second: Option<f64>,
    /// The class of which most was allocated.
    pub class: Option<String>,
    /// The line that allocates most.
    pub place: Option<Place>,
}

/// Bytes per second: by samples, or by the sizes of the heap between collections where these are larger or nothing was sampled.
pub(super) fn rate(recorded: &Recorded) -> f64 {
    let sampled: f64 = recorded.allocations.iter().map(|it| it.bytes).sum();
    sampled.max(recorded.allocated_between_collections()) / recorded.seconds()
}

/// The rate that the program would have by itself: where it had less than one CPU, that of its CPU time.
pub(super) fn rate_by_itself(recorded: &Recorded) -> f64 {
    rate(recorded) / recorded.starved_to().unwrap_or(1.0)
}

impl Figures for Allocation {
    const RULE: &'static str = "allocation";
    const NEEDS: &'static [&'static str] = &[
        "jdk.ObjectAllocationSample",
        "jdk.ObjectAllocationInNewTLAB",
        "jdk.GCHeapSummary",
        "datadog.ObjectSample",
    ];

    fn of(recorded: &Recorded) -> Self {
        let all = || recorded.allocations.iter();
        let class = most(all().map(|it| (it.class.to_string(), it.bytes)));
        Self {
            per_second: rate(recorded),
            per_cpu_second: recorded.starved_to().map(|_| rate_by_itself(recorded)),
            class: class.map(|(class, _)| class),
            place: recorded.place(all().map(|it| (it.trace, it.bytes))),
        }
    }

    fn level(&self) -> Level {
        let rate = self.per_cpu_second.unwrap_or(self.per_second);
        Level::of(rate, 750e6, f64::INFINITY)
    }

    fn headline(&self) -> String {
        let class = self.class.as_ref();
        format!(
            "{} a second {}were allocated{}{}.",
            bytes(self.per_cpu_second.unwrap_or(self.per_second)),
            match self.per_cpu_second {
                Some(_) => "of its CPU time ",
                None => "",
            },
            class.map_or_else(String::new, |class| format!(", most as {class}")),
            at(self.place.as_ref())
        )
    }

    fn cause(&self) -> String {
        "Allocation at this rate fills caches and memory bandwidth, and makes collections frequent."
            .to_owned()
    }

    fn next(&self) -> String {
        "Allocate less at this line: use buffers again, size collections for what they will hold, avoid copies. \
         `hprof-rs samples --measure allocated-bytes` of this recording lists the others."
            .to_owned()
    }
}

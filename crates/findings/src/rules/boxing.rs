//! Numbers as objects.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::{Allocated, Recorded};
use crate::units::{bytes, percent};

/// Allocation of `Integer`, `Long` and the like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Boxing {
    /// Its share of allocation.
    pub share: f64,
    /// Bytes per second; of CPU time, where other programs left the program less than one CPU.
    pub per_second: f64,
    /// The line that boxes most.
    pub place: Option<Place>,
}

fn is_box(allocated: &Allocated) -> bool {
    matches!(
        &*allocated.class,
        "java.lang.Integer"
            | "java.lang.Long"
            | "java.lang.Double"
            | "java.lang.Float"
            | "java.lang.Short"
            | "java.lang.Character"
            | "java.lang.Byte"
    )
}

impl Figures for Boxing {
    const RULE: &'static str = "boxing";
    const NEEDS: &'static [&'static str] = &[
        "jdk.ObjectAllocationSample",
        "jdk.ObjectAllocationInNewTLAB",
        "datadog.ObjectSample",
    ];

    fn of(recorded: &Recorded) -> Self {
        let all: f64 = recorded.allocations.iter().map(|it| it.bytes).sum();
        let boxes = || recorded.allocations.iter().filter(|it| is_box(it));
        let sum: f64 = boxes().map(|it| it.bytes).sum();
        let share = sum / all.max(1.0);
        Self {
            share,
            per_second: share * super::allocation::rate_by_itself(recorded),
            place: recorded.place(boxes().map(|it| (it.trace, it.bytes))),
        }
    }

    fn level(&self) -> Level {
        match self.per_second >= 250e6 {
            true => Level::of(self.share, 0.3, f64::INFINITY),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        let share = percent(self.share);
        match self.level() {
            Level::Ok => format!("{share} of what was allocated were numbers as objects."),
            _ => format!(
                "{share} of what was allocated were numbers as objects (Integer, Long and the like), {} a second{}.",
                bytes(self.per_second),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "A number that is put into a collection or generic method becomes an object of 16 to 24 bytes.".to_owned()
    }

    fn next(&self) -> String {
        "Use arrays or IntStream and the like of primitive types, or a collection library with primitive keys and values.".to_owned()
    }
}

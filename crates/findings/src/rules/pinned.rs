//! Virtual threads that wait and keep their carrier threads.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::{Recorded, Waited};
use crate::units::{count, time};

/// Carrier threads that waited with their virtual threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PinnedCarriers {
    /// The carriers that were pinned, on average.
    pub carriers: f64,
    /// The number of waits.
    pub count: u64,
    /// The longest, in nanoseconds.
    pub longest_nanos: f64,
    /// The line.
    pub place: Option<Place>,
}

impl Figures for PinnedCarriers {
    const RULE: &'static str = "pinned-carriers";
    const NEEDS: &'static [&'static str] = &["jdk.VirtualThreadPinned"];

    fn of(recorded: &Recorded) -> Self {
        let waits = || recorded.waits.iter().filter(|it| it.why == Waited::Pinned);
        Self {
            carriers: waits().map(|it| it.nanos).sum::<f64>() / recorded.nanos(),
            count: waits().count() as u64,
            longest_nanos: waits().map(|it| it.nanos).fold(0.0, f64::max),
            place: recorded.place(waits().map(|it| (it.trace, it.nanos))),
        }
    }

    fn level(&self) -> Level {
        Level::of(self.carriers, 0.05, 0.5)
    }

    fn headline(&self) -> String {
        match self.count {
            0 => "No virtual thread kept its carrier thread while it waited.".to_owned(),
            waits => format!(
                "Virtual threads that waited kept {:.1} carrier threads from others on average: {} waits of up to {}{}.",
                self.carriers,
                count(waits as f64),
                time(self.longest_nanos),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "A virtual thread that waits inside of synchronized code (before JDK 24) or under a native frame pins its carrier; other \
         virtual threads wait for a carrier, of which there are as many as CPUs."
            .to_owned()
    }

    fn next(&self) -> String {
        "Guard the wait with a ReentrantLock instead of a monitor, move it out of the synchronized block, or run JDK 24 or later."
            .to_owned()
    }
}

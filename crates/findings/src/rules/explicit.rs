//! Collections for which the program asks.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{counted, percent};

/// Collections by `System.gc`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplicitCollections {
    /// Their number.
    pub count: u64,
    /// The share of time that their pauses took.
    pub pause_share: f64,
    /// The line that calls `System.gc` (JDK 17 and later).
    pub place: Option<Place>,
}

/// The cause as HotSpot names it, also of `System.gc` through `jcmd` or RMI.
pub(super) fn is_explicit(cause: &str) -> bool {
    cause == "System.gc()"
}

impl Figures for ExplicitCollections {
    const RULE: &'static str = "explicit-collections";
    const NEEDS: &'static [&'static str] = &["jdk.GarbageCollection"];

    fn of(recorded: &Recorded) -> Self {
        let all = || {
            recorded
                .collections
                .iter()
                .filter(|it| is_explicit(&it.cause))
        };
        let asked = recorded.asked_collections.iter();
        Self {
            count: all().count() as u64,
            pause_share: all().map(|it| it.pauses).sum::<f64>() / recorded.nanos(),
            place: recorded.place(asked.map(|&trace| (trace, 1.0))),
        }
    }

    fn level(&self) -> Level {
        match self.count >= 3 {
            true => Level::of(self.pause_share, 0.01, 0.1),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        match self.count {
            0 => "The program did not ask for collections.".to_owned(),
            count => format!(
                "The program asked for {} with System.gc(), which paused it for {} of the time{}.",
                counted(count as f64, "collection", "collections"),
                percent(self.pause_share),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "System.gc() collects the whole heap, however much of it is free, and stops all threads for that.".to_owned()
    }

    fn next(&self) -> String {
        "Take the call away. Where it is in a library, -XX:+ExplicitGCInvokesConcurrent makes it run beside the program with G1, and \
         -XX:+DisableExplicitGC ignores it."
            .to_owned()
    }
}

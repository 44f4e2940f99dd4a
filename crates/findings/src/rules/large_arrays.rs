//! Objects so large that G1 collects because of them.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{count, percent};

/// Collections that the allocation of a humongous object began.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LargeArrays {
    /// These collections per second.
    pub per_second: f64,
    /// Their share of all collections.
    pub share: f64,
    /// The line that allocates most bytes in arrays.
    pub place: Option<Place>,
}

/// The cause of such collections, in the JVM's words.
const CAUSE: &str = "G1 Humongous Allocation";

impl Figures for LargeArrays {
    const RULE: &'static str = "large-arrays";
    const NEEDS: &'static [&'static str] = &["jdk.GarbageCollection"];

    fn of(recorded: &Recorded) -> Self {
        let all = recorded.collections.len();
        let large = recorded.collections.iter();
        let large = large.filter(|it| it.cause == CAUSE).count();
        let arrays = recorded.allocations.iter();
        let arrays = arrays.filter(|it| it.class.ends_with("[]"));
        Self {
            per_second: large as f64 / recorded.seconds(),
            share: large as f64 / all.max(1) as f64,
            place: recorded.place(arrays.map(|it| (it.trace, it.bytes))),
        }
    }

    fn level(&self) -> Level {
        match self.share >= 0.3 {
            true => Level::of(self.per_second, 0.5, f64::INFINITY),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        match self.level() {
            Level::Ok => format!(
                "{} of the collections began because of a humongous object.",
                percent(self.share)
            ),
            _ => format!(
                "{} of the collections, {} a second, began because an object larger than half a region of G1 was allocated{}.",
                percent(self.share),
                match self.per_second {
                    few if few < 9.95 => format!("{few:.1}"),
                    many => count(many),
                },
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "Such an object takes whole regions, which nothing else can use, and is not copied with the young ones, so that each \
         begins a cycle of the old generation."
            .to_owned()
    }

    fn next(&self) -> String {
        "Read and write in pieces, or use large buffers again. Larger regions (-XX:G1HeapRegionSize=16m) make fewer objects humongous."
            .to_owned()
    }
}

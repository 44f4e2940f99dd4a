//! Classes that are loaded or made while the program runs.

use hprof_stacks::Frame;
use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::counted;

/// Classes that were loaded after the start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassLoading {
    /// Per second, between the first and the last count.
    pub per_second: f64,
    /// The lowest rate between two counts: a program that starts loads many classes, and then none.
    pub lowest_per_second: f64,
    /// The line that loads most, if the recording says.
    pub place: Option<Place>,
}

fn loads(frame: &Frame) -> bool {
    let method = &*frame.method;
    match &*frame.class_name {
        "java.lang.ClassLoader" => {
            method.starts_with("defineClass") || matches!(method, "loadClass" | "<init>")
        }
        "java.lang.Class" => method.starts_with("forName"),
        "java.lang.invoke.MethodHandleNatives" => method == "linkCallSite",
        "java.lang.reflect.Proxy" => method == "newProxyInstance",
        class => {
            class.starts_with("java.lang.invoke.MethodHandles$Lookup")
                && method.starts_with("define")
                || method.starts_with("defineAnonymousClass")
        }
    }
}

impl Figures for ClassLoading {
    const RULE: &'static str = "class-loading";
    const NEEDS: &'static [&'static str] = &["jdk.ClassLoadingStatistics"];

    fn of(recorded: &Recorded) -> Self {
        let mut counters = recorded.loaded_so_far.clone();
        counters.sort_by_key(|it| it.at);
        let mut rates = counters.windows(2).filter_map(|pair| recorded.rate(pair));
        let lowest = rates.by_ref().fold(f64::INFINITY, f64::min);
        let place = match recorded.class_loads.is_empty() {
            false => recorded.place(recorded.class_loads.iter().map(|&trace| (trace, 1.0))),
            true => recorded.place_of(loads),
        };
        Self {
            per_second: recorded.rate(&counters).unwrap_or(0.0),
            lowest_per_second: if lowest.is_finite() { lowest } else { 0.0 },
            place,
        }
    }

    fn level(&self) -> Level {
        Level::of(self.lowest_per_second, 50.0, 500.0)
    }

    fn headline(&self) -> String {
        let (one, many) = ("class a second was", "classes a second were");
        let loaded = format!("{} loaded", counted(self.per_second, one, many));
        match self.level() {
            Level::Ok => format!("{loaded}."),
            _ => format!(
                "{loaded}, as long as the recording ran{}.",
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "A class that is loaded is parsed, verified, run interpreted and compiled anew, and takes metaspace until its loader is collected."
            .to_owned()
    }

    fn next(&self) -> String {
        "Keep the class loader, proxy class, script or lambda and use it again. `hprof-rs class-loaders HEAP.hprof` shows which loaders there are."
            .to_owned()
    }
}

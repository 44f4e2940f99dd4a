//! Objects with finalizers.

use serde::Serialize;

use super::{Figures, most};
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::counted;

/// Objects with finalizers that collections found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finalizers {
    /// Per second.
    pub per_second: f64,
    /// The class of which most were finalized, if the recording says (JDK 18 and later).
    pub class: Option<String>,
    /// The line that makes them, if the recording says.
    pub place: Option<Place>,
}

impl Figures for Finalizers {
    const RULE: &'static str = "finalizers";
    const NEEDS: &'static [&'static str] =
        &["jdk.GCReferenceStatistics", "jdk.FinalizerStatistics"];

    fn of(recorded: &Recorded) -> Self {
        let run: f64 = recorded.finalized.values().sum();
        let classes = recorded.finalized.iter();
        let class = most(classes.map(|(class, runs)| (class.clone(), *runs)));
        Self {
            per_second: recorded.final_references.max(run) / recorded.seconds(),
            class: class.map(|(class, _)| class).filter(|_| run > 0.0),
            place: recorded.place_of(|frame| {
                &*frame.class_name == "java.lang.ref.Finalizer"
                    && matches!(&*frame.method, "register" | "<init>")
            }),
        }
    }

    fn level(&self) -> Level {
        Level::of(self.per_second, 1_000.0, 10_000.0)
    }

    fn headline(&self) -> String {
        let (one, many) = ("object a second", "objects a second");
        let per_second = counted(self.per_second, one, many);
        match self.level() {
            Level::Ok => format!("{per_second} had to be finalized."),
            _ => format!(
                "{per_second} had to be finalized{}{}.",
                self.class
                    .as_ref()
                    .map_or_else(String::new, |class| format!(", most of class {class}")),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "An object with a finalizer survives a collection, waits for the one thread that runs finalizers, and is freed by a later \
         collection at the earliest."
            .to_owned()
    }

    fn next(&self) -> String {
        "Close these objects with try-with-resources and take the finalize method away; a Cleaner does for what must not leak."
            .to_owned()
    }
}

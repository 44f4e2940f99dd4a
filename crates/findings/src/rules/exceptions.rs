//! Exceptions by the thousand a second.

use serde::Serialize;

use super::{Figures, most};
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::counted;

/// Exceptions and errors that were created.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exceptions {
    /// Per second.
    pub per_second: f64,
    /// The class of most of them, if the recording says.
    pub class: Option<String>,
    /// The line that creates them, if the recording says.
    pub place: Option<Place>,
}

impl Exceptions {
    fn class_of(recorded: &Recorded) -> Option<String> {
        let thrown = recorded
            .thrown
            .iter()
            .map(|(_, class)| (class.to_string(), 1.0));
        if let Some((class, _)) = most(thrown) {
            return Some(class);
        }
        let is_throwable = |class: &str| {
            let name = class.rsplit(['.', '$']).next().unwrap_or(class);
            name.ends_with("Exception") || name.ends_with("Error") || name.ends_with("Throwable")
        };
        let allocated = recorded.allocations.iter();
        let allocated = allocated.filter(|it| is_throwable(&it.class));
        most(allocated.map(|it| (it.class.to_string(), it.bytes))).map(|(class, _)| class)
    }
}

impl Figures for Exceptions {
    const RULE: &'static str = "exceptions";
    const NEEDS: &'static [&'static str] = &["jdk.ExceptionStatistics", "jdk.JavaExceptionThrow"];

    fn of(recorded: &Recorded) -> Self {
        let counted = recorded.rate(&recorded.thrown_so_far);
        let thrown = recorded.thrown.len() as f64 / recorded.seconds();
        let place = match recorded.thrown.is_empty() {
            false => recorded.place(recorded.thrown.iter().map(|(trace, _)| (*trace, 1.0))),
            true => recorded.place_of(|frame| {
                &*frame.class_name == "java.lang.Throwable"
                    && matches!(&*frame.method, "<init>" | "fillInStackTrace")
            }),
        };
        Self {
            per_second: counted.unwrap_or(0.0).max(thrown),
            class: Self::class_of(recorded),
            place,
        }
    }

    fn level(&self) -> Level {
        Level::of(self.per_second, 1_000.0, 20_000.0)
    }

    fn headline(&self) -> String {
        let (one, many) = ("exception a second was", "exceptions a second were");
        let per_second = counted(self.per_second, one, many);
        match self.level() {
            Level::Ok => format!("{per_second} created."),
            _ => format!(
                "{per_second} created{}{}.",
                self.class
                    .as_ref()
                    .map_or_else(String::new, |class| format!(", most of class {class}")),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "An exception walks the stack of its thread when it is created, which costs microseconds and more the deeper the stack is."
            .to_owned()
    }

    fn next(&self) -> String {
        match &self.place {
            Some(_) => "Test for the case before, or return a value for it, where it is usual.".to_owned(),
            None => "Record where they are thrown: -XX:StartFlightRecording with settings=profile,jdk.JavaExceptionThrow#enabled=true."
                .to_owned(),
        }
    }
}

//! Errors, which programs should not throw in the course of their work.

use serde::Serialize;

use super::{Figures, most};
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{count, counted};

/// Errors that were created, but those by which the JDK looks for methods. Errors of the JVM itself, such as
/// `OutOfMemoryError`, have no event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Errors {
    /// Their number.
    pub count: u64,
    /// Per second.
    pub per_second: f64,
    /// The class of most of them.
    pub class: Option<String>,
    /// The line that creates them.
    pub place: Option<Place>,
}

/// Fewer may be of the start of the JVM.
const LEAST: u64 = 10;

impl Figures for Errors {
    const RULE: &'static str = "errors";
    const NEEDS: &'static [&'static str] = &["jdk.JavaErrorThrow"];

    fn of(recorded: &Recorded) -> Self {
        let is_look_up = |trace| {
            recorded.has(trace, |frame| {
                frame.class_name.starts_with("java.lang.invoke.")
            })
        };
        let all = recorded.errors.iter();
        let all: Vec<_> = all.filter(|(trace, _)| !is_look_up(*trace)).collect();
        let class = most(all.iter().map(|(_, class)| (class.to_string(), 1.0)));
        Self {
            count: all.len() as u64,
            per_second: all.len() as f64 / recorded.seconds(),
            class: class.map(|(class, _)| class),
            place: recorded.place(all.iter().map(|(trace, _)| (*trace, 1.0))),
        }
    }

    fn level(&self) -> Level {
        match self.count >= LEAST {
            true => Level::of(self.per_second, 1.0, f64::INFINITY),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        match self.level() {
            Level::Ok => format!(
                "{} created.",
                counted(self.count as f64, "error was", "errors were")
            ),
            _ => format!(
                "{} errors were created, {:.1} a second{}{}.",
                count(self.count as f64),
                self.per_second,
                self.class
                    .as_ref()
                    .map_or_else(String::new, |class| format!(", most of class {class}")),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "An Error says that something is broken: a class that is missing or of another version, an assertion that does not hold. Code that \
         catches it may go on with half of its work done."
            .to_owned()
    }

    fn next(&self) -> String {
        "Look at this line and its message (`hprof-rs events RECORDING --event jdk.JavaErrorThrow`), and repair what is broken rather \
         than catch it."
            .to_owned()
    }
}

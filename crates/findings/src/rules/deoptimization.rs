//! Compiled code that returns to the interpreter again and again at one place.

use serde::Serialize;

use super::{Figures, most};
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{counted, percent};

/// Returns from compiled code to the interpreter (deoptimizations).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deoptimizations {
    /// Per second.
    pub per_second: f64,
    /// Of these, at the place that has most.
    pub per_second_at_one_place: f64,
    /// The number at that place. A JVM that warms up has a few at each of many places.
    pub at_one_place: u64,
    /// Its reason in the JVM's words.
    pub reason: String,
    /// The line.
    pub place: Option<Place>,
}

/// HotSpot recompiles a method without the assumption after 4 failures at one place (`PerBytecodeTrapLimit`).
const REPEATED: u64 = 50;

impl Figures for Deoptimizations {
    const RULE: &'static str = "deoptimizations";
    const NEEDS: &'static [&'static str] = &["jdk.Deoptimization"];

    fn of(recorded: &Recorded) -> Self {
        let all = &recorded.deoptimizations;
        let key = |it: &crate::recorded::Deoptimization| (it.site.clone(), it.reason.clone());
        let worst = most(all.iter().map(|it| (key(it), 1.0)));
        let at_it = || {
            let worst = worst.as_ref().map(|(worst, _)| worst);
            all.iter().filter(move |it| Some(&key(it)) == worst)
        };
        let at_one_place = at_it().count() as u64;
        let place = recorded.place(at_it().filter_map(|it| Some((it.trace?, 1.0))));
        let place = place.or_else(|| {
            let ((method, line, _), _) = &worst.as_ref()?.0;
            Some(Place {
                method: method.clone(),
                line: u32::try_from(*line).ok(),
                is_own: false,
                share: 1.0,
            })
        });
        Self {
            per_second: all.len() as f64 / recorded.seconds(),
            per_second_at_one_place: at_one_place as f64 / recorded.seconds(),
            at_one_place,
            reason: worst.map_or_else(String::new, |((_, reason), _)| reason),
            place,
        }
    }

    fn level(&self) -> Level {
        match self.at_one_place >= REPEATED {
            true => Level::of(self.per_second_at_one_place, 10.0, 500.0),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        let per_second = counted(self.per_second, "time", "times");
        match self.level() {
            Level::Ok => format!(
                "Compiled code returned to the interpreter {per_second} a second, nowhere again and again."
            ),
            _ => format!(
                "Compiled code returned to the interpreter {per_second} a second, {} of them at one place by reason {}{}.",
                percent(self.per_second_at_one_place / self.per_second),
                self.reason,
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "Each return costs as much as thousands of bytecodes, and the method runs interpreted for a while after it.".to_owned()
    }

    fn next(&self) -> String {
        match &*self.reason {
            "range_check" | "null_check" | "div0_check" | "class_check" | "array_check" => {
                "Check the index or value before its use, so that the implicit exception is not the usual way; without \
                 -XX:-OmitStackTraceInFastThrow the JVM throws it in compiled code."
                    .to_owned()
            }
            _ => "Look at the types and branches that this line meets: code that keeps changing its types or loads classes \
                  invalidates what was compiled. -Xlog:deoptimization=debug (JDK 17) lists each."
                .to_owned(),
        }
    }
}

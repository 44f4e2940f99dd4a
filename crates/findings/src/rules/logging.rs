//! Logging where the program is busy.

use hprof_stacks::Frame;
use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{count, percent};

/// Samples of threads in a logger, or in `System.out`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Logging {
    /// Their share of the samples of CPU, those of loggers in native code among both.
    pub share: f64,
    /// Their number.
    pub samples: f64,
    /// The line that logs.
    pub place: Option<Place>,
}

/// Packages of loggers.
const LOGGERS: [&str; 10] = [
    "java.util.logging.",
    "java.lang.System$Logger",
    "sun.util.logging.",
    "org.slf4j.",
    "ch.qos.logback.",
    "org.apache.logging.",
    "org.apache.log4j.",
    "org.apache.commons.logging.",
    "org.jboss.logging.",
    "org.tinylog.",
];

fn logs(frame: &Frame) -> bool {
    let class = &*frame.class_name;
    LOGGERS.iter().any(|logger| class.starts_with(logger))
        || class == "java.io.PrintStream"
            && matches!(
                &*frame.method,
                "print" | "println" | "printf" | "format" | "append"
            )
}

/// Fewer samples mean nothing.
const FEWEST: f64 = 8.0;

impl Figures for Logging {
    const RULE: &'static str = "logging";
    const NEEDS: &'static [&'static str] = &[
        "jdk.ExecutionSample",
        "jdk.CPUTimeSample",
        "jdk.NativeMethodSample",
        "datadog.ExecutionSample",
    ];

    fn of(recorded: &Recorded) -> Self {
        let costs: Vec<_> = recorded
            .samples_and_native()
            .filter(|(trace, _)| recorded.has(*trace, logs))
            .collect();
        let samples: f64 = costs.iter().map(|it| it.1).sum();
        let others = recorded.samples.iter();
        let others = others.filter(|it| !recorded.has(it.trace, logs));
        let all = others.map(|it| it.count).sum::<f64>() + samples;
        Self {
            share: samples / all.max(1.0),
            samples,
            place: recorded.place(costs.into_iter()),
        }
    }

    fn level(&self) -> Level {
        match self.samples >= FEWEST {
            true => Level::of(self.share, 0.1, 0.4),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        let share = percent(self.share);
        match self.level() {
            Level::Ok => format!("Logging took {share} of the samples of busy threads."),
            _ => format!(
                "Logging took {share} of the samples of busy threads ({}){}.",
                count(self.samples),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "Each record is formatted and written by the thread that does the work, mostly under a lock of the logger.".to_owned()
    }

    fn next(&self) -> String {
        "Lower the level of this line, log one of many, or let an asynchronous appender write."
            .to_owned()
    }
}

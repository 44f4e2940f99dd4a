//! Judges recordings of the JDK Flight Recorder, of async-profiler and of this project: findings in ranked sentences
//! with figures, cause and next step.
//!
//! A recording is read once ([`recorded`]), then each rule of [`rules`] judges it. A rule declares its figures as one
//! type; the sentences, JSON and pages are renderings of it. Limits are ratios of the recording's own time and threads, so a
//! verdict does not depend on how fast or busy the machine was.

mod place;
pub mod recorded;
pub mod rules;
mod units;

use std::ops::Range;

use hprof_foreign::jfr::facts::Skipped;
use hprof_stacks::Own;
use hprof_stacks::load::{Change, Load};
use serde::Serialize;

pub use place::Place;
pub use rules::Fact;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing to do.
    Ok,
    /// Worth a look.
    Warning,
    /// It holds the program up.
    Serious,
}

impl Level {
    /// The level of a figure: at or above the limits for a warning and for a serious finding.
    pub fn of(figure: f64, warning: f64, serious: f64) -> Self {
        match figure {
            figure if figure >= serious => Self::Serious,
            figure if figure >= warning => Self::Warning,
            _ => Self::Ok,
        }
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "warning",
            Self::Serious => "serious",
        }
    }
}

/// A finding: the figures of a rule, and the sentences on them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The finding with its figures and the line of the program, in one sentence.
    pub headline: String,
    /// Why that costs; none if all is well.
    pub cause: Option<String>,
    /// The next step; none if all is well.
    pub next: Option<String>,
    /// The figures.
    #[serde(flatten)]
    pub fact: Fact,
}

/// A rule that could not judge, as the recording lacks its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotJudged {
    /// The rule.
    pub rule: &'static str,
    /// Events of which it needs one.
    pub needs: &'static [&'static str],
}

/// All findings of a recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// The seconds that the recording covers; none if its events have no times.
    pub seconds: Option<f64>,
    /// Its start, in milliseconds since 1970-01-01 UTC.
    pub start_millis: Option<i64>,
    /// The change of CPU use that stands out; none if the load is even, or the recording has no samples of CPU.
    #[serde(skip)]
    pub change: Option<(Load, Change)>,
    /// Which classes are the program's.
    pub own: Own,
    /// The findings, worst first. Rules that found nothing are among them, with level `ok`.
    pub findings: Vec<Finding>,
    /// Rules that could not judge.
    pub not_judged: Vec<NotJudged>,
}

impl Findings {
    /// The findings that are not OK.
    pub fn alarms(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|it| it.level > Level::Ok)
    }
}

/// Reads and judges a recording. The program's classes are those of `own` if that is not empty: packages, classes or
/// patterns. Calls `passed` with each part that was read.
pub fn read(
    file: &[u8],
    own: &[String],
    passed: &mut dyn FnMut(Range<usize>),
) -> (Findings, Skipped) {
    let (recorded, skipped) = recorded::read(file, own, passed);
    (rules::judge(&recorded), skipped)
}

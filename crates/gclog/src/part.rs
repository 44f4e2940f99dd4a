//! A part of a log's time: the lines outside of it are in no figure.
//!
//! A line is in the part by its own time; one without a time is where the line before it is. A collection counts where its last
//! line is.

use serde::Serialize;

use crate::clock::Clock;
use crate::event::Nanos;
use crate::line::Stamp;
use crate::statistics::Statistics;

/// The time of a log, or a part of it. The end is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its start: nanoseconds since 1970-01-01 UTC, or, of a log without dates, since the start of the JVM.
    #[serde(rename = "from_ns")]
    pub from: i64,
    /// Its end, on the same scale.
    #[serde(rename = "to_ns")]
    pub to: i64,
    /// The lines have dates.
    pub has_dates: bool,
}

impl Part {
    /// Returns whether a time is in it.
    pub(crate) fn contains(&self, at: i64) -> bool {
        self.from <= at && at < self.to
    }
}

/// The times of lines while a log is read: for its whole time, or to leave lines out.
#[derive(Debug, Default)]
pub(crate) struct Course {
    clock: Clock,
    span: Option<Part>,
    part: Option<Part>,
    /// The figures of the lines that are left out.
    outside: Statistics,
    is_outside: bool,
    has_begun: bool,
}

impl Course {
    /// Measures the whole time.
    pub fn measuring() -> Self {
        Self::default()
    }

    /// Leaves out all but a part.
    pub fn of_part(part: Part) -> Self {
        Self {
            part: Some(part),
            outside: Statistics::new(),
            ..Self::default()
        }
    }

    /// The time of the lines so far; `None` if they have none.
    pub fn span(&self) -> Option<Part> {
        self.span
    }

    /// A line with this stamp comes. Returns true if it is left out.
    pub fn line(&mut self, stamp: Stamp, statistics: &mut Statistics) -> bool {
        if let Some(at) = self.at(stamp) {
            self.widen(at);
            if let Some(part) = self.part {
                self.is_outside = !part.contains(at.0);
                if !self.is_outside && !self.has_begun {
                    self.has_begun = true;
                    statistics.begin_at(first_of(stamp, at.0, part), part.from);
                }
            }
        }
        if self.is_outside {
            statistics.lines.left_out += 1;
        }
        self.is_outside
    }

    /// The last line was left out.
    pub fn is_outside(&self) -> bool {
        self.is_outside
    }

    /// Where the figures of lines go that are left out.
    pub fn outside(&mut self) -> &mut Statistics {
        &mut self.outside
    }

    /// All lines have come: the figures have the length of the part, and what lines before it say of the JVM.
    pub fn finish(self, statistics: &mut Statistics) {
        let Some(part) = self.part else {
            return;
        };
        statistics.part = Some(part);
        let length = part.to.saturating_sub(part.from).max(0).cast_unsigned();
        statistics.end_after(Nanos(length));
        statistics.collector = statistics.collector.or(self.outside.collector);
        statistics.jvm = statistics.jvm.take().or(self.outside.jvm);
        statistics.cpus = statistics.cpus.or(self.outside.cpus);
    }

    /// The time of a line, and whether it is a date.
    fn at(&mut self, stamp: Stamp) -> Option<(i64, bool)> {
        let has_dates = self.span.is_some_and(|it| it.has_dates);
        match (stamp.wall, self.span) {
            (Some(wall), None) => Some((wall, true)),
            (Some(wall), Some(_)) if has_dates => Some((wall, true)),
            // Dates in a few lines only: the others say when those were written.
            (None, Some(_)) if has_dates => None,
            _ => {
                let at = self.clock.at(stamp)?.0;
                Some((i64::try_from(at).unwrap_or(i64::MAX), false))
            }
        }
    }

    fn widen(&mut self, (at, has_dates): (i64, bool)) {
        let span = self.span.get_or_insert(Part {
            from: at,
            to: at,
            has_dates,
        });
        span.from = span.from.min(at);
        // The line itself is in it.
        span.to = span.to.max(at.saturating_add(1));
    }
}

/// The start of a part since the start of the JVM, by its first line; `None` where lines have dates only.
fn first_of(stamp: Stamp, at: i64, part: Part) -> Option<Nanos> {
    let lead = at.saturating_sub(part.from).max(0).cast_unsigned();
    stamp
        .uptime
        .map(|uptime| Nanos(uptime.0.saturating_sub(lead)))
}

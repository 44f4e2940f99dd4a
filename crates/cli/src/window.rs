//! The part of a recording's time that is shown: `--from` and `--to`.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use clap::Args;
use hprof_analysis::contents::Contents;
use hprof_stacks::timeline::Window;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use crate::render::out::tell;

/// The part of the time to show.
#[derive(Debug, Clone, Default, Args)]
pub struct WindowArgument {
    /// Show only what happened from this time on, of files that have times (JFR): a clock time (14:03:10, with Z for
    /// UTC), a date with it (2026-11-29T14:03:10, also with an offset), or a distance from the start (+30s, +1m30s) or
    /// from the end (-10s).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<Bound>,

    /// Show only what happened before this time, given as for --from.
    #[arg(
        long = "to",
        visible_alias = "until",
        value_name = "TIME",
        allow_hyphen_values = true
    )]
    pub until: Option<Bound>,
}

/// One end of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// A distance from the start of the recording, in nanoseconds.
    AfterStart(u64),
    /// A distance from its end.
    BeforeEnd(u64),
    /// A time of the day, in UTC or where this machine is: the first one that is not before the recording.
    Clock(Time, Zone),
    /// A moment, in nanoseconds since 1970-01-01 UTC.
    Moment(i64),
    /// A moment of the time zone of this machine.
    Local(DateTime),
}

/// How a clock time is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// As clocks where this machine is.
    Local,
    /// As UTC.
    Utc,
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = match text.split_at_checked(1) {
            Some(("+", distance)) => nanos(distance).map(Self::AfterStart),
            Some(("-", distance)) => nanos(distance).map(Self::BeforeEnd),
            _ => moment(text),
        };
        parsed.ok_or_else(|| {
            "a time is expected: 14:03:10, 2026-11-29T14:03:10, +30s from the start or -10s from the end"
                .to_owned()
        })
    }
}

/// The nanoseconds of `30s`, `1m30s`, `500ms`; a number alone is seconds.
fn nanos(text: &str) -> Option<u64> {
    let digits = text.chars().all(|it| it.is_ascii_digit() || it == '.');
    let text = match digits && !text.is_empty() {
        true => format!("{text}s"),
        false => text.to_owned(),
    };
    // A second sign is none of a distance.
    let starts = text.starts_with(|it: char| it.is_ascii_digit() || it == '.');
    let distance: SignedDuration = text.parse().ok().filter(|_| starts)?;
    u64::try_from(distance.as_nanos()).ok()
}

fn moment(text: &str) -> Option<Bound> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(Bound::Moment(i64::try_from(at.as_nanosecond()).ok()?));
    }
    let (clock, zone) = match text.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, Zone::Utc),
        None => (text, Zone::Local),
    };
    // A date alone is no clock time, and a number alone may be meant as anything.
    if !clock.contains(':') {
        return None;
    }
    if let (Ok(at), Zone::Local) = (clock.parse::<DateTime>(), zone) {
        return Some(Bound::Local(at));
    }
    Some(Bound::Clock(clock.parse().ok()?, zone))
}

impl Zone {
    fn of_machine(self) -> TimeZone {
        match self {
            Self::Local => TimeZone::system(),
            Self::Utc => TimeZone::UTC,
        }
    }
}

/// Why a window cannot be had; prints as a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWindow {
    /// The file does not say when what happened.
    NoTimes,
    /// It ends before it begins.
    Inverted(Window),
    /// Nothing of it is in the recording.
    Outside {
        /// The window.
        window: Window,
        /// The time of the recording.
        span: Window,
    },
    /// A time that is no moment.
    NoMoment,
}

impl Error for NoWindow {}

impl fmt::Display for NoWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTimes => f.write_str(
                "this file has sums alone, and no times. Profiles of `hprof-rs record -o FILE.jfr` and of the agent with \
                 timeline=y have them, as have recordings of the JDK's Flight Recorder (`jcmd PID JFR.start`) and of \
                 async-profiler (-o jfr)",
            ),
            Self::Inverted(window) => write!(
                f,
                "--from is {}, which is not before the end, {}",
                clock(window.from),
                clock(window.to)
            ),
            Self::Outside { window, span } => write!(
                f,
                "nothing was recorded between {} and {}: the recording is of {}",
                clock(window.from),
                clock(window.to),
                covered(*span)
            ),
            Self::NoMoment => f.write_str("one of the times is none that a clock shows"),
        }
    }
}

impl WindowArgument {
    /// Returns whether a part of the time is asked for.
    pub const fn is_given(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    /// Returns whether it is given by distances from the start and the end alone.
    pub fn is_relative(&self) -> bool {
        let is_distance = |it: Bound| matches!(it, Bound::AfterStart(_) | Bound::BeforeEnd(_));
        let mut bounds = [self.from, self.until].into_iter().flatten();
        bounds.all(is_distance)
    }

    /// The part that is asked for of the time that a file covers.
    ///
    /// # Errors
    /// If the file has no times, or the part is empty.
    pub fn of(&self, span: Option<Window>) -> Result<Window, NoWindow> {
        let span = span.ok_or(NoWindow::NoTimes)?;
        let at = |bound: Option<Bound>, default| match bound {
            Some(bound) => bound.at(span).ok_or(NoWindow::NoMoment),
            None => Ok(default),
        };
        let wanted = Window {
            from: at(self.from, span.from)?,
            to: at(self.until, span.to)?,
        };
        let is_both = self.from.is_some() && self.until.is_some();
        if is_both && wanted.from >= wanted.to {
            return Err(NoWindow::Inverted(wanted));
        }
        wanted.and(span).ok_or(NoWindow::Outside {
            window: Window {
                from: wanted.from.min(wanted.to),
                to: wanted.to.max(wanted.from),
            },
            span,
        })
    }

    /// The part of a file that was read, if one is asked for.
    pub fn chosen(&self, contents: &Contents) -> Option<Window> {
        let is_given = self.is_given();
        self.of(contents.span).ok().filter(|_| is_given)
    }

    /// Says on standard error which part of the time is shown.
    pub fn say(&self, name: &str, contents: &Contents) {
        let Some(span) = contents.span.filter(|_| self.is_given()) else {
            return;
        };
        if let Some(window) = self.chosen(contents) {
            tell!(
                "hprof-rs: {name}: {}, of {}",
                covered(window),
                covered(span)
            );
        }
    }
}

impl Bound {
    fn at(self, span: Window) -> Option<i64> {
        Some(match self {
            Self::AfterStart(nanos) => span.from.saturating_add_unsigned(nanos),
            Self::BeforeEnd(nanos) => span.to.saturating_sub_unsigned(nanos),
            Self::Moment(at) => at,
            Self::Local(at) => of(at, &TimeZone::system())?,
            Self::Clock(time, zone) => {
                let zone = zone.of_machine();
                let day = Timestamp::from_nanosecond(i128::from(span.from)).ok()?;
                let day = day.to_zoned(zone.clone()).date();
                let first = of(day.to_datetime(time), &zone)?;
                // A recording over midnight has the hours of the next day.
                let next = of(day.checked_add(1.day()).ok()?.to_datetime(time), &zone)?;
                match first < span.from && next <= span.to {
                    true => next,
                    false => first,
                }
            }
        })
    }
}

fn of(at: DateTime, zone: &TimeZone) -> Option<i64> {
    let at = zone.to_zoned(at).ok()?.timestamp();
    i64::try_from(at.as_nanosecond()).ok()
}

/// A moment as clocks of this machine show it, to a thousandth of a second.
pub fn clock(at: i64) -> String {
    local(at, "%H:%M:%S%.3f")
}

fn local(at: i64, format: &str) -> String {
    let at = Timestamp::from_nanosecond(i128::from(at)).unwrap_or(Timestamp::MAX);
    at.to_zoned(TimeZone::system()).strftime(format).to_string()
}

/// A window for people: date, clock times, offset and length.
pub fn covered(window: Window) -> String {
    format!(
        "{} to {} ({:.1} s)",
        local(window.from, "%Y-%m-%d %H:%M:%S%.3f"),
        local(window.to, "%H:%M:%S%.3f %:z"),
        window.length() as f64 / 1e9
    )
}

#[cfg(test)]
mod tests;

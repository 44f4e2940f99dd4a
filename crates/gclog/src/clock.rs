//! Points in time of a log.
//!
//! A line says when it was written by the time since the start of the JVM, by the date, or by both. All become one scale.
//! A JVM that starts again begins that anew. Several threads write at once, so that lines are out of order and, in
//! logs of JDK 8, one within another: one line is not believed when its time does not fit those around it.

use serde::Serialize;

use crate::event::Nanos;
use crate::line::Stamp;

/// Threads log at once, so that lines are out of order by this much.
const MAX_DISORDER: u64 = 10_000_000_000;
/// This number of lines in a row that go back shows that a JVM has begun anew.
const LINES_OF_RESTART: u64 = 3;
/// At the end of a log fewer show that.
const LINES_OF_RESTART_AT_END: u64 = 2;
/// A time far ahead was not reached if others go on where it left, after this number of lines at most.
const MAX_LINES_AHEAD: u64 = 3;
/// A JVM that says that it begins is younger than this.
const MAX_BEGINNING: u64 = 10_000_000_000;

/// Lines in a row whose time goes back.
#[derive(Debug, Clone, Copy)]
struct Back {
    /// The first of their times, since the start of their JVM.
    first: u64,
    last: u64,
    lines: u64,
}

/// Lines in a row whose time is far ahead.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    /// The state before them.
    latest: Nanos,
    gap: Gap,
    lines: u64,
}

/// A stretch of time in which no line was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Its beginning, since the start of the JVM.
    #[serde(rename = "from_ms")]
    pub from: Nanos,
    /// How long it is.
    #[serde(rename = "length_ms")]
    pub length: Nanos,
}

/// The points in time of a log, on one scale.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// Dates are the scale: the first line with a time had no other.
    is_of_dates: Option<bool>,
    /// The date at which the JVM began, or the scale of dates, in nanoseconds since 1970.
    epoch: Option<i64>,
    /// Another such date, of one line as yet.
    other_epoch: Option<i64>,
    /// Added to times since a JVM has started again.
    offset: u64,
    pub first: Option<Nanos>,
    pub latest: Nanos,
    /// How often a JVM has begun anew.
    pub restarts: u64,
    /// Lines whose time does not fit those around them.
    pub misfits: u64,
    /// How often the date has changed while the JVM ran: it was set, or the machine slept.
    pub date_jumps: u64,
    /// The longest stretch without a line.
    pub gap: Gap,
    back: Option<Back>,
    ahead: Option<Ahead>,
    /// A line says that a JVM begins, and none with a time has come since.
    begins: bool,
}

impl Clock {
    /// The point in time of a stamp on one scale.
    pub fn at(&mut self, stamp: Stamp) -> Option<Nanos> {
        let own = self.own(stamp)?;
        let begins = std::mem::take(&mut self.begins) && own < MAX_BEGINNING;
        let at = Nanos(own.saturating_add(self.offset));
        if at < self.latest && (begins || self.is_back(at)) {
            return Some(self.went_back(own, at, begins));
        }
        // Lines that went back were a few among others that go on.
        self.misfits += self.back.take().map_or(0, |back| back.lines);
        let is_ahead = self.first.is_some() && at.0 > self.latest.0.saturating_add(MAX_DISORDER);
        match &mut self.ahead {
            _ if is_ahead => {
                self.ahead = Some(Ahead {
                    latest: self.latest,
                    gap: self.gap,
                    lines: 1,
                });
            }
            Some(ahead) if ahead.lines < MAX_LINES_AHEAD => ahead.lines += 1,
            _ => self.ahead = None,
        }
        self.reached(at);
        Some(at)
    }

    fn is_back(&self, at: Nanos) -> bool {
        at.0.saturating_add(MAX_DISORDER) < self.latest.0
    }

    /// The time of a stamp since the start of its JVM.
    fn own(&mut self, stamp: Stamp) -> Option<u64> {
        if stamp == Stamp::default() {
            return None;
        }
        let is_of_dates = *self.is_of_dates.get_or_insert(stamp.uptime.is_none());
        if !is_of_dates && let Some(uptime) = stamp.uptime {
            if let Some(wall) = stamp.wall {
                self.fit(uptime, wall);
            }
            return Some(uptime.0);
        }
        // One that lacks the time since the start, among others that have it, fits those.
        let latest = self.latest.0.saturating_sub(self.offset);
        let wall = stamp.wall?;
        let began = || wall.saturating_sub(i64::try_from(latest).unwrap_or(i64::MAX));
        let epoch = *self.epoch.get_or_insert_with(began);
        Some(u64::try_from(wall.saturating_sub(epoch)).unwrap_or(0))
    }

    /// Keeps the date at which the JVM began.
    fn fit(&mut self, uptime: Nanos, wall: i64) {
        let at = Nanos(uptime.0.saturating_add(self.offset));
        if self.begins || self.is_back(at) {
            return;
        }
        let epoch = wall.saturating_sub(i64::try_from(uptime.0).unwrap_or(i64::MAX));
        let is_near =
            |other: Option<i64>| other.is_some_and(|it| it.abs_diff(epoch) <= MAX_DISORDER);
        if self.epoch.is_none() || is_near(self.epoch) {
            self.other_epoch = None;
        } else if is_near(self.other_epoch.replace(epoch)) {
            self.date_jumps += 1;
            self.other_epoch = None;
        } else {
            return;
        }
        self.epoch = Some(epoch);
    }

    /// Takes a time before that of earlier lines.
    fn went_back(&mut self, own: u64, at: Nanos, begins: bool) -> Nanos {
        if !begins
            && let Some(ahead) = self.ahead.take()
            && at >= ahead.latest
        {
            // The log goes on where a few lines were far ahead.
            self.misfits += ahead.lines;
            (self.latest, self.gap) = (ahead.latest, ahead.gap);
            self.reached(at);
            return at;
        }
        let back = match self.back {
            Some(back) if own.saturating_add(MAX_DISORDER) >= back.last => Back {
                last: back.last.max(own),
                lines: back.lines + 1,
                ..back
            },
            _ => {
                self.misfits += self.back.map_or(0, |back| back.lines);
                Back {
                    first: own,
                    last: own,
                    lines: 1,
                }
            }
        };
        self.back = Some(back);
        if begins || back.lines >= LINES_OF_RESTART {
            self.restart(back);
        }
        self.latest
    }

    /// Another JVM has written these lines.
    fn restart(&mut self, back: Back) {
        self.restarts += 1;
        self.offset = self.latest.0.saturating_sub(back.first);
        self.latest = Nanos(self.offset.saturating_add(back.last));
        (self.back, self.ahead) = (None, None);
        if self.is_of_dates == Some(false) {
            (self.epoch, self.other_epoch) = (None, None);
        }
    }

    /// A JVM begins. Short runs go back by less than threads may log out of order.
    pub fn begins(&mut self) {
        self.begins = self.first.is_some();
    }

    /// The log begins here: at a time since the start of the JVM, or, where lines have dates only, at a date.
    pub fn begin_at(&mut self, own: Option<Nanos>, date: i64) {
        self.is_of_dates = Some(own.is_none());
        if own.is_none() {
            self.epoch = Some(date);
        }
        let first = own.unwrap_or_default();
        self.first = Some(first);
        self.latest = first;
    }

    /// The log ends no earlier than as long after its beginning.
    pub fn end_after(&mut self, length: Nanos) {
        if let Some(first) = self.first {
            self.lasted(Nanos(first.0.saturating_add(length.0)));
        }
    }

    /// A point in time was reached.
    pub fn reached(&mut self, at: Nanos) {
        if self.first.is_some() && at > self.latest {
            let length = Nanos(at.0 - self.latest.0);
            if length > self.gap.length {
                self.gap = Gap {
                    from: self.latest,
                    length,
                };
            }
        }
        self.first.get_or_insert(at);
        self.latest = self.latest.max(at);
    }

    /// A pause has lasted up to this point.
    pub fn lasted(&mut self, end: Nanos) {
        self.latest = self.latest.max(end);
    }

    /// The log ends.
    pub fn finish(&mut self) {
        match self.back.take() {
            Some(back) if back.lines >= LINES_OF_RESTART_AT_END => self.restart(back),
            back => self.misfits += back.map_or(0, |back| back.lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points in seconds for stamps in seconds: since the start, date.
    fn clock(stamps: &[(Option<f64>, Option<f64>)]) -> (Clock, Vec<Option<f64>>) {
        let mut clock = Clock::default();
        let points = stamps.iter().map(|(uptime, wall)| {
            let at = clock.at(Stamp {
                uptime: uptime.map(Nanos::from_seconds),
                wall: wall.map(|seconds| (seconds * 1e9) as i64),
            });
            at.map(Nanos::seconds)
        });
        let points = points.collect();
        clock.finish();
        (clock, points)
    }

    fn uptimes(seconds: &[f64]) -> (u64, u64, f64) {
        let stamps: Vec<_> = seconds.iter().map(|it| (Some(*it), None)).collect();
        let (clock, _) = clock(&stamps);
        let first = clock.first.unwrap_or_default();
        (
            clock.restarts,
            clock.misfits,
            Nanos(clock.latest.0 - first.0).seconds(),
        )
    }

    #[test]
    fn one_line_among_others_is_no_restart() {
        assert_eq!(uptimes(&[100.0, 105.0, 7.0, 110.0]), (0, 1, 10.0));
        assert_eq!(uptimes(&[100.0, 105.0, 7.0, 50.0, 110.0]), (0, 2, 10.0));
        // Further ahead than all others.
        assert_eq!(
            uptimes(&[100.0, 105.0, 27_722.0, 106.0, 110.0]),
            (0, 1, 10.0)
        );
        // At the end it is not known.
        assert_eq!(uptimes(&[100.0, 105.0, 7.0]), (0, 1, 5.0));
        assert_eq!(uptimes(&[100.0, 105.0, 7.0, 8.0]), (1, 0, 6.0));
        assert_eq!(uptimes(&[100.0, 105.0, 7.0, 8.0, 9.0, 10.0]), (1, 0, 8.0));
    }

    #[test]
    fn a_program_may_be_idle() {
        assert_eq!(uptimes(&[1.0, 2.0, 9000.0, 9001.0]), (0, 0, 9000.0));
        let stamps = [1.0, 2.0, 9000.0].map(|it| (Some(it), None));
        let gap = clock(&stamps).0.gap;
        assert_eq!((gap.from.seconds(), gap.length.seconds()), (2.0, 8998.0));
        // The JVM starts again after that.
        assert_eq!(uptimes(&[5.0, 20.0, 0.4, 0.5, 0.6]), (1, 0, 15.2));
    }

    #[test]
    fn dates_fit_the_time_since_the_start() {
        let both = |seconds: f64| (Some(seconds), Some(1000.0 + seconds));
        let (clock_, points) = clock(&[both(720.0), (None, Some(1725.0)), both(730.0)]);
        assert_eq!(points, [Some(720.0), Some(725.0), Some(730.0)]);
        assert_eq!(
            (clock_.restarts, clock_.misfits, clock_.date_jumps),
            (0, 0, 0)
        );
        let (_, points) = clock(&[(None, Some(5.0)), (None, Some(7.5))]);
        assert_eq!(points, [Some(0.0), Some(2.5)]);
        // The date is set back by an hour while the JVM runs, and is wrong in one line.
        let set = |seconds: f64| (Some(seconds), Some(seconds - 2600.0));
        let (clock_, _) = clock(&[
            both(1.0),
            both(2.0),
            set(3.0),
            set(4.0),
            both(5.0),
            set(6.0),
        ]);
        assert_eq!((clock_.restarts, clock_.date_jumps), (0, 1));
        assert_eq!(clock_.latest, Nanos(6_000_000_000));
        // Another JVM has another beginning.
        let next = |seconds: f64| (Some(seconds), Some(1200.0 + seconds));
        let (clock_, _) = clock(&[both(100.0), next(1.0), next(2.0), next(3.0), next(4.0)]);
        assert_eq!((clock_.restarts, clock_.date_jumps), (1, 0));
    }
}

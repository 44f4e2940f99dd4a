//! The safepoints of a recording: stops of all threads for collections and everything else, put together from the
//! event of their begin, that of their end, and those of the operations within.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::event::Nanos;
use crate::statistics::{Statistics, Stop};

/// Events of one safepoint are within this time of each other; numbers begin anew with each JVM.
const MAX_APART: u64 = 60_000_000_000;
/// Safepoints of which more events may come.
const MAX_OPEN: usize = 1 << 16;

/// A safepoint, as far as it is known.
#[derive(Debug, Default)]
struct Safepoint<'a> {
    from: i64,
    to: i64,
    /// How long it took until all threads had stopped.
    reaching: Option<u64>,
    /// The operation that took longest, with its duration.
    operation: (u64, Cow<'a, str>),
}

/// The part of a safepoint that an event describes.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// The VM asks threads to stop, up to the last.
    Begin,
    /// Threads go on.
    End,
    /// The operation of the VM meanwhile.
    Operation(Cow<'a, str>),
}

/// A setting such as `10 ms` in nanoseconds.
pub(super) fn in_nanos(setting: &str) -> Option<Nanos> {
    let (number, unit) = setting.split_once(' ')?;
    let unit = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    Some(Nanos(number.parse::<u64>().ok()?.saturating_mul(unit)))
}

/// Safepoints by number.
#[derive(Debug, Default)]
pub(super) struct Safepoints<'a> {
    open: BTreeMap<u64, Safepoint<'a>>,
    /// The safepoints that ended: their end, duration, time to stop and operation.
    done: Vec<Safepoint<'a>>,
}

impl<'a> Safepoints<'a> {
    /// Takes an event.
    pub(super) fn take(&mut self, id: u64, at: i64, duration: u64, part: Part<'a>) {
        let end = at.saturating_add_unsigned(duration);
        if let Some(found) = self.open.get(&id) {
            let is_other = found.from.abs_diff(at) > MAX_APART
                || (matches!(part, Part::Begin) && found.reaching.is_some());
            if is_other {
                self.done.extend(self.open.remove(&id));
            }
        }
        if self.open.len() == MAX_OPEN {
            self.flush(i64::MAX);
        }
        let found = self.open.entry(id).or_insert_with(|| Safepoint {
            from: at,
            to: end,
            ..Safepoint::default()
        });
        found.from = found.from.min(at);
        found.to = found.to.max(end);
        match part {
            Part::Begin => found.reaching = Some(duration),
            Part::End => {}
            Part::Operation(name) => {
                if found.operation.1.is_empty() || duration > found.operation.0 {
                    found.operation = (duration, name);
                }
            }
        }
    }

    /// Ends those of which nothing more is expected: they ended before this.
    pub(super) fn flush(&mut self, before: i64) {
        let is_done = |it: &Safepoint<'_>| before == i64::MAX || it.to < before;
        let ids = self.open.iter().filter(|(_, it)| is_done(it));
        let ids: Vec<u64> = ids.map(|(id, _)| *id).collect();
        self.done
            .extend(ids.iter().filter_map(|id| self.open.remove(id)));
    }

    /// Counts those that have ended. `since_start` puts a time on the scale of the recording, unless it does not count.
    pub(super) fn count(
        &mut self,
        statistics: &mut Statistics,
        since_start: impl Fn(i64) -> Option<Nanos>,
    ) {
        for it in std::mem::take(&mut self.done) {
            let Some(at) = since_start(it.to) else {
                continue;
            };
            statistics.stop(&Stop {
                at: Some(at),
                operation: it.operation.1.as_bytes(),
                total: Nanos(it.to.abs_diff(it.from)),
                reaching: it.reaching.map(Nanos),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(events: &[(u64, i64, u64, Part<'static>)]) -> crate::Summary {
        let mut safepoints = Safepoints::default();
        for (id, at, duration, part) in events {
            let part = match part {
                Part::Begin => Part::Begin,
                Part::End => Part::End,
                Part::Operation(name) => Part::Operation(name.clone()),
            };
            safepoints.take(*id, *at, *duration, part);
        }
        safepoints.flush(i64::MAX);
        let mut statistics = Statistics::new();
        safepoints.count(&mut statistics, |at| Some(Nanos(at.unsigned_abs())));
        statistics.summary()
    }

    #[test]
    fn events_of_one_safepoint_are_one_stop() {
        let found = summary(&[
            (
                7,
                1_300,
                700,
                Part::Operation("G1CollectForAllocation".into()),
            ),
            (7, 1_000, 200, Part::Begin),
            (7, 2_000, 50, Part::End),
            (8, 5_000, 100, Part::Operation("Cleanup".into())),
        ]);
        assert_eq!(found.stops.count, 2);
        assert_eq!(found.stops.sum, Nanos(1_050 + 100));
        assert_eq!((found.reaching.count, found.reaching.max), (1, Nanos(200)));
        let names: Vec<&str> = found
            .operations
            .iter()
            .map(|row| row.name.as_str())
            .collect();
        assert_eq!(names, ["G1CollectForAllocation", "Cleanup"]);
        assert_eq!(found.worst_stops[0].duration, Nanos(1_050));
        assert_eq!(found.worst_stops[0].operation, "G1CollectForAllocation");
    }

    #[test]
    fn thresholds_have_units() {
        assert_eq!(in_nanos("10 ms"), Some(Nanos(10_000_000)));
        assert_eq!(in_nanos("0 ns"), Some(Nanos(0)));
        assert_eq!(in_nanos("20 s"), Some(Nanos(20_000_000_000)));
        for other in ["", "ms", "10ms", "x ms", "1 day"] {
            assert_eq!(in_nanos(other), None, "{other}");
        }
    }

    #[test]
    fn numbers_that_begin_anew_are_other_safepoints() {
        let found = summary(&[
            (1, 1_000, 10, Part::Begin),
            (1, 2_000, 20, Part::Begin),
            (1, 90_000_000_000, 30, Part::Operation("Halt".into())),
        ]);
        assert_eq!(found.stops.count, 3);
        assert_eq!(found.reaching.sum, Nanos(30));
    }
}

//! When costs arose: windows of time, and costs with their times.

use hprof_format::ids::{ThreadSerial, TraceSerial};

use crate::weights::Measure;

/// A part of time, in nanoseconds since 1970-01-01 UTC. Its end is the first moment that is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its first nanosecond.
    pub from: i64,
    /// The nanosecond after its last.
    pub to: i64,
}

impl Window {
    /// Returns whether a moment is in the window.
    pub const fn contains(self, at: i64) -> bool {
        self.from <= at && at < self.to
    }

    /// The nanoseconds of the window.
    pub const fn length(self) -> u64 {
        match self.from < self.to {
            true => self.to.abs_diff(self.from),
            false => 0,
        }
    }

    /// The time that both windows have; `None` if they have none.
    pub fn and(self, other: Self) -> Option<Self> {
        let both = Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        };
        (both.from < both.to).then_some(both)
    }

    /// The nanoseconds of an event in the window.
    pub fn overlap(self, from: i64, nanos: u64) -> u64 {
        let event = Self {
            from,
            to: from.saturating_add_unsigned(nanos),
        };
        self.and(event).map_or(0, Self::length)
    }
}

/// A cost with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Its start, in nanoseconds since 1970-01-01 UTC.
    pub at: i64,
    /// The cost: nanoseconds for measures of milliseconds, else in the measure's unit.
    pub value: u64,
    /// The trace.
    pub trace: TraceSerial,
    /// The thread, if it is known; else it may be that of the trace.
    pub thread: Option<ThreadSerial>,
    /// The measure.
    pub measure: Measure,
}

/// The costs of a recording with their times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The time that it covers.
    pub span: Window,
    /// The nanoseconds of CPU time that a sample stands for, if the recording says.
    pub sample_nanos: Option<u64>,
    /// Samples are of threads that run or not, and are no CPU use.
    pub is_wall: bool,
    /// The costs, in the order of time.
    pub moments: Vec<Moment>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_costs_what_is_in_the_window() {
        let window = Window { from: 10, to: 20 };
        for (from, nanos, expected) in [
            (0, 10, 0),
            (0, 15, 5),
            (12, 3, 3),
            (18, 100, 2),
            (0, u64::MAX, 10),
            (20, 5, 0),
        ] {
            assert_eq!(window.overlap(from, nanos), expected, "{from} {nanos}");
        }
        assert!(window.contains(10) && !window.contains(20));
        assert_eq!(window.and(Window { from: 20, to: 30 }), None);
    }
}

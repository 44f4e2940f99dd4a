//! The costs of a profile over time, for formats whose samples may have one.

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_stacks::Measure;
use hprof_stacks::timeline::{Moment, Timeline, Window};

/// Costs with times, and sums of all costs.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    all: Vec<Moment>,
    samples: u64,
    /// The CPU time of these, in nanoseconds.
    nanos: u64,
    is_wall: bool,
}

impl Moments {
    /// Counts a cost, and keeps its time if it has one.
    pub(crate) fn add(
        &mut self,
        measure: Measure,
        value: u64,
        at: Option<i64>,
        (trace, thread): (TraceSerial, Option<ThreadSerial>),
    ) {
        match measure {
            Measure::Samples => self.samples = self.samples.saturating_add(value),
            Measure::Time => self.nanos = self.nanos.saturating_add(value),
            Measure::Wall => self.is_wall = true,
            _ => {}
        }
        if let (Some(at), 1..) = (at, value) {
            self.all.push(Moment {
                at,
                value,
                trace,
                thread,
                measure,
            });
        }
    }

    /// The costs by time, over the time that the profile covers.
    pub(crate) fn timeline(mut self, span: Window) -> Timeline {
        self.all.sort_by_key(|moment| moment.at);
        let nanos = self.nanos.checked_div(self.samples);
        Timeline {
            span,
            sample_nanos: nanos.filter(|&nanos| nanos > 0),
            is_wall: self.is_wall,
            moments: self.all,
        }
    }
}

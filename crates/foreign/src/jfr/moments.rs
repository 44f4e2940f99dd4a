//! Costs of a recording with their times.

use hprof_format::ids::TraceSerial;
use hprof_stacks::Measure;
use hprof_stacks::timeline::Moment;

use super::events::Chosen;

/// The account that a cost goes to. Which measure that is may be known at the end of the file only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Account {
    /// A measure.
    Measure(Measure),
    /// Samples of threads that ran, of a profiler that does not say by which clock.
    Runners,
    /// CPU time by samples.
    CpuTime,
    /// Allocation by buffers.
    Buffers,
}

/// A cost.
struct Raw {
    at: i64,
    value: u64,
    trace: TraceSerial,
    account: Account,
}

/// Costs with their times.
#[derive(Default)]
pub(super) struct Moments {
    all: Vec<Raw>,
    /// The nanoseconds between samples, if the recording says.
    pub(super) sample_nanos: Option<u64>,
}

impl Moments {
    /// Adds a cost.
    pub(super) fn add(&mut self, at: i64, value: u64, trace: TraceSerial, account: Account) {
        self.all.push(Raw {
            at,
            value,
            trace,
            account,
        });
    }

    /// The costs in the order of time, once it is known which accounts count.
    pub(super) fn finish(self, chosen: Chosen) -> Vec<Moment> {
        let mut moments = Vec::with_capacity(self.all.len());
        for raw in self.all {
            let moment = |measure, value| Moment {
                at: raw.at,
                value,
                trace: raw.trace,
                thread: None,
                measure,
            };
            match raw.account {
                Account::Measure(measure) => moments.push(moment(measure, raw.value)),
                Account::Runners => moments.push(moment(chosen.runners, raw.value)),
                Account::CpuTime => {
                    moments.push(moment(Measure::Time, raw.value));
                    if chosen.has_cpu_samples {
                        moments.push(moment(Measure::Samples, 1));
                    }
                }
                Account::Buffers if chosen.has_buffers => {
                    moments.push(moment(Measure::AllocatedBytes, raw.value));
                }
                Account::Buffers => {}
            }
        }
        moments.sort_by_key(|moment| moment.at);
        moments
    }
}

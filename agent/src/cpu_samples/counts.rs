//! Sample counts per trace.

use std::collections::BTreeMap;

use hprof_format::ids::TraceSerial;
use hprof_format::model::CpuRow;

use super::signal::WalkFailure;
use super::wall::WallState;

/// Sample counts per trace, and what became of samples without a stack.
#[derive(Default)]
pub struct SampleCounts {
    /// Indexed by trace, from the system trace on.
    counts: Vec<u64>,
    total: u64,
    stacks: u64,
    failures: BTreeMap<WalkFailure, u64>,
    /// Intervals by state, on the wall clock.
    states: [u64; WallState::ALL.len()],
}

impl SampleCounts {
    /// Counts `weight` intervals of CPU time in a trace.
    pub fn add(&mut self, trace: TraceSerial, weight: u64) {
        let index = trace.get().saturating_sub(TraceSerial::BASE) as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += weight;
        self.total += weight;
        self.stacks += 1;
    }

    /// Counts `weight` intervals for which no stack could be had. They are rows
    /// of the `<empty>` trace, so that the total stays the CPU time.
    pub fn add_failure(&mut self, trace: TraceSerial, reason: WalkFailure, weight: u64) {
        self.add(trace, weight);
        *self.failures.entry(reason).or_default() += weight;
    }

    /// Notes the state in which a thread was counted for `weight` intervals.
    pub fn add_state(&mut self, state: WallState, weight: u64) {
        if let Some(sum) = self.states.get_mut(state as usize) {
            *sum += weight;
        }
    }

    /// Intervals by state, in the order of [`WallState::ALL`].
    pub fn states(&self) -> [u64; WallState::ALL.len()] {
        self.states
    }

    /// All intervals counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of stacks; one may represent several intervals.
    pub fn stacks(&self) -> u64 {
        self.stacks
    }

    /// Intervals without a stack, by reason.
    pub fn failures(&self) -> &BTreeMap<WalkFailure, u64> {
        &self.failures
    }

    /// One row for each trace that was hit.
    pub fn rows(&self) -> Vec<CpuRow> {
        (TraceSerial::BASE..)
            .zip(&self.counts)
            .filter(|&(_, &count)| count > 0)
            .map(|(serial, &count)| CpuRow {
                cost: count,
                count,
                trace: TraceSerial::new(serial),
            })
            .collect()
    }

    /// Forgets all counts, as after each dump.
    pub fn clear(&mut self) {
        *self = Self {
            counts: std::mem::take(&mut self.counts),
            ..Self::default()
        };
        self.counts.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_walks_count_in_the_total_and_clear_forgets_all() {
        let mut samples = SampleCounts::default();
        samples.add(TraceSerial::new(300_002), 3);
        samples.add(TraceSerial::new(300_002), 1);
        samples.add_failure(TraceSerial::SYSTEM, WalkFailure::GcActive, 2);
        assert_eq!((samples.total(), samples.stacks()), (6, 3));
        let rows: Vec<_> = samples
            .rows()
            .iter()
            .map(|r| (r.trace.get(), r.cost))
            .collect();
        assert_eq!(rows, [(300_000, 2), (300_002, 4)]);
        assert_eq!(samples.failures()[&WalkFailure::GcActive], 2);
        samples.clear();
        assert_eq!(
            (
                samples.total(),
                samples.rows().len(),
                samples.failures().len()
            ),
            (0, 0, 0)
        );
    }
}

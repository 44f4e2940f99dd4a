//! Percentiles of any number of durations in bounded memory.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::Nanos;

/// The steps between a power of two and the next: a percentile is at most 1/1024 above the duration that it
/// stands for.
const STEPS: u32 = 10;

/// Durations, counted in steps that grow with them (as in HdrHistogram).
#[derive(Debug, Clone, Default)]
pub struct Durations {
    steps: BTreeMap<u32, u64>,
    count: u64,
    sum: u64,
    max: u64,
}

/// Sums and percentiles of durations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// How many there are.
    pub count: u64,
    /// Their sum.
    #[serde(rename = "sum_ms")]
    pub sum: Nanos,
    /// The longest.
    #[serde(rename = "max_ms")]
    pub max: Nanos,
    /// Half of them are no longer.
    #[serde(rename = "p50_ms")]
    pub p50: Nanos,
    /// 95 in 100 are no longer.
    #[serde(rename = "p95_ms")]
    pub p95: Nanos,
    /// 99 in 100 are no longer.
    #[serde(rename = "p99_ms")]
    pub p99: Nanos,
    /// 999 in 1000 are no longer.
    #[serde(rename = "p999_ms")]
    pub p999: Nanos,
}

impl Durations {
    /// Adds one.
    pub fn add(&mut self, duration: Nanos) {
        *self.steps.entry(step(duration.0)).or_default() += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(duration.0);
        self.max = self.max.max(duration.0);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> Nanos {
        Nanos(self.sum)
    }

    /// The longest.
    pub fn max(&self) -> Nanos {
        Nanos(self.max)
    }

    /// The duration that this share of all does not exceed (nearest rank), zero if there is none.
    pub fn percentile(&self, share: f64) -> Nanos {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (&step, &count) in &self.steps {
            seen += count;
            if seen >= rank {
                return Nanos(last_of(step).min(self.max));
            }
        }
        Nanos(0)
    }

    /// Sums and percentiles.
    pub fn spread(&self) -> Spread {
        Spread {
            count: self.count,
            sum: self.sum(),
            max: self.max(),
            p50: self.percentile(0.5),
            p95: self.percentile(0.95),
            p99: self.percentile(0.99),
            p999: self.percentile(0.999),
        }
    }
}

/// The step of a value: exact below 2 to the power of [`STEPS`] + 1.
fn step(value: u64) -> u32 {
    let shift = (63 - (value | 1).leading_zeros()).saturating_sub(STEPS);
    // At most 53 shifts of 1024 steps, and less than twice 1024 in addition.
    (shift << STEPS) + (value >> shift) as u32
}

/// The largest value of a step.
fn last_of(step: u32) -> u64 {
    let shift = (step >> STEPS).saturating_sub(1);
    let value = u64::from(step - (shift << STEPS));
    (value << shift) | ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let mut durations = Durations::default();
        for millis in 1..=1000 {
            durations.add(Nanos(millis * 1_000_000));
        }
        let spread = durations.spread();
        assert_eq!((spread.count, spread.max), (1000, Nanos(1_000_000_000)));
        assert_eq!(spread.sum, Nanos(500_500_000_000));
        for (found, millis) in [
            (spread.p50, 500.0),
            (spread.p95, 950.0),
            (spread.p99, 990.0),
            (spread.p999, 999.0),
        ] {
            assert!((found.millis() / millis - 1.0).abs() < 0.001, "{found:?}");
        }
        assert_eq!(Durations::default().spread(), Spread::default());
    }

    proptest! {
        #[test]
        fn a_step_holds_its_values(value: u64) {
            let last = last_of(step(value));
            prop_assert!(last >= value);
            prop_assert!(last - value <= value >> STEPS);
            prop_assert_eq!(step(last), step(value));
        }
    }
}

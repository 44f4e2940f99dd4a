//! Estimates a method's counts where the hooks time one call in N.

use super::memory::Sums;

/// Counts up to a moment, and how many calls a timed one stands for since.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// The counts up to that moment, scaled.
    before: Sums,
    /// What the counters showed then.
    since: Sums,
    /// One call in 2^`bits` has been timed since.
    bits: u32,
}

impl Totals {
    /// The counts, by what the counters show `now`.
    pub(super) fn of(&self, now: &Sums) -> Sums {
        if self.bits == 0 {
            return now.clone();
        }
        let scaled = |before: u64, since: u64, now: u64| {
            let new = now.saturating_sub(since);
            before.saturating_add(new << self.bits)
        };
        let (before, since) = (&self.before, &self.since);
        let new = now.times.minus(&since.times).scaled(1 << self.bits);
        Sums {
            times: before.times.plus(&new),
            wall: scaled(before.wall, since.wall, now.wall),
            cpu: scaled(before.cpu, since.cpu, now.cpu),
            slow: scaled(before.slow, since.slow, now.slow),
            ..now.clone()
        }
    }

    /// From now on, when the counters show `now`, one call in 2^`bits` is timed.
    pub(super) fn skip(&mut self, now: &Sums, bits: u32) {
        self.before = self.of(now);
        self.since = now.clone();
        self.bits = bits;
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_stacks::slow::Histogram;

    fn sums(counters: &[(u32, u64)], wall: u64) -> Sums {
        Sums {
            times: Histogram::new(counters.iter().copied()),
            wall,
            ..Sums::default()
        }
    }

    #[test]
    fn timed_calls_stand_for_those_that_were_not() {
        let mut totals = Totals::default();
        let all = sums(&[(3, 100), (5, 1)], 305);
        assert_eq!(totals.of(&all).times, all.times);
        totals.skip(&all, 4);
        let some = totals.of(&sums(&[(3, 110), (4, 2), (5, 1)], 343));
        assert_eq!(
            some.times,
            Histogram::new([(3, 100 + 160), (4, 32), (5, 1)])
        );
        assert_eq!(some.wall, 305 + 38 * 16);
        totals.skip(&sums(&[(3, 110), (4, 2), (5, 1)], 343), 5);
        let hotter = totals.of(&sums(&[(3, 111), (4, 2), (5, 1)], 346));
        assert_eq!(hotter.times, Histogram::new([(3, 292), (4, 32), (5, 1)]));
    }
}

//! The moments of a thread's CPU time at which samples are due: one in each interval, at random.
//!
//! A sampler with a fixed step sees work with a period near the step, or a multiple of it, at the same place each time:
//! frames of a game, ticks, batches. So each interval of CPU time has one moment, which may be anywhere in it. All
//! moments of CPU time are as likely, and no moment depends on another. The number of moments is that of the intervals,
//! so each counts one interval, and counts times the interval stay the CPU time: a weight would say nothing more.
//!
//! Nothing here calls the system.

use std::num::NonZeroU64;

/// The next moment of a thread, on its CPU clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// Where the interval begins in which the next moment is.
    pub interval_start: u64,
    /// The next moment.
    pub next: u64,
}

impl Moments {
    /// The first interval begins at `now`.
    pub fn begin(now: u64, interval: NonZeroU64, random: u64) -> Self {
        Self {
            interval_start: now,
            next: now.saturating_add(random % interval),
        }
    }

    /// How many moments have passed at `now`. `random` gives evenly spread numbers.
    pub fn pass(&mut self, now: u64, interval: NonZeroU64, mut random: impl FnMut() -> u64) -> u64 {
        if now < self.next {
            return 0;
        }
        // An interval that has ended has had its moment. That of the one under way has passed if it was the next;
        // else it is only drawn now, and may lie before `now` all the same.
        let ended = now.saturating_sub(self.interval_start) / interval;
        if ended > 0 {
            let length = ended.saturating_mul(interval.get());
            *self = Self::begin(
                self.interval_start.saturating_add(length),
                interval,
                random(),
            );
        }
        if now < self.next {
            return ended;
        }
        let following = self.interval_start.saturating_add(interval.get());
        *self = Self::begin(following, interval, random());
        ended.saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Evenly spread numbers, the same each time (splitmix64).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = self.0;
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        }
    }

    const INTERVAL: NonZeroU64 = NonZeroU64::new(10_000_000).unwrap();

    /// That many moments in a row.
    fn moments(count: usize, random: &mut Random) -> Vec<u64> {
        let mut moments = Moments::begin(0, INTERVAL, random.next());
        let mut step = || {
            let at = moments.next;
            assert_eq!(moments.pass(at, INTERVAL, || random.next()), 1);
            at
        };
        (0..count).map(|_| step()).collect()
    }

    #[test]
    fn the_mean_step_is_the_interval_and_steps_are_spread() {
        let count = 100_000;
        let moments = moments(count, &mut Random(1));
        let mean = moments[count - 1] as f64 / count as f64;
        assert!((mean / 1e7 - 1.0).abs() < 1e-4, "{mean}");
        let steps = moments.windows(2).map(|pair| pair[1] - pair[0]);
        // The difference of two even draws: half of the steps are farther than 0.29 intervals from the mean.
        let far = steps.filter(|&step| step.abs_diff(10_000_000) > 2_928_932);
        let share = far.count() as f64 / count as f64;
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }

    #[test]
    fn moments_do_not_depend_on_each_other() {
        let places: Vec<f64> = moments(100_000, &mut Random(2))
            .iter()
            .map(|moment| (*moment % INTERVAL) as f64 / 1e7 - 0.5)
            .collect();
        let variance: f64 = places.iter().map(|place| place * place).sum();
        for lag in 1..5 {
            let pairs = places.iter().zip(&places[lag..]);
            let covariance: f64 = pairs.map(|(one, other)| one * other).sum();
            // Four standard deviations of 100,000 independent pairs.
            let correlation = covariance / variance;
            assert!(correlation.abs() < 0.0127, "lag {lag}: {correlation}");
        }
    }

    /// Shares of work that takes the first 80 percent of each cycle, over 30 runs of 400 samples.
    #[test]
    fn shares_of_cycles_from_1_to_100_ms_are_within_chance() {
        let mut random = Random(3);
        for cycle in 1..=100u64 {
            let cycle = cycle * 1_000_000;
            let mut squares = 0.0;
            let mut sum = 0.0;
            for _ in 0..30 {
                let shift = random.next() % cycle;
                let first = moments(400, &mut random)
                    .into_iter()
                    .filter(|moment| (moment + shift) % cycle < cycle / 5 * 4);
                let error = first.count() as f64 / 400.0 - 0.8;
                squares += error * error;
                sum += error;
            }
            // Chance alone: 0.16 / 400. The mean square of 30 runs is above 2.1 times that in one of 5,000 tests.
            assert!(squares / 30.0 < 2.1 * 0.16 / 400.0, "{cycle}: {squares}");
            let mean = sum / 30.0;
            assert!(mean.abs() < 4.0 * 0.02 / 30f64.sqrt(), "{cycle}: {mean}");
        }
    }

    /// A kernel that looks only every 4 ms gives each look the moments of the 4 ms before: as many, whatever the place
    /// of the look in the interval.
    #[test]
    fn each_look_counts_the_time_since_the_one_before() {
        let mut random = Random(4);
        let mut at_place = [0u64; 5];
        let rounds = 20_000;
        for _ in 0..rounds {
            let mut moments = Moments::begin(0, INTERVAL, random.next());
            for look in 1..=10u64 {
                let passed = moments.pass(look * 4_000_000, INTERVAL, || random.next());
                at_place[look as usize % 5] += passed;
            }
        }
        for count in at_place {
            let mean = count as f64 / f64::from(rounds) / 2.0;
            assert!((mean - 0.4).abs() < 0.012, "{at_place:?}");
        }
    }

    proptest! {
        /// Counts are the intervals of CPU time, however late they are counted.
        #[test]
        fn counts_are_the_time(
            start: u32,
            interval in 1u64..20_000_000,
            steps in prop::collection::vec(0u64..200_000_000, 1..50),
            seed: u64,
        ) {
            let mut random = Random(seed);
            let interval = NonZeroU64::new(interval).unwrap();
            let mut now = u64::from(start);
            let mut moments = Moments::begin(now, interval, random.next());
            let mut counted = 0;
            for step in steps {
                now += step;
                counted += moments.pass(now, interval, || random.next());
                prop_assert!(moments.next > now);
                let intervals = (now - u64::from(start)) / interval;
                prop_assert!(counted == intervals || counted == intervals + 1);
            }
        }

        #[test]
        fn no_clock_makes_it_panic(
            start: u64, clocks: Vec<u64>, interval in 1u64.., random: u64,
        ) {
            let interval = NonZeroU64::new(interval).unwrap();
            let mut moments = Moments::begin(start, interval, random);
            for clock in clocks {
                moments.pass(clock, interval, || random);
            }
        }
    }
}

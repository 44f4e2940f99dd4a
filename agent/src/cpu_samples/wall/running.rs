//! Which samples of a thread have a CPU.
//!
//! The kernel tells whether a thread wants a CPU, but not whether it had one a moment ago: the thread that looks
//! has just taken one. So samples of such a thread count as running as far as its CPU clock has gone, and as ready
//! beyond that.

use std::time::Duration;

/// Intervals by which samples may be ahead of the CPU clock, or behind it, unless one look counts more: moments at which
/// a thread is found at work come at random, so that exact steps would take some of them for ready.
const MAX_AHEAD: i64 = 10;

/// A thread's CPU clock, and how much of it samples have counted.
#[derive(Default)]
pub(super) struct RunningTime {
    cpu_nanos: u64,
    /// Below zero, samples are ahead.
    uncounted_nanos: i64,
}

impl RunningTime {
    /// Returns true if the clock stands since the last look.
    pub(super) fn stands_at(&self, cpu_nanos: u64) -> bool {
        self.cpu_nanos == cpu_nanos
    }

    /// The clock at a look that counts `weight` intervals.
    pub(super) fn note(&mut self, cpu_nanos: u64, weight: u64, interval: Duration) {
        if self.cpu_nanos != 0 {
            let more = cpu_nanos.saturating_sub(self.cpu_nanos);
            let more = i64::try_from(more).unwrap_or(i64::MAX);
            let most = ahead(weight, interval);
            self.uncounted_nanos = self.uncounted_nanos.saturating_add(more).min(most);
        }
        self.cpu_nanos = cpu_nanos;
    }

    /// Returns the number of intervals, of the `weight` ones in which a thread wanted a CPU, in which it had one.
    pub(super) fn take(&mut self, weight: u64, interval: Duration) -> u64 {
        let nanos = nanos(interval);
        let room = self.uncounted_nanos.saturating_add(ahead(weight, interval)) / nanos;
        let running = u64::try_from(room).unwrap_or(0).min(weight);
        let counted = i64::try_from(running).unwrap_or(i64::MAX);
        let counted = counted.saturating_mul(nanos);
        self.uncounted_nanos = self.uncounted_nanos.saturating_sub(counted);
        running
    }
}

/// How far samples may be ahead of the CPU clock, or behind it, at a look of this weight.
fn ahead(weight: u64, interval: Duration) -> i64 {
    let weight = i64::try_from(weight).unwrap_or(i64::MAX);
    nanos(interval).saturating_mul(weight.max(MAX_AHEAD))
}

fn nanos(interval: Duration) -> i64 {
    i64::try_from(interval.as_nanos())
        .unwrap_or(i64::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(10);

    /// Running and ready intervals of a thread that has a CPU for `share` percent of the time, and is found
    /// wanting one at each look for which `wants` is true.
    fn counted(share: u64, weight: u64, wants: impl Fn(u64) -> bool) -> (u64, u64) {
        let mut time = RunningTime::default();
        let (mut running, mut ready) = (0, 0);
        let mut cpu = 1;
        for look in 0..2000 {
            cpu += weight * 10_000_000 * share / 100;
            time.note(cpu, weight, INTERVAL);
            if wants(look) {
                let taken = time.take(weight, INTERVAL);
                running += taken;
                ready += weight - taken;
            }
        }
        (running, ready)
    }

    #[test]
    fn a_thread_that_always_has_a_cpu_is_never_ready() {
        for weight in [1, 20] {
            assert_eq!(counted(100, weight, |_| true), (2000 * weight, 0));
        }
    }

    #[test]
    fn a_thread_that_shares_a_cpu_runs_for_its_cpu_time() {
        for weight in [1, 20] {
            let (running, ready) = counted(30, weight, |_| true);
            let truth = 600 * weight;
            assert!(running.abs_diff(truth) <= 40 * weight.max(1), "{running}");
            assert_eq!(running + ready, 2000 * weight);
        }
    }

    #[test]
    fn short_work_between_sleeps_is_running_and_not_ready() {
        // At work a quarter of the time, and found so at a quarter of the looks.
        let (running, ready) = counted(25, 1, |look| look % 4 == 0);
        assert!(running > 490 && ready < 10, "{running} {ready}");
    }
}

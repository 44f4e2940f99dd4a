//! Keeps the memory of the process below a limit, by letting go of maps of files.

use std::sync::Weak;
use std::time::{Duration, Instant};

use super::array::Scratch;
use crate::resident::Resident;

/// Lets go of the maps whenever the process nears its limit, until the store is gone.
pub(super) fn watch(scratch: &Weak<Scratch>, limit: u64) {
    let limit = limit - limit / 32;
    let start = limit - limit / 5;
    let now = || Resident::now().unwrap_or_default();
    let mut high = start;
    let mut growth = Growth::default();
    let (mut last, mut was) = (Instant::now(), now().all);
    let mut letting_go = Duration::ZERO;
    loop {
        std::thread::sleep(Duration::from_millis(1));
        let Some(scratch) = scratch.upgrade() else {
            return;
        };
        let (rest, time) = (now(), last.elapsed());
        growth.add(rest.all.saturating_sub(was), time);
        (last, was) = (Instant::now(), rest.all);
        // What comes before this thread has looked again and let go must still fit.
        let room = limit.saturating_sub(growth.within(time + letting_go));
        if rest.all < high.min(room).max(rest.other + limit / 16) {
            continue;
        }
        scratch.let_go(false);
        if now().all < start.min(room) {
            high = start;
        } else {
            scratch.let_go(true);
            let rest = now();
            // All that is mapped came back meanwhile.
            growth.add(rest.all - rest.other, last.elapsed());
            high = start.max(next_time(rest, limit));
        }
        letting_go = last.elapsed();
        (last, was) = (Instant::now(), now().all);
    }
}

/// How fast the memory in maps grows: of late, and at most. A thread that reads here and there maps 64 KiB with each
/// page (`fault_around_bytes` of the kernel), so that gigabytes come within a tenth of a second.
#[derive(Debug, Default)]
struct Growth {
    bytes_per_second: f64,
}

impl Growth {
    /// Bytes that came in a time. What was before counts for a few hundredths of a second.
    fn add(&mut self, bytes: u64, time: Duration) {
        const MEMORY: f64 = 0.05;
        let seconds = time.as_secs_f64().max(1e-6);
        let of_late = bytes as f64 / seconds;
        self.bytes_per_second = of_late.max(self.bytes_per_second * (-seconds / MEMORY).exp());
    }

    /// The bytes that will have come after a time.
    fn within(&self, time: Duration) -> u64 {
        (self.bytes_per_second * time.as_secs_f64()) as u64
    }
}

/// The memory at which maps are let go of again, after that has left `rest`. To let go without end
/// would not make it less, only slow, so half of the way to the limit comes before the next time. What
/// came back meanwhile, as others touched it, does not raise the limit; what is in no map has to stay.
fn next_time(rest: Resident, limit: u64) -> u64 {
    let half = rest.all.min(limit) + limit.saturating_sub(rest.all) / 2;
    half.max(rest.other + limit / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_while_maps_go_does_not_raise_the_limit() {
        let next = |all, other| next_time(Resident { all, other }, 1600);
        assert_eq!(next(400, 300), 1000);
        assert_eq!((next(1600, 300), next(3000, 300)), (1600, 1600));
        assert_eq!(next(2000, 1900), 2000);
    }

    #[test]
    fn what_comes_fast_is_expected_to_come_on() {
        let mut growth = Growth::default();
        assert_eq!(growth.within(Duration::from_secs(1)), 0);
        growth.add(1 << 30, Duration::from_millis(10));
        assert_eq!(growth.within(Duration::from_millis(10)), 1 << 30);
        // Half of it after 35 ms, and next to nothing after half a second.
        growth.add(0, Duration::from_millis(35));
        let half = growth.within(Duration::from_millis(10)) >> 20;
        assert!((480..540).contains(&half), "{half}");
        growth.add(0, Duration::from_millis(500));
        assert!(growth.within(Duration::from_millis(10)) < 1 << 20);
    }
}

//! The rows of the table of a dump, and the lines by which programs read them.

use hprof_format::model::{SlowCallRow, SlowRow};
use hprof_stacks::slow::{SlowMethod, Threshold};

use super::memory::RunningCall;
use super::methods::Timed;
use crate::os::clock::LocalTime;

/// Returns a method's counts up to `now` of the monotonic clock.
pub(super) fn method(timed: &Timed, running: &[RunningCall], now: u64) -> SlowMethod {
    let counted = timed.block.sums(timed.longest());
    let sums = timed.totals.of(&counted);
    let address = timed.block.address();
    let running = running.iter().filter(|call| call.block == address);
    let ages = running.map(|call| now.saturating_sub(call.began));
    let is_hot = timed.totals.bits() > 0;
    SlowMethod {
        class: timed.key.class.clone(),
        name: timed.key.name.clone(),
        descriptor: timed.key.descriptor.clone(),
        asked: timed.asked,
        threshold: timed.block.threshold(),
        slow: sums.slow,
        estimate: is_hot.then(|| sums.times.count()),
        times: sums.times,
        wall: sums.wall,
        cpu: sums.cpu,
        recursive: sums.recursive,
        lost: sums.lost,
        moved: sums.moved,
        every: 1 << timed.totals.bits(),
        running: ages.clone().count() as u64,
        longest_running: ages.max().unwrap_or(0),
        slowest: timed.slowest.calls().to_vec(),
        spans: timed.spans.waiting(),
        requests: timed.spans.requests(),
        spans_lost: timed.spans.lost(),
    }
}

/// The share of all calls from which on calls are slow, in nanoseconds, once there are enough to tell.
pub(super) fn threshold(method: &SlowMethod, share: u32) -> Option<u64> {
    const ENOUGH: u64 = 100;
    let share = f64::from(share) / 100_000.0;
    // A call that is as long as the others is not slow.
    (method.calls() >= ENOUGH).then(|| method.times.quantile(share) + 1)
}

/// The names and moments of a table's rows as text, which rows refer to.
pub(super) struct Texts {
    name: String,
    threshold: String,
    began: Vec<String>,
}

impl Texts {
    pub(super) fn of(method: &SlowMethod, has_overloads: bool) -> Self {
        let name = match has_overloads {
            true => format!("{}{}", method.full_name(), method.descriptor),
            false => method.full_name(),
        };
        let began = |call: &hprof_stacks::slow::SlowCall| LocalTime::of_nanos(call.began).precise();
        Self {
            name,
            threshold: match (method.asked, method.threshold) {
                (Threshold::Share(share), None) => format!("p{}", f64::from(share) / 1000.0),
                (Threshold::Share(share), Some(nanos)) => {
                    format!("p{}={:.3}", f64::from(share) / 1000.0, nanos as f64 / 1e6)
                }
                (_, Some(nanos)) => format!("{:.3}", nanos as f64 / 1e6),
                (_, None) => "-".to_owned(),
            },
            began: method.slowest.iter().map(began).collect(),
        }
    }

    pub(super) fn row<'a>(&'a self, method: &'a SlowMethod) -> SlowRow<'a> {
        let slowest = method.slowest.iter().zip(&self.began);
        SlowRow {
            method: &self.name,
            calls: method.calls(),
            recursive: method.recursive,
            quantiles: [0.5, 0.9, 0.99, 0.999].map(|share| method.quantile(share)),
            max: method.max(),
            wall: method.wall,
            cpu: method.cpu,
            threshold: &self.threshold,
            slow: method.slow,
            slowest: slowest
                .map(|(call, began)| SlowCallRow {
                    wall: call.wall,
                    cpu: call.cpu,
                    began,
                    thread: &call.thread,
                })
                .collect(),
        }
    }
}

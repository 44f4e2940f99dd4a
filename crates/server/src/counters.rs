//! Counters for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;

/// Answers by the first digit of their status.
#[derive(Debug, Default)]
pub struct Counters([AtomicU64; 5]);

impl Counters {
    /// Counts an answer.
    pub fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100);
        if let Some(counter) = class.checked_sub(1).and_then(|at| self.0.get(at)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The answers of each class: `1xx` to `5xx`.
    pub fn classes(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let numbers = self.0.iter().map(|it| it.load(Ordering::Relaxed));
        numbers.enumerate().map(|(at, number)| (at + 1, number))
    }
}

//! When slow calls ran, for the samples that were taken meanwhile.

use hprof_stacks::slow::SlowSpan;

/// The most slow calls of a method that wait for a dump.
const MOST: usize = 20_000;

/// Slow calls that no dump has yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    waiting: Vec<SlowSpan>,
    /// How many of them the dump that is under way has.
    dumped: usize,
    lost: u64,
}

impl Spans {
    pub(super) fn add(&mut self, span: SlowSpan) {
        match self.waiting.len() < MOST {
            true => self.waiting.push(span),
            false => self.lost += 1,
        }
    }

    pub(super) fn count_lost(&mut self) {
        self.lost += 1;
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the calls that no dump has yet; [`Self::written`] removes them.
    pub(super) fn waiting(&self) -> &[SlowSpan] {
        &self.waiting
    }

    /// Notes that the dump under way has all waiting calls.
    pub(super) fn dump(&mut self) {
        self.dumped = self.waiting.len();
    }

    /// The output has got the dump.
    pub(super) fn written(&mut self) {
        self.waiting.drain(..self.dumped.min(self.waiting.len()));
        self.dumped = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_wait_until_they_are_written() {
        let mut spans = Spans::default();
        for at in 0..MOST as i64 + 3 {
            spans.add(SlowSpan(at, 1, 1));
        }
        assert_eq!((spans.waiting().len(), spans.lost()), (MOST, 3));
        spans.dump();
        spans.written();
        spans.add(SlowSpan(7, 1, 1));
        spans.written();
        assert_eq!(spans.waiting(), [SlowSpan(7, 1, 1)]);
    }
}

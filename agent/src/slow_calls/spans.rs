//! When slow calls ran, for the samples that were taken meanwhile.

use hprof_stacks::slow::{SlowRequest, SlowSpan};

use super::memory::TraceContext;

/// The most slow calls of a method that wait for a dump.
const MOST: usize = 20_000;

/// Slow calls that no dump has yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    waiting: Vec<(SlowSpan, Option<TraceContext>)>,
    /// How many of them the dump that is under way has.
    dumped: usize,
    lost: u64,
}

impl Spans {
    pub(super) fn add(&mut self, span: SlowSpan, request: Option<TraceContext>) {
        match self.waiting.len() < MOST {
            true => self.waiting.push((span, request)),
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
    pub(super) fn waiting(&self) -> Vec<SlowSpan> {
        self.waiting.iter().map(|it| it.0).collect()
    }

    /// Returns those of [`Self::waiting`] that worked for a request.
    pub(super) fn requests(&self) -> Vec<SlowRequest> {
        let requests = self.waiting.iter().filter_map(|&(span, request)| {
            let (trace, of_span) = request?.ids();
            Some(SlowRequest(span, trace, of_span))
        });
        requests.collect()
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
            spans.add(SlowSpan(at, 1, 1), None);
        }
        assert_eq!((spans.waiting().len(), spans.lost()), (MOST, 3));
        spans.dump();
        spans.written();
        spans.add(SlowSpan(7, 1, 1), None);
        spans.written();
        assert_eq!(spans.waiting(), [SlowSpan(7, 1, 1)]);
    }
}

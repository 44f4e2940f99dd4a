//! When slow calls and those of a request ran, to look samples up in.

use std::collections::BTreeMap;

use hprof_format::ids::ThreadSerial;

use crate::slow::SlowMethod;
use crate::timeline::Window;

/// Which calls of timed methods samples are to be taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallsPart {
    /// Slow ones.
    Slow,
    /// All others.
    Fast,
    /// Calls that worked for one request, as far as the profile knows them: the slowest, and slow ones.
    Request,
}

/// The slow calls of a profile, to look samples up in.
#[derive(Debug, Clone, Default)]
pub struct SlowSpans {
    /// By thread, in the order of time; no two touch.
    threads: BTreeMap<ThreadSerial, Vec<Window>>,
}

impl SlowSpans {
    /// The slow calls of these methods.
    pub fn of<'a>(methods: impl IntoIterator<Item = &'a SlowMethod>) -> Self {
        let spans = methods.into_iter().flat_map(|it| &it.spans);
        Self::new(spans.map(|span| (span.thread(), span.window())))
    }

    /// The calls that worked for a request, given by the id of its trace or span. Those without a thread are left out.
    pub fn of_request<'a>(
        methods: impl IntoIterator<Item = &'a SlowMethod> + Clone,
        id: &str,
    ) -> Self {
        let slowest = methods.clone().into_iter().flat_map(|it| &it.slowest);
        let slowest = slowest.filter(|call| call.is_of(id));
        let slow = methods.into_iter().flat_map(|it| &it.requests);
        let slow = slow.filter(|call| call.is_of(id)).map(|call| call.0);
        Self::new(
            slowest
                .filter_map(|call| Some((call.thread_serial()?, call.window())))
                .chain(slow.map(|span| (span.thread(), span.window()))),
        )
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    fn new(calls: impl IntoIterator<Item = (ThreadSerial, Window)>) -> Self {
        let mut threads: BTreeMap<ThreadSerial, Vec<Window>> = BTreeMap::new();
        for (thread, window) in calls {
            threads.entry(thread).or_default().push(window);
        }
        for windows in threads.values_mut() {
            windows.sort_unstable_by_key(|it| it.from);
            // A slow call may be within another one.
            windows.dedup_by(|next, kept| {
                let touches = next.from <= kept.to;
                if touches {
                    kept.to = kept.to.max(next.to);
                }
                touches
            });
        }
        Self { threads }
    }

    /// Returns whether a thread was in a slow call at a moment, in nanoseconds since 1970-01-01 UTC.
    pub fn contain(&self, thread: ThreadSerial, at: i64) -> bool {
        let windows = self.threads.get(&thread).map_or(&[][..], Vec::as_slice);
        let after = windows.partition_point(|it| it.from <= at);
        let last = after.checked_sub(1).and_then(|last| windows.get(last));
        last.is_some_and(|it| it.contains(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow::{SlowCall, SlowRequest, SlowSpan};

    #[test]
    fn calls_of_a_request_are_the_slowest_and_slow_ones() {
        let span = SlowSpan(3, 4, 200_001);
        let methods = [
            SlowMethod {
                slowest: vec![SlowCall {
                    began: 1,
                    wall: 5,
                    serial: Some(200_001),
                    trace_id: Some("4bf9".into()),
                    ..SlowCall::default()
                }],
                ..SlowMethod::default()
            },
            SlowMethod {
                requests: vec![SlowRequest(span, "4bf9".into(), "00f0".into())],
                ..SlowMethod::default()
            },
        ];
        for (id, micros, expected) in [
            ("4BF9", 0, true),
            ("4bf9", 3, true),
            ("00f0", 3, true),
            ("00f0", 0, false),
            ("00f1", 3, false),
        ] {
            let spans = SlowSpans::of_request(&methods, id);
            let is_in = spans.contain(ThreadSerial::new(200_001), micros * 1000 + 3);
            assert_eq!(is_in, expected, "{id} {micros}");
        }
    }

    #[test]
    fn samples_are_in_calls_of_their_thread() {
        let method = SlowMethod {
            spans: vec![
                SlowSpan(100, 50, 1),
                SlowSpan(120, 90, 1),
                SlowSpan(500, 10, 1),
                SlowSpan(300, 10, 2),
            ],
            ..SlowMethod::default()
        };
        let spans = SlowSpans::of([&method]);
        for (thread, micros, expected) in [
            (1, 99, false),
            (1, 100, true),
            (1, 180, true),
            (1, 212, false),
            (1, 505, true),
            (1, 305, false),
            (2, 305, true),
            (3, 305, false),
        ] {
            let is_in = spans.contain(ThreadSerial::new(thread), micros * 1000);
            assert_eq!(is_in, expected, "{thread} {micros}");
        }
    }
}

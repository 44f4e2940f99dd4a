//! The requests that threads worked for, by the timed calls of a profile.

use std::collections::BTreeMap;

use hprof_format::ids::ThreadSerial;

use crate::slow::SlowMethod;
use crate::timeline::Window;

/// Calls that are looked at for a moment, from the last one that began before it on: those around it may have many within.
const MOST_WITHIN: usize = 64;

/// The ids of a request, as OpenTelemetry has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestIds {
    /// That of the trace.
    pub trace: [u8; 16],
    /// That of the span.
    pub span: [u8; 8],
}

impl RequestIds {
    /// Ids of 32 and 16 hexadecimal digits; `None` if they are others.
    pub fn parse(trace: &str, span: &str) -> Option<Self> {
        let is_hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if trace.len() != 32 || span.len() != 16 || !is_hexadecimal(trace) || !is_hexadecimal(span)
        {
            return None;
        }
        Some(Self {
            trace: u128::from_str_radix(trace, 16).ok()?.to_be_bytes(),
            span: u64::from_str_radix(span, 16).ok()?.to_be_bytes(),
        })
    }
}

/// The calls of requests, by thread.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    threads: BTreeMap<ThreadSerial, Vec<(Window, RequestIds)>>,
}

impl Requests {
    /// The calls of these methods whose thread and request are known.
    pub fn of(methods: &[SlowMethod]) -> Self {
        let mut all = Self::default();
        for method in methods {
            for call in &method.slowest {
                let ids = call.trace_id.as_deref().zip(call.span_id.as_deref());
                if let Some((trace, span)) = ids {
                    all.add(call.thread_serial(), call.window(), trace, span);
                }
            }
            for call in &method.requests {
                all.add(Some(call.0.thread()), call.0.window(), &call.1, &call.2);
            }
        }
        for calls in all.threads.values_mut() {
            calls.sort_unstable_by_key(|(window, ids)| (window.from, window.to, *ids));
        }
        all
    }

    fn add(&mut self, thread: Option<ThreadSerial>, window: Window, trace: &str, span: &str) {
        if let Some(thread) = thread
            && let Some(ids) = RequestIds::parse(trace, span)
        {
            self.threads.entry(thread).or_default().push((window, ids));
        }
    }

    /// The request that a thread worked for at a moment, in nanoseconds since 1970-01-01 UTC: that of the innermost call.
    pub fn at(&self, thread: ThreadSerial, at: i64) -> Option<RequestIds> {
        let calls = self.threads.get(&thread)?;
        let after = calls.partition_point(|(window, _)| window.from <= at);
        let before = calls.get(..after)?.iter().rev().take(MOST_WITHIN);
        let mut around = before.filter(|(window, _)| window.contains(at));
        around.next().map(|(_, ids)| *ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow::{SlowCall, SlowRequest, SlowSpan};

    #[test]
    fn a_moment_has_the_request_of_the_innermost_call() {
        let id = |number: u8| format!("{number:032x}");
        let span = "00000000000000aa";
        let outer = SlowMethod {
            slowest: vec![SlowCall {
                began: 100_000,
                wall: 900_000,
                serial: Some(1),
                trace_id: Some(id(1)),
                span_id: Some(span.to_owned()),
                ..SlowCall::default()
            }],
            ..SlowMethod::default()
        };
        let inner = SlowMethod {
            requests: vec![
                SlowRequest(SlowSpan(200, 100, 1), id(2), span.to_owned()),
                SlowRequest(SlowSpan(400, 100, 2), id(3), span.to_owned()),
                SlowRequest(SlowSpan(500, 100, 1), "no id".to_owned(), span.to_owned()),
            ],
            ..SlowMethod::default()
        };
        let requests = Requests::of(&[outer, inner]);
        for (thread, micros, expected) in [
            (1, 99, None),
            (1, 150, Some(1)),
            (1, 250, Some(2)),
            (1, 550, Some(1)),
            (1, 1100, None),
            (2, 250, None),
            (2, 450, Some(3)),
        ] {
            let found = requests.at(ThreadSerial::new(thread), micros * 1000);
            let found = found.map(|ids| (ids.trace[15], ids.span[7]));
            assert_eq!(found, expected.map(|it| (it, 0xaa)), "{thread} {micros}");
        }
    }
}

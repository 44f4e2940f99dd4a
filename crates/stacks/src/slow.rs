//! Timed calls of chosen methods, as the agent's `slow=` counts them, and the text by which they travel.
//!
//! Neither format of HPROF has a place for them, so they are texts that other readers pass over, as
//! [`events`](crate::events) are: a line of JSON for each method, and one for the patterns.

use std::collections::BTreeMap;

use hprof_format::ids::ThreadSerial;
use serde::{Deserialize, Serialize};

use crate::timeline::Window;

const METHOD: &str = "hprof-rs slow: ";
const PATTERNS: &str = "hprof-rs slow patterns: ";

/// Logarithm of the counters for each power of two: a counter covers less than a thousandth of its time.
pub const PRECISION: u32 = 10;
/// Logarithm of the nanoseconds that have a counter of their own, 73 minutes. Longer calls are in the last counter.
pub const LONGEST: u32 = 42;
/// The number of counters.
pub const COUNTERS: usize = ((LONGEST - PRECISION + 1) as usize) << PRECISION;

/// How often calls took how long: a log-linear histogram, as HdrHistogram's with three digits.
///
/// Below 2,048 ns each nanosecond has a counter; then each power of two has 1,024, all of one width.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    /// Counters that are not zero, by number, ascending.
    counters: Vec<(u32, u64)>,
}

impl Histogram {
    /// A histogram of counters by number, ascending; zeros are left out.
    pub fn new(counters: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let counters = counters.into_iter().filter(|(_, count)| *count > 0);
        Self {
            counters: counters.collect(),
        }
    }

    /// The number of the counter of a time in nanoseconds.
    pub fn counter(nanos: u64) -> u32 {
        let bits = 64 - nanos.leading_zeros();
        if bits <= PRECISION + 1 {
            return u32::try_from(nanos).unwrap_or(0);
        }
        if bits > LONGEST {
            return COUNTERS as u32 - 1;
        }
        let shift = bits - PRECISION - 1;
        (shift << PRECISION) + (nanos >> shift) as u32
    }

    /// The longest time that a counter counts.
    pub fn longest(counter: u32) -> u64 {
        let counter = counter.min(COUNTERS as u32 - 1);
        let shift = (counter >> PRECISION).saturating_sub(1);
        let part = u64::from(counter) - (u64::from(shift) << PRECISION);
        ((part + 1) << shift) - 1
    }

    /// The calls.
    pub fn count(&self) -> u64 {
        let counts = self.counters.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }

    /// The shortest time that at least a share of the calls took no longer than, 0 for no calls. It is right to a thousandth.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0u64;
        let found = self.counters.iter().find(|(_, count)| {
            seen = seen.saturating_add(*count);
            seen >= wanted
        });
        found.map_or(0, |(counter, _)| Self::longest(*counter))
    }

    /// The calls that are not among those of an earlier moment.
    #[must_use]
    pub fn minus(&self, earlier: &Self) -> Self {
        let counters = self.counters.iter().map(|&(counter, count)| {
            let at = earlier.counters.binary_search_by_key(&counter, |it| it.0);
            let before = at.ok().and_then(|at| earlier.counters.get(at));
            (counter, count.saturating_sub(before.map_or(0, |it| it.1)))
        });
        Self::new(counters)
    }

    /// The calls of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut sums: BTreeMap<u32, u64> = self.counters.iter().copied().collect();
        for &(counter, count) in &other.counters {
            let sum = sums.entry(counter).or_default();
            *sum = sum.saturating_add(count);
        }
        Self::new(sums)
    }

    /// Each call as many times.
    #[must_use]
    pub fn scaled(&self, by: u64) -> Self {
        let counters = self.counters.iter();
        Self::new(counters.map(|&(counter, count)| (counter, count.saturating_mul(by))))
    }

    /// The counters that are not zero: the longest time that each counts, and the calls.
    pub fn counters(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counters = self.counters.iter();
        counters.map(|&(counter, count)| (Self::longest(counter), count))
    }
}

/// Which calls count as slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// None.
    #[default]
    None,
    /// Those that take as many nanoseconds or more.
    Nanos(u64),
    /// Those above this share of the calls so far, in thousandths of a percent: 99,000 is p99.
    Share(u32),
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SlowCall {
    /// When it began, in nanoseconds since 1970-01-01 UTC.
    pub began: i64,
    /// Its time, in nanoseconds.
    pub wall: u64,
    /// The CPU time of its thread meanwhile, in nanoseconds.
    pub cpu: u64,
    /// The name of the thread.
    pub thread: String,
    /// Its number in the profile, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<u32>,
    /// It is a virtual thread.
    pub is_virtual: bool,
    /// The trace of the request that the thread worked for, if the program names it: 32 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The span of that trace: 16 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// When collections stopped the program meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<SlowPause>,
    /// Who had the locks that the thread waited for, as seen at moments of long waits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<LockOwner>,
}

/// A part of a call in which a collection stopped the program: nanoseconds since the call began, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowPause(pub u64, pub u64);

/// The owner of a lock that a call waited for, at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LockOwner {
    /// The first moment at which it was seen, in nanoseconds since the call began.
    pub at: u64,
    /// At how many moments one after another it was seen, 50 ms or more apart.
    pub seen: u64,
    /// The class of the lock.
    pub lock: String,
    /// The name of the thread that had it.
    pub thread: String,
    /// The innermost frame of the program in that thread, as `acme.Store.save:42`; empty if none is known.
    pub place: String,
}

impl SlowCall {
    /// Returns whether it worked for a request, given by the id of the trace or of the span in hexadecimal digits.
    pub fn is_of(&self, request: &str) -> bool {
        let mut ids = [&self.trace_id, &self.span_id].into_iter().flatten();
        ids.any(|id| id.eq_ignore_ascii_case(request))
    }

    /// Its time.
    pub fn window(&self) -> Window {
        Window {
            from: self.began,
            to: self.began.saturating_add_unsigned(self.wall.max(1)),
        }
    }

    /// The number of its thread in the profile.
    pub fn thread_serial(&self) -> Option<ThreadSerial> {
        self.serial.map(ThreadSerial::new)
    }
}

/// The calls of a method.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SlowMethod {
    /// Its class, as Java source has it.
    pub class: String,
    /// Its name.
    pub name: String,
    /// Its descriptor, as class files have it.
    pub descriptor: String,
    /// Which calls are slow, as it was asked for.
    pub asked: Threshold,
    /// The nanoseconds from which on calls are slow now, if they can be.
    pub threshold: Option<u64>,
    /// Calls that took as long, the sum of all times above the threshold of their moment.
    pub slow: u64,
    /// How often calls took how long. Those within a call of the same method in the same thread are not among them.
    pub times: Histogram,
    /// The nanoseconds of them all.
    pub wall: u64,
    /// The CPU nanoseconds of their threads meanwhile.
    pub cpu: u64,
    /// Calls within a call of the same method in the same thread.
    pub recursive: u64,
    /// Calls that were not timed, as threads or methods found no room.
    pub lost: u64,
    /// Spans that ended in another thread than they began in, which have no CPU time.
    pub moved: u64,
    /// One call in this many was timed since the method became too hot; 1 for all.
    pub every: u64,
    /// An estimate of all calls, where not all were timed.
    pub estimate: Option<u64>,
    /// Calls that have not ended.
    pub running: u64,
    /// The nanoseconds of the longest of them.
    pub longest_running: u64,
    /// The slowest calls that have ended, the slowest first.
    pub slowest: Vec<SlowCall>,
    /// When slow calls ran, those that no line before has.
    pub spans: Vec<SlowSpan>,
    /// Slow calls that are not among those, as there were too many.
    pub spans_lost: u64,
    /// The calls in `spans` that worked for a request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<SlowRequest>,
}

/// A slow call of a request: when it ran, the id of the trace in 32 hexadecimal digits, and that of the span in 16.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowRequest(pub SlowSpan, pub String, pub String);

impl SlowRequest {
    /// Returns whether it worked for a request, given by the id of the trace or of the span in hexadecimal digits.
    pub fn is_of(&self, request: &str) -> bool {
        [&self.1, &self.2]
            .iter()
            .any(|id| id.eq_ignore_ascii_case(request))
    }
}

/// When a slow call ran: microseconds since 1970-01-01 UTC, its time in microseconds, and the number of its thread in the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowSpan(pub i64, pub u64, pub u32);

impl SlowSpan {
    /// The time of the call.
    pub fn window(self) -> Window {
        let from = self.0.saturating_mul(1000);
        let nanos = self.1.saturating_add(1).saturating_mul(1000);
        Window {
            from,
            to: from.saturating_add_unsigned(nanos),
        }
    }

    /// The thread that called.
    pub fn thread(self) -> ThreadSerial {
        ThreadSerial::new(self.2)
    }
}

impl SlowMethod {
    /// Class and method.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.class, self.name)
    }

    /// The calls that were timed.
    pub fn calls(&self) -> u64 {
        self.times.count()
    }

    /// The time of the slowest call, in nanoseconds.
    pub fn max(&self) -> u64 {
        self.slowest.first().map_or(0, |call| call.wall)
    }

    /// The time that a share of the calls took at most, in nanoseconds.
    pub fn quantile(&self, share: f64) -> u64 {
        let found = self.times.quantile(share);
        match self.max() {
            0 => found,
            max => found.min(max),
        }
    }

    /// Its line in a profile.
    pub fn text(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{METHOD}{json}")
    }

    /// Reads such a line; `None` if it is another, or damaged.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text.strip_prefix(METHOD)?).ok()
    }
}

/// A pattern of `slow=`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SlowPattern {
    /// As it was given.
    pub pattern: String,
    /// The methods that it matched.
    pub methods: u64,
    /// Why there are none, and what to do, if so.
    pub why: Option<String>,
}

/// All that a profile says of timed calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slow {
    /// The methods, in the order of the file.
    pub methods: Vec<SlowMethod>,
    /// The patterns.
    pub patterns: Vec<SlowPattern>,
}

impl Slow {
    /// The line of the patterns in a profile.
    pub fn patterns_text(patterns: &[SlowPattern]) -> String {
        let json = serde_json::to_string(patterns).unwrap_or_default();
        format!("{PATTERNS}{json}")
    }

    /// Returns true if calls were timed, or wanted.
    pub fn is_there(&self) -> bool {
        !self.patterns.is_empty() || !self.methods.is_empty()
    }

    /// Returns whether a text is one of these lines, or the start of one.
    pub fn is_one(text: &[u8]) -> bool {
        text.starts_with(METHOD.as_bytes()) || text.starts_with(PATTERNS.as_bytes())
    }

    /// Takes in a line of a profile. A later one of a method has all that the one before had. Returns false if it is another
    /// line.
    pub fn take(&mut self, text: &str) -> bool {
        if let Some(json) = text.strip_prefix(PATTERNS) {
            if let Ok(patterns) = serde_json::from_str(json) {
                self.patterns = patterns;
            }
            return true;
        }
        let Some(method) = SlowMethod::parse(text) else {
            return text.starts_with(METHOD);
        };
        let key = |it: &SlowMethod| (it.class.clone(), it.name.clone(), it.descriptor.clone());
        let known = self.methods.iter_mut().find(|it| key(it) == key(&method));
        match known {
            Some(known) => {
                let mut spans = std::mem::take(&mut known.spans);
                spans.extend_from_slice(&method.spans);
                let mut requests = std::mem::take(&mut known.requests);
                requests.extend_from_slice(&method.requests);
                *known = SlowMethod {
                    spans,
                    requests,
                    ..method
                };
            }
            None => self.methods.push(method),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_counter_covers_a_thousandth(nanos in 0u64..1 << LONGEST) {
            let counter = Histogram::counter(nanos);
            prop_assert!((counter as usize) < COUNTERS);
            let longest = Histogram::longest(counter);
            prop_assert!(longest >= nanos && longest - nanos <= nanos >> PRECISION);
            prop_assert_eq!(Histogram::counter(longest), counter);
            prop_assert!(Histogram::counter(longest + 1) == counter + 1 || longest + 1 == 1 << LONGEST);
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_times(mut times in prop::collection::vec(0u64..1 << 36, 1..200)) {
            let mut counts = std::collections::BTreeMap::new();
            for &time in &times {
                *counts.entry(Histogram::counter(time)).or_insert(0u64) += 1;
            }
            let histogram = Histogram::new(counts);
            times.sort_unstable();
            for share in [0.5, 0.9, 0.99, 0.999, 1.0] {
                let rank = (times.len() as f64 * share).ceil() as usize;
                let exact = times[rank - 1];
                let found = histogram.quantile(share);
                prop_assert!(found >= exact && found - exact <= exact >> PRECISION, "{} {}", found, exact);
            }
        }
    }

    fn method(calls: u64) -> SlowMethod {
        SlowMethod {
            class: "com.acme.Api".into(),
            name: "handle".into(),
            descriptor: "(I)V".into(),
            times: Histogram::new([(5, calls), (6, 0)]),
            slowest: vec![SlowCall {
                began: 1,
                wall: 5,
                cpu: 4,
                thread: "http \"1\"\n".into(),
                serial: Some(200_001),
                ..SlowCall::default()
            }],
            spans: vec![SlowSpan(3, 4, 200_001)],
            requests: vec![SlowRequest(
                SlowSpan(3, 4, 200_001),
                "4bf9".into(),
                "00f0".into(),
            )],
            ..SlowMethod::default()
        }
    }

    #[test]
    fn lines_come_back_and_later_ones_count() {
        let mut slow = Slow::default();
        assert!(!slow.take("hprof-rs: run_ms=5"));
        for calls in [2, 7] {
            let text = method(calls).text();
            assert!(
                Slow::is_one(text.as_bytes()) && !text.contains('\n'),
                "{text}"
            );
            assert!(slow.take(&text));
        }
        let pattern = SlowPattern {
            pattern: "a.B.*".into(),
            methods: 0,
            why: Some("none".into()),
        };
        assert!(slow.take(&Slow::patterns_text(std::slice::from_ref(&pattern))));
        assert!(slow.take("hprof-rs slow: {damaged"));
        let span = SlowSpan(3, 4, 200_001);
        assert_eq!(slow.methods[0].spans, [span, span]);
        assert_eq!(slow.methods[0].requests.len(), 2);
        slow.methods[0].spans.truncate(1);
        slow.methods[0].requests.truncate(1);
        assert_eq!(slow.methods, [method(7)]);
        assert_eq!(slow.patterns, [pattern]);
        assert_eq!(slow.methods[0].calls(), 7);
        assert_eq!(slow.methods[0].quantile(0.999), 5);
    }
}

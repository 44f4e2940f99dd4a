//! The relation of slow calls: a row for each timed method, with its slowest calls. Commands, pages, server and assistants show
//! these rows.

use serde::Serialize;

use crate::call_strips::{CallStrips, NoStrips, Strip};
use crate::slow::{LockOwner, Slow, SlowCall, SlowMethod, SlowPattern, SlowPause, Threshold};

/// How much of the slow calls a table has.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Methods.
    pub methods: usize,
    /// Calls of each method.
    pub calls: usize,
    /// Parts of each strip.
    pub parts: usize,
}

impl Most {
    /// What pages show.
    pub const OF_PAGES: Self = Self {
        methods: 50,
        calls: 10,
        parts: 400,
    };
}

/// Timed methods with their slowest calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowTable {
    /// The patterns of `slow=`.
    pub patterns: Vec<SlowPattern>,
    /// A row for each method.
    pub methods: Vec<SlowRow>,
    /// The reason why calls have no strips.
    pub no_strips: Option<&'static str>,
    /// Samples are of all states, and not of running threads only.
    pub is_wall: bool,
    /// Methods that are not among the rows.
    pub methods_left_out: usize,
}

/// From which time on calls were asked for as slow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Nanoseconds.
    Nanos(u64),
    /// A percentile of the calls so far.
    Percentile(f64),
}

/// The calls of a method. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowRow {
    /// Its class, as Java source has it.
    pub class: String,
    /// Its name.
    pub name: String,
    /// Its descriptor, as class files have it.
    pub descriptor: String,
    /// The calls that were timed.
    pub calls: u64,
    /// Calls within a call of the same method in the same thread.
    pub recursive_calls: u64,
    /// Calls for which there was no room.
    pub calls_not_timed: u64,
    /// One call in this many was timed.
    pub timed_one_in: u64,
    /// Figures are estimates, as not all calls were timed.
    pub is_estimate: bool,
    /// Spans that ended in another thread than they began in, whose CPU time is not known.
    pub spans_ended_elsewhere: u64,
    /// Calls that have not ended.
    pub running_calls: u64,
    /// The time of the longest of them so far.
    pub longest_running_ns: u64,
    /// The time that half of the calls took at most.
    pub p50_ns: u64,
    /// The time that 90 % of the calls took at most.
    pub p90_ns: u64,
    /// The time that 99 % of the calls took at most.
    pub p99_ns: u64,
    /// The time that 99.9 % of the calls took at most.
    pub p99_9_ns: u64,
    /// The time of the slowest call.
    pub max_ns: u64,
    /// The sum of all calls.
    pub wall_ns: u64,
    /// The CPU time of their threads meanwhile.
    pub cpu_ns: u64,
    /// The threshold that was asked for.
    pub threshold: Option<Asked>,
    /// The time from which on calls are slow.
    pub threshold_ns: Option<u64>,
    /// The slow calls.
    pub slow_calls: u64,
    /// The slowest calls, the slowest first.
    pub slowest: Vec<CallRow>,
}

/// A call. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRow {
    /// When it began, since 1970-01-01 UTC.
    pub began_ns: i64,
    /// Its time.
    pub wall_ns: u64,
    /// The CPU time of its thread meanwhile.
    pub cpu_ns: u64,
    /// The name of its thread.
    pub thread: String,
    /// The number of its thread in the profile.
    pub thread_serial: Option<u32>,
    /// It was in a virtual thread.
    pub is_virtual: bool,
    /// The trace of the request that its thread worked for, if the program names it: 32 hexadecimal digits.
    pub trace_id: Option<String>,
    /// The span of that trace: 16 hexadecimal digits.
    pub span_id: Option<String>,
    /// When collections stopped the program meanwhile: nanoseconds since the call began, and how many.
    pub pauses: Vec<SlowPause>,
    /// Who had the locks that it waited for.
    pub owners: Vec<LockOwner>,
    /// Sentences on these.
    pub remarks: Vec<String>,
    /// What it did.
    pub strip: Option<Strip>,
}

impl SlowTable {
    /// The table of a profile; `None` if no calls were timed.
    pub fn of(slow: &Slow, strips: &Result<CallStrips<'_>, NoStrips>, most: Most) -> Option<Self> {
        slow.is_there().then(|| Self {
            patterns: slow.patterns.clone(),
            methods: (slow.methods.iter().take(most.methods))
                .map(|method| SlowRow::of(method, strips.as_ref().ok(), most))
                .collect(),
            no_strips: strips.as_ref().err().map(|why| why.words()),
            is_wall: strips.as_ref().is_ok_and(CallStrips::is_wall),
            methods_left_out: slow.methods.len().saturating_sub(most.methods),
        })
    }
}

impl SlowRow {
    /// The row of a method.
    pub fn of(method: &SlowMethod, strips: Option<&CallStrips<'_>>, most: Most) -> Self {
        let calls = method.slowest.iter().take(most.calls);
        Self {
            class: method.class.clone(),
            name: method.name.clone(),
            descriptor: method.descriptor.clone(),
            calls: method.calls(),
            recursive_calls: method.recursive,
            calls_not_timed: method.lost,
            timed_one_in: method.every.max(1),
            is_estimate: method.every > 1,
            spans_ended_elsewhere: method.moved,
            running_calls: method.running,
            longest_running_ns: method.longest_running,
            p50_ns: method.quantile(0.5),
            p90_ns: method.quantile(0.9),
            p99_ns: method.quantile(0.99),
            p99_9_ns: method.quantile(0.999),
            max_ns: method.max(),
            wall_ns: method.wall,
            cpu_ns: method.cpu,
            threshold: match method.asked {
                Threshold::None => None,
                Threshold::Nanos(nanos) => Some(Asked::Nanos(nanos)),
                Threshold::Share(share) => Some(Asked::Percentile(f64::from(share) / 1000.0)),
            },
            threshold_ns: method.threshold,
            slow_calls: method.slow,
            slowest: calls.map(|call| CallRow::of(call, strips, most)).collect(),
        }
    }
}

impl CallRow {
    fn of(call: &SlowCall, strips: Option<&CallStrips<'_>>, most: Most) -> Self {
        let strip = strips.and_then(|strips| strips.strip(call));
        Self {
            began_ns: call.began,
            wall_ns: call.wall,
            cpu_ns: call.cpu,
            thread: call.thread.clone(),
            thread_serial: call.serial,
            is_virtual: call.is_virtual,
            trace_id: call.trace_id.clone(),
            span_id: call.span_id.clone(),
            pauses: call.pauses.clone(),
            owners: call.owners.clone(),
            remarks: call.remarks(),
            strip: strip.map(|strip| strip.within(most.parts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow::Histogram;

    #[test]
    fn a_row_has_the_figures_of_its_method() {
        let call = |wall: u64| SlowCall {
            began: 5,
            wall,
            cpu: 1,
            thread: "one".to_owned(),
            ..SlowCall::default()
        };
        let slow = Slow {
            methods: vec![
                SlowMethod {
                    class: "acme.Api".to_owned(),
                    name: "handle".to_owned(),
                    asked: Threshold::Share(99_000),
                    times: Histogram::new([(100, 99), (900, 1)]),
                    slowest: vec![call(900), call(100), call(90)],
                    ..SlowMethod::default()
                };
                2
            ],
            ..Slow::default()
        };
        let most = Most {
            methods: 1,
            calls: 2,
            parts: 10,
        };
        let table = SlowTable::of(&slow, &Err(NoStrips::NoTimes), most).unwrap();
        assert_eq!((table.methods.len(), table.methods_left_out), (1, 1));
        let row = &table.methods[0];
        assert_eq!((row.calls, row.p50_ns, row.max_ns), (100, 100, 900));
        assert_eq!(row.threshold, Some(Asked::Percentile(99.0)));
        assert_eq!(row.slowest.len(), 2);
        assert!(table.no_strips.unwrap().contains("cpu=wall"));
        assert_eq!(
            SlowTable::of(&Slow::default(), &Err(NoStrips::NoTimes), most),
            None
        );
    }
}

//! Monitors of a text profile: who holds which at one time, and calls of `Object.wait`.

use std::cmp::Reverse;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{MonitorThread, ThreadState, ThreadStatus};
use hprof_format::text::{TextMonitorDump, TextWait};
use rustc_hash::FxHashMap;
use serde::Serialize;

use hprof_java_names::source_form;

/// All threads and the monitors in use, at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorDump {
    /// The threads with their places and states.
    pub threads: Vec<MonitorThread>,
    /// The monitors that are held or waited for.
    pub monitors: Vec<MonitorInUse>,
}

/// A monitor that a thread holds or waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorInUse {
    /// The signature of the object's class, as the file has it.
    pub signature: Box<str>,
    /// The thread that holds it, and how often that entered it.
    pub owner: Option<(ThreadSerial, u32)>,
    /// The threads that wait to enter.
    pub entering: Vec<ThreadSerial>,
    /// The threads that wait to be notified.
    pub waiting: Vec<ThreadSerial>,
}

impl MonitorDump {
    /// A dump of a text file.
    pub(super) fn of(dump: TextMonitorDump<'_>) -> Self {
        let unknown = ThreadStatus {
            is_suspended: false,
            is_interrupted: false,
            is_native: false,
            state: ThreadState::Unknown,
        };
        let thread = |thread: &hprof_format::text::TextMonitorThread<'_>| MonitorThread {
            serial: thread.serial,
            trace: thread.trace,
            status: thread.status.parse().unwrap_or(unknown),
        };
        let monitor = |monitor: hprof_format::text::TextMonitor<'_>| MonitorInUse {
            signature: monitor.signature.into(),
            owner: monitor.owner,
            entering: monitor.entering,
            waiting: monitor.waiting,
        };
        Self {
            threads: dump.threads.iter().map(thread).collect(),
            monitors: dump.monitors.into_iter().map(monitor).collect(),
        }
    }

    /// The traces of its threads.
    pub fn traces(&self) -> impl Iterator<Item = TraceSerial> {
        self.threads.iter().map(|thread| thread.trace)
    }

    /// The number of threads that wait to enter a monitor.
    pub fn blocked(&self) -> usize {
        self.monitors
            .iter()
            .map(|monitor| monitor.entering.len())
            .sum()
    }
}

/// Calls of `Object.wait`, line by line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    classes: Vec<Box<str>>,
    index: FxHashMap<Box<str>, u32>,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    class: u32,
    thread: ThreadSerial,
    is_over: bool,
    millis: i64,
}

/// The calls of one class's `wait`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitsOf {
    /// The class of the monitor, as Java source has it.
    pub class: String,
    /// The calls that began.
    pub begun: u64,
    /// The calls that ended.
    pub ended: u64,
    /// The milliseconds of those that ended.
    pub millis: u64,
}

impl Waits {
    pub(super) fn push(&mut self, is_over: bool, wait: &TextWait<'_>) {
        let class = match self.index.get(&*wait.signature) {
            Some(&known) => known,
            None => {
                let next = self.classes.len() as u32;
                self.classes.push(wait.signature.as_ref().into());
                self.index.insert(wait.signature.as_ref().into(), next);
                next
            }
        };
        self.lines.push(Line {
            class,
            thread: wait.thread,
            is_over,
            millis: wait.millis,
        });
    }

    /// Returns true if no call is known.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Each line in the order of the file: if the call is over, the signature of the class, the limit or the time waited in
    /// milliseconds, the thread.
    pub fn lines(&self) -> impl Iterator<Item = (bool, &str, u64, ThreadSerial)> {
        self.lines.iter().map(|line| {
            let signature = &*self.classes[line.class as usize];
            (
                line.is_over,
                signature,
                line.millis.max(0).unsigned_abs(),
                line.thread,
            )
        })
    }

    /// Sums by class, the longest first.
    pub fn by_class(&self) -> Vec<WaitsOf> {
        let class = |signature: &str| {
            let name = signature
                .strip_prefix('L')
                .and_then(|name| name.strip_suffix(';'));
            source_form(name.unwrap_or(signature))
        };
        let mut sums: Vec<WaitsOf> = (self.classes.iter())
            .map(|signature| WaitsOf {
                class: class(signature),
                begun: 0,
                ended: 0,
                millis: 0,
            })
            .collect();
        for line in &self.lines {
            let sum = &mut sums[line.class as usize];
            match line.is_over {
                true => {
                    sum.ended += 1;
                    sum.millis = sum.millis.saturating_add(line.millis.max(0).unsigned_abs());
                }
                false => sum.begun += 1,
            }
        }
        sums.sort_by(|a, b| (Reverse(a.millis), &a.class).cmp(&(Reverse(b.millis), &b.class)));
        sums
    }
}

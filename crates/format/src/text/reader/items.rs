//! The items of a text profile.

use std::borrow::Cow;

use crate::ids::{ObjectId, ThreadSerial, TraceSerial};
use crate::model::{CpuKind, Line, LockKind, SiteOrder};

/// A piece of a text profile, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum TextItem<'a> {
    /// The first line: the creation time in the form of C's `ctime`.
    Created(&'a str),
    /// A remark, without the `# ` before it.
    Comment(&'a str),
    /// A thread started.
    ThreadStart(TextThread<'a>),
    /// A thread ended.
    ThreadEnd(ThreadSerial),
    /// A trace.
    Trace(TextTrace<'a>),
    /// `CPU SAMPLES` or `CPU TIME`.
    Cpu(TextCpuTable<'a>),
    /// A table of calls as of `cpu=old`, which says nothing of its total and time.
    OldCpu(TextTable<'a, TextOldCpuRow<'a>>),
    /// `SITES`.
    Sites(TextSiteTable<'a>),
    /// `HEAP DUMP`.
    HeapDump(TextHeapDump<'a>),
    /// `MONITOR TIME` or `NATIVE LOCKS`.
    MonitorTime(TextMonitorTable<'a>),
    /// `MONITOR DUMP`.
    MonitorDump(TextMonitorDump<'a>),
    /// CPU time of a trace that the last CPU table has no row for, as no call was counted there.
    Uncounted(TextUncounted),
    /// A thread began to wait.
    Wait(TextWait<'a>),
    /// A thread ended waiting.
    Waited(TextWait<'a>),
}

/// The rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TextTable<'a, R> {
    /// When the table was written, in the form of C's `ctime`; empty if it does not say.
    pub ctime: &'a str,
    /// The rows in the order of the file.
    pub rows: Vec<R>,
    /// The number of lines in the table that are no rows.
    pub bad_lines: usize,
    /// False if the file or the next section came before the end of the table.
    pub is_complete: bool,
}

/// A thread that started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextThread<'a> {
    /// The thread object.
    pub object: ObjectId,
    /// The thread.
    pub serial: ThreadSerial,
    /// Its name.
    pub name: Cow<'a, str>,
    /// The name of its group.
    pub group: Cow<'a, str>,
}

/// A trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTrace<'a> {
    /// Its number.
    pub serial: TraceSerial,
    /// The thread, if traces are kept per thread.
    pub thread: Option<ThreadSerial>,
    /// The frames, innermost first.
    pub frames: Vec<TextFrame<'a>>,
    /// The number of lines in the trace that are no frames.
    pub bad_lines: usize,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFrame<'a> {
    /// Class and method.
    pub name: TextMethod<'a>,
    /// The source file, if known.
    pub source_file: Option<Cow<'a, str>>,
    /// The line.
    pub line: Line,
}

/// Class and method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMethod<'a> {
    /// The class.
    pub class_name: Cow<'a, str>,
    /// The method.
    pub method: Cow<'a, str>,
}

/// The columns that all ranked tables share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextRank {
    /// Place in the table, from 1.
    pub rank: u64,
    /// Share of the total in percent.
    pub self_percent: f64,
    /// Share of all rows so far in percent.
    pub accum_percent: f64,
}

/// `CPU SAMPLES` or `CPU TIME`.
#[derive(Debug, Clone, PartialEq)]
pub struct TextCpuTable<'a> {
    /// Samples or times.
    pub kind: CpuKind,
    /// The number of samples, or milliseconds.
    pub total: u64,
    /// The rows.
    pub table: TextTable<'a, TextCpuRow<'a>>,
}

/// A row of `CPU SAMPLES` or `CPU TIME`.
#[derive(Debug, Clone, PartialEq)]
pub struct TextCpuRow<'a> {
    /// Place and shares.
    pub rank: TextRank,
    /// Samples or calls.
    pub count: u64,
    /// The trace.
    pub trace: TraceSerial,
    /// The innermost frame, if the trace has one.
    pub method: Option<TextMethod<'a>>,
}

/// CPU time of a trace where no call was counted: its calls had begun before the table did. The tables of the JDK's agent
/// have no rows with a count of 0, so this is a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextUncounted {
    /// The trace.
    pub trace: TraceSerial,
    /// Microseconds.
    pub micros: u64,
}

impl TextUncounted {
    /// As remarks have it.
    pub fn remark(self) -> String {
        let (millis, micros) = (self.micros / 1000, self.micros % 1000);
        format!("{UNCOUNTED}{} ms={millis}.{micros:03}", self.trace)
    }
}

/// The beginning of the remark for a [`TextUncounted`].
pub(super) const UNCOUNTED: &str = "hprof-rs: uncounted_trace=";

/// A row of a table of calls as of `cpu=old`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOldCpuRow<'a> {
    /// The number of calls.
    pub count: u64,
    /// The method that was called with its signature, as printed.
    pub callee: &'a str,
    /// The method that called it with its signature, as printed.
    pub caller: &'a str,
    /// Milliseconds, callees included.
    pub millis: u64,
}

/// `SITES` or `NATIVE SITES`.
#[derive(Debug, Clone, PartialEq)]
pub struct TextSiteTable<'a> {
    /// The table is of memory outside of the heap.
    pub is_native: bool,
    /// The order of the table.
    pub order: SiteOrder,
    /// The rows.
    pub table: TextTable<'a, TextSiteRow<'a>>,
}

/// A row of `SITES`.
#[derive(Debug, Clone, PartialEq)]
pub struct TextSiteRow<'a> {
    /// Place and shares.
    pub rank: TextRank,
    /// Bytes still alive.
    pub live_bytes: u64,
    /// Objects still alive.
    pub live_objects: u64,
    /// Bytes ever allocated.
    pub allocated_bytes: u64,
    /// Objects ever allocated.
    pub allocated_objects: u64,
    /// The trace.
    pub trace: TraceSerial,
    /// The class.
    pub class_name: Cow<'a, str>,
}

/// `HEAP DUMP`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextHeapDump<'a> {
    /// When the dump was written, in the form of C's `ctime`.
    pub ctime: &'a str,
    /// The number of objects in the title.
    pub objects: u64,
    /// The number of bytes in the title.
    pub bytes: u64,
    /// The lines between title and end as they are.
    pub body: &'a str,
    /// False if the file ended before the dump.
    pub is_complete: bool,
}

/// `MONITOR TIME` or `NATIVE LOCKS`.
#[derive(Debug, Clone, PartialEq)]
pub struct TextMonitorTable<'a> {
    /// The table is of locks of native code.
    pub is_native: bool,
    /// The total in milliseconds. The JDK's agent printed a millionth of it.
    pub total_millis: u64,
    /// The rows.
    pub table: TextTable<'a, TextMonitorRow<'a>>,
}

/// A row of `MONITOR TIME` or `NATIVE LOCKS`.
#[derive(Debug, Clone, PartialEq)]
pub struct TextMonitorRow<'a> {
    /// Place and shares.
    pub rank: TextRank,
    /// How often a thread had to wait.
    pub count: u64,
    /// The trace.
    pub trace: TraceSerial,
    /// The class of the monitor.
    pub class_name: Cow<'a, str>,
    /// How it locks.
    pub lock: LockKind,
}

/// `MONITOR DUMP`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextMonitorDump<'a> {
    /// All threads.
    pub threads: Vec<TextMonitorThread<'a>>,
    /// The monitors in use.
    pub monitors: Vec<TextMonitor<'a>>,
    /// The number of lines that are neither.
    pub bad_lines: usize,
    /// False if the file ended before the dump.
    pub is_complete: bool,
}

/// A thread in a `MONITOR DUMP`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMonitorThread<'a> {
    /// The thread.
    pub serial: ThreadSerial,
    /// Where it is.
    pub trace: TraceSerial,
    /// Its status as printed.
    pub status: &'a str,
}

/// A monitor in a `MONITOR DUMP`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMonitor<'a> {
    /// The signature of its class.
    pub signature: Cow<'a, str>,
    /// The owner and how often that entered it.
    pub owner: Option<(ThreadSerial, u32)>,
    /// The threads that wait to enter.
    pub entering: Vec<ThreadSerial>,
    /// The threads that wait to be notified.
    pub waiting: Vec<ThreadSerial>,
}

/// A thread begins or ends waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextWait<'a> {
    /// The signature of the monitor's class.
    pub signature: Cow<'a, str>,
    /// The time-out, or the time waited, in milliseconds.
    pub millis: i64,
    /// The thread.
    pub thread: ThreadSerial,
}

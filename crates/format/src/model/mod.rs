//! Neutral descriptions that a profiler hands to a [`ProfileWriter`].
//!
//! They borrow everything, so a caller describes what it has in its own tables
//! without copying. No description knows which format it ends up in. Strings may
//! hold any Unicode text; a writer escapes what its format cannot carry.
//!
//! [`ProfileWriter`]: crate::writer::ProfileWriter

mod heap;
mod monitors;
mod old_cpu;
mod sites;
mod slow;

pub use heap::{
    HeapClass, HeapField, HeapFieldType, HeapInstance, HeapObjectArray, HeapPrimitiveArray,
    HeapRoot, HeapTotals, InstanceLayout, PrimitiveValues, Root, RootKind,
};
pub use monitors::{
    LockKind, Monitor, MonitorDump, MonitorRow, MonitorTable, MonitorThread, ThreadState,
    ThreadStatus, UnknownStatus,
};
pub use old_cpu::{OldCpuRow, SignedMethod};
pub use sites::{HeapSummary, SiteOrder, SiteRow, SiteTable};
pub use slow::{SlowCallRow, SlowRow};

use crate::ids::{ObjectId, ThreadSerial, TraceSerial};

/// The head of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// Creation time in milliseconds since 1970-01-01 UTC (binary format).
    pub created_millis: u64,
    /// The creation time as C's `ctime` prints it, without the final line feed:
    /// `Fri Feb  6 13:13:42 2004`, in local time (text format).
    pub created_ctime: &'a str,
    /// The recording settings of the profiler (binary format: `CONTROL SETTINGS`).
    pub settings: Settings,
}

/// The settings a binary profile states in its first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Objects are recorded with the trace that allocated them.
    pub allocation_traces: bool,
    /// CPU use is sampled.
    pub cpu_sampling: bool,
    /// The greatest number of frames in a trace.
    pub depth: u32,
}

/// A thread that started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadStart<'a> {
    /// The `java.lang.Thread` object.
    pub object: ObjectId,
    /// The thread's own serial number.
    pub serial: ThreadSerial,
    /// The thread's name; empty if it has none.
    pub name: &'a str,
    /// The name of its thread group; empty if unknown.
    pub group: &'a str,
    /// The name of that group's parent; empty if there is none.
    pub parent_group: &'a str,
    /// The trace at which the thread was started.
    pub trace: TraceSerial,
}

/// Where in its method a frame stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// A source line, counted from 1. 0 and numbers above 2^31 - 1 count as unknown.
    Number(u32),
    /// The line is not known.
    Unknown,
    /// The method is native and has no lines.
    Native,
}

/// One frame of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    /// The class that declares the method, as Java source has it: `java.util.Map$Entry`, `int[]`.
    pub class_name: &'a str,
    /// The class object, which tells classes of the same name apart; may be null.
    pub class_id: ObjectId,
    /// The plain method name; `<init>` and `<clinit>` as such.
    pub method: &'a str,
    /// The method's descriptor (JVM specification 4.3.3), such as `(I)V`.
    pub signature: &'a str,
    /// The class's `SourceFile` attribute, if it has one.
    pub source_file: Option<&'a str>,
    /// The line within that file.
    pub line: Line,
}

/// A list of frames with a serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace<'a> {
    /// The number by which tables refer to this trace.
    pub serial: TraceSerial,
    /// The thread, if traces are kept per thread (`thread=y`).
    pub thread: Option<ThreadSerial>,
    /// The frames, innermost first; empty for a trace without frames.
    pub frames: &'a [Frame<'a>],
}

/// Class and method of a trace's innermost frame, as tables show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodName<'a> {
    /// The class, as Java source has it.
    pub class_name: &'a str,
    /// The plain method name.
    pub method: &'a str,
}

/// The unit of the costs of a CPU table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CpuKind {
    /// Samples: a row's cost and its count are both a number of samples.
    Samples,
    /// Time: costs are *nanoseconds*, counts are calls. The formats know milliseconds only;
    /// shares are computed before the rounding.
    Times,
}

/// CPU use of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuRow {
    /// Samples or nanoseconds spent in the innermost frame itself, see [`CpuKind`].
    pub cost: u64,
    /// Samples or calls.
    pub count: u64,
    /// The trace.
    pub trace: TraceSerial,
}

/// CPU use of all traces, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTable<'a> {
    /// Samples or times.
    pub kind: CpuKind,
    /// The sum of all costs, also of rows that a cutoff drops.
    pub total: u64,
    /// One row per trace.
    pub rows: &'a [CpuRow],
}

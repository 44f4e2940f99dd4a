//! The tables of a profile, as files hold them.

use hprof_format::ids::TraceSerial;
use hprof_format::model::{CpuKind, LockKind, SiteOrder};

use crate::weights::Weights;

/// CPU use of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuRow {
    /// The trace.
    pub trace: TraceSerial,
    /// Samples or milliseconds. Text files give shares only for milliseconds, so these are rounded.
    pub cost: u64,
    /// Calls, in text files of `cpu=times`.
    pub calls: Option<u64>,
}

/// One table of CPU use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuTable {
    /// Samples or milliseconds.
    pub kind: CpuKind,
    /// The sum of all costs, also of rows below the profiler's cutoff.
    pub total: u64,
    /// The rows.
    pub rows: Vec<CpuRow>,
}

/// The size of objects of one class, allocated at one trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteRow {
    /// The trace.
    pub trace: TraceSerial,
    /// The class as Java source has it.
    pub class_name: Box<str>,
    /// Bytes still alive.
    pub live_bytes: u64,
    /// Objects still alive.
    pub live_objects: u64,
    /// Bytes ever allocated.
    pub allocated_bytes: u64,
    /// Objects ever allocated.
    pub allocated_objects: u64,
}

/// One table of allocation sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteTable {
    /// The order of the table.
    pub order: SiteOrder,
    /// The table is of memory outside of the heap (`native=`): functions that allocate stand for classes, blocks for
    /// objects.
    pub is_native: bool,
    /// The totals, rows below the profiler's cutoff included, as a row without trace and class.
    /// Text files do not tell them.
    pub totals: Option<SiteRow>,
    /// The rows.
    pub rows: Vec<SiteRow>,
}

/// How long a monitor was waited for at one trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorRow {
    /// The trace.
    pub trace: TraceSerial,
    /// The class of the monitor.
    pub class_name: Box<str>,
    /// How it locks.
    pub lock: LockKind,
    /// How often a thread had to wait.
    pub count: u64,
    /// How long, rounded, since files give shares only.
    pub millis: u64,
}

/// One table of monitor contention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorTable {
    /// The table is of locks of native code (`nativelock=`): functions that wait stand for classes.
    pub is_native: bool,
    /// Milliseconds of all waiting.
    pub total_millis: u64,
    /// The rows.
    pub rows: Vec<MonitorRow>,
}

/// A call as `cpu=old` counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldCpuRow {
    /// The number of calls.
    pub count: u64,
    /// The method that was called, with its descriptor.
    pub callee: Box<str>,
    /// The method that called it, with its descriptor.
    pub caller: Box<str>,
    /// Milliseconds, callees included.
    pub millis: u64,
}

/// Whatever holds the tables of a profile.
pub trait Tables {
    /// Tables of CPU use, in the order of the file.
    fn cpu(&self) -> &[CpuTable];
    /// Tables of allocation sites, in the order of the file.
    fn sites(&self) -> &[SiteTable];
    /// Tables of monitor contention, in the order of the file.
    fn monitors(&self) -> &[MonitorTable];
    /// Calls as `cpu=old` counts them.
    fn old_cpu(&self) -> &[OldCpuRow];
    /// The costs of a file of another tool, each measure once, which stand for the tables above;
    /// none for HPROF files.
    fn weights(&self) -> Option<&[Weights]> {
        None
    }
}

//! What one pass over a file finds.

mod binary;
mod damage;
mod mapped;
mod pieces;
mod read;
mod text;

use std::collections::BTreeMap;

use hprof_format::binary::IdSize;
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{CpuKind, HeapSummary, SiteOrder};
use hprof_format::reader::Version;
use serde::Serialize;

use crate::heap::Census;
use crate::names::Names;
use crate::stacks::Stacks;

pub use damage::{DamageEntry, DamageLog};
pub use read::{ReadError, ReadOptions, read, read_outline};

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The binary format.
    Binary {
        /// Its dialect.
        version: Version,
        /// The width of identifiers.
        id_size: IdSize,
    },
    /// The text format.
    Text,
}

impl Format {
    /// True for files of Android's VMs.
    pub fn is_android(self) -> bool {
        matches!(
            self,
            Self::Binary {
                version: Version::V1_0_3,
                ..
            }
        )
    }
}

/// The records of one tag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RecordCount {
    /// Their number.
    pub count: u64,
    /// The bytes they take with their heads.
    pub bytes: u64,
}

/// A thread that the file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its serial.
    pub serial: ThreadSerial,
    /// The thread object.
    pub object: ObjectId,
    /// Its name, if the file has a record of the thread's start.
    pub name: Option<String>,
    /// The name of its group.
    pub group: Option<String>,
    /// Its stack in a heap dump, or where it was started.
    pub trace: Option<TraceSerial>,
    /// True if the file says that the thread ended.
    pub has_ended: bool,
}

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

/// What objects of one class, allocated at one trace, take.
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
    /// What the table is ordered by.
    pub order: SiteOrder,
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
    /// How often a thread had to wait.
    pub count: u64,
    /// How long, rounded, since files give shares only.
    pub millis: u64,
}

/// One table of monitor contention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorTable {
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

/// One heap dump in binary format.
#[derive(Debug, Clone)]
pub struct Dump {
    /// What it holds.
    pub census: Census,
    /// The records that make it up.
    pub segments: u64,
    /// False if records in segments lack the record that ends them: whoever wrote the file did
    /// not finish.
    pub is_ended: bool,
}

/// A heap dump in text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextDump {
    /// The number of objects that its title states.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What the profiler was asked to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ControlSettings {
    /// Allocation traces were recorded.
    pub allocation_traces: bool,
    /// CPU use was sampled.
    pub cpu_sampling: bool,
    /// The greatest number of frames in a trace.
    pub depth: u16,
}

/// What one pass over a file finds.
#[derive(Debug, Clone)]
pub struct Contents {
    /// The format.
    pub format: Format,
    /// Creation time in milliseconds since 1970-01-01 UTC, in binary files.
    pub created_millis: Option<u64>,
    /// Creation time as printed, in text files.
    pub created_text: Option<String>,
    /// The uncompressed bytes that were read.
    pub bytes: u64,
    /// Binary records by tag.
    pub records: BTreeMap<u8, RecordCount>,
    /// Strings and classes, of binary files.
    pub names: Names,
    /// The traces.
    pub stacks: Stacks,
    /// The threads that records name, in the order of the file.
    pub threads: Vec<Thread>,
    /// Tables of CPU use.
    pub cpu: Vec<CpuTable>,
    /// Tables of allocation sites.
    pub sites: Vec<SiteTable>,
    /// Tables of monitor contention.
    pub monitors: Vec<MonitorTable>,
    /// Calls as `cpu=old` counts them.
    pub old_cpu: Vec<OldCpuRow>,
    /// Heap totals of the last record that has them.
    pub heap_summary: Option<HeapSummary>,
    /// What the profiler was asked to record, if the file says.
    pub settings: Option<ControlSettings>,
    /// The heap dumps.
    pub dumps: Vec<Dump>,
    /// The heap dumps of a text file.
    pub text_dumps: Vec<TextDump>,
    /// The profiler's remarks, of text files.
    pub comments: Vec<String>,
    /// What could not be read.
    pub damage: DamageLog,
}

impl Contents {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            created_millis: None,
            created_text: None,
            bytes: 0,
            records: BTreeMap::new(),
            names: Names::default(),
            stacks: Stacks::default(),
            threads: Vec::new(),
            cpu: Vec::new(),
            sites: Vec::new(),
            monitors: Vec::new(),
            old_cpu: Vec::new(),
            heap_summary: None,
            settings: None,
            dumps: Vec::new(),
            text_dumps: Vec::new(),
            comments: Vec::new(),
            damage: DamageLog::default(),
        }
    }

    /// The thread with a serial.
    pub fn thread(&self, serial: ThreadSerial) -> Option<&Thread> {
        self.threads
            .iter()
            .rev()
            .find(|thread| thread.serial == serial)
    }
}

//! The results of one pass over a file.

mod binary;
mod counting;
mod damage;
mod foreign;
mod mapped;
mod monitors;
mod options;
mod pieces;
mod read;
mod recorded;
mod text;
mod threads_over_time;
mod transfer;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hprof_format::binary::IdSize;
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::HeapSummary;
use hprof_format::reader::Version;
use hprof_stacks::RunFacts;
use hprof_stacks::call_strips::{CallStrips, NoStrips};
use hprof_stacks::lanes::{self, Lanes};
use hprof_stacks::pictures::about::depth_of;
use hprof_stacks::slow::Slow;
use hprof_stacks::timeline::{Timeline, Window};
pub use hprof_stacks::{
    CpuRow, CpuTable, MonitorRow, MonitorTable, OldCpuRow, SiteRow, SiteTable, Tables,
};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::heap::Census;
use crate::names::Names;
use crate::stacks::{Stacks, Weights};

pub use hprof_foreign::Kind as ForeignKind;

pub use monitors::{MonitorDump, MonitorInUse, Waits, WaitsOf};

pub use damage::{DamageEntry, DamageLog};
pub use foreign::read_one_type;
pub use options::{ChooseWindow, ReadError, ReadOptions};
pub use read::{read, read_outline};
pub use text::{GrowingText, looks_like_a_profile, take_slow, take_times};
pub use threads_over_time::ThreadTimes;

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
    /// A profile of another tool.
    Foreign(ForeignKind),
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

/// How the agent's text about program and agent begins.
const AGENT: &str = "hprof-rs agent: ";

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

/// One heap dump in binary format.
#[derive(Debug, Clone)]
pub struct Dump {
    /// Its objects.
    pub census: Census,
    /// The records that make it up.
    pub segments: u64,
    /// False if records in segments lack the record that ends them: the writer of the file did
    /// not finish.
    pub is_ended: bool,
}

/// A heap dump in text format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextDump {
    /// The number of objects that its title states.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The objects and arrays that it lists, by class, with their bytes as it states them.
    pub classes: BTreeMap<Box<str>, TextCount>,
    /// The number of classes that it lists.
    pub class_dumps: u64,
    /// The number of roots that it lists.
    pub roots: u64,
}

/// The objects of one class in a text dump.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextCount {
    /// Their number.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The recording settings of the profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ControlSettings {
    /// Allocation traces were recorded.
    pub allocation_traces: bool,
    /// CPU use was sampled.
    pub cpu_sampling: bool,
    /// The greatest number of frames in a trace.
    pub depth: u16,
}

/// The results of one pass over a file.
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
    /// Where the thread with a serial is, once one was asked for.
    thread_index: OnceLock<FxHashMap<ThreadSerial, usize>>,
    /// Tables of CPU use.
    pub cpu: Vec<CpuTable>,
    /// Tables of allocation sites.
    pub sites: Vec<SiteTable>,
    /// Tables of monitor contention.
    pub monitors: Vec<MonitorTable>,
    /// The costs of a profile of another tool, each measure once; the tables above repeat them as
    /// far as HPROF has a place for them.
    pub weights: Option<Vec<Weights>>,
    /// Events of a recording of another tool that are no part of a profile.
    pub others: hprof_foreign::Others,
    /// Limits of the costs of a profile of another tool.
    pub notes: Vec<hprof_foreign::Note>,
    /// The time that a profile of another tool covers, also if a part of it was read, if it has times.
    pub span: Option<Window>,
    /// The costs with their times, if they were wanted and there are any.
    pub timeline: Option<Timeline>,
    /// Calls of chosen methods that were timed (`slow=`).
    pub slow: Slow,
    /// The pauses of collections in the order of the file, if times were wanted and the file has them: start in nanoseconds
    /// since 1970-01-01 UTC, and nanoseconds.
    pub pauses: Vec<(i64, u64)>,
    /// Threads over time, of recordings, if that was wanted.
    pub recorded_threads: ThreadTimes,
    /// Calls as `cpu=old` counts them.
    pub old_cpu: Vec<OldCpuRow>,
    /// Dumps of threads and monitors (`MONITOR DUMP`), of text files.
    pub monitor_dumps: Vec<MonitorDump>,
    /// Calls of `Object.wait` one by one (`WAIT`, `WAITED`), of text files.
    pub waits: Waits,
    /// Heap totals of the last record that has them.
    pub heap_summary: Option<HeapSummary>,
    /// The recording settings of the profiler, if the file has them.
    pub settings: Option<ControlSettings>,
    /// The heap dumps.
    pub dumps: Vec<Dump>,
    /// A text profile with threads and traces at most, and no result.
    lacks_tables: bool,
    /// The heap dumps of a text file.
    pub text_dumps: Vec<TextDump>,
    /// The profiler's remarks, of text files.
    pub comments: Vec<String>,
    /// The damage of a file.
    pub damage: DamageLog,
    /// True if KOOM has left the elements of all primitive arrays out; zeros stand for them.
    pub lacks_elements: bool,
}

impl Contents {
    /// True if there is a heap dump, a profile or anything else but names and stacks. Texts need no tables: a
    /// program may have nothing to tell.
    pub fn has_data(&self) -> bool {
        if !matches!(self.format, Format::Binary { .. }) {
            return true;
        }
        let tables = self.cpu.len() + self.sites.len() + self.monitors.len() + self.old_cpu.len();
        let dumps = self.dumps.len() + self.text_dumps.len();
        tables + dumps > 0
            || self.weights.is_some()
            || self.slow.is_there()
            || self.heap_summary.is_some()
            || self.others != hprof_foreign::Others::default()
    }

    /// True for a profile of another tool of which bytes were not read that others depend on. Lines that stand alone,
    /// and damage of HPROF files, after which reading continues, do not count.
    pub fn is_partly_read(&self) -> bool {
        let Format::Foreign(kind) = self.format else {
            return false;
        };
        !kind.is_of_lines() && self.damage.lost_bytes > 0
    }

    /// Returns true if this is a text profile with threads and traces at most, and no result.
    pub fn lacks_tables(&self) -> bool {
        self.lacks_tables
    }

    /// Describes a file without data, in words that follow "it holds". `None` if the file has data.
    pub fn instead_of_data(&self) -> Option<&'static str> {
        if self.lacks_tables {
            return Some("no table: it is cut short, or nothing was dumped");
        }
        if self.has_data() {
            return None;
        }
        Some(match self.records.is_empty() && self.damage.is_empty() {
            true => "a header and nothing else: it is cut short",
            false => "neither a heap dump nor a profile: it may be cut short",
        })
    }

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
            thread_index: OnceLock::new(),
            cpu: Vec::new(),
            sites: Vec::new(),
            monitors: Vec::new(),
            weights: None,
            others: hprof_foreign::Others::default(),
            notes: Vec::new(),
            span: None,
            timeline: None,
            pauses: Vec::new(),
            recorded_threads: ThreadTimes::default(),
            old_cpu: Vec::new(),
            slow: Slow::default(),
            monitor_dumps: Vec::new(),
            waits: Waits::default(),
            heap_summary: None,
            settings: None,
            lacks_tables: false,
            dumps: Vec::new(),
            text_dumps: Vec::new(),
            comments: Vec::new(),
            damage: DamageLog::default(),
            lacks_elements: false,
        }
    }

    /// The profiler's remarks, in files of both formats.
    pub fn remarks(&self) -> Vec<String> {
        let strings = self.names.strings_with_start("hprof-rs ");
        let about_the_run = |text: &String| text.starts_with(AGENT) || RunFacts::is_one(text);
        let strings = strings.into_iter().filter(about_the_run);
        self.comments.iter().cloned().chain(strings).collect()
    }

    /// The facts of the run that the agent states; none is known of files of other tools.
    pub fn run_facts(&self) -> RunFacts {
        RunFacts::read(self.remarks().iter().map(String::as_str))
    }

    /// The samples of the slowest calls, of contents that were read with times.
    ///
    /// # Errors
    /// If there are none, or their interval is unknown.
    pub fn call_strips(&self) -> Result<CallStrips<'_>, NoStrips> {
        CallStrips::new(&self.stacks, self.timeline.as_ref(), self.interval())
    }

    /// The nanoseconds between samples, if the file says.
    fn interval(&self) -> Option<u64> {
        let interval = self.run_facts().interval.map(|it| it.as_nanos() as u64);
        interval.or_else(|| self.timeline.as_ref()?.sample_nanos)
    }

    /// What each thread did in a part of the time, of contents that were read with times and lanes; `None` if the file does not say.
    pub fn lanes(&self, part: Window) -> Option<Lanes> {
        if let Some(recorded) = &self.recorded_threads.lanes {
            return Some(recorded.clone());
        }
        let timeline = self.timeline.as_ref()?;
        let is_own = !matches!(self.format, Format::Foreign(_));
        let interval = self.interval().filter(|&it| it > 0 && is_own)?;
        let name = |serial| self.thread(serial)?.name.clone();
        lanes::of_samples(timeline, &self.stacks, interval, part, &name)
    }

    /// The greatest number of frames in a stack: as the profiler states it, or else as an HPROF file has it. `None` for files of other
    /// tools, which do not tell.
    pub fn stack_limit(&self) -> Option<usize> {
        let stated = self.settings.map(|settings| usize::from(settings.depth));
        stated
            .filter(|&depth| depth > 0)
            .or_else(|| depth_of(&self.remarks()))
            .or_else(|| {
                let is_hprof = !matches!(self.format, Format::Foreign(_));
                let traces = self.stacks.traces().into_iter().filter(|_| is_hprof);
                traces.map(|(_, trace)| trace.frames.len()).max()
            })
    }

    /// True for heap dumps of Android's VMs, those too that `hprof-conv` has given the version of
    /// other VMs: sizes stay as Android has them.
    pub fn is_android(&self) -> bool {
        let Format::Binary { id_size, .. } = self.format else {
            return false;
        };
        // On other VMs, programs may bring classes of Android along for tests.
        let is_converted = id_size == IdSize::Four && self.settings.is_none();
        self.format.is_android() || (is_converted && self.names.has_class_of_android())
    }

    /// The thread with a serial; the last, if it comes several times.
    pub fn thread(&self, serial: ThreadSerial) -> Option<&Thread> {
        let index = self.thread_index.get_or_init(|| {
            let threads = self.threads.iter().enumerate();
            threads.map(|(at, thread)| (thread.serial, at)).collect()
        });
        self.threads.get(*index.get(&serial)?)
    }
}

impl Tables for Contents {
    fn cpu(&self) -> &[CpuTable] {
        &self.cpu
    }

    fn sites(&self) -> &[SiteTable] {
        &self.sites
    }

    fn monitors(&self) -> &[MonitorTable] {
        &self.monitors
    }

    fn old_cpu(&self) -> &[OldCpuRow] {
        &self.old_cpu
    }

    fn weights(&self) -> Option<&[Weights]> {
        self.weights.as_deref()
    }
}

//! The checked options of a run.

use std::path::PathBuf;
use std::time::Duration;

use hprof_format::rank::Cutoff;

use super::error::ErrorPolicy;
use super::event::EventSampling;
use super::file_name::StartTime;
use super::packing::Packing;
use super::patterns::Patterns;
use super::picture::Picture;
use super::push::PushUrl;
use super::slow::SlowMethods;
use super::strip::Strip;
use super::threads::ThreadFilter;

/// The largest accepted `depth`. JVMTI fills a buffer of this many frames per
/// stack trace, and longer ones are unreadable.
pub const MAX_DEPTH: u32 = 2048;

/// `format=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `a`.
    Text,
    /// `b`.
    Binary,
}

impl Format {
    /// The output file when neither `file` nor `net` is given.
    #[must_use]
    pub fn default_file_name(self) -> &'static str {
        match self {
            Format::Text => "java.hprof.txt",
            Format::Binary => "java.hprof",
        }
    }
}

/// `engine=`: how `cpu=samples` takes its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// The signal engine where it works, otherwise safepoints.
    Auto,
    /// Timer signals.
    Signal,
    /// Timer signals, and the agent's own walk of stacks.
    Walker,
    /// Stack traces at safepoints.
    Safepoint,
}

/// `cpu=samples` or `cpu=wall`: the clock that samples are taken on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleClock {
    /// Each thread's CPU clock: a thread that does nothing has no samples.
    Cpu,
    /// The wall clock: all threads have samples at all times.
    Wall,
}

/// `live=`: how `heap=sites` knows which objects are still alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// By following every recorded object.
    Exact,
    /// By following the first objects of each site, and some of the others.
    Estimate,
}

/// `lost=`: what a run does whose front-end is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// It continues in a file.
    File,
    /// It ends, and the agent leaves the program.
    Detach,
}

/// `monitor=`: which locks are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Locks {
    /// The monitors of objects.
    pub java: bool,
    /// Locks and synchronizers of `java.util.concurrent`.
    pub juc: bool,
}

impl Locks {
    /// No locks.
    pub const NONE: Self = Self {
        java: false,
        juc: false,
    };
    /// All that are known.
    pub const ALL: Self = Self {
        java: true,
        juc: true,
    };

    /// Returns whether there are any.
    #[must_use]
    pub fn any(self) -> bool {
        self.java || self.juc
    }
}

/// `clock=`: how `cpu=times` knows the time of methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// By looking at what each thread does, about every millisecond of CPU time.
    Sampled,
    /// By a clock at the begin and end of every call.
    Exact,
}

/// Where the profile goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A file, with `%p` and `%t` replaced. If `force` is off, the file may
    /// still have to get another name, see
    /// [`unique_name`](super::unique_name).
    File(PathBuf),
    /// A front-end that listens there.
    Net {
        /// Name or address, without brackets.
        host: String,
        /// The TCP port, not 0.
        port: u16,
    },
    /// A front-end that listens at this Unix socket.
    Unix(PathBuf),
    /// A receiver of profiles, which gets one after another.
    Push {
        /// Its URL; none if the environment has it.
        url: Option<PushUrl>,
        /// The time that each profile holds.
        every: Duration,
    },
}

/// Which profiles are taken. At least one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// All objects and their references (`heap=dump|all`).
    pub heap_dump: bool,
    /// Allocation sites (`heap=sites|all`).
    pub heap_sites: bool,
    /// CPU use by sampling (`cpu=samples`), or all threads on the wall clock (`cpu=wall`).
    pub cpu_samples: bool,
    /// CPU use by counting calls (`cpu=times`). Not together with `cpu_old`.
    pub cpu_times: bool,
    /// Call counts and times in the format of JDK 1.1's `prof` (`cpu=old`).
    pub cpu_old: bool,
    /// Locks (`monitor=y`).
    pub monitor: bool,
    /// Memory outside of the heap (`native=SIZE`).
    pub native: bool,
    /// Waits for locks of native code (`nativelock=`).
    pub native_lock: bool,
    /// Calls of chosen methods, each timed (`slow=`).
    pub slow: bool,
    /// Nothing was asked for, and `heap=all` is the default.
    pub by_default: bool,
}

impl Modes {
    /// Returns whether objects have to be known individually.
    #[must_use]
    pub fn tracks_objects(&self) -> bool {
        self.heap_dump || self.heap_sites
    }

    /// True if heap dumps are all that is taken.
    #[must_use]
    pub fn only_dumps(&self) -> bool {
        let others = self.heap_sites
            || self.cpu_samples
            || self.monitor
            || self.counts_calls()
            || self.native
            || self.native_lock
            || self.slow;
        self.heap_dump && !others
    }

    /// Returns whether every method call is counted.
    #[must_use]
    pub fn counts_calls(&self) -> bool {
        self.cpu_times || self.cpu_old
    }
}

/// The process under profile, as far as file names need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// When it started.
    pub start: StartTime,
}

/// The checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// All options as written, those of the environment included.
    pub text: String,
    /// Which profiles are taken.
    pub modes: Modes,
    /// Text or binary output. Binary only without `cpu_times`, `cpu_old` and
    /// `monitor`.
    pub format: Format,
    /// Where it goes.
    pub destination: Destination,
    /// The picture to write instead of a profile, if `format` was not given.
    pub picture: Option<Picture>,
    /// The compression of the file, by its name.
    pub packing: Option<Packing>,
    /// Frames kept per trace: 0 to [`MAX_DEPTH`].
    pub depth: u32,
    /// True if `depth` was written, false if it is the default.
    pub has_depth: bool,
    /// Time between two samples; at least a millisecond.
    pub interval: Duration,
    /// Mean distance in bytes between two recorded allocations of a thread; 0
    /// records all.
    pub heap_interval: u32,
    /// Mean distance in bytes between two sampled allocations of native memory of a thread; 0 if `modes.native` is off.
    pub native_interval: u32,
    /// The shortest wait for a native lock that counts.
    pub native_lock_threshold: Duration,
    /// The methods whose calls are timed; none if `modes.slow` is off.
    pub slow: SlowMethods,
    /// Objects of known sites are counted without an event of the VM.
    pub shortcut: bool,
    /// How live objects are known.
    pub live: Live,
    /// Which locks are looked at.
    pub locks: Locks,
    /// Contention that is shorter is left out.
    pub lock_threshold: Duration,
    /// How `cpu=times` measures times. `cpu=old` always reads the clock.
    pub clock: Clock,
    /// The only classes whose calls are counted, unless there are none.
    pub include: Patterns,
    /// Classes whose calls are not counted.
    pub exclude: Patterns,
    /// Which rows tables leave out.
    pub cutoff: Cutoff,
    /// Line numbers in traces.
    pub lineno: bool,
    /// The thread is part of a trace's identity.
    pub thread: bool,
    /// Dump on exit.
    pub doe: bool,
    /// Micro state accounting, an option of Solaris without effect.
    pub msa: bool,
    /// Overwrite an existing file.
    pub force: bool,
    /// `force` was written: FIFOs and devices count as well.
    pub has_force: bool,
    /// Messages about dumps on standard error.
    pub verbose: bool,
    /// The contents that binary heap dumps leave out.
    pub strip: Strip,
    /// Values of primitive fields in heap dumps.
    pub primfields: bool,
    /// Contents of primitive arrays in heap dumps.
    pub primarrays: bool,
    /// Bits of `logflags`: 1 trace calls, 2 print internal tables, 4 check the
    /// finished file.
    pub logflags: i32,
    /// Bits of `debugflags`: 1 report references of unprepared classes.
    pub debugflags: i32,
    /// Abort on a fatal error.
    pub coredump: bool,
    /// Every error is fatal.
    pub errorexit: bool,
    /// Wait for a native debugger while loading.
    pub pause: bool,
    /// As `coredump`, and check the finished file.
    pub debug: bool,
    /// How long to try to connect to the front-end.
    pub netwait: Duration,
    /// The reaction to a lost front-end: the run continues in a file, or ends.
    pub lost: Lost,
    /// The front-end may end the VM.
    pub exitcmd: bool,
    /// Open the local control socket.
    pub control: bool,
    /// The number of the sampling signal, `None` to leave it to the engine.
    pub signal: Option<i32>,
    /// How `cpu=samples` takes its samples.
    pub engine: Engine,
    /// When samples are taken.
    pub sample_clock: SampleClock,
    /// The threads that are sampled.
    pub filter: ThreadFilter,
    /// `cpu=wall`: the state of the thread is the outermost frame.
    pub states: bool,
    /// `cpu=samples|wall`: stacks of running threads begin with frames of native code.
    pub c_stack: bool,
    /// `cpu=samples`: the CPU time of threads that run no Java code has rows.
    pub vm_threads: bool,
    /// `cpu=samples`: the event of the kernel that takes samples; CPU time if there is none.
    pub event: Option<EventSampling>,
    /// `cpu=samples|wall`: samples keep their times.
    pub timeline: bool,
    /// The samples whose times are kept, at most.
    pub timeline_max: u64,
}

impl Settings {
    /// The handling of errors that the options ask for.
    #[must_use]
    pub fn error_policy(&self) -> ErrorPolicy {
        ErrorPolicy {
            fatal: self.errorexit,
            abort: self.coredump || self.debug,
        }
    }

    /// Returns whether threads are sampled on the wall clock.
    #[must_use]
    pub fn samples_wall(&self) -> bool {
        self.modes.cpu_samples && self.sample_clock == SampleClock::Wall
    }

    /// Returns whether the finished file is to be read back and checked.
    #[must_use]
    pub fn checks_output(&self) -> bool {
        self.debug || self.logflags & 4 != 0
    }

    /// Returns whether all records of a file with a heap dump are to be listed.
    #[must_use]
    pub fn lists_output(&self) -> bool {
        self.logflags & 4 != 0
    }

    /// Returns whether the sizes of internal tables are to be told.
    #[must_use]
    pub fn tells_tables(&self) -> bool {
        self.logflags & 2 != 0
    }

    /// How many methods of a thread's stack the call counters follow: the pair
    /// of caller and callee for `cpu=old`, otherwise `depth`.
    #[must_use]
    pub fn call_depth(&self) -> u32 {
        if self.modes.cpu_old { 2 } else { self.depth }
    }
}

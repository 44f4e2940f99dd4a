//! The options as they were written, before defaults and cross checks.

use std::fmt;

use hprof_format::rank::Cutoff;

use super::error::ErrorPolicy;
use super::settings::{Clock, Engine, Format, Live, Locks, Lost, SampleClock};

/// How `cpu=times` shows its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// As a table of traces.
    Times,
    /// As caller-callee pairs in the format of the old `prof`.
    Old,
}

/// `file` or `net` as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawDestination {
    /// `file=`.
    File(String),
    /// `net=`; the host without the brackets of an IPv6 address.
    Net {
        /// The host.
        host: String,
        /// The port, not checked.
        port: String,
    },
    /// `net=unix:`; the path of a Unix socket.
    Unix(String),
}

impl fmt::Display for RawDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RawDestination::File(file) => write!(f, "file={file}"),
            RawDestination::Net { host, port } if host.contains(':') => {
                write!(f, "net=[{host}]:{port}")
            }
            RawDestination::Net { host, port } => write!(f, "net={host}:{port}"),
            RawDestination::Unix(path) => write!(f, "net=unix:{path}"),
        }
    }
}

/// The options as written, one field each, defaults where nothing was.
///
/// Fields have the meaning of the option of the same name; see
/// [table](super::table).
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Raw {
    /// All options, those of the environment included.
    pub text: String,
    pub heap_dump: bool,
    pub heap_sites: bool,
    pub cpu_samples: bool,
    /// The last of `cpu=samples` and `cpu=wall`.
    pub sample_clock: SampleClock,
    /// The last of `cpu=times` and `cpu=old`.
    pub cpu_timing: Option<Timing>,
    pub locks: Locks,
    /// Microseconds; not negative.
    pub lock_threshold: i32,
    pub format: Format,
    /// True if `format` was written, false if it is the default.
    pub has_format: bool,
    pub destination: Option<RawDestination>,
    /// `continuous=`.
    pub continuous: Option<String>,
    /// Seconds; more than zero.
    pub push_every: i32,
    /// Not negative.
    pub depth: i32,
    /// True if `depth` was written, false if it is the default.
    pub has_depth: bool,
    /// Milliseconds; positive.
    pub interval: i32,
    /// Not negative, but possibly infinite or not a number.
    pub cutoff: f64,
    /// True if `cutoff` was written, false if it is the default.
    pub has_cutoff: bool,
    pub lineno: bool,
    pub thread: bool,
    pub doe: bool,
    pub msa: bool,
    pub force: bool,
    /// True if `force` was written, false if it is the default.
    pub has_force: bool,
    pub verbose: bool,
    pub gc_okay: bool,
    pub engine: Engine,
    /// Bytes; at most `i32::MAX`.
    pub heap_interval: u32,
    /// Bytes, as `heap_interval`; 0 is off.
    pub native: u32,
    /// `nativelock=`.
    pub native_lock: Option<String>,
    /// `slow=`.
    pub slow: Option<String>,
    pub spans: bool,
    pub shortcut: bool,
    pub live: Live,
    /// `filter=`.
    pub filter: Option<String>,
    pub states: bool,
    pub c_stack: bool,
    pub vm_threads: bool,
    pub timeline: bool,
    /// `event=`.
    pub event: Option<String>,
    /// Events; 0 for the usual number.
    pub every: i32,
    /// Events; more than zero.
    pub timeline_max: i32,
    /// `clock=`.
    pub clock: Clock,
    /// `include=`.
    pub include: Option<String>,
    /// `exclude=`.
    pub exclude: Option<String>,
    /// Seconds; not negative.
    pub netwait: i32,
    pub lost: Lost,
    pub exitcmd: bool,
    pub control: bool,
    pub signal: Option<String>,
    /// 0 to 2.
    pub dump_level: u8,
    /// `strip=`.
    pub strip: Option<String>,
    pub primfields: bool,
    pub primarrays: bool,
    pub logflags: i32,
    pub debugflags: i32,
    pub coredump: bool,
    pub errorexit: bool,
    pub pause: bool,
    pub debug: bool,
    /// The option `X`.
    pub x: i32,
}

impl Default for Raw {
    fn default() -> Self {
        Raw {
            text: String::new(),
            heap_dump: false,
            heap_sites: false,
            cpu_samples: false,
            sample_clock: SampleClock::Cpu,
            cpu_timing: None,
            locks: Locks::NONE,
            lock_threshold: 0,
            format: Format::Text,
            has_format: false,
            destination: None,
            continuous: None,
            push_every: 10,
            depth: 4,
            has_depth: false,
            interval: 10,
            cutoff: Cutoff::DEFAULT.share,
            has_cutoff: false,
            lineno: true,
            thread: false,
            doe: true,
            msa: false,
            force: true,
            has_force: false,
            verbose: true,
            gc_okay: false,
            engine: Engine::Auto,
            heap_interval: 0,
            native: 0,
            native_lock: None,
            slow: None,
            spans: false,
            shortcut: true,
            live: Live::Exact,
            filter: None,
            states: true,
            c_stack: false,
            vm_threads: false,
            timeline: false,
            event: None,
            every: 0,
            timeline_max: 10_000_000,
            clock: Clock::Sampled,
            include: None,
            exclude: None,
            netwait: 0,
            lost: Lost::File,
            exitcmd: false,
            control: true,
            signal: None,
            dump_level: 2,
            strip: None,
            primfields: true,
            primarrays: true,
            logflags: 0,
            debugflags: 0,
            coredump: false,
            errorexit: false,
            pause: false,
            debug: false,
            x: 0,
        }
    }
}

impl Raw {
    /// Takes samples on a clock.
    pub(super) fn sample(&mut self, clock: SampleClock) {
        self.cpu_samples = true;
        self.sample_clock = clock;
    }

    /// The handling of errors that these options ask for.
    #[must_use]
    pub fn error_policy(&self) -> ErrorPolicy {
        ErrorPolicy {
            fatal: self.errorexit,
            abort: self.coredump || self.debug,
        }
    }
}

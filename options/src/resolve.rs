//! From what was written to what it means: defaults and cross checks.

use std::path::PathBuf;
use std::time::Duration;

use hprof_format::rank::Cutoff;

use super::error::{Cause, ErrorPolicy, Failure, Hint, OptionError};
use super::file_name::{StartTime, expand_file_name};
use super::parse::BRACKETS;
use super::patterns::Patterns;
use super::picture::{PICTURE_CALLS_CUTOFF, PICTURE_DEPTH, Picture, foreign_end};
use super::raw::{Raw, RawDestination, Timing};
use super::signals;

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
    /// Stack traces at safepoints.
    Safepoint,
}

/// `live=`: how `heap=sites` knows which objects are still alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// By following every recorded object.
    Exact,
    /// By following the first objects of each site, and some of the others.
    Estimate,
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

    /// Whether there are any.
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
}

/// Which profiles are taken. At least one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// All objects and their references (`heap=dump|all`).
    pub heap_dump: bool,
    /// Allocation sites (`heap=sites|all`).
    pub heap_sites: bool,
    /// CPU use by sampling (`cpu=samples`).
    pub cpu_samples: bool,
    /// CPU use by counting calls (`cpu=times`). Not together with `cpu_old`.
    pub cpu_times: bool,
    /// Call counts and times in the format of JDK 1.1's `prof` (`cpu=old`).
    pub cpu_old: bool,
    /// Locks (`monitor=y`).
    pub monitor: bool,
    /// Nothing was asked for, and `heap=all` is the default.
    pub by_default: bool,
}

impl Modes {
    /// Whether objects have to be known individually.
    #[must_use]
    pub fn tracks_objects(&self) -> bool {
        self.heap_dump || self.heap_sites
    }

    /// Whether every method call is counted.
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
    /// Frames kept per trace: 0 to [`MAX_DEPTH`].
    pub depth: u32,
    /// Whether `depth` was written, or is the default.
    pub has_depth: bool,
    /// Time between two samples; at least a millisecond.
    pub interval: Duration,
    /// Mean distance in bytes between two recorded allocations of a thread; 0
    /// records all.
    pub heap_interval: u32,
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
    /// The front-end may end the VM.
    pub exitcmd: bool,
    /// Open the local control socket.
    pub control: bool,
    /// The number of the sampling signal, `None` to leave it to the engine.
    pub signal: Option<i32>,
    /// How `cpu=samples` takes its samples.
    pub engine: Engine,
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

    /// Whether the finished file is to be read back and checked.
    #[must_use]
    pub fn checks_output(&self) -> bool {
        self.debug || self.logflags & 4 != 0
    }

    /// Whether all records of a file with a heap dump are to be listed.
    #[must_use]
    pub fn lists_output(&self) -> bool {
        self.logflags & 4 != 0
    }

    /// Whether the sizes of internal tables are to be told.
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

/// Applies defaults and checks what only all options together can show.
///
/// # Errors
///
/// A [`Failure`] if options contradict each other or a value makes no sense.
pub fn resolve(raw: &Raw, process: &Process) -> Result<Settings, Failure> {
    check(raw, process).map_err(|error| Failure::new(&error, &raw.text, raw.error_policy()))
}

/// The order of the checks decides which of several errors is reported: those
/// of the JDK's agent come first, in its order.
fn check(raw: &Raw, process: &Process) -> Result<Settings, OptionError> {
    if raw.format == Format::Binary {
        if raw.cpu_timing.is_some() {
            return Err(Cause::NotInBinary {
                mode: "cpu=times|old",
            }
            .into());
        }
        if raw.locks.any() {
            return Err(Cause::NotInBinary { mode: "monitor=y" }.into());
        }
    }
    if let (true, Some(timing)) = (raw.cpu_samples, raw.cpu_timing) {
        let times = match timing {
            Timing::Times => "times",
            Timing::Old => "old",
        };
        return Err(Cause::SamplesWithTimes { times }.into());
    }
    let depth = u32::try_from(raw.depth).unwrap_or_default();
    if depth > MAX_DEPTH {
        return Err(Cause::DepthTooLarge {
            given: raw.depth,
            max: MAX_DEPTH,
        }
        .into());
    }
    let signal = signal(raw.signal.as_deref())?;
    let destination = destination(raw, process)?;
    let picture = picture(raw, &destination)?;
    let depth = match picture {
        Some(_) if !raw.has_depth => PICTURE_DEPTH,
        _ => depth,
    };
    let cutoff = match picture {
        // Small stacks add up to wide frames, and of sites that hold nothing alive the allocation
        // is to be seen.
        Some(_) if !raw.has_cutoff && raw.cpu_timing.is_none() => Cutoff::below(0.0),
        Some(_) if !raw.has_cutoff => PICTURE_CALLS_CUTOFF,
        None if !raw.has_cutoff => Cutoff::DEFAULT,
        _ => Cutoff::below(raw.cutoff),
    };
    Ok(Settings {
        text: raw.text.clone(),
        modes: modes(raw),
        format: raw.format,
        destination,
        picture,
        depth,
        has_depth: raw.has_depth,
        interval: Duration::from_millis(u64::try_from(raw.interval).unwrap_or_default().max(1)),
        heap_interval: raw.heap_interval,
        live: raw.live,
        cutoff,
        locks: raw.locks,
        lock_threshold: Duration::from_micros(
            u64::try_from(raw.lock_threshold).unwrap_or_default(),
        ),
        clock: raw.clock,
        include: patterns("include", raw.include.as_deref())?,
        exclude: patterns("exclude", raw.exclude.as_deref())?,
        lineno: raw.lineno,
        thread: raw.thread,
        doe: raw.doe,
        msa: raw.msa,
        force: raw.force,
        has_force: raw.has_force,
        verbose: raw.verbose,
        primfields: raw.primfields,
        primarrays: raw.primarrays,
        logflags: raw.logflags,
        debugflags: raw.debugflags,
        coredump: raw.coredump,
        errorexit: raw.errorexit,
        pause: raw.pause,
        debug: raw.debug,
        netwait: Duration::from_secs(u64::try_from(raw.netwait).unwrap_or_default()),
        exitcmd: raw.exitcmd,
        control: raw.control,
        signal,
        engine: raw.engine,
    })
}

fn modes(raw: &Raw) -> Modes {
    let asked = Modes {
        heap_dump: raw.heap_dump,
        heap_sites: raw.heap_sites,
        cpu_samples: raw.cpu_samples,
        cpu_times: raw.cpu_timing == Some(Timing::Times),
        cpu_old: raw.cpu_timing == Some(Timing::Old),
        monitor: raw.locks.any(),
        by_default: false,
    };
    if asked == Modes::default() {
        return Modes {
            heap_dump: true,
            heap_sites: true,
            by_default: true,
            ..asked
        };
    }
    asked
}

/// The picture that the name of the file selects, unless `format` is given.
fn picture(raw: &Raw, destination: &Destination) -> Result<Option<Picture>, OptionError> {
    let Destination::File(path) = destination else {
        return Ok(None);
    };
    if raw.has_format {
        return Ok(None);
    }
    let Some(picture) = Picture::of_name(path) else {
        return match foreign_end(path) {
            Some(end) => Err(Cause::ForeignFormat {
                end,
                file: path.display().to_string(),
            }
            .into()),
            None => Ok(None),
        };
    };
    let modes = modes(raw);
    let mode = if modes.heap_dump {
        "heap dump"
    } else if modes.cpu_old {
        "profile of cpu=old"
    } else {
        return Ok(Some(picture));
    };
    Err(Cause::NoPicture {
        mode,
        file: path.display().to_string(),
    }
    .into())
}

fn signal(given: Option<&str>) -> Result<Option<i32>, OptionError> {
    match given {
        None | Some("auto") => Ok(None),
        Some(text) => match signals::number(text) {
            Ok(number) => Ok(Some(number)),
            Err(reason) => Err(Cause::BadValue {
                name: "signal",
                rule: "auto, or the name or number of a signal".to_owned(),
                hint: Hint::new(reason),
            }
            .into()),
        },
    }
}

fn patterns(name: &'static str, given: Option<&str>) -> Result<Patterns, OptionError> {
    let parsed = given.map_or_else(|| Ok(Patterns::default()), Patterns::parse);
    parsed.map_err(|reason| {
        Cause::BadValue {
            name,
            rule: "names of classes or packages, with colons between them".to_owned(),
            hint: Hint::new(reason),
        }
        .into()
    })
}

fn destination(raw: &Raw, process: &Process) -> Result<Destination, OptionError> {
    match &raw.destination {
        None => Ok(Destination::File(raw.format.default_file_name().into())),
        Some(RawDestination::File(pattern)) => Ok(Destination::File(
            expand_file_name(pattern, process.pid, process.start).into(),
        )),
        Some(RawDestination::Unix(path)) => Ok(Destination::Unix(path.into())),
        Some(net @ RawDestination::Net { host, port }) => match port.parse::<u16>() {
            Ok(number) if number > 0 => Ok(Destination::Net {
                host: host.clone(),
                port: number,
            }),
            _ => {
                let hint = if port.contains(':') {
                    Hint::new(BRACKETS)
                } else {
                    Hint::NONE
                };
                Err(Cause::InvalidPort {
                    port: port.clone(),
                    net: net.to_string(),
                    hint,
                }
                .into())
            }
        },
    }
}

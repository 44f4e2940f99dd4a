//! Reads the profiles of other tools.
//!
//! [`Kind::of`] recognises a file by how it begins, and [`read`] makes a [`Profile`] of it: stacks
//! and what they cost, as those of HPROF files. Damage does not end the reading: what is there is
//! shown, and each damaged place is listed.

mod builder;
mod collapsed;
mod firefox;
mod frames;
pub mod jfr;
mod json;
mod moments;
mod notes;
pub mod otlp;
mod perf;
mod pprof;
pub mod pyroscope;
mod speedscope;

use std::ops::Range;

use hprof_format::ids::ThreadSerial;
use hprof_stacks::timeline::{Timeline, Window};
use hprof_stacks::{Stacks, Weights};
use thiserror::Error;

pub use notes::{NotShown, Note};

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The JDK's Flight Recorder, or async-profiler's files of that format.
    Jfr,
    /// Lines of frames with semicolons between and a cost.
    Collapsed,
    /// Protocol Buffers for pprof.
    Pprof,
    /// JSON for speedscope.
    Speedscope,
    /// JSON for the Firefox Profiler.
    Firefox,
    /// The text of `perf script`.
    Perf,
    /// OpenTelemetry's profiles: a request of OTLP.
    Otlp,
}

/// Why a file of a known format cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// A recording of a JDK before 11, whose events are laid out otherwise.
    #[error(
        "a recording of version {major}.{minor} of the format, which {}; JDK Mission Control opens it. JDK 11 and \
         later, and OpenJDK 8u262 and later, record in version 2, which is read here",
        written_by(*.major)
    )]
    OldRecording {
        /// The first part of the version.
        major: u16,
        /// The second part.
        minor: u16,
    },
    /// A recording of a version that is not known.
    #[error(
        "a recording of version {major}.{minor} of the format, which is not known: version 2 is read. The head may \
         be damaged; `jfr summary FILE` of the JDK that recorded it shows whether it can be read"
    )]
    UnknownRecording {
        /// The first part of the version.
        major: u16,
        /// The second part.
        minor: u16,
    },
    /// Profiles of OpenTelemetry that are damaged.
    #[error("no profiles of OpenTelemetry can be read: {0}")]
    Otlp(otlp::read::Unread),
    /// Text of which most lines are none of the format.
    #[error(
        "{bad} of {lines} lines are no stacks; one line per stack is expected: its frames with semicolons between, a blank, a number"
    )]
    Lines {
        /// The lines that are none.
        bad: u64,
        /// All lines.
        lines: u64,
    },
}

/// The JDKs that write recordings of a version.
fn written_by(major: u16) -> &'static str {
    match major {
        0 => "JDK 7 and 8 of Oracle write",
        _ => "JDK 9 and 10 write",
    }
}

/// The bytes of a long file that one call of `passed` reports.
const STRETCH: usize = 16 << 20;
/// The part of a file in which its format must show.
const HEAD: usize = 64 << 10;

impl Kind {
    /// The format of a file that begins like this, uncompressed; `None` if it is none of these.
    pub fn of(head: &[u8]) -> Option<Self> {
        let head = &head[..head.len().min(HEAD)];
        let has = |text: &str| head.windows(text.len()).any(|at| at == text.as_bytes());
        if head.starts_with(jfr::MAGIC) {
            return Some(Self::Jfr);
        }
        let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        if start.trim_ascii_start().starts_with(b"{") {
            if has(speedscope::SCHEMA) {
                return Some(Self::Speedscope);
            }
            let is_firefox = has("\"meta\"") && has("\"interval\"");
            return is_firefox.then_some(Self::Firefox);
        }
        if pprof::is_at(head) {
            return Some(Self::Pprof);
        }
        if otlp::is_at(head) {
            return Some(Self::Otlp);
        }
        if collapsed::is_at(head) {
            return Some(Self::Collapsed);
        }
        perf::is_at(head).then_some(Self::Perf)
    }

    /// The name of the format, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jfr => "JDK Flight Recorder",
            Self::Collapsed => "collapsed stacks",
            Self::Pprof => "pprof",
            Self::Speedscope => "speedscope",
            Self::Firefox => "Firefox Profiler",
            Self::Perf => "perf script",
            Self::Otlp => "OpenTelemetry profiles",
        }
    }

    /// True for formats of lines that stand alone, so that one which is skipped spoils no other.
    pub const fn is_of_lines(self) -> bool {
        matches!(self, Self::Collapsed | Self::Perf)
    }
}

/// A thread. Threads of one name are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The serial by which traces refer to it.
    pub serial: ThreadSerial,
    /// Its name.
    pub name: String,
}

/// A damaged place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where, in bytes from the start of the file, if that is known.
    pub offset: Option<u64>,
    /// The bytes that were not read because of it.
    pub lost_bytes: u64,
    /// The damage, as a sentence without a full stop.
    pub message: String,
}

/// A profile of another tool.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its format.
    pub kind: Kind,
    /// When it was begun, in milliseconds since 1970-01-01 UTC.
    pub created_millis: Option<u64>,
    /// The traces.
    pub stacks: Stacks,
    /// The threads to which traces refer.
    pub threads: Vec<Thread>,
    /// Costs, each measure once.
    pub weights: Vec<Weights>,
    /// The first of the damaged places.
    pub damage: Vec<Damage>,
    /// The number of all damaged places.
    pub damaged: u64,
    /// Events of a recording that are no part of a profile.
    pub others: Others,
    /// Limits of the costs.
    pub notes: Vec<Note>,
    /// The time that the file covers, if it says when costs arose.
    pub span: Option<Window>,
    /// Its costs with their times, if they are wanted and the file has times.
    pub timeline: Option<Timeline>,
}

/// The number of events of a recording that are no part of a profile; [`jfr::facts`] reads them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Others {
    /// Garbage collections.
    pub collections: u64,
    /// Thread dumps.
    pub thread_dumps: u64,
}

/// The part of a file to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part {
    /// Only costs of this time, if the file says when costs arose.
    pub window: Option<Window>,
    /// Costs with their times are wanted too; they take 24 bytes each.
    pub with_times: bool,
}

/// The time that a file of a known format covers; `None` if it does not say when costs arose.
pub fn span(file: &[u8], kind: Kind) -> Option<Window> {
    match kind {
        Kind::Jfr => jfr::span(file),
        Kind::Otlp => otlp::span(file),
        Kind::Pprof => pprof::span(file),
        Kind::Collapsed | Kind::Speedscope | Kind::Firefox | Kind::Perf => None,
    }
}

/// Reads a file of a known format. It calls `passed` with each part that was read and is not needed
/// again.
///
/// # Errors
/// If nothing of the file can be read.
pub fn read(
    file: &[u8],
    kind: Kind,
    passed: &mut dyn FnMut(Range<usize>),
) -> Result<Profile, Unreadable> {
    read_part(file, kind, Part::default(), passed)
}

/// Reads a part of a file, as [`read`] does all of it. Files without times have no parts.
///
/// # Errors
/// If nothing of the file can be read.
pub fn read_part(
    file: &[u8],
    kind: Kind,
    part: Part,
    passed: &mut dyn FnMut(Range<usize>),
) -> Result<Profile, Unreadable> {
    match kind {
        Kind::Jfr => jfr::read(file, part, passed),
        Kind::Collapsed => collapsed::read(file, passed),
        Kind::Pprof => Ok(pprof::read_part(file, part, passed)),
        Kind::Otlp => otlp::read_part(file, part, passed),
        Kind::Speedscope => Ok(speedscope::read(file, passed)),
        Kind::Firefox => Ok(firefox::read(file, passed)),
        Kind::Perf => perf::read(file, passed),
    }
}

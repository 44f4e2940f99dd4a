//! The events of a log: the types that both forms of logs are read into.

use serde::{Serialize, Serializer};

/// A duration, or a time since the start of the JVM, in nanoseconds. Serialized as milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The duration in milliseconds.
    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The duration in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// A number of seconds; negative ones and those that are no number are zero.
    pub fn from_seconds(seconds: f64) -> Self {
        // A cast of a float saturates.
        Self((seconds * 1e9).round() as u64)
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.millis())
    }
}

/// A garbage collector of HotSpot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Collector {
    /// One thread, all stopped.
    Serial,
    /// Several threads, all stopped.
    Parallel,
    /// Concurrent mark and sweep, up to JDK 13.
    #[serde(rename = "CMS")]
    Cms,
    /// The default on machines that are not tiny.
    G1,
    /// Concurrent, with one generation or two.
    #[serde(rename = "ZGC")]
    Z,
    /// Concurrent.
    Shenandoah,
    /// Collects nothing.
    Epsilon,
}

impl Collector {
    /// The name that HotSpot's documentation uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "Serial",
            Self::Parallel => "Parallel",
            Self::Cms => "CMS",
            Self::G1 => "G1",
            Self::Z => "ZGC",
            Self::Shenandoah => "Shenandoah",
            Self::Epsilon => "Epsilon",
        }
    }
}

/// Which part of a collector's work a pause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The young generation, or regions of it; with some old ones for mixed pauses.
    Young,
    /// The whole heap.
    Full,
    /// A short pause of a concurrent cycle.
    Phase,
    /// A concurrent cycle of Shenandoah that ends in a pause.
    Degenerated,
}

/// The heap before and after a collection, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HeapChange {
    /// Used before.
    pub before: u64,
    /// Used after.
    pub after: u64,
    /// The size of the heap after it, if the log has it.
    pub capacity: Option<u64>,
}

/// A pause of all application threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pause<'a> {
    /// Its end, since the start of the JVM.
    pub at: Option<Nanos>,
    /// Its kind as the log has it, such as `Young (Normal)`.
    pub kind: Kind<'a>,
    /// The cause, empty if the log has none.
    pub cause: &'a [u8],
    pub family: Family,
    pub duration: Nanos,
    pub heap: Option<HeapChange>,
    /// True if objects could not be copied.
    pub has_failed: bool,
}

/// The parts of the name of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind<'a> {
    pub name: &'a [u8],
    /// In parentheses; empty if there is none.
    pub detail: &'a [u8],
}

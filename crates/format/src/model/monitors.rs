//! Descriptions of monitors and of the threads that use them.

use std::fmt;
use std::str::FromStr;

use crate::ids::{ThreadSerial, TraceSerial};

/// The state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadState {
    /// Not started.
    NotStarted,
    /// Ended.
    Terminated,
    /// Sleeps.
    Sleeping,
    /// Waits to enter a monitor.
    BlockedOnMonitor,
    /// Waits for anything else, such as a notification or a permit to run on.
    Waiting,
    /// Runs, or could.
    Runnable,
    /// None of these.
    Unknown,
}

impl ThreadState {
    const ALL: [Self; 7] = [
        Self::NotStarted,
        Self::Terminated,
        Self::Sleeping,
        Self::BlockedOnMonitor,
        Self::Waiting,
        Self::Runnable,
        Self::Unknown,
    ];

    /// The letters that the text format has for it.
    const fn letters(self) -> &'static str {
        match self {
            Self::NotStarted => "NS",
            Self::Terminated => "ZO",
            Self::Sleeping => "SL",
            Self::BlockedOnMonitor => "MW",
            Self::Waiting => "CW",
            Self::Runnable => "R",
            Self::Unknown => "UN",
        }
    }
}

/// The state of a thread with its modifiers.
///
/// Prints as the text format has it, such as `native|R`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadStatus {
    /// The thread is suspended.
    pub is_suspended: bool,
    /// The thread is interrupted.
    pub is_interrupted: bool,
    /// The thread runs native code.
    pub is_native: bool,
    /// Its state.
    pub state: ThreadState,
}

impl fmt::Display for ThreadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [
            (self.is_suspended, "S|"),
            (self.is_interrupted, "intr|"),
            (self.is_native, "native|"),
        ];
        flags
            .iter()
            .filter(|(is_set, _)| *is_set)
            .try_for_each(|(_, flag)| f.write_str(flag))?;
        f.write_str(self.state.letters())
    }
}

impl FromStr for ThreadStatus {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        let mut status = Self {
            is_suspended: false,
            is_interrupted: false,
            is_native: false,
            state: ThreadState::Unknown,
        };
        let (flags, state) = text.rsplit_once('|').unwrap_or(("", text));
        for flag in flags.split('|').filter(|flag| !flag.is_empty()) {
            match flag {
                "S" => status.is_suspended = true,
                "intr" => status.is_interrupted = true,
                "native" => status.is_native = true,
                _ => return Err(UnknownStatus),
            }
        }
        let states = ThreadState::ALL.into_iter();
        status.state = states
            .clone()
            .find(|it| it.letters() == state)
            .ok_or(UnknownStatus)?;
        Ok(status)
    }
}

/// A text is no status of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no status of a thread, such as R or native|CW")]
pub struct UnknownStatus;

/// A thread in a dump of monitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorThread {
    /// The thread.
    pub serial: ThreadSerial,
    /// Where it is.
    pub trace: TraceSerial,
    /// Its state.
    pub status: ThreadStatus,
}

/// A monitor in a dump of monitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Monitor<'a> {
    /// The signature of the object's class (JVM specification 4.3.2): `Ljava/lang/Object;`.
    pub signature: &'a str,
    /// The thread that owns it and how often that entered it, if one does.
    pub owner: Option<(ThreadSerial, u32)>,
    /// The threads that wait to enter.
    pub entering: &'a [ThreadSerial],
    /// The threads that wait to be notified.
    pub waiting: &'a [ThreadSerial],
}

/// All threads and the monitors in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorDump<'a> {
    /// The threads.
    pub threads: &'a [MonitorThread],
    /// The monitors.
    pub monitors: &'a [Monitor<'a>],
}

/// Time that was lost at one trace to monitors of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorRow<'a> {
    /// Nanoseconds spent waiting to enter.
    pub nanos: u64,
    /// How often a thread had to wait.
    pub count: u64,
    /// The trace.
    pub trace: TraceSerial,
    /// The class of the monitor, as Java source has it.
    pub class_name: &'a str,
    /// How it locks.
    pub lock: LockKind,
}

/// How a lock does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockKind {
    /// It is the monitor of an object, for `synchronized`.
    Monitor,
    /// It is a lock or synchronizer as `java.util.concurrent` has them.
    Synchronizer,
    /// It is a mutex or read-write lock of native code; the function that waits stands for the class.
    Native,
}

impl LockKind {
    /// The last word of a row of `MONITOR TIME` or `NATIVE LOCKS`. The JDK's agents wrote `(Java)` for all.
    pub fn label(self) -> &'static str {
        match self {
            Self::Monitor => "(Java)",
            Self::Synchronizer => "(juc)",
            Self::Native => "(native)",
        }
    }

    /// The kind with a label.
    pub fn with_label(label: &str) -> Option<Self> {
        [Self::Monitor, Self::Synchronizer, Self::Native]
            .into_iter()
            .find(|kind| kind.label() == label)
    }
}

/// All time lost to monitors, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorTable<'a> {
    /// The sum of all rows in nanoseconds, also of those that a cutoff drops.
    pub total_nanos: u64,
    /// One row per trace and class.
    pub rows: &'a [MonitorRow<'a>],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_read_as_it_was_written() {
        for flags in 0..8_u8 {
            for state in ThreadState::ALL {
                let status = ThreadStatus {
                    is_suspended: flags & 1 != 0,
                    is_interrupted: flags & 2 != 0,
                    is_native: flags & 4 != 0,
                    state,
                };
                assert_eq!(status.to_string().parse(), Ok(status));
            }
        }
        for text in ["", "native", "X|R", "native|"] {
            assert_eq!(text.parse::<ThreadStatus>(), Err(UnknownStatus), "{text}");
        }
    }
}

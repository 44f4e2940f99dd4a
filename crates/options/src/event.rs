//! `event=`: events of the kernel, and calls of native functions, by which `cpu=samples` takes samples instead of by CPU time.

use std::fmt;
use std::str::FromStr;

/// An event that the kernel counts for each thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelEvent {
    /// A page of memory is touched that the process has no frame for yet.
    PageFaults,
    /// Such a page that is in memory.
    MinorFaults,
    /// Such a page that is read from a disk.
    MajorFaults,
    /// The thread gives up its CPU, or loses it.
    ContextSwitches,
    /// The thread gets another CPU.
    CpuMigrations,
    /// Time of a CPU, by its clock.
    CpuClock,
    /// Time of a CPU that the thread uses.
    TaskClock,
    /// Cycles of a CPU.
    Cycles,
    /// Instructions that were carried out.
    Instructions,
    /// Loads and stores that reach the last cache.
    CacheReferences,
    /// Loads and stores that the last cache lacks.
    CacheMisses,
    /// Branches.
    Branches,
    /// Branches that the CPU guessed wrong.
    BranchMisses,
    /// A tracepoint of the kernel.
    Tracepoint {
        /// Its group, such as `syscalls`.
        group: String,
        /// Its name, such as `sys_enter_write`.
        name: String,
    },
    /// A call of a function of the JVM or of a library, such as `pthread_mutex_lock`, or
    /// `G1CollectedHeap::humongous_obj_allocate`.
    Function(String),
}

/// An event and how often it is sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSampling {
    /// The event.
    pub event: KernelEvent,
    /// Events between two samples of a thread; of no meaning for clocks, which have `interval=`.
    pub every: u32,
}

/// Words, events, and how many lie between two samples if the options do not say.
const NAMED: [(&str, KernelEvent, u32); 13] = [
    ("page-faults", KernelEvent::PageFaults, 1),
    ("minor-faults", KernelEvent::MinorFaults, 1),
    ("major-faults", KernelEvent::MajorFaults, 1),
    // A sample wakes the thread, which is another switch.
    ("context-switches", KernelEvent::ContextSwitches, 10),
    ("cpu-migrations", KernelEvent::CpuMigrations, 1),
    ("cpu-clock", KernelEvent::CpuClock, 1),
    ("task-clock", KernelEvent::TaskClock, 1),
    ("cycles", KernelEvent::Cycles, 10_000_000),
    ("instructions", KernelEvent::Instructions, 10_000_000),
    ("cache-references", KernelEvent::CacheReferences, 100_000),
    ("cache-misses", KernelEvent::CacheMisses, 10_000),
    ("branches", KernelEvent::Branches, 1_000_000),
    ("branch-misses", KernelEvent::BranchMisses, 10_000),
];

impl KernelEvent {
    /// The events that have a word, without tracepoints.
    pub fn words() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(word, ..)| *word)
    }

    /// Returns true if it is a time: it is sampled by `interval=`.
    #[must_use]
    pub fn is_clock(&self) -> bool {
        matches!(self, Self::CpuClock | Self::TaskClock)
    }

    /// Events between two samples if the options do not say.
    #[must_use]
    pub fn usual(&self) -> u32 {
        let known = NAMED.iter().find(|(_, event, _)| event == self);
        let usual = match known {
            Some((_, _, every)) => *every,
            None if self.is_of_group("sched") => 10,
            None => 1,
        };
        usual.max(self.fewest())
    }

    fn is_of_group(&self, wanted: &str) -> bool {
        matches!(self, Self::Tracepoint { group, .. } if group == wanted)
    }

    /// The fewest events between two samples.
    #[must_use]
    pub fn fewest(&self) -> u32 {
        match self {
            // A sample of each switch would be a switch, without end.
            Self::ContextSwitches => 2,
            Self::Tracepoint { .. } if self.is_of_group("sched") => 2,
            // The handler of the signal makes some of these calls.
            Self::Tracepoint { group, .. } if group == "raw_syscalls" => 1_000,
            Self::Tracepoint { name, .. } if name.contains("_rt_sig") => 1_000,
            Self::Cycles | Self::Instructions | Self::Branches | Self::CacheReferences => 100_000,
            Self::CacheMisses | Self::BranchMisses => 1_000,
            _ => 1,
        }
    }
}

impl fmt::Display for KernelEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tracepoint { group, name } => write!(f, "{group}:{name}"),
            Self::Function(name) => f.write_str(name),
            event => {
                let known = NAMED.iter().find(|(_, it, _)| it == event);
                f.write_str(known.map_or("", |(word, ..)| *word))
            }
        }
    }
}

impl FromStr for KernelEvent {
    type Err = String;

    /// The error says what is expected: "one of ...".
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, event, _)) = NAMED.into_iter().find(|(word, ..)| *word == text) {
            return Ok(event);
        }
        // They become names of folders.
        let is_plain = |part: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            !part.is_empty() && part.bytes().all(is_plain)
        };
        let is_identifier = |part: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            let begins = part.bytes().next().is_some_and(|it| !it.is_ascii_digit());
            begins && part.bytes().all(is_letter)
        };
        let is_mistyped = Self::words().any(|word| word.replace('-', "_") == text);
        if text.split("::").all(is_identifier) && !is_mistyped {
            return Ok(Self::Function(text.to_owned()));
        }
        match text.split_once(':') {
            Some((group, name)) if is_plain(group) && is_plain(name) => Ok(Self::Tracepoint {
                group: group.to_owned(),
                name: name.to_owned(),
            }),
            _ => {
                let words: Vec<&str> = Self::words().collect();
                Err(format!(
                    "one of {}, a tracepoint of the kernel, as syscalls:sys_enter_write, or a function of native code, as \
                     pthread_mutex_lock or G1CollectedHeap::humongous_obj_allocate",
                    words.join(", ")
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_are_written() {
        let others = [
            "syscalls:sys_enter_write",
            "pthread_mutex_lock",
            "G1CollectedHeap::humongous_obj_allocate",
            "_ZN9Arguments5parseEv",
        ];
        for word in KernelEvent::words().chain(others) {
            let event: KernelEvent = word.parse().unwrap();
            assert_eq!(event.to_string(), word);
            assert!(event.usual() >= event.fewest());
        }
        for wrong in [
            "",
            "page-fault",
            "page_faults",
            "1st",
            "a:",
            ":b",
            "../a:b",
            "a:b:c",
            "a:b/c",
            "a::",
            "::b",
            "a::b()",
        ] {
            let why = wrong.parse::<KernelEvent>().unwrap_err();
            assert!(why.contains("page-faults"), "{wrong}: {why}");
        }
    }
}

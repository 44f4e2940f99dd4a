//! The states of threads, as samples and recordings tell them.

use hprof_format::ids::TraceSerial;
use serde::Serialize;

use crate::{Frame, Stacks};

/// The frames, innermost first, that say why a thread waits.
const DEEPEST: usize = 12;
const LOCKS: &str = "java.util.concurrent.locks.";
/// The methods of locks that wait for one. Conditions wait for something else.
const LOCKING: [&str; 5] = [
    "lock",
    "lockInterruptibly",
    "tryLock",
    "readLock",
    "writeLock",
];
/// Classes whose waits and native methods wait for other programs, disks and networks.
const CHANNELS: [&str; 3] = ["sun.nio.ch.", "sun.nio.fs.", "java.net."];
const FILES: [&str; 2] = ["java.io.", "java.lang.Process"];

/// The state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadState {
    /// It has a CPU.
    Running,
    /// It would run, but has no CPU.
    WaitsForCpu,
    /// It wants a monitor or lock.
    WaitsForLock,
    /// It waits for input or output, by its innermost frames.
    InputOutput,
    /// It waits in `Object.wait`, or is parked.
    Waits,
    /// It is in `Thread.sleep`.
    Sleeps,
    /// Native code that it has called waits.
    NativeWaits,
    /// It waits in the VM: for a safepoint, a collection, a class.
    Vm,
    /// A collection stopped the program.
    Collection,
    /// Samples of CPU time only: none was taken, so it did not run, or for less than an interval.
    NotRunning,
    /// No sample was taken.
    Unknown,
}

impl ThreadState {
    /// All states.
    pub const ALL: [Self; 11] = [
        Self::Running,
        Self::WaitsForCpu,
        Self::WaitsForLock,
        Self::InputOutput,
        Self::Waits,
        Self::Sleeps,
        Self::NativeWaits,
        Self::Vm,
        Self::Collection,
        Self::NotRunning,
        Self::Unknown,
    ];

    /// The state at a sample: on the wall clock the agent names it by the outermost frame; a sample of CPU time runs.
    pub fn of(stacks: &Stacks, trace: TraceSerial, is_wall: bool) -> Self {
        if !is_wall {
            return Self::Running;
        }
        let Some(outermost) = stacks.frames_of(trace).last() else {
            return Self::Unknown;
        };
        let outermost = stacks.frame(*outermost);
        let state = match outermost.class_name.is_empty() {
            true => &*outermost.method,
            // states=n leaves it out.
            false => return Self::Unknown,
        };
        match state {
            "[runnable]" => Self::WaitsForCpu,
            "[blocked]" => Self::WaitsForLock,
            "[sleeping]" => Self::Sleeps,
            "[vm]" => Self::Vm,
            "[native]" => Self::in_native(stacks, trace),
            "[waiting]" => Self::parked(stacks, trace),
            "[running]" => Self::Running,
            _ => Self::Unknown,
        }
    }

    /// The state of a thread whose native code waits, by its innermost frames.
    pub fn in_native(stacks: &Stacks, trace: TraceSerial) -> Self {
        let mut inner = innermost(stacks, trace);
        match inner.any(|it| has(&CHANNELS, it) || has(&FILES, it)) {
            true => Self::InputOutput,
            false => Self::NativeWaits,
        }
    }

    /// The state of a thread that is parked, or in `Object.wait`, by its innermost frames.
    pub fn parked(stacks: &Stacks, trace: TraceSerial) -> Self {
        let reason = innermost(stacks, trace).find_map(|frame| match frame {
            _ if has(&CHANNELS, frame) => Some(Self::InputOutput),
            _ if has(&[LOCKS], frame) && LOCKING.contains(&&*frame.method) => {
                Some(Self::WaitsForLock)
            }
            _ => None,
        });
        reason.unwrap_or(Self::Waits)
    }

    /// A word or two for it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::WaitsForCpu => "waiting for a CPU",
            Self::WaitsForLock => "waiting for a lock",
            Self::InputOutput => "input or output",
            Self::Waits => "waiting",
            Self::Sleeps => "sleeping",
            Self::NativeWaits => "native code that waits",
            Self::Vm => "waiting in the VM",
            Self::Collection => "stopped by a collection",
            Self::NotRunning => "not running",
            Self::Unknown => "no sample",
        }
    }

    /// Its place in [`Self::ALL`].
    pub const fn place(self) -> u8 {
        self as u8
    }
}

fn innermost(stacks: &Stacks, trace: TraceSerial) -> impl Iterator<Item = &Frame> {
    let frames = stacks.frames_of(trace).iter().take(DEEPEST);
    frames.map(|&frame| stacks.frame(frame))
}

fn has(prefixes: &[&str], frame: &Frame) -> bool {
    let mut prefixes = prefixes.iter();
    prefixes.any(|prefix| frame.class_name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use hprof_format::model::Line;

    use super::*;
    use crate::Trace;

    /// Stacks by their frames, innermost first, numbered from 1.
    fn stacks(all: &[&[&str]]) -> Stacks {
        let mut stacks = Stacks::default();
        for (serial, frames) in (1..).map(TraceSerial::new).zip(all) {
            let frames = frames.iter().map(|name| {
                let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
                stacks.intern(Frame {
                    class_name: class.into(),
                    method: method.into(),
                    source_file: None,
                    line: Line::Unknown,
                })
            });
            let frames = frames.collect();
            let thread = None;
            stacks.add(serial, Trace { thread, frames });
        }
        stacks
    }

    #[test]
    fn frames_say_the_state() {
        let park = "jdk.internal.misc.Unsafe.park";
        let all: [(&[&str], ThreadState); 11] = [
            (&["acme.A.a"], ThreadState::Unknown),
            (&["acme.A.a", "[running]"], ThreadState::Running),
            (&["acme.A.a", "[runnable]"], ThreadState::WaitsForCpu),
            (&["acme.A.a", "[blocked]"], ThreadState::WaitsForLock),
            (
                &["java.lang.Thread.sleep", "[sleeping]"],
                ThreadState::Sleeps,
            ),
            (&["acme.A.a", "[vm]"], ThreadState::Vm),
            (&["acme.A.a", "[native]"], ThreadState::NativeWaits),
            (
                &["sun.nio.ch.Net.poll", "[native]"],
                ThreadState::InputOutput,
            ),
            (
                &[
                    park,
                    "java.util.concurrent.locks.ReentrantLock.lock",
                    "[waiting]",
                ],
                ThreadState::WaitsForLock,
            ),
            (
                &[park, "sun.nio.ch.NioSocketImpl.park", "[waiting]"],
                ThreadState::InputOutput,
            ),
            (
                &[
                    park,
                    "java.util.concurrent.SynchronousQueue.take",
                    "[waiting]",
                ],
                ThreadState::Waits,
            ),
        ];
        let frames: Vec<&[&str]> = all.iter().map(|it| it.0).collect();
        let stacks = stacks(&frames);
        for (serial, (frames, state)) in (1..).zip(all) {
            let found = ThreadState::of(&stacks, TraceSerial::new(serial), true);
            assert_eq!(found, state, "{frames:?}");
        }
    }
}

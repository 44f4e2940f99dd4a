//! The contents of a thread dump.

use serde::Serialize;

use crate::deadlocks::Deadlock;
use crate::frames::StackId;

/// Where a dump comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// `jstack`, `jcmd PID Thread.print` or `kill -3`.
    Text,
    /// `jcmd PID Thread.dump_to_file -format=json`.
    Json,
    /// `jcmd PID Thread.dump_to_file`.
    Plain,
    /// VisualVM and other tools over JMX, in text.
    Jmx,
    /// `java.lang.management.ThreadInfo`, in text.
    ThreadInfo,
    /// `java.lang.management.ThreadInfo` in JSON: the endpoint `threaddump` of Spring Boot, Jolokia.
    Beans,
    /// The serviceability agent: `jhsdb jstack`, `jstack -F`.
    Agent,
    /// A javacore of OpenJ9.
    Javacore,
    /// The `MONITOR DUMP` of a profile in HPROF's text format.
    Hprof,
}

/// The state of a thread: that of `java.lang.Thread.State`, where the dump has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Runs, or would if there were a processor; also within system calls.
    Runnable,
    /// Waits for a monitor.
    Blocked,
    /// Waits without a limit.
    Waiting,
    /// Waits with a limit, or sleeps.
    TimedWaiting,
    /// Has not begun.
    New,
    /// Has ended.
    Terminated,
    /// A thread of the JVM itself, which has no such state.
    Vm,
    /// Not in the dump.
    Unknown,
}

impl State {
    /// The name in `java.lang.Thread.State`.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "RUNNABLE" => Self::Runnable,
            "BLOCKED" => Self::Blocked,
            "WAITING" => Self::Waiting,
            "TIMED_WAITING" => Self::TimedWaiting,
            "NEW" => Self::New,
            "TERMINATED" => Self::Terminated,
            _ => Self::Unknown,
        }
    }

    /// The name in dumps; `VM` for threads of the JVM.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runnable => "RUNNABLE",
            Self::Blocked => "BLOCKED",
            Self::Waiting => "WAITING",
            Self::TimedWaiting => "TIMED_WAITING",
            Self::New => "NEW",
            Self::Terminated => "TERMINATED",
            Self::Vm => "VM",
            Self::Unknown => "unknown",
        }
    }
}

/// An object that threads lock or wait for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Lock {
    /// Its address, or the hash in JSON dumps.
    pub id: String,
    /// The name of its class.
    pub class: String,
}

impl Lock {
    /// An object as `java.util.concurrent.locks.ReentrantLock$NonfairSync@5e9f23b4`.
    pub(crate) fn of_object(object: &str) -> Self {
        let class = object.rsplit_once('@').map_or(object, |(class, _)| class);
        Self {
            id: object.to_owned(),
            class: class.to_owned(),
        }
    }
}

/// A name of a class or method with dots for the slashes of the VM's own form. A hidden class keeps that before its
/// number: `App$$Lambda/0x00000001`.
pub(crate) fn dotted(name: &str) -> String {
    let mut parts = name.split('/');
    let mut dotted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        dotted.push(if part.starts_with("0x") { '/' } else { '.' });
        dotted.push_str(part);
    }
    dotted
}

/// How a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// To enter a monitor.
    Enter,
    /// In `Object.wait`, to be notified; it has given the monitor back.
    Notify,
    /// Parked, as locks and queues of `java.util.concurrent` do.
    Park,
}

/// The object that a thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The object.
    pub lock: Lock,
    /// How.
    pub kind: WaitKind,
    /// The number of the thread that holds it, where the dump states it (JSON of JDK 24 and later).
    pub owner: Option<u64>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Its number in Java, from 1; threads of the JVM have none.
    pub id: Option<u64>,
    /// Its number for the operating system.
    pub os_id: Option<u64>,
    /// Its state.
    pub state: State,
    /// True if it is a virtual thread.
    pub is_virtual: bool,
    /// CPU time so far, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// The time since its start, in milliseconds.
    pub elapsed_ms: Option<f64>,
    /// The frames, innermost first.
    pub stack: StackId,
    /// The lock that it waits for.
    pub wait: Option<Wait>,
    /// The locks that it holds.
    pub holds: Vec<Lock>,
    /// The pool or scope that it belongs to (JSON and plain dumps).
    pub container: Option<String>,
}

impl Thread {
    pub(crate) fn new(name: &str, stack: StackId) -> Self {
        Self {
            name: name.to_owned(),
            id: None,
            os_id: None,
            state: State::Unknown,
            is_virtual: false,
            cpu_ms: None,
            elapsed_ms: None,
            stack,
            wait: None,
            holds: Vec::new(),
            container: None,
        }
    }

    /// Keeps the first object that the thread is said to wait for.
    pub(crate) fn wait_for(&mut self, lock: Lock, kind: WaitKind, owner: Option<u64>) {
        self.wait.get_or_insert(Wait { lock, kind, owner });
    }

    /// Corrects how it waits where a dump names the object only: `Object.wait` waits to be notified, all else parks.
    pub(crate) fn wait_as_frames_show(&mut self, innermost: &str) {
        if let Some(wait) = &mut self.wait
            && wait.kind != WaitKind::Enter
            && !innermost.is_empty()
        {
            let method = innermost.split('(').next().unwrap_or_default();
            let is_notified = ["Object.wait", "Object.wait0"]
                .iter()
                .any(|it| method.ends_with(it));
            wait.kind = match is_notified {
                true => WaitKind::Notify,
                false => WaitKind::Park,
            };
        }
    }

    /// A thread that waits in `Object.wait` has given the monitor back, and its frames list it all the same.
    pub(crate) fn give_back(&mut self) {
        if let Some(wait) = &self.wait {
            self.holds.retain(|held| *held != wait.lock);
        }
    }

    /// The parts of a thread that stay from one dump to the next.
    pub(crate) fn identity(&self) -> (Option<u64>, Option<u64>, &str) {
        match self.id {
            // The operating system's number is not in every form of dump.
            Some(id) => (Some(id), None, &self.name),
            None => (None, self.os_id, &self.name),
        }
    }
}

/// A dump: all threads at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump {
    /// Its form.
    pub source: Source,
    /// When it was taken, as it says.
    pub time: Option<String>,
    /// The JVM, as it says.
    pub jvm: Option<String>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The deadlocks that the JVM has found.
    pub deadlocks: Vec<Deadlock>,
    /// True if it ends in the middle.
    pub is_cut: bool,
}

impl Dump {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source,
            time: None,
            jvm: None,
            threads: Vec::new(),
            deadlocks: Vec::new(),
            is_cut: false,
        }
    }
}

//! The machine that the server runs on, as a source of JVMs.

use std::fmt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hprof_analysis::contents::Contents;
use hprof_stacks::events::Chunk;
use hprof_wire::control::{Reply, Request};

use super::memory::MemoryNow;

/// A process of this machine, by the number that it has there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub u32);

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The facts about a JVM that can be seen without touching it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JvmFacts {
    /// The process.
    pub pid: Pid,
    /// When the process began, in a unit of the machine: tells it from a later one of that number.
    pub began: u64,
    /// The main class or archive, printable.
    pub name: String,
    /// The version of its JDK, such as `17.0.15`.
    pub version: Option<String>,
    /// The user it runs as.
    pub user: String,
    /// For how many seconds it has run.
    pub uptime: Option<u64>,
    /// The memory that it occupies, in bytes: a heap dump is hardly larger.
    pub resident: u64,
    /// Why nothing can be asked of it, as a sentence.
    pub refusal: Option<String>,
    /// Why it cannot write to a file or socket in the server's folder, as a sentence: it sees another
    /// file system, or runs as another user.
    pub apart: Option<String>,
    /// True if our agent is loaded.
    pub has_agent: bool,
    /// True if it has a file system or process ids of its own.
    pub in_container: bool,
}

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedKind {
    /// There is no such process, no JVM, or no agent in it.
    Missing,
    /// Others may, this user may not.
    Forbidden,
    /// The JVM or the agent says no.
    Refused,
    /// It did not answer in time.
    Late,
    /// The system failed.
    Failed,
}

/// Why the machine did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refused {
    /// The kind.
    pub kind: RefusedKind,
    /// A sentence for people, printable.
    pub text: String,
}

impl Refused {
    /// A refusal.
    pub fn new(kind: RefusedKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}

/// A socket that listens where a JVM can connect to it.
#[derive(Debug)]
pub struct Socket {
    /// The socket.
    pub listener: UnixListener,
    /// Its path, as the JVM has it.
    pub path: PathBuf,
    /// The only process that may connect; any if others have no way to the socket.
    pub process: Option<Pid>,
    /// Takes the name away when dropped.
    pub name: Box<dyn fmt::Debug + Send>,
}

/// The JVMs of this machine. All calls block, each within a limit of its own.
pub trait Machine: fmt::Debug + Send + Sync {
    /// All JVMs that can be told as such.
    ///
    /// # Errors
    /// If processes cannot be listed.
    fn jvms(&self) -> Result<Vec<JvmFacts>, Refused>;
    /// One JVM.
    ///
    /// # Errors
    /// If the process is none.
    fn jvm(&self, pid: Pid) -> Result<JvmFacts, Refused>;
    /// A new socket in a folder that this JVM sees, for one that cannot see the server's
    /// ([`JvmFacts::apart`]).
    ///
    /// # Errors
    /// If there is no such folder that others cannot tamper with.
    fn socket(&self, pid: Pid) -> Result<Socket, Refused>;
    /// Loads the agent with these options.
    ///
    /// # Errors
    /// If it is not at work afterwards.
    fn load_agent(&self, pid: Pid, options: &str) -> Result<(), Refused>;
    /// Sends a request to the agent and waits for its answer, which may be an error of the agent.
    ///
    /// # Errors
    /// If there is no agent, or it does not answer in time.
    fn control(&self, pid: Pid, request: &Request, limit: Duration) -> Result<Reply, Refused>;
    /// The JVM's class histogram as it prints it; of live objects only after a collection.
    ///
    /// # Errors
    /// If the JVM refuses.
    fn histogram(&self, pid: Pid, live: bool) -> Result<String, Refused>;
    /// The JVM's thread dump as it prints it, with locks.
    ///
    /// # Errors
    /// If the JVM refuses.
    fn thread_dump(&self, pid: Pid) -> Result<String, Refused>;
    /// The memory of the JVM's process, accounted for.
    ///
    /// # Errors
    /// If the process may not be looked at.
    fn memory(&self, pid: Pid) -> Result<MemoryNow, Refused>;
    /// Has the JVM write a heap dump to a new file.
    ///
    /// # Errors
    /// If the JVM refuses, or cannot write there.
    fn heap_dump(&self, pid: Pid, file: &Path, live: bool) -> Result<(), Refused>;
    /// The bytes of a profile file with these contents, and the times of its samples.
    ///
    /// # Errors
    /// If there is nothing in them that a profile can hold.
    fn profile_file(&self, contents: &Contents, times: &[Chunk]) -> Result<Vec<u8>, Refused>;
}

//! Locks in a heap dump: which threads wait for which, who holds them, and deadlocks.
//!
//! A dump has no table of locks. A synchronizer of `java.util.concurrent.locks` names its owner
//! (`AbstractOwnableSynchronizer.exclusiveOwnerThread`), and a thread that waits for one names it
//! (`Thread.parkBlocker`): both are exact. Of monitors HotSpot writes neither owner nor waiters. A
//! thread that is blocked has the monitor on its stack, and so has the thread that holds it: see
//! `find.rs` for the inference, which leaves out what is doubtful.

mod find;
mod of_file;
mod of_snapshot;

use serde::{Serialize, Serializer};

use crate::leaks::is_of_the_jdk;
use crate::stacks::{FrameIndex, Stacks};

pub(crate) use find::{LockThread, Parked, locks};
pub use of_file::locks_of_file;

/// The locks for which threads wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Locks {
    /// Threads that wait for each other, those of the largest circle first.
    pub deadlocks: Vec<Deadlock>,
    /// Locks outside of deadlocks that have an owner, those with most waiting threads first.
    pub held: Vec<HeldLock>,
}

/// Threads of which each waits for a lock that the next one holds, and the last one for one of the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deadlock {
    /// The waits, in the order of the circle.
    pub waits: Vec<Wait>,
    /// Further threads that wait for a lock of one of these, or for one that waits for such.
    pub behind: u64,
}

/// A thread that waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The thread.
    pub thread: ThreadName,
    /// The lock.
    pub lock: Lock,
    /// The thread that holds it.
    pub owner: ThreadName,
}

/// A lock with its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldLock {
    /// The lock.
    pub lock: Lock,
    /// The thread that holds it.
    pub owner: ThreadName,
    /// The threads that wait for it.
    pub waiters: Vec<ThreadName>,
}

/// A thread in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadName {
    /// The identifier of the thread object.
    #[serde(serialize_with = "hex")]
    pub object: u64,
    /// Its name.
    pub name: Option<String>,
    /// Its innermost frame of a class that is none of the JDK, or if there is none its innermost.
    pub at: Option<String>,
}

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lock {
    /// The kind.
    pub kind: LockKind,
    /// The class: of the lock, or of the object whose monitor it is.
    pub class: String,
    /// The identifier of the object.
    #[serde(serialize_with = "hex")]
    pub object: u64,
}

/// The kind of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockKind {
    /// The monitor of an object. Owner and waiting threads are inferred from their stacks.
    Monitor,
    /// A synchronizer of `java.util.concurrent.locks`, whose owner its object names.
    Synchronizer,
}

impl Locks {
    /// True if no thread is known to wait for another.
    pub fn is_empty(&self) -> bool {
        self.deadlocks.is_empty() && self.held.is_empty()
    }
}

/// The frame in which a blocked thread waits: the innermost, or that which called `Object.wait`, after which a
/// thread waits for the monitor again. `has_locals` says whether the file has objects of a frame.
fn inner_frame(stacks: &Stacks, frames: &[FrameIndex], has_locals: impl Fn(u32) -> bool) -> u32 {
    let is_wait = |&frame: &FrameIndex| &*stacks.frame(frame).class_name == "java.lang.Object";
    let waits = frames.iter().take_while(|frame| is_wait(frame)).count() as u32;
    (0..waits).rev().find(|&at| has_locals(at)).unwrap_or(waits)
}

/// The frame that says most of what a thread does: the innermost that is none of the JDK.
fn telling(stacks: &Stacks, frames: &[FrameIndex]) -> Option<String> {
    let of_program = |&&frame: &&FrameIndex| !is_of_the_jdk(&stacks.frame(frame).class_name);
    let frame = frames.iter().find(of_program).or(frames.first())?;
    let frame = stacks.frame(*frame);
    Some(format!("{}({})", frame.name(), frame.place()))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn hex<S: Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{id:#x}"))
}

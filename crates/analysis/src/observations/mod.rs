//! Observations about a dump that no single suspect tells: why it was written, threads that wait for
//! each other, memory that no root reaches, entries that cannot go, and memory outside of the heap.
//!
//! [`observations`] is the one place that decides which of them are worth a word. Report, leak
//! suspects, server and assistant show the same list.

mod finalizers;
mod not_reached;
mod unreached;
mod weak_entries;

use serde::Serialize;

use crate::direct_buffers::{DirectMemory, direct_memory};
use crate::locks::{Deadlock, HeldLock};
use crate::out_of_memory::OutOfMemory;
use crate::snapshot::Snapshot;

pub use finalizers::{FinalizerBacklog, FinalizerThread};
pub(crate) use finalizers::{finalizer_classes, is_waiting};
pub use not_reached::NotReached;
pub(crate) use unreached::behind;
pub use weak_entries::WeakEntries;

/// Something that a dump shows.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Observation {
    /// The dump was written because memory had run out.
    OutOfMemory(OutOfMemory),
    /// Threads wait for each other.
    Deadlock(Deadlock),
    /// Threads wait for a lock whose owner is known.
    LockHeld(HeldLock),
    /// Objects wait to be finalized.
    FinalizersWait(FinalizerBacklog),
    /// Much of the heap is not reached from roots.
    NotReached(NotReached),
    /// Entries of a map with weak keys keep their own keys alive.
    WeakEntriesStay(WeakEntries),
    /// Direct buffers or mapped files take memory outside of the heap.
    DirectMemory(DirectMemory),
}

/// Held locks that are listed.
const LOCKS: usize = 5;
/// Direct memory below this share of the live heap, and below [`LEAST_DIRECT`], is not worth a word.
const DIRECT_SHARE: u64 = 10;
/// The bytes of direct memory that are always worth a word.
const LEAST_DIRECT: u64 = 64 << 20;

/// The observations about a dump, the most urgent first.
pub fn observations(snapshot: &Snapshot) -> Vec<Observation> {
    observations_with(snapshot, direct_memory(snapshot))
}

/// As [`observations`], with the direct memory that is known already.
pub fn observations_with(snapshot: &Snapshot, direct: Option<DirectMemory>) -> Vec<Observation> {
    let mut found = Vec::new();
    found.extend(snapshot.out_of_memory().map(Observation::OutOfMemory));
    let locks = snapshot.locks();
    found.extend(locks.deadlocks.into_iter().map(Observation::Deadlock));
    let held = locks.held.into_iter().take(LOCKS);
    found.extend(held.map(Observation::LockHeld));
    let backlog = finalizers::backlog(snapshot);
    let not_reached = not_reached::not_reached(snapshot, backlog.as_ref());
    let is_large = |backlog: &FinalizerBacklog| backlog.is_large(snapshot);
    found.extend(backlog.filter(is_large).map(Observation::FinalizersWait));
    found.extend(not_reached.map(Observation::NotReached));
    let weak = weak_entries::weak_entries(snapshot);
    found.extend(weak.into_iter().map(Observation::WeakEntriesStay));
    let live_bytes = snapshot.dominators().live_bytes();
    let is_large = |memory: &DirectMemory| {
        // Mapped files take no memory of their own, and every JVM maps its modules.
        let bytes = memory.buffers.capacity;
        bytes >= LEAST_DIRECT || bytes > live_bytes / DIRECT_SHARE
    };
    found.extend(direct.filter(is_large).map(Observation::DirectMemory));
    found
}

//! The locks of a dump without its graph.

use std::collections::BTreeMap;

use hprof_format::ids::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{LockThread, Locks, Parked, locks};
use crate::heap::{HeapFile, Local, ThreadFacts, locals};

/// The locks for which threads of a dump wait, with the facts about its threads that
/// [`thread_facts`](crate::heap::thread_facts) has found. Each step is a walk over the file, and is left
/// out where no thread waits.
pub fn locks_of_file(heap: &HeapFile<'_>, facts: &BTreeMap<ObjectId, ThreadFacts>) -> Locks {
    let wanted: FxHashSet<ObjectId> = facts.values().filter_map(|it| it.parked_for).collect();
    let is_blocked = |facts: &ThreadFacts| facts.state == Some("BLOCKED");
    let has_blocked = facts.values().any(is_blocked);
    if wanted.is_empty() && !has_blocked {
        return Locks::default();
    }
    let synchronizers = heap.find(&wanted);
    let stacks = &heap.contents().stacks;
    let held = match has_blocked {
        true => locals(heap),
        false => FxHashMap::default(),
    };
    let mut classes: FxHashMap<u64, String> = FxHashMap::default();
    let mut threads: Vec<LockThread> = Vec::new();
    for thread in &heap.contents().threads {
        let Some(facts) = facts.get(&thread.object) else {
            continue;
        };
        // Those of the JDK's agent are of the threads' starts.
        let is_of_dump = heap.contents().settings.is_none();
        let trace = thread.trace.filter(|_| is_of_dump);
        let trace = trace.and_then(|trace| stacks.trace(trace));
        let frames = trace.map_or(&[][..], |trace| &*trace.frames);
        let own = held.get(&thread.serial).map_or(&[][..], Vec::as_slice);
        let inner = is_blocked(facts).then(|| {
            super::inner_frame(stacks, frames, |at| {
                own.iter().any(|it| it.frame == Some(at))
            })
        });
        for local in own {
            let class = || name_of(heap, local);
            classes.entry(local.object.get()).or_insert_with(class);
        }
        let parked = facts.parked_for.and_then(|id| {
            let object = synchronizers.get(&id)?;
            let owner = heap.reference(object, "exclusiveOwnerThread")?;
            Some(Parked {
                id: id.get(),
                class: heap.class_name(object),
                owner: owner.get(),
            })
        });
        threads.push(LockThread {
            id: thread.object.get(),
            name: thread.name.clone().or_else(|| facts.name.clone()),
            at: super::telling(stacks, frames),
            is_blocked: is_blocked(facts),
            is_timed: facts.state == Some("TIMED_WAITING"),
            parked,
            inner: (own.iter())
                .filter(|local| inner.is_some() && local.frame == inner)
                .map(|local| local.object.get())
                .collect(),
            locals: own.iter().map(|local| local.object.get()).collect(),
        });
    }
    add_owners(&mut threads);
    locks(&threads, |id| classes.get(&id).cloned().unwrap_or_default())
}

/// Owners that are no thread of the file: they have ended, or are virtual threads without a carrier.
fn add_owners(threads: &mut Vec<LockThread>) {
    let mut known: FxHashSet<u64> = threads.iter().map(|thread| thread.id).collect();
    let parked = threads.iter().filter_map(|thread| thread.parked.as_ref());
    let owners: Vec<u64> = parked.map(|parked| parked.owner).collect();
    threads.extend(
        (owners.into_iter().filter(|&owner| known.insert(owner))).map(|id| LockThread {
            id,
            ..LockThread::default()
        }),
    );
}

/// The class of an object, or `class` with the name of the class that it stands for.
fn name_of(heap: &HeapFile<'_>, local: &Local) -> String {
    let named = heap.contents().names.class(local.object);
    named.map_or_else(|| local.class_name.clone(), |name| format!("class {name}"))
}

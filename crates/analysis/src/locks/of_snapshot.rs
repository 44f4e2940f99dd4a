//! The locks of a dump that is open as a graph.

use rustc_hash::FxHashSet;

use super::{LockThread, Locks, Parked, locks};
use crate::contents::Thread;
use crate::graph::NOTHING;
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// The class of all synchronizers that have one owner.
const OWNABLE: &str = "java.util.concurrent.locks.AbstractOwnableSynchronizer";

impl Snapshot {
    /// The locks for which threads wait.
    pub fn locks(&self) -> Locks {
        let mut threads: Vec<LockThread> = (self.named_threads().iter())
            .filter_map(|(thread, object)| Some(self.lock_thread(Some(thread), (*object)?)))
            .collect();
        // The others are virtual threads without a carrier, of which older dumps have no root.
        let known: FxHashSet<u64> = threads.iter().map(|thread| thread.id).collect();
        let others = self.virtual_threads();
        let others = others.filter(|&object| !known.contains(&self.graph().id(object)));
        threads.extend(
            (others.map(|object| self.lock_thread(None, object)))
                .filter(|thread| thread.parked.is_some()),
        );
        self.add_owners(&mut threads);
        let name = |id: u64| {
            let object = self.graph().number(id);
            object.map_or_else(String::new, |object| {
                match self.graph().class_of_object(object) {
                    Some(_) => self.describe(object),
                    None => self.class_name(object).to_owned(),
                }
            })
        };
        locks(&threads, name)
    }

    /// The objects of virtual threads.
    pub(crate) fn virtual_threads(&self) -> impl Iterator<Item = ObjectNumber> + '_ {
        let graph = self.graph();
        let classes = graph.classes();
        let class = (classes.numbers()).find(|&it| {
            let class = classes.get(it);
            class.is_described && class.loader == 0 && class.name == "java.lang.VirtualThread"
        });
        let all = class.map(|_| graph.objects()).into_iter().flatten();
        all.filter(move |&object| Some(graph.class_of(object)) == class)
    }

    /// Owners that are no root: threads that have ended, and virtual threads without a carrier.
    fn add_owners(&self, threads: &mut Vec<LockThread>) {
        let mut known: FxHashSet<u64> = threads.iter().map(|thread| thread.id).collect();
        let parked = threads.iter().filter_map(|thread| thread.parked.as_ref());
        let owners: Vec<u64> = parked.map(|parked| parked.owner).collect();
        for owner in owners {
            if known.insert(owner)
                && let Some(object) = self.graph().number(owner)
            {
                threads.push(self.lock_thread(None, object));
            }
        }
    }

    fn lock_thread(&self, thread: Option<&Thread>, object: ObjectNumber) -> LockThread {
        let (graph, stacks) = (self.graph(), &self.contents().stacks);
        // Those of the JDK's agent are of the threads' starts.
        let is_of_dump = self.contents().settings.is_none();
        let trace = thread
            .filter(|_| is_of_dump)
            .and_then(|thread| stacks.trace(thread.trace?));
        let frames = trace.map_or(&[][..], |trace| &*trace.frames);
        let state = self.thread_state(object);
        let is_blocked = state == Some("BLOCKED");
        let locals = graph.locals();
        let start = locals.partition_point(|local| local.0 < object);
        let own = locals[start..].iter().take_while(|local| local.0 == object);
        let mut own: Vec<(u32, u32, u64)> = own
            .map(|(_, root)| (root.frame, root.trace, graph.id(root.object())))
            .collect();
        own.sort_unstable();
        let inner = match is_blocked {
            true => super::inner_frame(stacks, frames, |at| own.iter().any(|it| it.0 == at)),
            false => NOTHING,
        };
        let in_inner = own
            .iter()
            .filter(|(frame, ..)| *frame == inner && inner != NOTHING);
        LockThread {
            id: graph.id(object),
            name: thread
                .and_then(|thread| thread.name.clone())
                .or_else(|| self.thread_name(object)),
            at: super::telling(stacks, frames),
            is_blocked,
            is_timed: state == Some("TIMED_WAITING"),
            parked: self.parked(object),
            inner: in_inner.map(|(.., id)| *id).collect(),
            locals: own.iter().map(|(.., id)| *id).collect(),
        }
    }

    fn parked(&self, thread: ObjectNumber) -> Option<Parked> {
        let lock = self.field_object(thread, "parkBlocker")?;
        let graph = self.graph();
        if !graph.classes().is_a(graph.class_of(lock), OWNABLE) {
            return None;
        }
        let owner = self.field_object(lock, "exclusiveOwnerThread")?;
        Some(Parked {
            id: graph.id(lock),
            class: self.class_name(lock).to_owned(),
            owner: graph.id(owner),
        })
    }
}

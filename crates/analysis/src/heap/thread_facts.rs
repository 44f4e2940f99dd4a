//! Reads what the thread objects of a dump tell: names, states, and the objects on stacks.
//!
//! Only the JDK's agent writes records with thread names. In the dumps of VMs the name is a field
//! of the thread object: `name`, a `String` (a `char[]` up to JDK 8), whose `value` is a `char[]`
//! or since JDK 9 a `byte[]` (JEP 254). Since JDK 19 what virtual threads lack is in an object of
//! its own, `holder` (JEP 425).

use hprof_format::binary::SubRecord;
use hprof_format::ids::{ObjectId, ThreadSerial};
use hprof_format::model::RootKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::objects::{HeapFile, Object};

/// The facts about a thread in a dump.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadFacts {
    /// Its name.
    pub name: Option<String>,
    /// The name of its group.
    pub group: Option<String>,
    /// Its state, named as in `java.lang.Thread.State`; `SLEEPING` is separate from other
    /// timed waiting.
    pub state: Option<&'static str>,
    /// True for threads that do not keep the VM alive.
    pub is_daemon: bool,
    /// 1 to 10.
    pub priority: Option<i32>,
    /// True for virtual threads.
    pub is_virtual: bool,
    /// The object for which it is parked (`LockSupport.park(Object)`).
    pub parked_for: Option<ObjectId>,
}

/// An object that a frame of a thread's stack refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Local {
    /// The place of the frame in the stack, 0 being the innermost; `None` if the file does not
    /// tell.
    pub frame: Option<u32>,
    /// The object.
    pub object: ObjectId,
    /// The name of its class, as Java source has it.
    pub class_name: String,
    /// The elements of an array.
    pub length: Option<u64>,
    /// The text of a string.
    pub text: Option<String>,
    /// True if native code holds the object, not Java code.
    pub is_native: bool,
}

/// The facts in thread objects, by object.
pub fn thread_facts(heap: &HeapFile<'_>) -> FxHashMap<ObjectId, ThreadFacts> {
    let threads = &heap.dump().census.threads;
    let threads = heap.find(&threads.iter().map(|thread| thread.0).collect());
    let holder_of = |thread: &Object| heap.reference(thread, "holder");
    let holders = heap.find(&threads.values().filter_map(holder_of).collect());
    let part = |thread: &Object| holder_of(thread).and_then(|holder| holders.get(&holder));
    let group_of = |thread: &Object| {
        let own = heap.reference(thread, "group");
        own.or_else(|| heap.reference(part(thread)?, "group"))
    };
    let groups = heap.find(&threads.values().filter_map(group_of).collect());
    let named = threads.values().chain(groups.values());
    let names: FxHashSet<ObjectId> = named
        .filter_map(|object| heap.reference(object, "name"))
        .collect();
    let names = heap.texts(&names);
    let name_of = |object: &Object| names.get(&heap.reference(object, "name")?).cloned();
    let facts = threads.iter().map(|(&id, thread)| {
        let holder = part(thread);
        let int = |name: &str| {
            let own = heap.int(thread, name);
            own.or_else(|| heap.int(holder?, name))
        };
        let is_daemon = heap
            .boolean(thread, "daemon")
            .or_else(|| heap.boolean(holder?, "daemon"));
        let is_virtual = is_virtual(&heap.class_name(thread));
        let facts = ThreadFacts {
            name: name_of(thread),
            group: group_of(thread).and_then(|group| name_of(groups.get(&group)?)),
            state: int("threadStatus").filter(|_| !is_virtual).and_then(state),
            is_daemon: is_daemon.unwrap_or(is_virtual),
            priority: int("priority"),
            is_virtual,
            parked_for: heap.reference(thread, "parkBlocker"),
        };
        (id, facts)
    });
    facts.collect()
}

pub(crate) fn is_virtual(class_name: &str) -> bool {
    matches!(
        class_name,
        "java.lang.VirtualThread" | "java.lang.ThreadBuilders$BoundVirtualThread"
    )
}

/// The state in words. HotSpot keeps the bits of JVMTI's `GetThreadState` in `threadStatus`.
pub(crate) fn state(status: i32) -> Option<&'static str> {
    const TERMINATED: i32 = 0x2;
    const RUNNABLE: i32 = 0x4;
    const WAITING_INDEFINITELY: i32 = 0x10;
    const WAITING_WITH_TIMEOUT: i32 = 0x20;
    const SLEEPING: i32 = 0x40;
    const BLOCKED: i32 = 0x400;
    let words = [
        (RUNNABLE, "RUNNABLE"),
        (BLOCKED, "BLOCKED"),
        (WAITING_INDEFINITELY, "WAITING"),
        (SLEEPING, "SLEEPING"),
        (WAITING_WITH_TIMEOUT, "TIMED_WAITING"),
        (TERMINATED, "TERMINATED"),
    ];
    if status == 0 {
        return Some("NEW");
    }
    let found = words.iter().find(|(bit, _)| status & bit != 0);
    found.map(|&(_, word)| word)
}

/// The objects that stacks refer to, by thread, those of inner frames first.
pub fn locals(heap: &HeapFile<'_>) -> FxHashMap<ThreadSerial, Vec<Local>> {
    let mut roots = Vec::new();
    heap.walk(|sub_record| {
        if let SubRecord::Root(root) = sub_record {
            match root.kind {
                RootKind::JavaFrame { thread, frame } => {
                    roots.push((thread, frame, root.object, false));
                }
                RootKind::JniLocal { thread, frame } => {
                    roots.push((thread, frame, root.object, true));
                }
                _ => {}
            }
        }
        true
    });
    let objects = heap.find(&roots.iter().map(|root| root.2).collect());
    let texts = heap.texts_of(&objects);
    let mut all: FxHashMap<ThreadSerial, Vec<Local>> = FxHashMap::default();
    for (thread, frame, object, is_native) in roots {
        let found = objects.get(&object);
        let length = match found {
            Some(Object::Objects { length, .. }) => Some(*length as u64),
            Some(Object::Primitives { element, values }) => {
                Some((values.len() / element.width(heap.id_size())) as u64)
            }
            _ => None,
        };
        let is_array = length.is_some();
        all.entry(thread).or_default().push(Local {
            frame,
            object,
            class_name: found.map_or_else(|| "<unknown>".to_owned(), |o| heap.class_name(o)),
            length,
            text: texts.get(&object).filter(|_| !is_array).cloned(),
            is_native,
        });
    }
    for locals in all.values_mut() {
        // Frames that are not told come last; equal ones stay in the order of the file.
        locals.sort_by_key(|local| local.frame.unwrap_or(u32::MAX));
        locals.dedup();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_thread_state() {
        // What HotSpot's javaThreadStatus.hpp makes of the bits.
        for (status, word) in [
            (0, "NEW"),
            (5, "RUNNABLE"),
            (225, "SLEEPING"),
            (401, "WAITING"),
            (417, "TIMED_WAITING"),
            (657, "WAITING"),
            (673, "TIMED_WAITING"),
            (1025, "BLOCKED"),
            (2, "TERMINATED"),
        ] {
            assert_eq!(state(status), Some(word), "{status}");
        }
        assert_eq!(state(1 << 30), None);
    }
}

//! Objects that are dead and wait for their `finalize` method, and the thread that calls it.
//!
//! The VM makes a `java.lang.ref.Finalizer` for each object with such a method, and puts it into a
//! queue once the object is dead. One thread takes them out and calls the methods, one after another. While
//! one method runs, the other objects wait, and keep alive whatever they refer to.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::behind;
use crate::leaks::ClassShare;
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::snapshot::{Snapshot, Value};

/// Objects that wait to be finalized.
#[derive(Debug, Clone, Serialize)]
pub struct FinalizerBacklog {
    /// Their number.
    pub waiting: u64,
    /// The bytes that only they hold, their own included: the queue keeps these from being freed.
    pub held_bytes: u64,
    /// By class, with the bytes that objects of the class hold; those that hold most first.
    pub classes: Vec<ClassShare>,
    /// The thread that finalizes, if the dump has it.
    pub thread: Option<FinalizerThread>,
}

/// The thread that finalizes.
#[derive(Debug, Clone, Serialize)]
pub struct FinalizerThread {
    /// Its name.
    pub name: Option<String>,
    /// Its state, named as in `java.lang.Thread.State`.
    pub state: Option<&'static str>,
    /// The methods on its stack, innermost first.
    pub stack: Vec<String>,
    /// The `finalize` method that it is in.
    pub in_method: Option<String>,
}

/// Fewer objects that hold little are the work of the moment.
const MANY: u64 = 10_000;
/// The share of the heap that is worth a word.
const SHARE: u64 = 100;
/// Classes that are listed.
const CLASSES: usize = 10;

impl FinalizerBacklog {
    /// True if the objects that wait are worth an observation, by number or by size.
    pub(super) fn is_large(&self, snapshot: &Snapshot) -> bool {
        let all = 8 * snapshot.graph().sizes().total();
        self.waiting >= MANY || self.held_bytes > all / SHARE
    }
}

/// By class: whether its objects are finalizers.
pub(crate) fn finalizer_classes(snapshot: &Snapshot) -> Vec<bool> {
    let classes = snapshot.graph().classes();
    let is_finalizer = |class: ClassNumber| {
        classes.is_a(class, "java.lang.ref.FinalReference")
            || classes.is_a(class, "java.lang.ref.FinalizerReference")
    };
    classes.numbers().map(is_finalizer).collect()
}

/// True if a finalizer waits for its turn: its `queue` is no longer the queue it was registered with
/// (`ReferenceQueue.ENQUEUED` or `NULL`), or the collector has linked it to the next one.
pub(crate) fn is_waiting(snapshot: &Snapshot, finalizer: ObjectNumber) -> bool {
    let queue = snapshot.field_object(finalizer, "queue");
    let is_enqueued = queue
        .is_some_and(|queue| snapshot.class_name(queue) == "java.lang.ref.ReferenceQueue$Null");
    is_enqueued
        || matches!(
            snapshot.field(finalizer, "discovered"),
            Some(Value::Object(_))
        )
}

/// The objects of a dump that wait to be finalized; `None` if none does.
pub(super) fn backlog(snapshot: &Snapshot) -> Option<FinalizerBacklog> {
    let graph = snapshot.graph();
    let finalizers = graph.objects_of(&finalizer_classes(snapshot));
    let waiting: Vec<ObjectNumber> = (finalizers.into_iter())
        .filter(|&finalizer| is_waiting(snapshot, finalizer))
        .filter_map(|finalizer| snapshot.field_object(finalizer, "referent"))
        .collect();
    if waiting.is_empty() {
        return None;
    }
    let mut held_bytes = 0;
    let mut by_class: FxHashMap<ClassNumber, (u64, u64)> = FxHashMap::default();
    for &object in &waiting {
        by_class.entry(graph.class_of(object)).or_default().0 += 1;
    }
    behind(snapshot, &waiting, |start, object| {
        let bytes = graph.size(object);
        held_bytes += bytes;
        by_class
            .entry(graph.class_of(waiting[start]))
            .or_default()
            .1 += bytes;
    });
    let mut classes: Vec<ClassShare> = (by_class.into_iter())
        .map(|(class, (objects, bytes))| ClassShare {
            name: graph.classes().get(class).name.clone(),
            objects,
            bytes,
        })
        .collect();
    classes.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    classes.truncate(CLASSES);
    Some(FinalizerBacklog {
        waiting: waiting.len() as u64,
        held_bytes,
        classes,
        thread: thread(snapshot),
    })
}

fn thread(snapshot: &Snapshot) -> Option<FinalizerThread> {
    let threads = snapshot
        .graph()
        .roots()
        .iter()
        .filter(|root| root.is_thread());
    let mut finalizing = threads.filter(|root| {
        let class = snapshot.class_name(root.object());
        matches!(
            class,
            "java.lang.ref.Finalizer$FinalizerThread" | "java.lang.Daemons$FinalizerDaemon"
        )
    });
    let root = finalizing.next()?;
    let frames = snapshot.frames(root.thread).unwrap_or_default();
    let in_method = frames
        .iter()
        .rev()
        .find(|frame| &*frame.method == "finalize");
    Some(FinalizerThread {
        name: snapshot.thread_name(root.object()),
        state: snapshot.thread_state(root.object()),
        stack: snapshot.stack(root.thread).unwrap_or_default(),
        in_method: in_method.map(|frame| format!("{}({})", frame.name(), frame.place())),
    })
}

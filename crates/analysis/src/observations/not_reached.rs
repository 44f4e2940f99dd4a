//! Memory that no root reaches, and why.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::FinalizerBacklog;
use crate::leaks::ClassShare;
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::parallel;
use crate::snapshot::Snapshot;

/// Memory that no root of a dump reaches.
#[derive(Debug, Clone, Serialize)]
pub struct NotReached {
    /// The objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The share of all bytes of the dump, from 0 to 1.
    pub share: f64,
    /// The bytes of these that objects hold which wait to be finalized.
    pub finalizable_bytes: u64,
    /// The bytes of these that values of `ClassValue`s hold. Class objects hold them, by a field that dumps lack.
    pub class_value_bytes: u64,
    /// The class of most of these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_value_class: Option<String>,
    /// The bytes of these in `int[]` that no object refers to. HotSpot covers dead regions with such arrays (`CollectedHeap::fill_with_objects`),
    /// and a dump has no mark that distinguishes them from arrays of the program.
    pub filler_bytes: u64,
    /// Virtual threads without a carrier whose frames the dump lacks. What only these hold is among the objects.
    pub threads_without_frames: u64,
    /// True if the Serviceability Agent wrote the dump (`jhsdb`), which cannot collect before.
    pub is_of_serviceability_agent: bool,
    /// The classes that take most.
    pub classes: Vec<ClassShare>,
}

/// The share of all bytes that is worth a word.
const SHARE: f64 = 0.1;
/// The class of the maps in which class objects hold values of `ClassValue`s.
const CLASS_VALUES: &str = "java.lang.ClassValue$ClassValueMap";
/// Classes that are listed.
const CLASSES: usize = 3;
/// Objects in one task.
const TASK: usize = 1 << 16;

/// The memory that no root of a dump reaches; `None` if it is little.
pub(super) fn not_reached(
    snapshot: &Snapshot,
    backlog: Option<&FinalizerBacklog>,
) -> Option<NotReached> {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let all = 8 * graph.sizes().total();
    let bytes = all - dominators.live_bytes();
    let share = bytes as f64 / all.max(1) as f64;
    // Without roots nothing says what is garbage.
    if share < SHARE || dominators.is_empty() {
        return None;
    }
    let (class_value_bytes, class_value_class) = class_values(snapshot);
    Some(NotReached {
        objects: (graph.len() - dominators.len()) as u64,
        bytes,
        share,
        finalizable_bytes: backlog.map_or(0, |backlog| backlog.held_bytes),
        class_value_bytes,
        class_value_class,
        filler_bytes: fillers(snapshot),
        threads_without_frames: threads_without_frames(snapshot),
        is_of_serviceability_agent: is_of_serviceability_agent(snapshot),
        classes: classes(snapshot),
    })
}

/// The bytes that maps of `ClassValue`s hold among the objects that are not reached, with the class of most of their
/// values. HotSpot writes no instance fields of class objects, `Class.classValueMap` among them (`heapDumper.cpp`).
fn class_values(snapshot: &Snapshot) -> (u64, Option<String>) {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let mut classes = graph.classes().numbers();
    let Some(map) = classes.find(|&it| graph.classes().get(it).name == CLASS_VALUES) else {
        return (0, None);
    };
    let is_lost = |object: ObjectNumber| dominators.place(object).is_none();
    let maps = graph
        .objects()
        .filter(|&it| graph.class_of(it) == map && is_lost(it));
    let mut todo: Vec<ObjectNumber> = maps.collect();
    let mut seen: FxHashSet<ObjectNumber> = todo.iter().copied().collect();
    let mut values: FxHashMap<ClassNumber, u64> = FxHashMap::default();
    let mut bytes = 0;
    while let Some(object) = todo.pop() {
        bytes += graph.size(object);
        if snapshot.class_name(object) == "java.lang.ClassValue$Entry"
            && let Some(value) = snapshot.field_object(object, "value")
        {
            *values.entry(graph.class_of(value)).or_default() += 1;
        }
        let below = graph.references(object).into_iter();
        todo.extend(below.filter(|&it| is_lost(it) && seen.insert(it)));
    }
    let main = values
        .into_iter()
        .max_by_key(|&(class, count)| (count, Reverse(class)));
    let class = main.map(|(class, _)| graph.classes().get(class).name.clone());
    (bytes, class)
}

/// The bytes in `int[]` that nothing refers to, not even objects that are not reached themselves.
fn fillers(snapshot: &Snapshot) -> u64 {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let mut classes = graph.classes().numbers();
    let Some(ints) = classes.find(|&it| graph.classes().get(it).name == "int[]") else {
        return 0;
    };
    let lost = || {
        let objects = graph.objects();
        objects.filter(|&object| dominators.place(object).is_none())
    };
    let mut arrays: FxHashSet<ObjectNumber> =
        lost().filter(|&it| graph.class_of(it) == ints).collect();
    if arrays.is_empty() {
        return 0;
    }
    for to in lost().flat_map(|object| graph.references(object)) {
        arrays.remove(&to);
    }
    arrays.into_iter().map(|it| graph.size(it)).sum()
}

/// Virtual threads that have a stack in the heap and no root: HotSpot writes these threads and the
/// objects of their frames since JDK-8299426 only.
fn threads_without_frames(snapshot: &Snapshot) -> u64 {
    let graph = snapshot.graph();
    let roots = graph.roots().iter().filter(|root| root.is_thread());
    let roots: FxHashSet<ObjectNumber> = roots.map(|root| root.object()).collect();
    let has_frames = |&thread: &ObjectNumber| {
        let chunk = (snapshot.field_object(thread, "cont"))
            .and_then(|continuation| snapshot.field_object(continuation, "tail"));
        let number = |name| snapshot.field(chunk?, name)?.integer();
        chunk.is_some() && number("sp").is_none_or(|sp| number("size").is_none_or(|size| sp < size))
    };
    let parked = snapshot.virtual_threads().filter(|thread| {
        !roots.contains(thread) && snapshot.field_object(*thread, "carrierThread").is_none()
    });
    parked.filter(has_frames).count() as u64
}

/// The Serviceability Agent names an empty trace in each root of a thread (`HeapHprofBinWriter.java`), other
/// writers one trace for each.
fn is_of_serviceability_agent(snapshot: &Snapshot) -> bool {
    let roots = || {
        snapshot
            .graph()
            .roots()
            .iter()
            .filter(|root| root.is_thread())
    };
    let Some(first) = roots().next() else {
        return false;
    };
    let contents = snapshot.contents();
    if contents.settings.is_some() || snapshot.graph().is_android() {
        return false;
    }
    let stacks = &contents.stacks;
    let trace = hprof_format::ids::TraceSerial::new(first.trace);
    roots().count() > 1
        && roots().all(|root| root.trace == first.trace)
        && stacks.frames_of(trace).is_empty()
        && stacks
            .traces()
            .iter()
            .any(|(_, trace)| !trace.frames.is_empty())
}

/// The classes of the objects that are not reached, those that take most first.
fn classes(snapshot: &Snapshot) -> Vec<ClassShare> {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let count = graph.classes().list().len();
    let parts = parallel::run(0, graph.len().div_ceil(TASK), |tasks| {
        let mut sums = vec![(0u64, 0u64); count];
        for task in tasks {
            let objects = task * TASK..((task + 1) * TASK).min(graph.len());
            for object in objects.map(ObjectNumber::new) {
                if dominators.place(object).is_none() {
                    let sum = &mut sums[graph.class_of(object).index()];
                    *sum = (sum.0 + 1, sum.1 + graph.size(object));
                }
            }
        }
        sums
    });
    let sum = |class: usize| {
        parts.iter().fold((0, 0), |sum, part| {
            (sum.0 + part[class].0, sum.1 + part[class].1)
        })
    };
    let mut classes: Vec<ClassShare> = (graph.classes().numbers())
        .map(|class| {
            let (objects, bytes) = sum(class.index());
            let name = graph.classes().get(class).name.clone();
            ClassShare {
                name,
                objects,
                bytes,
            }
        })
        .filter(|share| share.bytes > 0)
        .collect();
    classes.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    classes.truncate(CLASSES);
    classes
}

//! References that wait in a queue until a thread takes them out: what they hold stays for as long.

use std::cmp::Reverse;
use std::io;

use rustc_hash::{FxHashMap, FxHashSet};

use super::candidates::LIST;
use super::filling::{Filling, Within};
use super::find::Search;
use super::finding::{Finding, OwnField, Subject, own_field};
use crate::numbers::{ObjectNumber, Place};
use crate::paths::Path;

/// References of one queue that are looked at.
const MANY: usize = 1 << 18;

/// References that wait in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Their number.
    pub references: u64,
    /// The class of the objects that most of them hold, with the number of these; none if they hold nothing else.
    pub held: Option<Within>,
    /// The field of the program that leads to the queue.
    pub field: Option<OwnField>,
    /// The thread that has the queue on its stack, or the object around it.
    pub thread: Option<Poller>,
}

/// A thread that takes references out of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poller {
    /// Its name.
    pub name: String,
    /// The innermost method on its stack that is not of the JDK.
    pub method: Option<String>,
}

impl Search<'_> {
    /// The references of a suspect that wait in a queue: those of its own class, or of what fills it. `None` if most do not.
    pub fn waiting(&self, finding: &Finding, count: u64) -> io::Result<Option<Waiting>> {
        let (class, all) = match (&finding.subject, &finding.filling) {
            (Subject::Group(class) | Subject::Alike(class), _) => (class, count),
            (_, Some(Filling::Objects { objects, class, .. })) => (class, *objects),
            _ => return Ok(None),
        };
        let snapshot = self.snapshot;
        let (graph, classes) = (snapshot.graph(), snapshot.graph().classes());
        let mut list = classes.list().iter();
        if !list.any(|it| it.reference_kind.is_some() && it.name == *class) {
            return Ok(None);
        }
        let queues: Vec<bool> = (classes.numbers())
            .map(|it| classes.is_a(it, "java.lang.ref.ReferenceQueue"))
            .collect();
        let queues = graph.objects_of(&queues).into_iter();
        let waiting = queues.map(|queue| (queue, self.in_queue(queue, class)));
        let longest = waiting.max_by_key(|(queue, it)| (it.len(), Reverse(*queue)));
        let is_most = |number: u64| number >= LIST && 2 * number >= all;
        let Some((queue, references)) = longest.filter(|(_, it)| is_most(it.len() as u64)) else {
            return Ok(None);
        };
        let path = self.paths.to(snapshot, queue)?;
        Ok(Some(Waiting {
            references: references.len() as u64,
            held: self.held_by(&references),
            field: path.and_then(|way| own_field(snapshot, &Path::new(snapshot, &way), &way)),
            thread: self.poller(queue),
        }))
    }

    /// The references of a class in a queue.
    fn in_queue(&self, queue: ObjectNumber, class: &str) -> Vec<ObjectNumber> {
        let snapshot = self.snapshot;
        let mut seen = FxHashSet::default();
        let mut found = Vec::new();
        let mut next = snapshot.field_object(queue, "head");
        // The last one refers to itself.
        while let Some(at) = next.filter(|&it| seen.len() < MANY && seen.insert(it)) {
            if snapshot.class_name(at) == class {
                found.push(at);
            }
            next = snapshot.field_object(at, "next");
        }
        found
    }

    /// The objects that references keep alive by themselves, by the class of which there are most.
    fn held_by(&self, references: &[ObjectNumber]) -> Option<Within> {
        let snapshot = self.snapshot;
        let dominators = snapshot.dominators();
        let graph = snapshot.graph();
        let is_reference = |place: &Place| {
            let class = graph.class_of(dominators.object(*place));
            graph.classes().get(class).reference_kind.is_some()
        };
        let mut counts: FxHashMap<&str, u64> = FxHashMap::default();
        for place in references.iter().filter_map(|&it| dominators.place(it)) {
            // A list of references may be kept by its first one alone.
            let fields = dominators.children(Some(place));
            let fields = fields.filter(|it| !is_reference(it));
            if let Some(held) = fields.max_by_key(|&it| (dominators.retained(it), Reverse(it))) {
                let class = snapshot.class_name(dominators.object(held));
                *counts.entry(class).or_default() += 1;
            }
        }
        let (class, objects) =
            (counts.into_iter()).max_by_key(|(class, objects)| (*objects, Reverse(*class)))?;
        (2 * objects >= references.len() as u64).then(|| Within {
            objects: Some(objects),
            class: class.to_owned(),
        })
    }

    /// The thread on whose stack a queue is, or an object that refers to it.
    fn poller(&self, queue: ObjectNumber) -> Option<Poller> {
        let snapshot = self.snapshot;
        let graph = snapshot.graph();
        let leads_to_it = |object: ObjectNumber| {
            let class = graph.classes().get(graph.class_of(object));
            let is_owner = || {
                class.reference_kind.is_none()
                    && !class.name.ends_with("[]")
                    && graph.class_of_object(object).is_none()
                    && graph.references(object).contains(&queue)
            };
            object == queue || is_owner()
        };
        let mut locals = graph.locals().iter();
        let (thread, _) = locals.find(|(_, local)| leads_to_it(local.object()))?;
        Some(Poller {
            name: snapshot.thread_name(*thread).unwrap_or_default(),
            method: self.own_method(*thread),
        })
    }
}

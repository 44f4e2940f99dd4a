//! Ways from the static fields of the program to what is held in several ways: the field leads to the line of code,
//! and the stack of a thread of the JDK that uses the object for a moment does not. A static field of the JDK is
//! second best.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::start::{is_of_the_jdk, is_own_class};
use crate::graph::ClassKind;
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// References that are followed at most, for all questions together: some hundredths of a second.
const BUDGET: usize = 1 << 20;
/// Objects with more references than this are followed last: what holds all is near the fields.
const MANY: usize = 256;

/// A search from the static fields of the classes of the program, or of the JDK, which goes on when the next object is asked for.
pub(super) struct Ways<'a> {
    snapshot: &'a Snapshot,
    /// True if the search begins with classes of the JDK instead of those of the program.
    is_of_jdk: bool,
    /// By object that is reached: the one before it, itself for classes.
    before: FxHashMap<ObjectNumber, ObjectNumber>,
    next: VecDeque<ObjectNumber>,
    last: VecDeque<Vec<(ObjectNumber, ObjectNumber)>>,
    budget: usize,
    has_begun: bool,
}

impl<'a> Ways<'a> {
    pub fn new(snapshot: &'a Snapshot, is_of_jdk: bool) -> Self {
        Self {
            snapshot,
            is_of_jdk,
            before: FxHashMap::default(),
            next: VecDeque::new(),
            last: VecDeque::new(),
            budget: BUDGET,
            has_begun: false,
        }
    }

    /// The objects on a way to one, from one of the classes on; `None` if none is near.
    pub fn to(&mut self, object: ObjectNumber) -> Option<Vec<ObjectNumber>> {
        self.begin();
        while !self.before.contains_key(&object) {
            if let Some(at) = self.next.pop_front() {
                self.follow(at);
            } else {
                for (from, to) in self.last.pop_front()? {
                    self.reach(from, to);
                }
            }
        }
        let mut way = vec![object];
        let mut at = object;
        while let Some(&before) = self.before.get(&at).filter(|&&before| before != at) {
            way.push(before);
            at = before;
        }
        way.reverse();
        Some(way)
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let (graph, dominators) = (self.snapshot.graph(), self.snapshot.dominators());
        for class in graph.classes().list() {
            let is_jdk = class.loader == 0 || is_of_the_jdk(&class.name);
            if class.id == 0 || is_jdk != self.is_of_jdk {
                continue;
            }
            let live = graph
                .number(class.id)
                .filter(|&it| dominators.place(it).is_some());
            if let Some(object) = live {
                self.before.insert(object, object);
                self.next.push_back(object);
            }
        }
    }

    fn follow(&mut self, from: ObjectNumber) {
        let graph = self.snapshot.graph();
        let targets: Vec<ObjectNumber> = match graph.class_of_object(from) {
            Some(_) => statics(self.snapshot, from),
            None => graph.references(from),
        };
        let left = self.budget.checked_sub(targets.len());
        let Some(left) = left else {
            self.next.clear();
            self.last.clear();
            return;
        };
        self.budget = left;
        let edges = targets.into_iter().map(|to| (from, to));
        match edges.len() > MANY {
            true => self.last.push_back(edges.collect()),
            false => edges.for_each(|(from, to)| self.reach(from, to)),
        }
    }

    fn reach(&mut self, from: ObjectNumber, to: ObjectNumber) {
        if is_end(self.snapshot, to) || self.before.contains_key(&to) {
            return;
        }
        self.before.insert(to, from);
        self.next.push_back(to);
    }
}

/// A path that begins with a local variable of a thread, by the fields of the thread and of its task instead, if these hold
/// the object as well and one of them is of the program.
pub(super) fn by_fields_instead_of_local(
    snapshot: &Snapshot,
    path: &[ObjectNumber],
) -> Option<Vec<ObjectNumber>> {
    let [thread, held, rest @ ..] = path else {
        return None;
    };
    let mut way = by_fields_of_thread(snapshot, *thread, *held)?;
    way.extend_from_slice(rest);
    Some(way)
}

fn by_fields_of_thread(
    snapshot: &Snapshot,
    thread: ObjectNumber,
    object: ObjectNumber,
) -> Option<Vec<ObjectNumber>> {
    /// Objects that are looked at: what a thread works with is near.
    const MOST: usize = 4096;
    snapshot.local_of(thread, object)?;
    let graph = snapshot.graph();
    let classes = graph.classes();
    let mut before: FxHashMap<ObjectNumber, ObjectNumber> = FxHashMap::default();
    let mut todo = VecDeque::new();
    let fields = classes.fields(graph.class_of(thread));
    for to in fields.filter_map(|placed| snapshot.field_object(thread, &placed.field.name)) {
        let is_of_locals = snapshot.class_name(to) == "java.lang.ThreadLocal$ThreadLocalMap";
        if !is_of_locals && !is_end(snapshot, to) && !before.contains_key(&to) {
            before.insert(to, thread);
            todo.push_back(to);
        }
    }
    while !before.contains_key(&object) {
        let from = todo.pop_front().filter(|_| before.len() < MOST)?;
        for to in graph.references(from) {
            let is_step = to == object || !is_end(snapshot, to);
            if is_step && !before.contains_key(&to) {
                before.insert(to, from);
                todo.push_back(to);
            }
        }
    }
    let mut way: Vec<ObjectNumber> =
        std::iter::successors(Some(object), |at| before.get(at).copied())
            .take_while(|&at| at != thread)
            .collect();
    way.push(thread);
    way.reverse();
    let holders = &way[..way.len() - 1];
    let is_own = |&it: &ObjectNumber| !is_of_the_jdk(snapshot.class_name(it));
    holders.iter().any(is_own).then_some(way)
}

/// True of an object that holds what is its own: a thread, a loader, a class, or an array of primitives, which holds nothing.
fn is_end(snapshot: &Snapshot, object: ObjectNumber) -> bool {
    let graph = snapshot.graph();
    let classes = graph.classes();
    let class = graph.class_of(object);
    graph.class_of_object(object).is_some()
        || matches!(classes.get(class).kind, ClassKind::Primitives(_))
        || ["java.lang.Thread", "java.lang.ClassLoader"]
            .iter()
            .any(|name| classes.is_a(class, name))
}

/// True of a path on which a static field of the program holds all after it.
pub(super) fn has_own_field(snapshot: &Snapshot, path: &[ObjectNumber]) -> bool {
    let mut steps = path.windows(2);
    steps.any(|step| {
        is_own_class(snapshot, step[0]) && statics(snapshot, step[0]).contains(&step[1])
    })
}

/// The objects that the static fields of a class refer to.
pub(super) fn statics(snapshot: &Snapshot, class: ObjectNumber) -> Vec<ObjectNumber> {
    let graph = snapshot.graph();
    let class = graph.class_of_object(class);
    let fields = class
        .into_iter()
        .flat_map(|class| &graph.classes().get(class).statics);
    // References have the types 1 and 2: arrays and objects.
    let references = fields.filter(|field| field.type_code <= 2 && field.bits != 0);
    references
        .filter_map(|field| graph.number(field.bits))
        .collect()
}

/// The static fields of a class whose objects keep most alive, those that keep next to nothing beside the first left out.
pub(super) fn main_statics(snapshot: &Snapshot, class: ObjectNumber) -> Vec<String> {
    /// Fields that are named.
    const MOST: usize = 3;
    /// The part of the first from which a field is named.
    const PART: u64 = 20;
    let graph = snapshot.graph();
    let Some(number) = graph.class_of_object(class) else {
        return Vec::new();
    };
    let fields = graph.classes().get(number).statics.iter();
    // References have the types 1 and 2: arrays and objects.
    let references = fields.filter(|field| field.type_code <= 2 && field.bits != 0);
    let mut kept: Vec<(u64, &str)> = references
        .filter_map(|field| {
            let object = graph.number(field.bits)?;
            Some((snapshot.retained(object), field.name.as_str()))
        })
        .collect();
    kept.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let least = kept.first().map_or(0, |(bytes, _)| bytes / PART).max(1);
    let main = kept.iter().take_while(|(bytes, _)| *bytes >= least);
    main.take(MOST)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}

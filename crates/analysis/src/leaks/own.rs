//! Collections that the program has written itself, known by their data: a number in a field counts the elements of an
//! array or the nodes of a chain, or arrays of equal length have one element each in every place. Such a collection is
//! worth a name, and its table or first node is not.

use rustc_hash::FxHashSet;

use super::candidates::LIST;
use super::start::is_of_the_jdk;
use crate::graph::ClassKind;
use crate::numbers::{ClassNumber, ObjectNumber, Place};
use crate::snapshot::{Snapshot, Value};

/// The share of what such a collection keeps alive that is in its arrays and nodes.
const NEARLY_ALL: f64 = 0.9;
/// Objects of a class that are looked at.
const TRIES: u8 = 4;
/// The bytes that an object keeps alive from which it is looked at.
const LEAST: u64 = 1 << 10;
/// The part of a suspect from which an object is looked at: a collection may consist of as many.
const PART: u64 = 1000;
/// Nodes that are counted; of longer chains the field that counts them is believed.
const NODES: usize = 1 << 18;
/// Elements of an array that are looked at.
const ELEMENTS: usize = 1 << 22;

/// The classes of such collections and of their nodes.
#[derive(Debug, Default)]
pub(super) struct OwnCollections {
    /// The classes of the collections.
    pub collections: FxHashSet<ClassNumber>,
    /// The classes of the nodes in them.
    pub nodes: FxHashSet<ClassNumber>,
}

impl OwnCollections {
    /// Looks at the large objects of the classes for which `may_be` holds.
    pub fn find(snapshot: &Snapshot, threshold: u64, may_be: impl Fn(ClassNumber) -> bool) -> Self {
        let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
        let classes = graph.classes();
        let mut tries: Vec<u8> = (classes.numbers())
            .map(|class| if may_be(class) { TRIES } else { 0 })
            .collect();
        let least = (threshold / PART).max(LEAST);
        let mut found = Self::default();
        for place in dominators.places() {
            if dominators.retained(place) < least {
                continue;
            }
            let object = dominators.object(place);
            let class = graph.class_of(object);
            let Some(left) = tries.get_mut(class.index()).filter(|left| **left > 0) else {
                continue;
            };
            *left -= 1;
            let Some(layout) = Layout::of(snapshot, object) else {
                continue;
            };
            if layout.is_nearly_all(snapshot, place) {
                *left = 0;
                found.collections.insert(class);
                found.nodes.extend(layout.nodes);
            }
        }
        found
    }
}

/// How an object keeps elements.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The number of elements, if a field has it.
    pub size: Option<u64>,
    /// The class of the nodes, if there are such.
    nodes: Option<ClassNumber>,
    /// The arrays.
    arrays: Vec<ObjectNumber>,
}

impl Layout {
    /// The layout of an object; `None` if it does not look like a collection.
    pub fn of(snapshot: &Snapshot, object: ObjectNumber) -> Option<Self> {
        let (mut counters, mut held) = (Vec::new(), Vec::new());
        for field in snapshot.fields(object) {
            match field.value {
                Value::Integer(number) => counters.extend(u64::try_from(number).ok()),
                Value::Object(target) if target != object => held.push(target),
                _ => {}
            }
        }
        counters.retain(|&number| number >= LIST);
        let graph = snapshot.graph();
        let is_array = |&it: &ObjectNumber| is_array(snapshot, graph.class_of(it));
        let (arrays, others): (Vec<_>, Vec<_>) = held.into_iter().partition(is_array);
        let tables: Vec<Table> = arrays.iter().map(|&it| Table::new(snapshot, it)).collect();
        counted(&tables, &counters)
            .map(|size| (Some(size), None))
            .or_else(|| {
                let (size, nodes) = chained(snapshot, &tables, &others, &counters)?;
                Some((Some(size), Some(nodes)))
            })
            .or_else(|| are_columns(&tables).then_some((None, None)))
            .map(|(size, nodes)| Self {
                size,
                nodes,
                arrays,
            })
    }

    /// True if the arrays and nodes are nearly all of what the object keeps alive.
    fn is_nearly_all(&self, snapshot: &Snapshot, place: Place) -> bool {
        let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
        let is_part = |&child: &Place| {
            let object = dominators.object(child);
            self.arrays.contains(&object) || self.nodes == Some(graph.class_of(object))
        };
        let children = dominators.children(Some(place)).filter(is_part);
        let parts: u64 = children.map(|child| dominators.retained(child)).sum();
        let all = dominators.retained(place) - graph.size(dominators.object(place));
        parts as f64 >= all as f64 * NEARLY_ALL
    }
}

/// An array in a field of an object.
struct Table {
    length: u64,
    /// The places with something in them.
    used: u64,
    is_of_objects: bool,
    has_arrays: bool,
    /// The objects in it whose class is that of the first one.
    alike: Vec<ObjectNumber>,
}

impl Table {
    fn new(snapshot: &Snapshot, array: ObjectNumber) -> Self {
        let graph = snapshot.graph();
        let kind = graph.classes().get(graph.class_of(array)).kind;
        let length = snapshot.array_length(array).unwrap_or(0);
        if let ClassKind::Primitives(_) = kind {
            let values = snapshot.primitives(array, ELEMENTS);
            let is_used = |value: &&Value| !is_zero(value);
            return Self {
                length,
                used: values.iter().filter(is_used).count() as u64,
                is_of_objects: false,
                has_arrays: false,
                alike: Vec::new(),
            };
        }
        let (mut used, mut alike, mut class) = (0, Vec::new(), None);
        let mut has_arrays = false;
        for value in snapshot.each_element(array).take(ELEMENTS) {
            used += u64::from(value != Value::Null);
            let Value::Object(element) = value else {
                continue;
            };
            has_arrays |= is_array(snapshot, graph.class_of(element));
            if *class.get_or_insert(graph.class_of(element)) == graph.class_of(element)
                && alike.len() < NODES
            {
                alike.push(element);
            }
        }
        Self {
            length,
            used,
            is_of_objects: true,
            has_arrays,
            alike,
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Boolean(false) | Value::Integer(0) | Value::Char('\0') => true,
        Value::Float(number) => *number == 0.0,
        _ => false,
    }
}

fn is_array(snapshot: &Snapshot, class: ClassNumber) -> bool {
    let class = snapshot.graph().classes().get(class);
    matches!(class.kind, ClassKind::Primitives(_)) || class.name.ends_with("[]")
}

/// The number of elements in tables that one of the counters has: of an array of references, or of one of several
/// columns.
fn counted(tables: &[Table], counters: &[u64]) -> Option<u64> {
    let mut tables = tables.iter().filter(|table| {
        let is_column = || tables.iter().filter(|it| it.length == table.length).count() > 1;
        table.used >= LIST && (table.is_of_objects || is_column())
    });
    tables.find_map(|table| {
        // Keys and values may take turns.
        let sizes = [
            Some(table.used),
            table.used.is_multiple_of(2).then_some(table.used / 2),
        ];
        let mut sizes = sizes.into_iter().flatten();
        sizes.find(|size| counters.contains(size))
    })
}

/// True of arrays of equal length with as many elements each, such as those of keys and of values. Arrays with arrays are
/// blocks of a queue.
fn are_columns(tables: &[Table]) -> bool {
    let is_used = |table: &&Table| table.is_of_objects && table.used >= LIST;
    let mut used = tables.iter().filter(is_used);
    used.any(|table| {
        let is_equal = |it: &&Table| it.length == table.length && it.used == table.used;
        tables.iter().filter(is_equal).count() > 1 && !table.has_arrays
    })
}

/// The number of nodes that tables and fields lead to, if one of the counters has it, with the class of the nodes: a
/// class of whose objects some refer to others.
fn chained(
    snapshot: &Snapshot,
    tables: &[Table],
    others: &[ObjectNumber],
    counters: &[u64],
) -> Option<(u64, ClassNumber)> {
    let graph = snapshot.graph();
    let of_tables = (tables.iter())
        .filter(|table| !table.alike.is_empty())
        .map(|table| &table.alike[..]);
    let of_fields = others.iter().map(std::slice::from_ref);
    let mut starts = of_tables.chain(of_fields);
    starts.find_map(|start| {
        let class = graph.class_of(*start.first()?);
        if is_of_the_jdk(&graph.classes().get(class).name) {
            return None;
        }
        let nodes = reached(snapshot, class, start)?;
        let counter = match nodes < NODES as u64 {
            // A list may begin with a node that has no element.
            true => [nodes, nodes - 1]
                .into_iter()
                .find(|it| counters.contains(it)),
            // Others, such as a number of changes, are larger.
            false => counters.iter().copied().filter(|&it| it >= nodes).min(),
        };
        Some((counter?, class))
    })
}

/// The objects of a class that those of some are linked to, these included, up to [`NODES`]; `None` if they are few or
/// not linked.
fn reached(snapshot: &Snapshot, class: ClassNumber, start: &[ObjectNumber]) -> Option<u64> {
    let graph = snapshot.graph();
    let mut seen: FxHashSet<ObjectNumber> = start.iter().copied().collect();
    let mut todo: Vec<ObjectNumber> = start.to_vec();
    let mut is_linked = false;
    while let Some(node) = todo.pop().filter(|_| seen.len() < NODES) {
        for next in graph.references(node) {
            if graph.class_of(next) == class {
                is_linked |= next != node;
                if seen.insert(next) {
                    todo.push(next);
                }
            }
        }
    }
    (is_linked && seen.len() as u64 >= LIST).then_some(seen.len() as u64)
}

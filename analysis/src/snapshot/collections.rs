//! Collections as collections: how many elements they have, and which.

use super::Snapshot;
use super::values::Value;

/// What a collection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CollectionKind {
    /// Elements in an order.
    List,
    /// Elements, each once.
    Set,
    /// Keys with values.
    Map,
}

/// A collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// What it is.
    pub kind: CollectionKind,
    /// The number of its elements or entries.
    pub size: u64,
    /// The array that holds them, if there is one.
    pub array: Option<usize>,
    /// True if the array is a table of hash chains.
    pub is_hashed: bool,
}

/// How a class keeps its elements.
enum Shape {
    /// In an array, with the number in a field.
    Array(&'static str, &'static str),
    /// In an array that is full.
    Full(&'static str),
    /// In chains that start in a table.
    Table(&'static str, &'static str),
    /// In nodes, the first of which is in a field.
    Nodes(&'static str, &'static str),
    /// In another collection.
    Wrapped(&'static str),
    /// In fields of its own.
    Fields(&'static [&'static str]),
    /// In a ring of which head and tail are known.
    Ring,
}

/// The collections of `java.util` and Android, by class; classes derived from them count as well.
/// Field names are those of OpenJDK and of Android's libcore.
const KNOWN: &[(&str, CollectionKind, Shape)] = {
    use CollectionKind::{List, Map, Set};
    use Shape::{Array, Fields, Full, Nodes, Ring, Table, Wrapped};
    &[
        ("java.util.ArrayList", List, Array("elementData", "size")),
        (
            "java.util.Vector",
            List,
            Array("elementData", "elementCount"),
        ),
        ("java.util.PriorityQueue", List, Array("queue", "size")),
        (
            "java.util.concurrent.PriorityBlockingQueue",
            List,
            Array("queue", "size"),
        ),
        (
            "java.util.concurrent.CopyOnWriteArrayList",
            List,
            Full("array"),
        ),
        (
            "java.util.concurrent.CopyOnWriteArraySet",
            Set,
            Wrapped("al"),
        ),
        ("java.util.Arrays$ArrayList", List, Full("a")),
        (
            "java.util.ImmutableCollections$ListN",
            List,
            Full("elements"),
        ),
        (
            "java.util.ImmutableCollections$List12",
            List,
            Fields(&["e0", "e1"]),
        ),
        (
            "java.util.ImmutableCollections$Set12",
            Set,
            Fields(&["e0", "e1"]),
        ),
        (
            "java.util.ImmutableCollections$SetN",
            Set,
            Array("elements", "size"),
        ),
        (
            "java.util.ImmutableCollections$MapN",
            Map,
            Array("table", "size"),
        ),
        ("java.util.ImmutableCollections$Map1", Map, Fields(&["k0"])),
        ("java.util.LinkedList", List, Nodes("first", "size")),
        (
            "java.util.concurrent.LinkedBlockingQueue",
            List,
            Nodes("head", "count"),
        ),
        (
            "java.util.concurrent.LinkedBlockingDeque",
            List,
            Nodes("first", "count"),
        ),
        (
            "java.util.concurrent.ArrayBlockingQueue",
            List,
            Array("items", "count"),
        ),
        ("java.util.ArrayDeque", List, Ring),
        ("java.util.HashMap", Map, Table("table", "size")),
        ("java.util.Hashtable", Map, Table("table", "count")),
        ("java.util.WeakHashMap", Map, Table("table", "size")),
        (
            "java.util.concurrent.ConcurrentHashMap",
            Map,
            Table("table", "baseCount"),
        ),
        ("java.util.IdentityHashMap", Map, Array("table", "size")),
        ("java.util.EnumMap", Map, Array("vals", "size")),
        ("java.util.TreeMap", Map, Nodes("root", "size")),
        (
            "java.lang.ThreadLocal$ThreadLocalMap",
            Map,
            Array("table", "size"),
        ),
        ("java.util.HashSet", Set, Wrapped("map")),
        ("java.util.TreeSet", Set, Wrapped("m")),
        (
            "java.util.concurrent.ConcurrentHashMap$KeySetView",
            Set,
            Wrapped("map"),
        ),
        ("java.util.Collections$SetFromMap", Set, Wrapped("m")),
        (
            "java.util.Collections$UnmodifiableCollection",
            List,
            Wrapped("c"),
        ),
        ("java.util.Collections$UnmodifiableMap", Map, Wrapped("m")),
        (
            "java.util.Collections$SynchronizedCollection",
            List,
            Wrapped("c"),
        ),
        ("java.util.Collections$SynchronizedMap", Map, Wrapped("m")),
        ("android.util.ArrayMap", Map, Array("mArray", "mSize")),
        ("android.util.ArraySet", Set, Array("mArray", "mSize")),
        ("android.util.SparseArray", Map, Array("mValues", "mSize")),
    ]
};

/// Wrappers around wrappers go no deeper.
const MAX_WRAPPERS: usize = 8;

impl Snapshot {
    fn known(&self, class: u32) -> Option<&'static (&'static str, CollectionKind, Shape)> {
        let classes = self.graph.classes();
        (classes.hierarchy(class)).find_map(|class| {
            KNOWN
                .iter()
                .find(|known| known.0 == classes.get(class).name)
        })
    }

    /// True if objects of a class are collections.
    pub fn is_collection(&self, class: u32) -> bool {
        self.known(class).is_some()
    }

    /// The collection that an object is; `None` if it is none, or of a class that is not known.
    pub fn collection(&self, object: usize) -> Option<Collection> {
        self.collection_at(object, MAX_WRAPPERS)
    }

    fn collection_at(&self, object: usize, depth: usize) -> Option<Collection> {
        let (_, kind, shape) = self.known(self.graph.class_of(object))?;
        let size = |name| self.size_field(object, name);
        let array = |name| self.field_object(object, name);
        let (size, array, is_hashed) = match shape {
            Shape::Array(elements, count) => (size(count)?, array(elements), false),
            Shape::Full(elements) => {
                let array = array(elements);
                (
                    array.and_then(|a| self.array_length(a)).unwrap_or(0),
                    array,
                    false,
                )
            }
            Shape::Table(table, "baseCount") => {
                // The count is spread over cells when threads contend.
                let cells = self.field_object(object, "counterCells");
                let cells = cells.map_or(Vec::new(), |cells| self.elements(cells));
                let cells = cells.iter().filter_map(Value::object);
                let more: i64 = cells
                    .filter_map(|cell| self.field(cell, "value")?.integer())
                    .sum();
                let base = self.field(object, "baseCount")?.integer()?;
                let size = u64::try_from(base.saturating_add(more)).unwrap_or(0);
                (size, array(table), true)
            }
            Shape::Table(table, count) => (size(count)?, array(table), true),
            Shape::Nodes(_, count) => (size(count)?, None, false),
            Shape::Wrapped(inner) => {
                let inner = array(inner)?;
                let inner = self.collection_at(inner, depth.checked_sub(1)?)?;
                (inner.size, inner.array, inner.is_hashed)
            }
            Shape::Fields(names) => {
                let used = names.iter().filter(|name| array(name).is_some());
                (used.count() as u64, None, false)
            }
            Shape::Ring => {
                let array = array("elements")?;
                let length = self.array_length(array)?.max(1) as i64;
                let head = self.field(object, "head")?.integer()?;
                let tail = self.field(object, "tail")?.integer()?;
                ((tail - head).rem_euclid(length) as u64, Some(array), false)
            }
        };
        Some(Collection {
            kind: *kind,
            size,
            array,
            is_hashed,
        })
    }

    /// A count in a field, which may be an `AtomicInteger`.
    fn size_field(&self, object: usize, name: &str) -> Option<u64> {
        let value = match self.field(object, name)? {
            Value::Object(counter) => self.field(counter, "value")?.integer()?,
            other => other.integer()?,
        };
        u64::try_from(value).ok()
    }

    /// The first `most` elements of a collection; for maps keys, each with its value.
    pub fn collection_elements(&self, object: usize, most: usize) -> Vec<(Value, Option<Value>)> {
        let mut found = Vec::new();
        self.collect_elements(object, most, MAX_WRAPPERS, &mut found);
        found.truncate(most);
        found
    }

    fn collect_elements(
        &self,
        object: usize,
        most: usize,
        depth: usize,
        found: &mut Vec<(Value, Option<Value>)>,
    ) {
        let Some((name, kind, shape)) = self.known(self.graph.class_of(object)) else {
            return;
        };
        let inner = |name| self.field_object(object, name);
        match shape {
            Shape::Wrapped(name) => {
                if let (Some(inner), Some(depth)) = (inner(name), depth.checked_sub(1)) {
                    self.collect_elements(inner, most, depth, found);
                    if *kind == CollectionKind::Set {
                        found.iter_mut().for_each(|entry| entry.1 = None);
                    }
                }
            }
            Shape::Fields(names) => {
                let values = names.iter().filter_map(|name| self.field(object, name));
                let values = values.filter(|value| *value != Value::Null);
                found.extend(values.map(|value| (value, None)));
                if *name == "java.util.ImmutableCollections$Map1" {
                    let value = self.field(object, "v0");
                    found.iter_mut().for_each(|entry| entry.1 = value.clone());
                }
            }
            Shape::Array(array, _) | Shape::Full(array) => {
                let elements = inner(array).map_or(Vec::new(), |array| self.elements(array));
                let in_pairs = matches!(
                    *name,
                    "java.util.IdentityHashMap"
                        | "java.util.ImmutableCollections$MapN"
                        | "android.util.ArrayMap"
                );
                if in_pairs {
                    let pairs = elements
                        .chunks_exact(2)
                        .filter(|pair| pair[0] != Value::Null);
                    found.extend(pairs.take(most).map(|p| (p[0].clone(), Some(p[1].clone()))));
                } else {
                    let used = elements.into_iter().filter(|value| *value != Value::Null);
                    found.extend(used.take(most).map(|value| (value, None)));
                }
            }
            Shape::Ring => {
                let elements = inner("elements").map_or(Vec::new(), |array| self.elements(array));
                let used = elements.into_iter().filter(|value| *value != Value::Null);
                found.extend(used.take(most).map(|value| (value, None)));
            }
            Shape::Table(table, _) => {
                let heads = inner(table).map_or(Vec::new(), |table| self.elements(table));
                for head in heads.iter().filter_map(Value::object) {
                    let mut next = Some(head);
                    while let Some(node) = next.filter(|_| found.len() < most) {
                        if let Some(key) = self.field(node, "key") {
                            let value = self
                                .field(node, "val")
                                .or_else(|| self.field(node, "value"));
                            found.push((key, value));
                        }
                        next = self.field_object(node, "next");
                    }
                    if found.len() >= most {
                        break;
                    }
                }
            }
            Shape::Nodes(first, _) if *first == "root" => {
                let mut todo: Vec<usize> = inner(first).into_iter().collect();
                while let Some(node) = todo.pop().filter(|_| found.len() < most) {
                    if let Some(key) = self.field(node, "key") {
                        found.push((key, self.field(node, "value")));
                    }
                    todo.extend(
                        ["right", "left"]
                            .iter()
                            .filter_map(|f| self.field_object(node, f)),
                    );
                }
            }
            Shape::Nodes(first, _) => {
                let mut next = inner(first);
                while let Some(node) = next.filter(|_| found.len() < most) {
                    if let Some(item) = self.field(node, "item").filter(|v| *v != Value::Null) {
                        found.push((item, None));
                    }
                    next = self.field_object(node, "next").filter(|&next| next != node);
                }
            }
        }
    }
}

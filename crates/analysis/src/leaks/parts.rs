//! The parts of collections: tables, nodes and entries, which say nothing by themselves. Suspects are collections as
//! wholes, and what fills a collection lies beyond its parts.

use super::own::{Layout, OwnCollections};
use super::start::is_of_the_jdk;
use crate::graph::ClassKind;
use crate::numbers::{ClassNumber, Place};
use crate::snapshot::Snapshot;

/// The role that objects of a class have in collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It may be a node of a list or tree of the program's own.
    Plain,
    /// A collection.
    Collection,
    /// A node or an entry of one.
    Node,
    /// An array of nodes.
    Nodes,
    /// Another array.
    Array,
    /// An array in an object of its own, which tables of caches are.
    Boxed,
    /// It is never a part: a thread, a class loader or a class.
    Whole,
}

/// The endings of the names of nested classes whose objects are parts of collections.
const NODES: [&str; 9] = [
    "Node",
    "Entry",
    "Index",
    "TreeBin",
    "Segment",
    "Bucket",
    "Cell",
    "Entry1",
    "Reference",
];

/// Packages with collections whose nested classes are named so, and of which every nested class is a part.
const LIBRARIES: [(&str, &[&str]); 7] = [
    ("java.util.", &NODES),
    ("java.lang.ThreadLocal$ThreadLocalMap", &NODES),
    ("com.google.common.cache.LocalCache$", &NODES),
    ("com.google.common.collect.", &NODES),
    ("org.apache.commons.collections", &NODES),
    ("scala.collection.", &NODES),
    ("org.eclipse.collections.", &NODES),
];

/// Nested classes that are named like nodes and that programs make themselves.
const NO_NODES: [&str; 3] = [
    "java.util.AbstractMap$SimpleEntry",
    "java.util.AbstractMap$SimpleImmutableEntry",
    "java.util.concurrent.CompletableFuture",
];

const BOXED: &str = "java.util.concurrent.atomic.AtomicReferenceArray";

/// True of classes of nodes and entries in the collections of the JDK and of known libraries.
fn is_node(class: &str) -> bool {
    // The nodes of Caffeine are generated, each with a name of capitals that says what it stores.
    if let Some(name) = class.strip_prefix("com.github.benmanes.caffeine.cache.") {
        return name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_uppercase());
    }
    class.contains('$')
        && !NO_NODES.iter().any(|name| class.starts_with(name))
        && LIBRARIES.iter().any(|(package, endings)| {
            class.starts_with(package) && endings.iter().any(|end| class.ends_with(end))
        })
}

/// The roles of the objects of each class.
pub(super) struct Parts<'a> {
    pub snapshot: &'a Snapshot,
    roles: Vec<Role>,
    own: OwnCollections,
}

impl<'a> Parts<'a> {
    /// The roles in a snapshot, in which what keeps `threshold` bytes alive is a suspect.
    pub fn new(snapshot: &'a Snapshot, threshold: u64) -> Self {
        let classes = snapshot.graph().classes();
        let role = |number: ClassNumber| {
            let class = classes.get(number);
            if number == ClassNumber::UNKNOWN || class.name == "java.lang.Class" {
                return Role::Whole;
            }
            match class.name.strip_suffix("[]") {
                Some(element) if is_node(element) => Role::Nodes,
                Some(_) => Role::Array,
                None if matches!(class.kind, ClassKind::Primitives(_)) => Role::Array,
                None if is_node(&class.name) => Role::Node,
                None if class.name == BOXED => Role::Boxed,
                None if snapshot.is_collection(number) => Role::Collection,
                None => {
                    let wholes = ["java.lang.Thread", "java.lang.ClassLoader"];
                    match wholes.iter().any(|name| classes.is_a(number, name)) {
                        true => Role::Whole,
                        false => Role::Plain,
                    }
                }
            }
        };
        let mut roles: Vec<Role> = classes.numbers().map(role).collect();
        let may_be = |class: ClassNumber| {
            roles[class.index()] == Role::Plain && !is_of_the_jdk(&classes.get(class).name)
        };
        let own = OwnCollections::find(snapshot, threshold, may_be);
        for &class in &own.collections {
            roles[class.index()] = Role::Collection;
        }
        Self {
            snapshot,
            roles,
            own,
        }
    }

    /// True of a collection that the program has written itself.
    pub fn is_own_collection(&self, place: Place) -> bool {
        self.own.collections.contains(&self.class(place))
    }

    /// True of a node of such a collection.
    pub fn is_own_node(&self, place: Place) -> bool {
        self.own.nodes.contains(&self.class(place))
    }

    /// The number of elements of a collection that the program has written itself, if a field has it.
    pub fn own_size(&self, place: Place) -> Option<u64> {
        let object = self.snapshot.dominators().object(place);
        let layout = || Layout::of(self.snapshot, object)?.size;
        self.is_own_collection(place).then(layout).flatten()
    }

    pub fn class(&self, place: Place) -> ClassNumber {
        let object = self.snapshot.dominators().object(place);
        self.snapshot.graph().class_of(object)
    }

    pub fn size(&self, place: Place) -> u64 {
        let object = self.snapshot.dominators().object(place);
        self.snapshot.graph().size(object)
    }

    /// True if the object at a place is of a class of the program.
    pub fn is_own(&self, place: Place) -> bool {
        let object = self.snapshot.dominators().object(place);
        !is_of_the_jdk(self.snapshot.class_name(object))
    }

    /// True of an array of references.
    pub fn is_array_of_objects(&self, place: Place) -> bool {
        let classes = self.snapshot.graph().classes();
        self.role(place) == Role::Array
            && !matches!(
                classes.get(self.class(place)).kind,
                ClassKind::Primitives(_)
            )
    }

    /// The role of an object; class objects are wholes.
    pub fn role(&self, place: Place) -> Role {
        self.roles[self.class(place).index()]
    }

    /// The collection that `child`, which `parent` dominates, is a part of; `None` if it is a thing of its own.
    /// `container` is the collection that `parent` belongs to, or another object.
    pub fn collection_of(&self, container: Place, parent: Place, child: Place) -> Option<Place> {
        let is_within = self.role(container) == Role::Collection;
        let is_part = match self.role(child) {
            _ if !is_within => false,
            Role::Node | Role::Nodes => true,
            Role::Array => parent == container || self.role(parent) == Role::Boxed,
            Role::Boxed => self.role(parent) == Role::Node,
            Role::Collection if parent == container => {
                let dominators = self.snapshot.dominators();
                let inner = self.snapshot.wrapped(dominators.object(container));
                return (inner == Some(dominators.object(child))).then_some(child);
            }
            Role::Plain => self.is_own_node(child) && self.is_own_collection(container),
            Role::Collection | Role::Whole => false,
        };
        is_part.then_some(container)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_collections_are_known_by_name() {
        for name in [
            "java.util.HashMap$TreeNode",
            "java.util.LinkedHashMap$Entry",
            "java.util.concurrent.ConcurrentHashMap$TreeBin",
            "java.util.concurrent.ConcurrentSkipListMap$HeadIndex",
            "java.lang.ThreadLocal$ThreadLocalMap$Entry",
            "com.google.common.cache.LocalCache$StrongAccessEntry",
            "com.google.common.cache.LocalCache$StrongValueReference",
            "com.github.benmanes.caffeine.cache.PSAMS",
            "scala.collection.mutable.HashMap$Node",
        ] {
            assert!(is_node(name), "{name}");
        }
        for name in [
            "java.util.HashMap",
            "java.util.AbstractMap$SimpleEntry",
            "java.util.concurrent.CompletableFuture$UniApply",
            "com.github.benmanes.caffeine.cache.Caffeine",
            "App$Node",
            "com.example.LogEntry",
        ] {
            assert!(!is_node(name), "{name}");
        }
    }
}

//! Lists, trees and graphs of the program's own: objects of a class that lead to others of the class, by themselves, by
//! arrays or by collections.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::parts::{Parts, Role};
use crate::numbers::{ClassNumber, Place};

/// Objects up at which one of an equal class makes a chain: a future, what waits for it, and the next future are one, two
/// steps apart. Collections between them do not count.
pub(super) const CHAIN: usize = 3;
/// Elements of a collection that are looked at.
const LOOKED_AT: usize = 8;
/// The size of the array of a node, in bytes, at most.
const NODE: u64 = 1024;
/// Collections of a class that are looked at before the others count as these do.
const ENOUGH: u32 = 64;

/// The way down to an object that its children may be chained to: the nearest objects that may be nodes of a list or tree,
/// with what the caller knows of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<T> {
    place: Place,
    /// The nearest first; tables, entries and collections are left out.
    nodes: [Option<(ClassNumber, T)>; CHAIN],
    /// True if the first of these is the object itself.
    is_direct: bool,
}

impl<T: Copy> Way<T> {
    /// The way that begins at an object.
    pub fn from(parts: &Parts<'_>, place: Place, note: T) -> Self {
        let way = Self {
            place,
            nodes: [None; CHAIN],
            is_direct: false,
        };
        way.with(parts, None, place, note)
    }

    /// The object that the way leads to.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The way to a child of the last object.
    pub fn down(&self, parts: &Parts<'_>, child: Place, note: T) -> Self {
        self.with(parts, Some(self.place), child, note)
    }

    fn with(&self, parts: &Parts<'_>, parent: Option<Place>, place: Place, note: T) -> Self {
        let role = |place| parts.role(place);
        let is_in_collection =
            parent.is_some_and(|it| matches!(role(it), Role::Collection | Role::Boxed));
        let (nodes, is_direct) = match role(place) {
            Role::Whole => ([None; CHAIN], false),
            Role::Array if is_in_collection => (self.nodes, false),
            Role::Plain | Role::Array => {
                let node = Some((parts.class(place), note));
                ([node, self.nodes[0], self.nodes[1]], true)
            }
            Role::Collection | Role::Node | Role::Nodes | Role::Boxed => (self.nodes, false),
        };
        Self {
            place,
            nodes,
            is_direct,
        }
    }

    fn class(&self, at: usize) -> Option<ClassNumber> {
        self.nodes[at].map(|(class, _)| class)
    }

    /// The note on the object that `child` continues a list or tree of; `None` if it does not.
    pub fn chained(&self, parts: &Parts<'_>, child: Place) -> Option<T> {
        let class = parts.class(child);
        match parts.role(child) {
            // Objects of the JDK in collections of their kin are no tree of the program.
            Role::Plain if self.is_direct || parts.is_own(child) => {
                let mut above = self.nodes.iter().flatten();
                above.find(|node| node.0 == class).map(|node| node.1)
            }
            Role::Array if self.is_direct => {
                let classes = parts.snapshot.graph().classes();
                let parent = &classes.get(self.class(0)?).name;
                let element = classes.get(class).name.strip_suffix("[]");
                let is_branches = element == Some(parent)
                    // An array of a node that hangs on a node by an equal array.
                    || self.class(0) == self.class(2) && self.class(1) == Some(class);
                // A queue of blocks, each of which ends with the next.
                let is_next_block =
                    || self.class(0) == Some(class) && parts.size(self.place) == parts.size(child);
                (is_branches || is_next_block()).then_some(self.nodes[0]?.1)
            }
            _ => None,
        }
    }
}

/// Tells the collections and small arrays in which nodes of the program have other nodes, such as the children of a tree.
pub(super) struct Branches<'a> {
    parts: &'a Parts<'a>,
    /// By class of the node and of the collection: those looked at, and those of them with nodes.
    known: RefCell<FxHashMap<(ClassNumber, ClassNumber), (u32, u32)>>,
}

impl<'a> Branches<'a> {
    pub fn new(parts: &'a Parts<'a>) -> Self {
        Self {
            parts,
            known: RefCell::default(),
        }
    }

    /// True of a collection, or a small array, of an object of the program that has objects of its owner's class.
    pub fn is_branch(&self, owner: Place, child: Place) -> bool {
        let parts = self.parts;
        let may_have = match parts.role(child) {
            Role::Collection => true,
            // Nodes have small arrays; a large one is a collection's table.
            _ => parts.is_array_of_objects(child) && parts.size(child) <= NODE,
        };
        if !may_have || parts.role(owner) != Role::Plain || !parts.is_own(owner) {
            return false;
        }
        let class = parts.class(owner);
        let mut known = self.known.borrow_mut();
        let known = known.entry((class, parts.class(child))).or_default();
        if known.0 < ENOUGH {
            known.0 += 1;
            known.1 += u32::from(self.has(child, class));
        }
        // Leaves have empty ones.
        known.1 > 0
    }

    fn has(&self, collection: Place, class: ClassNumber) -> bool {
        let snapshot = self.parts.snapshot;
        let object = snapshot.dominators().object(collection);
        let graph = snapshot.graph();
        if self.parts.role(collection) == Role::Array {
            let elements = graph.references(object).into_iter().take(LOOKED_AT);
            return elements.into_iter().any(|it| graph.class_of(it) == class);
        }
        let elements = snapshot.collection_elements(object, LOOKED_AT);
        let mut values = elements
            .into_iter()
            .flat_map(|(key, value)| [Some(key), value])
            .flatten();
        values.any(|value| {
            let value = value.object();
            value.is_some_and(|value| graph.class_of(value) == class)
        })
    }
}

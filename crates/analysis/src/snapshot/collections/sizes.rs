//! How many elements a collection has.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::table::Shape;
use crate::graph::Static;
use crate::numbers::ObjectNumber;
use crate::snapshot::{Snapshot, Value};

/// The object that holds the elements of a collection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Held {
    /// How many there are, if that is known.
    pub size: Option<u64>,
    /// The array that holds them, if there is one.
    pub array: Option<ObjectNumber>,
    /// True if the array is a table of hash chains.
    pub is_hashed: bool,
}

impl Held {
    fn size(size: Option<u64>) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }
}

impl Snapshot {
    /// The object that holds the elements of a collection; `None` if unknown.
    pub(super) fn held(&self, object: ObjectNumber, shape: &Shape, depth: usize) -> Option<Held> {
        let in_array = |array: &str, size| {
            let array = self.field_object(object, array);
            Held {
                size: self.unless_blank(size, array),
                array,
                is_hashed: false,
            }
        };
        let count = |name| self.count_in(object, name);
        Some(match *shape {
            Shape::Unknown => return None,
            Shape::Empty => Held::size(Some(0)),
            Shape::Array(array, size) | Shape::Pairs(array, size) => in_array(array, count(size)),
            Shape::Columns(_, values, size) => in_array(values, count(size)),
            Shape::Marked(_, values, size) => {
                let held = in_array(values, None);
                let size = self.without_marks(object, held.array, count(size));
                Held { size, ..held }
            }
            Shape::Full(array) => {
                let held = in_array(array, None);
                let size = held.array.and_then(|array| self.array_length(array));
                Held { size, ..held }
            }
            Shape::Ring(array) => {
                let held = in_array(array, None);
                let size = held.array.and_then(|array| self.ring(object, array));
                Held {
                    size: size.map(|(_, size)| size),
                    ..held
                }
            }
            Shape::Table(table, size) => Held {
                is_hashed: true,
                ..in_array(table, count(size))
            },
            Shape::Counted(base) => Held {
                is_hashed: true,
                ..in_array("table", self.spread(object, base, "counterCells"))
            },
            Shape::Segments(segments) => Held::size(self.in_segments(object, segments)),
            Shape::Tree(root, size) => {
                let is_blank = count(size) == Some(0) && self.field_object(object, root).is_some();
                Held::size(count(size).filter(|_| !is_blank))
            }
            Shape::Nodes(_, size) | Shape::Part(size) => Held::size(count(size)),
            Shape::Chain(head) => Held::size(self.in_chain(object, head)),
            Shape::SkipChain(head) => Held::size(self.in_skip_list(object, head)),
            Shape::Skip(adder) => Held::size(match self.field(object, adder)? {
                // It is made with the first element.
                Value::Null => Some(0),
                Value::Object(adder) => self.spread(adder, "base", "cells"),
                _ => None,
            }),
            Shape::Open(inner) => {
                let is_open = |end| self.field(object, end) == Some(Value::Boolean(true));
                match is_open("fromStart") && is_open("toEnd") {
                    true => self.held_within(object, inner, depth)?,
                    false => return None,
                }
            }
            Shape::Wrapped(inner) => self.held_within(object, inner, depth)?,
            Shape::One(_) | Shape::Entry(..) => Held::size(Some(1)),
            Shape::Two(_, second) => {
                let has_second = self.is_there(self.field(object, second)?);
                Held::size(Some(1 + u64::from(has_second)))
            }
            Shape::Copies(size, _) => Held::size(count(size)),
            Shape::Bits(bits) => Held::size(match self.field(object, bits)? {
                Value::Integer(bits) => Some(u64::from(bits.count_ones())),
                Value::Object(_) => count("size"),
                _ => None,
            }),
        })
    }

    fn held_within(&self, object: ObjectNumber, inner: &str, depth: usize) -> Option<Held> {
        let inner = self.field_object(object, inner)?;
        let (.., shape) = self.known(self.graph.class_of(inner))?;
        self.held(inner, shape, depth.checked_sub(1)?)
    }

    /// The size of a collection. Where it is 0 and there are elements all the same, numbers were left out of
    /// the dump: it is unknown.
    fn unless_blank(&self, size: Option<u64>, array: Option<ObjectNumber>) -> Option<u64> {
        /// Lists begin with their elements, and hash codes spread them over tables.
        const LOOKED_AT: usize = 64;
        let (Some(0), Some(array)) = (size, array) else {
            return size;
        };
        let mut elements = self.each_element(array).take(LOOKED_AT);
        let is_empty = elements.all(|element| element.object().is_none());
        is_empty.then_some(0)
    }

    /// A count in a field, which may be an `AtomicInteger`.
    fn count_in(&self, object: ObjectNumber, name: &str) -> Option<u64> {
        let value = match self.field(object, name)? {
            Value::Object(counter) => self.field(counter, "value")?.integer()?,
            other => other.integer()?,
        };
        u64::try_from(value).ok()
    }

    /// A count that threads have spread over a field and cells when they contended for it.
    fn spread(&self, object: ObjectNumber, base: &str, cells: &str) -> Option<u64> {
        let mut sum = self.field(object, base)?.integer()?;
        match self.field(object, cells)? {
            Value::Null => {}
            Value::Object(cells) => {
                self.step(self.array_length(cells)?)?;
                for cell in self.elements(cells).iter().filter_map(Value::object) {
                    sum = sum.saturating_add(self.field(cell, "value")?.integer()?);
                }
            }
            _ => return None,
        }
        // Threads that add and take away at once may be seen half way.
        Some(u64::try_from(sum).unwrap_or(0))
    }

    fn in_segments(&self, object: ObjectNumber, segments: &str) -> Option<u64> {
        let segments = self.field_object(object, segments)?;
        self.step(self.array_length(segments)?)?;
        let segments = self.elements(segments);
        let count = |segment: ObjectNumber| self.count_in(segment, "count");
        segments.iter().filter_map(Value::object).map(count).sum()
    }

    /// The elements among the first of an array that are no marks of what was taken out.
    fn without_marks(
        &self,
        object: ObjectNumber,
        values: Option<ObjectNumber>,
        size: Option<u64>,
    ) -> Option<u64> {
        let (size, values) = (size?, values?);
        let class = self.graph.classes().get(self.graph.class_of(object));
        let mark = class.statics.iter().find(|field| field.name == "DELETED");
        let Some(mark) = mark.filter(|mark| mark.bits != 0) else {
            // Without marks in it the number is right.
            let is_clean = self.field(object, "mGarbage") == Some(Value::Boolean(false));
            return is_clean.then_some(size);
        };
        self.step(self.array_length(values)?)?;
        let mark = self.graph.number(mark.bits);
        let values = self.elements(values).into_iter().take(size as usize);
        Some(
            values
                .filter(|value| value.object() != mark || mark.is_none())
                .count() as u64,
        )
    }

    /// Where a ring starts, and how many elements it has.
    pub(super) fn ring(&self, object: ObjectNumber, array: ObjectNumber) -> Option<(u64, u64)> {
        let length = i64::try_from(self.array_length(array)?).ok()?.max(1);
        let head = self.field(object, "head")?.integer()?;
        let tail = self.field(object, "tail")?.integer()?;
        let size = tail.checked_sub(head)?.rem_euclid(length);
        Some((head.rem_euclid(length) as u64, size as u64))
    }

    /// False for null, and for what stands in place of a second element where there is but one.
    pub(super) fn is_there(&self, value: Value) -> bool {
        let Value::Object(object) = value else {
            return value != Value::Null;
        };
        let classes = self.graph.classes().list().iter();
        let is_empty = |field: &&Static| field.name == "EMPTY";
        let mut empty = classes
            .filter(|class| class.name == "java.util.ImmutableCollections")
            .filter_map(|class| class.statics.iter().find(is_empty));
        !empty.any(|field| field.bits == self.graph.id(object))
    }

    /// Counts steps from node to node; `None` when there were more than any real dump takes.
    fn step(&self, steps: u64) -> Option<()> {
        let most = 8 * self.graph.len() as u64 + 1000;
        let before = self.collections.steps.fetch_add(steps, Ordering::Relaxed);
        (before.saturating_add(steps) <= most).then_some(())
    }

    /// A count of nodes, which is made once for each first node.
    fn counted(&self, first: ObjectNumber, count: impl Fn() -> Option<u64>) -> Option<u64> {
        let notes = || {
            let notes = self.collections.chains.lock();
            notes.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(&known) = notes().get(&first) {
            return known;
        }
        let found = count();
        notes().insert(first, found);
        found
    }

    fn in_chain(&self, object: ObjectNumber, head: &str) -> Option<u64> {
        let head = self.field_object(object, head)?;
        self.counted(head, || {
            let (mut count, mut next) = (0, self.first_node(head));
            while let Some(node) = next {
                self.step(1)?;
                count += u64::from(self.item(node).is_some());
                next = self.next_node(node);
            }
            Some(count)
        })
    }

    fn in_skip_list(&self, object: ObjectNumber, head: &str) -> Option<u64> {
        let head = self.field_object(object, head)?;
        let first = self.field_object(head, "node")?;
        self.counted(first, || {
            let (mut count, mut next) = (0, Some(first));
            while let Some(node) = next {
                self.step(1)?;
                count += u64::from(self.skip_entry(node).is_some());
                next = self.next_node(node);
            }
            Some(count)
        })
    }

    /// The first node of a chain whose head lags behind.
    pub(super) fn first_node(&self, head: ObjectNumber) -> Option<ObjectNumber> {
        let mut first = head;
        while let Some(before) = self.field_object(first, "prev").filter(|&it| it != first) {
            self.step(1)?;
            first = before;
        }
        Some(first)
    }

    /// The node after one; nodes that were taken out refer to themselves.
    pub(super) fn next_node(&self, node: ObjectNumber) -> Option<ObjectNumber> {
        // In a HashBiMap of Guava an entry is in two chains.
        let next = (self.field_object(node, "next"))
            .or_else(|| self.field_object(node, "nextInKToVBucket"));
        next.filter(|&next| next != node)
    }

    /// The element in a node of a chain; `None` for nodes that were taken out, or are no data.
    pub(super) fn item(&self, node: ObjectNumber) -> Option<Value> {
        let names = ["item", "element", "data"];
        let item = names.iter().find_map(|name| self.field(node, name))?;
        let is_request = self.field(node, "isData") == Some(Value::Boolean(false));
        (item != Value::Null && item != Value::Object(node) && !is_request).then_some(item)
    }

    /// The key and the value in a node of a skip list; `None` for heads, marks, and what was taken
    /// out.
    pub(super) fn skip_entry(&self, node: ObjectNumber) -> Option<(Value, Value)> {
        let key = self.field(node, "key")?;
        let value = self.field(node, "val");
        let value = value.or_else(|| self.field(node, "value"))?;
        let is_entry = key != Value::Null && value != Value::Null && value != Value::Object(node);
        is_entry.then_some((key, value))
    }
}

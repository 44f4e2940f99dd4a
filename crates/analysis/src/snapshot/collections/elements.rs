//! Which elements a collection has.

use super::table::Shape;
use super::{CollectionKind, MAX_WRAPPERS};
use crate::numbers::ObjectNumber;
use crate::snapshot::{Snapshot, Value};

/// Elements; of maps keys, each with its value.
type Entries = Vec<(Value, Option<Value>)>;

/// Elements that are all the same one are listed no more often.
const COPIES: usize = 1000;

impl Snapshot {
    /// The first `most` elements of a collection; for maps keys, each with its value.
    pub fn collection_elements(
        &self,
        object: ObjectNumber,
        most: usize,
    ) -> Vec<(Value, Option<Value>)> {
        let mut found = Vec::new();
        self.collect_elements(object, most, MAX_WRAPPERS, &mut found);
        found.truncate(most);
        found
    }

    fn collect_elements(
        &self,
        object: ObjectNumber,
        most: usize,
        depth: usize,
        found: &mut Entries,
    ) {
        let Some((_, kind, shape)) = self.known(self.graph.class_of(object)) else {
            return;
        };
        let elements = |name: &str| {
            let array = self.field_object(object, name);
            array.map_or(Vec::new(), |array| self.all_elements(array))
        };
        let is_used = |value: &Value| *value != Value::Null;
        let single = |value: Value| (value, None);
        match *shape {
            Shape::Empty | Shape::Unknown => {}
            Shape::Wrapped(inner) | Shape::Open(inner) => {
                let inner = self.field_object(object, inner);
                if let (Some(inner), Some(depth)) = (inner, depth.checked_sub(1)) {
                    self.collect_elements(inner, most, depth, found);
                    if *kind == CollectionKind::Set {
                        found.iter_mut().for_each(|entry| entry.1 = None);
                    }
                }
            }
            Shape::Part(_) => self.part(object, most, depth, found),
            Shape::One(field) => found.extend(self.field(object, field).map(single)),
            Shape::Two(first, second) => {
                let values = [first, second].map(|name| self.field(object, name));
                let values = values.into_iter().flatten();
                found.extend(
                    values
                        .filter(|value| self.is_there(value.clone()))
                        .map(single),
                );
            }
            Shape::Entry(key, value) => {
                let key = self.field(object, key);
                found.extend(key.map(|key| (key, self.field(object, value))));
            }
            Shape::Copies(count, element) => {
                let count = self.field(object, count).and_then(|count| count.integer());
                let count = usize::try_from(count.unwrap_or(0)).unwrap_or(0);
                let element = self.field(object, element).map(single);
                found.extend(
                    element
                        .into_iter()
                        .cycle()
                        .take(count.min(most).min(COPIES)),
                );
            }
            Shape::Pairs(array, _) => {
                let elements = elements(array);
                let pairs = elements.chunks_exact(2).filter(|pair| is_used(&pair[0]));
                found.extend(pairs.take(most).map(|p| (p[0].clone(), Some(p[1].clone()))));
            }
            Shape::Columns(keys, values, size) | Shape::Marked(keys, values, size) => {
                let entries = elements(keys).into_iter().zip(elements(values));
                // Where every key has a place, empty ones have no value.
                let is_full = values.starts_with('m');
                let size = self.field(object, size).and_then(|size| size.integer());
                let size = usize::try_from(size.unwrap_or(0)).unwrap_or(0);
                let used = entries.filter(|entry| is_full || is_used(&entry.1));
                found.extend(
                    used.take(most.min(size))
                        .map(|(key, value)| (key, Some(value))),
                );
            }
            Shape::Array(array, _) | Shape::Full(array) => {
                let used = elements(array).into_iter().filter(is_used);
                found.extend(used.take(most).map(single));
            }
            Shape::Ring(array) => {
                let array = self.field_object(object, array);
                let ring = array.and_then(|array| Some((array, self.ring(object, array)?)));
                if let Some((array, (start, size))) = ring {
                    let elements = self.all_elements(array);
                    let in_order = elements.iter().cycle().skip(start as usize);
                    let first = in_order.take(most.min(size as usize)).cloned();
                    found.extend(first.map(single));
                }
            }
            Shape::Bits(bits) => self.constants(object, bits, most, found),
            Shape::Table(table, _) => self.chains(object, table, most, found),
            Shape::Counted(_) => self.chains(object, "table", most, found),
            Shape::Segments(segments) => {
                for segment in elements(segments).iter().filter_map(Value::object) {
                    self.chains(segment, "table", most, found);
                }
            }
            Shape::Tree(root, _) => {
                let mut todo: Vec<ObjectNumber> =
                    self.field_object(object, root).into_iter().collect();
                let mut seen = 0;
                while let Some(node) = todo.pop().filter(|_| found.len() < most) {
                    seen += 1;
                    if seen > self.graph.len() {
                        break;
                    }
                    if let Some(key) = self.field(node, "key") {
                        found.push((key, self.field(node, "value")));
                    }
                    let sides = ["right", "left"].iter();
                    todo.extend(sides.filter_map(|side| self.field_object(node, side)));
                }
            }
            Shape::Nodes(head, _) | Shape::Chain(head) => {
                let head = self.field_object(object, head);
                let is_loop = |node: ObjectNumber| head == Some(node);
                let mut next = match shape {
                    Shape::Chain(_) => head.and_then(|head| self.first_node(head)),
                    _ => head,
                };
                for _ in 0..self.graph.len() {
                    let Some(node) = next.filter(|_| found.len() < most) else {
                        break;
                    };
                    found.extend(self.item(node).map(single));
                    next = self.next_node(node).filter(|&next| !is_loop(next));
                }
            }
            Shape::Skip(_) | Shape::SkipChain(_) => {
                let head = self.field_object(object, "head");
                let mut next = head.and_then(|head| self.field_object(head, "node"));
                for _ in 0..self.graph.len() {
                    let Some(node) = next.filter(|_| found.len() < most) else {
                        break;
                    };
                    let entry = self.skip_entry(node);
                    found.extend(entry.map(|(key, value)| (key, Some(value))));
                    next = self.next_node(node);
                }
            }
        }
    }

    /// The elements of an array of any type.
    fn all_elements(&self, array: ObjectNumber) -> Vec<Value> {
        match self.elements(array) {
            none if none.is_empty() => self.primitives(array, usize::MAX),
            elements => elements,
        }
    }

    /// Entries of a hash table.
    fn chains(&self, object: ObjectNumber, table: &str, most: usize, found: &mut Entries) {
        let table = self.field_object(object, table);
        // The tables of Guava's caches are in an `AtomicReferenceArray`.
        let table = table.map(|it| self.field_object(it, "array").unwrap_or(it));
        // Large tables are not looked up beyond the entries that are asked for.
        let heads = table.into_iter().flat_map(|table| self.each_element(table));
        let mut steps = 0;
        for head in heads.filter_map(|head| head.object()) {
            let mut next = Some(head);
            // In damaged files chains may go in circles.
            while let Some(node) = next.filter(|_| found.len() < most && steps < self.graph.len()) {
                steps += 1;
                // Entries of weak maps refer to their keys as references do.
                let key = self.field(node, "key");
                if let Some(key) = key.or_else(|| self.field(node, "referent")) {
                    let value = self.field(node, "val");
                    found.push((key, value.or_else(|| self.field(node, "value"))));
                }
                next = self.next_node(node);
            }
            if found.len() >= most {
                break;
            }
        }
    }

    /// The elements of a part of a list.
    fn part(&self, object: ObjectNumber, most: usize, depth: usize, found: &mut Entries) {
        let number = |name| self.field(object, name)?.integer();
        let whole = ["root", "l", "this$0"];
        let whole = whole
            .iter()
            .find_map(|name| self.field_object(object, name));
        let place = number("offset").zip(number("size"));
        let (Some(whole), Some((offset, size)), Some(depth)) = (whole, place, depth.checked_sub(1))
        else {
            return;
        };
        let number = |number: i64| usize::try_from(number).unwrap_or(0);
        let (offset, most) = (number(offset), most.min(number(size)));
        let mut all = Vec::new();
        self.collect_elements(whole, offset.saturating_add(most), depth, &mut all);
        found.extend(all.into_iter().skip(offset).take(most));
    }

    /// The constants of an enumeration whose bits are set.
    fn constants(&self, object: ObjectNumber, bits: &str, most: usize, found: &mut Entries) {
        let words: Vec<i64> = match self.field(object, bits) {
            Some(Value::Integer(bits)) => vec![bits],
            Some(Value::Object(array)) => {
                let words = self.primitives(array, usize::MAX);
                words.iter().filter_map(Value::integer).collect()
            }
            _ => Vec::new(),
        };
        let universe = self.field_object(object, "universe");
        let universe = universe.or_else(|| self.field_object(object, "enums"));
        let constants = universe.map_or(Vec::new(), |array| self.elements(array));
        let is_set = |at: usize| {
            words
                .get(at / 64)
                .is_some_and(|word| word >> (at % 64) & 1 != 0)
        };
        let set = constants
            .into_iter()
            .enumerate()
            .filter(|(at, _)| is_set(*at));
        found.extend(set.take(most).map(|(_, constant)| (constant, None)));
    }
}

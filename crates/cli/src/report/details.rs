//! The objects that a report names, each with what it refers to.

use std::collections::HashSet;

use hprof_analysis::android::Trace;
use hprof_analysis::graph::ClassKind;
use hprof_analysis::leaks::{Leaks, ObjectShare};
use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::{Snapshot, Value};
use serde::Serialize;

use super::data::{ThreadRow, TreeNode};
use crate::commands::object_in_words;

/// Objects with details.
const OBJECTS: usize = 3000;
/// Fields or elements of one.
const FIELDS: usize = 40;
/// Arrays of objects that are longer show no elements.
const LONG: u64 = 100_000;

/// An object with what it refers to.
#[derive(Debug, Serialize)]
pub struct Detail {
    /// Its identifier.
    pub id: String,
    /// Its class.
    pub class: String,
    /// The object in a few words.
    pub description: String,
    /// Its own bytes.
    pub shallow_bytes: u64,
    /// Its retained size, in bytes.
    pub retained_bytes: u64,
    /// The object without which it would be gone; none if that is not one object.
    pub held_by: Option<String>,
    /// Its fields, statics or first elements: name, description of the value, identifier of an object.
    pub fields: Vec<(String, String, Option<String>)>,
    /// How many more there are.
    pub fields_left_out: u64,
}

/// Collects objects, each once.
pub struct Details<'a> {
    snapshot: &'a Snapshot,
    seen: HashSet<ObjectNumber>,
    found: Vec<Detail>,
}

impl<'a> Details<'a> {
    /// The details of all that the parts of a report name.
    pub fn of(
        snapshot: &'a Snapshot,
        leaks: &Leaks,
        dead: &[Trace],
        tree: &[TreeNode],
        objects: &[ObjectShare],
        threads: &[ThreadRow],
    ) -> Vec<Detail> {
        let mut details = Self {
            snapshot,
            seen: HashSet::new(),
            found: Vec::new(),
        };
        let shown = || leaks.suspects.iter().chain(&leaks.largest);
        let paths = shown().map(|suspect| &suspect.path);
        for path in paths.chain(dead.iter().map(|trace| &trace.path)) {
            path.steps.iter().for_each(|step| details.add(step.object));
        }
        for share in shown().flat_map(|it| &it.largest) {
            details.add_id(&share.id);
        }
        objects.iter().for_each(|share| details.add_id(&share.id));
        let mut open: Vec<&TreeNode> = tree.iter().collect();
        while let Some(node) = open.pop() {
            details.add_id(&node.id);
            open.extend(&node.children);
        }
        for local in threads.iter().flat_map(|thread| &thread.locals) {
            details.add_id(&local.3);
        }
        // What holds these is named too.
        let holders: Vec<String> = details
            .found
            .iter()
            .filter_map(|it| it.held_by.clone())
            .collect();
        holders.iter().for_each(|id| details.add_id(id));
        details.found
    }

    fn add_id(&mut self, id: &str) {
        let number = id.strip_prefix("0x");
        let number = number.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if let Some(object) = number.and_then(|id| self.snapshot.graph().number(id)) {
            self.add(object);
        }
    }

    fn add(&mut self, object: ObjectNumber) {
        if self.found.len() >= OBJECTS || !self.seen.insert(object) {
            return;
        }
        let snapshot = self.snapshot;
        let graph = snapshot.graph();
        let share = ObjectShare::new(snapshot, object);
        let held_by = snapshot.dominators().place(object).and_then(|place| {
            let above = snapshot.dominators().above(place)?;
            Some(format!(
                "{:#x}",
                graph.id(snapshot.dominators().object(above))
            ))
        });
        let (fields, all) = fields(snapshot, object);
        let rows = fields.into_iter().take(FIELDS).map(|(name, value)| {
            let id = match &value {
                Value::Object(object) => Some(format!("{:#x}", graph.id(*object))),
                _ => None,
            };
            (name, object_in_words(snapshot, &value), id)
        });
        self.found.push(Detail {
            id: share.id,
            class: snapshot.class_name(object).to_owned(),
            description: share.description,
            shallow_bytes: share.shallow_bytes,
            retained_bytes: share.retained_bytes,
            held_by,
            fields: rows.collect(),
            fields_left_out: all.saturating_sub(FIELDS as u64),
        });
    }
}

/// Fields, statics or the first elements, and how many there are.
fn fields(snapshot: &Snapshot, object: ObjectNumber) -> (Vec<(String, Value)>, u64) {
    let graph = snapshot.graph();
    let classes = graph.classes();
    if let Some(class) = graph.class_of_object(object) {
        let statics = &classes.get(class).statics;
        let rows = statics.iter().take(FIELDS);
        let rows = rows.map(|field| {
            (
                format!("static {}", field.name),
                snapshot.static_value(field),
            )
        });
        return (rows.collect(), statics.len() as u64);
    }
    if let Some(length) = snapshot.array_length(object) {
        let values = match classes.get(graph.class_of(object)).kind {
            ClassKind::Primitives(_) => snapshot.primitives(object, FIELDS),
            // All elements would be looked up.
            ClassKind::Objects if length > LONG => Vec::new(),
            ClassKind::Objects => {
                let mut elements = snapshot.elements(object);
                elements.truncate(FIELDS);
                elements
            }
        };
        let rows = values.into_iter().enumerate();
        return (
            rows.map(|(at, value)| (format!("[{at}]"), value)).collect(),
            length,
        );
    }
    let fields = snapshot.fields(object);
    let all = fields.len() as u64;
    (
        fields
            .into_iter()
            .map(|field| (field.name, field.value))
            .collect(),
        all,
    )
}

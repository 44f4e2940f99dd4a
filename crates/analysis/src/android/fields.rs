//! Fields of Android's own classes. Programs derive from these, and may have fields of the same names.

use std::cell::RefCell;

use hprof_format::binary::{BasicType, SubRecord};
use rustc_hash::FxHashMap;

use crate::graph::Static;
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::snapshot::{Snapshot, Value};

/// A class and one of its fields.
pub(super) type FieldOf = (&'static str, &'static str);

/// The place and type of a field among the values of a class's instances.
type Places = FxHashMap<(ClassNumber, FieldOf), Option<(usize, BasicType)>>;

/// Reads fields by the class that declares them.
pub(super) struct Fields<'a> {
    pub snapshot: &'a Snapshot,
    places: RefCell<Places>,
}

impl<'a> Fields<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            places: RefCell::default(),
        }
    }

    /// The value of a field; `None` if the object is none of that class, or the class has no such field.
    pub fn get(&self, object: ObjectNumber, field: FieldOf) -> Option<Value> {
        let graph = self.snapshot.graph();
        let class = graph.class_of(object);
        let find = || {
            let classes = graph.classes();
            let mut fields = classes.fields(class);
            let is_it = |placed: &crate::graph::PlacedField<'_>| {
                placed.field.name == field.1 && classes.get(placed.class).name == field.0
            };
            let placed = fields.find(is_it)?;
            Some((placed.offset, placed.field.basic_type()))
        };
        let mut places = self.places.borrow_mut();
        let (offset, basic_type) = (*places.entry((class, field)).or_insert_with(find))?;
        let (_, record) = graph.locate(self.snapshot.file(), object)?;
        let SubRecord::Instance { values, .. } = record else {
            return None;
        };
        self.snapshot.value(basic_type, values.get(offset..)?)
    }

    /// The object that a field refers to.
    pub fn object(&self, object: ObjectNumber, field: FieldOf) -> Option<ObjectNumber> {
        self.get(object, field)?.object()
    }

    /// True if a field is there and null.
    pub fn is_null(&self, object: ObjectNumber, field: FieldOf) -> bool {
        self.get(object, field) == Some(Value::Null)
    }

    /// The truth of a field.
    pub fn truth(&self, object: ObjectNumber, field: FieldOf) -> Option<bool> {
        match self.get(object, field)? {
            Value::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// The number in a field.
    pub fn integer(&self, object: ObjectNumber, field: FieldOf) -> Option<i64> {
        self.get(object, field)?.integer()
    }

    /// The text in a field.
    pub fn text(&self, object: ObjectNumber, field: FieldOf) -> Option<String> {
        let text = self
            .snapshot
            .string(self.object(object, field)?, MAX_TEXT)?;
        (!text.is_empty() && !text.chars().all(char::is_control)).then_some(text)
    }

    /// The name of the constant of an enumeration in a field.
    pub fn constant(&self, object: ObjectNumber, field: FieldOf) -> Option<String> {
        self.text(self.object(object, field)?, ("java.lang.Enum", "name"))
    }

    /// Returns true if an object is of a class, or of one derived from it.
    pub fn is_a(&self, object: ObjectNumber, class: &str) -> bool {
        let graph = self.snapshot.graph();
        graph.classes().is_a(graph.class_of(object), class)
    }
}

/// Characters of a text.
const MAX_TEXT: usize = 100;

/// The value of a static field of the first class with a name.
pub(super) fn static_of(snapshot: &Snapshot, class: &str, field: &str) -> Option<Value> {
    let classes = snapshot.graph().classes().list().iter();
    let mut classes = classes.filter(|it| it.name == class);
    let is_wanted = |it: &&Static| it.name == field;
    let found = classes.find_map(|class| class.statics.iter().find(is_wanted))?;
    Some(snapshot.static_value(found))
}

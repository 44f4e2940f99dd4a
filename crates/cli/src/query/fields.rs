//! The table `fields`.

use std::ops::Range;

use hprof_analysis::numbers::{ClassNumber, ObjectNumber};
use hprof_analysis::snapshot::{FieldValue, Value};

use super::Heap;
use super::table::{Cell, Column, Key, Rows};

/// Fields of all instances, or of some.
pub struct Fields {
    objects: Range<usize>,
    classes: Option<Vec<ClassNumber>>,
    object: ObjectNumber,
    left: std::vec::IntoIter<FieldValue>,
    field: Option<FieldValue>,
}

const OBJECT: usize = 0;
const CLASS: usize = 1;

impl Rows for Fields {
    const NAME: &'static str = "fields";
    const ABOUT: &'static str =
        "a field of an instance, inherited ones included; static fields of class objects";
    const COLUMNS: &'static [Column] = &[
        ("object", "TEXT", "id of the object"),
        ("class", "TEXT", "name of the object's class"),
        ("name", "TEXT", "name of the field"),
        (
            "declared_by",
            "TEXT",
            "name of the class that declares the field",
        ),
        (
            "value",
            "ANY",
            "number, text of a string or boxed value, else the id of the object",
        ),
        ("target", "TEXT", "id of the object that it refers to"),
    ];
    const KEYS: &'static [Key] = &[(OBJECT, 5), (CLASS, 50_000)];

    fn estimate(heap: &Heap) -> usize {
        heap.snapshot.graph().len().saturating_mul(3)
    }

    fn start(heap: &Heap, key: Option<(usize, &str)>) -> std::io::Result<Self> {
        let all = 0..heap.snapshot.graph().len();
        let (objects, classes) = match key {
            None => (all, None),
            Some((OBJECT, id)) => {
                let object = heap.object(id);
                (
                    object.map_or(0..0, |object| object.index()..object.next().index()),
                    None,
                )
            }
            Some((_, name)) => (all, Some(heap.classes_named(name))),
        };
        Ok(Self {
            objects,
            classes,
            object: ObjectNumber::new(0),
            left: Vec::new().into_iter(),
            field: None,
        })
    }

    fn advance(&mut self, heap: &Heap) -> bool {
        let graph = heap.snapshot.graph();
        loop {
            self.field = self.left.next();
            if self.field.is_some() {
                return true;
            }
            let classes = self.classes.as_ref();
            let is_wanted = |&object: &ObjectNumber| {
                classes.is_none_or(|classes| classes.contains(&graph.class_of(object)))
            };
            let Some(object) = self.objects.by_ref().map(ObjectNumber::new).find(is_wanted) else {
                return false;
            };
            self.object = object;
            self.left = heap.fields(object).into_iter();
        }
    }

    fn cell<'a>(&'a self, heap: &'a Heap, column: usize) -> Cell<'a> {
        let Some(field) = &self.field else {
            return Cell::Null;
        };
        match column {
            OBJECT => heap.id(self.object),
            CLASS => heap.class(self.object),
            2 => Cell::from(field.name.as_str()),
            3 => {
                let classes = heap.snapshot.graph().classes();
                Cell::from(classes.get(field.class).name.as_str())
            }
            4 => heap.value(&field.value, "fields.value"),
            _ => field.value.object().map(|object| heap.id(object)).into(),
        }
    }
}

impl Heap {
    /// The fields of an instance, or the static ones of a class.
    pub(super) fn fields(&self, object: ObjectNumber) -> Vec<FieldValue> {
        let graph = self.snapshot.graph();
        let Some(class) = graph.class_of_object(object) else {
            return self.snapshot.fields(object);
        };
        let statics = graph.classes().get(class).statics.iter();
        statics
            .map(|field| FieldValue {
                name: field.name.clone(),
                class,
                value: self.snapshot.static_value(field),
            })
            .collect()
    }

    /// A value of a field: numbers as numbers, strings and boxed values as what they stand for.
    /// `asked_by` is the column or function that gives it.
    pub(super) fn value(&self, value: &Value, asked_by: &'static str) -> Cell<'static> {
        match value {
            Value::Null => Cell::Null,
            Value::Boolean(value) => Cell::truth(*value),
            Value::Char(value) => Cell::from(value.to_string()),
            Value::Integer(value) => Cell::Integer(*value),
            // SQLite takes what is no number for null.
            Value::Float(value) if value.is_nan() => Cell::from("NaN"),
            Value::Float(value) => Cell::Real(*value),
            Value::Missing(id) => Cell::from(format!("{id:#x}")),
            Value::Object(object) => match self.text(*object, asked_by) {
                Some(text) => Cell::from(text),
                None => match self.snapshot.unboxed(*object) {
                    Some(inner) => self.value(&inner, asked_by),
                    None => self.id(*object),
                },
            },
        }
    }
}

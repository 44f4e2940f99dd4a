//! The contents of an object: fields of instances, statics of classes, elements of arrays.

use std::sync::Arc;

use hprof_analysis::snapshot::Value;
use hprof_format::binary::{BasicType, IdSize, Ids, SubRecord};
use serde::Deserialize;
use utoipa::IntoParams;

use super::ViewError;
use super::objects::{filter_note, rank};
use super::opened::Opened;
use super::page::{Source, TableQuery, page};
use super::table::{Cell, Column, Links, Table, text};
use super::values::{in_words, type_name};

/// Parameters of the fields view.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FieldsQuery {
    /// For class objects: true for static fields (as without it), false for the fields that the
    /// class object itself has as an instance of `java.lang.Class`, which dumps seldom hold.
    pub statics: Option<bool>,
}

const COLUMNS: [Column; 4] = [
    text("name", "Field"),
    text("type", "Type"),
    text("value", "Value"),
    text("declared_in", "Declared in"),
];

/// A field with its value.
struct FieldRow {
    name: String,
    kind: &'static str,
    value: Value,
    declared_in: String,
}

struct Fields<'a> {
    opened: &'a Opened,
    rows: Vec<FieldRow>,
}

fn value_links(opened: &Opened, value: &Value) -> Links {
    match value {
        Value::Object(object) => super::objects::links(opened, *object),
        _ => Links::default(),
    }
}

impl Source for Fields<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn row_count(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, at: usize, column: usize) -> Cell {
        let row = &self.rows[at];
        match column {
            0 => row.name.as_str().into(),
            1 => row.kind.into(),
            2 => in_words(self.opened, &row.value).into(),
            _ => row.declared_in.as_str().into(),
        }
    }

    fn links(&self, at: usize) -> Links {
        value_links(self.opened, &self.rows[at].value)
    }
}

/// The fields of an object, the statics of a class, or the elements of an array.
///
/// # Errors
/// If the dump has no such object, or the query names no column.
pub fn fields(
    opened: &Arc<Opened>,
    id: &str,
    which: FieldsQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let object = opened.object(id)?;
    let (snapshot, graph) = (&opened.snapshot, opened.snapshot.graph());
    let classes = graph.classes();
    if let Some(class) = graph
        .class_of_object(object)
        .filter(|_| which.statics != Some(false))
    {
        let class = classes.get(class);
        let row = |field: &hprof_analysis::graph::Static| FieldRow {
            name: field.name.clone(),
            kind: BasicType::from_code(field.type_code).map_or("", type_name),
            value: snapshot.static_value(field),
            declared_in: class.name.clone(),
        };
        let rows = class.statics.iter().map(row).collect();
        return page(&Fields { opened, rows }, query);
    }
    if let Some((_, record)) = graph.locate(snapshot.file(), object)
        && let Some(content) = Content::of(record)
    {
        let elements = Elements { opened, content };
        let note = filter_note(query, elements.row_count());
        return Ok(page(&elements, query)?.with_note(note));
    }
    // `Snapshot::fields` gives them in the order of their classes' fields.
    let placed = classes.fields(graph.class_of(object));
    let rows = (snapshot.fields(object).into_iter().zip(placed)).map(|(field, placed)| FieldRow {
        name: field.name,
        kind: type_name(placed.field.basic_type()),
        value: field.value,
        declared_in: classes.get(field.class).name.clone(),
    });
    let rows = rows.collect();
    page(&Fields { opened, rows }, query)
}

/// The elements of an array as the dump has them.
enum Content<'a> {
    References(Ids<'a>),
    Primitives(BasicType, &'a [u8]),
}

impl<'a> Content<'a> {
    fn of(record: SubRecord<'a>) -> Option<Self> {
        match record {
            SubRecord::ObjectArray { elements, .. } => Some(Self::References(elements)),
            SubRecord::PrimitiveArray {
                element, values, ..
            } => Some(Self::Primitives(element, values)),
            _ => None,
        }
    }
}

struct Elements<'a> {
    opened: &'a Opened,
    content: Content<'a>,
}

impl Elements<'_> {
    fn value(&self, at: usize) -> Value {
        let snapshot = &self.opened.snapshot;
        match &self.content {
            Content::References(ids) => match ids.get(at).unwrap_or(0) {
                0 => Value::Null,
                id => (snapshot.graph().number(id)).map_or(Value::Missing(id), Value::Object),
            },
            Content::Primitives(element, bytes) => {
                let bytes = bytes
                    .get(at * element.width(IdSize::Eight)..)
                    .unwrap_or_default();
                snapshot.value(*element, bytes).unwrap_or(Value::Null)
            }
        }
    }
}

impl Source for Elements<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS[..3]
    }

    fn row_count(&self) -> usize {
        match &self.content {
            Content::References(ids) => ids.len(),
            Content::Primitives(element, bytes) => bytes.len() / element.width(IdSize::Eight),
        }
    }

    fn cell(&self, at: usize, column: usize) -> Cell {
        match (column, &self.content) {
            (0, _) => format!("[{at}]").into(),
            (1, Content::References(_)) => "reference".into(),
            (1, Content::Primitives(element, _)) => type_name(*element).into(),
            _ => in_words(self.opened, &self.value(at)).into(),
        }
    }

    fn links(&self, at: usize) -> Links {
        value_links(self.opened, &self.value(at))
    }

    /// Elements have no names, so the filter looks at their values.
    fn text(&self, at: usize) -> std::borrow::Cow<'_, str> {
        match self.value(at) {
            Value::Object(object) => {
                super::objects::filter_text(self.opened, object, self.row_count())
            }
            value => in_words(self.opened, &value).into(),
        }
    }

    fn rank(&self, at: usize, column: usize) -> Option<u64> {
        match column {
            0 => Some(at as u64),
            1 => Some(0),
            _ => Some(match self.value(at) {
                Value::Object(object) => rank(self.opened, object, "name")?.saturating_add(1),
                Value::Integer(number) => number.cast_unsigned() ^ (1 << 63),
                Value::Float(number) => in_order(number),
                Value::Char(unit) => u64::from(u32::from(unit)),
                Value::Boolean(value) => u64::from(value),
                Value::Null => 0,
                Value::Missing(_) => u64::MAX,
            }),
        }
    }
}

/// The bits of a number, such that they are ordered as numbers are (IEEE 754, total order).
fn in_order(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn ranks_of_numbers_are_in_their_order() {
        let numbers = [
            f64::NEG_INFINITY,
            -2.5,
            -0.0,
            0.0,
            1e-300,
            1.0,
            f64::INFINITY,
        ];
        assert!(numbers.map(in_order).is_sorted());
    }
}

//! Functions of objects.

use std::sync::Arc;

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::paths::{Line, Path};
use hprof_analysis::snapshot::Value;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Error, Result};

use super::Heap;
use super::table::Cell;
use crate::render::screen::count;

/// Steps that `path` gives at each end of a long path.
const PATH_ENDS: usize = 12;

/// The functions: how they are called, and what they give.
pub const FUNCTIONS: [(&str, &str); 4] = [
    (
        "field(id, 'name')",
        "the value of a field; 'a.b.c' follows references, of a class object static fields",
    ),
    ("text(id)", "the text of a string or the value of a box"),
    ("describe(id)", "the object in words"),
    (
        "path(id)",
        "the shortest path from a root, in words; of a long one both ends",
    ),
];

/// Makes the functions known to a connection.
///
/// # Errors
/// Errors of SQLite.
pub fn register(connection: &Connection, heap: &Arc<Heap>) -> Result<()> {
    let add = |name: &str, arguments, function: fn(&Heap, &Context<'_>) -> Result<Sql>| {
        let heap = Arc::clone(heap);
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        connection.create_scalar_function(name, arguments, flags, move |context| {
            function(&heap, context)
        })
    };
    add("field", 2, |heap, context| {
        let name: String = context.get(1).map_err(|_| {
            let message =
                "the second argument of field is the name of a field, such as 'user.name'";
            Error::UserFunctionError(message.into())
        })?;
        Ok(object(heap, context)?
            .and_then(|object| heap.follow(object, &name))
            .map_or(Sql::Null, |value| sql(heap.value(&value, "field()"))))
    })?;
    add("text", 1, |heap, context| {
        Ok(match object(heap, context)? {
            Some(object) => match heap.value(&Value::Object(object), "text()") {
                // An object that stands for nothing but itself.
                own if own == heap.id(object) => Sql::Null,
                value => sql(value),
            },
            None => Sql::Null,
        })
    })?;
    add("describe", 1, |heap, context| {
        let object = object(heap, context)?;
        let text = object.map(|object| heap.snapshot.describe(object));
        Ok(text.map_or(Sql::Null, Sql::Text))
    })?;
    add("path", 1, |heap, context| {
        let object = object(heap, context)?;
        Ok(object
            .and_then(|object| heap.path(object))
            .map_or(Sql::Null, Sql::Text))
    })
}

/// The object that the first argument names; `None` for null and for objects the file lacks.
fn object(heap: &Heap, context: &Context<'_>) -> Result<Option<ObjectNumber>> {
    let id: Option<String> = context.get(0).map_err(|_| {
        let message = "the first argument is the id of an object, such as '0x7ffd00770'";
        Error::UserFunctionError(message.into())
    })?;
    Ok(id.and_then(|id| heap.named(&id)))
}

fn sql(cell: Cell<'_>) -> Sql {
    match cell {
        Cell::Null => Sql::Null,
        Cell::Integer(number) => Sql::Integer(number),
        Cell::Real(number) => Sql::Real(number),
        Cell::Text(text) => Sql::Text(text.into_owned()),
    }
}

impl Heap {
    /// The value of a field, or of a field of what a field refers to, and so on.
    fn follow(&self, object: ObjectNumber, names: &str) -> Option<Value> {
        let mut value = Value::Object(object);
        for name in names.split('.') {
            let fields = self.fields(value.object()?);
            value = fields.into_iter().find(|field| field.name == name)?.value;
        }
        Some(value)
    }

    /// The shortest path to an object, in words.
    fn path(&self, object: ObjectNumber) -> Option<String> {
        let objects = self.paths.to(&self.snapshot, object).ok()??;
        let path = Path::new(&self.snapshot, &objects);
        let mut text = path.root.clone();
        for line in path.lines(PATH_ENDS) {
            let step = match line {
                Line::Step(step) => step,
                Line::More(left_out) => {
                    text.push_str(&format!(" > ({} more)", count(left_out)));
                    continue;
                }
            };
            if let Some(edge) = &step.edge {
                text.push_str(&edge.to_string());
            }
            text.push_str(" > ");
            text.push_str(&step.description);
        }
        Some(text)
    }
}

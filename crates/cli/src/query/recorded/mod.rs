//! The events of a recording as tables for SQL, one for each type.
//!
//! The tables that a query reads are filled by one pass over the recording, into a temporary database that SQLite keeps on
//! disk beyond its cache. So memory does not grow with the events, and joins read no event twice. Stacks are in
//! a table of their own, which is filled only if a query reads it.

mod load;
mod names;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context, anyhow};
use hprof_foreign::jfr::any::{Shape, Type};
use rusqlite::Connection;

use super::errors::{self, Known};
use crate::events::Recording;

pub use names::prepare;

/// Fields that the view of a type gives in another form.
const APART: [&str; 3] = ["startTime", "duration", "stackTrace"];
/// Columns of one table; a type with more fields lacks the last of them.
const MAX_COLUMNS: usize = 1000;

/// A column of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type in SQL.
    pub kind: &'static str,
    /// Its meaning.
    pub about: String,
}

/// The view of a type of events.
pub struct View<'a> {
    /// The name of the type.
    pub name: &'a str,
    /// The last part of the name, if it is that of no other type.
    pub short: Option<&'a str>,
    /// The type.
    pub of: &'a Type,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The fields that are stored, by their place among those of the type.
    fields: Vec<usize>,
}

/// The views of a recording, by the names of types.
pub fn views(types: &BTreeMap<String, Type>) -> Vec<View<'_>> {
    let mut times: HashMap<String, u32> = HashMap::new();
    for name in types.keys() {
        *times.entry(last(name).to_lowercase()).or_default() += 1;
    }
    let full: BTreeSet<String> = types.keys().map(|name| name.to_lowercase()).collect();
    let views = types.iter().map(|(name, of)| {
        let short = last(name).to_lowercase();
        let is_free = times[&short] == 1 && !full.contains(&short);
        let (columns, fields) = columns(of);
        View {
            name,
            short: is_free.then(|| last(name)),
            of,
            columns,
            fields,
        }
    });
    views.collect()
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn columns(of: &Type) -> (Vec<Column>, Vec<usize>) {
    let column = |name: &str, kind, about: &str| Column {
        name: name.to_owned(),
        kind,
        about: about.to_owned(),
    };
    let mut columns = vec![
        column(
            "startTime",
            "TEXT",
            "its start in UTC, as 2026-11-29T14:03:10.123456789Z",
        ),
        column(
            "startNanos",
            "INTEGER",
            "its start in nanoseconds since 1970-01-01 UTC",
        ),
    ];
    if of.fields.iter().any(|field| field.name == "duration") {
        columns.push(column("duration", "INTEGER", "nanoseconds"));
    }
    // SQL ignores the case of names.
    let mut taken: BTreeSet<String> = ["starttime", "startnanos", "duration"]
        .map(str::to_owned)
        .into();
    if of.has_stacks {
        taken.extend(["topframe".to_owned(), "stacktrace".to_owned()]);
    }
    let mut fields = Vec::new();
    for (place, field) in of.fields.iter().enumerate() {
        let is_apart = APART.contains(&&*field.name);
        if is_apart || columns.len() >= MAX_COLUMNS || !taken.insert(field.name.to_lowercase()) {
            continue;
        }
        let (kind, about) = match field.shape {
            Shape::Number => ("INTEGER", field.of.clone()),
            Shape::Bytes => ("INTEGER", "bytes".to_owned()),
            Shape::Time => ("INTEGER", "nanoseconds".to_owned()),
            Shape::Fraction => ("REAL", field.of.clone()),
            Shape::Flag => ("INTEGER", "1 or 0".to_owned()),
            Shape::Text => ("TEXT", field.of.clone()),
        };
        columns.push(column(&field.name, kind, &about));
        fields.push(place);
    }
    if of.has_stacks {
        columns.push(column(
            "topFrame",
            "TEXT",
            "the innermost frame of the stack",
        ));
        columns.push(column(
            "stackTrace",
            "TEXT",
            "the frames, innermost first, a line each",
        ));
    }
    (columns, fields)
}

/// A connection to the tables of a recording, filled for a query.
///
/// # Errors
/// Errors of SQLite, in words.
pub fn connect(recording: &Recording, sql: &str) -> anyhow::Result<Connection> {
    let views = views(&recording.types);
    let say = |error: rusqlite::Error| anyhow!("{}", explain(&error, &views));
    // On disk, without a name.
    let connection = Connection::open("").context("a temporary database")?;
    declare(&connection, &views).map_err(say)?;
    let sql = prepare(sql, &views);
    let read = load::tables_of(&connection, &sql).map_err(say)?;
    load::fill(&connection, recording, &views, &read).map_err(say)?;
    Ok(connection)
}

/// Explains an error of a query.
pub fn explain(error: &rusqlite::Error, views: &[View<'_>]) -> String {
    let known = views.iter().filter(|view| view.of.count > 0);
    let known: Vec<Known<'_>> = known
        .map(|view| Known {
            name: view.name,
            columns: view.columns.iter().map(|it| &*it.name).collect(),
        })
        .collect();
    errors::explain_of(error, &known, &[])
}

/// A name in quotation marks.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn declare(connection: &Connection, views: &[View<'_>]) -> rusqlite::Result<()> {
    let mut sql = String::from(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;
         CREATE TABLE \"~stacks\" (id INTEGER PRIMARY KEY, top TEXT, frames TEXT);",
    );
    for (number, view) in views.iter().enumerate() {
        let stored = (0..stored(view)).map(|at| format!("c{at}"));
        let stored: Vec<String> = stored.collect();
        sql.push_str(&format!(
            "CREATE TABLE \"~{number}\" ({});",
            stored.join(", ")
        ));
        let mut at = 0;
        let selected = view.columns.iter().map(|column| {
            let name = quoted(&column.name);
            let of_stack = |field: &str| {
                let key = format!("c{}", stored.len() - 1);
                format!("(SELECT s.{field} FROM \"~stacks\" s WHERE s.id = {key}) AS {name}")
            };
            match &*column.name {
                "topFrame" if view.of.has_stacks => of_stack("top"),
                "stackTrace" => of_stack("frames"),
                _ => {
                    at += 1;
                    format!("c{} AS {name}", at - 1)
                }
            }
        });
        let selected: Vec<String> = selected.collect();
        for name in [Some(view.name), view.short].into_iter().flatten() {
            sql.push_str(&format!(
                "CREATE VIEW {} AS SELECT {} FROM \"~{number}\";",
                quoted(name),
                selected.join(", ")
            ));
        }
    }
    sql.push_str("COMMIT;");
    connection.execute_batch(&sql)
}

/// The columns of the table of a type: all of the view but those of the stack, and the number of the stack.
fn stored(view: &View<'_>) -> usize {
    match view.of.has_stacks {
        true => view.columns.len() - 1,
        false => view.columns.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_foreign::jfr::any::Field;

    fn type_with(fields: &[(&str, Shape)]) -> Type {
        let fields = fields.iter().map(|&(name, shape)| Field {
            name: name.to_owned(),
            of: "long".to_owned(),
            shape,
        });
        Type {
            has_stacks: true,
            fields: fields.collect(),
            ..Type::default()
        }
    }

    #[test]
    fn types_are_views_whose_names_differ() {
        let order = type_with(&[
            ("startTime", Shape::Time),
            ("duration", Shape::Time),
            ("Size", Shape::Bytes),
            ("size", Shape::Number),
            ("say \"so\"", Shape::Text),
        ]);
        let plain = Type::default();
        let types = BTreeMap::from([
            ("acme.Order".to_owned(), order),
            ("other.order".to_owned(), plain.clone()),
            ("acme.Plain".to_owned(), plain),
        ]);
        let views = views(&types);
        let names: Vec<&str> = views[0].columns.iter().map(|it| &*it.name).collect();
        assert_eq!(
            names,
            [
                "startTime",
                "startNanos",
                "duration",
                "Size",
                "say \"so\"",
                "topFrame",
                "stackTrace"
            ]
        );
        assert_eq!(views[0].fields, [2, 4]);
        let shorts: Vec<Option<&str>> = views.iter().map(|it| it.short).collect();
        assert_eq!(shorts, [None, Some("Plain"), None]);
        let connection = Connection::open("").expect("a database");
        declare(&connection, &views).expect("tables");
        let sql = "SELECT topFrame, \"say \"\"so\"\"\" FROM \"acme.Order\"";
        let read = load::tables_of(&connection, sql).expect("tables");
        assert!(read.stacks && read.types == BTreeSet::from([0]), "{read:?}");
        let sql = "SELECT count(*) FROM \"acme.Order\" o, Plain";
        let read = load::tables_of(&connection, sql).expect("tables");
        assert!(
            !read.stacks && read.types == BTreeSet::from([0, 1]),
            "{read:?}"
        );
    }
}

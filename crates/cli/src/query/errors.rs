//! Errors of SQLite, with advice.

use rusqlite::Error;

use super::{FUNCTIONS, TABLES};

/// Explains an error of a query.
pub fn explain(error: &Error) -> String {
    let (message, sql, offset) = match error {
        Error::SqlInputError {
            msg, sql, offset, ..
        } => (msg.as_str(), sql.as_str(), usize::try_from(*offset).ok()),
        Error::MultipleStatement => {
            return "one query at a time: leave out what follows the `;`".to_owned();
        }
        Error::SqliteFailure(_, Some(message)) => (message.as_str(), "", None),
        other => return other.to_string(),
    };
    let mut text = message.to_owned();
    if let Some(name) = message.strip_prefix("no such table: ") {
        let tables = TABLES.iter().map(|table| table.0);
        text = format!("there is no table {name}{}", nearest(name, tables));
        let names: Vec<&str> = TABLES.iter().map(|table| table.0).collect();
        text.push_str(&format!("\nTables: {}", names.join(", ")));
    } else if let Some(name) = message.strip_prefix("no such column: ") {
        let bare = name.rsplit('.').next().unwrap_or(name);
        let bare = bare.split(' ').next().unwrap_or(bare).trim_matches('"');
        let named = named_tables(sql);
        let columns = named
            .iter()
            .flat_map(|table| table.2.iter().map(|column| column.0));
        text = format!("there is no column {bare}{}", nearest(bare, columns));
        for (table, _, columns) in named {
            let names: Vec<&str> = columns.iter().map(|column| column.0).collect();
            text.push_str(&format!("\nColumns of {table}: {}", names.join(", ")));
        }
    } else if let Some(name) = message.strip_prefix("no such function: ") {
        let functions = FUNCTIONS.iter().map(|function| bare_name(function.0));
        text = format!("there is no function {name}{}", nearest(name, functions));
        let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.0).collect();
        text.push_str(&format!(
            "\nFunctions of objects: {}; those of SQLite are there too",
            names.join(", ")
        ));
    } else if let Some(offset) = offset.filter(|&offset| sql.is_char_boundary(offset)) {
        let line = sql[..offset].rsplit('\n').next().unwrap_or_default();
        let rest = sql[offset..].lines().next().unwrap_or_default();
        let indent = line.chars().count();
        text.push_str(&format!("\n  {line}{rest}\n  {:indent$}^", ""));
    }
    text
}

fn bare_name(call: &'static str) -> &'static str {
    call.split('(').next().unwrap_or(call)
}

/// The tables that a query speaks of; all of them if it speaks of none.
fn named_tables(sql: &str) -> Vec<super::About> {
    let words: Vec<String> = sql
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(str::to_lowercase)
        .collect();
    let is_named = |table: &&super::About| words.iter().any(|word| word == table.0);
    let named: Vec<super::About> = TABLES.iter().filter(is_named).copied().collect();
    match named.is_empty() {
        true => TABLES.to_vec(),
        false => named,
    }
}

/// The name that is most like one that was given.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let name = name.to_lowercase();
    let likeness = |other: &str| {
        let starts = other.starts_with(&name) || name.starts_with(other);
        strsim::jaro_winkler(&name, other) + if starts { 0.2 } else { 0.0 }
    };
    let best = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best.filter(|best| likeness(best) > 0.7) {
        Some(best) => format!("; did you mean {best}?"),
        None => String::new(),
    }
}

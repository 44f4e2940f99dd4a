//! Errors of SQLite, with advice.

use rusqlite::Error;

use super::{FUNCTIONS, TABLES};

/// A table that a query may name.
pub(super) struct Known<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its columns.
    pub(super) columns: Vec<&'a str>,
}

/// Tables whose names, or columns, an error lists.
const MAX_LISTED: usize = 40;

/// Explains an error of a query of a heap dump.
pub fn explain(error: &Error) -> String {
    let tables = TABLES.iter().map(|&(name, _, columns)| Known {
        name,
        columns: columns.iter().map(|column| column.0).collect(),
    });
    let functions = FUNCTIONS.map(|function| function.0);
    explain_of(error, &tables.collect::<Vec<_>>(), &functions)
}

/// Explains an error of a query of some tables, with functions beside those of SQLite.
pub(super) fn explain_of(error: &Error, tables: &[Known<'_>], functions: &[&str]) -> String {
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
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        let near = nearest(name, names.iter().copied());
        text = format!("there is no table {name}{near}");
        let listed = &names[..names.len().min(MAX_LISTED)];
        text.push_str(&format!("\nTables: {}", listed.join(", ")));
        if names.len() > listed.len() {
            text.push_str(&format!(" and {} more", names.len() - listed.len()));
        }
    } else if let Some(name) = message.strip_prefix("no such column: ") {
        let bare = name.rsplit('.').next().unwrap_or(name);
        let bare = bare.split(' ').next().unwrap_or(bare).trim_matches('"');
        let named = named_tables(sql, tables);
        let columns = named.iter().flat_map(|table| table.columns.iter().copied());
        text = format!("there is no column {bare}{}", nearest(bare, columns));
        for table in named.iter().take(MAX_LISTED) {
            let columns = table.columns.join(", ");
            text.push_str(&format!("\nColumns of {}: {columns}", table.name));
        }
    } else if let Some(name) = message.strip_prefix("no such function: ") {
        let near = nearest(name, functions.iter().map(|function| bare_name(function)));
        text = format!("there is no function {name}{near}");
        text.push_str(&match functions {
            [] => "; those of SQLite are there".to_owned(),
            _ => format!(
                "\nFunctions of objects: {}; those of SQLite are there too",
                functions.join(", ")
            ),
        });
    } else if let Some(offset) = offset.filter(|&offset| sql.is_char_boundary(offset)) {
        let line = sql[..offset].rsplit('\n').next().unwrap_or_default();
        let rest = sql[offset..].lines().next().unwrap_or_default();
        let indent = line.chars().count();
        text.push_str(&format!("\n  {line}{rest}\n  {:indent$}^", ""));
    }
    text
}

fn bare_name(call: &str) -> &str {
    call.split('(').next().unwrap_or(call)
}

/// The tables that a query speaks of; all of them if it speaks of none.
fn named_tables<'a, 'b>(sql: &str, tables: &'a [Known<'b>]) -> Vec<&'a Known<'b>> {
    let words: Vec<String> = sql
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(str::to_lowercase)
        .collect();
    let is_named = |table: &&Known<'_>| {
        let last = table.name.rsplit('.').next().unwrap_or(table.name);
        let last = last.to_lowercase();
        words.contains(&last)
    };
    let named: Vec<&Known<'_>> = tables.iter().filter(is_named).collect();
    match named.is_empty() {
        true => tables.iter().collect(),
        false => named,
    }
}

/// The name that is most like one that was given.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let name = name.to_lowercase();
    let likeness = |other: &str| {
        let other = other.to_lowercase();
        let last = other.rsplit('.').next().unwrap_or(&other);
        let starts = other.starts_with(&name) || name.starts_with(&other);
        let whole = strsim::jaro_winkler(&name, &other);
        whole.max(strsim::jaro_winkler(&name, last)) + if starts { 0.2 } else { 0.0 }
    };
    let best = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best.filter(|best| likeness(best) > 0.7) {
        Some(best) => format!("; did you mean {best}?"),
        None => String::new(),
    }
}

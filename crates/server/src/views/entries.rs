//! Collections shown by their entries.

use std::sync::Arc;

use hprof_analysis::snapshot::{CollectionKind, Value};

use super::ViewError;
use super::opened::Opened;
use super::page::{Source, TableQuery, page};
use super::table::{Cell, Column, Links, Table, count, text};
use super::values::in_words;

/// Entries of a collection that are sorted or filtered.
const MAX_SORTED: usize = 100_000;

const COLUMNS: [Column; 3] = [
    text("key", "Key"),
    text("value", "Value"),
    count("index", "Index"),
];

struct Entries<'a> {
    opened: &'a Opened,
    found: Vec<(Value, Option<Value>)>,
    /// The number of all, which may be more than were looked up.
    size: usize,
}

impl Entries<'_> {
    fn value(&self, at: usize) -> Option<&Value> {
        self.found.get(at)?.1.as_ref()
    }
}

impl Source for Entries<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn row_count(&self) -> usize {
        self.size
    }

    fn cell(&self, at: usize, column: usize) -> Cell {
        let words = |value: &Value| in_words(self.opened, value);
        match column {
            0 => self.found.get(at).map(|entry| words(&entry.0)).into(),
            1 => self.value(at).map(words).into(),
            _ => Cell::Count(at as u64),
        }
    }

    fn links(&self, at: usize) -> Links {
        let id = |value: &Value| Some(Cell::Id(self.opened.id(value.object()?)));
        let key = self.found.get(at).and_then(|entry| id(&entry.0));
        let value = self.value(at).and_then(id);
        let more = [("key_object", key), ("value_object", value)];
        let more = more
            .into_iter()
            .filter_map(|(name, cell)| Some((name, cell?)));
        Links {
            more: more.collect(),
            ..Links::default()
        }
    }
}

/// The entries of a map, or the elements of another collection as keys without values.
///
/// # Errors
/// If the dump has no such object, or the query names no column.
pub fn entries(opened: &Arc<Opened>, id: &str, query: &TableQuery) -> Result<Table, ViewError> {
    let object = opened.object(id)?;
    let snapshot = &opened.snapshot;
    let Some(collection) = snapshot.collection(object) else {
        let name = snapshot.class_name(object);
        let note = format!("{name} is not known as a collection; its fields tell what it holds");
        return Ok(Table::empty(&COLUMNS, &note));
    };
    let size = collection.size.and_then(|size| usize::try_from(size).ok());
    let is_whole = query.is_rearranged();
    let wanted = match is_whole {
        true => MAX_SORTED,
        false => query.last_row(),
    };
    let found = snapshot.collection_elements(object, wanted);
    let all = match (size, is_whole || found.len() < wanted) {
        // The dump may state another size than it has entries of.
        (_, true) => found.len(),
        (size, false) => size.unwrap_or(found.len()).max(found.len()),
    };
    let is_cut = is_whole && size.is_some_and(|size| size > found.len());
    let entries = Entries {
        opened,
        size: all,
        found,
    };
    let mut table = page(&entries, query)?;
    if collection.kind != CollectionKind::Map {
        table
            .notes
            .push("elements are shown as keys without values".to_owned());
    }
    if is_cut {
        table.notes.push(format!(
            "sort and filter look at the first {MAX_SORTED} entries only"
        ));
    }
    Ok(table)
}

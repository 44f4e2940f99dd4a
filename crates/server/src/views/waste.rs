//! Waste: equal strings and arrays, and collections with empty places.

use std::sync::Arc;

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::usage::{CollectionRow, collections as work_out};
use hprof_stacks::pictures::numbers::count as separated;

use super::ViewError;
use super::later::PATIENCE;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::report::Duplicate;
use super::table::{Cell, Links, Table, bytes, count, text};
use crate::rules::size;

const DUPLICATES: [Of<(Duplicate, Option<u64>)>; 5] = [
    (text("name", "Contents"), |row| {
        Cell::from(row.0.preview.as_str())
    }),
    (text("kind", "Kind"), |row| match row.0.is_string {
        true => "string".into(),
        false => format!("{}[]", row.0.element).into(),
    }),
    (count("objects", "Copies"), |row| row.0.count.into()),
    (bytes("bytes", "Size of one"), |row| row.0.bytes.into()),
    (bytes("wasted", "Wasted"), |row| row.0.wasted_bytes.into()),
];

/// Strings and arrays with equal contents, those that waste most.
///
/// # Errors
/// If the query names no column.
pub fn duplicates(opened: &Opened, query: &TableQuery) -> Result<Table, ViewError> {
    let found = &opened.report.duplicates;
    let objects = opened.snapshot.graph().len();
    let row = |group: &Duplicate| {
        let object = Some(group.object).filter(|&object| object < objects);
        (
            group.clone(),
            object.map(|object| opened.id(ObjectNumber::new(object))),
        )
    };
    let rows: Vec<_> = found.groups.iter().map(row).collect();
    let note = match (found.arrays, rows.len()) {
        (_, 0) => "no two arrays of the dump have equal contents".to_owned(),
        (arrays, shown) => format!(
            "of {} live arrays, equal ones waste {}; the {shown} groups that waste most are listed",
            separated(arrays),
            size(found.wasted_bytes)
        ),
    };
    let records = Records::new(rows, &DUPLICATES).largest_first("wasted");
    let records = records.about(|row| Links {
        object: row.1,
        ..Links::default()
    });
    Ok(records.page(query)?.with_note(Some(note)))
}

const COLLECTIONS: [Of<CollectionRow>; 9] = [
    (text("name", "Class"), |row| Cell::from(row.name.as_str())),
    (count("objects", "Collections"), |row| {
        row.collections.into()
    }),
    (count("empty", "Empty"), |row| row.empty.into()),
    (count("unknown", "Size unknown"), |row| row.unknown.into()),
    (count("elements", "Elements"), |row| row.elements.into()),
    (count("capacity", "Places"), |row| row.capacity.into()),
    (count("unused", "Empty places"), |row| row.unused.into()),
    (count("collisions", "Collisions"), |row| {
        row.collisions.into()
    }),
    (bytes("wasted", "Wasted"), |row| row.wasted_bytes.into()),
];

/// Live collections by class, with their empty places.
///
/// # Errors
/// If the query names no column.
pub fn collections(opened: &Arc<Opened>, query: &TableQuery) -> Result<Table, ViewError> {
    let work = |opened: &Arc<Opened>| Ok(work_out(&opened.snapshot));
    let later = Arc::clone(&opened.collections);
    let found = later.ask(opened, work, PATIENCE)?;
    let rows = found.as_deref().map_or(&[][..], Vec::as_slice);
    let mut table = Records::new(rows, &COLLECTIONS)
        .largest_first("wasted")
        .page(query)?;
    if found.is_none() {
        table.pending = true;
        table
            .notes
            .push("collections are being counted; ask again in some seconds".to_owned());
    } else if rows.is_empty() {
        table
            .notes
            .push("the dump has no live collection of a known class".to_owned());
    }
    Ok(table)
}

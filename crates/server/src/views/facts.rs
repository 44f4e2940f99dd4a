//! Facts about the program: system properties, environment, direct buffers, Android, allocation
//! sites.

use std::sync::Arc;

use serde_json::Value as Json;

use super::ViewError;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::table::{Cell, ColumnKind, Links, Table, bytes, column, count, text};
use hprof_analysis::numbers::ObjectNumber;

const PAIRS: [Of<(String, String)>; 2] = [
    (text("name", "Name"), |row| Cell::from(row.0.as_str())),
    (text("value", "Value"), |row| Cell::from(row.1.as_str())),
];

/// The system properties of the program, secrets masked.
///
/// # Errors
/// If the query names no column.
pub fn properties(opened: &Opened, query: &TableQuery) -> Result<Table, ViewError> {
    let rows = opened.report.properties.as_slice();
    let note = "the dump has no system properties: java.lang.System.props is not in it";
    let note = rows.is_empty().then(|| note.to_owned());
    Ok(Records::new(rows, &PAIRS).page(query)?.with_note(note))
}

/// The environment variables of the process, secrets masked.
///
/// # Errors
/// If the query names no column.
pub fn environment(opened: &Opened, query: &TableQuery) -> Result<Table, ViewError> {
    let rows = opened.snapshot.environment();
    let note = "the dump has no environment: the program has not called System.getenv";
    let note = rows.is_empty().then(|| note.to_owned());
    Ok(Records::new(rows, &PAIRS).page(query)?.with_note(note))
}

#[derive(Debug, Clone)]
struct Buffer {
    id: u64,
    name: String,
    capacity: u64,
    is_owner: bool,
    address: u64,
    retained: u64,
}

const BUFFERS: [Of<Buffer>; 5] = [
    (text("name", "Buffer"), |row| Cell::from(row.name.as_str())),
    (bytes("capacity", "Memory outside of the heap"), |row| {
        row.capacity.into()
    }),
    (
        column("owner", "Owns the memory", ColumnKind::Bool),
        |row| Cell::Bool(row.is_owner),
    ),
    (text("address", "Address"), |row| {
        format!("{:#x}", row.address).into()
    }),
    (bytes("retained", "Retained size"), |row| {
        row.retained.into()
    }),
];

/// Direct byte buffers with the memory that they have outside of the heap. A buffer with a
/// `cleaner` owns its memory; slices and duplicates share that of another one.
///
/// # Errors
/// If the query names no column.
pub fn buffers(opened: &Arc<Opened>, query: &TableQuery) -> Result<Table, ViewError> {
    let (snapshot, graph) = (&opened.snapshot, opened.snapshot.graph());
    let classes = graph.classes();
    let is_buffer: Vec<bool> = classes
        .numbers()
        .map(|class| classes.is_a(class, "java.nio.DirectByteBuffer"))
        .collect();
    let is_of_buffer =
        |&object: &ObjectNumber| is_buffer.get(graph.class_of(object).index()) == Some(&true);
    let found = graph.objects().filter(is_of_buffer);
    let row = |object: ObjectNumber| {
        let number = |name: &str| snapshot.field(object, name)?.integer();
        Buffer {
            id: opened.id(object),
            name: snapshot.class_name(object).to_owned(),
            capacity: number("capacity")
                .and_then(|it| u64::try_from(it).ok())
                .unwrap_or(0),
            is_owner: snapshot.field_object(object, "cleaner").is_some(),
            address: number("address").unwrap_or(0).cast_unsigned(),
            retained: snapshot.retained(object),
        }
    };
    let rows: Vec<Buffer> = found.map(row).collect();
    let owned = rows
        .iter()
        .filter(|row| row.is_owner)
        .map(|row| row.capacity);
    let owned: u64 = owned.fold(0, u64::saturating_add);
    let note = match rows.is_empty() {
        true => "the dump has no direct byte buffer".to_owned(),
        false => format!("buffers that own their memory have {owned} bytes outside of the heap"),
    };
    let records = Records::new(rows, &BUFFERS).largest_first("capacity");
    let table = records.about(|row| Links::object(row.id)).page(query)?;
    Ok(table.with_note(Some(note)))
}

#[derive(Debug, Clone)]
struct AndroidRow {
    kind: &'static str,
    name: String,
    value: Option<String>,
    count: Option<u64>,
    retained: Option<u64>,
    object: Option<u64>,
}

const ANDROID: [Of<AndroidRow>; 5] = [
    (text("name", "Name"), |row| Cell::from(row.name.as_str())),
    (text("kind", "Kind"), |row| row.kind.into()),
    (text("value", "Value"), |row| row.value.as_deref().into()),
    (count("objects", "Objects"), |row| row.count.into()),
    (bytes("retained", "Retained size"), |row| {
        row.retained.into()
    }),
];

/// The facts of Android's dumps: device and program, heaps, and objects whose life is over but that
/// are still held.
///
/// # Errors
/// If the query names no column.
pub fn android(opened: &Opened, query: &TableQuery) -> Result<Table, ViewError> {
    let Some(facts) = &opened.report.android else {
        let columns: Vec<_> = ANDROID.iter().map(|column| column.0).collect();
        return Ok(Table::empty(&columns, "the dump is not of Android"));
    };
    let row = |kind, name: String, value| AndroidRow {
        kind,
        name,
        value,
        count: None,
        retained: None,
        object: None,
    };
    let mut rows = Vec::new();
    for dead in &opened.report.dead_objects {
        let last = dead.path.steps.last();
        let name = last.map_or_else(String::new, |step| step.description.clone());
        let held = dead
            .library_leak
            .clone()
            .or_else(|| Some(dead.path.root.clone()));
        let mut found = row("dead object", name, held);
        found.count = Some(dead.count);
        found.retained = Some(dead.retained_bytes);
        found.object = last.and_then(|step| super::opened::parse_id(&step.id).ok());
        rows.push(found);
    }
    for (name, value) in facts {
        let value = match value {
            Json::Null => continue,
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        rows.push(row("fact", name.clone(), Some(value)));
    }
    let heaps = opened.snapshot.graph().heaps().iter();
    rows.extend(heaps.map(|(number, name)| row("heap", name.clone(), Some(number.to_string()))));
    let records = Records::new(rows, &ANDROID).about(|row| Links {
        object: row.object,
        ..Links::default()
    });
    records.page(query)
}

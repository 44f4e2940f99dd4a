//! Threads with their stacks, and what these hold.

use std::collections::BTreeMap;

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::{ThreadInfo, Value};
use serde::Serialize;
use utoipa::ToSchema;

use super::ViewError;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::table::{Cell, ColumnKind, Links, Table, bytes, column, count, hex, text};

#[derive(Debug, Clone)]
struct ThreadRow {
    id: u64,
    name: String,
    state: Option<&'static str>,
    retained: u64,
    frames: u64,
    locals: u64,
    is_daemon: Option<bool>,
    top: Option<String>,
}

const COLUMNS: [Of<ThreadRow>; 7] = [
    (text("name", "Thread"), |row| Cell::from(row.name.as_str())),
    (text("state", "State"), |row| row.state.into()),
    (text("top", "Method"), |row| row.top.as_deref().into()),
    (bytes("retained", "Retained size"), |row| {
        row.retained.into()
    }),
    (count("frames", "Frames"), |row| row.frames.into()),
    (count("locals", "Locals"), |row| row.locals.into()),
    (column("daemon", "Daemon", ColumnKind::Bool), |row| {
        row.is_daemon.map_or(Cell::Null, Cell::Bool)
    }),
];

fn infos(opened: &Opened) -> &[ThreadInfo] {
    opened.threads.get_or_init(|| {
        let threads = opened.snapshot.threads();
        let bytes = threads.iter().map(|thread| {
            let frames = thread.stack.iter().map(|frame| frame.len() + 24);
            300 + frames.sum::<usize>() + 40 * thread.locals.len()
        });
        opened.grow(bytes.sum::<usize>() as u64);
        threads
    })
}

fn name(info: &ThreadInfo) -> String {
    info.name
        .clone()
        .unwrap_or_else(|| "<name unknown>".to_owned())
}

fn is_daemon(opened: &Opened, thread: ObjectNumber) -> Option<bool> {
    match opened.snapshot.thread_field(thread, "daemon")? {
        Value::Boolean(value) => Some(value),
        _ => None,
    }
}

/// The kinds of observations that are about threads (docs/report-schema.md).
const OF_THREADS: [&str; 3] = ["out_of_memory", "deadlock", "lock_held"];

/// The threads of a dump, with notes on deadlocks and locks.
///
/// # Errors
/// If the query names no column.
pub fn threads(opened: &Opened, query: &TableQuery) -> Result<Table, ViewError> {
    let row = |info: &ThreadInfo| ThreadRow {
        id: opened.id(info.object),
        name: name(info),
        state: opened.snapshot.thread_state(info.object),
        retained: info.retained_bytes,
        frames: info.stack.len() as u64,
        locals: info.locals.len() as u64,
        is_daemon: is_daemon(opened, info.object),
        top: info.stack.first().cloned(),
    };
    let rows: Vec<ThreadRow> = infos(opened).iter().map(row).collect();
    let note = rows
        .is_empty()
        .then(|| "the dump names no thread with an object".to_owned());
    let records = Records::new(rows, &COLUMNS).largest_first("retained");
    let mut table = records.about(|row| Links::object(row.id)).page(query)?;
    for observation in &opened.report.observations {
        if OF_THREADS.contains(&observation.kind.as_str()) {
            table.notes.push(observation.headline.clone());
            table.notes.extend(observation.sentences.iter().cloned());
        }
    }
    Ok(table.with_note(note))
}

/// A thread with its stack.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ThreadDetail {
    /// The thread object.
    pub object: String,
    /// Its name.
    pub name: String,
    /// Its state, named as in `java.lang.Thread.State`.
    pub state: Option<String>,
    /// The retained size of its object and stack, in bytes.
    pub retained: u64,
    /// Further facts by name: `daemon`, `priority`, `group`, `context_class_loader`, `tid`.
    pub properties: BTreeMap<&'static str, String>,
    /// The methods on its stack, innermost first.
    pub frames: Vec<ThreadFrame>,
    /// Objects of the stack whose frame is not known.
    pub other_locals: Vec<ThreadLocal>,
}

/// A method on a stack.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ThreadFrame {
    /// Class, method, file and line.
    pub method: String,
    /// The objects that it holds.
    pub locals: Vec<ThreadLocal>,
}

/// An object that a stack holds.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ThreadLocal {
    /// Its identifier.
    pub object: String,
    /// The object in a few words.
    pub name: String,
    /// Its retained size, in bytes.
    pub retained: u64,
    /// How the stack holds it, in words.
    pub kind: &'static str,
}

/// Objects of a stack that are listed.
const MAX_LOCALS: usize = 10_000;

/// A thread with its stack.
///
/// # Errors
/// If the dump has no such object, or it is no thread.
pub fn thread(opened: &Opened, id: &str) -> Result<ThreadDetail, ViewError> {
    let object = opened.object(id)?;
    let snapshot = &opened.snapshot;
    let info = infos(opened).iter().find(|info| info.object == object);
    let info = info.ok_or_else(|| {
        let name = snapshot.class_name(object);
        ViewError::missing(format!("{id} is no thread that ran, but of class {name}"))
    })?;
    let local = |local: &hprof_analysis::snapshot::Local| ThreadLocal {
        object: hex(opened.id(local.object)),
        name: snapshot.describe(local.object),
        retained: snapshot.retained(local.object),
        kind: local.kind,
    };
    let mut frames: Vec<ThreadFrame> = (info.stack.iter())
        .map(|method| ThreadFrame {
            method: method.clone(),
            locals: Vec::new(),
        })
        .collect();
    let mut other_locals = Vec::new();
    for held in info.locals.iter().take(MAX_LOCALS) {
        let frame = held.frame.and_then(|frame| frames.get_mut(frame as usize));
        frame
            .map_or(&mut other_locals, |frame| &mut frame.locals)
            .push(local(held));
    }
    Ok(ThreadDetail {
        object: hex(opened.id(object)),
        name: name(info),
        state: snapshot.thread_state(object).map(str::to_owned),
        retained: info.retained_bytes,
        properties: properties(opened, object),
        frames,
        other_locals,
    })
}

fn properties(opened: &Opened, thread: ObjectNumber) -> BTreeMap<&'static str, String> {
    let snapshot = &opened.snapshot;
    let number = |name: &str| {
        Some(
            opened
                .snapshot
                .thread_field(thread, name)?
                .integer()?
                .to_string(),
        )
    };
    let object = |name: &str| opened.snapshot.thread_field(thread, name)?.object();
    let group = object("group").and_then(|group| {
        let name = snapshot.field_object(group, "name")?;
        snapshot.string(name, 200)
    });
    let loader = object("contextClassLoader").map(|loader| snapshot.describe(loader));
    let facts = [
        ("daemon", is_daemon(opened, thread).map(|it| it.to_string())),
        ("priority", number("priority")),
        ("tid", number("tid")),
        ("group", group),
        ("context_class_loader", loader),
        ("class", Some(snapshot.class_name(thread).to_owned())),
    ];
    let known = facts
        .into_iter()
        .filter_map(|(name, fact)| Some((name, fact?)));
    known.collect()
}

//! Allocation sites, where the dump tells for objects which stack allocated them.

use std::collections::HashMap;
use std::sync::Arc;

use hprof_format::binary::SubRecord;
use hprof_format::ids::TraceSerial;

use super::ViewError;
use super::later::PATIENCE;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::table::{Cell, Table, bytes, count, text};

/// The objects that a stack allocated.
#[derive(Debug, Clone)]
pub struct SiteRow {
    method: String,
    stack: String,
    objects: u64,
    bytes: u64,
}

const COLUMNS: [Of<SiteRow>; 4] = [
    (text("name", "Method"), |row| {
        Cell::from(row.method.as_str())
    }),
    (count("objects", "Objects"), |row| row.objects.into()),
    (bytes("shallow", "Shallow size"), |row| row.bytes.into()),
    (text("stack", "Stack"), |row| Cell::from(row.stack.as_str())),
];

/// Frames of a stack that a row shows.
const FRAMES: usize = 30;

/// Returns true if a dump may tell where its objects were allocated.
pub(super) fn has_sites(opened: &Opened) -> bool {
    let contents = opened.snapshot.contents();
    let traces = contents
        .settings
        .is_some_and(|settings| settings.allocation_traces);
    traces || !contents.sites.is_empty()
}

/// The stacks that allocated the objects of a dump.
///
/// # Errors
/// If the query names no column.
pub fn sites(opened: &Arc<Opened>, query: &TableQuery) -> Result<Table, ViewError> {
    let columns: Vec<_> = COLUMNS.iter().map(|column| column.0).collect();
    if !has_sites(opened) {
        let note = "the dump does not tell where objects were allocated; the agent writes dumps \
                    that do, with heap=all";
        return Ok(Table::empty(&columns, note));
    }
    let later = Arc::clone(&opened.sites);
    let found = later.ask(opened, |opened| Ok(work_out(opened)), PATIENCE)?;
    let rows = found.as_deref().map_or(&[][..], Vec::as_slice);
    let mut table = Records::new(rows, &COLUMNS)
        .largest_first("shallow")
        .page(query)?;
    if found.is_none() {
        table.pending = true;
        table
            .notes
            .push("objects are being counted; ask again in some seconds".to_owned());
    } else if rows.is_empty() {
        table
            .notes
            .push("no object of the dump names a stack with frames".to_owned());
    }
    Ok(table)
}

fn work_out(opened: &Opened) -> Vec<SiteRow> {
    let (snapshot, graph) = (&opened.snapshot, opened.snapshot.graph());
    let stacks = &snapshot.contents().stacks;
    let mut sums: HashMap<TraceSerial, (u64, u64)> = HashMap::new();
    for block in graph.blocks() {
        for record in graph.sub_records(snapshot.file(), block).flatten() {
            let (object, trace) = match record {
                SubRecord::Instance { object, trace, .. } => (object, trace),
                SubRecord::ObjectArray { array, trace, .. }
                | SubRecord::PrimitiveArray { array, trace, .. } => (array, trace),
                _ => continue,
            };
            if stacks.frames_of(trace).is_empty() {
                continue;
            }
            let Some(object) = graph.number(object.get()) else {
                continue;
            };
            let sum = sums.entry(trace).or_default();
            sum.0 += 1;
            sum.1 += graph.size(object);
        }
    }
    let row = |(trace, (objects, bytes)): (TraceSerial, (u64, u64))| {
        let frames = stacks.frames_of(trace).iter().take(FRAMES);
        let words: Vec<String> = frames
            .map(|&frame| {
                let frame = stacks.frame(frame);
                format!("{}({})", frame.name(), frame.place())
            })
            .collect();
        SiteRow {
            method: words.first().cloned().unwrap_or_default(),
            stack: words.join("\n"),
            objects,
            bytes,
        }
    };
    let mut rows: Vec<SiteRow> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| (b.bytes, &a.stack).cmp(&(a.bytes, &b.stack)));
    let bytes = rows
        .iter()
        .map(|row| row.stack.len() + row.method.len() + 80);
    opened.grow(bytes.sum::<usize>() as u64);
    rows
}

//! Objects of `java.lang.ref.Reference`: soft, weak, phantom and final ones, by what they refer to.

use std::collections::HashMap;
use std::sync::Arc;

use hprof_analysis::numbers::{ClassNumber, ObjectNumber};
use hprof_analysis::snapshot::Value;
use hprof_analysis::usage::finalizers;
use rustc_hash::FxHashSet;

use super::ViewError;
use super::later::PATIENCE;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::table::{Cell, Links, Table, bytes, count, text};

/// The references of a kind to objects of a class.
#[derive(Debug, Clone)]
pub struct ReferenceRow {
    class: String,
    class_id: u64,
    kind: &'static str,
    references: u64,
    referents: u64,
    referent_bytes: u64,
    unreached: u64,
    queued: Option<u64>,
}

const COLUMNS: [Of<ReferenceRow>; 7] = [
    (text("name", "Class of referents"), |row| {
        Cell::from(row.class.as_str())
    }),
    (text("kind", "Kind"), |row| row.kind.into()),
    (count("references", "References"), |row| {
        row.references.into()
    }),
    (count("referents", "Referents"), |row| row.referents.into()),
    (bytes("shallow", "Shallow size of referents"), |row| {
        row.referent_bytes.into()
    }),
    (
        count("unreached", "Referents without another holder"),
        |row| row.unreached.into(),
    ),
    (count("queued", "Waiting to be finalized"), |row| {
        row.queued.into()
    }),
];

/// Objects of `java.lang.ref.Reference` by kind and class of what they refer to.
///
/// # Errors
/// If the query names no column.
pub fn reference_kinds(opened: &Arc<Opened>, query: &TableQuery) -> Result<Table, ViewError> {
    let work = |opened: &Arc<Opened>| Ok(work_out(opened));
    let later = Arc::clone(&opened.references);
    let found = later.ask(opened, work, PATIENCE)?;
    let is_pending = found.is_none();
    let rows = found.as_deref().map_or(&[][..], Vec::as_slice);
    let records = Records::new(rows, &COLUMNS).largest_first("references");
    let records = records.about(|row| Links {
        class: (row.class_id != 0).then_some(row.class_id),
        ..Links::default()
    });
    let mut table = records.page(query)?;
    if is_pending {
        table.pending = true;
        table
            .notes
            .push("references are being counted; ask again in some seconds".to_owned());
    } else if rows.is_empty() {
        table
            .notes
            .push("the dump has no object of java.lang.ref.Reference with a referent".to_owned());
    }
    Ok(table)
}

fn work_out(opened: &Opened) -> Vec<ReferenceRow> {
    let (snapshot, graph) = (&opened.snapshot, opened.snapshot.graph());
    let classes = graph.classes();
    let kinds: Vec<_> = classes
        .list()
        .iter()
        .map(|class| class.reference_kind)
        .collect();
    let mut rows: HashMap<(ClassNumber, &'static str), ReferenceRow> = HashMap::new();
    let mut seen: FxHashSet<(ObjectNumber, &'static str)> = FxHashSet::default();
    for object in graph.objects() {
        let Some(kind) = kinds.get(graph.class_of(object).index()).copied().flatten() else {
            continue;
        };
        let Some(Value::Object(referent)) = snapshot.field(object, "referent") else {
            continue;
        };
        let kind = kind.name();
        let class = graph.class_of(referent);
        let row = rows.entry((class, kind)).or_insert_with(|| ReferenceRow {
            class: classes.get(class).name.clone(),
            class_id: classes.get(class).id,
            kind,
            references: 0,
            referents: 0,
            referent_bytes: 0,
            unreached: 0,
            queued: None,
        });
        row.references += 1;
        if seen.insert((referent, kind)) {
            row.referents += 1;
            row.referent_bytes += graph.size(referent);
            row.unreached += u64::from(snapshot.dominators().place(referent).is_none());
        }
    }
    let queued: HashMap<String, u64> = finalizers(snapshot)
        .into_iter()
        .map(|row| (row.name, row.queued))
        .collect();
    let final_kind = hprof_analysis::graph::ReferenceKind::Final.name();
    let mut rows: Vec<ReferenceRow> = rows.into_values().collect();
    for row in rows.iter_mut().filter(|row| row.kind == final_kind) {
        row.queued = queued.get(&row.class).copied();
    }
    rows.sort_by(|a, b| (&a.class, a.kind).cmp(&(&b.class, b.kind)));
    rows
}

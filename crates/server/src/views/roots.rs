//! Garbage-collection roots by kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::IntoParams;

use super::ViewError;
use super::objects::Objects;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::table::{Links, Table, bytes, count, text};
use hprof_analysis::numbers::ObjectNumber;

/// Parameters of the roots view.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RootsQuery {
    /// A kind, as a row names it, whose objects are wanted.
    pub kind: Option<String>,
}

#[derive(Debug, Clone)]
struct KindRow {
    kind: &'static str,
    roots: u64,
    objects: u64,
    shallow: u64,
}

const COLUMNS: [Of<KindRow>; 4] = [
    (text("name", "Kind"), |row| row.kind.into()),
    (count("roots", "Roots"), |row| row.roots.into()),
    (count("objects", "Objects"), |row| row.objects.into()),
    (bytes("shallow", "Shallow size"), |row| row.shallow.into()),
];

/// By kind in words: the objects, once for each root.
fn by_kind(opened: &Opened) -> BTreeMap<&'static str, Vec<ObjectNumber>> {
    let (snapshot, graph) = (&opened.snapshot, opened.snapshot.graph());
    let mut kinds: BTreeMap<&'static str, Vec<ObjectNumber>> = BTreeMap::new();
    let locals = graph.locals().iter().map(|(_, root)| root);
    for root in graph.roots().iter().chain(locals) {
        kinds
            .entry(snapshot.root_label(root))
            .or_default()
            .push(root.object());
    }
    kinds
}

fn once(objects: &[ObjectNumber]) -> Vec<ObjectNumber> {
    let mut objects = objects.to_vec();
    objects.sort_unstable();
    objects.dedup();
    objects
}

/// The kinds of roots, or the objects of one.
///
/// # Errors
/// If there is no such kind, or the query names no column.
pub fn roots(
    opened: &Arc<Opened>,
    which: &RootsQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let kinds = by_kind(opened);
    if let Some(kind) = which.kind.as_deref().filter(|kind| !kind.is_empty()) {
        let objects = kinds.get(kind).ok_or_else(|| {
            let known: Vec<&str> = kinds.keys().copied().collect();
            ViewError::invalid(format!(
                "kind={kind}: the dump has no such roots, but these: {}",
                known.join(", ")
            ))
        })?;
        return Objects::new(opened, once(objects)).page(query);
    }
    let graph = opened.snapshot.graph();
    let row = |(&kind, all): (&&'static str, &Vec<ObjectNumber>)| {
        let objects = once(all);
        KindRow {
            kind,
            roots: all.len() as u64,
            objects: objects.len() as u64,
            shallow: objects.iter().map(|&object| graph.size(object)).sum(),
        }
    };
    let rows: Vec<KindRow> = kinds.iter().map(row).collect();
    let note = rows.is_empty().then(|| "the dump has no roots".to_owned());
    let records = Records::new(rows, &COLUMNS).largest_first("roots");
    let records = records.about(|row| Links {
        node: Some(row.kind.to_owned()),
        children: true,
        ..Links::default()
    });
    Ok(records.page(query)?.with_note(note))
}

//! The tables `findings`, `duplicates` and `strings`.

use std::fmt::Write as _;

use hprof_analysis::duplicates::Duplicates;
use hprof_analysis::leaks::{Filling, Leaks, Subject};
use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::Snapshot;
use hprof_format::binary::SubRecord;
use sha2::{Digest, Sha256};

use crate::TableError;
use crate::batch::Cell;
use crate::folder::Writing;

/// The most characters of a text in the table `strings`.
const MAX_TEXT: usize = 1 << 16;

/// Writes `findings`.
pub fn suspects(
    writing: &mut Writing<'_>,
    snapshot: &Snapshot,
    leaks: &Leaks,
) -> Result<(), TableError> {
    writing.table("findings", |file| {
        let suspects = leaks.suspects.iter().enumerate();
        file.rows(suspects.map(|(at, suspect)| {
            let kind = match suspect.finding.subject {
                Subject::Object(_) => "object",
                Subject::Group(_) | Subject::Threads { .. } => "group",
                Subject::Alike(_) => "alike",
                Subject::ThreadLocals(_) => "thread_locals",
                Subject::HiddenClasses(_) => "hidden_classes",
            };
            let filled_with = match &suspect.finding.filling {
                Some(Filling::Objects { class, .. }) => Cell::text(class),
                Some(Filling::Each(_)) | None => Cell::Null,
            };
            [
                Cell::small(at + 1),
                Cell::text(&suspect.signature),
                Cell::text(kind),
                Cell::text(suspect.finding.class()),
                filled_with,
                Cell::count(suspect.count),
                Cell::count(suspect.retained_bytes),
                Cell::Double(suspect.share),
                Cell::id(snapshot.graph().id(suspect.accumulation_point)),
            ]
        }))
    })?;
    Ok(())
}

/// Writes `duplicates`.
pub fn duplicates(
    writing: &mut Writing<'_>,
    snapshot: &Snapshot,
    found: &Duplicates,
    has_texts: bool,
) -> Result<(), TableError> {
    writing.table("duplicates", |file| {
        file.rows(found.groups.iter().map(|group| {
            [
                Cell::text(&hash(snapshot, group.object)),
                Cell::text(group.element),
                Cell::Boolean(group.is_string),
                Cell::count(group.count),
                Cell::count(group.bytes),
                Cell::count(group.wasted_bytes),
                has_texts.then(|| Cell::text(&group.preview)).into(),
            ]
        }))
    })?;
    Ok(())
}

/// The hash of an array's element type and elements.
fn hash(snapshot: &Snapshot, array: ObjectNumber) -> String {
    let mut hasher = Sha256::new();
    let located = snapshot.graph().locate(snapshot.file(), array);
    if let Some((
        _,
        SubRecord::PrimitiveArray {
            element, values, ..
        },
    )) = located
    {
        hasher.update([element.code()]);
        hasher.update(values);
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Writes `strings`.
pub fn strings(writing: &mut Writing<'_>, snapshot: &Snapshot) -> Result<(), TableError> {
    let graph = snapshot.graph();
    let is_string: Vec<bool> = (graph.classes().list().iter())
        .map(|class| class.name == "java.lang.String")
        .collect();
    let all = graph
        .objects()
        .filter(|&it| is_string[graph.class_of(it).index()]);
    writing.table("strings", |file| {
        file.rows(all.map(|object| {
            let text = snapshot.string(object, MAX_TEXT);
            [
                Cell::id(graph.id(object)),
                text.as_deref().map(Cell::text).into(),
                Cell::count(snapshot.retained(object)),
            ]
        }))
    })?;
    Ok(())
}

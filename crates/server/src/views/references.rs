//! References of an object: what it refers to, and what refers to it.

use std::borrow::Cow;
use std::sync::Arc;

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::{Edge, EdgeKind};
use hprof_format::binary::{Ids, SubRecord};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::ViewError;
use super::objects::{cell, filter_note, filter_text, links, rank};
use super::opened::Opened;
use super::page::{Source, TableQuery, page};
use super::table::{Cell, Column, Links, Table, bytes, text};

/// Which references are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// References that the object holds.
    #[default]
    Out,
    /// References that hold the object.
    In,
}

/// Parameters of the references view.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReferencesQuery {
    /// `out` or `in`.
    #[serde(default)]
    #[param(inline)]
    pub direction: Direction,
}

const COLUMNS: [Column; 5] = [
    text("name", "Object"),
    text("field", "Through"),
    text("class_name", "Class"),
    bytes("shallow", "Shallow size"),
    bytes("retained", "Retained size"),
];

/// The references of an object, or those to it.
struct References<'a> {
    opened: &'a Opened,
    target: ObjectNumber,
    /// The elements of an array, and the indexes of those that are not null.
    elements: Option<(Ids<'a>, Vec<u32>)>,
    /// References that have a name, after the elements.
    named: Vec<(Edge, ObjectNumber)>,
    /// Objects that refer to the target; how is looked for when they are shown.
    holders: Vec<ObjectNumber>,
}

/// One reference.
enum Reference<'a> {
    Named(&'a Edge, ObjectNumber),
    Element(u32, u64),
    From(ObjectNumber),
}

impl References<'_> {
    fn at(&self, at: usize) -> Option<Reference<'_>> {
        let mut at = at;
        if let Some((ids, used)) = &self.elements {
            if let Some(&index) = used.get(at) {
                return Some(Reference::Element(index, ids.get(index as usize)?));
            }
            at -= used.len();
        }
        if let Some((edge, object)) = self.named.get(at) {
            return Some(Reference::Named(edge, *object));
        }
        let holder = self.holders.get(at - self.named.len())?;
        Some(Reference::From(*holder))
    }

    fn object(&self, at: usize) -> Option<ObjectNumber> {
        match self.at(at)? {
            Reference::Named(_, object) | Reference::From(object) => Some(object),
            Reference::Element(_, id) => self.opened.snapshot.graph().number(id),
        }
    }

    fn edge(&self, at: usize) -> String {
        match self.at(at) {
            Some(Reference::Named(edge, _)) => edge.to_string().trim_start().to_owned(),
            Some(Reference::Element(index, _)) => format!("[{index}]"),
            Some(Reference::From(from)) => {
                let edge = self.opened.snapshot.edge(from, self.target);
                edge.to_string().trim_start().to_owned()
            }
            None => String::new(),
        }
    }
}

impl Source for References<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn row_count(&self) -> usize {
        let elements = self.elements.as_ref().map_or(0, |found| found.1.len());
        elements + self.named.len() + self.holders.len()
    }

    fn cell(&self, at: usize, column: usize) -> Cell {
        match (COLUMNS[column].key, self.object(at)) {
            ("field", _) => self.edge(at).into(),
            ("name", None) => "an object that the file lacks".into(),
            (key, Some(object)) => cell(self.opened, object, key),
            (_, None) => Cell::Null,
        }
    }

    fn links(&self, at: usize) -> Links {
        let object = self.object(at);
        object.map_or_else(Links::default, |object| links(self.opened, object))
    }

    fn text(&self, at: usize) -> Cow<'_, str> {
        match self.object(at) {
            Some(object) => filter_text(self.opened, object, self.row_count()),
            None => Cow::Borrowed(""),
        }
    }

    fn rank(&self, at: usize, column: usize) -> Option<u64> {
        match COLUMNS[column].key {
            // In the order of the object's own fields, or of the referring objects.
            "field" => Some(at as u64),
            key => match self.object(at) {
                Some(object) => rank(self.opened, object, key),
                None => Some(0),
            },
        }
    }
}

/// The references of an object, in the order of its fields or elements; or those to it.
///
/// # Errors
/// If the dump has no such object, or the query names no column.
pub fn references(
    opened: &Arc<Opened>,
    id: &str,
    which: ReferencesQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let object = opened.object(id)?;
    let snapshot = &opened.snapshot;
    let mut notes = Vec::new();
    let mut source = References {
        opened,
        target: object,
        elements: None,
        named: Vec::new(),
        holders: Vec::new(),
    };
    match which.direction {
        Direction::Out => outgoing(&mut source),
        Direction::In => {
            source.holders = match opened.inbound()? {
                Some(inbound) => inbound.referring(object),
                None => snapshot.referring(object),
            };
            if snapshot.graph().class_of_object(object).is_some() {
                notes.push("the instances of the class are not listed here".to_owned());
            }
            match snapshot.weak_referrers(object).len() {
                0 => {}
                weak => notes.push(format!(
                    "references that do not keep the object alive, such as weak ones, are not \
                     listed: {weak}"
                )),
            }
        }
    }
    notes.extend(filter_note(query, source.row_count()));
    let mut table = page(&source, query)?;
    table.notes.extend(notes);
    Ok(table)
}

/// Looks the references of the object up; elements of arrays, of which there may be millions, stay
/// where they are.
fn outgoing(source: &mut References<'_>) {
    let snapshot = &source.opened.snapshot;
    let object = source.target;
    let record = snapshot.graph().locate(snapshot.file(), object);
    if let Some((_, SubRecord::ObjectArray { elements, .. })) = record {
        let used = elements.iter().zip(0u32..).filter(|(id, _)| *id != 0);
        source.elements = Some((elements, used.map(|(_, index)| index).collect()));
        source.named.extend(
            snapshot
                .class_object(object)
                .map(|class| (Edge::new(EdgeKind::Class, "class"), class)),
        );
        return;
    }
    let list = snapshot.reference_list(object);
    for at in 0.. {
        match snapshot.reference_at(&list, at) {
            Some(Some(found)) => source.named.push(found),
            Some(None) => {}
            None => break,
        }
    }
}

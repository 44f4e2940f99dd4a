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
    /// Those that the object holds.
    #[default]
    Out,
    /// Those that hold the object.
    In,
}

/// What references are asked for with.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReferencesQuery {
    /// `out` or `in`.
    #[serde(default)]
    pub direction: Direction,
}

const COLUMNS: [Column; 5] = [
    text("name", "Object"),
    text("field", "Through"),
    text("class_name", "Class"),
    bytes("shallow", "Shallow size"),
    bytes("retained", "Retained size"),
];

/// One reference.
enum Reference {
    /// One that is named.
    Named(Edge, ObjectNumber),
    /// An element that is not null, by index.
    Element(usize),
    /// One of another object, whose name is looked for when it is shown.
    From(ObjectNumber),
}

struct References<'a> {
    opened: &'a Opened,
    target: ObjectNumber,
    elements: Option<Ids<'a>>,
    rows: Vec<Reference>,
}

impl References<'_> {
    fn object(&self, at: usize) -> Option<ObjectNumber> {
        match &self.rows[at] {
            Reference::Named(_, object) | Reference::From(object) => Some(*object),
            Reference::Element(index) => {
                let id = self.elements.as_ref()?.get(*index)?;
                self.opened.snapshot.graph().number(id)
            }
        }
    }

    fn edge(&self, at: usize) -> String {
        let edge = match &self.rows[at] {
            Reference::Named(edge, _) => edge.clone(),
            Reference::Element(index) => Edge {
                kind: EdgeKind::Element,
                name: index.to_string(),
            },
            Reference::From(from) => self.opened.snapshot.edge(*from, self.target),
        };
        edge.to_string().trim_start().to_owned()
    }
}

impl Source for References<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn row_count(&self) -> usize {
        self.rows.len()
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
            Some(object) => filter_text(self.opened, object, self.rows.len()),
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
    let mut elements = None;
    let rows = match which.direction {
        Direction::Out => {
            let record = snapshot.graph().locate(snapshot.file(), object);
            if let Some((_, SubRecord::ObjectArray { elements: ids, .. })) = record {
                elements = Some(ids);
            }
            outgoing(opened, object, elements.as_ref())
        }
        Direction::In => {
            let found = snapshot.referring(object);
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
            found.into_iter().map(Reference::From).collect()
        }
    };
    notes.extend(filter_note(query, rows.len()));
    let source = References {
        opened,
        target: object,
        elements,
        rows,
    };
    let mut table = page(&source, query)?;
    table.notes.extend(notes);
    Ok(table)
}

fn outgoing(opened: &Opened, object: ObjectNumber, elements: Option<&Ids<'_>>) -> Vec<Reference> {
    let snapshot = &opened.snapshot;
    let mut rows: Vec<Reference> = Vec::new();
    if let Some(ids) = elements {
        let used = ids.iter().enumerate().filter(|(_, id)| *id != 0);
        rows.extend(used.map(|(at, _)| Reference::Element(at)));
        let class = snapshot.class_object(object);
        rows.extend(class.map(|class| {
            let (kind, name) = (EdgeKind::Class, "class".to_owned());
            Reference::Named(Edge { kind, name }, class)
        }));
        return rows;
    }
    let list = snapshot.reference_list(object);
    for at in 0.. {
        match snapshot.reference_at(&list, at) {
            Some(Some((edge, target))) => rows.push(Reference::Named(edge, target)),
            Some(None) => {}
            None => break,
        }
    }
    rows
}

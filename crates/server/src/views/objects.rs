//! Lists of objects, of which there may be millions: only those on the page are described.

use std::borrow::Cow;
use std::sync::Arc;

use super::ViewError;
use super::opened::Opened;
use super::page::{Source, TableQuery, page};
use super::table::{Cell, Column, ColumnKind, Links, Table, bytes, column, text};
use hprof_analysis::numbers::ObjectNumber;

/// Longer lists are filtered by class, as it would take long to describe each object.
const DESCRIBED: usize = 20_000;

/// The rows that open below a row of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// Nothing.
    Nothing,
    /// The objects that the object dominates.
    Dominated,
}

/// A list of objects, by number.
pub struct Objects<'a> {
    opened: &'a Arc<Opened>,
    objects: Cow<'a, [ObjectNumber]>,
    /// The number of all, of which `objects` may be the first.
    total: usize,
    below: Below,
    /// True if the objects are sorted by what they retain.
    is_sorted: bool,
    default_sort: Option<&'static str>,
}

const COLUMNS: [Column; 5] = [
    text("name", "Object"),
    bytes("shallow", "Shallow size"),
    bytes("retained", "Retained size"),
    column("percent", "Share of the heap", ColumnKind::Percent),
    column("object", "Identifier", ColumnKind::Object),
];

impl<'a> Objects<'a> {
    /// A list, those that retain most first.
    pub fn new(opened: &'a Arc<Opened>, objects: impl Into<Cow<'a, [ObjectNumber]>>) -> Self {
        let objects = objects.into();
        Self {
            opened,
            total: objects.len(),
            objects,
            below: Below::Nothing,
            is_sorted: false,
            default_sort: Some("retained"),
        }
    }

    /// The first of `total` objects, in an order of their own; no page may reach beyond them.
    #[must_use]
    pub fn first_of(mut self, total: usize) -> Self {
        self.total = total;
        self.default_sort = None;
        self
    }

    /// The first of `total` objects, those that retain most first; no page may reach beyond them.
    #[must_use]
    pub fn largest_of(mut self, total: usize) -> Self {
        self.total = total;
        self.is_sorted = true;
        self
    }

    /// Lets rows offer what they dominate.
    #[must_use]
    pub fn expandable(mut self) -> Self {
        self.below = Below::Dominated;
        self
    }

    /// A page of the list.
    ///
    /// # Errors
    /// As [`page`] has them.
    pub fn page(&self, query: &TableQuery) -> Result<Table, ViewError> {
        let note = filter_note(query, self.total);
        Ok(page(self, query)?.with_note(note))
    }
}

/// Says what a filter looks at in a long list.
pub(super) fn filter_note(query: &TableQuery, rows: usize) -> Option<String> {
    let is_filtered = query
        .filter
        .as_ref()
        .is_some_and(|filter| !filter.is_empty());
    (is_filtered && rows > DESCRIBED).then(|| {
        format!(
            "in a list of more than {DESCRIBED} objects the filter looks at their classes, not at their contents"
        )
    })
}

/// The text of an object that a filter looks at, in a list of a length.
pub(super) fn filter_text(opened: &Opened, object: ObjectNumber, rows: usize) -> Cow<'_, str> {
    if rows <= DESCRIBED {
        return Cow::Owned(opened.snapshot.describe(object));
    }
    let graph = opened.snapshot.graph();
    match graph.class_of_object(object) {
        Some(class) => Cow::Owned(format!("class {}", graph.classes().get(class).name)),
        None => Cow::Borrowed(opened.snapshot.class_name(object)),
    }
}

/// A number that orders objects as a column of objects does: by name those of one class together.
pub(super) fn rank(opened: &Opened, object: ObjectNumber, key: &str) -> Option<u64> {
    Some(match key {
        "shallow" => opened.snapshot.graph().size(object),
        "retained" | "percent" => opened.snapshot.retained(object),
        // Objects are numbered in the order of their identifiers.
        "object" => object.index() as u64,
        "name" | "class_name" => {
            let class = opened.snapshot.graph().class_of(object);
            u64::from(*opened.name_ranks().get(class.index())?)
        }
        _ => return None,
    })
}

/// A cell of an object by the key of its column.
pub(super) fn cell(opened: &Opened, object: ObjectNumber, key: &str) -> Cell {
    match key {
        "name" => opened.snapshot.describe(object).into(),
        "class_name" => opened.snapshot.class_name(object).into(),
        "shallow" => opened.snapshot.graph().size(object).into(),
        "retained" => opened.snapshot.retained(object).into(),
        "percent" => Cell::Real(opened.percent(opened.snapshot.retained(object))),
        "object" => Cell::Id(opened.id(object)),
        _ => Cell::Null,
    }
}

/// The links of a row about an object.
pub(super) fn links(opened: &Opened, object: ObjectNumber) -> Links {
    let class = opened.snapshot.class_object(object);
    Links {
        class: class.map(|class| opened.id(class)),
        ..Links::object(opened.id(object))
    }
}

impl Source for Objects<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn row_count(&self) -> usize {
        self.total
    }

    fn is_sorted_by(&self, column: usize, descending: bool) -> bool {
        self.is_sorted && descending && matches!(COLUMNS[column].key, "retained" | "percent")
    }

    fn cell(&self, at: usize, column: usize) -> Cell {
        cell(self.opened, self.objects[at], COLUMNS[column].key)
    }

    fn links(&self, at: usize) -> Links {
        let object = self.objects[at];
        let mut links = links(self.opened, object);
        if self.below == Below::Dominated {
            let dominators = self.opened.snapshot.dominators();
            let place = dominators.place(object);
            links.node = links.object.map(super::table::hex);
            links.children = place.is_some_and(|place| dominators.span(place) > 1);
        }
        links
    }

    fn text(&self, at: usize) -> Cow<'_, str> {
        filter_text(self.opened, self.objects[at], self.total)
    }

    fn rank(&self, at: usize, column: usize) -> Option<u64> {
        rank(self.opened, self.objects[at], COLUMNS[column].key)
    }

    fn default_sort(&self) -> Option<&'static str> {
        self.default_sort
    }
}

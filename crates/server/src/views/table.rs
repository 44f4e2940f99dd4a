//! Tables: columns, cells, rows, and a page of them as JSON or CSV.

use serde::ser::{Serialize, SerializeMap, Serializer};
use utoipa::ToSchema;

/// The kind of a column's values, from which a page takes their form and alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Text of the dump; never markup.
    Text,
    /// A number of bytes.
    Bytes,
    /// A number of objects, elements or calls.
    Count,
    /// A share, from 0 to 100.
    Percent,
    /// The identifier of an object.
    Object,
    /// The identifier of a class object.
    Class,
    /// True or false.
    Bool,
    /// Milliseconds since 1970-01-01 UTC.
    Time,
    /// Numbers of bytes, from the oldest to the newest.
    Series,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, ToSchema)]
pub struct Column {
    /// The key of its values in rows, by which `sort` names it.
    pub key: &'static str,
    /// The heading.
    pub label: &'static str,
    /// The kind of its values.
    pub kind: ColumnKind,
}

/// A column of text.
pub const fn text(key: &'static str, label: &'static str) -> Column {
    column(key, label, ColumnKind::Text)
}

/// A column of numbers of things.
pub const fn count(key: &'static str, label: &'static str) -> Column {
    column(key, label, ColumnKind::Count)
}

/// A column of numbers of bytes.
pub const fn bytes(key: &'static str, label: &'static str) -> Column {
    column(key, label, ColumnKind::Bytes)
}

/// A column of any kind.
pub const fn column(key: &'static str, label: &'static str, kind: ColumnKind) -> Column {
    Column { key, label, kind }
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// There is none, or it is not known.
    Null,
    /// Text.
    Text(String),
    /// A number of bytes, objects or milliseconds.
    Count(u64),
    /// A difference.
    Delta(i64),
    /// A share or a number with a fraction.
    Real(f64),
    /// True or false.
    Bool(bool),
    /// The identifier of an object or class.
    Id(u64),
    /// Numbers in the order of time.
    Series(Vec<u64>),
}

impl Cell {
    /// Orders cells of one column: nothing first, then by value.
    pub(super) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        use std::cmp::Ordering;
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Count(a), Self::Count(b)) | (Self::Id(a), Self::Id(b)) => a.cmp(b),
            (Self::Delta(a), Self::Delta(b)) => a.cmp(b),
            (Self::Real(a), Self::Real(b)) => a.total_cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Series(a), Self::Series(b)) => a.cmp(b),
            (Self::Null, Self::Null) => Ordering::Equal,
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Count(_) => 2,
            Self::Delta(_) => 3,
            Self::Real(_) => 4,
            Self::Id(_) => 5,
            Self::Text(_) => 6,
            Self::Series(_) => 7,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Count(number)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Count(number) => serializer.serialize_u64(*number),
            Self::Delta(number) => serializer.serialize_i64(*number),
            Self::Real(number) => serializer.serialize_f64(*number),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Id(id) => serializer.serialize_str(&hex(*id)),
            Self::Series(numbers) => numbers.serialize(serializer),
        }
    }
}

/// An identifier as the API writes it.
pub fn hex(id: u64) -> String {
    format!("{id:#x}")
}

/// The objects, classes or loaders that a row links to, beside its cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Links {
    /// The object.
    pub object: Option<u64>,
    /// The class object.
    pub class: Option<u64>,
    /// The value of the parameter `node` for the rows below this one.
    pub node: Option<String>,
    /// True if there are rows below this one.
    pub children: bool,
    /// Further values, by key.
    pub more: Vec<(&'static str, Cell)>,
}

impl Links {
    /// A row about an object.
    pub fn object(id: u64) -> Self {
        Self {
            object: Some(id),
            ..Self::default()
        }
    }
}

/// A row: a JSON object with the cells by the keys of their columns, and `object`, `class`, `node`
/// and `children` where they apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The keys of the columns.
    pub keys: Vec<&'static str>,
    /// The cells in the order of the keys.
    pub cells: Vec<Cell>,
    /// The things that the row links to.
    pub links: Links,
}

impl Row {
    /// The cell of a column.
    pub fn cell(&self, key: &str) -> Option<&Cell> {
        let at = self.keys.iter().position(|known| *known == key)?;
        self.cells.get(at)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, cell) in self.keys.iter().zip(&self.cells) {
            map.serialize_entry(key, cell)?;
        }
        let has = |key: &str| self.keys.contains(&key);
        let ids = [("object", self.links.object), ("class", self.links.class)];
        for (key, id) in ids {
            if let Some(id) = id.filter(|_| !has(key)) {
                map.serialize_entry(key, &hex(id))?;
            }
        }
        for (key, cell) in &self.links.more {
            map.serialize_entry(key, cell)?;
        }
        if let Some(node) = &self.links.node {
            map.serialize_entry("node", node)?;
            map.serialize_entry("children", &self.links.children)?;
        }
        map.end()
    }
}

/// A page of a table.
#[derive(Debug, Clone, PartialEq, serde::Serialize, ToSchema)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows of this page: JSON objects with the columns' keys.
    #[schema(value_type = Vec<Object>)]
    pub rows: Vec<Row>,
    /// The number of rows on all pages, after the filter.
    pub total: u64,
    /// The value of the parameter `cursor` for the next page; null on the last.
    pub next: Option<String>,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
    /// True while figures of the table are still worked out in the background; ask again.
    pub pending: bool,
}

impl Table {
    /// A table without rows, with the reason.
    pub fn empty(columns: &[Column], note: &str) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
            total: 0,
            next: None,
            notes: vec![note.to_owned()],
            pending: false,
        }
    }

    /// Adds a note.
    #[must_use]
    pub fn with_note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }
}

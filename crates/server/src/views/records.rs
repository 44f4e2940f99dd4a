//! Sources of rows that lie in memory: a list of records, and a function for each column.

use std::borrow::Cow;

use super::ViewError;
use super::page::{Source, TableQuery, page};
use super::table::{Cell, Column, Links, Table};

/// A column with the function that takes its value from a record.
pub type Of<R> = (Column, fn(&R) -> Cell);

/// Records as the rows of a table.
pub struct Records<'a, R: Clone> {
    rows: Cow<'a, [R]>,
    columns: Vec<Column>,
    cells: Vec<fn(&R) -> Cell>,
    links: fn(&R) -> Links,
    default_sort: Option<&'static str>,
}

impl<'a, R: Clone> Records<'a, R> {
    /// Records with their columns.
    pub fn new(rows: impl Into<Cow<'a, [R]>>, columns: &[Of<R>]) -> Self {
        Self {
            rows: rows.into(),
            columns: columns.iter().map(|column| column.0).collect(),
            cells: columns.iter().map(|column| column.1).collect(),
            links: |_| Links::default(),
            default_sort: None,
        }
    }

    /// Adds what each row is about.
    #[must_use]
    pub fn about(mut self, links: fn(&R) -> Links) -> Self {
        self.links = links;
        self
    }

    /// Sorts by a column, descending, where the query names none.
    #[must_use]
    pub fn largest_first(mut self, key: &'static str) -> Self {
        self.default_sort = Some(key);
        self
    }

    /// A page of the records.
    ///
    /// # Errors
    /// As [`page`] has them.
    pub fn page(&self, query: &TableQuery) -> Result<Table, ViewError> {
        page(self, query)
    }
}

impl<R: Clone> Source for Records<'_, R> {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row_count(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, at: usize, column: usize) -> Cell {
        (self.cells[column])(&self.rows[at])
    }

    fn links(&self, at: usize) -> Links {
        (self.links)(&self.rows[at])
    }

    fn default_sort(&self) -> Option<&'static str> {
        self.default_sort
    }
}

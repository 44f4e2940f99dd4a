//! Pages of tables: sorted by any column, filtered by a regular expression, cut at a cursor.

use std::borrow::Cow;
use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use utoipa::IntoParams;

use super::ViewError;
use super::table::{Cell, Column, Links, Row, Table};

/// Rows of a page that is asked for without a limit.
pub const ROWS: usize = 100;
/// Rows of the largest page.
pub const MAX_ROWS: usize = 1000;
/// Rows of the largest page in CSV.
pub const MAX_CSV_ROWS: usize = 100_000;
/// Characters of a regular expression.
const MAX_FILTER: usize = 1000;
/// The bytes that a compiled regular expression may take.
const MAX_REGEX: usize = 1 << 20;

/// The form of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TableForm {
    /// JSON.
    #[default]
    Json,
    /// Comma-separated values.
    Csv,
}

/// Parameters that all tables take.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TableQuery {
    /// The `next` of the page before, with the same sort and filter.
    pub cursor: Option<String>,
    /// The row to begin at, counted from 0, for those who have no cursor: a scrollbar jumps.
    pub offset: Option<usize>,
    /// Rows of the page: 100 without it, at most 1000; in CSV 100000.
    pub limit: Option<usize>,
    /// The key of a column, with `-` before it for descending order.
    pub sort: Option<String>,
    /// A regular expression that the first column's text matches, upper or lower case.
    pub filter: Option<String>,
    /// `json` or `csv`.
    #[serde(default)]
    #[param(inline)]
    pub format: TableForm,
}

/// The rows of a table before they are sorted, filtered and cut.
pub trait Source {
    /// The columns.
    fn columns(&self) -> &[Column];

    /// The number of rows.
    fn row_count(&self) -> usize;

    /// A value of a row.
    fn cell(&self, at: usize, column: usize) -> Cell;

    /// The objects, classes or loaders that a row links to.
    fn links(&self, _at: usize) -> Links {
        Links::default()
    }

    /// The text that a filter looks at.
    fn text(&self, at: usize) -> Cow<'_, str> {
        match self.cell(at, 0) {
            Cell::Text(text) => Cow::Owned(text),
            _ => Cow::Borrowed(""),
        }
    }

    /// A number that orders rows as a column does, where that is faster than its cells.
    fn rank(&self, _at: usize, _column: usize) -> Option<u64> {
        None
    }

    /// True if the rows are in the order of a column already, so that they are not sorted.
    fn is_sorted_by(&self, _column: usize, _descending: bool) -> bool {
        false
    }

    /// The column to sort by without another wish, descending; the rows' own order without it.
    fn default_sort(&self) -> Option<&'static str> {
        None
    }
}

/// How a page is sorted and cut.
struct Plan {
    sort: Option<(usize, bool)>,
    sort_text: String,
    filter: Option<Regex>,
    mark: u32,
    offset: usize,
    limit: usize,
}

impl TableQuery {
    /// True if rows are sorted or left out, so that all have to be looked at.
    pub(super) fn is_rearranged(&self) -> bool {
        self.wanted_sort().is_some() || self.is_filtered()
    }

    /// The sort that the query names, or its cursor.
    pub(super) fn wanted_sort(&self) -> Option<&str> {
        let of_cursor = || self.cursor.as_deref()?.splitn(3, '.').nth(2);
        let sort = self.sort.as_deref().or_else(of_cursor);
        sort.filter(|sort| !sort.is_empty())
    }

    /// True if rows are left out.
    pub(super) fn is_filtered(&self) -> bool {
        self.filter.as_ref().is_some_and(|text| !text.is_empty())
    }

    /// The row after the last of the page, where rows are neither sorted nor left out.
    pub(super) fn last_row(&self) -> usize {
        let cursor = self
            .cursor
            .as_ref()
            .and_then(|cursor| cursor.split('.').next());
        let offset = cursor.and_then(|offset| usize::from_str_radix(offset, 16).ok());
        let offset = offset.or(self.offset);
        let limit = self.rows().min(MAX_CSV_ROWS);
        offset.unwrap_or(0).saturating_add(limit).saturating_add(1)
    }

    /// The number of rows that is asked for.
    fn rows(&self) -> usize {
        self.limit.unwrap_or(match self.format {
            TableForm::Json => ROWS,
            TableForm::Csv => MAX_CSV_ROWS,
        })
    }

    fn plan(&self, source: &dyn Source) -> Result<Plan, ViewError> {
        let most = match self.format {
            TableForm::Json => MAX_ROWS,
            TableForm::Csv => MAX_CSV_ROWS,
        };
        let limit = self.rows();
        if limit == 0 || limit > most {
            return Err(ViewError::invalid(format!(
                "limit={limit}: a page has 1 to {most} rows; follow `next` for more"
            )));
        }
        let filter = self.filter.as_deref().filter(|text| !text.is_empty());
        let mark = mark(filter.unwrap_or_default());
        let filter = filter.map(compile).transpose()?;
        let (offset, sort) = match &self.cursor {
            None => (self.offset.unwrap_or(0), self.sort.clone()),
            Some(cursor) => {
                let (offset, sort) = read_cursor(cursor, mark)?;
                if self.sort.as_ref().is_some_and(|wanted| *wanted != sort) {
                    return Err(ViewError::invalid(
                        "the cursor belongs to another sort; begin without it",
                    ));
                }
                (offset, Some(sort).filter(|sort| !sort.is_empty()))
            }
        };
        let sort_text = sort.clone().unwrap_or_default();
        let sort = match sort.or_else(|| source.default_sort().map(|key| format!("-{key}"))) {
            None => None,
            Some(wanted) => {
                let key = wanted.strip_prefix('-').unwrap_or(&wanted);
                let columns = source.columns();
                let found = columns.iter().position(|column| column.key == key);
                let found = found.ok_or_else(|| {
                    let keys: Vec<&str> = columns.iter().map(|column| column.key).collect();
                    ViewError::invalid(format!(
                        "sort={wanted}: no such column; it is one of {}",
                        keys.join(", ")
                    ))
                })?;
                Some((found, wanted.starts_with('-')))
            }
        };
        Ok(Plan {
            sort,
            sort_text,
            filter,
            mark,
            offset,
            limit,
        })
    }
}

/// A regular expression that a person has written.
///
/// # Errors
/// If it is none, or a very large one.
pub fn compile(text: &str) -> Result<Regex, ViewError> {
    if text.len() > MAX_FILTER {
        return Err(ViewError::invalid(format!(
            "filter: the expression has more than {MAX_FILTER} bytes"
        )));
    }
    let built = RegexBuilder::new(text)
        .case_insensitive(true)
        .size_limit(MAX_REGEX)
        .dfa_size_limit(MAX_REGEX)
        .nest_limit(50)
        .build();
    built.map_err(|error| {
        let why = one_line(&error.to_string());
        ViewError::invalid(format!("filter: no regular expression: {why}"))
    })
}

/// The crate `regex` draws a picture over several lines; the last line says what is wrong.
fn one_line(message: &str) -> String {
    let last = message.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.unwrap_or("it cannot be read").trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Tells filters apart (FNV-1a), so that a cursor is not used with another one.
fn mark(filter: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    filter.bytes().fold(2_166_136_261, step)
}

fn read_cursor(cursor: &str, mark: u32) -> Result<(usize, String), ViewError> {
    let refused = || ViewError::invalid("the cursor is none that this server gave");
    let mut parts = cursor.splitn(3, '.');
    let (offset, of_filter) = (parts.next(), parts.next());
    let sort = parts.next().ok_or_else(refused)?;
    let number = |text: Option<&str>| u64::from_str_radix(text.unwrap_or_default(), 16).ok();
    let offset = number(offset).and_then(|it| usize::try_from(it).ok());
    let offset = offset.ok_or_else(refused)?;
    if number(of_filter).ok_or_else(refused)? != u64::from(mark) {
        return Err(ViewError::invalid(
            "the cursor belongs to another filter; begin without it",
        ));
    }
    Ok((offset, sort.to_owned()))
}

/// A page of a source.
///
/// # Errors
/// If the query names no column, has no regular expression as its filter, or a bad cursor.
pub fn page(source: &dyn Source, query: &TableQuery) -> Result<Table, ViewError> {
    let mut plan = query.plan(source)?;
    plan.sort = plan
        .sort
        .filter(|sort| !source.is_sorted_by(sort.0, sort.1));
    let kept: Option<Vec<usize>> = plan.filter.as_ref().map(|filter| {
        let all = 0..source.row_count();
        all.filter(|&at| filter.is_match(&source.text(at)))
            .collect()
    });
    let total = kept.as_ref().map_or(source.row_count(), Vec::len);
    let start = plan.offset.min(total);
    let end = start.saturating_add(plan.limit).min(total);
    let chosen: Vec<usize> = match (plan.sort, kept) {
        _ if start == end => Vec::new(),
        (None, None) => (start..end).collect(),
        (None, Some(kept)) => kept[start..end].to_vec(),
        (Some((column, descending)), kept) => {
            let rows = kept.unwrap_or_else(|| (0..total).collect());
            sorted(source, rows, column, descending, start..end)
        }
    };
    let columns = source.columns();
    let keys: Vec<&'static str> = columns.iter().map(|column| column.key).collect();
    let row = |at: usize| Row {
        keys: keys.clone(),
        cells: (0..columns.len()).map(|it| source.cell(at, it)).collect(),
        links: source.links(at),
    };
    let next = (end < total).then(|| format!("{end:x}.{:x}.{}", plan.mark, plan.sort_text));
    Ok(Table {
        columns: columns.to_vec(),
        rows: chosen.into_iter().map(row).collect(),
        total: total as u64,
        next,
        notes: Vec::new(),
        pending: false,
    })
}

/// The rows at a range of places, were all rows sorted. Equal rows keep their order.
fn sorted(
    source: &dyn Source,
    rows: Vec<usize>,
    column: usize,
    descending: bool,
    range: std::ops::Range<usize>,
) -> Vec<usize> {
    let turn = |order: Ordering| if descending { order.reverse() } else { order };
    if rows
        .first()
        .is_some_and(|&at| source.rank(at, column).is_some())
    {
        let rank = |at| (source.rank(at, column).unwrap_or_default(), at);
        let keyed = rows.into_iter().map(rank).collect();
        return select(keyed, range, |a: &(u64, usize), b| {
            turn(a.0.cmp(&b.0)).then(a.1.cmp(&b.1))
        });
    }
    let keyed = rows.into_iter().map(|at| (source.cell(at, column), at));
    select(keyed.collect(), range, |a: &(Cell, usize), b| {
        turn(a.0.compare(&b.0)).then(a.1.cmp(&b.1))
    })
}

/// The rows at a range of the sorted order; only those are sorted, so that the first page of
/// millions of rows takes one walk over them.
fn select<K>(
    mut rows: Vec<(K, usize)>,
    range: std::ops::Range<usize>,
    compare: impl Fn(&(K, usize), &(K, usize)) -> Ordering,
) -> Vec<usize> {
    if range.start > 0 {
        rows.select_nth_unstable_by(range.start, &compare);
    }
    let rest = &mut rows[range.start..];
    let length = range.len();
    if length < rest.len() {
        rest.select_nth_unstable_by(length, &compare);
    }
    let page = &mut rest[..length];
    page.sort_unstable_by(&compare);
    page.iter().map(|row| row.1).collect()
}

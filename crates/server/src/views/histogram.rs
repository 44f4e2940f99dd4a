//! Live objects by class, super class, package or loader.

use std::collections::HashMap;
use std::sync::Arc;

use hprof_analysis::names;
use hprof_analysis::numbers::ClassNumber;
use hprof_analysis::retained::{RetainedBy, loader_name};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::ViewError;
use super::opened::{ClassSum, Opened};
use super::page::TableQuery;
use super::records::{Of, Records};
use super::retained::{self, Known};
use super::table::{Cell, Links, Table, bytes, count, hex, text};

/// The unit of the rows of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HistogramBy {
    /// Classes of one name.
    #[default]
    Class,
    /// The hierarchy of classes: each row with those below it.
    Superclass,
    /// The classes of a package.
    Package,
    /// The classes of a loader.
    Loader,
}

/// Parameters of the histogram.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistogramQuery {
    /// The unit of the rows.
    #[serde(default)]
    #[param(inline)]
    pub by: HistogramBy,
    /// With `by=superclass`: the class whose sub-classes are wanted, as `node` of a row has it.
    pub node: Option<String>,
}

/// A row of a histogram.
#[derive(Debug, Clone)]
struct HistogramRow {
    name: String,
    sum: ClassSum,
    retained: Option<u64>,
    is_exact: bool,
    class: Option<u64>,
    object: Option<u64>,
    node: Option<String>,
    has_children: bool,
}

impl HistogramRow {
    fn new(name: String) -> Self {
        Self {
            name,
            sum: ClassSum::default(),
            retained: None,
            is_exact: true,
            class: None,
            object: None,
            node: None,
            has_children: false,
        }
    }

    fn add(&mut self, sum: &ClassSum) {
        self.sum.live += sum.live;
        self.sum.live_bytes += sum.live_bytes;
        self.sum.unreached += sum.unreached;
        self.sum.unreached_bytes += sum.unreached_bytes;
    }
}

const COLUMNS: [Of<HistogramRow>; 4] = [
    (text("name", "Name"), |row| Cell::from(row.name.as_str())),
    (count("objects", "Objects"), |row| row.sum.live.into()),
    (bytes("shallow", "Shallow size"), |row| {
        row.sum.live_bytes.into()
    }),
    (bytes("retained", "Retained size"), |row| {
        row.retained.into()
    }),
];

fn links(row: &HistogramRow) -> Links {
    Links {
        object: row.object,
        class: row.class,
        node: row.node.clone(),
        children: row.has_children,
        more: vec![("retained_is_exact", Cell::Bool(row.is_exact))],
    }
}

/// The live objects of a dump in groups.
///
/// # Errors
/// If the query names no column or class.
pub fn histogram(
    opened: &Arc<Opened>,
    by: &HistogramQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let by_retained = match by.by {
        HistogramBy::Superclass => return superclasses(opened, by.node.as_deref(), query),
        HistogramBy::Class => RetainedBy::Class,
        HistogramBy::Package => RetainedBy::Package,
        HistogramBy::Loader => RetainedBy::Loader,
    };
    let known = retained::known(opened, by_retained)?;
    let mut rows = grouped(opened, by.by, |sum| sum.live > 0);
    for row in &mut rows {
        row.retained = known.bytes.get(&row.name).copied();
        row.is_exact = known.is_exact;
    }
    Ok(table(rows, "retained", query)?.with_notes_of(&known))
}

fn table(
    rows: Vec<HistogramRow>,
    first: &'static str,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let records = Records::new(rows, &COLUMNS)
        .about(links)
        .largest_first(first);
    records.page(query)
}

impl Table {
    /// Adds what is to be said about retained sizes.
    #[must_use]
    pub(super) fn with_notes_of(mut self, known: &Known) -> Self {
        self.notes.extend(known.notes());
        self.pending |= !known.is_complete;
        self
    }
}

/// The classes for which `is_shown` holds, in groups.
fn grouped(
    opened: &Opened,
    by: HistogramBy,
    is_shown: impl Fn(&ClassSum) -> bool,
) -> Vec<HistogramRow> {
    let graph = opened.snapshot.graph();
    let mut rows: Vec<HistogramRow> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    let mut loader_names: HashMap<u64, String> = HashMap::new();
    let classes = graph.classes().list().iter().zip(opened.sums());
    for (class, sum) in classes.filter(|(_, sum)| is_shown(sum)) {
        let name = match by {
            HistogramBy::Package => names::package(&class.name).to_owned(),
            HistogramBy::Loader => {
                let name = loader_names.entry(class.loader);
                name.or_insert_with(|| loader_name(&opened.snapshot, class.loader))
                    .clone()
            }
            HistogramBy::Class | HistogramBy::Superclass => class.name.clone(),
        };
        let at = *index.entry(name).or_insert_with_key(|name| {
            let mut row = HistogramRow::new(name.clone());
            row.class = (by == HistogramBy::Class && class.id != 0).then_some(class.id);
            row.object = (by == HistogramBy::Loader && class.loader != 0).then_some(class.loader);
            rows.push(row);
            rows.len() - 1
        });
        rows[at].add(sum);
    }
    rows
}

/// The sub-classes of a class, each with all classes below it.
fn superclasses(
    opened: &Opened,
    node: Option<&str>,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let classes = opened.snapshot.graph().classes();
    let above = node.map(|node| opened.class(node)).transpose()?;
    // By class: its sums with those of all classes below. In damaged files hierarchies may go in
    // circles, so each class walks upwards, which is bounded.
    let mut rows: Vec<HistogramRow> = Vec::new();
    let mut row_of: HashMap<ClassNumber, usize> = HashMap::new();
    let sums = classes.numbers().zip(opened.sums());
    for (number, sum) in sums.filter(|(_, sum)| sum.live > 0) {
        let mut below = None;
        let mut top = None;
        for class in classes.hierarchy(number) {
            if Some(class) == above {
                below = top;
                break;
            }
            top = Some(class);
        }
        let Some(member) = (if above.is_none() { top } else { below }) else {
            continue;
        };
        let at = *row_of.entry(member).or_insert_with(|| {
            let class = classes.get(member);
            let mut row = HistogramRow::new(class.name.clone());
            row.class = (class.id != 0).then_some(class.id);
            row.node = row.class.map(hex);
            rows.push(row);
            rows.len() - 1
        });
        rows[at].add(sum);
        rows[at].has_children |= number != member;
    }
    let note = "a row counts the objects of a class and of all classes below it; what they retain \
                together is not worked out";
    Ok(table(rows, "shallow", query)?.with_note(Some(note.to_owned())))
}

const UNREACHED: [Of<HistogramRow>; 3] = [
    (text("name", "Name"), |row| Cell::from(row.name.as_str())),
    (count("objects", "Objects"), |row| row.sum.unreached.into()),
    (bytes("shallow", "Shallow size"), |row| {
        row.sum.unreached_bytes.into()
    }),
];

/// Objects that no root reaches, by class.
///
/// # Errors
/// If the query names no column.
pub fn unreachable(opened: &Opened, query: &TableQuery) -> Result<Table, ViewError> {
    let rows = grouped(opened, HistogramBy::Class, |sum| sum.unreached > 0);
    let note = rows
        .is_empty()
        .then(|| "roots reach all objects of the dump".to_owned());
    let records = Records::new(rows, &UNREACHED);
    let records = records.about(|row| Links {
        class: row.class,
        ..Links::default()
    });
    Ok(records
        .largest_first("shallow")
        .page(query)?
        .with_note(note))
}

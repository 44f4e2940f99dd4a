//! Two dumps side by side: what has grown.

use std::collections::BTreeMap;
use std::sync::Arc;

use hprof_analysis::names;
use hprof_analysis::retained::RetainedBy;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::ViewError;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::retained::{Known, known};
use super::table::{Cell, Links, Table, bytes, count, text};

/// The unit of the rows of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompareBy {
    /// Classes of one name, without what differs from run to run.
    #[default]
    Class,
    /// Packages.
    Package,
    /// Classes of the objects that no other object dominates: what is new among them, or keeps more.
    Dominator,
}

/// Parameters of a comparison.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CompareQuery {
    /// The id of the other dump, of which the columns ending in `_b` are.
    pub with: String,
    /// The unit of the rows.
    #[serde(default)]
    #[param(inline)]
    pub by: CompareBy,
}

#[derive(Debug, Clone, Copy, Default)]
struct Side {
    objects: u64,
    shallow: u64,
    retained: u64,
}

#[derive(Debug, Clone, Default)]
struct Change {
    name: String,
    a: Side,
    b: Side,
    /// The class of this name in the dump after, if it has one and not several.
    class: Option<u64>,
}

fn delta(before: u64, after: u64) -> Cell {
    let delta = i128::from(after) - i128::from(before);
    Cell::Delta(i64::try_from(delta).unwrap_or(i64::MAX))
}

/// The changes come first, so that they are in sight where there is no room for all.
const COLUMNS: [Of<Change>; 10] = [
    (text("name", "Name"), |row| Cell::from(row.name.as_str())),
    (bytes("retained_delta", "Retained size +/-"), |row| {
        delta(row.a.retained, row.b.retained)
    }),
    (bytes("shallow_delta", "Shallow size +/-"), |row| {
        delta(row.a.shallow, row.b.shallow)
    }),
    (count("objects_delta", "Objects +/-"), |row| {
        delta(row.a.objects, row.b.objects)
    }),
    (bytes("retained_a", "Retained size before"), |row| {
        row.a.retained.into()
    }),
    (bytes("retained_b", "Retained size after"), |row| {
        row.b.retained.into()
    }),
    (bytes("shallow_a", "Shallow size before"), |row| {
        row.a.shallow.into()
    }),
    (bytes("shallow_b", "Shallow size after"), |row| {
        row.b.shallow.into()
    }),
    (count("objects_a", "Objects before"), |row| {
        row.a.objects.into()
    }),
    (count("objects_b", "Objects after"), |row| {
        row.b.objects.into()
    }),
];

/// The rows of two dumps that meet by name; those that are equal too.
///
/// # Errors
/// If the query names no column.
pub fn compare(
    before: &Arc<Opened>,
    after: &Arc<Opened>,
    by: CompareBy,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let unit = match by {
        CompareBy::Class => RetainedBy::Class,
        CompareBy::Package => RetainedBy::Package,
        CompareBy::Dominator => return dominators(before, after, query),
    };
    let known_sides = [known(before, unit)?, known(after, unit)?];
    let mut rows: BTreeMap<String, [Side; 2]> = BTreeMap::new();
    for (side, opened) in [before, after].into_iter().enumerate() {
        add(opened, by, &known_sides[side], |name, sum| {
            let row = &mut rows.entry(name).or_default()[side];
            row.objects += sum.objects;
            row.shallow += sum.shallow;
            row.retained += sum.retained;
        });
    }
    let mut classes = match by {
        CompareBy::Class => classes(after),
        _ => BTreeMap::new(),
    };
    let row = |(name, [a, b]): (String, [Side; 2])| Change {
        class: classes.remove(&name).flatten(),
        name,
        a,
        b,
    };
    let rows: Vec<Change> = rows.into_iter().map(row).collect();
    let mut table = Records::new(rows, &COLUMNS)
        .about(about)
        .largest_first("retained_delta")
        .page(query)?;
    for known in &known_sides {
        table = table.with_notes_of(known);
    }
    table.notes.dedup();
    Ok(table)
}

/// The objects at the top of both dominator trees, by class.
fn dominators(before: &Opened, after: &Opened, query: &TableQuery) -> Result<Table, ViewError> {
    let mut rows: BTreeMap<String, Change> = BTreeMap::new();
    for (is_after, opened) in [(false, before), (true, after)] {
        let (snapshot, tree) = (&opened.snapshot, opened.snapshot.dominators());
        for place in tree.children(None) {
            let object = tree.object(place);
            let name = names::family(snapshot.class_name(object)).into_owned();
            let row = rows.entry(name).or_default();
            let side = if is_after { &mut row.b } else { &mut row.a };
            side.objects += 1;
            side.shallow += snapshot.graph().size(object);
            side.retained += tree.retained(place);
        }
    }
    let mut classes = classes(after);
    let named = |(name, row)| Change {
        class: classes.remove(&name).flatten(),
        name,
        ..row
    };
    let rows: Vec<Change> = rows.into_iter().map(named).collect();
    let records = Records::new(rows, &COLUMNS).about(about);
    records.largest_first("retained_delta").page(query)
}

fn about(row: &Change) -> Links {
    Links {
        class: row.class,
        ..Links::default()
    }
}

/// The class of each name that rows have; none where several classes have it.
fn classes(opened: &Opened) -> BTreeMap<String, Option<u64>> {
    let mut found = BTreeMap::new();
    for class in opened.snapshot.graph().classes().list() {
        let id = Some(class.id).filter(|&id| id != 0);
        let name = names::family(&class.name).into_owned();
        let known = found.entry(name);
        known.and_modify(|other| *other = None).or_insert(id);
    }
    found
}

/// Calls `visit` with each live class, and once for each name with what it retains.
fn add(opened: &Opened, by: CompareBy, known: &Known, mut visit: impl FnMut(String, Side)) {
    let shown = |name: &str| match by {
        CompareBy::Package => name.to_owned(),
        _ => names::family(name).into_owned(),
    };
    let classes = opened.snapshot.graph().classes().list().iter();
    for (class, sum) in classes.zip(opened.sums()).filter(|(_, sum)| sum.live > 0) {
        let name = match by {
            CompareBy::Package => names::package(&class.name),
            _ => class.name.as_str(),
        };
        let side = Side {
            objects: sum.live,
            shallow: sum.live_bytes,
            retained: 0,
        };
        visit(shown(name), side);
    }
    for (name, &retained) in known.bytes.iter() {
        let side = Side {
            retained,
            ..Side::default()
        };
        visit(shown(name), side);
    }
}

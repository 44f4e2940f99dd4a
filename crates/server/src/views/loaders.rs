//! Class loaders, and classes that several of them have loaded.

use std::collections::{BTreeMap, HashMap};

use hprof_analysis::retained::loader_name;
use serde::Deserialize;
use utoipa::IntoParams;

use super::ViewError;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::table::{Cell, ColumnKind, Links, Table, bytes, column, count, text};

#[derive(Debug, Clone)]
struct Loader {
    name: String,
    id: u64,
    classes: u64,
    objects: u64,
    shallow: u64,
    retained: Option<u64>,
}

const LOADERS: [Of<Loader>; 6] = [
    (text("name", "Loader"), |row| Cell::from(row.name.as_str())),
    (count("classes", "Classes"), |row| row.classes.into()),
    (count("objects", "Objects"), |row| row.objects.into()),
    (bytes("shallow", "Shallow size of objects"), |row| {
        row.shallow.into()
    }),
    (bytes("retained", "Retained size"), |row| {
        row.retained.into()
    }),
    (
        column("object", "Identifier", ColumnKind::Object),
        |row| match row.id {
            0 => Cell::Null,
            id => Cell::Id(id),
        },
    ),
];

/// The class loaders of a dump.
///
/// # Errors
/// If the query names no column.
pub fn loaders(opened: &Opened, query: &TableQuery) -> Result<Table, ViewError> {
    let (snapshot, graph) = (&opened.snapshot, opened.snapshot.graph());
    let mut rows: BTreeMap<u64, Loader> = BTreeMap::new();
    let classes = graph.classes().list().iter().zip(opened.sums());
    for (class, sum) in classes.filter(|(class, _)| class.is_described) {
        let row = rows.entry(class.loader).or_insert_with(|| Loader {
            name: loader_name(snapshot, class.loader),
            id: class.loader,
            classes: 0,
            objects: 0,
            shallow: 0,
            retained: graph
                .number(class.loader)
                .filter(|_| class.loader != 0)
                .map(|loader| snapshot.retained(loader)),
        });
        row.classes += 1;
        row.objects += sum.live;
        row.shallow += sum.live_bytes;
    }
    let rows: Vec<Loader> = rows.into_values().collect();
    let records = Records::new(rows, &LOADERS).largest_first("classes");
    let records = records.about(|row| Links {
        object: (row.id != 0).then_some(row.id),
        ..Links::default()
    });
    let note = "a loader retains itself, its classes and what they hold in static fields; the boot \
                loader has no object";
    Ok(records.page(query)?.with_note(Some(note.to_owned())))
}

/// Parameters of the view of duplicate classes.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DuplicateClassesQuery {
    /// The name of a class, as `node` of a row has it, whose copies are wanted.
    pub node: Option<String>,
}

#[derive(Debug, Clone)]
struct Copies {
    name: String,
    loaders: u64,
    objects: u64,
    shallow: u64,
    class: Option<u64>,
}

const COPIES: [Of<Copies>; 4] = [
    (text("name", "Class"), |row| Cell::from(row.name.as_str())),
    (count("loaders", "Loaders"), |row| row.loaders.into()),
    (count("objects", "Objects"), |row| row.objects.into()),
    (bytes("shallow", "Shallow size of objects"), |row| {
        row.shallow.into()
    }),
];

/// Classes of one name that several loaders have loaded; or the copies of one, each with its loader.
///
/// # Errors
/// If the query names no column.
pub fn duplicate_classes(
    opened: &Opened,
    which: &DuplicateClassesQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let classes = opened.snapshot.graph().classes().list();
    let described = || {
        let all = classes.iter().zip(opened.sums());
        all.filter(|(class, _)| class.is_described)
    };
    if let Some(name) = which.node.as_deref().filter(|name| !name.is_empty()) {
        let copies = described().filter(|(class, _)| class.name == name);
        let row =
            |(class, sum): (&hprof_analysis::graph::Class, &super::opened::ClassSum)| Copies {
                name: loader_name(&opened.snapshot, class.loader),
                loaders: 1,
                objects: sum.live,
                shallow: sum.live_bytes,
                class: Some(class.id),
            };
        let rows: Vec<Copies> = copies.map(row).collect();
        if rows.is_empty() {
            return Err(ViewError::missing(format!("the dump has no class {name}")));
        }
        let records = Records::new(rows, &COPIES).largest_first("objects");
        let records = records.about(|row| Links {
            class: row.class,
            ..Links::default()
        });
        return records.page(query);
    }
    let mut names: HashMap<&str, Copies> = HashMap::new();
    for (class, sum) in described() {
        let row = names.entry(&class.name).or_insert_with(|| Copies {
            name: class.name.clone(),
            loaders: 0,
            objects: 0,
            shallow: 0,
            class: None,
        });
        row.loaders += 1;
        row.objects += sum.live;
        row.shallow += sum.live_bytes;
    }
    let mut rows: Vec<Copies> = names.into_values().filter(|row| row.loaders > 1).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let note = rows
        .is_empty()
        .then(|| "no class was loaded by more than one loader".to_owned());
    let records = Records::new(rows, &COPIES).largest_first("loaders");
    let records = records.about(|row| Links {
        node: Some(row.name.clone()),
        children: true,
        ..Links::default()
    });
    Ok(records.page(query)?.with_note(note))
}

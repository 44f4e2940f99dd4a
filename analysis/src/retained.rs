//! What sets of objects keep alive.

use std::io;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::leaks::ClassShare;
use crate::names;
use crate::paths::ShortestPaths;
use crate::snapshot::Snapshot;

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RetainedBy {
    /// Classes of one name.
    Class,
    /// The classes of a package.
    Package,
    /// The classes of a loader.
    Loader,
    /// A thread with what its stack holds.
    Thread,
}

/// What a set of objects keeps alive.
#[derive(Debug, Clone, Serialize)]
pub struct RetainedRow {
    /// The name of the class, package, loader or thread.
    pub name: String,
    /// The live objects.
    pub objects: u64,
    /// What they take themselves, in bytes.
    pub shallow_bytes: u64,
    /// What each of them keeps alive, counted once where they lie under one another, in bytes.
    pub retained_bytes: u64,
}

/// All live objects, summed up. Objects under another one of the same row count no second time.
pub fn retained_by(snapshot: &Snapshot, by: RetainedBy) -> Vec<RetainedRow> {
    let [rows] = retained_by_each(snapshot, [by]);
    rows
}

/// The same in several ways, by one walk over all objects.
pub fn retained_by_each<const N: usize>(
    snapshot: &Snapshot,
    by: [RetainedBy; N],
) -> [Vec<RetainedRow>; N] {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let mut tables = by.map(|by| Table::new(snapshot, by));
    for place in 0..dominators.len() {
        let object = dominators.object(place);
        let class = graph.class_of(object) as usize;
        let end = dominators.end(place);
        for table in &mut tables {
            let Some(&group) = table.group_of.get(class) else {
                continue;
            };
            let (row, covered) = &mut table.rows[group as usize];
            row.objects += 1;
            row.shallow_bytes += dominators.bytes(place, place + 1);
            if place >= *covered {
                row.retained_bytes += dominators.bytes(place, end);
                *covered = end;
            }
        }
    }
    tables.map(|table| match table.by {
        RetainedBy::Thread => threads(snapshot),
        _ => {
            let mut rows: Vec<RetainedRow> = table.rows.into_iter().map(|row| row.0).collect();
            rows.retain(|row| row.objects > 0);
            sort(&mut rows);
            rows
        }
    })
}

/// The rows that are being summed up.
struct Table {
    by: RetainedBy,
    /// The rows, each with the place behind what its last topmost object keeps alive: places come
    /// in the order of the tree, so an object before that lies under it.
    rows: Vec<(RetainedRow, usize)>,
    /// By class the row.
    group_of: Vec<u32>,
}

impl Table {
    fn new(snapshot: &Snapshot, by: RetainedBy) -> Self {
        let (names, group_of) = match by {
            RetainedBy::Thread => (Vec::new(), Vec::new()),
            _ => groups(snapshot, by),
        };
        let row = |name| RetainedRow {
            name,
            objects: 0,
            shallow_bytes: 0,
            retained_bytes: 0,
        };
        Self {
            by,
            rows: names.into_iter().map(|name| (row(name), 0)).collect(),
            group_of,
        }
    }
}

fn sort(rows: &mut [RetainedRow]) {
    rows.sort_by(|a, b| {
        (b.retained_bytes.cmp(&a.retained_bytes)).then_with(|| a.name.cmp(&b.name))
    });
}

/// The names of all rows, and by class the row.
fn groups(snapshot: &Snapshot, by: RetainedBy) -> (Vec<String>, Vec<u32>) {
    let classes = snapshot.graph().classes();
    let mut index: FxHashMap<String, u32> = FxHashMap::default();
    let mut names = Vec::new();
    let mut group_of = Vec::new();
    for class in classes.list() {
        let name = match by {
            RetainedBy::Package => names::package(&class.name).to_owned(),
            RetainedBy::Loader => loader_name(snapshot, class.loader),
            RetainedBy::Class | RetainedBy::Thread => class.name.clone(),
        };
        let group = *index.entry(name.clone()).or_insert_with(|| {
            names.push(name);
            names.len() as u32 - 1
        });
        group_of.push(group);
    }
    (names, group_of)
}

/// A class loader in a few words.
pub fn loader_name(snapshot: &Snapshot, loader: u64) -> String {
    if loader == 0 {
        return "boot loader".to_owned();
    }
    match snapshot.graph().number(loader) {
        Some(object) => format!("{} {loader:#x}", snapshot.describe(object)),
        None => format!("loader {loader:#x}"),
    }
}

fn threads(snapshot: &Snapshot) -> Vec<RetainedRow> {
    let row = |thread: crate::snapshot::ThreadInfo| RetainedRow {
        name: thread.name.unwrap_or_else(|| "<name unknown>".to_owned()),
        objects: snapshot
            .dominators()
            .place(thread.object)
            .map_or(0, |place| (snapshot.dominators().end(place) - place) as u64),
        shallow_bytes: snapshot.graph().size(thread.object),
        retained_bytes: thread.retained_bytes,
    };
    let mut rows: Vec<RetainedRow> = snapshot.threads().into_iter().map(row).collect();
    sort(&mut rows);
    rows
}

/// What would be free without some objects.
#[derive(Debug, Clone, Serialize)]
pub struct Freed {
    /// The live ones among them.
    pub members: u64,
    /// Bytes.
    pub bytes: u64,
    /// Objects.
    pub objects: u64,
    /// The objects by class.
    pub contents: Vec<ClassShare>,
}

/// What would be free without all objects for which `is_member` holds: exactly, by a walk that
/// leaves them out.
///
/// # Errors
/// If there is no room for the walk.
pub fn freed_without(snapshot: &Snapshot, is_member: impl Fn(usize) -> bool) -> io::Result<Freed> {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let left = ShortestPaths::without(graph, snapshot.store(), &is_member)?;
    let mut freed = Freed {
        members: 0,
        bytes: 0,
        objects: 0,
        contents: Vec::new(),
    };
    let mut sums: FxHashMap<u32, (u64, u64)> = FxHashMap::default();
    for place in 0..dominators.len() {
        let object = dominators.object(place);
        freed.members += u64::from(is_member(object));
        if left.before(object).is_some() {
            continue;
        }
        freed.objects += 1;
        freed.bytes += graph.size(object);
        let sum = sums.entry(graph.class_of(object)).or_default();
        sum.0 += 1;
        sum.1 += graph.size(object);
    }
    let mut by_name: FxHashMap<&str, (u64, u64)> = FxHashMap::default();
    for (class, (objects, bytes)) in sums {
        let sum = by_name.entry(&graph.classes().get(class).name).or_default();
        sum.0 += objects;
        sum.1 += bytes;
    }
    let share = |(name, (objects, bytes)): (&str, (u64, u64))| ClassShare {
        name: name.to_owned(),
        objects,
        bytes,
    };
    freed.contents = by_name.into_iter().map(share).collect();
    (freed.contents).sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    Ok(freed)
}

//! Retained sizes of sets of objects.

use std::io;

use rustc_hash::FxHashMap;
use serde::Serialize;
use twox_hash::XxHash3_64;
use zerocopy::IntoBytes;

use crate::dominators::sum_by_groups;
pub use crate::dominators::{GroupSum, Grouping};
use crate::leaks::ClassShare;
use crate::names;
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::paths::ShortestPaths;
use crate::snapshot::Snapshot;

/// The unit of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RetainedBy {
    /// Classes of one name.
    Class,
    /// Classes whose names differ only in what changes from run to run.
    Family,
    /// The classes of a package.
    Package,
    /// The classes of a loader.
    Loader,
    /// A thread with what its stack holds.
    Thread,
}

/// The retained size of a set of objects.
#[derive(Debug, Clone, Serialize)]
pub struct RetainedRow {
    /// The name of the class, package, loader or thread.
    pub name: String,
    /// The live objects.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub shallow_bytes: u64,
    /// Their retained size, in bytes: the memory that would be free without all of them.
    pub retained_bytes: u64,
    /// False if `retained_bytes` is what single objects keep alive, and together they may keep
    /// more: the heap has too many different ways to its objects.
    pub is_exact: bool,
}

/// All live objects, summed up.
///
/// # Errors
/// If there is no room for the walk.
pub fn retained_by(snapshot: &Snapshot, by: RetainedBy) -> io::Result<Vec<RetainedRow>> {
    Ok(retained_by_several(snapshot, &[by])?.swap_remove(0))
}

/// All live objects, summed up in several ways, which takes less time than one after another.
///
/// # Errors
/// If there is no room for the walk.
pub fn retained_by_several(
    snapshot: &Snapshot,
    by: &[RetainedBy],
) -> io::Result<Vec<Vec<RetainedRow>>> {
    let in_groups = by.iter().filter(|&&by| by != RetainedBy::Thread);
    let (names, groupings): (Vec<_>, Vec<_>) = in_groups.map(|&by| groups(snapshot, by)).unzip();
    let sums = group_sums(snapshot, &groupings)?;
    let mut tables = names
        .into_iter()
        .zip(sums)
        .map(|(names, (sums, is_exact))| {
            let row = |(name, sum): (String, GroupSum)| RetainedRow {
                name,
                objects: sum.objects,
                shallow_bytes: sum.shallow_bytes,
                retained_bytes: sum.retained_bytes,
                is_exact,
            };
            let mut rows: Vec<RetainedRow> = names.into_iter().zip(sums).map(row).collect();
            rows.retain(|row| row.objects > 0);
            sort(&mut rows);
            rows
        });
    let table = |by: &RetainedBy| match by {
        RetainedBy::Thread => threads(snapshot),
        _ => tables.next().unwrap_or_default(),
    };
    Ok(by.iter().map(table).collect())
}

/// The sums of each group, for several groupings; and whether what they retain is exact.
///
/// # Errors
/// If there is no room for the walk.
pub fn group_sums(
    snapshot: &Snapshot,
    groupings: &[Grouping],
) -> io::Result<Vec<(Vec<GroupSum>, bool)>> {
    let known: Vec<_> = (groupings.iter())
        .map(|grouping| noted(snapshot, grouping))
        .collect();
    let missing = groupings.iter().zip(&known);
    let missing: Vec<Grouping> = missing
        .filter(|(_, known)| known.is_none())
        .map(|(grouping, _)| grouping.clone())
        .collect();
    if missing.is_empty() {
        return Ok(known.into_iter().flatten().collect());
    }
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let found = sum_by_groups(graph, dominators, snapshot.store(), &missing)?;
    for (grouping, (sums, is_exact)) in missing.iter().zip(&found) {
        let mut numbers = vec![u64::from(*is_exact)];
        numbers.extend(
            sums.iter()
                .flat_map(|sum| [sum.objects, sum.shallow_bytes, sum.retained_bytes]),
        );
        snapshot.note(&name_of(grouping), &numbers);
    }
    let mut found = found.into_iter();
    let or_found = |known: Option<_>| known.or_else(|| found.next());
    Ok(known.into_iter().filter_map(or_found).collect())
}

/// The name of the note on the sums of a division into groups.
fn name_of(grouping: &Grouping) -> String {
    let hash = XxHash3_64::oneshot(grouping.group_of.as_bytes());
    format!("sums-{hash:016x}")
}

/// Reads the sums that an earlier command has noted.
fn noted(snapshot: &Snapshot, grouping: &Grouping) -> Option<(Vec<GroupSum>, bool)> {
    let numbers = snapshot.noted(&name_of(grouping), 1 + 3 * grouping.groups)?;
    let (is_exact, sums) = numbers.split_first()?;
    let sum = |sum: &[u64; 3]| GroupSum {
        objects: sum[0],
        shallow_bytes: sum[1],
        retained_bytes: sum[2],
    };
    let (sums, _) = sums.as_chunks::<3>();
    Some((sums.iter().map(sum).collect(), *is_exact != 0))
}

fn sort(rows: &mut [RetainedRow]) {
    rows.sort_by(|a, b| {
        (b.retained_bytes.cmp(&a.retained_bytes)).then_with(|| a.name.cmp(&b.name))
    });
}

/// The names of all rows, and by class the row.
fn groups(snapshot: &Snapshot, by: RetainedBy) -> (Vec<String>, Grouping) {
    let classes = snapshot.graph().classes();
    let mut index: FxHashMap<String, u32> = FxHashMap::default();
    let mut names = Vec::new();
    let mut group_of = Vec::new();
    for class in classes.list() {
        let name = match by {
            RetainedBy::Package => names::package(&class.name).to_owned(),
            RetainedBy::Loader => loader_name(snapshot, class.loader),
            RetainedBy::Family => names::family(&class.name).into_owned(),
            RetainedBy::Class | RetainedBy::Thread => class.name.clone(),
        };
        let group = *index.entry(name.clone()).or_insert_with(|| {
            names.push(name);
            names.len() as u32 - 1
        });
        group_of.push(group);
    }
    let grouping = Grouping {
        groups: names.len(),
        group_of,
    };
    (names, grouping)
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
            .map_or(0, |place| snapshot.dominators().span(place)),
        shallow_bytes: snapshot.graph().size(thread.object),
        retained_bytes: thread.retained_bytes,
        is_exact: true,
    };
    let mut rows: Vec<RetainedRow> = snapshot.threads().into_iter().map(row).collect();
    sort(&mut rows);
    rows
}

/// The memory that would be free without some objects.
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

/// The exact retained size of all objects for which `is_member` holds, by a walk that
/// leaves them out.
///
/// # Errors
/// If there is no room for the walk.
pub fn freed_without(
    snapshot: &Snapshot,
    is_member: impl Fn(ObjectNumber) -> bool,
) -> io::Result<Freed> {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let left = ShortestPaths::without(graph, snapshot.store(), &is_member)?;
    let mut freed = Freed {
        members: 0,
        bytes: 0,
        objects: 0,
        contents: Vec::new(),
    };
    let mut sums: FxHashMap<ClassNumber, (u64, u64)> = FxHashMap::default();
    for place in dominators.places() {
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

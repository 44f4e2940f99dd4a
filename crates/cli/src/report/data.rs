//! The data of a report.

use std::cmp::Reverse;

use hprof_analysis::android::{AndroidFacts, Trace, android_facts, traces};
use hprof_analysis::direct_buffers::{DirectBuffers, direct_memory};
use hprof_analysis::duplicates::{Duplicates, duplicates};
use hprof_analysis::leaks::{LeakOptions, ObjectShare, largest_in, leaks};
use hprof_analysis::numbers::{ObjectNumber, Place};
use hprof_analysis::observations::observations_with;
use hprof_analysis::parallel::both;
use hprof_analysis::retained::{RetainedBy, RetainedRow, retained_by_several};
use hprof_analysis::snapshot::Snapshot;
use hprof_analysis::trace::{Timing, Work, phase};
use serde::Serialize;

use super::details::{Detail, Details};
use crate::observations::{Said, said};
use crate::render::screen::plural;
use crate::snapshot;
use crate::suspects::Explained;

/// The version of the report's JSON, as in docs/report-schema.md; raised when a field changes its meaning
/// or is removed.
const SCHEMA: u32 = 2;
/// Rows of a histogram.
const ROWS: usize = 500;
/// Threads with stacks.
const THREADS: usize = 200;
/// Objects, and duplicates.
const OBJECTS: usize = 100;

/// The data of a report, and its JSON. Bytes are bytes in the VM's heap, times are milliseconds
/// since 1970-01-01 UTC.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The version of this layout.
    pub schema: u32,
    /// The file.
    pub file: String,
    /// The version of this program.
    pub version: &'static str,
    /// When the dump was taken.
    pub created_millis: Option<u64>,
    /// The model of sizes and references.
    pub model: String,
    /// The missing parts of the dump.
    pub notes: Vec<String>,
    /// Totals.
    pub summary: Summary,
    /// On Android, what the dump tells of device and program.
    pub android: Option<AndroidFacts>,
    /// On Android, objects whose life is over, with what keeps them alive.
    pub dead_objects: Vec<Trace>,
    /// Observations beside the suspects: deadlocks, memory that no root reaches, memory outside of the heap.
    pub observations: Vec<Said>,
    /// Leak suspects.
    pub leaks: Explained,
    /// The dominator tree as far as it matters.
    pub tree: Vec<TreeNode>,
    /// Live objects by class, with what they retain.
    pub classes: Vec<RetainedRow>,
    /// Rows by package.
    pub packages: Vec<RetainedRow>,
    /// Rows by loader.
    pub loaders: Vec<RetainedRow>,
    /// The objects that retain most.
    pub objects: Vec<ObjectShare>,
    /// Threads with stacks and locals.
    pub threads: Vec<ThreadRow>,
    /// The objects that other parts of the report name, with what they refer to.
    pub details: Vec<Detail>,
    /// Equal strings and arrays.
    pub duplicates: Duplicates,
    /// System properties, secrets masked.
    pub properties: Vec<(String, String)>,
    /// The times of the phases, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timings: Option<Vec<Timing>>,
}

/// Totals of a dump.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Objects that roots reach, class objects included.
    pub live_objects: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// Objects that no root reaches.
    pub unreached_objects: u64,
    /// Their bytes.
    pub unreached_bytes: u64,
    /// Classes.
    pub classes: u64,
    /// Loaders, the boot loader included.
    pub loaders: u64,
    /// Roots.
    pub roots: u64,
    /// Threads.
    pub threads: u64,
    /// The direct buffers that own memory outside of the heap; none if the dump lacks their class or its values.
    pub direct_buffers: Option<DirectBuffers>,
}

/// An object in the dominator tree.
#[derive(Debug, Serialize)]
pub struct TreeNode {
    /// The object in a few words.
    pub name: String,
    /// Its identifier.
    pub id: String,
    /// The object number; 0 for an area of several objects.
    #[serde(skip)]
    pub number: u64,
    /// Its retained size, in bytes.
    pub bytes: u64,
    /// The largest objects under it; what they do not cover is itself or small.
    pub children: Vec<TreeNode>,
}

/// A thread.
#[derive(Debug, Serialize)]
pub struct ThreadRow {
    /// Its name.
    pub name: String,
    /// Its retained size, in bytes.
    pub retained_bytes: u64,
    /// The methods on its stack, innermost first.
    pub stack: Vec<String>,
    /// The objects of the stack: frame, description, bytes retained, identifier.
    pub locals: Vec<(Option<u32>, String, u64, String)>,
}

impl Report {
    /// Looks at all of a snapshot, and writes its index if that is still to be done. Three rows of phases need nothing of each other and run side by side: suspects with what follows
    /// paths, retained sizes, and sums over contents.
    ///
    /// # Errors
    /// If there is no room for the paths.
    pub fn new(snapshot: &Snapshot) -> anyhow::Result<Self> {
        let by_paths = || -> anyhow::Result<_> {
            let dead_objects = match snapshot.graph().is_android() {
                true => phase(Work::DeadObjects, 0, || traces(snapshot))?,
                false => Vec::new(),
            };
            let leaks = phase(Work::Suspects, 0, || {
                leaks(snapshot, LeakOptions::default())
            })?;
            let (tree, objects) = phase(Work::Largest, 0, || {
                let least = (snapshot.dominators().live_bytes() / 300).max(1);
                let objects = largest_in(snapshot, None, OBJECTS, |_| true);
                (tree(snapshot, None, least, 6), objects)
            });
            let threads = phase(Work::Threads, 0, || threads(snapshot));
            Ok((dead_objects, leaks, tree, objects, threads))
        };
        let retained = || {
            let by = [RetainedBy::Class, RetainedBy::Package, RetainedBy::Loader];
            phase(Work::RetainedSizes, 0, || {
                retained_by_several(snapshot, &by)
            })
        };
        let sums = || -> anyhow::Result<_> {
            let duplicates = phase(Work::Duplicates, 0, || duplicates(snapshot, OBJECTS))?;
            let direct = phase(Work::DirectMemory, 0, || direct_memory(snapshot));
            let observations = phase(Work::Observations, 0, || {
                observations_with(snapshot, direct.clone())
            });
            Ok((duplicates, direct, observations))
        };
        let retained_and_index = || {
            let tables = retained();
            snapshot.write_index_now();
            tables
        };
        let (by_paths, (tables, sums)) = both(by_paths, || both(retained_and_index, sums));
        let (dead_objects, leaks, tree, objects, threads) = by_paths?;
        let (tables, (duplicates, direct, observations)) = (tables?, sums?);
        let mut tables = tables.into_iter();
        let [classes_by, packages, loaders_by] =
            std::array::from_fn(|_| tables.next().unwrap_or_default());
        let mut notes = snapshot::notes(snapshot);
        if snapshot.is_stripped() {
            notes.push(STRIPPED.to_owned());
        }
        if [&classes_by, &packages, &loaders_by]
            .iter()
            .any(|rows| !all_exact(rows))
        {
            notes.push(LOWER_BOUNDS.to_owned());
        }
        let direct_buffers = direct.as_ref().map(|direct| direct.buffers);
        let graph = snapshot.graph();
        let dominators = snapshot.dominators();
        let live_bytes = dominators.live_bytes();
        let cut = |mut rows: Vec<RetainedRow>| {
            rows.truncate(ROWS);
            rows
        };
        let classes = graph
            .classes()
            .list()
            .iter()
            .filter(|class| class.is_described);
        let loaders: std::collections::HashSet<u64> = classes.clone().map(|c| c.loader).collect();
        let details = phase(Work::Details, 0, || {
            Details::of(snapshot, &leaks, &dead_objects, &tree, &objects, &threads)
        });
        Ok(Self {
            schema: SCHEMA,
            file: snapshot.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            created_millis: snapshot.contents().created_millis,
            model: snapshot::model(snapshot),
            notes,
            summary: Summary {
                live_objects: dominators.len() as u64,
                live_bytes,
                unreached_objects: (graph.len() - dominators.len()) as u64,
                unreached_bytes: snapshot::total_bytes(snapshot) - live_bytes,
                classes: classes.count() as u64,
                loaders: loaders.len() as u64,
                roots: (graph.roots().len() + graph.locals().len()) as u64,
                threads: graph.roots().iter().filter(|root| root.is_thread()).count() as u64,
                direct_buffers,
            },
            android: graph.is_android().then(|| android_facts(snapshot)),
            dead_objects,
            observations: said(observations),
            leaks: Explained::new(leaks),
            tree,
            classes: cut(classes_by),
            packages: cut(packages),
            loaders: cut(loaders_by),
            objects,
            threads,
            details,
            duplicates,
            properties: snapshot.system_properties(),
            timings: None,
        })
    }
}

fn all_exact(rows: &[RetainedRow]) -> bool {
    rows.iter().all(|row| row.is_exact)
}

/// The note for rows whose retained sizes are lower bounds.
pub const LOWER_BOUNDS: &str = "what classes, packages or loaders retain is at least what is shown: \
     the heap has too many different ways to its objects";

/// The note for a dump without contents.
const STRIPPED: &str = "strings and arrays are blank, as `hprof-rs strip` leaves them: equal ones \
     are not told";

/// The largest children that retain at least `least` bytes, to a number of levels.
fn tree(snapshot: &Snapshot, place: Option<Place>, least: u64, depth: usize) -> Vec<TreeNode> {
    if depth == 0 {
        return Vec::new();
    }
    let dominators = snapshot.dominators();
    let mut nodes: Vec<TreeNode> = dominators
        .largest_children(place, 30)
        .into_iter()
        .filter(|&child| dominators.retained(child) >= least)
        .map(|child| {
            let object = dominators.object(child);
            TreeNode {
                name: snapshot.describe(object),
                id: format!("{:#x}", snapshot.graph().id(object)),
                number: snapshot.graph().id(object),
                bytes: dominators.retained(child),
                children: tree(snapshot, Some(child), least, depth - 1),
            }
        })
        .collect();
    let (all, own) = match place {
        Some(place) => (
            dominators.retained(place),
            snapshot.graph().size(dominators.object(place)),
        ),
        None => (dominators.live_bytes(), 0),
    };
    let shown: u64 = nodes.iter().map(|node| node.bytes).sum();
    let rest = all.saturating_sub(own + shown);
    if rest >= least {
        nodes.extend(small_children(snapshot, place, &nodes, least));
    }
    nodes
}

/// The children that have no area of their own, by class; what is small even so is one area.
fn small_children(
    snapshot: &Snapshot,
    place: Option<Place>,
    shown: &[TreeNode],
    least: u64,
) -> Vec<TreeNode> {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let shown = shown.iter().filter_map(|node| graph.number(node.number));
    let shown: Vec<ObjectNumber> = shown.collect();
    // There may be millions of children.
    let mut sums = vec![(0, 0); graph.classes().list().len()];
    for child in dominators.children(place) {
        let object = dominators.object(child);
        if !shown.contains(&object) {
            let sum: &mut (u64, u64) = &mut sums[graph.class_of(object).index()];
            *sum = (sum.0 + 1, sum.1 + dominators.retained(child));
        }
    }
    let sums = graph.classes().numbers().zip(sums);
    let area = |name: String, bytes: u64| TreeNode {
        name,
        id: String::new(),
        number: 0,
        bytes,
        children: Vec::new(),
    };
    let mut rest = (0, 0);
    let mut nodes = Vec::new();
    for (class, (count, bytes)) in sums.filter(|(_, (count, _))| *count > 0) {
        if bytes < least {
            rest = (rest.0 + count, rest.1 + bytes);
            continue;
        }
        let class = &graph.classes().get(class).name;
        let objects = plural(count, "object", "objects");
        nodes.push(area(format!("{class}: {objects}"), bytes));
    }
    nodes.sort_by(|a, b| (Reverse(a.bytes), &a.name).cmp(&(Reverse(b.bytes), &b.name)));
    if rest.1 >= least {
        let name = plural(rest.0, "smaller object", "smaller objects");
        nodes.push(area(name, rest.1));
    }
    nodes
}

fn threads(snapshot: &Snapshot) -> Vec<ThreadRow> {
    let mut threads = snapshot.threads();
    threads.truncate(THREADS);
    let row = |thread: hprof_analysis::snapshot::ThreadInfo| ThreadRow {
        name: thread.name.unwrap_or_else(|| "<name unknown>".to_owned()),
        retained_bytes: thread.retained_bytes,
        stack: thread.stack,
        locals: (thread.locals.iter())
            .take(500)
            .map(|local| {
                let words = snapshot.describe(local.object);
                let id = format!("{:#x}", snapshot.graph().id(local.object));
                (local.frame, words, snapshot.retained(local.object), id)
            })
            .collect(),
    };
    threads.into_iter().map(row).collect()
}

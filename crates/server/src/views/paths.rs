//! Why objects are alive: the path from a root to one, and the merged paths of a class.

use std::sync::Arc;

use hprof_analysis::numbers::ClassNumber;
use hprof_analysis::paths::{MergedNode, Path, merged};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use serde::Serialize;
use utoipa::ToSchema;

use super::ViewError;
use super::later::{LONG_PATIENCE, Later};
use super::opened::Opened;
use super::overview::PathItem;

/// Classes whose merged paths are kept.
const KEPT: usize = 4;
/// Objects whose paths are merged at once: their identifiers are part of an address.
const MAX_OBJECTS: usize = 500;
/// Nodes of a tree of merged paths.
const MAX_NODES: usize = 5000;

/// The way from a root to an object.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PathAnswer {
    /// The root in words; null if no root reaches the object.
    pub root: Option<String>,
    /// The objects, from the root on.
    pub items: Vec<PathItem>,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
}

/// The shortest way from a root to an object.
///
/// # Errors
/// If the dump has no such object, or the paths of a large dump take longer than a request may.
pub fn path(opened: &Arc<Opened>, id: &str) -> Result<PathAnswer, ViewError> {
    let object = opened.object(id)?;
    if opened.snapshot.dominators().place(object).is_none() {
        return Ok(PathAnswer {
            root: None,
            items: Vec::new(),
            notes: vec!["no root reaches this object".to_owned()],
        });
    }
    let paths = opened.paths(LONG_PATIENCE)?.ok_or_else(too_long)?;
    let objects = paths.to(object).unwrap_or_default();
    let path = Path::new(&opened.snapshot, &objects);
    let root = path.root.clone();
    let items = path.steps.into_iter().map(|step| PathItem {
        object: step.id,
        name: step.description,
        field: step
            .edge
            .map(|edge| edge.to_string().trim_start().to_owned()),
        retained: step.retained_bytes,
        more: step.more,
    });
    Ok(PathAnswer {
        root: Some(root),
        items: items.collect(),
        notes: Vec::new(),
    })
}

fn too_long() -> ViewError {
    ViewError::Busy("the paths of this dump are still being worked out; ask again".to_owned())
}

/// Paths that lead through the same classes.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MergedItem {
    /// The class of the objects at this step.
    pub name: String,
    /// Objects of the class that are reached through here.
    pub count: u64,
    /// The share of all of them, from 0 to 100.
    pub percent: f64,
    /// Objects at this step.
    pub objects: u64,
    /// How often the class follows itself here, as in a list.
    pub repeated: u64,
    /// The next steps, those with most objects first.
    #[schema(no_recursion)]
    pub children: Vec<MergedItem>,
}

/// The merged paths of a class, or of some objects.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MergedAnswer {
    /// The class, or how many objects were asked for.
    pub name: String,
    /// How many of them are alive.
    pub count: u64,
    /// The first steps, at the roots.
    pub children: Vec<MergedItem>,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
}

/// The merged paths of some classes, by class; the last few that were asked for.
#[derive(Debug, Default)]
pub(super) struct MergedPaths(Mutex<Vec<(ClassNumber, Arc<Later<MergedAnswer>>)>>);

impl MergedPaths {
    fn of(&self, class: ClassNumber) -> Arc<Later<MergedAnswer>> {
        let mut kept = self.0.lock();
        let at = kept.iter().position(|known| known.0 == class);
        let found = at.map(|at| kept.remove(at).1).unwrap_or_default();
        kept.push((class, Arc::clone(&found)));
        if kept.len() > KEPT {
            kept.remove(0);
        }
        found
    }
}

/// The shortest paths to all objects of a class, merged by the classes on them.
///
/// # Errors
/// If the dump has no such class, or the paths of a large dump take longer than a request may.
pub fn merged_paths(opened: &Arc<Opened>, id: &str) -> Result<Arc<MergedAnswer>, ViewError> {
    let class = opened.class(id)?;
    let paths = opened.paths(LONG_PATIENCE)?.ok_or_else(too_long)?;
    let work = move |opened: &Arc<Opened>| {
        let graph = opened.snapshot.graph();
        let nodes = merged(&opened.snapshot, &paths, |it| graph.class_of(it) == class);
        Ok(answer(graph.classes().get(class).name.clone(), &nodes))
    };
    let later = opened.merged.of(class);
    later.ask(opened, work, LONG_PATIENCE)?.ok_or_else(too_long)
}

/// The shortest paths to some objects, merged by the classes on them. `ids` are the identifiers with
/// commas between them.
///
/// # Errors
/// If the dump lacks one of them, they are too many, or the paths of a large dump take longer than a
/// request may.
pub fn merged_paths_to(opened: &Arc<Opened>, ids: &str) -> Result<MergedAnswer, ViewError> {
    let mut wanted = FxHashSet::default();
    for id in ids.split(',') {
        if wanted.len() >= MAX_OBJECTS {
            return Err(ViewError::invalid(format!(
                "at most {MAX_OBJECTS} objects at once"
            )));
        }
        wanted.insert(opened.object(id)?);
    }
    let paths = opened.paths(LONG_PATIENCE)?.ok_or_else(too_long)?;
    let nodes = merged(&opened.snapshot, &paths, |it| wanted.contains(&it));
    let name = match wanted.len() {
        1 => "1 object".to_owned(),
        number => format!("{number} objects"),
    };
    Ok(answer(name, &nodes))
}

fn answer(name: String, nodes: &[MergedNode]) -> MergedAnswer {
    let count: u64 = nodes.iter().map(|node| node.targets).sum();
    let mut left = MAX_NODES;
    let children = items(nodes, count, &mut left);
    let is_cut = left == 0;
    let note = format!("the tree shows its {MAX_NODES} first nodes");
    MergedAnswer {
        name,
        count,
        children,
        notes: is_cut.then_some(note).into_iter().collect(),
    }
}

fn items(nodes: &[MergedNode], all: u64, left: &mut usize) -> Vec<MergedItem> {
    let mut found = Vec::new();
    for node in nodes {
        if *left == 0 {
            break;
        }
        *left -= 1;
        found.push(MergedItem {
            name: node.name.clone(),
            count: node.targets,
            percent: (node.targets as f64 * 10_000.0 / all.max(1) as f64).round() / 100.0,
            objects: node.objects,
            repeated: node.repeated,
            children: items(&node.children, all, left),
        });
    }
    found
}

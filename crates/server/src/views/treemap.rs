//! The dominator tree as a map: the largest objects within the largest objects.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ViewError;
use super::opened::Opened;
use super::table::hex;
use hprof_analysis::numbers::Place;

/// Levels of the deepest map.
const MAX_DEPTH: usize = 8;
/// Areas of a level within one area.
const MAX_CHILDREN: usize = 200;
/// Areas of a map.
const MAX_AREAS: usize = 5000;

/// Parameters of the treemap.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TreemapQuery {
    /// The object to begin with; the top of the tree without it.
    pub node: Option<String>,
    /// Levels, 1 to 8.
    #[serde(default = "default_depth")]
    pub depth: usize,
    /// The share of the whole map from which an object has an area, from 0 to 1.
    #[serde(default = "default_least")]
    pub least: f64,
}

fn default_depth() -> usize {
    2
}

fn default_least() -> f64 {
    0.002
}

impl Default for TreemapQuery {
    fn default() -> Self {
        Self {
            node: None,
            depth: default_depth(),
            least: default_least(),
        }
    }
}

/// An area of a map.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Area {
    /// The object, and what to pass as `node`; null for the whole heap, and for small objects
    /// together.
    pub node: Option<String>,
    /// The object in a few words.
    pub name: String,
    /// Its retained size, in bytes.
    pub bytes: u64,
    /// The areas within; the rest is the object itself.
    #[schema(no_recursion)]
    pub children: Vec<Area>,
}

/// A map of what objects retain.
///
/// # Errors
/// If there is no such object, or depth and share are out of range.
pub fn treemap(opened: &Opened, query: &TreemapQuery) -> Result<Area, ViewError> {
    if !(1..=MAX_DEPTH).contains(&query.depth) {
        return Err(ViewError::invalid(format!("depth: from 1 to {MAX_DEPTH}")));
    }
    if !(0.0..=1.0).contains(&query.least) {
        return Err(ViewError::invalid("least: a share from 0 to 1"));
    }
    let (snapshot, dominators) = (&opened.snapshot, opened.snapshot.dominators());
    let node = query.node.as_deref().filter(|node| !node.is_empty());
    let (place, mut top) = match node {
        None => (None, area(None, "heap".to_owned(), dominators.live_bytes())),
        Some(node) => {
            let object = opened.object(node)?;
            let place = dominators
                .place(object)
                .ok_or_else(|| ViewError::missing(format!("no root reaches the object {node}")))?;
            let name = snapshot.describe(object);
            (
                Some(place),
                area(
                    Some(hex(opened.id(object))),
                    name,
                    dominators.retained(place),
                ),
            )
        }
    };
    let mut map = Map {
        opened,
        least: ((top.bytes as f64 * query.least) as u64).max(1),
        left: MAX_AREAS,
    };
    top.children = map.level(place, query.depth);
    Ok(top)
}

fn area(node: Option<String>, name: String, bytes: u64) -> Area {
    Area {
        node,
        name,
        bytes,
        children: Vec::new(),
    }
}

struct Map<'a> {
    opened: &'a Opened,
    least: u64,
    left: usize,
}

impl Map<'_> {
    fn level(&mut self, place: Option<Place>, depth: usize) -> Vec<Area> {
        let (snapshot, dominators) = (&self.opened.snapshot, self.opened.snapshot.dominators());
        let largest = dominators.largest_children(place, MAX_CHILDREN);
        let (least, most) = (self.least, self.left);
        let shown = largest
            .into_iter()
            .filter(|&child| dominators.retained(child) >= least);
        let shown: Vec<Place> = shown.take(most).collect();
        self.left -= shown.len();
        let mut covered = 0;
        let mut areas = Vec::with_capacity(shown.len() + 1);
        for child in shown {
            let (object, bytes) = (dominators.object(child), dominators.retained(child));
            covered += bytes;
            let node = hex(self.opened.id(object));
            let mut area = area(Some(node), snapshot.describe(object), bytes);
            if depth > 1 {
                area.children = self.level(Some(child), depth - 1);
            }
            areas.push(area);
        }
        let (all, own) = match place {
            Some(place) => (
                dominators.retained(place),
                snapshot.graph().size(dominators.object(place)),
            ),
            None => (dominators.live_bytes(), 0),
        };
        let rest = all.saturating_sub(own).saturating_sub(covered);
        if rest >= least {
            areas.push(area(None, "smaller objects".to_owned(), rest));
        }
        areas
    }
}

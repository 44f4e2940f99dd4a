//! Flame graphs as data: frames by number, a tree of costs.

use std::borrow::Cow;

use hprof_stacks::{CallTree, Node};
use rustc_hash::FxHashMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::contents::{FlameQuery, ProfileFile, ProfileQuery};
use crate::views::ViewError;

/// Frames of a graph.
const MAX_NODES: usize = 50_000;
/// Levels of a graph; browsers and readers of JSON walk over it by recursion.
const MAX_LEVELS: usize = 400;

/// A flame graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Flame {
    /// The names of frames, by the numbers that nodes have.
    pub frames: Vec<String>,
    /// The unit of all values.
    pub unit: Cow<'static, str>,
    /// The sum of all stacks.
    pub total: u64,
    /// The node above all stacks.
    pub root: FlameNode,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
}

/// A frame in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FlameNode {
    /// The number of the frame.
    pub f: u32,
    /// The cost with all that is called from here.
    pub v: u64,
    /// The cost of the frame itself.
    pub s: u64,
    /// In comparisons: by how much `v` is more than in the profile before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d: Option<i64>,
    /// The frames called from here, the most costly first. Small ones are left out, so they may
    /// sum up to less than `v` - `s`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub c: Vec<FlameNode>,
}

/// A flame graph of the stacks that a query names.
///
/// # Errors
/// If the profile has no such dimension or thread, or the filter or share makes no sense.
pub fn flame(
    profile: &ProfileFile,
    query: &ProfileQuery,
    cut: &FlameQuery,
) -> Result<Flame, ViewError> {
    let tree = profile.tree(query, cut.filter.as_deref())?;
    let unit = profile.weights(query, None)?.measure.unit();
    draw(&tree, None, unit, cut.least)
}

/// A flame graph of `after`, with the difference to `before`. The costs of `before` are scaled, so
/// that a longer run does not look like a slower one.
///
/// # Errors
/// As [`flame`] has them.
pub fn compare(
    before: &ProfileFile,
    after: &ProfileFile,
    query: &ProfileQuery,
    cut: &FlameQuery,
) -> Result<Flame, ViewError> {
    // Both have the same dimension, be it the first of one only.
    let mut query = query.clone();
    let weights = after.weights(&query, None)?;
    query.dimension = Some(weights.measure.name().to_owned());
    let filter = cut.filter.as_deref();
    let (old, new) = (before.tree(&query, filter)?, after.tree(&query, filter)?);
    let mut flame = draw(&new, Some(&old), weights.measure.unit(), cut.least)?;
    if old.total != new.total {
        flame.notes.push(format!(
            "the profile before has {} {} in all, and is scaled to {}",
            old.total, flame.unit, new.total
        ));
    }
    flame
        .notes
        .push("frames that only the profile before has are not shown".to_owned());
    Ok(flame)
}

/// Draws a tree, with the difference to another if there is one.
///
/// # Errors
/// If the share below which frames are left out makes no sense.
pub(crate) fn draw(
    tree: &CallTree,
    before: Option<&CallTree>,
    unit: impl Into<Cow<'static, str>>,
    least: f64,
) -> Result<Flame, ViewError> {
    let unit = unit.into();
    if !(0.0..=1.0).contains(&least) {
        return Err(ViewError::invalid("least: a share from 0 to 1"));
    }
    let wanted = ((tree.total as f64 * least).ceil() as u64).max(1);
    let enough = enough(&tree.roots, wanted);
    let mut names = Names::default();
    let scale = |value: u64| {
        let all = before.map_or(0, |before| before.total).max(1);
        let scaled = u128::from(value) * u128::from(tree.total) / u128::from(all);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    };
    let old = before.map(|before| before.roots.as_slice());
    let mut draw = Draw {
        names: &mut names,
        least: enough,
        scale: &scale,
        is_cut: false,
    };
    let root = FlameNode {
        f: draw.names.number("all"),
        v: tree.total,
        s: 0,
        d: before.map(|_| 0),
        c: draw.nodes(&tree.roots, old, 1),
    };
    let mut notes = Vec::new();
    if draw.is_cut {
        notes.push(format!("stacks are cut after {MAX_LEVELS} frames"));
    }
    if enough > wanted {
        notes.push(format!("frames of less than {enough} {unit} are left out"));
    }
    Ok(Flame {
        frames: names.list,
        unit,
        total: tree.total,
        root,
        notes,
    })
}

/// The cost from which there are few enough nodes. A node costs no more than the one above it, so
/// what is left out are whole branches.
fn enough(roots: &[Node], least: u64) -> u64 {
    let mut costs = Vec::new();
    let mut open: Vec<&Node> = roots.iter().collect();
    while let Some(node) = open.pop().filter(|_| costs.len() < 100 * MAX_NODES) {
        if node.total >= least {
            costs.push(node.total);
            open.extend(&node.children);
        }
    }
    if costs.len() <= MAX_NODES {
        return least;
    }
    let (_, at, _) = costs.select_nth_unstable_by(MAX_NODES, |a, b| b.cmp(a));
    *at + 1
}

#[derive(Default)]
struct Names {
    list: Vec<String>,
    index: FxHashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let next = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.index.insert(name.to_owned(), next);
        next
    }
}

struct Draw<'a> {
    names: &'a mut Names,
    least: u64,
    scale: &'a dyn Fn(u64) -> u64,
    is_cut: bool,
}

impl Draw<'_> {
    /// The nodes of a level; `before` is the level of the profile that they are compared with.
    fn nodes(&mut self, nodes: &[Node], before: Option<&[Node]>, level: usize) -> Vec<FlameNode> {
        let least = self.least;
        let shown = nodes.iter().filter(|node| node.total >= least);
        if level > MAX_LEVELS {
            self.is_cut |= shown.count() > 0;
            return Vec::new();
        }
        let node = |node: &Node| {
            let old = before.map(|level| level.iter().find(|old| old.name == node.name));
            let old_total = old.map(|old| old.map_or(0, |old| (self.scale)(old.total)));
            let difference = |old: u64| {
                let difference = i128::from(node.total) - i128::from(old);
                i64::try_from(difference).unwrap_or(i64::MAX)
            };
            let below = old.map(|old| old.map_or(&[][..], |old| &old.children));
            FlameNode {
                f: self.names.number(&node.name),
                v: node.total,
                s: node.own,
                d: old_total.map(difference),
                c: self.nodes(&node.children, below, level + 1),
            }
        };
        shown.map(node).collect()
    }
}

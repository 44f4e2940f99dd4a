//! Tables of a profile: methods, and the call tree level by level.

use hprof_stacks::{MethodCost, Node, Own, by_method, by_own};
use rustc_hash::FxHashMap;

use super::contents::{ProfileFile, ProfileQuery, TreeQuery};
use crate::views::ViewError;
use crate::views::page::TableQuery;
use crate::views::records::{Of, Records};
use crate::views::table::{Cell, ColumnKind, Links, Table, column, count, text};

#[derive(Debug, Clone)]
struct MethodRow {
    cost: MethodCost,
    /// The cost of the stacks whose innermost method of the program it is; none of other methods.
    own: Option<u64>,
}

const METHODS: [Of<MethodRow>; 4] = [
    (text("name", "Method"), |row| {
        Cell::from(row.cost.name.as_str())
    }),
    (count("own", "Own code"), |row| row.own.into()),
    (count("self", "Self"), |row| row.cost.own.into()),
    (count("total", "With calls"), |row| row.cost.total.into()),
];

/// The methods of a profile with their costs: those of the program first, by what they cost with the libraries that they call.
///
/// # Errors
/// If the profile has no such dimension or thread, or a query makes no sense.
pub fn methods(
    profile: &ProfileFile,
    which: &ProfileQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let weights = profile.weights(which, None)?;
    let stacks = &profile.contents.stacks;
    let own = by_own(stacks, &weights, &Own::infer(stacks, &weights)).into_iter();
    let own: FxHashMap<String, u64> = own.map(|row| (row.name, row.cost)).collect();
    let first = if own.is_empty() { "self" } else { "own" };
    let rows = by_method(stacks, &weights).into_iter();
    let rows = rows.map(|cost| MethodRow {
        own: own.get(&cost.name).copied(),
        cost,
    });
    let rows: Vec<MethodRow> = rows.collect();
    Records::new(rows, &METHODS)
        .largest_first(first)
        .page(query)
}

#[derive(Debug, Clone)]
struct TreeRow {
    name: String,
    own: u64,
    total: u64,
    percent: f64,
    node: String,
    has_children: bool,
}

const TREE: [Of<TreeRow>; 4] = [
    (text("name", "Method"), |row| Cell::from(row.name.as_str())),
    (count("total", "With calls"), |row| row.total.into()),
    (column("percent", "Share", ColumnKind::Percent), |row| {
        Cell::Real(row.percent)
    }),
    (count("self", "Self"), |row| row.own.into()),
];

/// The rows below a node of the call tree. A node is the places on the way to it: `0.2` is the third
/// callee of the first root.
///
/// # Errors
/// If there is no such node, or as [`methods`].
pub fn tree(
    profile: &ProfileFile,
    which: &ProfileQuery,
    of: &TreeQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let tree = profile.tree(which, None)?;
    let way = of.node.as_deref().unwrap_or_default();
    let mut level: &[Node] = &tree.roots;
    for part in way.split('.').filter(|_| !way.is_empty()) {
        let at: usize = part
            .parse()
            .map_err(|_| ViewError::invalid("node: pass the `node` of a row of this tree"))?;
        let node = level.get(at);
        let missing = || ViewError::missing(format!("the call tree has no node {way}"));
        level = &node.ok_or_else(missing)?.children;
    }
    let row = |(at, node): (usize, &Node)| TreeRow {
        name: node.name.to_string(),
        own: node.own,
        total: node.total,
        percent: (node.total as f64 * 10_000.0 / tree.total.max(1) as f64).round() / 100.0,
        node: match way {
            "" => at.to_string(),
            way => format!("{way}.{at}"),
        },
        has_children: !node.children.is_empty(),
    };
    let rows: Vec<TreeRow> = level.iter().enumerate().map(row).collect();
    let records = Records::new(rows, &TREE).about(|row| Links {
        node: Some(row.node.clone()),
        children: row.has_children,
        ..Links::default()
    });
    records.largest_first("total").page(query)
}

#[derive(Debug, Clone)]
struct NeighbourRow {
    name: String,
    total: u64,
    percent: f64,
}

const NEIGHBOURS: [Of<NeighbourRow>; 3] = [
    (text("name", "Method"), |row| Cell::from(row.name.as_str())),
    (count("total", "With calls"), |row| row.total.into()),
    (
        column("percent", "Share of the method", ColumnKind::Percent),
        |row| Cell::Real(row.percent),
    ),
];

/// Costs by the name of a method's neighbour.
#[derive(Default)]
struct Neighbours<'a> {
    costs: FxHashMap<&'a str, u64>,
    /// The cost of the method with all calls.
    all: u64,
}

impl<'a> Neighbours<'a> {
    /// Adds what is around the outermost calls of a method, so that a recursive one counts once.
    fn add(&mut self, nodes: &'a [Node], method: &str, caller: Option<&'a str>, is_inward: bool) {
        for node in nodes {
            if *node.name != *method {
                self.add(&node.children, method, Some(&node.name), is_inward);
                continue;
            }
            self.all += node.total;
            if is_inward {
                *self.costs.entry(OWN).or_default() += node.own;
                for child in &node.children {
                    *self.costs.entry(&child.name).or_default() += child.total;
                }
            } else {
                *self.costs.entry(caller.unwrap_or(OUTERMOST)).or_default() += node.total;
            }
        }
    }
}

/// The row of a method's own cost among those of its callees.
const OWN: &str = "<the method itself>";
/// The row of calls without a caller among those of a method's callers.
const OUTERMOST: &str = "<outermost>";

fn neighbours(
    profile: &ProfileFile,
    which: &ProfileQuery,
    method: &str,
    is_inward: bool,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let from_top = ProfileQuery {
        invert: false,
        ..which.clone()
    };
    let tree = profile.tree(&from_top, None)?;
    let mut found = Neighbours::default();
    found.add(&tree.roots, method, None, is_inward);
    if found.all == 0 {
        return Err(ViewError::missing(format!(
            "no stack of the profile has the method {method}; its methods are named in full"
        )));
    }
    let all = found.all;
    let costs = found.costs.into_iter().filter(|(_, total)| *total > 0);
    let row = |(name, total): (&str, u64)| NeighbourRow {
        name: name.to_owned(),
        total,
        percent: (total as f64 * 10_000.0 / all as f64).round() / 100.0,
    };
    let mut rows: Vec<NeighbourRow> = costs.map(row).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    Records::new(rows, &NEIGHBOURS)
        .largest_first("total")
        .page(query)
}

/// The methods that call a method, with the cost that each brings to it.
///
/// # Errors
/// If no stack has the method, or as [`methods`].
pub fn callers(
    profile: &ProfileFile,
    which: &ProfileQuery,
    method: &str,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    neighbours(profile, which, method, false, query)
}

/// The methods that a method calls, with the cost that goes to each.
///
/// # Errors
/// If no stack has the method, or as [`methods`].
pub fn callees(
    profile: &ProfileFile,
    which: &ProfileQuery,
    method: &str,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    neighbours(profile, which, method, true, query)
}

//! Tables of a profile: methods, and the call tree level by level.

use hprof_stacks::{MethodCost, Node, by_method};

use super::contents::{ProfileFile, ProfileQuery, TreeQuery};
use crate::views::ViewError;
use crate::views::page::TableQuery;
use crate::views::records::{Of, Records};
use crate::views::table::{Cell, ColumnKind, Links, Table, column, count, text};

const METHODS: [Of<MethodCost>; 3] = [
    (text("name", "Method"), |row| Cell::from(row.name.as_str())),
    (count("self", "Self"), |row| row.own.into()),
    (count("total", "With calls"), |row| row.total.into()),
];

/// The methods of a profile with their costs.
///
/// # Errors
/// If the profile has no such dimension or thread, or a query makes no sense.
pub fn methods(
    profile: &ProfileFile,
    which: &ProfileQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let weights = profile.weights(which, None)?;
    let rows = by_method(&profile.contents.stacks, &weights);
    Records::new(rows, &METHODS)
        .largest_first("self")
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

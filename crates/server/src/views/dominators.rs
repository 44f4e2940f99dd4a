//! The dominator tree, level by level: by object, or by class, package or loader.

use std::collections::HashMap;
use std::sync::Arc;

use hprof_analysis::names;
use hprof_analysis::numbers::{ObjectNumber, Place};
use hprof_analysis::retained::loader_name;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::ViewError;
use super::objects::Objects;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::table::{Cell, ColumnKind, Links, Table, bytes, column, count, text};

/// The unit of the rows of the dominator tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DominatorsBy {
    /// Single objects.
    #[default]
    Object,
    /// The objects of a class at one level.
    Class,
    /// The objects of the classes of a package.
    Package,
    /// The objects of the classes of a loader.
    Loader,
}

/// Parameters of the dominator tree.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DominatorsQuery {
    /// The unit of the rows.
    #[serde(default)]
    #[param(inline)]
    pub by: DominatorsBy,
    /// The `node` of the row whose children are wanted; the top of the tree without it.
    pub node: Option<String>,
}

/// Levels below which groups are not opened further.
const MAX_LEVELS: usize = 64;

/// The rows below a node of the dominator tree.
///
/// # Errors
/// If there is no such node, or the query names no column.
pub fn dominators(
    opened: &Arc<Opened>,
    by: &DominatorsQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let node = by.node.as_deref().filter(|node| !node.is_empty());
    if by.by != DominatorsBy::Object {
        return grouped(opened, by.by, node.unwrap_or_default(), query);
    }
    let dominators = opened.snapshot.dominators();
    let place = match node {
        None => None,
        Some(node) => {
            let object = opened.object(node)?;
            match dominators.place(object) {
                Some(place) => Some(place),
                None => {
                    let table = Objects::new(opened, Vec::new()).page(query)?;
                    return Ok(table.with_note(Some(UNREACHED.to_owned())));
                }
            }
        }
    };
    let is_by_size = query.wanted_sort().is_none_or(|sort| sort == "-retained");
    if is_by_size && !query.is_filtered() && query.last_row() <= KEPT_CHILDREN {
        let kept = opened.largest.of(place, || Largest::new(opened, place));
        let list = Objects::new(opened, kept.objects.as_slice()).largest_of(kept.total);
        return list.expandable().page(query);
    }
    let children = dominators.children(place);
    let objects: Vec<ObjectNumber> = children.map(|child| dominators.object(child)).collect();
    Objects::new(opened, objects).expandable().page(query)
}

/// Children of a node that are kept in their order.
const KEPT_CHILDREN: usize = 2001;

/// The children of a node that retain most.
#[derive(Debug)]
pub(super) struct Largest {
    objects: Vec<ObjectNumber>,
    /// The number of all children.
    total: usize,
}

impl Largest {
    fn new(opened: &Opened, place: Option<Place>) -> Self {
        let dominators = opened.snapshot.dominators();
        let largest = dominators
            .largest_children(place, KEPT_CHILDREN)
            .into_iter();
        Self {
            objects: largest.map(|child| dominators.object(child)).collect(),
            total: dominators.children(place).count(),
        }
    }
}

const UNREACHED: &str = "no root reaches this object, so it keeps nothing alive";

/// Objects of one group at one level.
#[derive(Debug, Clone)]
pub(super) struct Group {
    name: String,
    objects: u64,
    shallow: u64,
    retained: u64,
    percent: f64,
    node: String,
    has_children: bool,
    class: Option<u64>,
}

const COLUMNS: [Of<Group>; 5] = [
    (text("name", "Name"), |row| Cell::from(row.name.as_str())),
    (count("objects", "Objects"), |row| row.objects.into()),
    (bytes("shallow", "Shallow size"), |row| row.shallow.into()),
    (bytes("retained", "Retained size"), |row| {
        row.retained.into()
    }),
    (
        column("percent", "Share of the heap", ColumnKind::Percent),
        |row| Cell::Real(row.percent),
    ),
];

/// By class: its group; and the names of the groups.
fn groups(opened: &Opened, by: DominatorsBy) -> (Vec<u32>, Vec<String>) {
    let mut index: HashMap<String, u32> = HashMap::new();
    let mut all = Vec::new();
    let group = |class: &hprof_analysis::graph::Class| {
        let name = match by {
            DominatorsBy::Package => names::package(&class.name).to_owned(),
            DominatorsBy::Loader => loader_name(&opened.snapshot, class.loader),
            DominatorsBy::Object | DominatorsBy::Class => class.name.clone(),
        };
        *index.entry(name).or_insert_with_key(|name| {
            all.push(name.clone());
            all.len() as u32 - 1
        })
    };
    let classes = opened.snapshot.graph().classes().list();
    let group_of = classes.iter().map(group).collect();
    (group_of, all)
}

/// The children of all objects of a group, in groups. A node is the groups on the way to it, each
/// as a number: `12.40` are the objects of group 40 that those of group 12 at the top dominate.
fn grouped(
    opened: &Arc<Opened>,
    by: DominatorsBy,
    node: &str,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let make = || level_of(opened, by, node);
    let rows = opened.groups.try_of((by, node.to_owned()), make)?;
    let records = Records::new(rows.as_slice(), &COLUMNS).largest_first("retained");
    let records = records.about(|row| Links {
        class: row.class,
        node: Some(row.node.clone()),
        children: row.has_children,
        ..Links::default()
    });
    records.page(query)
}

/// The groups of a level.
fn level_of(opened: &Opened, by: DominatorsBy, node: &str) -> Result<Vec<Group>, ViewError> {
    let (dominators, graph) = (opened.snapshot.dominators(), opened.snapshot.graph());
    let (group_of, names) = groups(opened, by);
    let way = way(node, names.len())?;
    let group = |place: Place| group_of[graph.class_of(dominators.object(place)).index()];
    let mut level: Option<Vec<Place>> = None;
    for &wanted in &way {
        let places = below(opened, level.as_deref());
        level = Some(places.filter(|&place| group(place) == wanted).collect());
    }
    if level.as_ref().is_some_and(Vec::is_empty) {
        return Err(ViewError::missing(format!(
            "the dominator tree has no node {node}"
        )));
    }
    let mut sums: Vec<Option<Group>> = vec![None; names.len()];
    for place in below(opened, level.as_deref()) {
        let number = group(place);
        let row = sums[number as usize].get_or_insert_with(|| {
            let class = &graph
                .classes()
                .get(graph.class_of(dominators.object(place)));
            let is_of_class = by == DominatorsBy::Class && class.id != 0;
            Group {
                name: names[number as usize].clone(),
                objects: 0,
                shallow: 0,
                retained: 0,
                percent: 0.0,
                node: match node {
                    "" => number.to_string(),
                    way => format!("{way}.{number}"),
                },
                has_children: false,
                class: is_of_class.then_some(class.id),
            }
        });
        row.objects += 1;
        row.shallow += graph.size(dominators.object(place));
        row.retained += dominators.retained(place);
        row.has_children |= way.len() + 1 < MAX_LEVELS && dominators.span(place) > 1;
    }
    let mut rows: Vec<Group> = sums.into_iter().flatten().collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    for row in &mut rows {
        row.percent = opened.percent(row.retained);
    }
    Ok(rows)
}

/// The places below some places, or at the top.
fn below<'a>(
    opened: &'a Opened,
    level: Option<&'a [Place]>,
) -> Box<dyn Iterator<Item = Place> + 'a> {
    let dominators = opened.snapshot.dominators();
    match level {
        None => Box::new(dominators.children(None)),
        Some(level) => Box::new((level.iter()).flat_map(|&place| dominators.children(Some(place)))),
    }
}

fn way(node: &str, groups: usize) -> Result<Vec<u32>, ViewError> {
    if node.is_empty() {
        return Ok(Vec::new());
    }
    let number = |part: &str| {
        let number = part.parse::<u32>().ok();
        number.filter(|&number| (number as usize) < groups)
    };
    let way: Option<Vec<u32>> = node.split('.').map(number).collect();
    way.filter(|way| way.len() < MAX_LEVELS).ok_or_else(|| {
        ViewError::invalid(format!(
            "node={node}: no node of this tree; pass the `node` of a row"
        ))
    })
}

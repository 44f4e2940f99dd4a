//! The tables `classes` and `histogram`.

use std::cmp::Reverse;

use hprof_analysis::names;
use hprof_analysis::numbers::ClassNumber;
use hprof_analysis::retained::{GroupSum, Grouping, group_sums};
use hprof_analysis::snapshot::Snapshot;
use rustc_hash::FxHashMap;

use crate::TableError;
use crate::batch::Cell;
use crate::folder::Writing;

/// All objects of a class or name, live or not.
#[derive(Debug, Clone, Copy, Default)]
struct All {
    objects: u64,
    bytes: u64,
}

/// The sums of all classes.
pub struct Sums {
    /// By class.
    all: Vec<All>,
    /// By class: its live objects.
    live: Vec<GroupSum>,
    is_exact: bool,
    /// By name, with the classes of that name.
    names: Vec<String>,
    group_of: Vec<u32>,
    live_by_name: Vec<GroupSum>,
    is_exact_by_name: bool,
}

impl Sums {
    /// Sums all objects up.
    ///
    /// # Errors
    /// If there is no room for the walk.
    pub fn new(snapshot: &Snapshot) -> std::io::Result<Self> {
        let graph = snapshot.graph();
        let classes = graph.classes();
        let mut all = vec![All::default(); classes.list().len()];
        for object in graph.objects() {
            let sum = &mut all[graph.class_of(object).index()];
            sum.objects += 1;
            sum.bytes += graph.size(object);
        }
        let mut index: FxHashMap<&str, u32> = FxHashMap::default();
        let mut names = Vec::new();
        let group = |class: ClassNumber| {
            let name = classes.get(class).name.as_str();
            *index.entry(name).or_insert_with(|| {
                names.push(name.to_owned());
                names.len() as u32 - 1
            })
        };
        let group_of: Vec<u32> = classes.numbers().map(group).collect();
        let groupings = [
            Grouping {
                group_of: classes.numbers().map(ClassNumber::get).collect(),
                groups: classes.list().len(),
            },
            Grouping {
                group_of: group_of.clone(),
                groups: names.len(),
            },
        ];
        let mut sums = group_sums(snapshot, &groupings)?.into_iter();
        let (live, is_exact) = sums.next().unwrap_or_default();
        let (live_by_name, is_exact_by_name) = sums.next().unwrap_or_default();
        Ok(Self {
            all,
            live,
            is_exact,
            names,
            group_of,
            live_by_name,
            is_exact_by_name,
        })
    }
}

/// Writes them.
pub fn write(
    writing: &mut Writing<'_>,
    snapshot: &Snapshot,
    sums: &Sums,
) -> Result<(), TableError> {
    let graph = snapshot.graph();
    let classes = graph.classes();
    // A class of no name and no object stands for those that are not known.
    let is_there = |&class: &ClassNumber| class != ClassNumber::UNKNOWN || sums.all[0].objects > 0;
    writing.table("classes", |file| {
        file.rows(classes.numbers().filter(is_there).map(|number| {
            let class = classes.get(number);
            let above = class
                .super_class
                .map(|above| Cell::text(&classes.get(above).name));
            let loader = match graph.number(class.loader).filter(|_| class.loader != 0) {
                Some(loader) => snapshot.class_name(loader),
                None if class.loader == 0 => "boot loader",
                None => "unknown",
            };
            let (all, live) = (sums.all[number.index()], sums.live[number.index()]);
            let is_array = class.name.ends_with("[]");
            let size = class.instance_bytes.filter(|_| !is_array);
            [
                Cell::id(class.id),
                Cell::text(&class.name),
                Cell::text(names::package(&class.name)),
                above.into(),
                (class.super_id != 0)
                    .then(|| Cell::id(class.super_id))
                    .into(),
                Cell::id(class.loader),
                Cell::text(loader),
                Cell::count(all.objects),
                Cell::count(live.objects),
                Cell::count(all.bytes),
                Cell::count(live.retained_bytes),
                Cell::Boolean(sums.is_exact),
                size.map(Cell::count).into(),
            ]
        }))
    })?;
    let (all, live) = without_class_objects(snapshot, sums);
    let mut order: Vec<usize> = (0..sums.names.len()).collect();
    order.retain(|&at| all[at].objects > 0);
    order.sort_by_key(|&at| (Reverse((all[at].bytes, all[at].objects)), &sums.names[at]));
    writing.table("histogram", |file| {
        file.rows(order.iter().map(|&at| {
            let name = &sums.names[at];
            [
                Cell::text(name),
                Cell::text(&names::family(name)),
                Cell::count(all[at].objects),
                Cell::count(all[at].bytes),
                Cell::count(live[at].objects),
                Cell::count(live[at].shallow_bytes),
                Cell::count(live[at].retained_bytes),
                Cell::Boolean(sums.is_exact_by_name),
            ]
        }))
    })?;
    Ok(())
}

/// By name: all objects and the live ones, without the objects that stand for classes.
fn without_class_objects(snapshot: &Snapshot, sums: &Sums) -> (Vec<All>, Vec<GroupSum>) {
    let graph = snapshot.graph();
    let mut all = vec![All::default(); sums.names.len()];
    let mut live = sums.live_by_name.clone();
    for (class, sum) in sums.all.iter().enumerate() {
        let by_name = &mut all[sums.group_of[class] as usize];
        by_name.objects += sum.objects;
        by_name.bytes += sum.bytes;
    }
    for class in graph
        .classes()
        .list()
        .iter()
        .filter(|class| class.is_described)
    {
        let Some(object) = graph.number(class.id).filter(|_| class.id != 0) else {
            continue;
        };
        let name = sums.group_of[graph.class_of(object).index()] as usize;
        let size = graph.size(object);
        all[name].objects -= 1;
        all[name].bytes -= size;
        if snapshot.dominators().place(object).is_some() {
            live[name].objects -= 1;
            live[name].shallow_bytes -= size;
        }
    }
    (all, live)
}

//! Objects by class, package or loader.

use std::cmp::Reverse;

use hprof_format::binary::{BasicType, IdSize};
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::census::Census;
use super::layout::{Layout, LayoutSource};
use super::sizes::Sizes;
use crate::contents::{Contents, Dump, Format, TextDump};
use crate::names;

/// The unit of the rows of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Classes of one name.
    Class,
    /// Classes whose names differ only in what changes from run to run, such as lambdas.
    Family,
    /// The classes of a package.
    Package,
    /// The classes of a loader.
    Loader,
}

/// One row of a histogram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The name of the class, package or loader.
    pub name: String,
    /// Objects and arrays.
    pub objects: u64,
    /// The room that they take in the VM's heap, in bytes, under the histogram's layout.
    pub shallow_bytes: u64,
    /// The bytes of their values in the file.
    pub value_bytes: u64,
}

/// Objects by class, package or loader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// The unit of the rows.
    pub group: Group,
    /// The layout that sizes are worked out under.
    pub layout: Layout,
    /// Where the layout is taken from.
    pub layout_source: LayoutSource,
    /// Objects whose class is not in the dump, so that their size counts their values only.
    pub without_class: u64,
    /// The sum of all rows.
    pub total: Totals,
    /// The rows, those that take most room first.
    pub rows: Vec<Row>,
}

/// The sum of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Objects and arrays.
    pub objects: u64,
    /// The room that they take.
    pub shallow_bytes: u64,
    /// The bytes of their values in the file.
    pub value_bytes: u64,
}

/// The layout of a dump's objects.
pub fn layout(contents: &Contents, census: &Census) -> (Layout, LayoutSource) {
    let id_size = match contents.format {
        Format::Binary { id_size, .. } => id_size,
        Format::Text | Format::Foreign(_) => IdSize::Eight,
    };
    if contents.is_android() {
        return (Layout::assumed(id_size, false), LayoutSource::Stated);
    }
    match census.measured_layout() {
        Some(layout) => (layout, LayoutSource::Measured),
        None => {
            let is_of_agent = contents.settings.is_some();
            (Layout::assumed(id_size, is_of_agent), LayoutSource::Assumed)
        }
    }
}

/// Sums the objects of a dump up. Class objects are not among them, as most VMs dump classes
/// without the room they take.
pub fn histogram(contents: &Contents, dump: &Dump, group: Group) -> Histogram {
    let census = &dump.census;
    let (layout, layout_source) = layout(contents, census);
    let id_bytes = match contents.format {
        Format::Binary { id_size, .. } => id_size.bytes() as u64,
        Format::Text | Format::Foreign(_) => 0,
    };
    let mut sums = Sums {
        contents,
        census,
        group,
        rows: FxHashMap::default(),
    };
    let mut sizes = Sizes::new(layout, contents.is_android(), &census.shapes)
        .of_vm(&contents.names)
        .measured(census.measured_sizes(&contents.names));
    let mut without_class = 0;
    for (class, count) in census.classes() {
        let instances = match sizes.instance(class) {
            Some(size) if census.stack_chunk() == Some(class) => {
                let (bytes, stacks) = census.stacks(&layout, size);
                bytes + size * count.instances.saturating_sub(stacks)
            }
            Some(size) => size * count.instances,
            None => {
                without_class += count.instances;
                let values = count.value_bytes / count.instances.max(1);
                layout.without_class(values) * count.instances
            }
        };
        let row = Totals {
            objects: count.instances + count.arrays,
            shallow_bytes: instances + count.array_bytes(&layout),
            value_bytes: count.value_bytes + count.elements * id_bytes,
        };
        sums.add(class, row);
    }
    for (element, count) in census.primitive_arrays() {
        let row = Totals {
            objects: count.arrays,
            shallow_bytes: count.array_bytes(&layout),
            value_bytes: count.data_bytes,
        };
        sums.add_array(element, row);
    }
    let mut total = Totals::default();
    let mut rows: Vec<Row> = sums
        .rows
        .into_iter()
        .map(|(name, row)| {
            total.add(&row);
            Row {
                name,
                objects: row.objects,
                shallow_bytes: row.shallow_bytes,
                value_bytes: row.value_bytes,
            }
        })
        .collect();
    sort(&mut rows);
    Histogram {
        group,
        layout,
        layout_source,
        without_class,
        total,
        rows,
    }
}

/// Sums the objects of a heap dump in text up, with the sizes that it states. It does not tell the
/// loaders of all classes, so those are one row.
pub fn text_histogram(dump: &TextDump, group: Group) -> Histogram {
    let mut sums: FxHashMap<String, Totals> = FxHashMap::default();
    let mut total = Totals::default();
    for (class, count) in &dump.classes {
        let row = Totals {
            objects: count.objects,
            shallow_bytes: count.bytes,
            value_bytes: 0,
        };
        let name = match group {
            Group::Loader => "not told in text".to_owned(),
            group => shorten(class, group),
        };
        sums.entry(name).or_default().add(&row);
        total.add(&row);
    }
    let rows = sums.into_iter().map(|(name, row)| Row {
        name,
        objects: row.objects,
        shallow_bytes: row.shallow_bytes,
        value_bytes: 0,
    });
    let mut rows: Vec<Row> = rows.collect();
    sort(&mut rows);
    Histogram {
        group,
        layout: Layout::assumed(IdSize::Eight, false),
        layout_source: LayoutSource::Stated,
        without_class: 0,
        total,
        rows,
    }
}

fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let key = |row: &Row| Reverse((row.shallow_bytes, row.objects));
        (key(a), &a.name).cmp(&(key(b), &b.name))
    });
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.objects += other.objects;
        self.shallow_bytes += other.shallow_bytes;
        self.value_bytes += other.value_bytes;
    }
}

struct Sums<'a> {
    contents: &'a Contents,
    census: &'a Census,
    group: Group,
    rows: FxHashMap<String, Totals>,
}

impl Sums<'_> {
    fn add(&mut self, class: ObjectId, row: Totals) {
        let name = match self.group {
            Group::Loader => self.loader(class),
            group => {
                let name = self.contents.names.class(class);
                let name = name.unwrap_or_else(|| format!("<class {:x}>", class));
                shorten(&name, group)
            }
        };
        self.rows.entry(name).or_default().add(&row);
    }

    fn add_array(&mut self, element: BasicType, row: Totals) {
        let name = match self.group {
            Group::Class | Group::Family => format!("{}[]", element.name()),
            Group::Package => names::package(element.name()).to_owned(),
            Group::Loader => BOOT.to_owned(),
        };
        self.rows.entry(name).or_default().add(&row);
    }

    fn loader(&self, class: ObjectId) -> String {
        let Some(shape) = self.census.shapes.get(&class) else {
            return "<class not in the dump>".to_owned();
        };
        if shape.loader.is_null() {
            return BOOT.to_owned();
        }
        format!("loader {:x}", shape.loader)
    }
}

const BOOT: &str = "boot loader";

fn shorten(name: &str, group: Group) -> String {
    match group {
        Group::Class | Group::Loader => name.to_owned(),
        Group::Family => names::family(name).into_owned(),
        Group::Package => names::package(name).to_owned(),
    }
}

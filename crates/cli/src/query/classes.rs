//! The table `classes`.

use super::Heap;
use super::table::{Cell, Column, Key, Rows};
use hprof_analysis::numbers::ClassNumber;

/// All classes, or one.
pub struct Classes {
    left: std::vec::IntoIter<ClassNumber>,
    class: ClassNumber,
}

const ID: usize = 0;
const NAME: usize = 1;

impl Rows for Classes {
    const NAME: &'static str = "classes";
    const ABOUT: &'static str = "a class; one that two loaders have loaded is there twice";
    const COLUMNS: &'static [Column] = &[
        (
            "id",
            "TEXT",
            "identifier of the class object; null if the file has none",
        ),
        ("name", "TEXT", "name"),
        ("package", "TEXT", "package"),
        ("super", "TEXT", "name of the super class"),
        ("loader", "TEXT", "the loader in words"),
        ("objects", "INTEGER", "number of instances"),
        ("live", "INTEGER", "number of instances that roots reach"),
        (
            "size",
            "INTEGER",
            "bytes that all instances take themselves",
        ),
        (
            "retained",
            "INTEGER",
            "bytes that would be free without all instances",
        ),
        (
            "instance_size",
            "INTEGER",
            "bytes of one instance; null for arrays",
        ),
    ];
    const KEYS: &'static [Key] = &[(ID, 1), (NAME, 2)];

    fn estimate(heap: &Heap) -> usize {
        heap.snapshot.graph().classes().list().len()
    }

    fn start(heap: &Heap, key: Option<(usize, &str)>) -> std::io::Result<Self> {
        let classes = heap.snapshot.graph().classes();
        let found: Vec<ClassNumber> = match key {
            None => classes
                .numbers()
                // A class of no name and no object stands for those that are not known.
                .filter(|&class| class != ClassNumber::UNKNOWN || heap.sums()[0].objects > 0)
                .collect(),
            Some((ID, id)) => {
                let object = heap.object(id);
                let class = object.and_then(|it| heap.snapshot.graph().class_of_object(it));
                class.into_iter().collect()
            }
            Some((_, name)) => heap.classes_named(name),
        };
        Ok(Self {
            left: found.into_iter(),
            class: ClassNumber::UNKNOWN,
        })
    }

    fn advance(&mut self, _: &Heap) -> bool {
        let next = self.left.next();
        self.class = next.unwrap_or_default();
        next.is_some()
    }

    fn cell<'a>(&'a self, heap: &'a Heap, column: usize) -> Cell<'a> {
        let classes = heap.snapshot.graph().classes();
        let class = classes.get(self.class);
        let sum = || heap.sums()[self.class.index()];
        match column {
            ID => (class.id != 0)
                .then(|| format!("{:#x}", class.id).into())
                .into(),
            NAME => Cell::from(class.name.as_str()),
            2 => Cell::from(hprof_analysis::names::package(&class.name)),
            3 => (class.super_class)
                .map(|class| Cell::from(classes.get(class).name.as_str()))
                .into(),
            4 => heap.loader(class.loader),
            5 => Cell::count(sum().objects),
            6 => Cell::count(sum().live),
            7 => Cell::count(sum().bytes),
            8 => heap.retained(self.class),
            _ => (class.instance_bytes)
                .filter(|_| !class.name.ends_with("[]"))
                .map(Cell::count)
                .into(),
        }
    }
}

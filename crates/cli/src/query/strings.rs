//! The table `strings`.

use super::Heap;
use super::table::{Cell, Column, Key, Rows};
use hprof_analysis::numbers::{ClassNumber, ObjectNumber};

/// All strings, or one.
pub struct Strings {
    objects: std::ops::Range<usize>,
    classes: Vec<ClassNumber>,
    object: ObjectNumber,
}

impl Rows for Strings {
    const NAME: &'static str = "strings";
    const ABOUT: &'static str = "an instance of java.lang.String";
    const COLUMNS: &'static [Column] = &[
        ("id", "TEXT", "identifier"),
        (
            "value",
            "TEXT",
            "text, of very long ones the first million characters",
        ),
        ("length", "INTEGER", "characters of the whole text"),
        (
            "size",
            "INTEGER",
            "bytes that the string and its array take",
        ),
        (
            "retained",
            "INTEGER",
            "bytes that it keeps alive; without its array if others share it",
        ),
        ("live", "INTEGER", "1 if roots reach it"),
    ];
    const KEYS: &'static [Key] = &[(0, 1)];

    fn estimate(heap: &Heap) -> usize {
        heap.snapshot.graph().len()
    }

    fn start(heap: &Heap, key: Option<(usize, &str)>) -> std::io::Result<Self> {
        let objects = match key {
            None => 0..heap.snapshot.graph().len(),
            Some((_, id)) => {
                let object = heap.object(id);
                object.map_or(0..0, |object| object.index()..object.next().index())
            }
        };
        Ok(Self {
            objects,
            classes: heap.classes_named("java.lang.String"),
            object: ObjectNumber::new(0),
        })
    }

    fn advance(&mut self, heap: &Heap) -> bool {
        let graph = heap.snapshot.graph();
        let classes = &self.classes;
        let mut objects = self.objects.by_ref().map(ObjectNumber::new);
        let next = objects.find(|&object| classes.contains(&graph.class_of(object)));
        self.object = next.unwrap_or(ObjectNumber::new(0));
        next.is_some()
    }

    fn cell<'a>(&'a self, heap: &'a Heap, column: usize) -> Cell<'a> {
        let (snapshot, object) = (&heap.snapshot, self.object);
        match column {
            0 => heap.id(object),
            1 => heap.text(object, "strings.value").map(Cell::from).into(),
            2 => snapshot.string_length(object).map(Cell::count).into(),
            3 => {
                let array = snapshot.field_object(object, "value");
                let array = array.map_or(0, |array| snapshot.graph().size(array));
                Cell::count(snapshot.graph().size(object) + array)
            }
            4 => Cell::count(snapshot.retained(object)),
            _ => Cell::truth(snapshot.dominators().place(object).is_some()),
        }
    }
}

//! The table `objects`.

use std::ops::Range;

use super::Heap;
use super::table::{Cell, Column, Key, Rows};
use hprof_analysis::numbers::{ClassNumber, ObjectNumber, Place};

/// All objects, or some.
pub struct Objects {
    left: Left,
    object: ObjectNumber,
}

enum Left {
    /// Objects of a range of numbers that are of the classes, if any are named.
    Range(Range<usize>, Option<Vec<ClassNumber>>),
    /// Objects at places in the dominator tree, from one sibling to the next.
    Siblings { next: Place, end: Place },
}

const ID: usize = 0;
const CLASS: usize = 1;
const SIZE: usize = 2;
const RETAINED: usize = 3;
const LIVE: usize = 4;
const DOMINATOR: usize = 5;
const LENGTH: usize = 6;

impl Rows for Objects {
    const NAME: &'static str = "objects";
    const ABOUT: &'static str = "an object; class objects are objects of java.lang.Class";
    const COLUMNS: &'static [Column] = &[
        ("id", "TEXT", "identifier, such as '0x7ffd00770'"),
        (
            "class",
            "TEXT",
            "name of its class, such as 'java.lang.String' or 'int[]'",
        ),
        ("size", "INTEGER", "bytes that it takes itself"),
        (
            "retained",
            "INTEGER",
            "bytes that it keeps alive, itself included; 0 if not live",
        ),
        ("live", "INTEGER", "1 if roots reach it"),
        (
            "dominator",
            "TEXT",
            "id of its immediate dominator; null under the roots",
        ),
        ("length", "INTEGER", "number of elements, of arrays"),
        (
            "value",
            "TEXT",
            "the object in words: text, number, number of elements",
        ),
    ];
    const KEYS: &'static [Key] = &[(ID, 1), (DOMINATOR, 20), (CLASS, 10_000)];

    fn estimate(heap: &Heap) -> usize {
        heap.snapshot.graph().len()
    }

    fn start(heap: &Heap, key: Option<(usize, &str)>) -> std::io::Result<Self> {
        let dominators = heap.snapshot.dominators();
        let left = match key {
            None => Left::Range(0..heap.snapshot.graph().len(), None),
            Some((CLASS, name)) => {
                let classes = heap.classes_named(name);
                let end = match classes.is_empty() {
                    true => 0,
                    false => heap.snapshot.graph().len(),
                };
                Left::Range(0..end, Some(classes))
            }
            Some((DOMINATOR, id)) => {
                let place = heap.object(id).and_then(|object| dominators.place(object));
                match place {
                    Some(place) => Left::Siblings {
                        next: place.next(),
                        end: dominators.end(place),
                    },
                    None => Left::Range(0..0, None),
                }
            }
            Some((_, id)) => match heap.object(id) {
                Some(object) => Left::Range(object.index()..object.next().index(), None),
                None => Left::Range(0..0, None),
            },
        };
        Ok(Self {
            left,
            object: ObjectNumber::new(0),
        })
    }

    fn advance(&mut self, heap: &Heap) -> bool {
        let dominators = heap.snapshot.dominators();
        let next = match &mut self.left {
            Left::Range(range, None) => range.next().map(ObjectNumber::new),
            Left::Range(range, Some(classes)) => {
                let graph = heap.snapshot.graph();
                let mut objects = range.map(ObjectNumber::new);
                objects.find(|&object| classes.contains(&graph.class_of(object)))
            }
            Left::Siblings { next, end } if *next < *end => {
                let place = *next;
                *next = dominators.end(place);
                Some(dominators.object(place))
            }
            Left::Siblings { .. } => None,
        };
        self.object = next.unwrap_or(ObjectNumber::new(0));
        next.is_some()
    }

    fn cell<'a>(&'a self, heap: &'a Heap, column: usize) -> Cell<'a> {
        let (snapshot, object) = (&heap.snapshot, self.object);
        let dominators = snapshot.dominators();
        match column {
            ID => heap.id(object),
            CLASS => heap.class(object),
            SIZE => Cell::count(snapshot.graph().size(object)),
            RETAINED => Cell::count(snapshot.retained(object)),
            LIVE => Cell::truth(dominators.place(object).is_some()),
            DOMINATOR => {
                let above = dominators.place(object).and_then(|at| dominators.above(at));
                above.map(|above| heap.id(dominators.object(above))).into()
            }
            LENGTH => snapshot.array_length(object).map(Cell::count).into(),
            _ => snapshot.detail(object).map(Cell::from).into(),
        }
    }
}

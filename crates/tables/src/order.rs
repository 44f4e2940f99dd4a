//! All objects of a dump by class, for the order of the table `objects`.

use std::io;

use hprof_analysis::graph::Array;
use hprof_analysis::numbers::{ClassNumber, ObjectNumber};
use hprof_analysis::snapshot::Snapshot;

/// The numbers of all objects, in the order of their classes' names, then of their identifiers.
pub enum ByClass {
    /// Fewer than 2^32 objects.
    Narrow(Array<u32>),
    /// More.
    Wide(Array<u64>),
}

impl ByClass {
    /// Sorts by counting, in two walks over the classes of all objects.
    ///
    /// # Errors
    /// If there is no room for the numbers.
    pub fn new(snapshot: &Snapshot) -> io::Result<Self> {
        let graph = snapshot.graph();
        let length = graph.len();
        let mut next = starts(snapshot);
        let mut place = |class: ClassNumber| {
            let next = &mut next[class.index()];
            *next += 1;
            *next - 1
        };
        Ok(match u32::try_from(length) {
            Ok(_) => {
                let mut order = snapshot.store().zeros::<u32>(length)?;
                let slots = &mut *order;
                for object in graph.objects() {
                    slots[place(graph.class_of(object))] = object.index() as u32;
                }
                Self::Narrow(order)
            }
            Err(_) => {
                let mut order = snapshot.store().zeros::<u64>(length)?;
                let slots = &mut *order;
                for object in graph.objects() {
                    slots[place(graph.class_of(object))] = object.index() as u64;
                }
                Self::Wide(order)
            }
        })
    }

    /// The object at a position.
    #[inline]
    pub fn at(&self, position: usize) -> ObjectNumber {
        ObjectNumber::new(match self {
            Self::Narrow(order) => order[position] as usize,
            Self::Wide(order) => order[position] as usize,
        })
    }
}

/// By class: the position of its first object.
fn starts(snapshot: &Snapshot) -> Vec<usize> {
    let graph = snapshot.graph();
    let classes = graph.classes();
    let mut counts = vec![0usize; classes.list().len()];
    for object in graph.objects() {
        counts[graph.class_of(object).index()] += 1;
    }
    let mut by_name: Vec<ClassNumber> = classes.numbers().collect();
    by_name.sort_by(|&a, &b| (&classes.get(a).name, a).cmp(&(&classes.get(b).name, b)));
    let mut next = 0;
    for class in by_name {
        let count = counts[class.index()];
        counts[class.index()] = next;
        next += count;
    }
    counts
}

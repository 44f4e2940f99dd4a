//! The objects of each class.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::Snapshot;
use crate::numbers::{ObjectNumber, Place};
use crate::parallel;

/// The objects of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ClassCount {
    /// Their number.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub bytes: u64,
    /// Objects that roots reach.
    pub live: u64,
}

/// Objects in one task.
const TASK: usize = 1 << 16;
/// The numbers of a [`ClassCount`].
const NUMBERS: usize = size_of::<ClassCount>() / size_of::<u64>();

impl Snapshot {
    /// The objects of each class, by [index](crate::numbers::ClassNumber::index).
    pub fn class_counts(&self) -> Vec<ClassCount> {
        let classes = self.graph.classes().list().len();
        if let Some(noted) = self.noted("classes", NUMBERS * classes)
            && let Ok(counts) = <[ClassCount]>::ref_from_bytes(noted.as_bytes())
        {
            return counts.to_vec();
        }
        let counts = self.count_classes(classes);
        if let Ok(numbers) = <[u64]>::ref_from_bytes(counts.as_bytes()) {
            self.note("classes", numbers);
        }
        counts
    }

    fn count_classes(&self, classes: usize) -> Vec<ClassCount> {
        let (graph, dominators) = (&self.graph, &self.dominators);
        // No more objects are live than there are.
        let parts = parallel::run(0, graph.len().div_ceil(TASK), |tasks| {
            let mut counts = vec![ClassCount::default(); classes];
            for task in tasks {
                let (start, end) = (task * TASK, (task + 1) * TASK);
                let objects = start..end.min(graph.len());
                for object in objects.map(ObjectNumber::new) {
                    let count = &mut counts[graph.class_of(object).index()];
                    count.objects += 1;
                    count.bytes += graph.size(object);
                }
                for place in (start..end.min(dominators.len())).map(Place::new) {
                    let object = dominators.object(place);
                    counts[graph.class_of(object).index()].live += 1;
                }
            }
            counts
        });
        let mut all = vec![ClassCount::default(); classes];
        for part in parts {
            for (sum, part) in all.iter_mut().zip(part) {
                sum.objects += part.objects;
                sum.bytes += part.bytes;
                sum.live += part.live;
            }
        }
        all
    }
}

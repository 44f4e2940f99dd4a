//! Learns from the distances between objects how large the instances of a class are.
//!
//! HotSpot gives some classes fields of its own that it does not dump (`javaClasses.hpp`, the
//! `*_INJECTED_FIELDS`), and keeps fields marked `@Contended` apart from others (JEP 142). Both
//! depend on its version. But it writes objects in the order of their addresses as a rule, so the
//! least distance from an instance to the next object is its size.

use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;

use super::class_shape::ClassShape;

/// The instances of each class that are looked at.
pub const LOOKED_AT: u32 = 64;

/// The distances from the instances of one class to the next objects.
#[derive(Debug, Clone, Copy)]
struct Distance {
    least: u64,
    /// An instance at that distance.
    at: u64,
    /// How many have that distance.
    agreeing: u32,
    seen: u32,
}

/// The distances from instances to the next objects, by class.
#[derive(Debug, Clone, Default)]
pub struct Distances {
    last: Option<(ObjectId, ObjectId)>,
    classes: FxHashMap<ObjectId, Distance>,
}

impl Distances {
    /// Sees an object, whatever it is, behind the last one.
    #[inline]
    pub fn see(&mut self, object: ObjectId) {
        if let Some((instance, class)) = self.last.take() {
            self.add(instance, class, object);
        }
    }

    /// Tells that the object seen last is an instance of a class.
    #[inline]
    pub fn is_instance(&mut self, object: ObjectId, class: ObjectId) {
        self.last = Some((object, class));
    }

    /// Tells that the next object does not follow on the last one.
    pub fn interrupt(&mut self) {
        self.last = None;
    }

    #[cold]
    fn add(&mut self, instance: ObjectId, class: ObjectId, next: ObjectId) {
        if let Some(least) = next.get().checked_sub(instance.get()) {
            let at = instance.get();
            let distance = Distance {
                least,
                at,
                agreeing: 1,
                seen: 1,
            };
            self.put(class, distance);
        }
    }

    fn put(&mut self, class: ObjectId, more: Distance) {
        let Some(known) = self.classes.get_mut(&class) else {
            self.classes.insert(class, more);
            return;
        };
        let seen = known.seen.saturating_add(more.seen);
        if more.least == known.least {
            known.agreeing = known.agreeing.saturating_add(more.agreeing);
            known.at = known.at.min(more.at);
        } else if more.least < known.least {
            *known = more;
        }
        known.seen = seen;
    }

    /// Adds those of another part of the dump.
    pub fn merge(&mut self, other: &Self) {
        for (&class, &distance) in &other.classes {
            self.put(class, distance);
        }
    }

    /// How many instances of a class were looked at.
    pub fn seen(&self, class: ObjectId) -> u32 {
        self.classes.get(&class).map_or(0, |distance| distance.seen)
    }

    /// The sizes that at least two instances of a class, and most of those seen, agree on. Classes
    /// lie among the objects without being dumped as such, so what seems to reach over one is left
    /// out.
    pub fn sizes(&self, shapes: &FxHashMap<ObjectId, ClassShape>) -> FxHashMap<ObjectId, u64> {
        let mut classes: Vec<u64> = shapes.keys().map(|class| class.get()).collect();
        classes.sort_unstable();
        let reaches_over_a_class = |distance: &Distance| {
            let next = classes.partition_point(|&class| class <= distance.at);
            classes
                .get(next)
                .is_some_and(|&class| class - distance.at < distance.least)
        };
        self.classes
            .iter()
            .filter(|(_, distance)| {
                distance.agreeing >= 2
                    && distance.agreeing >= distance.seen / 2
                    && distance.least.is_multiple_of(8)
                    && !reaches_over_a_class(distance)
            })
            .map(|(&class, distance)| (class, distance.least))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(objects: &[(u64, u64)]) -> Distances {
        let mut distances = Distances::default();
        for &(object, class) in objects {
            distances.see(ObjectId::new(object));
            distances.is_instance(ObjectId::new(object), ObjectId::new(class));
        }
        distances
    }

    fn size(distances: &Distances, classes: &[u64]) -> Option<u64> {
        let shape = |&class: &u64| {
            let shape = ClassShape {
                super_class: ObjectId::NULL,
                loader: ObjectId::NULL,
                instance_size: 0,
                fields: Box::default(),
            };
            (ObjectId::new(class), shape)
        };
        let shapes = classes.iter().map(shape).collect();
        distances.sizes(&shapes).get(&ObjectId::new(1)).copied()
    }

    #[test]
    fn two_that_agree_tell_a_size_and_one_does_not() {
        let two = distances(&[(800, 1), (840, 1), (880, 2)]);
        assert_eq!(size(&two, &[]), Some(40));
        assert_eq!(size(&distances(&[(800, 1), (840, 2)]), &[]), None);
        let gap = distances(&[(800, 1), (840, 1), (904, 1), (944, 2)]);
        assert_eq!(size(&gap, &[]), Some(40));
        let scattered = distances(&[(8000, 1), (8064, 1), (9000, 1), (9008, 1), (20000, 2)]);
        assert_eq!(size(&scattered, &[]), None);
        let backwards = distances(&[(8000, 1), (7000, 1), (6000, 2)]);
        assert_eq!(size(&backwards, &[]), None);
    }

    #[test]
    fn classes_between_objects_count() {
        let two = distances(&[(800, 1), (840, 1), (880, 2)]);
        assert_eq!(size(&two, &[816]), None);
        assert_eq!(size(&two, &[800, 840, 880]), Some(40));
    }

    #[test]
    fn parts_add_up() {
        let mut first = distances(&[(800, 1), (840, 2)]);
        first.merge(&distances(&[(1600, 1), (1640, 2)]));
        assert_eq!(size(&first, &[]), Some(40));
        assert_eq!(first.seen(ObjectId::new(1)), 2);
    }
}

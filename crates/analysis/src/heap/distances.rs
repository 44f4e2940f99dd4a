//! Learns from the distances between objects how large the instances of a class are.
//!
//! HotSpot gives some classes fields of its own that it does not dump (`javaClasses.hpp`, the
//! `*_INJECTED_FIELDS`), and keeps fields marked `@Contended` apart from others (JEP 142). Both
//! depend on its version. But it writes objects in the order of their addresses as a rule, so the
//! least distance from an instance to the next object is its size.

use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;

/// The distances of each class that are looked at.
const MAX_SEEN: u32 = 64;

/// Distances that must agree. Classes that the VM has made for lambdas and does not dump may lie behind a
/// few objects of a kind.
const MIN_AGREEING: u32 = 8;

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
    /// A class of which enough was seen: instances of one class often follow one another.
    known: Option<ObjectId>,
    classes: FxHashMap<ObjectId, Distance>,
}

impl Distances {
    /// Sees the next object, of any class.
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

    /// False if enough instances of a class were seen.
    #[inline]
    pub fn wants(&mut self, class: ObjectId) -> bool {
        if self.known == Some(class) {
            return false;
        }
        let is_known = self.seen(class) >= MAX_SEEN;
        if is_known {
            self.known = Some(class);
        }
        !is_known
    }

    /// How many instances of a class were looked at.
    fn seen(&self, class: ObjectId) -> u32 {
        self.classes.get(&class).map_or(0, |distance| distance.seen)
    }

    /// The sizes that several instances of a class, and most of those seen, agree on. Classes
    /// lie among the objects without being dumped as such, so what seems to reach over one of
    /// `classes`, which are in order, is left out.
    pub fn sizes(&self, classes: &[u64]) -> FxHashMap<ObjectId, u64> {
        let reaches_over_a_class = |distance: &Distance| {
            let next = classes.partition_point(|&class| class <= distance.at);
            classes
                .get(next)
                .is_some_and(|&class| class - distance.at < distance.least)
        };
        self.classes
            .iter()
            .filter(|(_, distance)| {
                distance.agreeing >= MIN_AGREEING
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
        distances.sizes(classes).get(&ObjectId::new(1)).copied()
    }

    /// `count` instances of class 1 in a row, each of 40 bytes, and an object of class 2.
    fn row(start: u64, count: u64) -> Vec<(u64, u64)> {
        let instances = (0..count).map(|number| (start + 40 * number, 1));
        instances.chain([(start + 40 * count, 2)]).collect()
    }

    #[test]
    fn several_that_agree_tell_a_size_and_few_do_not() {
        assert_eq!(size(&distances(&row(800, 8)), &[]), Some(40));
        assert_eq!(size(&distances(&row(800, 7)), &[]), None);
        let mut gap = row(800, 8);
        gap.last_mut().unwrap().0 += 24;
        gap.extend(row(8000, 8));
        assert_eq!(size(&distances(&gap), &[]), Some(40));
        let scattered: Vec<(u64, u64)> = (0..30).map(|n| (8000 + 64 * n + n * n * 8, 1)).collect();
        assert_eq!(size(&distances(&scattered), &[]), None);
        let backwards: Vec<(u64, u64)> = (0..30).map(|n| (8000 - 40 * n, 1)).collect();
        assert_eq!(size(&distances(&backwards), &[]), None);
    }

    #[test]
    fn classes_between_objects_count() {
        let row = distances(&row(800, 8));
        assert_eq!(size(&row, &[816]), None);
        assert_eq!(size(&row, &[800, 840, 880]), Some(40));
    }

    #[test]
    fn parts_add_up() {
        let mut first = distances(&row(800, 5));
        first.merge(&distances(&row(8000, 3)));
        assert_eq!(size(&first, &[]), Some(40));
        assert_eq!(first.seen(ObjectId::new(1)), 8);
    }
}

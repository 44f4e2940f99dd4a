//! Tells the objects apart that a dump refers to and lacks.

use std::collections::HashSet;

/// The most missing objects of a dump that are distinguished. Each thread holds a few bytes for each, however
/// many a made file refers to.
pub const MAX_MISSING_OBJECTS: u64 = 1 << 18;

/// The identifiers of missing objects, up to the limit.
///
/// They come from the file, so that their hashes need a key: a made file could have them collide.
#[derive(Debug, Default)]
pub(super) struct MissingIds(HashSet<u64>);

impl MissingIds {
    /// Adds the identifier of an object that the file lacks.
    #[cold]
    pub fn add(&mut self, id: u64) {
        if self.len() < MAX_MISSING_OBJECTS {
            self.0.insert(id);
        }
    }

    /// Adds those of another part of the dump.
    pub fn merge(&mut self, other: Self) {
        for id in other.0 {
            self.add(id);
        }
    }

    /// Their number, at most [`MAX_MISSING_OBJECTS`].
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_apart_up_to_the_limit() {
        let of = |ids: std::ops::Range<u64>| {
            let mut missing = MissingIds::default();
            ids.for_each(|id| missing.add(id));
            missing
        };
        let mut missing = of(0..10);
        missing.merge(of(5..20));
        assert_eq!(missing.len(), 20);
        missing.merge(of(0..MAX_MISSING_OBJECTS));
        missing.merge(of(MAX_MISSING_OBJECTS..MAX_MISSING_OBJECTS + 9));
        assert_eq!(missing.len(), MAX_MISSING_OBJECTS);
    }
}

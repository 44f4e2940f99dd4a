//! The pools of a chunk: where each entry is, so that only those that are needed are read.

use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::Cursor;
use super::metadata::{Metadata, TypeId};
use super::plan::Plans;

/// Stands for the pools of all types.
pub(super) const ALL: &str = "*";

/// Where entries are in the chunk. No room is made for entries that a checkpoint only claims to have.
#[derive(Debug, Default)]
pub(super) struct Pools {
    has_all: bool,
    needed: FxHashSet<TypeId>,
    places: FxHashMap<TypeId, FxHashMap<u64, usize>>,
}

impl Pools {
    /// Pools of a chunk, of which those of types with these names are kept, or [`ALL`].
    pub(super) fn new(metadata: &Metadata<'_>, needed: &[&str]) -> Self {
        let has_all = needed.contains(&ALL);
        let needed = needed.iter().flat_map(|name| metadata.named(name));
        Self {
            has_all,
            needed: needed.collect(),
            ..Self::default()
        }
    }

    /// Takes in a checkpoint whose bytes begin after its head; `None` if it is damaged. Constants
    /// before the damage are kept.
    pub(super) fn add(&mut self, mut cursor: Cursor<'_>, plans: &mut Plans<'_>) -> Option<()> {
        // Start time, duration, distance to the checkpoint before, kind.
        for _ in 0..3 {
            cursor.number()?;
        }
        cursor.byte()?;
        for _ in 0..cursor.length()? {
            let of = TypeId(u32::try_from(cursor.number()?).ok()?);
            let count = cursor.length()?;
            let plan = plans.get(of)?;
            let mut places = match self.has_all || self.needed.contains(&of) {
                true => Some(self.places.entry(of).or_default()),
                false => None,
            };
            for _ in 0..count {
                let key = cursor.number()?;
                if let Some(places) = &mut places {
                    places.insert(key, cursor.at());
                }
                plan.skip(&mut cursor)?;
            }
        }
        Some(())
    }

    /// Where an entry is.
    pub(super) fn place(&self, of: TypeId, key: u64) -> Option<usize> {
        self.places.get(&of)?.get(&key).copied()
    }

    /// The entries of a type.
    pub(super) fn entries(&self, of: TypeId) -> impl Iterator<Item = u64> {
        self.places
            .get(&of)
            .into_iter()
            .flat_map(|it| it.keys().copied())
    }
}

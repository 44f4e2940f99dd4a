//! Sets of groups by number: each different set is stored once.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};

/// Members of all sets together. Where there are more, the answer is given up.
const MAX_MEMBERS: usize = 16 << 20;
/// Answers about sets that are kept.
const MAX_KEPT: usize = 4 << 20;

/// The set without members.
pub(super) const EMPTY: u32 = 0;
/// The set of all groups there are, until something is known.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Sets of groups by number.
pub(super) struct Sets {
    members: Vec<u32>,
    /// By set: where its members end.
    ends: Vec<usize>,
    by_members: HashTable<u32>,
    with: FxHashMap<(u32, u32), u32>,
    common: FxHashMap<(u32, u32), u32>,
    both: FxHashMap<(u32, u32), u32>,
}

fn hash(members: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    members.hash(&mut hasher);
    hasher.finish()
}

impl Sets {
    pub fn new() -> Self {
        Self {
            members: Vec::new(),
            ends: vec![0],
            by_members: HashTable::new(),
            with: FxHashMap::default(),
            common: FxHashMap::default(),
            both: FxHashMap::default(),
        }
    }

    /// True if sets could not be stored, so that nothing that was found counts.
    pub fn is_full(&self) -> bool {
        self.members.len() > MAX_MEMBERS
    }

    pub fn members(&self, set: u32) -> &[u32] {
        members(&self.members, &self.ends, set)
    }

    /// The members of a set; none of the one that is not known.
    pub fn members_if_known(&self, set: u32) -> &[u32] {
        match set {
            UNKNOWN => &[],
            set => self.members(set),
        }
    }

    fn number(&mut self, wanted: &[u32]) -> u32 {
        if wanted.is_empty() || self.is_full() {
            return EMPTY;
        }
        let hash_of = |&set: &u32| hash(members(&self.members, &self.ends, set));
        let is_same = |&set: &u32| members(&self.members, &self.ends, set) == wanted;
        if let Some(&set) = self.by_members.find(hash(wanted), is_same) {
            return set;
        }
        let set = self.ends.len() as u32;
        self.by_members.insert_unique(hash(wanted), set, hash_of);
        self.members.extend_from_slice(wanted);
        self.ends.push(self.members.len());
        set
    }

    /// A set with one more group.
    pub fn with(&mut self, set: u32, group: u32) -> u32 {
        if let Some(&known) = self.with.get(&(set, group)) {
            return known;
        }
        let members = self.members(set);
        let found = match members.binary_search(&group) {
            Ok(_) => set,
            Err(place) => {
                let more = [&members[..place], &[group], &members[place..]].concat();
                self.number(&more)
            }
        };
        if self.with.len() >= MAX_KEPT {
            self.with.clear();
        }
        self.with.insert((set, group), found);
        found
    }

    /// The union of two sets.
    pub fn both(&mut self, first: u32, second: u32) -> u32 {
        let key = (first.min(second), first.max(second));
        if key.0 == EMPTY || key.0 == key.1 {
            return key.1;
        }
        if let Some(&known) = self.both.get(&key) {
            return known;
        }
        let mut all = [self.members(key.0), self.members(key.1)].concat();
        all.sort_unstable();
        all.dedup();
        let found = self.number(&all);
        if self.both.len() >= MAX_KEPT {
            self.both.clear();
        }
        self.both.insert(key, found);
        found
    }

    /// The intersection of two sets.
    pub fn common(&mut self, first: u32, second: u32) -> u32 {
        let key = (first.min(second), first.max(second));
        if let Some(&known) = self.common.get(&key) {
            return known;
        }
        let (first, second) = (self.members(key.0), self.members(key.1));
        let is_in_both = |group: &&u32| second.binary_search(group).is_ok();
        let both: Vec<u32> = first.iter().filter(is_in_both).copied().collect();
        let found = self.number(&both);
        if self.common.len() >= MAX_KEPT {
            self.common.clear();
        }
        self.common.insert(key, found);
        found
    }
}

fn members<'a>(members: &'a [u32], ends: &[usize], set: u32) -> &'a [u32] {
    let start = (set as usize).checked_sub(1).map_or(0, |set| ends[set]);
    &members[start..ends[set as usize]]
}

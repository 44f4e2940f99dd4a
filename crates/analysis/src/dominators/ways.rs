//! Ways in the dominator tree, by the groups of the objects on them, for several groupings at once.
//!
//! Few ways are different: each is stored once and has a number, for all groupings together. So a step from an object to
//! one below it is a single look-up, however many groupings there are.

use rustc_hash::FxHashMap;

use super::group_sets::{EMPTY, Sets};
use super::groups::Grouping;
use crate::numbers::ClassNumber;

/// The way without any object.
pub(super) const NO_WAY: u32 = 0;
/// The most different ways. Where there are more, the answer is given up.
const MAX_WAYS: usize = 4 << 20;
/// The most steps that are kept.
const MAX_KEPT: usize = 4 << 20;
/// The steps that were made lately.
const RECENT: usize = 1 << 12;

/// Ways by number.
pub(super) struct Ways<'a> {
    groupings: &'a [Grouping],
    /// By grouping.
    sets: Vec<Sets>,
    /// By grouping, then way: the set of groups on it.
    set_of: Vec<Vec<u32>>,
    /// By the sets of all groupings: the way.
    by_sets: FxHashMap<Box<[u32]>, u32>,
    /// By way and class of the next object: the way that leads to that.
    steps: FxHashMap<(u32, u32), u32>,
    /// Some of these, so that most objects need no look-up.
    recent: Vec<(u32, u32, u32)>,
    is_full: bool,
}

impl<'a> Ways<'a> {
    /// The way without any object.
    pub fn new(groupings: &'a [Grouping]) -> Self {
        let none: Box<[u32]> = vec![EMPTY; groupings.len()].into();
        Self {
            groupings,
            sets: groupings.iter().map(|_| Sets::new()).collect(),
            set_of: vec![vec![EMPTY]; groupings.len()],
            by_sets: FxHashMap::from_iter([(none, NO_WAY)]),
            steps: FxHashMap::default(),
            recent: vec![(u32::MAX, 0, 0); RECENT],
            is_full: false,
        }
    }

    /// A way with one more object, of this class.
    #[inline(always)]
    pub fn with(&mut self, way: u32, class: ClassNumber) -> u32 {
        let class = class.index() as u32;
        let at = (way ^ class.wrapping_mul(0x9e37_79b1) >> 16) as usize % RECENT;
        let (of, plus, found) = self.recent[at];
        if (of, plus) == (way, class) {
            return found;
        }
        let found = self.step(way, class);
        self.recent[at] = (way, class, found);
        found
    }

    fn step(&mut self, way: u32, class: u32) -> u32 {
        if let Some(&known) = self.steps.get(&(way, class)) {
            return known;
        }
        let rows = self.groupings.iter().zip(&mut self.sets).zip(&self.set_of);
        let sets: Box<[u32]> = rows
            .map(|((grouping, sets), set_of)| {
                let group = grouping.group_of.get(class as usize).copied();
                sets.with(set_of[way as usize], group.unwrap_or(0))
            })
            .collect();
        let found = self.number(sets);
        if self.steps.len() >= MAX_KEPT {
            self.steps.clear();
        }
        self.steps.insert((way, class), found);
        found
    }

    fn number(&mut self, sets: Box<[u32]>) -> u32 {
        if let Some(&way) = self.by_sets.get(&sets) {
            return way;
        }
        let way = self.by_sets.len();
        if way >= MAX_WAYS {
            self.is_full = true;
            return NO_WAY;
        }
        for (set_of, &set) in self.set_of.iter_mut().zip(&sets) {
            set_of.push(set);
        }
        self.by_sets.insert(sets, way as u32);
        way as u32
    }

    /// By grouping: the sets, and which of them each way has; `None` where there were too many.
    pub fn into_groupings(self) -> Vec<Option<(Sets, Vec<u32>)>> {
        let is_full = self.is_full;
        let rows = self.sets.into_iter().zip(self.set_of);
        rows.map(|row| (!is_full).then_some(row)).collect()
    }
}

//! The stacks that allocations were seen at, as the VM gave them.
//!
//! Their names are looked up later by the profile thread. Stacks that differ
//! become one trace there when their methods and lines are the same.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use parking_lot::RwLock;

use crate::intern::{InternTable, New};
use crate::vm::StackFrame;

/// The place of a stack in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StackId(pub(super) u32);

impl StackId {
    /// The stack without frames and thread.
    pub(super) const EMPTY: Self = Self(0);
}

/// A stack.
#[derive(Debug)]
pub(super) struct Stack {
    id: StackId,
    /// Serial of its thread, 0 when threads are not distinguished.
    pub(super) thread: u32,
    /// The frames, innermost first.
    pub(super) frames: Box<[StackFrame]>,
}

/// All stacks seen.
pub(super) struct StackTable {
    known: InternTable<Arc<Stack>>,
    all: RwLock<Vec<Arc<Stack>>>,
    hasher: DefaultHashBuilder,
    limit: usize,
}

/// Rough bytes for each stack besides its frames.
const STACK_OVERHEAD: usize = size_of::<Stack>() + 64;

impl StackTable {
    /// A table that takes about `limit` bytes, and twice that at most.
    pub(super) fn new(limit: usize) -> Self {
        let empty = Arc::new(Stack {
            id: StackId::EMPTY,
            thread: 0,
            frames: Box::default(),
        });
        Self {
            known: InternTable::default(),
            all: RwLock::new(vec![empty]),
            hasher: DefaultHashBuilder::default(),
            limit,
        }
    }

    /// The id of a stack, new or known. Beyond the memory limit a new stack keeps
    /// its innermost frame only, and beyond twice the limit nothing; both are
    /// counted.
    pub(super) fn intern(&self, thread: u32, frames: &[StackFrame]) -> StackId {
        if frames.is_empty() && thread == 0 {
            return StackId::EMPTY;
        }
        let used = self.bytes();
        if let Some(id) = self.intern_if(thread, frames, used < self.limit) {
            return id;
        }
        self.known.count_cut();
        self.intern_if(
            thread,
            frames.get(..1).unwrap_or_default(),
            used < 2 * self.limit,
        )
        .unwrap_or(StackId::EMPTY)
    }

    fn intern_if(&self, thread: u32, frames: &[StackFrame], may_add: bool) -> Option<StackId> {
        let hash = self.hasher.hash_one((thread, frames));
        let is_same = |stack: &Arc<Stack>| stack.thread == thread && *stack.frames == *frames;
        let add = || {
            let mut all = self.all.write();
            let stack = Arc::new(Stack {
                id: StackId(u32::try_from(all.len()).ok()?),
                thread,
                frames: frames.into(),
            });
            all.push(Arc::clone(&stack));
            Some(New {
                value: stack,
                bytes: STACK_OVERHEAD + size_of_val(frames),
            })
        };
        let stack = match may_add {
            true => self.known.intern(hash, is_same, add),
            false => self.known.find(hash, is_same),
        };
        stack.map(|stack| stack.id)
    }

    /// Forgets all stacks but the empty one.
    pub(super) fn clear(&self) {
        self.known.clear();
        let mut all = self.all.write();
        all.truncate(1);
        all.shrink_to_fit();
    }

    /// The stacks from the one with number `first` on.
    pub(super) fn since(&self, first: usize) -> Vec<Arc<Stack>> {
        self.all.read().get(first..).unwrap_or_default().to_vec()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.all.read().len()
    }

    /// How often a stack was cut because the memory limit was reached.
    pub(super) fn cut(&self) -> u64 {
        self.known.cut()
    }

    /// Roughly how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.known.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(first: usize, count: usize) -> Vec<StackFrame> {
        (first..first + count)
            .map(|n| StackFrame {
                // SAFETY: no VM gets it.
                method: unsafe { crate::vm::JMethodId::from_raw((n * 8) as _) },
                location: n as i64,
            })
            .collect()
    }

    #[test]
    fn equal_stacks_have_one_id() {
        let table = StackTable::new(1 << 20);
        let one = table.intern(0, &frames(1, 4));
        assert_eq!(table.intern(0, &frames(1, 4)), one);
        assert_ne!(table.intern(0, &frames(1, 3)), one);
        assert_ne!(table.intern(200_001, &frames(1, 4)), one);
        assert_eq!(table.intern(0, &[]), StackId::EMPTY);
        assert_eq!(table.count(), 4);
        assert_eq!(*table.since(1)[0].frames, *frames(1, 4));
        assert_eq!((table.since(4).len(), table.since(9).len()), (0, 0));
    }

    #[test]
    fn a_full_table_keeps_the_innermost_frame_and_what_it_knows() {
        let table = StackTable::new(16 << 10);
        let ids: Vec<StackId> = (0..1000).map(|n| table.intern(0, &frames(n, 16))).collect();
        assert!(table.cut() > 0);
        assert!(table.bytes() < 33 << 10);
        assert_eq!(table.intern(0, &frames(0, 16)), ids[0]);
        let all = table.since(0);
        assert_eq!(*all[ids[60].0 as usize].frames, *frames(60, 1));
        assert_eq!(ids[999], StackId::EMPTY);
    }
}

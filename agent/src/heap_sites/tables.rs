//! The memory of a run, which the next one in this process gets, empty.
//!
//! A callback may be on its way to a run that has ended. It finds the run's gate closed and touches no table, but
//! the agent cannot know when it has gone. So tables are never freed, and a program that is looked at again and again
//! has them once.

use std::sync::OnceLock;

use parking_lot::Mutex;

use super::classes::ClassTable;
use super::queue::SegmentQueue;
use super::sites::SiteTable;
use super::spare::Spare;
use super::stacks::StackTable;
use super::threads::Threads;
use crate::names::HiddenNames;
use crate::vm::StackKeys;

/// Bytes that stacks may take.
const STACK_MEMORY: usize = 64 << 20;

/// The tables that callbacks record into.
pub(super) struct Tables {
    pub(super) stacks: StackTable,
    pub(super) sites: SiteTable,
    pub(super) threads: Threads,
    pub(super) segments: SegmentQueue,
    /// Empty while there is no run.
    pub(super) spare: Spare,
    /// The keys of known stacks, if the VM's layout is known. It stays as it is.
    pub(super) stack_keys: OnceLock<StackKeys>,
}

/// The tables of the last run, if no callback was inside when it ended.
static SPARE: Mutex<Option<&'static Tables>> = Mutex::new(None);

impl Tables {
    /// Empty tables.
    pub(super) fn take() -> &'static Self {
        SPARE.lock().take().unwrap_or_else(|| {
            Box::leak(Box::new(Self {
                stacks: StackTable::new(STACK_MEMORY),
                sites: SiteTable::new(),
                threads: Threads::default(),
                segments: SegmentQueue::new(),
                spare: Spare::new(),
                stack_keys: OnceLock::new(),
            }))
        })
    }

    /// Empties the tables and keeps them for the next run. To be called once the threads are forgotten, and no callback
    /// of the run is inside or will be.
    pub(super) fn give_back(&'static self) {
        self.stacks.clear();
        self.sites.clear();
        self.segments.clear();
        *SPARE.lock() = Some(self);
    }
}

/// The classes of all runs whose files have such names. Threads compare mirrors with references of theirs at any time, so
/// they stay.
pub(super) fn classes(names: HiddenNames) -> &'static ClassTable {
    static WHOLE: OnceLock<ClassTable> = OnceLock::new();
    static FAMILIES: OnceLock<ClassTable> = OnceLock::new();
    let table = match names {
        HiddenNames::Whole => &WHOLE,
        HiddenNames::Families => &FAMILIES,
    };
    table.get_or_init(|| ClassTable::new(names))
}

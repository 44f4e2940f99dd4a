//! The memory of a run, which the next one in this process gets, empty.
//!
//! A callback may be on its way to a run that has ended. It finds the run's gate closed and touches nothing of this,
//! but the agent cannot know when it has gone. So the memory is never freed, and a program that is looked at again and
//! again has it once.

use std::sync::OnceLock;

use parking_lot::Mutex;

use super::classes::LockClasses;
use super::fields::Fields;
use super::recent::RecentRows;
use super::rows::Rows;
use super::slots::Slots;
use crate::vm::{FastCompare, Jni, StackKeys};

/// Where callbacks record.
pub(super) struct Parts {
    pub(super) slots: Slots,
    pub(super) rows: Rows,
    pub(super) recent: RecentRows,
    /// These three stay as they are.
    pub(super) classes: LockClasses,
    /// The keys of known stacks, if the VM's layout is known.
    pub(super) stack_keys: OnceLock<StackKeys>,
    pub(super) fields: OnceLock<Fields>,
}

/// The parts of the last run, if no callback was inside when it ended.
static SPARE: Mutex<Option<&'static Parts>> = Mutex::new(None);

impl Parts {
    /// Empty parts. `compare` is the one for this VM.
    pub(super) fn take(compare: FastCompare) -> &'static Self {
        SPARE.lock().take().unwrap_or_else(|| {
            Box::leak(Box::new(Self {
                slots: Slots::default(),
                rows: Rows::default(),
                recent: RecentRows::default(),
                classes: LockClasses::new(compare),
                stack_keys: OnceLock::new(),
                fields: OnceLock::new(),
            }))
        })
    }

    /// Empties them and keeps them for the next run.
    ///
    /// # Safety
    /// No callback of the run is inside, and none will be. No thread has a row.
    pub(super) unsafe fn give_back(&'static self, jni: &Jni) {
        self.slots.clear(jni);
        self.recent.clear();
        // SAFETY: slots and recent rows have none any more, nor has anybody else, by the caller's promise.
        unsafe { self.rows.free() };
        *SPARE.lock() = Some(self);
    }
}

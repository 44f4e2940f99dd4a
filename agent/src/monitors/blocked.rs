//! Threads that were blocked at monitors before the agent came. No event has named the monitors, and the VM reports none to
//! an agent that was attached.
//!
//! Each has a [slot](Slot) that is marked until an event shows that it has continued.

use std::sync::atomic::Ordering;

use hprof_native_headers as raw;

use super::Monitors;
use super::slots::Slot;
use crate::vm::{Jni, LocalRef, Ref};

/// A thread that was blocked, and its slot.
pub(super) type Blocked<'a> = (LocalRef<'a>, &'static Slot);

impl Monitors {
    /// Marks the threads that are blocked now. No thread takes a slot meanwhile: events and hooks are off.
    pub(super) fn note_blocked<'a>(&self, jni: &'a Jni) -> Vec<Blocked<'a>> {
        let threads = self.jvmti.all_threads(jni).unwrap_or_default();
        let blocked = threads
            .into_iter()
            .filter(|thread| self.is_blocked(thread.get()));
        blocked
            .filter_map(|thread| Some((self.mark(thread.get())?, thread)))
            .map(|(slot, thread)| (thread, slot))
            .collect()
    }

    fn mark(&self, thread: Ref<'_>) -> Option<&'static Slot> {
        let slot = self.slots.take()?;
        let address = std::ptr::from_ref(slot) as usize;
        if self.jvmti.set_thread_local(Some(thread), address).is_err() {
            self.slots.give_back(slot);
            return None;
        }
        slot.blocked_before.store(true, Ordering::Relaxed);
        Some(slot)
    }

    /// Takes the marks off the threads that continued before the events came.
    pub(super) fn forget_unblocked(&self, blocked: &[Blocked<'_>]) {
        for (thread, slot) in blocked {
            if !self.is_blocked(thread.get()) {
                slot.blocked_before.store(false, Ordering::Relaxed);
            }
        }
    }

    /// True if this thread, which is blocked, has been so since before the agent came.
    pub(super) fn was_blocked_before(&self, thread: Ref<'_>) -> bool {
        let address = self.jvmti.thread_local(Some(thread)).unwrap_or_default();
        // SAFETY: 0, or the address of a slot; slots are never freed.
        let slot = unsafe { (address as *const Slot).as_ref() };
        slot.is_some_and(|slot| slot.blocked_before.load(Ordering::Relaxed))
    }

    fn is_blocked(&self, thread: Ref<'_>) -> bool {
        let state = self.jvmti.thread_state(thread).unwrap_or_default();
        state.has(raw::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER)
    }
}

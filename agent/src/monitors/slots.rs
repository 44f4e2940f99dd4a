//! The waits that are going on. The VM keeps the address of a thread's slot with the
//! thread, be it virtual or not: a thread may continue on another native thread
//! than it stopped on. A virtual thread has a slot for as long as it waits, others keep
//! theirs, as long as there are no virtual ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::classes::LockClass;
use super::rows::{Row, Source};
use crate::vm::{Jni, WeakRef};

/// A wait.
#[derive(Debug)]
pub struct Wait {
    pub source: Source,
    pub start: Instant,
    pub class: &'static LockClass,
    /// `None` while the stack is not known.
    pub row: Option<&'static Row>,
    /// A parked thread runs since then, but may park again for the same lock.
    pub ran: Option<Instant>,
    /// A dump has counted it already, up to `start`.
    pub counted: bool,
    /// Serial of the thread if the wait is in the profile's log, otherwise 0.
    pub logged: u32,
    /// The thread is a virtual one.
    pub is_virtual: bool,
    /// Takes the slot, unless a dump has borrowed it.
    pub virtual_thread: Option<WeakRef>,
    /// The object waited for, where the VM would not tell a dump.
    pub object: Option<WeakRef>,
}

impl Wait {
    /// A wait that begins now.
    pub fn new(source: Source, class: &'static LockClass) -> Self {
        Self {
            source,
            start: Instant::now(),
            class,
            row: None,
            ran: None,
            counted: false,
            logged: 0,
            is_virtual: false,
            virtual_thread: None,
            object: None,
        }
    }

    /// Deletes the references.
    pub fn forget(self, jni: &Jni) {
        for reference in [self.virtual_thread, self.object].into_iter().flatten() {
            jni.delete_weak(reference);
        }
    }
}

/// Place for a wait. The lock is for dumps: they alone look at others' slots.
#[derive(Debug, Default)]
pub struct Slot {
    pub wait: Mutex<Option<Wait>>,
    /// Its thread is blocked at a monitor since before the agent came; no wait says at which one.
    pub blocked_before: AtomicBool,
}

impl Slot {
    /// Takes the reference to a waiting virtual thread out, so that no other thread
    /// deletes it meanwhile.
    pub fn borrow_thread(&self) -> Option<WeakRef> {
        self.wait.lock().as_mut()?.virtual_thread.take()
    }

    /// Puts it back. If the thread has gone on, the caller has to delete it.
    pub fn return_thread(&self, thread: WeakRef) -> Option<WeakRef> {
        let mut wait = self.wait.lock();
        // Only a dump takes references out, and there is one at a time: a wait
        // without one is that which it was borrowed from.
        match wait.as_mut() {
            Some(wait) if wait.is_virtual && wait.virtual_thread.is_none() => {
                wait.virtual_thread = Some(thread);
                None
            }
            _ => Some(thread),
        }
    }
}

/// All slots.
#[derive(Default)]
pub struct Slots {
    free: Mutex<Vec<&'static Slot>>,
    all: Mutex<Vec<&'static Slot>>,
}

/// How many waits are followed at one time.
const MAX_SLOTS: usize = 1 << 20;

impl Slots {
    /// A free slot, unless there are too many.
    #[inline]
    pub fn take(&self) -> Option<&'static Slot> {
        if let Some(slot) = self.free.lock().pop() {
            return Some(slot);
        }
        let mut all = self.all.lock();
        if all.len() >= MAX_SLOTS {
            return None;
        }
        let slot: &'static Slot = Box::leak(Box::default());
        all.push(slot);
        Some(slot)
    }

    /// Frees a slot without a waiter.
    #[inline]
    pub fn give_back(&self, slot: &'static Slot) {
        self.free.lock().push(slot);
    }

    /// Forgets all waits. Threads that had slots have none any more.
    pub fn clear(&self, jni: &Jni) {
        let all = self.all();
        for slot in &all {
            slot.blocked_before.store(false, Ordering::Relaxed);
            let wait = slot.wait.lock().take();
            if let Some(wait) = wait {
                wait.forget(jni);
            }
        }
        *self.free.lock() = all;
    }

    /// Shows all waits that are going on.
    pub fn each(&self, mut see: impl FnMut(&mut Wait)) {
        for slot in self.all() {
            if let Some(wait) = slot.wait.lock().as_mut() {
                see(wait);
            }
        }
    }

    /// All slots made so far.
    pub fn all(&self) -> Vec<&'static Slot> {
        self.all.lock().clone()
    }
}

/// A time in nanoseconds.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

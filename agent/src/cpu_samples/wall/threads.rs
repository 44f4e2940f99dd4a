//! The threads that are sampled on the wall clock.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::super::signal::SlotToken;
use crate::vm::GlobalRef;

/// A thread of the program.
pub struct WallThread {
    /// The kernel's thread id.
    pub tid: i32,
    /// Its serial in the profile.
    pub serial: u32,
    /// Its place in the signal engine, if there is one.
    pub slot: Option<SlotToken>,
    /// The `java.lang.Thread`.
    pub object: GlobalRef,
    has_ended: AtomicBool,
}

impl WallThread {
    /// A thread that lives.
    pub fn new(tid: i32, serial: u32, slot: Option<SlotToken>, object: GlobalRef) -> Self {
        Self {
            tid,
            serial,
            slot,
            object,
            has_ended: AtomicBool::new(false),
        }
    }

    /// It has ended.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Returns true if it has ended.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }
}

/// The way of threads from their start to the sampler, and news of their ends.
#[derive(Default)]
pub struct WallThreads(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    live: HashMap<i32, Arc<WallThread>>,
    arrived: Vec<Arc<WallThread>>,
}

impl WallThreads {
    /// A thread is to be sampled.
    pub fn begin(&self, thread: WallThread) {
        let thread = Arc::new(thread);
        let lists = &mut *self.0.lock();
        lists.arrived.push(Arc::clone(&thread));
        lists.live.insert(thread.tid, thread);
    }

    /// The thread with this kernel id ends.
    pub fn end(&self, tid: i32) {
        let ended = self.0.lock().live.remove(&tid);
        if let Some(thread) = ended {
            thread.end();
        }
    }

    /// The threads that have come since the last call.
    pub fn take_arrived(&self) -> Vec<Arc<WallThread>> {
        std::mem::take(&mut self.0.lock().arrived)
    }

    /// Forgets all threads.
    pub fn clear(&self) {
        let lists = std::mem::take(&mut *self.0.lock());
        // Outside the lock: references of the VM end with it.
        drop(lists);
    }
}

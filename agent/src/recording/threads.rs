//! The live threads of the program: their serials, and their places in the signal engine.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use hashbrown::HashMap;
use hprof_format::ids::ThreadSerial;
use parking_lot::Mutex;

use crate::cpu_samples::signal::SlotToken;

/// Set in a thread's local storage beside its serial once it has its THREAD START record.
pub const NAMED: usize = 1 << 40;

/// A registered thread.
#[derive(Clone, Copy)]
pub struct LiveThread {
    /// Its number in the profile.
    pub serial: ThreadSerial,
    /// Its place in the signal engine, if it is sampled.
    pub slot: Option<SlotToken>,
    /// The VM's own thread, 0 when that is not known.
    pub vm_thread: usize,
    /// True once its THREAD START record is on its way to the profile.
    pub announced: bool,
    /// True once that was tried, and profilers may name the thread.
    pub is_ready: bool,
    /// A hash of the name in that record.
    pub name_hash: u64,
}

#[derive(Default)]
struct Live {
    /// By kernel thread id.
    threads: HashMap<i32, LiveThread>,
    /// The kernel thread id by the VM's own thread.
    by_vm_thread: HashMap<usize, i32>,
}

/// All live threads, and counts of what happened to threads.
#[derive(Default)]
pub struct Threads {
    threads: Mutex<Live>,
    last_ended: Mutex<Option<LiveThread>>,
    last_serial: AtomicU32,
    ended_cpu_nanos: AtomicU64,
    without_timer: AtomicU32,
    lost_records: AtomicU32,
}

impl Threads {
    /// A serial for a new thread; the first is that of the main thread.
    pub fn new_serial(&self) -> ThreadSerial {
        let number = self
            .last_serial
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1);
        ThreadSerial::new(ThreadSerial::BASE.saturating_add(number))
    }

    /// How many serials were given out.
    pub fn threads_seen(&self) -> u32 {
        self.last_serial.load(Ordering::Relaxed)
    }

    /// Registers the thread `tid` unless it is registered already: a thread that
    /// starts while VMInit lists the live ones is seen twice.
    pub fn begin(&self, tid: i32, vm_thread: usize) -> Option<ThreadSerial> {
        let mut live = self.threads.lock();
        if live.threads.contains_key(&tid) {
            return None;
        }
        let serial = self.new_serial();
        let slot = None;
        if vm_thread != 0 {
            live.by_vm_thread.insert(vm_thread, tid);
        }
        live.threads.insert(
            tid,
            LiveThread {
                serial,
                slot,
                vm_thread,
                announced: false,
                is_ready: false,
                name_hash: 0,
            },
        );
        Some(serial)
    }

    /// Profilers may name a thread from now on. `announced` says whether its THREAD START record is on its way, which
    /// has the name with this hash.
    pub fn set_ready(&self, tid: i32, announced: bool, name_hash: u64) {
        if let Some(thread) = self.threads.lock().threads.get_mut(&tid) {
            thread.announced = announced;
            thread.name_hash = name_hash;
            thread.is_ready = true;
        }
    }

    /// Notes a thread's place in the signal engine; false if it has one, or has ended.
    pub fn set_slot(&self, tid: i32, slot: SlotToken) -> bool {
        let mut live = self.threads.lock();
        let free = live.threads.get_mut(&tid).filter(|it| it.slot.is_none());
        free.map(|thread| thread.slot = Some(slot)).is_some()
    }

    /// The live thread with this kernel id.
    pub fn get(&self, tid: i32) -> Option<LiveThread> {
        self.threads.lock().threads.get(&tid).copied()
    }

    /// The serial of the live thread at this address in the VM, once profilers may name it.
    pub fn serial_of(&self, vm_thread: usize) -> Option<ThreadSerial> {
        let live = self.threads.lock();
        let found = live.threads.get(live.by_vm_thread.get(&vm_thread)?)?;
        (found.is_ready && found.vm_thread == vm_thread).then_some(found.serial)
    }

    /// A thread has ended.
    pub fn end(&self, tid: i32) -> Option<LiveThread> {
        let mut live = self.threads.lock();
        let ended = live.threads.remove(&tid);
        if let Some(ended) = ended
            && live.by_vm_thread.get(&ended.vm_thread) == Some(&tid)
        {
            live.by_vm_thread.remove(&ended.vm_thread);
        }
        drop(live);
        if ended.is_some() {
            *self.last_ended.lock() = ended;
        }
        ended
    }

    /// The thread that ended last. At the end of the VM it still runs the VM's own code, so a heap
    /// dump has it.
    pub fn last_ended(&self) -> Option<LiveThread> {
        *self.last_ended.lock()
    }

    /// All live threads.
    pub fn live(&self) -> Vec<LiveThread> {
        self.threads.lock().threads.values().copied().collect()
    }

    /// Forgets all threads.
    pub fn forget(&self) {
        *self.threads.lock() = Live::default();
    }

    /// Adds the CPU time of a sampled thread that has ended.
    pub fn add_ended_cpu(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(0);
        self.ended_cpu_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The CPU time of all sampled threads that have ended.
    pub fn ended_cpu(&self) -> Duration {
        Duration::from_nanos(self.ended_cpu_nanos.load(Ordering::Relaxed))
    }

    /// Counts threads that the kernel gave no timer. True for the first.
    pub fn count_without_timer(&self, threads: u32) -> bool {
        self.without_timer.fetch_add(threads, Ordering::Relaxed) == 0
    }

    /// How many threads the kernel gave no timer.
    pub fn without_timer(&self) -> u32 {
        self.without_timer.load(Ordering::Relaxed)
    }

    /// Counts a record that found the channel full.
    pub fn count_lost_record(&self) {
        self.lost_records.fetch_add(1, Ordering::Relaxed);
    }

    /// How many records found the channel full.
    pub fn lost_records(&self) -> u32 {
        self.lost_records.load(Ordering::Relaxed)
    }
}

//! What the handler must know of a thread, in memory that is never freed.
//!
//! A timer's signal carries the slot's index and generation, so the handler
//! needs neither thread-local storage nor `GetEnv`, which is not safe in a
//! handler (JDK-8132510). When a thread ends, its slot's generation moves on and
//! signals that are still under way no longer fit.

use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::time::Duration;

use jni_sys::JNIEnv;
use parking_lot::Mutex;

use crate::os::timer::{self, TimerId};

const CHUNK_LEN: usize = 256;
const CHUNKS: usize = 4096;

/// What is known of a thread when it is registered.
#[derive(Clone, Copy, Debug)]
pub struct ThreadSlot {
    /// The kernel's thread id.
    pub tid: i32,
    /// The thread's JNI environment.
    pub env: *mut JNIEnv,
    /// Its serial in the profile.
    pub serial: u32,
    /// The highest address of its stack; 0 when not known.
    pub stack_end: usize,
    /// Where the VM keeps stack pointer and program counter of the thread's last
    /// Java frame; 0 when not known.
    pub anchor: (usize, usize),
}

/// A slot and the generation it was acquired in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotToken {
    index: u32,
    generation: u32,
}

impl SlotToken {
    /// The token as the word that a timer's signal carries.
    pub(super) fn as_signal_value(self) -> usize {
        ((self.generation as usize) << 32) | self.index as usize
    }

    fn from_signal_value(value: usize) -> Self {
        Self {
            index: value as u32,
            generation: (value >> 32) as u32,
        }
    }
}

#[derive(Default)]
pub(super) struct Slot {
    /// The generation of the thread in the slot; 0 when it is free.
    generation: AtomicU32,
    tid: AtomicI32,
    timer: AtomicI32,
    env: AtomicPtr<JNIEnv>,
    serial: AtomicU32,
    virtual_thread: AtomicU32,
    sampled_virtual_thread: AtomicU32,
    stack_end: AtomicUsize,
    anchor_sp: AtomicUsize,
    anchor_pc: AtomicUsize,
    cpu_start_nanos: AtomicU64,
    /// Whether no signal has come yet.
    fresh: AtomicBool,
    /// Whether the thread is not sampled.
    muted: AtomicBool,
}

/// The slot as the handler sees it.
pub(super) struct Current<'a> {
    slot: &'a Slot,
}

impl Current<'_> {
    pub(super) fn env(&self) -> *mut JNIEnv {
        self.slot.env.load(Ordering::Relaxed)
    }

    pub(super) fn serial(&self) -> u32 {
        self.slot.serial.load(Ordering::Relaxed)
    }

    pub(super) fn stack_end(&self) -> usize {
        self.slot.stack_end.load(Ordering::Relaxed)
    }

    /// Addresses of the last Java frame's stack pointer and program counter.
    pub(super) fn anchor(&self) -> (usize, usize) {
        let slot = self.slot;
        (
            slot.anchor_sp.load(Ordering::Relaxed),
            slot.anchor_pc.load(Ordering::Relaxed),
        )
    }

    pub(super) fn is_muted(&self) -> bool {
        self.slot.muted.load(Ordering::Relaxed)
    }

    /// True once, for the thread's first signal.
    pub(super) fn is_first_signal(&self) -> bool {
        self.slot.fresh.load(Ordering::Relaxed) && self.slot.fresh.swap(false, Ordering::Relaxed)
    }

    pub(super) fn timer(&self) -> TimerId {
        TimerId(self.slot.timer.load(Ordering::Relaxed))
    }

    /// The serial of the virtual thread that runs now, noting that it was sampled.
    pub(super) fn sample_virtual_thread(&self) -> u32 {
        let serial = self.slot.virtual_thread.load(Ordering::Relaxed);
        if serial != 0 {
            self.slot
                .sampled_virtual_thread
                .store(serial, Ordering::Relaxed);
        }
        serial
    }
}

pub(super) struct Slots {
    chunks: Box<[AtomicPtr<[Slot; CHUNK_LEN]>]>,
    free: Mutex<Free>,
    /// What new threads begin with.
    muted: AtomicBool,
}

#[derive(Default)]
struct Free {
    indexes: Vec<u32>,
    used: u32,
    generation: u32,
}

impl Slots {
    pub(super) fn new() -> Self {
        let chunks = (0..CHUNKS)
            .map(|_| AtomicPtr::new(ptr::null_mut()))
            .collect();
        Self {
            chunks,
            free: Mutex::new(Free::default()),
            muted: AtomicBool::new(false),
        }
    }

    /// The slot a signal was sent for; `None` when its thread has ended. Safe in
    /// a signal handler.
    pub(super) fn current(&self, signal_value: usize) -> Option<Current<'_>> {
        let token = SlotToken::from_signal_value(signal_value);
        let slot = self.slot(token.index)?;
        let live =
            token.generation != 0 && slot.generation.load(Ordering::Acquire) == token.generation;
        live.then_some(Current { slot })
    }

    /// Takes a free slot for a thread; `None` when a million threads are live.
    pub(super) fn acquire(&self, thread: ThreadSlot) -> Option<SlotToken> {
        let mut free = self.free.lock();
        let index = match free.indexes.pop() {
            Some(index) => index,
            None => self.grow(&mut free)?,
        };
        free.generation = free.generation.wrapping_add(1).max(1);
        let generation = free.generation;
        drop(free);
        let slot = self.slot(index)?;
        slot.tid.store(thread.tid, Ordering::Relaxed);
        slot.timer.store(-1, Ordering::Relaxed);
        slot.env.store(thread.env, Ordering::Relaxed);
        slot.serial.store(thread.serial, Ordering::Relaxed);
        slot.virtual_thread.store(0, Ordering::Relaxed);
        slot.sampled_virtual_thread.store(0, Ordering::Relaxed);
        slot.stack_end.store(thread.stack_end, Ordering::Relaxed);
        slot.anchor_sp.store(thread.anchor.0, Ordering::Relaxed);
        slot.anchor_pc.store(thread.anchor.1, Ordering::Relaxed);
        slot.cpu_start_nanos
            .store(timer::thread_cpu_nanos(thread.tid), Ordering::Relaxed);
        slot.fresh.store(true, Ordering::Relaxed);
        let muted = self.muted.load(Ordering::Relaxed);
        slot.muted.store(muted, Ordering::Relaxed);
        slot.generation.store(generation, Ordering::Release);
        Some(SlotToken { index, generation })
    }

    pub(super) fn set_timer(&self, token: SlotToken, id: TimerId) {
        if let Some(slot) = self.live(token) {
            slot.timer.store(id.0, Ordering::Relaxed);
        }
    }

    pub(super) fn set_virtual_thread(&self, token: SlotToken, serial: u32) -> u32 {
        let Some(slot) = self.live(token) else {
            return 0;
        };
        slot.virtual_thread.store(serial, Ordering::Relaxed);
        slot.sampled_virtual_thread.swap(0, Ordering::Relaxed)
    }

    pub(super) fn cpu_time(&self, token: SlotToken) -> Duration {
        let Some(slot) = self.live(token) else {
            return Duration::ZERO;
        };
        let now = timer::thread_cpu_nanos(slot.tid.load(Ordering::Relaxed));
        let start = slot.cpu_start_nanos.load(Ordering::Relaxed);
        Duration::from_nanos(now.saturating_sub(start))
    }

    pub(super) fn mute(&self, token: SlotToken, muted: bool) {
        if let Some(slot) = self.live(token) {
            slot.muted.store(muted, Ordering::Relaxed);
        }
    }

    pub(super) fn mute_all(&self, muted: bool) {
        self.muted.store(muted, Ordering::Relaxed);
        let used = self.free.lock().used;
        for slot in (0..used).filter_map(|index| self.slot(index)) {
            slot.muted.store(muted, Ordering::Relaxed);
        }
    }

    /// Frees the slot and returns the timer that must be deleted.
    pub(super) fn release(&self, token: SlotToken) -> Option<TimerId> {
        let slot = self.live(token)?;
        slot.generation.store(0, Ordering::Release);
        let timer = slot.timer.swap(-1, Ordering::Relaxed);
        self.free.lock().indexes.push(token.index);
        (timer >= 0).then_some(TimerId(timer))
    }

    /// Frees all slots; `delete` gets their timers.
    pub(super) fn release_all(&self, mut delete: impl FnMut(TimerId)) {
        let used = self.free.lock().used;
        for index in 0..used {
            let generation = self
                .slot(index)
                .map_or(0, |slot| slot.generation.load(Ordering::Acquire));
            let timer = match generation {
                0 => None,
                generation => self.release(SlotToken { index, generation }),
            };
            timer.map(&mut delete);
        }
    }

    fn live(&self, token: SlotToken) -> Option<&Slot> {
        let slot = self.slot(token.index)?;
        (slot.generation.load(Ordering::Acquire) == token.generation).then_some(slot)
    }

    fn slot(&self, index: u32) -> Option<&Slot> {
        let index = index as usize;
        let chunk = self.chunks.get(index / CHUNK_LEN)?.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk that is not null was leaked by `grow` and is never freed.
        unsafe { &*chunk }.get(index % CHUNK_LEN)
    }

    fn grow(&self, free: &mut Free) -> Option<u32> {
        let chunk = self.chunks.get(free.used as usize / CHUNK_LEN)?;
        let slots: Box<[Slot; CHUNK_LEN]> = Box::new(std::array::from_fn(|_| Slot::default()));
        chunk.store(Box::leak(slots), Ordering::Release);
        let first = free.used;
        free.used += CHUNK_LEN as u32;
        free.indexes.extend((first + 1..free.used).rev());
        Some(first)
    }
}

// SAFETY: the JNIEnv pointers in it are only handed to the thread they belong to.
unsafe impl Send for Slots {}
// SAFETY: as above; all members are atomics or behind a lock.
unsafe impl Sync for Slots {}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(serial: u32) -> ThreadSlot {
        ThreadSlot {
            tid: 1,
            env: ptr::null_mut(),
            serial,
            stack_end: 0,
            anchor: (0, 0),
        }
    }

    #[test]
    fn a_late_signal_finds_no_thread() {
        let slots = Slots::new();
        let first = slots.acquire(thread(7)).unwrap();
        let late = first.as_signal_value();
        assert_eq!(slots.current(late).unwrap().serial(), 7);
        slots.release(first);
        assert!(slots.current(late).is_none());
        let second = slots.acquire(thread(8)).unwrap();
        assert_eq!(second.index, first.index, "the slot is used again");
        assert!(
            slots.current(late).is_none(),
            "but the late signal does not fit"
        );
        assert_eq!(slots.current(second.as_signal_value()).unwrap().serial(), 8);
    }

    #[test]
    fn ten_thousand_threads_have_ten_thousand_slots() {
        let slots = Slots::new();
        let tokens: Vec<_> = (0..10_000)
            .map(|n| slots.acquire(thread(n)).unwrap())
            .collect();
        for (serial, token) in tokens.iter().enumerate() {
            let current = slots.current(token.as_signal_value()).unwrap();
            assert_eq!(current.serial() as usize, serial);
        }
    }

    #[test]
    fn when_all_are_released_no_signal_finds_its_thread() {
        let slots = Slots::new();
        let tokens: Vec<_> = (0..300)
            .map(|n| slots.acquire(thread(n)).unwrap())
            .collect();
        slots.set_timer(tokens[7], TimerId(5));
        slots.release(tokens[3]);
        let mut timers = Vec::new();
        slots.release_all(|timer| timers.push(timer));
        assert_eq!(timers, [TimerId(5)]);
        for token in tokens {
            assert!(slots.current(token.as_signal_value()).is_none());
            assert!(slots.release(token).is_none(), "released twice");
        }
    }

    #[test]
    fn garbage_in_a_signal_is_no_thread() {
        let slots = Slots::new();
        slots.acquire(thread(1)).unwrap();
        for value in [0, 1, usize::MAX, 0xffff_ffff, 1 << 32 | 0xfff_ffff] {
            assert!(slots.current(value).is_none());
        }
    }
}

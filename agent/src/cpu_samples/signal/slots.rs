//! The handler's record of each sampled thread.

use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::time::Duration;

pub use hprof_lockfree::slots::SlotToken;
use hprof_lockfree::slots::Slots;
use jni_sys::JNIEnv;

use crate::os::timer::{self, TimerId};
use crate::vm::WalkedThread;

/// The facts about a thread at its registration.
#[derive(Clone, Copy, Debug)]
pub struct SampledThread {
    /// The kernel's thread id.
    pub tid: i32,
    /// The thread's JNI environment.
    pub env: *mut JNIEnv,
    /// Its serial in the profile.
    pub serial: u32,
    /// The lowest address of its stack; 0 when not known.
    pub stack_start: usize,
    /// The highest address of its stack; 0 when not known.
    pub stack_end: usize,
    /// Where the VM keeps stack pointer and program counter of the thread's last
    /// Java frame; 0 when not known.
    pub anchor: (usize, usize),
}

/// No timer has this number.
const NO_TIMER: i32 = -1;

/// The content of a thread's slot. All methods are safe in a signal handler.
#[derive(Default)]
pub(super) struct ThreadState {
    tid: AtomicI32,
    timer: AtomicI32,
    /// Only for the thread itself.
    env: AtomicPtr<JNIEnv>,
    serial: AtomicU32,
    virtual_thread: AtomicU32,
    sampled_virtual_thread: AtomicU32,
    stack_start: AtomicUsize,
    stack_end: AtomicUsize,
    anchor_sp: AtomicUsize,
    anchor_pc: AtomicUsize,
    cpu_start_nanos: AtomicU64,
    /// Whether no signal has come yet.
    fresh: AtomicBool,
    /// Whether the thread is not sampled.
    muted: AtomicBool,
    /// Intervals of the wall clock that the next signal counts: those with a CPU, and those without.
    running: AtomicU32,
    ready: AtomicU32,
}

impl ThreadState {
    pub(super) fn env(&self) -> *mut JNIEnv {
        self.env.load(Ordering::Relaxed)
    }

    pub(super) fn serial(&self) -> u32 {
        self.serial.load(Ordering::Relaxed)
    }

    /// Its stack and frame anchor, as a walk takes them.
    pub(super) fn walked(&self) -> WalkedThread {
        WalkedThread {
            stack_start: self.stack_start.load(Ordering::Relaxed),
            stack_end: self.stack_end(),
            anchor_sp: self.anchor_sp.load(Ordering::Relaxed),
        }
    }

    pub(super) fn stack_end(&self) -> usize {
        self.stack_end.load(Ordering::Relaxed)
    }

    /// Addresses of the last Java frame's stack pointer and program counter.
    pub(super) fn anchor(&self) -> (usize, usize) {
        (
            self.anchor_sp.load(Ordering::Relaxed),
            self.anchor_pc.load(Ordering::Relaxed),
        )
    }

    pub(super) fn is_muted(&self) -> bool {
        self.muted.load(Ordering::Relaxed)
    }

    /// True once, for the thread's first signal.
    pub(super) fn is_first_signal(&self) -> bool {
        self.fresh.load(Ordering::Relaxed) && self.fresh.swap(false, Ordering::Relaxed)
    }

    /// The intervals of the wall clock that a signal counts: those with a CPU, and those without.
    pub(super) fn take_intervals(&self) -> (u32, u32) {
        let take = |count: &AtomicU32| count.swap(0, Ordering::Relaxed);
        (take(&self.running), take(&self.ready))
    }

    pub(super) fn timer(&self) -> TimerId {
        TimerId(self.timer.load(Ordering::Relaxed))
    }

    /// The serial of the virtual thread that runs now, noting that it was sampled.
    pub(super) fn sample_virtual_thread(&self) -> u32 {
        let serial = self.virtual_thread.load(Ordering::Relaxed);
        if serial != 0 {
            self.sampled_virtual_thread.store(serial, Ordering::Relaxed);
        }
        serial
    }

    fn begin(&self, thread: SampledThread, cpu_nanos: u64, muted: bool) {
        self.tid.store(thread.tid, Ordering::Relaxed);
        self.timer.store(NO_TIMER, Ordering::Relaxed);
        self.env.store(thread.env, Ordering::Relaxed);
        self.serial.store(thread.serial, Ordering::Relaxed);
        self.virtual_thread.store(0, Ordering::Relaxed);
        self.sampled_virtual_thread.store(0, Ordering::Relaxed);
        self.stack_start
            .store(thread.stack_start, Ordering::Relaxed);
        self.stack_end.store(thread.stack_end, Ordering::Relaxed);
        self.anchor_sp.store(thread.anchor.0, Ordering::Relaxed);
        self.anchor_pc.store(thread.anchor.1, Ordering::Relaxed);
        self.cpu_start_nanos.store(cpu_nanos, Ordering::Relaxed);
        self.fresh.store(true, Ordering::Relaxed);
        self.muted.store(muted, Ordering::Relaxed);
        self.take_intervals();
    }

    fn end(&self) -> Option<TimerId> {
        let timer = self.timer.swap(NO_TIMER, Ordering::Relaxed);
        self.env.store(ptr::null_mut(), Ordering::Relaxed);
        (timer != NO_TIMER).then_some(TimerId(timer))
    }
}

/// The threads that are sampled.
#[derive(Default)]
pub(super) struct ThreadSlots {
    slots: Slots<ThreadState>,
    /// Whether threads to come are muted. Changed only while no thread gets a slot.
    muted: AtomicBool,
}

impl ThreadSlots {
    /// The thread that a signal was sent for; `None` when it has ended. Safe in a
    /// signal handler.
    #[inline]
    pub(super) fn current(&self, signal_value: usize) -> Option<&ThreadState> {
        self.slots.current(signal_value)
    }

    /// Takes a free slot for a thread; `None` when a million threads are live.
    pub(super) fn acquire(&self, thread: SampledThread) -> Option<SlotToken> {
        let cpu_nanos = timer::thread_cpu_nanos(thread.tid);
        self.slots
            .acquire(|slot| slot.begin(thread, cpu_nanos, self.muted.load(Ordering::Relaxed)))
    }

    pub(super) fn set_timer(&self, token: SlotToken, id: TimerId) {
        self.slots
            .with(token, |slot| slot.timer.store(id.0, Ordering::Relaxed));
    }

    /// Adds intervals of the wall clock for the thread's next signal, and has `send` send it to this kernel
    /// thread id. False if the thread has ended, or nothing could be sent.
    pub(super) fn sample(
        &self,
        token: SlotToken,
        running: u32,
        ready: u32,
        send: impl FnOnce(i32) -> bool,
    ) -> bool {
        let sent = self.slots.with(token, |slot| {
            slot.running.fetch_add(running, Ordering::Relaxed);
            slot.ready.fetch_add(ready, Ordering::Relaxed);
            let sent = send(slot.tid.load(Ordering::Relaxed));
            if !sent {
                slot.take_intervals();
            }
            sent
        });
        sent.unwrap_or(false)
    }

    /// Called on the thread itself, so that the slot stays its own.
    pub(super) fn set_virtual_thread(&self, token: SlotToken, serial: u32) -> u32 {
        let Some(slot) = self.slots.live(token) else {
            return 0;
        };
        slot.virtual_thread.store(serial, Ordering::Relaxed);
        slot.sampled_virtual_thread.swap(0, Ordering::Relaxed)
    }

    pub(super) fn cpu_time(&self, token: SlotToken) -> Duration {
        let nanos = self.slots.with(token, |slot| {
            let now = timer::thread_cpu_nanos(slot.tid.load(Ordering::Relaxed));
            now.saturating_sub(slot.cpu_start_nanos.load(Ordering::Relaxed))
        });
        Duration::from_nanos(nanos.unwrap_or(0))
    }

    pub(super) fn mute(&self, token: SlotToken, muted: bool) {
        self.slots
            .with(token, |slot| slot.muted.store(muted, Ordering::Relaxed));
    }

    pub(super) fn mute_all(&self, muted: bool) {
        // Before the slots: a thread that gets its slot meanwhile finds it so.
        self.muted.store(muted, Ordering::Relaxed);
        self.slots
            .with_all(|slot| slot.muted.store(muted, Ordering::Relaxed));
    }

    /// Frees the slot and returns the timer that must be deleted.
    pub(super) fn release(&self, token: SlotToken) -> Option<TimerId> {
        self.slots.release(token, ThreadState::end).flatten()
    }

    /// Frees all slots; `delete` gets their timers.
    pub(super) fn release_all(&self, mut delete: impl FnMut(TimerId)) {
        self.slots.release_all(|slot| {
            slot.end().map(&mut delete);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(serial: u32) -> SampledThread {
        SampledThread {
            tid: 1,
            env: ptr::null_mut(),
            serial,
            stack_start: 0,
            stack_end: 0,
            anchor: (0, 0),
        }
    }

    #[test]
    fn a_timer_is_deleted_once() {
        let threads = ThreadSlots::default();
        let tokens = [1, 2].map(|serial| threads.acquire(thread(serial)).unwrap());
        threads.set_timer(tokens[0], TimerId(5));
        let mut timers = Vec::new();
        threads.release_all(|timer| timers.push(timer));
        assert_eq!(timers, [TimerId(5)]);
        assert_eq!(threads.release(tokens[0]), None);
    }

    #[test]
    fn what_is_muted_for_all_holds_for_threads_to_come() {
        let threads = ThreadSlots::default();
        let is_muted = |token: SlotToken| {
            let thread = threads.current(token.as_signal_value());
            thread.map(ThreadState::is_muted)
        };
        let early = threads.acquire(thread(1)).unwrap();
        threads.mute_all(true);
        let late = threads.acquire(thread(2)).unwrap();
        assert_eq!([early, late].map(is_muted), [Some(true); 2]);
        threads.mute(early, false);
        assert_eq!([early, late].map(is_muted), [Some(false), Some(true)]);
        threads.release(early);
        threads.mute(early, true);
        assert_eq!(is_muted(early), None);
    }
}

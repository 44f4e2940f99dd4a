//! The handler's record of each sampled thread.

use std::io;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
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
    /// It starts now, and is the current one.
    pub is_starting: bool,
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
    /// The thread's CPU clock since when its time counts, and what counts from before that.
    cpu_start_nanos: AtomicU64,
    cpu_before_nanos: AtomicU64,
    /// Its time counts: not before it gets its timer, if that is later.
    is_counted: AtomicBool,
    /// Whether no signal has come yet.
    fresh: AtomicBool,
    /// Its signals count 2 to the power of this times; see [`super::starts`].
    shift: AtomicU8,
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

    /// For how many threads the signals of this one stand; see [`super::starts`].
    pub(super) fn factor(&self) -> u32 {
        1_u32.wrapping_shl(self.shift.load(Ordering::Relaxed).into())
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

    fn begin(&self, thread: SampledThread, cpu_nanos: Option<u64>, muted: bool) {
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
        self.cpu_start_nanos
            .store(cpu_nanos.unwrap_or(0), Ordering::Relaxed);
        self.cpu_before_nanos.store(0, Ordering::Relaxed);
        self.is_counted
            .store(cpu_nanos.is_some(), Ordering::Relaxed);
        self.fresh.store(true, Ordering::Relaxed);
        self.shift.store(0, Ordering::Relaxed);
        self.muted.store(muted, Ordering::Relaxed);
        self.take_intervals();
    }

    /// The CPU time that counts, given the thread's clock now.
    fn cpu_nanos(&self, now: u64) -> u64 {
        let since = now.saturating_sub(self.cpu_start_nanos.load(Ordering::Relaxed));
        let before = self.cpu_before_nanos.load(Ordering::Relaxed);
        before.saturating_add(since.saturating_mul(self.factor().into()))
    }

    /// Has the thread stand for itself alone from now on.
    fn settle(&self, now: u64) {
        if self.is_counted.swap(true, Ordering::Relaxed) {
            let before = self.cpu_nanos(now);
            self.cpu_before_nanos.store(before, Ordering::Relaxed);
        }
        self.cpu_start_nanos.store(now, Ordering::Relaxed);
        self.shift.store(0, Ordering::Relaxed);
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

    /// Takes a free slot for a thread; `None` when a million threads are live. Its CPU time counts from now on, or
    /// when it is settled.
    pub(super) fn acquire(&self, thread: SampledThread, is_counted: bool) -> Option<SlotToken> {
        let cpu_nanos = is_counted.then(|| timer::thread_cpu_nanos(thread.tid));
        self.slots
            .acquire(|slot| slot.begin(thread, cpu_nanos, self.muted.load(Ordering::Relaxed)))
    }

    /// Notes a thread's timer, whose signals stand for those of 2 to the power of `shift` threads.
    pub(super) fn set_timer(&self, token: SlotToken, id: TimerId, shift: u8) {
        self.slots.with(token, |slot| {
            slot.shift.store(shift, Ordering::Relaxed);
            slot.timer.store(id.0, Ordering::Relaxed);
        });
    }

    /// Has the thread stand for itself alone from now on. `create` gives it a timer on the clock of this kernel thread,
    /// if it has none, and `start` starts that. The thread cannot end meanwhile.
    ///
    /// # Errors
    /// Those of `create` and `start`.
    pub(super) fn settle(
        &self,
        token: SlotToken,
        create: impl FnOnce(i32) -> io::Result<TimerId>,
        start: impl FnOnce(TimerId) -> io::Result<()>,
    ) -> io::Result<()> {
        let settled = self.slots.with(token, |slot| {
            let tid = slot.tid.load(Ordering::Relaxed);
            slot.settle(timer::thread_cpu_nanos(tid));
            if slot.timer() != TimerId(NO_TIMER) {
                return Ok(());
            }
            let id = create(tid)?;
            // Known before the first signal, which resets it.
            slot.timer.store(id.0, Ordering::Relaxed);
            start(id)
        });
        settled.unwrap_or(Ok(()))
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
            let is_counted = slot.is_counted.load(Ordering::Relaxed);
            let now = || timer::thread_cpu_nanos(slot.tid.load(Ordering::Relaxed));
            if is_counted { slot.cpu_nanos(now()) } else { 0 }
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
            is_starting: false,
        }
    }

    #[test]
    fn a_timer_is_deleted_once() {
        let threads = ThreadSlots::default();
        let tokens = [1, 2].map(|serial| threads.acquire(thread(serial), true).unwrap());
        threads.set_timer(tokens[0], TimerId(5), 0);
        let mut timers = Vec::new();
        threads.release_all(|timer| timers.push(timer));
        assert_eq!(timers, [TimerId(5)]);
        assert_eq!(threads.release(tokens[0]), None);
    }

    #[test]
    fn a_thread_settles_once_and_keeps_its_timer() {
        let threads = ThreadSlots::default();
        let [with, without, ended] =
            [1, 2, 3].map(|serial| threads.acquire(thread(serial), true).unwrap());
        threads.set_timer(with, TimerId(5), 3);
        threads.release(ended);
        let factor = |token: SlotToken| threads.current(token.as_signal_value()).unwrap().factor();
        assert_eq!([with, without].map(factor), [8, 1]);

        let mut created = Vec::new();
        let mut settle = |token| {
            let create = |tid| {
                created.push(tid);
                Ok(TimerId(6))
            };
            threads.settle(token, create, |_| Ok(())).unwrap();
        };
        for token in [with, without, ended, without] {
            settle(token);
        }
        assert_eq!(created, [1]);
        assert_eq!([with, without].map(factor), [1, 1]);
        assert_eq!(threads.release(with), Some(TimerId(5)));
        assert_eq!(threads.release(without), Some(TimerId(6)));
    }

    #[test]
    fn time_counts_as_often_as_signals() {
        let state = ThreadState::default();
        state.begin(thread(1), Some(100), false);
        assert_eq!(state.cpu_nanos(150), 50);
        state.shift.store(2, Ordering::Relaxed);
        assert_eq!(state.cpu_nanos(150), 200);
        state.settle(160);
        assert_eq!(state.cpu_nanos(170), 250);

        state.begin(thread(2), None, false);
        state.settle(160);
        assert_eq!(state.cpu_nanos(170), 10);
    }

    #[test]
    fn what_is_muted_for_all_holds_for_threads_to_come() {
        let threads = ThreadSlots::default();
        let is_muted = |token: SlotToken| {
            let thread = threads.current(token.as_signal_value());
            thread.map(ThreadState::is_muted)
        };
        let early = threads.acquire(thread(1), true).unwrap();
        threads.mute_all(true);
        let late = threads.acquire(thread(2), true).unwrap();
        assert_eq!([early, late].map(is_muted), [Some(true); 2]);
        threads.mute(early, false);
        assert_eq!([early, late].map(is_muted), [Some(false), Some(true)]);
        threads.release(early);
        threads.mute(early, true);
        assert_eq!(is_muted(early), None);
    }
}

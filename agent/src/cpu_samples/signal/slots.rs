//! The handler's record of each sampled thread.

use std::io;
use std::num::NonZeroU64;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::time::Duration;

pub use hprof_lockfree::slots::SlotToken;
use hprof_lockfree::slots::Slots;
use jni_sys::JNIEnv;

use super::moments::Moments;
use crate::os::random::random;
use crate::os::timer::{self, TimerId};
use crate::vm::WalkedThread;

/// CPU time that a thread uses after a signal was sent to it, without taking it, before that is held to be blocked. A
/// signal that is not comes at the end of a system call, which may take long.
pub(super) const UNHEARD_NANOS: u64 = 50_000_000;

/// The fate of a signal that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    Yes,
    /// The thread has ended, or the kernel sends nothing.
    No,
    /// Earlier ones are still pending: the thread blocks the signal. They would have counted these intervals, with a CPU
    /// and without, which nothing counts now.
    Unheard(u32, u32),
}

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
/// Nor this, which stands for a timer that the kernel has refused.
const REFUSED_TIMER: i32 = -2;

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
    /// True if no signal has come yet.
    fresh: AtomicBool,
    /// The next [`Moments`].
    interval_start: AtomicU64,
    next_moment: AtomicU64,
    /// The timer that puts samples off, which threads get that ask for it; see [`super::ticks`].
    delay_timer: AtomicI32,
    wants_delay_timer: AtomicBool,
    /// Intervals that its next signal counts.
    put_off: AtomicU32,
    put_off_until: AtomicU64,
    /// How often the thread has waited, and its CPU clock when that was seen to change.
    waits: AtomicU64,
    ran_since: AtomicU64,
    /// Samples have been put off since.
    is_putting_off: AtomicBool,
    /// The thread blocks the signal, and is sampled in another way; see `cpu_samples::recorder::deaf`.
    is_deaf: AtomicBool,
    /// The CPU clock when a signal was sent on the wall clock.
    sent_at: AtomicU64,
    /// Its signals count 2 to the power of this times; see [`super::starts`].
    shift: AtomicU8,
    /// True if the thread is not sampled.
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

    /// Begins to draw moments, at this CPU time.
    pub(super) fn begin_moments(&self, cpu_nanos: u64, interval: NonZeroU64) -> Moments {
        let moments = Moments::begin(cpu_nanos, interval, random());
        self.set_moments(moments);
        moments
    }

    /// The number of moments that have passed at this CPU time, and the next one.
    pub(super) fn pass_moments(&self, cpu_nanos: u64, interval: NonZeroU64) -> (u64, Moments) {
        let mut moments = self.moments();
        let passed = moments.pass(cpu_nanos, interval, random);
        self.set_moments(moments);
        (passed, moments)
    }

    fn moments(&self) -> Moments {
        Moments {
            interval_start: self.interval_start.load(Ordering::Relaxed),
            next: self.next_moment.load(Ordering::Relaxed),
        }
    }

    fn set_moments(&self, moments: Moments) {
        self.interval_start
            .store(moments.interval_start, Ordering::Relaxed);
        self.next_moment.store(moments.next, Ordering::Relaxed);
    }

    /// A signal has come. Returns whether none did for so long that the thread was sampled in another way.
    pub(super) fn hears(&self) -> bool {
        self.is_deaf.load(Ordering::Relaxed) && self.is_deaf.swap(false, Ordering::Relaxed)
    }

    /// The CPU time for which the thread has not waited, at least, if it has waited this often until now.
    pub(super) fn note_waits(&self, waits: u64, cpu_nanos: u64) -> u64 {
        if self.waits.swap(waits, Ordering::Relaxed) != waits {
            self.ran_since.store(cpu_nanos, Ordering::Relaxed);
            self.is_putting_off.store(false, Ordering::Relaxed);
        }
        cpu_nanos.saturating_sub(self.ran_since.load(Ordering::Relaxed))
    }

    /// Returns true if the thread has not waited more often than was noted last.
    pub(super) fn has_not_waited(&self, waits: u64) -> bool {
        self.waits.load(Ordering::Relaxed) == waits
    }

    /// The timer that puts samples off; asks for one if there is none.
    pub(super) fn delay_timer(&self) -> Option<TimerId> {
        let timer = self.delay_timer.load(Ordering::Relaxed);
        if timer == NO_TIMER {
            self.wants_delay_timer.store(true, Ordering::Relaxed);
        }
        (timer >= 0).then_some(TimerId(timer))
    }

    /// Puts intervals off until this CPU time. Returns whether they are the first since the thread waited.
    pub(super) fn put_off(&self, intervals: u32, until: u64) -> bool {
        self.put_off.fetch_add(intervals, Ordering::Relaxed);
        self.put_off_until.store(until, Ordering::Relaxed);
        !self.is_putting_off.swap(true, Ordering::Relaxed)
    }

    /// The CPU time until which intervals are put off.
    pub(super) fn put_off_until(&self) -> u64 {
        self.put_off_until.load(Ordering::Relaxed)
    }

    /// The intervals that were put off.
    pub(super) fn take_put_off(&self) -> u32 {
        self.put_off.swap(0, Ordering::Relaxed)
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
        self.delay_timer.store(NO_TIMER, Ordering::Relaxed);
        self.wants_delay_timer.store(false, Ordering::Relaxed);
        self.take_put_off();
        self.waits.store(0, Ordering::Relaxed);
        self.ran_since.store(0, Ordering::Relaxed);
        self.is_putting_off.store(false, Ordering::Relaxed);
        self.is_deaf.store(false, Ordering::Relaxed);
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

    /// The moments from which on the thread has had no signal, if that is `limit` of its CPU time ago by now. They begin
    /// where the samples of signals end.
    fn unheard(&self, now: u64, limit: u64, interval: NonZeroU64) -> Option<Moments> {
        if self.timer.load(Ordering::Relaxed) < 0 {
            return None;
        }
        let moments = match self.fresh.load(Ordering::Relaxed) {
            true => {
                let start = self.cpu_start_nanos.load(Ordering::Relaxed);
                Moments::begin(start, interval, random())
            }
            false => self.moments(),
        };
        (moments.next.saturating_add(limit) < now).then_some(moments)
    }

    /// Returns the timers that must be deleted.
    fn end(&self) -> impl Iterator<Item = TimerId> + use<> {
        self.env.store(ptr::null_mut(), Ordering::Relaxed);
        self.wants_delay_timer.store(false, Ordering::Relaxed);
        [&self.timer, &self.delay_timer]
            .map(|timer| timer.swap(NO_TIMER, Ordering::Relaxed))
            .into_iter()
            .filter(|&timer| timer >= 0)
            .map(TimerId)
    }
}

/// The threads that are sampled.
#[derive(Default)]
pub(super) struct ThreadSlots {
    slots: Slots<ThreadState>,
    /// True if threads to come are muted. Changed only while no thread gets a slot.
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

    /// Notes a thread's timer, whose signals stand for those of 2 to the power of `shift` threads. False if the thread has
    /// ended.
    pub(super) fn set_timer(&self, token: SlotToken, id: TimerId, shift: u8) -> bool {
        let noted = self.slots.with(token, |slot| {
            slot.shift.store(shift, Ordering::Relaxed);
            slot.timer.store(id.0, Ordering::Relaxed);
        });
        noted.is_some()
    }

    /// Has the thread stand for itself alone from now on. `create` gives it a timer on the clock of this kernel thread,
    /// if it has none, and `start` starts that. The thread cannot end meanwhile.
    ///
    /// # Errors
    /// Errors of `create` and `start`.
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

    /// Has `create` make a timer for each thread that asks for one to put samples off, given its kernel thread id and
    /// what its signals carry. Threads that get none ask no more.
    pub(super) fn give_delay_timers(
        &self,
        mut create: impl FnMut(i32, usize) -> io::Result<TimerId>,
    ) {
        self.slots.with_all(|token, slot| {
            // A handler that runs while the timer is made asks once more. A slot without a timer may be free.
            let has_none = slot.timer.load(Ordering::Relaxed) >= 0
                && slot.delay_timer.load(Ordering::Relaxed) == NO_TIMER;
            if slot.wants_delay_timer.swap(false, Ordering::Relaxed) && has_none {
                let tid = slot.tid.load(Ordering::Relaxed);
                let timer = create(tid, token.as_signal_value());
                let timer = timer.map_or(REFUSED_TIMER, |timer| timer.0);
                slot.delay_timer.store(timer, Ordering::Relaxed);
            }
        });
    }

    /// The moments from which on a thread has had no signal, and its kernel thread id, if that is `limit` of its CPU time
    /// ago.
    pub(super) fn unheard(
        &self,
        token: SlotToken,
        limit: u64,
        interval: NonZeroU64,
    ) -> Option<(i32, Moments)> {
        let unheard = self.slots.with(token, |slot| {
            let tid = slot.tid.load(Ordering::Relaxed);
            let moments = slot.unheard(timer::thread_cpu_nanos(tid), limit, interval);
            moments.map(|moments| (tid, moments))
        });
        unheard.flatten()
    }

    /// The thread is sampled in another way, until a signal comes.
    pub(super) fn set_deaf(&self, token: SlotToken) {
        self.slots
            .with(token, |slot| slot.is_deaf.store(true, Ordering::Relaxed));
    }

    /// Returns true if the thread is still sampled in another way.
    pub(super) fn is_deaf(&self, token: SlotToken) -> bool {
        let is_deaf = |slot: &ThreadState| slot.is_deaf.load(Ordering::Relaxed);
        self.slots.with(token, is_deaf).unwrap_or(false)
    }

    /// Adds intervals of the wall clock for the thread's next signal, and has `send` send it to this kernel
    /// thread id, whose CPU clock is at `cpu_nanos`.
    pub(super) fn sample(
        &self,
        token: SlotToken,
        (running, ready): (u32, u32),
        cpu_nanos: u64,
        send: impl FnOnce(i32) -> bool,
    ) -> Sent {
        let sent = self.slots.with(token, |slot| {
            let before = slot.take_intervals();
            let sent_at = slot.sent_at.load(Ordering::Relaxed);
            if before != (0, 0) && cpu_nanos.saturating_sub(sent_at) > UNHEARD_NANOS {
                // The one that is pending tells when the thread lets it through, and counts nothing then.
                slot.is_deaf.store(true, Ordering::Relaxed);
                return Sent::Unheard(before.0, before.1);
            }
            if slot.is_deaf.load(Ordering::Relaxed) {
                return Sent::Unheard(0, 0);
            }
            if before == (0, 0) {
                slot.sent_at.store(cpu_nanos, Ordering::Relaxed);
            }
            slot.running
                .fetch_add(running.saturating_add(before.0), Ordering::Relaxed);
            slot.ready
                .fetch_add(ready.saturating_add(before.1), Ordering::Relaxed);
            if send(slot.tid.load(Ordering::Relaxed)) {
                return Sent::Yes;
            }
            slot.take_intervals();
            Sent::No
        });
        sent.unwrap_or(Sent::No)
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
            .with_all(|_, slot| slot.muted.store(muted, Ordering::Relaxed));
    }

    /// Frees the slot and returns the timers that must be deleted.
    pub(super) fn release(&self, token: SlotToken) -> impl Iterator<Item = TimerId> + use<> {
        let ended = self.slots.release(token, ThreadState::end);
        ended.into_iter().flatten()
    }

    /// Frees all slots; `delete` gets their timers.
    pub(super) fn release_all(&self, mut delete: impl FnMut(TimerId)) {
        self.slots.release_all(|slot| {
            slot.end().for_each(&mut delete);
        });
    }
}

#[cfg(test)]
mod tests;

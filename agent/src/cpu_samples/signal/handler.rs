//! The signal handler. See the rules in the parent module.

use std::ffi::c_void;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use hprof_lockfree::ring::{Header, Ring};
use hprof_lockfree::switch::Inside;

use super::SignalEngine;
use super::anchor;
use super::asgct::AsgctFrame;
use super::first_signal::FirstSignal;
use super::slots::ThreadState;
use super::ticks;
use super::unwind::{self, Registers};
use crate::os::perf_event;
use crate::os::signals::{self, Installed};
use crate::os::timer::{self, TimerInfo};
use crate::vm::Fault;

/// `AsyncGetCallTrace`'s codes for a thread in Java code whose top frame it
/// could not make out.
const UNKNOWN_JAVA: i32 = -5;
const NOT_WALKABLE_JAVA: i32 = -6;
/// The code for a thread in VM code whose last Java frame is not complete.
const UNKNOWN_NOT_JAVA: i32 = -3;

static ENGINE: AtomicPtr<SignalEngine> = AtomicPtr::new(ptr::null_mut());

/// Makes the engine known to the handler, for ever.
pub(super) fn publish(engine: &'static SignalEngine) {
    ENGINE.store(ptr::from_ref(engine).cast_mut(), Ordering::Release);
}

/// Returns true if the handler still gets its signal.
pub fn is_in_place(installed: Installed) -> bool {
    installed.is_handled_by(on_signal)
}

/// Takes a sample of the current thread.
pub(super) extern "C" fn on_signal(_signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    signals::keep_errno(|| {
        let engine = ENGINE.load(Ordering::Acquire);
        if !engine.is_null() && !info.is_null() && !context.is_null() {
            // SAFETY: a published engine is leaked; the kernel filled in `info`, and
            // siginfo_t is larger than the view of it.
            let (engine, info) = unsafe { (&*engine, &*info.cast::<TimerInfo>()) };
            // Before the handler reads the ring, so that a thread that exchanges the ring waits for this handler.
            let inside = engine.ring.enter();
            take_sample(engine, &inside, info, context);
            drop(inside);
        }
    });
}

fn take_sample(
    engine: &SignalEngine,
    inside: &Inside<'_, AsgctFrame>,
    info: &TimerInfo,
    context: *mut c_void,
) {
    let of_event = engine.event_weight.load(Ordering::Relaxed);
    if of_event > 0 {
        return take_event(engine, inside, info, context, of_event);
    }
    let is_wall = engine.is_wall.load(Ordering::Relaxed);
    let ours = if is_wall {
        libc::SI_QUEUE
    } else {
        libc::SI_TIMER
    };
    if info.code != ours {
        engine.foreign.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let is_put_off = !is_wall && info.value & ticks::PUT_OFF != 0;
    let Some(thread) = engine.slots.current(info.value & !ticks::PUT_OFF) else {
        return;
    };
    let Some(ring) = inside.get() else {
        return;
    };
    // The timer is set again before anything else is asked, or a pause would be its end.
    let due = match (is_wall, is_put_off) {
        (true, _) => 0,
        (false, true) => ticks::due_now(thread),
        (false, false) => due_at_tick(engine, thread, info),
    };
    if !is_sampled(engine, thread) {
        return;
    }
    let (running, ready) = match is_wall {
        true => {
            thread.hears();
            thread.take_intervals()
        }
        false => (due, 0),
    };
    let weight = running.saturating_add(ready);
    if weight > 0 {
        write(engine, ring, thread, (weight, ready), None, context);
    }
}

/// Takes a sample that an event of the kernel asks for.
fn take_event(
    engine: &SignalEngine,
    inside: &Inside<'_, AsgctFrame>,
    info: &TimerInfo,
    context: *mut c_void,
    weight: u32,
) {
    let Some((file, value)) = perf_event::sender(info.code, info.value) else {
        engine.foreign.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let Some(thread) = engine.slots.current(value) else {
        return;
    };
    if let Some(ring) = inside.get()
        && is_sampled(engine, thread)
    {
        write(engine, ring, thread, (weight, 0), Some(file), context);
    }
    // Last, as events of the handler do not count.
    if engine.is_armed.load(Ordering::Relaxed) {
        perf_event::arm(file);
    }
}

/// Returns true if a thread, the current one, is to be sampled.
fn is_sampled(engine: &SignalEngine, thread: &ThreadState) -> bool {
    // A thread that was running when it was registered may have told of its end before that, so that
    // its slot is never taken back. Its last steps are without the VM's data, which may be another thread's by then.
    engine.sampling.load(Ordering::Acquire)
        && !thread.is_muted()
        && engine.vm.is_current(thread.env())
}

/// Writes a sample of the current thread to the ring, of this weight, of which `ready` is without a CPU. `event` is the
/// descriptor of the event that asked for it.
fn write(
    engine: &SignalEngine,
    ring: &Ring<AsgctFrame>,
    thread: &ThreadState,
    (weight, ready): (u32, u32),
    event: Option<i32>,
    context: *mut c_void,
) {
    let has_room = !Fault::NoRoom.is_wanted();
    let Some(claim) = has_room.then(|| ring.claim()).flatten() else {
        engine.lost.fetch_add(u64::from(weight), Ordering::Relaxed);
        return;
    };
    let (inner, places) = (claim.frames(), claim.depth());
    let inner_room = engine.c_frames.room().min(places.unsigned_abs());
    let c_frames = &engine.c_frames;
    // SAFETY: the claim has room for all places.
    let kernel = |file| unsafe { c_frames.write_kernel(file, inner, inner_room) };
    let kernel_count = event.map_or(0, kernel);
    // SAFETY: we are in the handler of this thread; the claim has room for all places.
    let native_count = unsafe {
        let (unwinder, walked) = (&engine.unwinder, thread.walked());
        let native = inner.wrapping_add(kernel_count as usize);
        let room = inner_room.saturating_sub(kernel_count);
        c_frames.write(unwinder, walked, native, room, context)
    };
    let inner_count = kernel_count.saturating_add(native_count);
    let frames = inner.wrapping_add(inner_count as usize);
    let depth = places.saturating_sub_unsigned(inner_room);
    // SAFETY: we are in the handler of this thread; the claim has room for `depth` frames.
    let own = unsafe {
        engine
            .walking
            .sample(thread.walked(), frames, depth, context)
    };
    // SAFETY: as above.
    let count = own.unwrap_or_else(|| unsafe { ask(engine, thread, frames, depth, context) });
    if own.is_none()
        && engine.walking.is_on_trial()
        && let Ok(found @ 1..) = usize::try_from(count)
    {
        // SAFETY: `ask` has written the first `found` frames, and has left the context as it was.
        unsafe {
            let expected = slice::from_raw_parts(frames, found);
            engine
                .walking
                .try_out(thread.walked(), expected, depth, context);
        }
    }
    let count = match inner_count {
        0 => count,
        _ if count > 0 => count.saturating_add_unsigned(inner_count),
        _ => {
            // SAFETY: one of the places that are not for Java frames is free.
            unsafe { frames.write(AsgctFrame::of_failure(count)) };
            inner_count.saturating_add(1).cast_signed()
        }
    };
    let header = Header {
        weight,
        ready,
        at: timer::monotonic_nanos(),
        thread: thread.serial(),
        virtual_thread: thread.sample_virtual_thread(),
        frame_count: count,
    };
    // SAFETY: `count` frames were written, `places` at most.
    unsafe { claim.publish(header) };
}

/// Sets the thread's timer for its next moment. Returns the intervals that this signal counts: none if the sample is put
/// off.
fn due_at_tick(engine: &SignalEngine, thread: &ThreadState, info: &TimerInfo) -> u32 {
    let interval = engine.interval();
    let cpu_nanos = timer::current_cpu_nanos();
    if cpu_nanos == 0 {
        // No clock: the timer goes on by itself, at its own pace.
        return (info.overrun.max(0) as u32).saturating_add(1);
    }
    let is_first = thread.is_first_signal();
    if thread.hears() {
        // What it has used until now is counted already.
        let moments = thread.begin_moments(cpu_nanos, interval);
        let wait = moments.next.saturating_sub(cpu_nanos);
        let _ = timer::start(thread.timer(), wait, engine.fallback());
        return 0;
    }
    let (passed, moments) = match is_first {
        true => (0, thread.begin_moments(cpu_nanos, interval)),
        false => thread.pass_moments(cpu_nanos, interval),
    };
    let wait = moments.next.saturating_sub(cpu_nanos);
    // A failure here leaves the timer as it is, late by some intervals, which are counted then.
    let _ = timer::start(thread.timer(), wait, engine.fallback());
    let factor = thread.factor();
    if is_first {
        let tick_nanos = engine.scheduler_tick_nanos;
        return FirstSignal::new(interval, tick_nanos.saturating_mul(factor.into())).weight();
    }
    let passed = u32::try_from(passed).unwrap_or(u32::MAX);
    ticks::put_off(engine, thread, cpu_nanos, passed.saturating_mul(factor))
}

/// Asks the VM for the frames of the current thread. Returns their number, or the VM's failure code.
///
/// # Safety
/// We are in the handler of this thread, with its context; `frames` has room for `depth` frames.
unsafe fn ask(
    engine: &SignalEngine,
    thread: &ThreadState,
    frames: *mut AsgctFrame,
    depth: i32,
    context: *mut c_void,
) -> i32 {
    let env = thread.env();
    // SAFETY: by the caller's promise; `env` is the thread's environment.
    let walk = || unsafe { engine.walk.walk(env, frames, depth, context) };
    let mut count = walk();
    if count == UNKNOWN_JAVA || count == NOT_WALKABLE_JAVA {
        // SAFETY: the context is the kernel's.
        let top = unsafe { unwind::registers(context) };
        let again = engine
            .unwinder
            .retry(top, thread.stack_end(), |r: Registers| {
                // SAFETY: as above; the old registers are put back below.
                unsafe { unwind::set_registers(context, r) };
                walk()
            });
        // SAFETY: as above.
        unsafe { unwind::set_registers(context, top) };
        count = again.unwrap_or(count);
    }
    if count == UNKNOWN_NOT_JAVA {
        let (sp_at, pc_at) = thread.anchor();
        // SAFETY: the addresses are those of the current thread's anchor.
        count = unsafe { anchor::complete(sp_at, pc_at, &engine.unwinder, walk) }.unwrap_or(count);
    }
    count
}

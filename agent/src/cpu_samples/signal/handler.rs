//! The signal handler. See the rules in the parent module.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::SignalEngine;
use super::anchor;
use super::timer;
use super::unwind::{self, Registers};

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

/// The members of `siginfo_t` for a timer (`man 2 sigaction`); the libc crate
/// does not show the overrun count.
#[repr(C)]
pub(crate) struct TimerInfo {
    signal: i32,
    errno: i32,
    pub(crate) code: i32,
    padding: i32,
    timer: i32,
    overrun: i32,
    pub(crate) value: usize,
}

/// Takes a sample of the current thread.
pub(super) extern "C" fn on_signal(_signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: __errno_location returns this thread's errno, which is plain memory.
    let errno_at = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let errno = unsafe { *errno_at };
    let engine = ENGINE.load(Ordering::Acquire);
    if !engine.is_null() && !info.is_null() && !context.is_null() {
        // SAFETY: a published engine is leaked; the kernel filled in `info`, and
        // siginfo_t is larger than the view of it.
        let (engine, info) = unsafe { (&*engine, &*info.cast::<TimerInfo>()) };
        take_sample(engine, info, context);
    }
    // SAFETY: as above.
    unsafe { *errno_at = errno };
}

fn take_sample(engine: &SignalEngine, info: &TimerInfo, context: *mut c_void) {
    if info.code != libc::SI_TIMER {
        engine.foreign.fetch_add(1, Ordering::Relaxed);
        return;
    }
    if !engine.sampling.load(Ordering::Acquire) {
        return;
    }
    let Some(thread) = engine.slots.current(info.value) else {
        return;
    };
    let weight = if thread.is_first_signal() {
        // A failure here leaves the timer as it is: a bias of half a tick.
        let _ = timer::start(thread.timer(), engine.first.next_expiry(), engine.interval);
        match engine.first.weight() {
            0 => return,
            weight => weight,
        }
    } else {
        (info.overrun.max(0) as u32).saturating_add(1)
    };
    let Some(claim) = engine.ring.claim() else {
        engine.lost.fetch_add(u64::from(weight), Ordering::Relaxed);
        return;
    };
    let (env, frames, depth) = (thread.env(), claim.frames(), claim.depth());
    // SAFETY: we are in the handler of this thread, whose environment `env` is;
    // the claim has room for `depth` frames.
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
    claim.publish(
        weight,
        thread.serial(),
        thread.sample_virtual_thread(),
        count,
    );
}

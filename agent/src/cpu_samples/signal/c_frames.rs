//! Frames of native code above a thread's last Java frame, for `cstack=y`, and those of the kernel above them where an event of the kernel
//! takes the samples.
//!
//! They stand in the ring before the frames of Java. A sample that has them and no Java frame ends with the reason.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use hprof_lockfree::published::Published;
use hprof_lockfree::ring::Ring;

use super::asgct::AsgctFrame;
use super::unwind::Unwinder;
use crate::os::perf_event;
use crate::vm::callers::CodeMap;
use crate::vm::{WalkedThread, interrupted_registers, walk_native};

/// Frames of native code at most.
const MAX_FRAMES: u32 = 32;
/// Room for these, and for the reason that there is no Java frame.
const ROOM: u32 = MAX_FRAMES + 1;
/// Frames of the kernel at most.
const MAX_KERNEL_FRAMES: u32 = 32;

/// The setting for frames of native code in samples, and the rules that find their callers.
#[derive(Default)]
pub(super) struct CFrames {
    is_wanted: AtomicBool,
    /// Samples have frames of the kernel.
    has_kernel: AtomicBool,
    /// The rules for callers.
    code: Published<CodeMap>,
}

impl CFrames {
    /// Samples of rings made from now on have frames of native code, or not, and of the kernel.
    pub(super) fn set(&self, is_wanted: bool, has_kernel: bool) {
        self.is_wanted.store(is_wanted, Ordering::Release);
        self.has_kernel.store(has_kernel, Ordering::Release);
    }

    /// Has callers found by these rules, or by frame pointers alone. Returns once no handler reads those before.
    pub(super) fn set_code(&self, code: Option<CodeMap>) {
        self.code.exchange(code);
    }

    /// A ring for stacks of `depth` Java frames.
    pub(super) fn ring(&self, depth: u32) -> Ring<AsgctFrame> {
        Ring::new(depth.saturating_add(self.room()))
    }

    /// How many places of a stack are not for Java frames. Safe in a signal handler.
    pub(super) fn room(&self) -> u32 {
        let kernel = match self.has_kernel.load(Ordering::Acquire) {
            true => MAX_KERNEL_FRAMES,
            false => 0,
        };
        match self.is_wanted.load(Ordering::Acquire) {
            true => ROOM.wrapping_add(kernel),
            false => 0,
        }
    }

    /// Writes the frames of the kernel of the current thread's newest sample, of the event with this descriptor; returns their
    /// number. Safe in a signal handler.
    ///
    /// # Safety
    /// `frames` has `room` places, of which those of native code stay free.
    pub(super) unsafe fn write_kernel(&self, file: i32, frames: *mut AsgctFrame, room: u32) -> u32 {
        let most = room.saturating_sub(ROOM).min(MAX_KERNEL_FRAMES);
        if most == 0 || !self.has_kernel.load(Ordering::Acquire) {
            return 0;
        }
        let mut count = 0u32;
        perf_event::kernel_frames(file, |address| {
            let place = frames.wrapping_add(count as usize);
            // SAFETY: the place is one of the `most` that there is room for.
            unsafe { place.write(AsgctFrame::of_code(address)) };
            count = count.saturating_add(1);
            count < most
        });
        count
    }

    /// Writes the frames of native code of the current thread, as of `context`; returns their number. Safe in a
    /// signal handler, except that it may change `errno`.
    ///
    /// # Safety
    /// Called in a signal handler with its own context; `thread` is the current one; `frames` has `room` places, of which
    /// one stays free.
    pub(super) unsafe fn write(
        &self,
        unwinder: &Unwinder,
        thread: WalkedThread,
        frames: *mut AsgctFrame,
        room: u32,
        context: *mut c_void,
    ) -> u32 {
        let most = room.saturating_sub(1).min(MAX_FRAMES);
        if most == 0 {
            return 0;
        }
        // SAFETY: by the caller's promise.
        let Some(registers) = (unsafe { interrupted_registers(context) }) else {
            return 0;
        };
        let mut count = 0u32;
        let receive = |address: usize| {
            let place = frames.wrapping_add(count as usize);
            // SAFETY: the place is one of the `most` that there is room for.
            unsafe { place.write(AsgctFrame::of_code(address)) };
            count = count.saturating_add(1);
            count < most
        };
        let is_java = |address| unwinder.is_java_code(address);
        let inside = self.code.enter();
        // SAFETY: by the caller's promise.
        unsafe { walk_native(thread, registers, inside.get(), is_java, receive) };
        count
    }
}

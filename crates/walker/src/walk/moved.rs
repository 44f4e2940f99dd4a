//! Compiled frames under which code without a frame pointer of its own has put words that their size does not have.
//!
//! ```text
//!            │ return address │
//!            │ caller's rbp   │ ◄─ equal to the register rbp: nothing has changed it since
//!            │ frame          │    of the size that the blob tells
//!            │ saved registers│    any number of words
//!            │ return address │    into the compiled method, where a routine was called
//! sp ──────► │ ...            │    words of the routine
//! ```
//!
//! The client compiler of JDK 8 makes such code for sines and cosines: it pushes all registers, aligns the stack pointer and calls
//! a C function that keeps no frame pointer. There, the frame pointer leads past the compiled method to the caller of
//! its caller. The compiled method has pushed the frame pointer that the register still has, so a frame with another one is none.

use super::innermost::{MAX_SAVED_WORDS, MAX_SCANNED_WORDS};
use super::{Frame, Waiting, Walk};
use crate::code::Kind;
use crate::machine::Machine;
use crate::memory::{Memory, WORD};

impl<M: Memory, R: FnMut(Frame) -> bool> Walk<'_, M, R> {
    /// The compiled frame that native code at `frame`, whose frame pointer leads to Java, was called from without
    /// making a frame of its own.
    pub(super) fn called_without_pointer(&self, frame: Waiting) -> Option<Waiting> {
        let words = isize::try_from(frame.fp.checked_sub(frame.sp)? / WORD).ok()?;
        (0..words.min(MAX_SCANNED_WORDS)).find_map(|index| {
            let pc = self.stack_word(frame.sp, index)?;
            if !self.is_code(pc) || self.is_interpreter(pc) || !self.is_after_call(pc) {
                return None;
            }
            let blob = self.blob(pc).filter(|blob| blob.kind == Kind::Method)?;
            let above = index.checked_add(1)?.checked_mul(WORD as isize)?;
            let sp = frame.sp.checked_add_signed(above)?;
            self.moved(Waiting { pc, sp, ..frame }, blob.frame_bytes)
        })
    }

    /// The compiled frame of the nearest return address, moved. Native code that uses the frame pointer for a number gives
    /// no better sign of it, so this comes after all others.
    pub(super) fn scanned_moved(&self, top: Waiting) -> Option<Waiting> {
        if self.walker.layout.machine != Machine::X86_64 {
            return None;
        }
        (0..MAX_SCANNED_WORDS).find_map(|index| {
            let pc = self.stack_word(top.sp, index)?;
            if !self.is_code(pc) || self.is_interpreter(pc) {
                return None;
            }
            let above = index.checked_add(1)?.checked_mul(WORD as isize)?;
            let sp = top.sp.checked_add_signed(above)?;
            self.below_saved_registers(Waiting { pc, sp, ..top })
        })
    }

    /// The frame at its real start. Its code has pushed the frame pointer that `frame` has.
    pub(super) fn moved(&self, frame: Waiting, bytes: usize) -> Option<Waiting> {
        if bytes == 0 || self.walker.layout.machine != Machine::X86_64 {
            return None;
        }
        (0..MAX_SAVED_WORDS).find_map(|words| {
            let sp = frame.sp.checked_add(words.checked_mul(WORD)?)?;
            let moved = Waiting { sp, ..frame };
            let caller = self.caller_by_size(moved, bytes)?;
            (caller.fp == frame.fp && self.calls_methods(caller)).then_some(moved)
        })
    }
}

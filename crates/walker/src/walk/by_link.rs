//! Where a walk begins on a processor whose calls put the return address into a register (AArch64).
//!
//! The register is `x30`, the link. Code that has made its frame may have called since, and the link then is an address in
//! that code. So it counts only where the frame is not complete.

#[cfg(test)]
mod tests;

use super::innermost::MAX_HALF_MADE;
use super::{Frame, Registers, Waiting, Walk};
use crate::code::{Blob, Kind};
use crate::instructions::Built;
use crate::instructions::aarch64::built;
use crate::memory::{Memory, WORD};

impl<M: Memory, R: FnMut(Frame) -> bool> Walk<'_, M, R> {
    fn link(&self, registers: Registers) -> usize {
        let machine = self.walker.layout.machine;
        machine.code_address(registers.result)
    }

    /// The Java frame that has called native code which has made no calls itself, or has just been called.
    pub(super) fn leaf_caller(&self, registers: Registers) -> Option<Waiting> {
        let Registers { sp, fp, .. } = registers;
        let pc = self.link(registers);
        let caller = Waiting { pc, sp, fp };
        if !self.is_code(pc) || !self.is_after_call(pc) {
            return None;
        }
        if self.is_plausible(caller) {
            return Some(caller);
        }
        // The routine has made a frame, of a size that nothing here tells.
        self.below_saved_registers(caller)
    }

    /// The caller of a method or stub that was interrupted.
    pub(super) fn compiled_caller_by_link(
        &self,
        blob: &Blob,
        entry: usize,
        is_complete: bool,
        registers: Registers,
    ) -> Option<Waiting> {
        let Registers { pc, sp, fp, .. } = registers;
        let frame = Waiting { pc, sp, fp };
        let link = self.link(registers);
        let in_link = Waiting { pc: link, sp, fp };
        let is_stub = !matches!(blob.kind, Kind::Method | Kind::Native);
        let found = if is_stub && (!is_complete || blob.frame_bytes == 0) {
            // Most stubs store the link first, and let the frame pointer show where. Some leave it, and make room on the stack.
            self.stored_link(frame, link)
                .or_else(|| match blob.code <= link && link < blob.end {
                    true => self.caller_by_frame_pointer(frame),
                    false if self.is_plausible(in_link) => Some(in_link),
                    false => self.below_saved_registers(in_link).or(Some(in_link)),
                })
        } else {
            match built(self.memory, entry, pc, is_complete) {
                Built::Nothing => Some(in_link),
                Built::FramePointer => self.caller_pushed(frame),
                Built::Room => sp
                    .checked_add(blob.frame_bytes)
                    .map(|sp| Waiting { sp, ..in_link }),
                Built::Complete => self.caller_by_size(frame, blob.frame_bytes),
            }
        };
        let good = |caller: &Waiting| self.is_return(caller.pc);
        found
            .filter(good)
            .or_else(|| {
                let caller = self.caller_by_frame_pointer(frame)?;
                self.is_plausible(caller).then_some(caller)
            })
            .or_else(|| self.scanned(frame))
    }

    /// The caller whose return address is in the link, and stored: on top of the stack, or where the frame pointer shows.
    fn stored_link(&self, frame: Waiting, link: usize) -> Option<Waiting> {
        let pushed = self.caller_pushed(frame);
        let by_fp = self.caller_by_frame_pointer(frame);
        pushed
            .filter(|caller| caller.pc == link && caller.fp == frame.fp)
            .or_else(|| by_fp.filter(|caller| caller.pc == link))
    }

    /// The frame of the interpreted method that was interrupted; returns the caller.
    pub(super) fn innermost_interpreted_by_link(
        &mut self,
        registers: Registers,
    ) -> Option<Waiting> {
        let Registers { pc, sp, fp, .. } = registers;
        let frame = Waiting { pc, sp, fp };
        let link = self.link(registers);
        let running = self.interpreted_method(frame);
        if running.is_some() && !self.is_entering(registers, running) {
            return self.interpreted(frame, Some(registers.bytecode));
        }
        // The method has no frame yet, or one that is being made.
        if self.is_method(registers.method) {
            self.emit(registers.method, 0)?;
        }
        let is_stored = self.stack_code(fp, 1) == Some(link)
            && fp.checked_sub(sp).is_some_and(|made| made <= MAX_HALF_MADE);
        let caller_fp = match is_stored {
            true => self.stack_word(fp, 0)?,
            false => fp,
        };
        let least = if is_stored { fp.checked_add(WORD)? } else { sp };
        let in_link = Waiting {
            pc: link,
            sp: least,
            fp: caller_fp,
        };
        if self.is_interpreter(link) {
            return Some(in_link).filter(|caller| self.is_plausible(*caller));
        }
        let callers = registers.caller_sp.into_iter().filter(|&sp| sp >= least);
        callers
            .map(|sp| Waiting { sp, ..in_link })
            .find(|caller| self.is_plausible(*caller))
            .or_else(|| self.scanned(frame))
    }

    /// Returns whether the interpreter enters a method that has no frame yet, where the frame pointer shows the frame of another
    /// one, which is `running`.
    fn is_entering(&self, registers: Registers, running: Option<usize>) -> bool {
        let Registers { sp, fp, .. } = registers;
        let link = self.link(registers);
        if self.stack_code(fp, 1) == Some(link) {
            return false;
        }
        // While the interpreter runs a method, the link is an address in the interpreter, in a stub or in the VM.
        let is_from_compiled = self
            .blob(link)
            .is_some_and(|blob| blob.kind == Kind::Method && self.is_after_call(link));
        // The interpreter's own calls leave the registers as they are until another one. A method that has called itself
        // cannot be known.
        let is_from_interpreter = self.is_interpreter(link)
            && registers.caller_sp.contains(&sp)
            && Some(registers.method) != running
            && self.is_method(registers.method);
        is_from_compiled || is_from_interpreter
    }
}

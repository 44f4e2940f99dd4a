//! Where a walk begins: the innermost frame may be incomplete, or one that says nothing about its caller.

use super::{Failure, Frame, Registers, Step, Waiting, Walk};
use crate::Machine;
use crate::code::{self, Blob, Kind};
use crate::instructions::Built;
use crate::instructions::x86_64::built;
use crate::memory::{Memory, WORD};
use crate::method;
use crate::walk::End;

/// Frames of native code between the interrupted one and Java: more than leaf routines have.
const MAX_NATIVE_FRAMES: usize = 64;
/// Words above the stack pointer among which a return address to Java is looked for.
pub(super) const MAX_SCANNED_WORDS: isize = 512;
/// Bytes of an interpreted frame that is being made.
pub(super) const MAX_HALF_MADE: usize = 12 * WORD;
/// Words of registers that a barrier saves, those of vectors included.
pub(super) const MAX_SAVED_WORDS: usize = 192;
/// Frames of compiled code begin at multiples of this many bytes.
const FRAME_ALIGNMENT: usize = 16;

impl<M: Memory, R: FnMut(Frame) -> bool> Walk<'_, M, R> {
    /// The innermost frame of a thread that has not left Java, or the frame that waits for it.
    pub(super) fn innermost(&mut self, registers: Registers) -> Result<Step, Failure> {
        let Registers { pc, sp, fp, .. } = registers;
        if !self.is_code(pc) {
            let top = Waiting { pc, sp, fp };
            let caller = match self.walker.layout.machine {
                Machine::X86_64 => self.native_caller(top),
                Machine::Aarch64 => self
                    .leaf_caller(registers)
                    .or_else(|| self.native_caller(top)),
            };
            return caller.map(Step::Caller).ok_or(Failure::NoJavaFrame);
        }
        let caller = if self.is_interpreter(pc) {
            match self.walker.layout.machine {
                Machine::X86_64 => self.innermost_interpreted(registers),
                Machine::Aarch64 => self.innermost_interpreted_by_link(registers),
            }
        } else {
            let blob = self.blob(pc).ok_or(Failure::UnknownTop)?;
            self.innermost_compiled(&blob, registers)
        };
        let end = if self.is_full {
            End::Full
        } else {
            End::Unknown
        };
        Ok(caller.map_or(Step::End(end), Step::Caller))
    }

    /// The Java frame that has called native code without leaving Java: runtime routines, of the kind "leaf".
    fn native_caller(&self, top: Waiting) -> Option<Waiting> {
        let mut frame = top;
        for _ in 0..MAX_NATIVE_FRAMES {
            let Some(caller) = self.caller_by_frame_pointer(frame) else {
                break;
            };
            if self.is_code(caller.pc) {
                if let Some(skipped) = self.called_without_pointer(frame) {
                    return Some(skipped);
                }
                if self.is_plausible(caller) {
                    return Some(caller);
                }
                if let Some(caller) = self.below_saved_registers(caller) {
                    return Some(caller);
                }
                break;
            }
            frame = caller;
        }
        self.scanned(top).or_else(|| self.scanned_moved(top))
    }

    /// The caller of code that keeps its frame pointer.
    pub(super) fn caller_by_frame_pointer(&self, frame: Waiting) -> Option<Waiting> {
        let caller = Waiting {
            pc: self.stack_code(frame.fp, 1)?,
            fp: self.stack_word(frame.fp, 0)?,
            sp: frame.fp.checked_add(2 * WORD)?,
        };
        (caller.sp > frame.sp).then_some(caller)
    }

    /// The frame at its real start: code of a barrier may save registers on the stack before it calls a routine, and
    /// these are not in the size of the method's frame.
    pub(super) fn below_saved_registers(&self, frame: Waiting) -> Option<Waiting> {
        let blob = self.blob(frame.pc)?;
        if blob.kind != Kind::Method || blob.frame_bytes == 0 || !self.is_after_call(frame.pc) {
            return None;
        }
        (1..MAX_SAVED_WORDS).find_map(|words| {
            let sp = frame.sp.checked_add(words.checked_mul(WORD)?)?;
            let moved = Waiting { sp, ..frame };
            let caller = self.caller_by_size(moved, blob.frame_bytes)?;
            (sp.is_multiple_of(FRAME_ALIGNMENT) && self.calls_methods(caller)).then_some(moved)
        })
    }

    /// The nearest return address to a Java frame that has a caller in Java too. Native code often keeps no
    /// frame pointers.
    pub(super) fn scanned(&self, top: Waiting) -> Option<Waiting> {
        (0..MAX_SCANNED_WORDS).find_map(|index| {
            let pc = self.stack_code(top.sp, index)?;
            let above = index.checked_add(1)?.checked_mul(WORD as isize)?;
            let frame = Waiting {
                pc,
                sp: top.sp.checked_add_signed(above)?,
                fp: top.fp,
            };
            let is_frame = self.is_code(pc)
                && !self.is_interpreter(pc)
                && self.is_plausible(frame)
                && self.blob(pc)?.kind != Kind::Continuation;
            is_frame.then_some(frame)
        })
    }

    /// Returns whether code returns to this frame, and it returns to code in turn.
    pub(super) fn is_plausible(&self, frame: Waiting) -> bool {
        if self.is_interpreter(frame.pc) {
            return self.interpreted_method(frame).is_some();
        }
        if !self.is_after_call(frame.pc) {
            return false;
        }
        let entry = &self.walker.layout.entry;
        if frame.pc == entry.return_pc {
            let wrapper = self.stack_word(frame.fp, entry.call_wrapper);
            return wrapper.is_some_and(|wrapper| self.stack.contains(&wrapper));
        }
        let Some(blob) = self.blob(frame.pc) else {
            return false;
        };
        let caller = match (blob.kind, blob.frame_bytes) {
            (Kind::Continuation, _) => return true,
            (Kind::Upcall, _) => return self.before_upcall(&blob, frame).is_some(),
            (_, 0) => self.caller_by_frame_pointer(frame),
            (_, bytes) => self.caller_by_size(frame, bytes),
        };
        caller.is_some_and(|caller| match blob.kind {
            Kind::Method | Kind::Native => self.calls_methods(caller),
            _ => self.is_return(caller.pc),
        })
    }

    /// Returns whether a frame may be that of a compiled method's caller: one that the interpreter, native code or another method
    /// has made. The place of a frame is found by trying there, and old return addresses lie about in frames, and among registers
    /// that code has saved below them.
    pub(super) fn calls_methods(&self, caller: Waiting) -> bool {
        let layout = &self.walker.layout;
        if self.is_interpreter(caller.pc) {
            return self.interpreted_method(caller).is_some();
        }
        if caller.pc == layout.entry.return_pc {
            let wrapper = self.stack_word(caller.fp, layout.entry.call_wrapper);
            return wrapper.is_some_and(|wrapper| self.stack.contains(&wrapper));
        }
        let is_wrong = |blob: Blob| match layout.machine {
            // Wrappers of native methods call none, so an address in one is left over from an earlier call.
            Machine::X86_64 => blob.kind == Kind::Native,
            Machine::Aarch64 => blob.kind == Kind::Stub,
        };
        self.is_return(caller.pc) && !self.blob(caller.pc).is_some_and(is_wrong)
    }

    /// Returns whether an address is one that code returns to.
    pub(super) fn is_return(&self, pc: usize) -> bool {
        self.is_interpreter(pc)
            || pc == self.walker.layout.entry.return_pc
            || self.blob(pc).is_some_and(|blob| {
                blob.kind == Kind::Continuation
                    || self.is_after_call(pc)
                    || self.is_deopt_handler(&blob, pc)
            })
    }

    pub(super) fn is_after_call(&self, pc: usize) -> bool {
        self.walker.layout.machine.is_after_call(self.memory, pc)
    }

    fn is_deopt_handler(&self, blob: &Blob, pc: usize) -> bool {
        let layout = &self.walker.layout.nmethod;
        let mut handlers = layout.deopt_handlers.iter();
        handlers.any(|&at| code::start(self.memory, at, blob.address, blob.code, 0) == Some(pc))
    }

    /// Frames of the method or stub that was interrupted; returns the caller.
    fn innermost_compiled(&mut self, blob: &Blob, registers: Registers) -> Option<Waiting> {
        let Registers { pc, sp, fp, .. } = registers;
        let is_complete = blob.frame_complete.is_some_and(|complete| pc >= complete);
        let entry = match blob.kind {
            Kind::Method => {
                self.compiled_frames(blob, if is_complete { pc } else { blob.code })?;
                let layout = &self.walker.layout.nmethod;
                code::start(
                    self.memory,
                    layout.verified_entry,
                    blob.address,
                    blob.code,
                    0,
                )?
            }
            Kind::Native => {
                self.native_frame(blob)?;
                let layout = &self.walker.layout.nmethod;
                code::start(
                    self.memory,
                    layout.verified_entry,
                    blob.address,
                    blob.code,
                    0,
                )?
            }
            Kind::Stub | Kind::Continuation | Kind::Upcall => blob.code,
        };
        if self.walker.layout.machine == Machine::Aarch64 {
            return self.compiled_caller_by_link(blob, entry, is_complete, registers);
        }
        let frame = Waiting { pc, sp, fp };
        let (found, others) = if blob.frame_bytes == 0 {
            (self.caller_without(frame, 0, fp), Built::FramePointer)
        } else {
            match built(self.memory, entry, pc, is_complete) {
                Built::Nothing => (self.caller_without(frame, 0, fp), Built::FramePointer),
                Built::FramePointer => (self.caller_pushed(frame), Built::Nothing),
                Built::Room => {
                    let caller = self.caller_by_size(frame, blob.frame_bytes);
                    (caller.map(|it| Waiting { fp, ..it }), Built::Nothing)
                }
                Built::Complete => (self.caller_by_size(frame, blob.frame_bytes), Built::Nothing),
            }
        };
        let good = |caller: &Waiting| match blob.kind {
            Kind::Method | Kind::Native => self.calls_methods(*caller),
            _ => self.is_return(caller.pc),
        };
        found
            .filter(good)
            .or_else(|| {
                // Registers have been pushed for a moment.
                let is_moved = is_complete && blob.kind == Kind::Method;
                let moved = is_moved.then(|| self.moved(frame, blob.frame_bytes))??;
                self.caller_by_size(moved, blob.frame_bytes)
            })
            .or_else(|| match others {
                Built::Nothing => self.caller_without(frame, 0, fp).filter(good),
                _ => None,
            })
            .or_else(|| self.caller_pushed(frame).filter(good))
            .or_else(|| {
                let caller = self.caller_by_frame_pointer(frame)?;
                good(&caller).then_some(caller)
            })
            .or_else(|| {
                // A word has been pushed for a moment.
                let moved = Waiting {
                    sp: sp.checked_add(WORD)?,
                    ..frame
                };
                let caller = match blob.frame_bytes {
                    0 => None,
                    bytes => self.caller_by_size(moved, bytes),
                };
                caller.filter(good)
            })
            .or_else(|| {
                let is_method = matches!(blob.kind, Kind::Method | Kind::Native);
                let found = self.scanned(frame)?;
                (!is_method || self.calls_methods(found)).then_some(found)
            })
    }

    /// The caller of code that has `words` on the stack besides the return address.
    fn caller_without(&self, frame: Waiting, words: isize, fp: usize) -> Option<Waiting> {
        let above = words.checked_add(1)?.checked_mul(WORD as isize)?;
        Some(Waiting {
            pc: self.stack_code(frame.sp, words)?,
            sp: frame.sp.checked_add_signed(above)?,
            fp,
        })
    }

    /// The caller of code that has pushed its frame pointer.
    pub(super) fn caller_pushed(&self, frame: Waiting) -> Option<Waiting> {
        self.caller_without(frame, 1, self.stack_word(frame.sp, 0)?)
    }

    /// The frame of the interpreted method that was interrupted; returns the caller.
    fn innermost_interpreted(&mut self, registers: Registers) -> Option<Waiting> {
        let Registers { pc, sp, fp, .. } = registers;
        let frame = Waiting { pc, sp, fp };
        // Where a method is entered, the stack pointer of the caller is in the register of the bytecode.
        if Some(registers.bytecode) == sp.checked_add(WORD)
            && let Some(return_pc) = self.stack_word(sp, 0)
            && self.is_return(return_pc)
            && self.is_method(registers.method)
        {
            self.emit(registers.method, 0)?;
            return self.caller_without(frame, 0, fp);
        }
        if self.interpreted_method(frame).is_some() {
            return self.interpreted(frame, Some(registers.bytecode));
        }
        // The frame is being made.
        if self.is_method(registers.method) {
            self.emit(registers.method, 0)?;
        }
        let good = |caller: &Waiting| self.is_return(caller.pc) && self.stack.contains(&caller.sp);
        self.half_made(frame, registers.bytecode)
            .filter(good)
            .or_else(|| {
                let pushed = self.stack_word(sp, 0)?;
                [pushed, registers.result].into_iter().find_map(|pc| {
                    let caller = Waiting {
                        pc,
                        sp: registers.bytecode,
                        fp,
                    };
                    Some(caller).filter(good)
                })
            })
            .or_else(|| self.caller_without(frame, 0, fp).filter(good))
            .or_else(|| self.scanned(frame))
    }

    /// The caller of an interpreted method whose frame has its frame pointer and not all of its words. The caller's
    /// stack pointer may still be in its register.
    fn half_made(&self, frame: Waiting, caller_sp: usize) -> Option<Waiting> {
        let at = &self.walker.layout.interpreted;
        if frame.fp.checked_sub(frame.sp)? > MAX_HALF_MADE {
            return None;
        }
        Some(Waiting {
            pc: self.stack_code(frame.fp, at.caller_pc)?,
            fp: self.stack_word(frame.fp, at.caller_fp)?,
            sp: self.stack_word(frame.fp, at.caller_sp).unwrap_or(caller_sp),
        })
    }

    pub(super) fn is_method(&self, method: usize) -> bool {
        method::is_of_its_class(self.memory, &self.walker.layout.method, method)
    }
}

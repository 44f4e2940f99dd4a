//! The frames of native code above the last Java frame.
//!
//! Where the rules of the code are known ([`callers`](crate::callers)), they lead from frame to frame. Other native code keeps a
//! chain of frame pointers, or not:
//!
//! ```text
//!            │ return address │ ◄─ the caller, right after a call instruction
//! fp ──────► │ caller's rbp   ├──► further up (x29 on AArch64)
//! sp ──────► │ ...            │
//! ```
//!
//! Code that uses `rbp` for something else leads nowhere: a word that does not follow a call instruction, or lies
//! outside the stack. The walk ends there rather than guess.

use std::ops::Range;

use crate::callers::{CodeMap, FrameAddress, Rule, SavedFp};
use crate::machine::Machine;
use crate::memory::{Memory, WORD};
use crate::walk::Registers;

/// Hands the addresses of native code on a stack to `receive`, innermost first, until that returns false, code of
/// Java is reached, or the caller is not clear. The first is the program counter; of each caller it is the last byte of the call, so
/// that it lies in the calling function even where that never returns.
///
/// `stack` begins at the stack pointer; `code` has the rules that are known; `is_java` says where the VM's generated code lies.
pub fn native_frames<M: Memory>(
    machine: Machine,
    memory: &M,
    stack: Range<usize>,
    registers: Registers,
    code: Option<&CodeMap>,
    is_java: impl Fn(usize) -> bool,
    mut receive: impl FnMut(usize) -> bool,
) {
    let Registers { pc, sp, fp, .. } = registers;
    if is_java(pc) || !receive(pc) {
        return;
    }
    let walk = Walk {
        machine,
        memory,
        stack,
        code,
    };
    let mut frame = Frame {
        pc,
        sp,
        fp: Some(fp),
        is_certain: true,
    };
    // Each round goes up on the stack, and `receive` has an end.
    while let Some((return_pc, caller)) = walk.caller(frame)
        && !is_java(return_pc)
        && walk.is_call(return_pc, caller)
        && receive(caller.pc)
    {
        frame = caller;
    }
}

/// A frame whose caller is looked for.
#[derive(Clone, Copy)]
struct Frame {
    /// In the instruction that runs.
    pc: usize,
    sp: usize,
    /// `None` where it is not known.
    fp: Option<usize>,
    /// The stack pointer is that of the frame: no frame pointer has been followed without knowing what it is.
    is_certain: bool,
}

struct Walk<'a, M> {
    machine: Machine,
    memory: &'a M,
    stack: Range<usize>,
    code: Option<&'a CodeMap>,
}

impl<M: Memory> Walk<'_, M> {
    /// The caller of a frame and the address that it is returned to.
    fn caller(&self, frame: Frame) -> Option<(usize, Frame)> {
        let rule = self.code.and_then(|code| code.rule(frame.pc));
        let rule = rule.unwrap_or(Rule::UNKNOWN);
        let (sp, fp, is_certain) = match self.frame_address(frame, rule.frame)? {
            Some(address) => (
                address,
                self.saved_fp(frame, rule.fp, address),
                frame.is_certain,
            ),
            None => {
                let chain = frame.fp.filter(|&fp| fp >= frame.sp)?;
                let fp = self.word(chain)?;
                (chain.checked_add(2 * WORD)?, Some(fp), false)
            }
        };
        // The return address is in the frame.
        let return_at = sp.checked_sub(WORD)?;
        let return_pc = (return_at >= frame.sp).then(|| self.word(return_at))??;
        let return_pc = self.machine.code_address(return_pc);
        let caller = Frame {
            pc: return_pc.checked_sub(1)?,
            sp,
            fp,
            is_certain,
        };
        Some((return_pc, caller))
    }

    /// The canonical address of a frame: `Some(None)` if it is not known, `None` if the walk ends.
    fn frame_address(&self, frame: Frame, way: FrameAddress) -> Option<Option<usize>> {
        let address = match way {
            FrameAddress::Unknown => return Some(None),
            FrameAddress::Root => return None,
            FrameAddress::Sp(bytes) => frame.sp.checked_add(bytes),
            FrameAddress::Fp(bytes) => frame.fp?.checked_add(bytes),
            FrameAddress::BelowFp(bytes) => self.word(frame.fp?.checked_sub(bytes)?),
            // Entries have 16 bytes, the second instruction begins at the eleventh.
            FrameAddress::Linkage if frame.pc & 15 >= 11 => frame.sp.checked_add(2 * WORD),
            FrameAddress::Linkage => frame.sp.checked_add(WORD),
        };
        address.map(Some)
    }

    fn saved_fp(&self, frame: Frame, way: SavedFp, address: usize) -> Option<usize> {
        match way {
            SavedFp::Register => frame.fp,
            SavedFp::Saved(bytes) => self.word(address.checked_sub(bytes)?),
            SavedFp::AtFp => self.word(frame.fp?),
            SavedFp::Lost => None,
        }
    }

    /// Returns whether a caller can be one. A rule says where the return address is, a frame pointer may be anything.
    fn is_call(&self, return_pc: usize, caller: Frame) -> bool {
        let is_code = |code: &CodeMap| caller.is_certain && code.has(caller.pc);
        self.code.is_some_and(is_code) || self.machine.is_after_call(self.memory, return_pc)
    }

    /// A word of the stack.
    fn word(&self, address: usize) -> Option<usize> {
        let end = address.checked_add(WORD)?;
        let is_inside = self.stack.contains(&address) && end <= self.stack.end;
        (is_inside && address.is_multiple_of(WORD))
            .then(|| self.memory.word(address, 0))
            .flatten()
    }
}

#[cfg(test)]
mod tests;

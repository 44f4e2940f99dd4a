//! Second tries for a stack that AsyncGetCallTrace could not walk.
//!
//! The VM cannot find the caller of a stub (`Math.sin`, array copies) or of a
//! VM leaf routine that compiled code calls without leaving the Java state.
//! The return address of such a routine is easy to find, though: at the stack pointer,
//! or after the frame pointer. Each candidate is only a suggestion: the VM checks
//! it like any other context before it walks.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::code_cache::CodeCache;
use crate::vm::guarded;

/// The registers a walk starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Registers {
    pub(super) pc: usize,
    pub(super) sp: usize,
    pub(super) fp: usize,
}

/// How many native frames are looked through for the compiled caller.
const MAX_NATIVE_FRAMES: usize = 32;

/// The facts about the process that second tries need.
pub(super) struct Unwinder {
    code: CodeCache,
    /// The return address of signal handlers; 0 when it is not known.
    restorer: AtomicUsize,
}

impl Unwinder {
    pub(super) fn new(code: CodeCache) -> Self {
        Self {
            code,
            restorer: AtomicUsize::new(0),
        }
    }

    /// Tells where signal handlers return to.
    pub(super) fn set_restorer(&self, address: usize) {
        self.restorer.store(address, Ordering::Relaxed);
    }

    /// Returns true if compiled Java code lies at an address.
    pub(super) fn is_java_code(&self, address: usize) -> bool {
        self.code.contains(address)
    }

    /// Calls `walk` with each caller that the top frame may have, until one gives
    /// frames. `stack_end` bounds what may be read.
    pub(super) fn retry(
        &self,
        top: Registers,
        stack_end: usize,
        mut walk: impl FnMut(Registers) -> i32,
    ) -> Option<i32> {
        let restorer = self.restorer.load(Ordering::Relaxed);
        let stack = Stack {
            low: top.sp,
            end: stack_end,
            restorer,
        };
        if self.code.contains(top.pc) {
            // A stub without a frame, or a method at its very first instruction.
            if let Some(caller) = stack.leaf_caller(top).filter(|c| self.code.contains(c.pc)) {
                let frames = walk(caller);
                if frames > 0 {
                    return Some(frames);
                }
            }
        } else if let Some(interrupted) = stack.interrupted_by_handler_at(top.sp) {
            // Our signal came before the first instruction of another handler:
            // the kernel delivers signals that are due together in one go.
            if self.code.contains(interrupted.pc) {
                let frames = walk(interrupted);
                return (frames > 0).then_some(frames);
            }
        }
        let mut registers = top;
        for _ in 0..MAX_NATIVE_FRAMES {
            registers = stack.caller(registers)?;
            if self.code.contains(registers.pc) {
                let frames = walk(registers);
                return (frames > 0).then_some(frames);
            }
        }
        None
    }
}

struct Stack {
    low: usize,
    end: usize,
    restorer: usize,
}

/// Where the kernel keeps registers in the frame of a signal handler, in words
/// from the return address: the return address, then `ucontext_t` (five words
/// before its registers), whose registers are r8-r15, rdi, rsi, rbp, rbx, rdx,
/// rax, rcx, rsp, rip (`struct rt_sigframe` and `struct sigcontext` of the
/// kernel on x86-64).
#[cfg(target_arch = "x86_64")]
const SIGNAL_FRAME_WORDS: Registers = Registers {
    pc: 6 + 16,
    sp: 6 + 15,
    fp: 6 + 10,
};

impl Stack {
    /// Returns true if the word at an address is a word of the stack, as far as that is known.
    fn has(&self, address: usize) -> bool {
        let last = self.end.saturating_sub(size_of::<usize>());
        (self.low..=last).contains(&address) && address.is_multiple_of(align_of::<usize>())
    }

    #[cfg(any(target_arch = "x86_64", test))]
    fn read(&self, address: usize) -> Option<usize> {
        if !self.has(address) {
            return None;
        }
        // SAFETY: the word lies between the stack pointer and the end of the current
        // thread's stack, in frames that wait for this handler. A thread that runs on
        // another stack of its own has memory of others there, or none.
        unsafe { guarded::load(address) }
    }

    /// A word and the next one.
    fn read_pair(&self, address: usize) -> Option<[usize; 2]> {
        let second = address.checked_add(size_of::<usize>())?;
        if !self.has(address) || !self.has(second) {
            return None;
        }
        // SAFETY: as in `read`.
        unsafe { guarded::load(address) }
    }

    /// The caller of a function that has not pushed anything.
    #[cfg(target_arch = "x86_64")]
    fn leaf_caller(&self, top: Registers) -> Option<Registers> {
        let pc = self.read(top.sp)?;
        Some(Registers {
            pc,
            sp: top.sp.checked_add(size_of::<usize>())?,
            fp: top.fp,
        })
    }

    /// On AArch64 the return address is in a register, which the VM looks at itself.
    #[cfg(not(target_arch = "x86_64"))]
    fn leaf_caller(&self, _top: Registers) -> Option<Registers> {
        None
    }

    /// The code interrupted by the signal handler whose return address is at
    /// `address`; `None` when that is no handler's frame.
    #[cfg(target_arch = "x86_64")]
    fn interrupted_by_handler_at(&self, address: usize) -> Option<Registers> {
        if self.restorer == 0 || self.read(address)? != self.restorer {
            return None;
        }
        let word = |index: usize| self.read(address.checked_add(index * size_of::<usize>())?);
        let at = SIGNAL_FRAME_WORDS;
        let (pc, sp, fp) = (word(at.pc)?, word(at.sp)?, word(at.fp)?);
        (sp > address).then_some(Registers { pc, sp, fp })
    }

    /// The frame of a handler is laid out differently elsewhere.
    #[cfg(not(target_arch = "x86_64"))]
    fn interrupted_by_handler_at(&self, _address: usize) -> Option<Registers> {
        None
    }

    /// The caller by the chain of frame pointers: saved frame pointer, then
    /// return address, on x86-64 and AArch64 alike.
    fn caller(&self, callee: Registers) -> Option<Registers> {
        let word = size_of::<usize>();
        let return_at = callee.fp.checked_add(word)?;
        let [fp, pc] = self.read_pair(callee.fp)?;
        if pc == self.restorer
            && let Some(interrupted) = self.interrupted_by_handler_at(return_at)
        {
            return (interrupted.sp > callee.sp).then_some(interrupted);
        }
        let sp = return_at.checked_add(word)?;
        // Frames only ever lie further up.
        (sp > callee.sp && pc != 0).then_some(Registers { pc, sp, fp })
    }
}

/// The registers of a signal's context.
///
/// # Safety
/// `context` is what the kernel passed to a handler.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn registers(context: *mut c_void) -> Registers {
    // SAFETY: by the caller's promise; the register numbers are constants below
    // the length of the array.
    unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let [_, _, _, _, _, _, _, _, _, _, rbp, _, _, _, _, rsp, rip, ..] = *registers;
        Registers {
            pc: rip as usize,
            sp: rsp as usize,
            fp: rbp as usize,
        }
    }
}

/// Writes registers into a signal's context. The handler must put the old ones
/// back before it returns.
///
/// # Safety
/// As [`registers`].
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn set_registers(context: *mut c_void, new: Registers) {
    // SAFETY: by the caller's promise.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let [_, _, _, _, _, _, _, _, _, _, rbp, _, _, _, _, rsp, rip, ..] = registers;
        (*rip, *rsp, *rbp) = (new.pc as i64, new.sp as i64, new.fp as i64);
    }
}

/// The registers of a signal's context.
///
/// # Safety
/// `context` is what the kernel passed to a handler.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn registers(context: *mut c_void) -> Registers {
    // SAFETY: by the caller's promise.
    unsafe {
        let machine = &(*context.cast::<libc::ucontext_t>()).uc_mcontext;
        let fp = machine.regs.get(29).copied().unwrap_or(0);
        Registers {
            pc: machine.pc as usize,
            sp: machine.sp as usize,
            fp: fp as usize,
        }
    }
}

/// Writes registers into a signal's context. The handler must put the old ones
/// back before it returns.
///
/// # Safety
/// As [`registers`].
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn set_registers(context: *mut c_void, new: Registers) {
    // SAFETY: by the caller's promise.
    unsafe {
        let machine = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
        if let Some(fp) = machine.regs.get_mut(29) {
            *fp = new.fp as u64;
        }
        (machine.pc, machine.sp) = (new.pc as u64, new.sp as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_the_stack_are_not_read() {
        let words = [1usize, 2, 3, 4];
        let low = words.as_ptr() as usize;
        let stack = Stack {
            low,
            end: low + size_of_val(&words),
            restorer: 0,
        };
        assert_eq!(stack.read(low), Some(1));
        assert_eq!(stack.read(low + 3 * size_of::<usize>()), Some(4));
        assert_eq!(stack.read(low + 4 * size_of::<usize>()), None);
        assert_eq!(stack.read(low + 1), None);
        assert_eq!(stack.read(low - 8), None);
        assert_eq!(
            Stack {
                low: 0,
                end: 0,
                restorer: 0
            }
            .read(0),
            None
        );
    }

    #[test]
    fn the_chain_of_frame_pointers_ends_where_it_turns_back() {
        let words: [std::sync::atomic::AtomicUsize; 8] = Default::default();
        let base = words.as_ptr() as usize;
        let at = |index: usize| base + index * size_of::<usize>();
        for (index, word) in [(2, at(4)), (3, 0x1000), (4, at(2)), (5, 0x2000)] {
            words[index].store(word, std::sync::atomic::Ordering::Relaxed);
        }
        let stack = Stack {
            low: base,
            end: at(8),
            restorer: 0,
        };
        let first = stack
            .caller(Registers {
                pc: 1,
                sp: at(0),
                fp: at(2),
            })
            .unwrap();
        assert_eq!(
            first,
            Registers {
                pc: 0x1000,
                sp: at(4),
                fp: at(4)
            }
        );
        let second = stack.caller(first).unwrap();
        assert_eq!(second.pc, 0x2000);
        assert_eq!(stack.caller(second), None);
    }

    /// As where native code runs on a stack of its own, below the thread's: the handler must not
    /// fault in between.
    #[test]
    fn a_gap_before_the_end_of_the_stack_ends_the_walk() {
        // SAFETY: a new mapping, whose second page no other code uses.
        let (start, page) = unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(std::ptr::null_mut(), 3 * page, protection, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let second = start.cast::<u8>().add(page);
            assert_eq!(libc::munmap(second.cast(), page), 0);
            (start as usize, page)
        };
        let stack = Stack {
            low: start,
            end: start + 3 * page,
            restorer: 0,
        };
        let from = |fp| Registers {
            pc: 1,
            sp: start,
            fp,
        };
        assert_eq!(stack.read(start + page), None);
        assert_eq!(stack.caller(from(start + page + 64)), None);
        assert_eq!(stack.caller(from(start + page - 8)), None);
        assert_eq!(stack.read(start + 2 * page), Some(0));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_entry_of_another_signal_handler_leads_to_what_it_interrupted() {
        let words: [AtomicUsize; 40] = [const { AtomicUsize::new(0) }; 40];
        let base = words.as_ptr() as usize;
        let set = |index: usize, word| words[index].store(word, Ordering::Relaxed);
        set(0, 0x7e57);
        set(SIGNAL_FRAME_WORDS.pc, 0x1234);
        set(SIGNAL_FRAME_WORDS.sp, base + 39 * size_of::<usize>());
        set(SIGNAL_FRAME_WORDS.fp, 5);
        let end = base + size_of_val(&words);
        let stack = Stack {
            low: base,
            end,
            restorer: 0x7e57,
        };
        let interrupted = stack.interrupted_by_handler_at(base).unwrap();
        assert_eq!((interrupted.pc, interrupted.fp), (0x1234, 5));
        let other = Stack {
            low: base,
            end,
            restorer: 0x7e58,
        };
        assert_eq!(other.interrupted_by_handler_at(base), None);
    }
}

//! Processors whose frames are known.

use crate::instructions::{aarch64, x86_64};
use crate::memory::Memory;

/// A processor, by which the VM's code makes and links frames in one way or another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Calls push the return address.
    X86_64,
    /// Calls put the return address into a register. One that is stored may be signed (pointer authentication).
    Aarch64,
}

/// Bits of an address in a process's own memory. Linux gives out higher ones only to who asks for them, and HotSpot does not.
const AARCH64_ADDRESS_BITS: u32 = 48;

impl Machine {
    /// The processor that this code is compiled for; `None` if its frames are not known.
    pub const HERE: Option<Self> = if cfg!(target_arch = "x86_64") {
        Some(Self::X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(Self::Aarch64)
    } else {
        None
    };

    /// The address of code in a word, without the signature that may be above it.
    #[inline]
    pub const fn code_address(self, word: usize) -> usize {
        match self {
            Self::X86_64 => word,
            Self::Aarch64 => word & ((1 << AARCH64_ADDRESS_BITS) - 1),
        }
    }

    /// Where a caller's frame begins, of what an interpreted frame with this frame pointer has for it.
    ///
    /// On AArch64 the interpreter keeps its stack pointer below the room for all operands that a method may have. The
    /// method that it calls uses that room, so the caller's stack pointer may lie inside of the callee's frame. A
    /// frame of the interpreter is known by its frame pointer: for it, the end of the callee's linkage does.
    #[inline]
    pub const fn caller_sp(self, fp: usize, saved: usize, caller_is_interpreter: bool) -> usize {
        match self {
            Self::Aarch64 if caller_is_interpreter => fp.saturating_add(LINKAGE),
            _ => saved,
        }
    }

    /// Returns whether the instruction before an address is a call.
    pub(crate) fn is_after_call<M: Memory>(self, memory: &M, pc: usize) -> bool {
        match self {
            Self::X86_64 => x86_64::is_after_call(memory, pc),
            Self::Aarch64 => aarch64::is_after_call(memory, pc),
        }
    }
}

/// Bytes of the caller's frame pointer and the return address.
const LINKAGE: usize = 2 * size_of::<usize>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_no_part_of_an_address() {
        let signed = 0x00aa_ffff_8123_4568;
        assert_eq!(Machine::Aarch64.code_address(signed), 0xffff_8123_4568);
        assert_eq!(Machine::X86_64.code_address(signed), signed);
    }

    #[test]
    fn an_interpreted_caller_begins_after_the_linkage() {
        let aarch64 = Machine::Aarch64;
        assert_eq!(aarch64.caller_sp(0x1000, 0xf80, true), 0x1010);
        assert_eq!(aarch64.caller_sp(0x1000, 0x1040, false), 0x1040);
        assert_eq!(Machine::X86_64.caller_sp(0x1000, 0x1020, true), 0x1020);
    }
}

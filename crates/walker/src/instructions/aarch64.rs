//! The instructions of AArch64, all of four bytes.
//!
//! ```text
//! entry:  nop
//!         sub  x9, sp, n; str xzr, [x9]    the stack has room     return address in x30
//!         sub  sp, sp, frame                                      return address in x30
//!         stp  x29, x30, [sp, frame - 16]                         return address at sp + frame - 8
//!         ...                              complete
//!         ldp  x29, x30, [sp, frame - 16]                         return address in x30
//!         add  sp, sp, frame                                      return address in x30
//!         ldr  x8, [x28, n]; cmp sp, x8    poll                   return address in x30
//!         b.hi stub
//!         ret
//! ```
//!
//! Large frames are made in two steps, `stp x29, x30, [sp, -16]!` and `sub sp, sp, frame - 16`, and left likewise.

use super::Built;
use crate::memory::Memory;

/// Bytes of an instruction.
const LENGTH: usize = 4;
/// Instructions before the frame is complete: more than a prologue has.
const MAX_PROLOGUE: usize = 256;
/// Instructions after the registers have been loaded: a few more than an epilogue has.
const MAX_EPILOGUE: usize = 8;

/// An instruction, or several: bits that tell it from all others, and where they are.
struct Pattern {
    mask: u32,
    bits: u32,
}

impl Pattern {
    const fn new(mask: u32, bits: u32) -> Self {
        Self { mask, bits }
    }

    const fn fits(&self, instruction: u32) -> bool {
        instruction & self.mask == self.bits
    }
}

/// `stp x29, x30, [sp, n]!`
const PUSH_LINKAGE: Pattern = Pattern::new(0xffc0_7fff, 0xa980_7bfd);
/// `stp x29, x30, [sp, n]`
const STORE_LINKAGE: Pattern = Pattern::new(0xffc0_7fff, 0xa900_7bfd);
/// `ldp x29, x30, [sp, n]`
const LOAD_LINKAGE: Pattern = Pattern::new(0xffc0_7fff, 0xa940_7bfd);
/// `ldp x29, x30, [sp], n`
const POP_LINKAGE: Pattern = Pattern::new(0xffc0_7fff, 0xa8c0_7bfd);
/// `sub sp, sp, n`, and of a register.
const LOWER_SP: [Pattern; 2] = [
    Pattern::new(0xff80_03ff, 0xd100_03ff),
    Pattern::new(0xffe0_03ff, 0xcb20_03ff),
];
/// `add sp, sp, n`, and of a register.
const RAISE_SP: [Pattern; 2] = [
    Pattern::new(0xff80_03ff, 0x9100_03ff),
    Pattern::new(0xffe0_03ff, 0x8b20_03ff),
];
/// `ret`, and those that check the address's signature.
const RETURNS: [Pattern; 2] = [
    Pattern::new(0xffff_fc1f, 0xd65f_0000),
    Pattern::new(0xffff_fbff, 0xd65f_0bff),
];
/// What may be between the load of `x30` and the return.
const LEAVING: [Pattern; 7] = [
    // Hints, such as `autiasp`.
    Pattern::new(0xffff_f01f, 0xd503_201f),
    // autia x30, register
    Pattern::new(0xffff_fc1f, 0xdac1_101e),
    // ldr register, [x28, n]
    Pattern::new(0xffc0_03e0, 0xf940_0380),
    // cmp sp, register
    Pattern::new(0xffe0_ffff, 0xeb20_63ff),
    // b with a condition
    Pattern::new(0xff00_0010, 0x5400_0000),
    // tbnz
    Pattern::new(0x7f00_0000, 0x3700_0000),
    // ldr wzr, [register, n]
    Pattern::new(0xffc0_001f, 0xb940_001f),
];
/// `bl`, `blr`, and those that check an address's signature.
const CALLS: [Pattern; 3] = [
    Pattern::new(0xfc00_0000, 0x9400_0000),
    Pattern::new(0xffff_fc1f, 0xd63f_0000),
    Pattern::new(0xfeff_f800, 0xd63f_0800),
];

fn any(patterns: &[Pattern], instruction: u32) -> bool {
    patterns.iter().any(|pattern| pattern.fits(instruction))
}

fn instruction<M: Memory>(memory: &M, at: usize) -> Option<u32> {
    let bytes = at.is_multiple_of(LENGTH).then(|| memory.bytes(at))??;
    Some(u32::from_le_bytes(bytes))
}

/// As [`x86_64::built`](super::x86_64::built).
pub(crate) fn built<M: Memory>(memory: &M, entry: usize, pc: usize, is_complete: bool) -> Built {
    if is_complete {
        return left(memory, pc);
    }
    if pc <= entry {
        return Built::Nothing;
    }
    entering(memory, entry, pc).unwrap_or(Built::Nothing)
}

/// How much is left of a complete frame that the code may be about to leave.
fn left<M: Memory>(memory: &M, pc: usize) -> Built {
    let back = |count: usize| {
        let distance = count.checked_mul(LENGTH)?;
        instruction(memory, pc.checked_sub(distance)?)
    };
    match back(0) {
        Some(next) if any(&RETURNS, next) => return Built::Nothing,
        Some(next) if POP_LINKAGE.fits(next) => return Built::FramePointer,
        _ => {}
    }
    let mut is_raised = false;
    for count in 1..=MAX_EPILOGUE {
        match back(count) {
            Some(before) if POP_LINKAGE.fits(before) => return Built::Nothing,
            Some(before) if LOAD_LINKAGE.fits(before) => {
                return match is_raised {
                    true => Built::Nothing,
                    false => Built::Room,
                };
            }
            Some(before) if any(&RAISE_SP, before) => is_raised = true,
            Some(before) if any(&LEAVING, before) => {}
            _ => break,
        }
    }
    Built::Complete
}

/// Follows the instructions that build a frame up to `pc`.
fn entering<M: Memory>(memory: &M, entry: usize, pc: usize) -> Option<Built> {
    let count = pc.checked_sub(entry)?.checked_div(LENGTH)?;
    if count > MAX_PROLOGUE {
        return None;
    }
    let mut built = Built::Nothing;
    for index in 0..count {
        let at = entry.checked_add(index.checked_mul(LENGTH)?)?;
        let next = instruction(memory, at)?;
        built = match built {
            Built::Nothing if PUSH_LINKAGE.fits(next) => Built::FramePointer,
            Built::Nothing if any(&LOWER_SP, next) => Built::Room,
            Built::Room if STORE_LINKAGE.fits(next) => Built::Complete,
            Built::FramePointer if any(&LOWER_SP, next) => Built::Complete,
            before => before,
        };
    }
    Some(built)
}

/// Returns whether the instruction before an address is a call.
pub(crate) fn is_after_call<M: Memory>(memory: &M, pc: usize) -> bool {
    let before = pc.checked_sub(LENGTH);
    before
        .and_then(|at| instruction(memory, at))
        .is_some_and(|before| any(&CALLS, before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeMemory;

    const CODE: usize = 0x7000_0000;
    const NOP: u32 = 0xd503_201f;
    const RET: u32 = 0xd65f_03c0;

    fn memory(code: &[u32]) -> FakeMemory {
        let mut memory = FakeMemory::default();
        let bytes = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.add(CODE, bytes);
        memory
    }

    fn states(code: &[u32], is_complete: bool) -> Vec<Built> {
        let memory = memory(code);
        let states = (0..code.len()).map(|index| {
            let pc = CODE + LENGTH * index;
            built(&memory, CODE, pc, is_complete)
        });
        states.collect()
    }

    #[test]
    fn a_small_frame_is_built_step_by_step() {
        let code = [
            NOP,
            0xd140_53e9, // sub x9, sp, #20, lsl #12
            0xf900_013f, // str xzr, [x9]
            0xd100_c3ff, // sub sp, sp, #48
            0xa902_7bfd, // stp x29, x30, [sp, #32]
            NOP,
        ];
        let expected = [
            [Built::Nothing; 4].as_slice(),
            &[Built::Room, Built::Complete],
        ];
        assert_eq!(states(&code, false), expected.concat());
    }

    #[test]
    fn a_large_frame_stores_the_linkage_first() {
        let code = [
            NOP,
            0xa9bf_7bfd, // stp x29, x30, [sp, #-16]!
            0xd283_0008, // mov x8, #0x1800
            0xcb28_63ff, // sub sp, sp, x8
            NOP,
        ];
        let expected = [
            Built::Nothing,
            Built::Nothing,
            Built::FramePointer,
            Built::FramePointer,
            Built::Complete,
        ];
        assert_eq!(states(&code, false), expected);
    }

    #[test]
    fn a_small_frame_is_left_step_by_step() {
        let code = [
            NOP,
            0xa942_7bfd, // ldp x29, x30, [sp, #32]
            0x9100_c3ff, // add sp, sp, #48
            0xf942_4f88, // ldr x8, [x28, #1176]
            0xeb28_63ff, // cmp sp, x8
            0x5400_00c8, // b.hi
            RET,
            0xaa00_03e1, // mov x1, x0, of other code
            NOP,
        ];
        let expected = [
            Built::Complete,
            Built::Complete,
            Built::Room,
            Built::Nothing,
            Built::Nothing,
            Built::Nothing,
            Built::Nothing,
            Built::Complete,
            Built::Complete,
        ];
        assert_eq!(states(&code, true), expected);
    }

    #[test]
    fn a_large_frame_is_left_with_its_linkage_on_top() {
        let code = [
            NOP,
            0xd283_0008, // mov x8, #0x1800
            0x8b28_63ff, // add sp, sp, x8
            0xa8c1_7bfd, // ldp x29, x30, [sp], #16
            0xdac1_13be, // autia x30, x29
            RET,
        ];
        let expected = [
            Built::Complete,
            Built::Complete,
            Built::Complete,
            Built::FramePointer,
            Built::Nothing,
            Built::Nothing,
        ];
        assert_eq!(states(&code, true), expected);
    }

    #[test]
    fn return_addresses_follow_calls() {
        for call in [
            0x9400_1234,
            0x97ff_ffff,
            0xd63f_0100,
            0xd63f_0b1f,
            0xd73f_0802,
        ] {
            assert!(is_after_call(&memory(&[call]), CODE + 4), "{call:x}");
        }
        // A jump, a return, a jump to a register, and what is no instruction's start.
        for other in [0x1400_1234, RET, 0xd61f_0100] {
            assert!(!is_after_call(&memory(&[other]), CODE + 4), "{other:x}");
        }
        assert!(!is_after_call(&memory(&[0x9400_1234, NOP]), CODE + 5));
        assert!(!is_after_call(&memory(&[NOP]), CODE));
    }
}

//! Infers the state of the frame from the instructions around an interrupted program counter
//! (x86-64).
//!
//! ```text
//! entry:  mov  [rsp - n], eax      the stack has room         return address at rsp
//!         push rbp                                            return address at rsp
//!         sub  rsp, frame                                     return address at rsp + 8
//!         ...                      complete                   return address at rsp + frame + 8
//!         add  rsp, frame
//!         pop  rbp                                            return address at rsp + 8
//!         cmp  rsp, [r15 + n]      poll                       return address at rsp
//!         ja   stub                                           return address at rsp
//!         ret                                                 return address at rsp
//! ```
//!
//! Small methods may subtract first and then store rbp. The program counter is at the start of an instruction,
//! so one byte often tells the instruction.

use super::Built;
use crate::memory::Memory;

const PUSH_RBP: u8 = 0x55;
const POP_RBP: u8 = 0x5d;
const RET: u8 = 0xc3;

/// How much of a frame there is at `pc`, of a method or stub with fixed frames whose code is entered at
/// `entry`. `is_complete` tells whether `pc` lies after the code that builds the frame.
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
    let byte = |offset| memory.byte(pc, offset);
    let before = pc.checked_sub(1).and_then(|at| memory.byte(at, 0));
    let after_pop = before == Some(POP_RBP);
    match (byte(0), byte(1), byte(2)) {
        (Some(RET), ..) => Built::Nothing,
        (Some(POP_RBP), ..) => Built::FramePointer,
        // cmp rsp, [r15 + n]
        (Some(0x49), Some(0x3b), Some(0x67 | 0xa7)) if after_pop => Built::Nothing,
        // mov r10, [r15 + n]
        (Some(0x4d), Some(0x8b), Some(0x57 | 0x97)) if after_pop => Built::Nothing,
        // ja, before a ret
        (Some(0x0f), Some(0x87), _) if byte(6) == Some(RET) => Built::Nothing,
        // test [r10], eax, before a ret
        (Some(0x41), Some(0x85), Some(0x02)) if byte(3) == Some(RET) => Built::Nothing,
        // test [rip + n], eax, before a ret
        (Some(0x85), Some(0x05), _) if byte(6) == Some(RET) => Built::Nothing,
        _ => Built::Complete,
    }
}

/// Follows the instructions that build a frame up to `pc`. `None` where there is another instruction.
fn entering<M: Memory>(memory: &M, entry: usize, pc: usize) -> Option<Built> {
    let (mut at, mut built) = (entry, Built::Nothing);
    let mut is_pushed = false;
    while at < pc {
        let byte = |offset| memory.byte(at, offset);
        let length = match (byte(0)?, byte(1)?, byte(2)?) {
            // mov [rsp - n], eax
            (0x89, 0x84, 0x24) => 7,
            (PUSH_RBP, ..) => {
                (built, is_pushed) = (Built::FramePointer, true);
                1
            }
            // mov rbp, rsp
            (0x48, 0x8b, 0xec) | (0x48, 0x89, 0xe5) => 3,
            // sub rsp, n
            (0x48, 0x81, 0xec) => {
                built = if is_pushed {
                    Built::Complete
                } else {
                    Built::Room
                };
                7
            }
            (0x48, 0x83, 0xec) => {
                built = if is_pushed {
                    Built::Complete
                } else {
                    Built::Room
                };
                4
            }
            // mov [rsp + n], rbp
            (0x48, 0x89, 0xac) => {
                built = Built::Complete;
                8
            }
            (0x48, 0x89, 0x6c) => {
                built = Built::Complete;
                5
            }
            // Instructions of several bytes that do nothing.
            (0x0f, 0x1f, 0x44) => 5,
            (0x66, 0x66, 0x90) => 3,
            (0x66, 0x90, _) => 2,
            (0x90, ..) => 1,
            // The rest does not touch the stack pointer until the frame is complete.
            _ if matches!(built, Built::Complete | Built::Room) => return Some(built),
            _ => return None,
        };
        at = at.checked_add(length)?;
    }
    Some(built)
}

/// Returns whether the instruction before an address is a call.
pub(crate) fn is_after_call<M: Memory>(memory: &M, pc: usize) -> bool {
    let byte = |back: usize| pc.checked_sub(back).and_then(|at| memory.byte(at, 0));
    // The second byte of an indirect call has the operation 2 in its middle bits.
    let indirect = |back: usize, low: std::ops::RangeInclusive<u8>| {
        byte(back) == Some(0xff)
            && back
                .checked_sub(1)
                .and_then(byte)
                .is_some_and(|operand| low.contains(&operand))
    };
    byte(5) == Some(0xe8)
        || indirect(2, 0xd0..=0xd7)
        || indirect(2, 0x10..=0x17)
        || indirect(3, 0x50..=0x57)
        || indirect(4, 0x54..=0x54)
        || indirect(3, 0x14..=0x14)
        || indirect(6, 0x90..=0x97)
        || indirect(6, 0x15..=0x15)
        || indirect(7, 0x94..=0x94)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeMemory;

    const CODE: usize = 0x7000_0000;

    fn memory(code: &[u8]) -> FakeMemory {
        let mut memory = FakeMemory::default();
        memory.add(CODE, code.to_vec());
        memory
    }

    #[test]
    fn a_frame_is_built_step_by_step() {
        let code = [
            0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, // mov [rsp - 0x14000], eax
            0x55, // push rbp
            0x48, 0x81, 0xec, 0x30, 0, 0, 0, // sub rsp, 0x30
            0x90, 0x90, 0x90, 0x90,
        ];
        let memory = memory(&code);
        let at = |offset: usize| built(&memory, CODE, CODE + offset, false);
        assert_eq!([at(0), at(7)], [Built::Nothing; 2]);
        assert_eq!(at(8), Built::FramePointer);
        assert_eq!(at(15), Built::Complete);
    }

    #[test]
    fn a_small_frame_stores_the_frame_pointer_last() {
        let code = [
            0x48, 0x83, 0xec, 0x18, // sub rsp, 0x18
            0x48, 0x89, 0x6c, 0x24, 0x10, // mov [rsp + 0x10], rbp
            0x90, 0x90, 0x90,
        ];
        let memory = memory(&code);
        let at = |offset: usize| built(&memory, CODE, CODE + offset, false);
        assert_eq!(at(0), Built::Nothing);
        assert_eq!(at(4), Built::Room);
        assert_eq!(at(9), Built::Complete);
    }

    #[test]
    fn a_frame_is_left_step_by_step() {
        let code = [
            0x48, 0x83, 0xc4, 0x10, // add rsp, 0x10
            0x5d, // pop rbp
            0x49, 0x3b, 0xa7, 0x48, 0x03, 0, 0, // cmp rsp, [r15 + 0x348]
            0x0f, 0x87, 1, 0, 0, 0,    // ja
            0xc3, // ret
            0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
        ];
        let memory = memory(&code);
        let at = |offset: usize| built(&memory, CODE - 64, CODE + offset, true);
        assert_eq!(at(0), Built::Complete);
        assert_eq!(at(4), Built::FramePointer);
        assert_eq!([at(5), at(12), at(18)], [Built::Nothing; 3]);
    }

    #[test]
    fn return_addresses_follow_calls() {
        let calls: [&[u8]; 5] = [
            &[0xe8, 1, 2, 3, 4],
            &[0x41, 0xff, 0xd2],
            &[0xff, 0x50, 8],
            &[0xff, 0x90, 8, 1, 0, 0],
            &[0xff, 0x54, 0x24, 8],
        ];
        for call in calls {
            assert!(is_after_call(&memory(call), CODE + call.len()), "{call:x?}");
        }
        let other = memory(&[0x48, 0x8b, 0xec, 0x90, 0x90, 0x90, 0x90]);
        assert!(!is_after_call(&other, CODE + 7));
        assert!(!is_after_call(&other, CODE));
    }
}

//! Frames of AArch64, on any machine.

use proptest::prelude::*;

use crate::memory::WORD;
use crate::testing::{
    CALL_STUB_RETURN, FakeMemory, INTERPRETER, STACK, aarch64_layout, bytecode, heaps, method,
    method_id,
};
use crate::walk::tests::{BARRIER, LEAF, OUTER, STUBS, THREAD, WRAPPER, callers, made, word};
use crate::{End, Failure, Registers, Walker};

/// The signature that an address on the stack may have.
const SIGNED: usize = 0x00b7 << 48;
const BL: u32 = 0x9400_0000;

fn walk(memory: &FakeMemory, registers: Registers) -> (Result<End, Failure>, Vec<(usize, i32)>) {
    let mut frames = Vec::new();
    let walker = Walker::new(aarch64_layout());
    let end = walker.walk(memory, &heaps(), THREAD, registers, &mut |frame| {
        frames.push((frame.method_id, frame.location));
        frames.len() < 1000
    });
    (end, frames)
}

/// Words 20 to 50: the interpreted method 3, called by the outer compiled method, and that by native code.
fn stack() -> FakeMemory {
    let mut memory = made(0);
    let fp = 30;
    memory.set_word(word(fp - 9), bytecode(3, 42));
    memory.set_word(word(fp - 3), method(3));
    memory.set_word(word(fp - 1), word(fp + 2));
    memory.set_word(word(fp), 0x1234);
    memory.set_word(word(fp + 1), OUTER.at(0x40) | SIGNED);
    memory.set_word(word(fp + 4), word(46));
    memory.set_word(word(fp + 5), CALL_STUB_RETURN | SIGNED);
    memory.set_word(word(46 - 8), word(48));
    memory.write(CALL_STUB_RETURN - 4, &BL.to_le_bytes());
    memory
}

fn with_callers(first: &[(usize, i32)]) -> (Result<End, Failure>, Vec<(usize, i32)>) {
    (Ok(End::Root), [first, &callers()].concat())
}

const RUNNING: Registers = Registers {
    pc: INTERPRETER,
    sp: STACK + 20 * WORD,
    fp: STACK + 30 * WORD,
    bytecode: 0,
    method: 0,
    result: 0,
    caller_sp: [0; 2],
};

#[test]
fn signed_return_addresses_lead_to_the_root() {
    let mut memory = stack();
    assert_eq!(walk(&memory, RUNNING), with_callers(&[]));
    // A compiled method that the interpreter has called.
    memory.set_word(word(14), word(30));
    memory.set_word(word(15), INTERPRETER | SIGNED);
    let registers = Registers {
        pc: LEAF.at(0x28),
        sp: word(10),
        result: LEAF.at(0x20),
        ..Registers::default()
    };
    assert_eq!(walk(&memory, registers), with_callers(&[(method_id(2), 3)]));
}

/// The interpreter keeps its stack pointer below the room for operands, in which the callee has its frame.
#[test]
fn the_callers_stack_pointer_may_lie_in_the_callees_frame() {
    let mut memory = stack();
    let fp = 18;
    memory.set_word(word(fp - 9), bytecode(4, 7));
    memory.set_word(word(fp - 3), method(4));
    memory.set_word(word(fp - 1), word(4));
    memory.set_word(word(fp), word(30));
    memory.set_word(word(fp + 1), INTERPRETER | SIGNED);
    let registers = Registers {
        sp: word(6),
        fp: word(fp),
        ..RUNNING
    };
    assert_eq!(walk(&memory, registers), with_callers(&[(method_id(4), 7)]));
}

#[test]
fn incomplete_frames_have_their_return_address_in_the_link() {
    let mut memory = stack();
    // sub sp, sp, #48; stp x29, x30, [sp, #32]
    let prologue = [0xd100_c3ffu32, 0xa902_7bfd];
    for (index, instruction) in prologue.into_iter().enumerate() {
        memory.write(LEAF.at(4 * index), &instruction.to_le_bytes());
    }
    let expected = with_callers(&[(method_id(2), 3)]);
    for (offset, sp) in [(0, 16), (4, 10)] {
        let registers = Registers {
            pc: LEAF.at(offset),
            sp: word(sp),
            fp: word(30),
            result: INTERPRETER | SIGNED,
            ..Registers::default()
        };
        assert_eq!(walk(&memory, registers), expected, "{offset}");
    }
}

#[test]
fn frames_that_are_left_have_their_return_address_in_the_link() {
    let mut memory = stack();
    // ldp x29, x30, [sp, #32]; add sp, sp, #48; autiasp; ret
    let epilogue = [0xa942_7bfdu32, 0x9100_c3ff, 0xd503_23bf, 0xd65f_03c0];
    for (index, instruction) in epilogue.into_iter().enumerate() {
        memory.write(LEAF.at(0x40 + 4 * index), &instruction.to_le_bytes());
    }
    let expected = with_callers(&[(method_id(2), 11)]);
    for (offset, sp) in [(0x44, 10), (0x48, 16), (0x4c, 16)] {
        let registers = Registers {
            pc: LEAF.at(offset),
            sp: word(sp),
            fp: word(30),
            result: INTERPRETER | SIGNED,
            ..Registers::default()
        };
        assert_eq!(walk(&memory, registers), expected, "{offset:x}");
    }
}

#[test]
fn a_method_that_the_interpreter_enters_has_no_frame_yet() {
    let memory = stack();
    let registers = Registers {
        sp: word(20),
        method: method(4),
        result: INTERPRETER,
        caller_sp: [word(20), 0],
        ..RUNNING
    };
    let expected = with_callers(&[(method_id(4), 0)]);
    assert_eq!(walk(&memory, registers), expected);
    // The registers are those of an earlier call.
    for registers in [
        Registers {
            method: method(3),
            ..registers
        },
        Registers {
            caller_sp: [word(21), word(16)],
            ..registers
        },
    ] {
        assert_eq!(walk(&memory, registers), with_callers(&[]));
    }
}

#[test]
fn a_method_that_compiled_code_enters_has_no_frame_yet() {
    let mut memory = stack();
    memory.set_word(word(18), word(30));
    memory.set_word(word(19), INTERPRETER);
    let leaf = Registers {
        pc: INTERPRETER + 8,
        // The caller's stack pointer, before arguments were put on the stack.
        caller_sp: [0x77, word(14)],
        method: method(4),
        result: LEAF.at(0x60),
        ..RUNNING
    };
    let expected = with_callers(&[(method_id(4), 0), (method_id(2), 11)]);
    // At the entry, and while the frame is made. The frame pointer may be that of an interpreted method further up.
    for fp in [0x5555, word(30)] {
        let registers = Registers {
            sp: word(12),
            fp,
            ..leaf
        };
        assert_eq!(walk(&memory, registers), expected, "{fp:x}");
    }
    memory.set_word(word(12), 0x5555);
    memory.set_word(word(13), LEAF.at(0x60) | SIGNED);
    let registers = Registers {
        sp: word(2),
        fp: word(12),
        ..leaf
    };
    assert_eq!(walk(&memory, registers), expected);
}

#[test]
fn a_leaf_routine_is_left_out() {
    let mut memory = stack();
    memory.set_word(word(14), word(30));
    memory.set_word(word(15), INTERPRETER);
    let expected = with_callers(&[(method_id(2), 3)]);
    // Without a frame, with a frame that nothing tells the size of, and after it has called another routine.
    memory.set_word(word(4), 0x5555);
    memory.set_word(word(5), LEAF.at(0x30) | SIGNED);
    let link = LEAF.at(0x30);
    for (sp, fp, result) in [(10, 0x5555, link), (4, word(4), link), (2, word(4), 0x9998)] {
        let registers = Registers {
            pc: 0x9999,
            sp: word(sp),
            fp,
            result,
            ..Registers::default()
        };
        assert_eq!(walk(&memory, registers), expected, "{sp}");
    }
}

#[test]
fn a_stub_stores_the_link_or_leaves_it() {
    let mut memory = stack();
    memory.set_word(word(14), word(30));
    memory.set_word(word(15), INTERPRETER);
    let expected = with_callers(&[(method_id(2), 3)]);
    let link = LEAF.at(0x30);
    let in_stub = |sp, fp, result| Registers {
        pc: STUBS.at(0x10),
        sp: word(sp),
        fp,
        result,
        ..Registers::default()
    };
    // With room on the stack, where an old return address lies at the distance of a frame.
    memory.set_word(word(11), STUBS.at(0x30));
    assert_eq!(walk(&memory, in_stub(2, 0x5555, link)), expected);
    memory.set_word(word(8), 0x5555);
    memory.set_word(word(9), LEAF.at(0x30));
    // At its start, where the link is on top of the stack, where the frame pointer shows it, and after a call of its own.
    for (sp, fp, result) in [
        (10, 0x5555, link),
        (8, 0x5555, link),
        (4, word(8), link),
        (4, word(8), STUBS.at(0x30)),
    ] {
        assert_eq!(walk(&memory, in_stub(sp, fp, result)), expected, "{sp}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 1_500 } else { 100_000 }))]

    /// As for x86-64: the walk ends whatever it reads.
    #[test]
    fn spoilt_memory_ends_a_walk(
        spoils in prop::collection::vec((any::<usize>(), any::<u8>()), 0..200),
        words in prop::collection::vec((0usize..512, 0usize..9, 0usize..0x400), 0..20),
        pick in 0usize..9,
        link in 0usize..9,
        offset in 0usize..0x400,
        sp in 0usize..520,
        fp in 0usize..520,
    ) {
        let mut memory = stack();
        let addresses = [
            OUTER.at(0), LEAF.at(0), WRAPPER.at(0), BARRIER.at(0), STUBS.at(0), INTERPRETER, STACK,
            method(0), CALL_STUB_RETURN,
        ];
        for (index, address, offset) in words {
            memory.set_word(word(index), addresses[address].wrapping_add(offset));
        }
        for (place, byte) in spoils {
            memory.spoil(place, byte);
        }
        let registers = Registers {
            pc: addresses[pick].wrapping_add(offset),
            sp: word(sp),
            fp: word(fp),
            bytecode: bytecode(3, offset),
            method: method(offset % 9),
            result: addresses[link].wrapping_add(offset),
            caller_sp: [word(sp), word(fp)],
        };
        let (end, frames) = walk(&memory, registers);
        prop_assert!(frames.len() <= 1000);
        prop_assert_eq!(end.is_err(), frames.is_empty());
    }
}

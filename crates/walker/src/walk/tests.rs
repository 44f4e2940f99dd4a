use super::*;
use crate::testing::{
    ANCHOR, CALL_STUB_RETURN, Code, FakeMemory, INTERPRETER, NATIVE_METHOD, STACK, STACK_END,
    bytecode, heaps, layout, method, method_id, vm,
};
use proptest::prelude::*;

/// Method 0 with method 1 inlined at one of its calls.
pub(super) const OUTER: Code<'_> = Code {
    segment: 0,
    segments: 16,
    name: "nmethod",
    frame_words: 4,
    method: 0,
    records: &[(0x20, &[(0, 5)]), (0x40, &[(1, 7), (0, 9)])],
};
pub(super) const LEAF: Code<'_> = Code {
    segment: 16,
    segments: 16,
    name: "nmethod",
    frame_words: 6,
    method: 2,
    records: &[(0x30, &[(2, 3)]), (0x60, &[(2, 11)])],
};
pub(super) const WRAPPER: Code<'_> = Code {
    segment: 32,
    segments: 16,
    name: "native nmethod",
    frame_words: 8,
    method: NATIVE_METHOD,
    records: &[],
};
pub(super) const BARRIER: Code<'_> = Code {
    segment: 48,
    segments: 8,
    name: "StubRoutines (continuation stubs)",
    frame_words: 0,
    method: 0,
    records: &[],
};
/// Holds the call stub.
pub(super) const STUBS: Code<'_> = Code {
    segment: 64,
    segments: 8,
    name: "StubRoutines (1)",
    frame_words: 0,
    method: 0,
    records: &[(0x30, &[])],
};

pub(super) const THREAD: Thread = Thread {
    anchor: ANCHOR,
    stack_end: STACK_END,
};

/// In the frame of the interpreted method of `put_callers`.
pub(super) const INTERPRETING: Registers = Registers {
    pc: INTERPRETER,
    sp: STACK + 20 * WORD,
    fp: STACK + 30 * WORD,
    bytecode: 0,
    method: 0,
    result: 0,
    caller_sp: [0; 2],
};

pub(super) fn made(excluded: u8) -> FakeMemory {
    let mut memory = vm();
    for code in [OUTER, LEAF, WRAPPER, BARRIER, STUBS] {
        code.put(&mut memory, excluded);
    }
    memory
}

/// The address of a word of the stack.
pub(super) fn word(index: usize) -> usize {
    STACK + index * WORD
}

/// The frames of a stack from the interpreted method 3 to the root, at words 20 to 50: method 3 was called by the
/// outer compiled method, and that by native code.
pub(super) fn put_callers(memory: &mut FakeMemory) {
    let fp = 30;
    memory.set_word(word(fp - 8), bytecode(3, 42));
    memory.set_word(word(fp - 3), method(3));
    memory.set_word(word(fp - 1), word(fp + 2));
    memory.set_word(word(fp), 0x1234);
    memory.set_word(word(fp + 1), OUTER.at(0x40));
    // The outer method's frame has 4 words, the last ones rbp and return address.
    memory.set_word(word(fp + 4), word(44));
    memory.set_word(word(fp + 5), CALL_STUB_RETURN);
    memory.set_word(word(44 - 6), word(46));
}

fn walk(
    memory: &FakeMemory,
    excluded: u8,
    registers: Registers,
) -> (Result<End, Failure>, Vec<(usize, i32)>) {
    let mut frames = Vec::new();
    let walker = Walker::new(layout(excluded));
    let end = walker.walk(memory, &heaps(), THREAD, registers, &mut |frame| {
        frames.push((frame.method_id, frame.location));
        frames.len() < 1000
    });
    (end, frames)
}

/// The callers that `put_callers` makes.
pub(super) fn callers() -> Vec<(usize, i32)> {
    vec![(method_id(3), 42), (method_id(1), 7), (method_id(0), 9)]
}

fn with_callers(first: &[(usize, i32)]) -> Vec<(usize, i32)> {
    [first, &callers()].concat()
}

#[test]
fn compiled_inlined_interpreted_and_entry_frames_lead_to_the_root() {
    for excluded in [0, 1] {
        let mut memory = made(excluded);
        put_callers(&mut memory);
        // The leaf's frame has six words, then the interpreted one.
        memory.set_word(word(14), word(30));
        memory.set_word(word(15), INTERPRETER);
        let registers = |offset| Registers {
            pc: LEAF.at(offset),
            sp: word(10),
            ..Registers::default()
        };
        for (offset, location) in [(0x28, 3), (0x30, 3), (0x31, 11), (0x60, 11)] {
            let (end, frames) = walk(&memory, excluded, registers(offset));
            assert_eq!(end, Ok(End::Root), "{offset:x}");
            assert_eq!(frames, with_callers(&[(method_id(2), location)]));
        }
    }
}

#[test]
fn a_return_address_stands_for_its_methods() {
    for excluded in [0, 1] {
        let memory = made(excluded);
        let walker = Walker::new(layout(excluded));
        let frames = |pc, wanted| {
            let mut frames = Vec::new();
            let found = walker.frames_at(&memory, &heaps(), pc, &mut |frame| {
                frames.push((frame.method_id, frame.location));
                frames.len() < wanted
            });
            found.map(|()| frames)
        };
        let inlined = vec![(method_id(1), 7), (method_id(0), 9)];
        assert_eq!(frames(OUTER.at(0x40), 9), Some(inlined.clone()));
        assert_eq!(frames(OUTER.at(0x40), 1), Some(inlined[..1].to_vec()));
        assert_eq!(frames(OUTER.at(0x20), 9), Some(vec![(method_id(0), 5)]));
        let native = vec![(method_id(NATIVE_METHOD), NATIVE)];
        assert_eq!(frames(WRAPPER.at(0x30), 9), Some(native));
        // Where frames that are due for deoptimization return to, there is no record.
        for pc in [OUTER.at(0x3f), OUTER.at(0x41), STUBS.at(0x30), 0x9999] {
            assert_eq!(frames(pc, 9), None, "{pc:x}");
        }
    }
}

#[test]
fn an_interpreted_frame_is_told_by_its_addresses() {
    let memory = made(0);
    let walker = Walker::new(layout(0));
    let frame = |at, bytecode| {
        let frame = walker.interpreted_frame(&memory, at, bytecode);
        frame.map(|frame| (frame.method_id, frame.location))
    };
    assert_eq!(frame(method(3), bytecode(3, 42)), Some((method_id(3), 42)));
    assert_eq!(
        frame(method(NATIVE_METHOD), 0),
        Some((method_id(NATIVE_METHOD), NATIVE))
    );
    for (at, bytecode) in [
        (method(3), bytecode(4, 1)),
        (method(3), 0),
        (0, 0),
        (0x7, 0x7),
    ] {
        assert_eq!(frame(at, bytecode), None, "{at:x} {bytecode:x}");
    }
}

#[test]
fn an_anchor_leads_to_the_native_method() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(16), word(30));
    memory.set_word(word(17), INTERPRETER);
    let registers = Registers {
        pc: 0x9999,
        sp: word(2),
        ..Registers::default()
    };
    memory.set_word(ANCHOR, word(10));
    let expected = with_callers(&[(method_id(NATIVE_METHOD), NATIVE)]);
    for pc in [WRAPPER.at(0x30), 0] {
        memory.set_word(ANCHOR + 8, pc);
        // Where the anchor has no address, the word below has it.
        memory.set_word(word(9), WRAPPER.at(0x30));
        assert_eq!(
            walk(&memory, 0, registers),
            (Ok(End::Root), expected.clone())
        );
    }
    memory.set_word(ANCHOR, 0);
    let (end, frames) = walk(
        &memory,
        0,
        Registers {
            sp: word(45),
            ..registers
        },
    );
    assert_eq!((end, frames.len()), (Err(Failure::NoJavaFrame), 0));
}

#[test]
fn the_register_has_the_bytecode_of_the_innermost_interpreted_frame() {
    let mut memory = made(0);
    put_callers(&mut memory);
    let registers = |bytecode| Registers {
        pc: INTERPRETER + 8,
        sp: word(20),
        fp: word(30),
        bytecode,
        ..Registers::default()
    };
    for (register, location) in [(bytecode(3, 77), 77), (0x77, 42), (bytecode(4, 1), 42)] {
        let (end, frames) = walk(&memory, 0, registers(register));
        let mut expected = callers();
        expected[0].1 = location;
        assert_eq!((end, frames), (Ok(End::Root), expected));
    }
}

#[test]
fn a_method_that_the_interpreter_enters_is_in_its_register() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(19), INTERPRETER);
    let registers = Registers {
        pc: INTERPRETER + 8,
        sp: word(19),
        fp: word(30),
        bytecode: word(20),
        method: method(4),
        result: 0,
        ..Registers::default()
    };
    let expected = with_callers(&[(method_id(4), 0)]);
    assert_eq!(walk(&memory, 0, registers), (Ok(End::Root), expected));
}

/// Step by step: the return address in a register, pushed again, then the frame pointer, then some of the words. The
/// caller is compiled, so that its frame cannot be taken for the callee's.
#[test]
fn a_frame_that_the_interpreter_makes_has_its_caller() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(17), word(30));
    memory.set_word(word(18), INTERPRETER);
    // The leaf's frame begins here; the interpreter pushes below it.
    let caller_sp = word(13);
    let mut registers = Registers {
        pc: INTERPRETER + 8,
        sp: word(11),
        fp: 5,
        bytecode: caller_sp,
        method: method(4),
        result: LEAF.at(0x60),
        ..Registers::default()
    };
    let expected = with_callers(&[(method_id(4), 0), (method_id(2), 11)]);
    let check = |memory: &FakeMemory, registers| {
        assert_eq!(
            walk(memory, 0, registers),
            (Ok(End::Root), expected.clone())
        );
    };
    check(&memory, registers);
    registers.result = 0;
    memory.set_word(word(10), LEAF.at(0x60));
    registers.sp = word(10);
    check(&memory, registers);
    memory.set_word(word(9), 5);
    (registers.sp, registers.fp) = (word(9), word(9));
    check(&memory, registers);
    memory.set_word(word(8), caller_sp);
    registers.bytecode = bytecode(4, 0);
    registers.sp = word(6);
    check(&memory, registers);
}

#[test]
fn incomplete_frames_have_their_return_address_further_down() {
    let mut memory = made(0);
    put_callers(&mut memory);
    let prologue = [0x55, 0x48, 0x83, 0xec, 0x20, 0x90, 0x90, 0x90];
    memory.write(LEAF.at(0), &prologue);
    let expected = with_callers(&[(method_id(2), 3)]);
    // At the push, and after it.
    memory.set_word(word(15), INTERPRETER);
    let mut registers = Registers {
        pc: LEAF.at(0),
        sp: word(15),
        fp: word(30),
        ..Registers::default()
    };
    assert_eq!(
        walk(&memory, 0, registers),
        (Ok(End::Root), expected.clone())
    );
    memory.set_word(word(14), word(30));
    registers = Registers {
        pc: LEAF.at(1),
        sp: word(14),
        fp: 5,
        ..registers
    };
    assert_eq!(walk(&memory, 0, registers), (Ok(End::Root), expected));
}

#[test]
fn a_frame_that_is_due_for_deoptimization_keeps_its_address() {
    let mut memory = made(0);
    put_callers(&mut memory);
    let return_at = word(31);
    memory.set_word(return_at, OUTER.at(0xe0));
    // 16 bytes above the outer method's stack pointer.
    memory.set_word(word(32) + 16, OUTER.at(0x20));
    let (_, frames) = walk(&memory, 0, INTERPRETING);
    assert_eq!(frames, [(method_id(3), 42), (method_id(0), 5)]);
}

#[test]
fn a_walk_ends_at_the_return_barrier() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(31), BARRIER.at(0x20));
    let (end, frames) = walk(&memory, 0, INTERPRETING);
    assert_eq!((end, frames), (Ok(End::Heap), callers()[..1].to_vec()));
}

#[test]
fn a_leaf_routine_is_left_out() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(14), word(30));
    memory.set_word(word(15), INTERPRETER);
    // By the frame pointer, and where there is none.
    memory.set_word(word(8), 0x77);
    memory.set_word(word(9), LEAF.at(0x30));
    let expected = with_callers(&[(method_id(2), 3)]);
    for fp in [word(8), 0x5555] {
        let registers = Registers {
            pc: 0x9999,
            sp: word(4),
            fp,
            ..Registers::default()
        };
        assert_eq!(
            walk(&memory, 0, registers),
            (Ok(End::Root), expected.clone())
        );
    }
}

#[test]
fn registers_that_a_barrier_saved_are_left_out() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(18), word(30));
    memory.set_word(word(19), INTERPRETER);
    // Between the routine's frame and the method's lie four words.
    memory.set_word(word(8), 0x77);
    memory.set_word(word(9), LEAF.at(0x30));
    let registers = Registers {
        pc: 0x9999,
        sp: word(4),
        fp: word(8),
        ..Registers::default()
    };
    let expected = with_callers(&[(method_id(2), 3)]);
    assert_eq!(walk(&memory, 0, registers), (Ok(End::Root), expected));
}

/// The code of JDK 8 for sines: words under the frame of the leaf, which the size of the frame does not have, and a
/// frame pointer that is still the interpreted caller's.
#[test]
fn frames_with_words_under_them_are_found_by_the_frame_pointer() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(18), word(30));
    memory.set_word(word(19), INTERPRETER);
    let expected = with_callers(&[(method_id(2), 3)]);
    // Interrupted in the leaf itself: where its caller would be, an earlier call of a native method has left its address.
    memory.set_word(word(15), WRAPPER.at(0x30));
    memory.write(WRAPPER.at(0x30) - 5, &[0xe8]);
    let registers = Registers {
        pc: LEAF.at(0x28),
        sp: word(10),
        fp: word(30),
        ..Registers::default()
    };
    assert_eq!(
        walk(&memory, 0, registers),
        (Ok(End::Root), expected.clone())
    );
    // A saved register may have an address of the interpreter, where no frame of its is.
    memory.set_word(word(15), INTERPRETER);
    assert_eq!(
        walk(&memory, 0, registers),
        (Ok(End::Root), expected.clone())
    );
    // Or one of native code that has called Java.
    memory.set_word(word(15), CALL_STUB_RETURN);
    assert_eq!(
        walk(&memory, 0, registers),
        (Ok(End::Root), expected.clone())
    );
    // Interrupted in a routine without frame pointer that the leaf calls with words under its frame.
    memory.set_word(word(9), LEAF.at(0x30));
    let registers = Registers {
        pc: 0x9999,
        sp: word(4),
        ..registers
    };
    assert_eq!(walk(&memory, 0, registers), (Ok(End::Root), expected));
}

#[test]
fn a_method_that_native_code_enters_has_only_the_entry_frame() {
    let mut memory = made(0);
    memory.set_word(word(44 - 6), word(46));
    memory.set_word(word(37), CALL_STUB_RETURN);
    memory.write(CALL_STUB_RETURN - 2, &[0xff, 0xd3]);
    let registers = Registers {
        pc: INTERPRETER,
        sp: word(37),
        fp: word(44),
        method: method(4),
        ..Registers::default()
    };
    let expected = vec![(method_id(4), 0)];
    assert_eq!(walk(&memory, 0, registers), (Ok(End::Root), expected));
}

/// As where the VM copies the frames of a virtual thread back.
#[test]
fn code_of_continuations_has_the_next_frame_on_the_stack() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(8), 0x77);
    memory.set_word(word(9), BARRIER.at(0x20));
    memory.write(BARRIER.at(0x20) - 5, &[0xe8]);
    memory.set_word(word(12), LEAF.at(0x30));
    memory.set_word(word(17), word(30));
    memory.set_word(word(18), INTERPRETER);
    let registers = Registers {
        pc: 0x9999,
        sp: word(4),
        fp: word(8),
        ..Registers::default()
    };
    let expected = with_callers(&[(method_id(2), 3)]);
    assert_eq!(walk(&memory, 0, registers), (Ok(End::Root), expected));
}

#[test]
fn a_stack_that_leads_to_itself_ends() {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(31), INTERPRETER);
    memory.set_word(word(30), word(30));
    memory.set_word(word(29), word(20));
    assert_eq!(walk(&memory, 0, INTERPRETING).0, Ok(End::Unknown));
}

#[test]
fn the_receiver_ends_a_walk() {
    let mut memory = made(0);
    put_callers(&mut memory);
    for limit in 1..3 {
        let (mut count, walker) = (0, Walker::new(layout(0)));
        let end = walker.walk(&memory, &heaps(), THREAD, INTERPRETING, &mut |_| {
            count += 1;
            count < limit
        });
        assert_eq!((end, count), (Ok(End::Full), limit));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 1_500 } else { 100_000 }))]

    /// Any bytes of the stack, of the code and of the VM's data may be wrong, and any register: the walk ends, with
    /// no more frames than it may have.
    #[test]
    fn spoilt_memory_ends_a_walk(
        spoils in prop::collection::vec((any::<usize>(), any::<u8>()), 0..200),
        stack in prop::collection::vec((0usize..512, 0usize..9, 0usize..0x400), 0..20),
        pick in 0usize..9,
        offset in 0usize..0x400,
        sp in 0usize..520,
        fp in 0usize..520,
        is_aligned in any::<bool>(),
    ) {
        let mut memory = made(0);
        put_callers(&mut memory);
        let addresses = [
            OUTER.at(0), LEAF.at(0), WRAPPER.at(0), BARRIER.at(0), STUBS.at(0), INTERPRETER, STACK,
            method(0), CALL_STUB_RETURN,
        ];
        for (index, address, offset) in stack {
            memory.set_word(word(index), addresses[address].wrapping_add(offset));
        }
        for (place, byte) in spoils {
            memory.spoil(place, byte);
        }
        let registers = Registers {
            pc: addresses[pick].wrapping_add(offset),
            sp: word(sp) + usize::from(!is_aligned),
            fp: word(fp),
            bytecode: bytecode(3, offset),
            method: method(offset % 9),
            result: addresses[pick],
        ..Registers::default()
        };
        let (end, frames) = walk(&memory, 0, registers);
        prop_assert!(frames.len() <= 1000);
        prop_assert_eq!(end.is_err(), frames.is_empty());
    }
}

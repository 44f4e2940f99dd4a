//! Walks of stacks that tests make.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::callers::{MappedCode, Rules};
use crate::testing::FakeMemory;

const STACK: usize = 0x30_0000;
const STACK_END: usize = STACK + 0x100;
const CODE: usize = 0x60_0000;
/// Return addresses, each after a call.
const CALLERS: [usize; 3] = [CODE + 0x20, CODE + 0x40, CODE + 0x60];
const JAVA: usize = 0x70_0000;

/// A stack of three frames with frame pointers, the outermost called by Java.
fn memory() -> FakeMemory {
    let mut memory = FakeMemory::default();
    memory.add(STACK, vec![0; STACK_END - STACK]);
    memory.add(CODE, vec![0x90; 0x100]);
    for caller in CALLERS {
        memory.write(caller - 5, &[0xe8]);
    }
    let frames = [(0x20, 0x40, CALLERS[0]), (0x40, 0x80, CALLERS[1])];
    for (at, next, return_pc) in frames {
        memory.set_word(STACK + at, STACK + next);
        memory.set_word(STACK + at + WORD, return_pc);
    }
    memory.set_word(STACK + 0x80, 7);
    memory.set_word(STACK + 0x80 + WORD, JAVA);
    memory
}

/// Code with these rules, from these offsets on.
fn code(all: &[(u32, FrameAddress, SavedFp)]) -> CodeMap {
    let mut rules = Rules::default();
    for &(start, frame, fp) in all {
        rules.push(start, Rule { frame, fp });
    }
    CodeMap::new(vec![MappedCode {
        start: CODE,
        end: CODE + 0x100,
        address: 0,
        rules: Arc::new(rules),
    }])
}

fn walk_by(memory: &FakeMemory, code: &CodeMap, fp: usize, most: usize) -> Vec<usize> {
    walk_from(memory, code, STACK, fp, most)
}

fn walk_from(memory: &FakeMemory, code: &CodeMap, sp: usize, fp: usize, most: usize) -> Vec<usize> {
    let registers = Registers {
        pc: CODE + 3,
        sp,
        fp,
        ..Registers::default()
    };
    let mut found = Vec::new();
    let is_java = |pc| (JAVA..JAVA + 0x100).contains(&pc);
    native_frames(
        Machine::X86_64,
        memory,
        sp..STACK_END,
        registers,
        Some(code),
        is_java,
        |pc| {
            found.push(pc);
            found.len() < most
        },
    );
    found
}

fn walk(memory: &FakeMemory, fp: usize, most: usize) -> Vec<usize> {
    walk_by(memory, &CodeMap::default(), fp, most)
}

#[test]
fn frames_up_to_java_are_found() {
    let found = walk(&memory(), STACK + 0x20, 100);
    assert_eq!(found, [CODE + 3, CALLERS[0] - 1, CALLERS[1] - 1]);
    assert_eq!(walk(&memory(), STACK + 0x20, 2), found[..2]);
}

#[test]
fn a_register_that_is_no_frame_pointer_ends_the_walk() {
    for fp in [
        0,
        7,
        STACK + 1,
        STACK + 0x30,
        STACK_END - WORD,
        STACK_END,
        usize::MAX,
    ] {
        assert_eq!(walk(&memory(), fp, 100), [CODE + 3], "{fp:x}");
    }
    let mut turned_back = memory();
    turned_back.set_word(STACK + 0x40, STACK + 0x20);
    assert_eq!(walk(&turned_back, STACK + 0x20, 100).len(), 3);
    let mut no_call = memory();
    no_call.set_word(STACK + 0x40 + WORD, CODE + 0x80);
    assert_eq!(walk(&no_call, STACK + 0x20, 100).len(), 2);
}

#[test]
fn java_code_has_no_native_frames() {
    let registers = Registers {
        pc: JAVA + 1,
        sp: STACK,
        fp: STACK + 0x20,
        ..Registers::default()
    };
    let is_java = |pc| pc >= JAVA;
    native_frames(
        Machine::X86_64,
        &memory(),
        STACK..STACK_END,
        registers,
        None,
        is_java,
        |_| panic!("there is none"),
    );
}

const SAVED: SavedFp = SavedFp::Saved(16);

/// A stack of three frames; no word of the code says that there are calls.
fn memory_without_frame_pointers() -> FakeMemory {
    let mut memory = FakeMemory::default();
    memory.add(STACK, vec![0; STACK_END - STACK]);
    memory.add(CODE, vec![0x90; 0x100]);
    for (at, return_pc) in [(0x20, CALLERS[0]), (0x48, CALLERS[1]), (0x80, JAVA)] {
        memory.set_word(STACK + at, return_pc);
    }
    memory
}

#[test]
fn rules_lead_where_there_is_no_frame_pointer() {
    let memory = memory_without_frame_pointers();
    let all = code(&[
        (0, FrameAddress::Sp(0x28), SavedFp::Register),
        (0x10, FrameAddress::Sp(0x28), SavedFp::Lost),
        (0x30, FrameAddress::Sp(0x38), SavedFp::Register),
    ]);
    let expected = [CODE + 3, CALLERS[0] - 1, CALLERS[1] - 1];
    for fp in [0, 7, STACK + 0x20, usize::MAX] {
        assert_eq!(walk_by(&memory, &all, fp, 100), expected, "{fp:x}");
    }
    assert_eq!(walk_by(&memory, &all, 0, 2), expected[..2]);
    // The last byte of a call counts, not the first after it, where another function may begin.
    let next = code(&[
        (0, FrameAddress::Sp(0x28), SavedFp::Register),
        (0x20, FrameAddress::Unknown, SavedFp::Lost),
    ]);
    assert_eq!(walk_by(&memory, &next, 0, 100), expected);
}

#[test]
fn a_frame_pointer_is_found_where_its_rule_says() {
    let mut memory = memory_without_frame_pointers();
    memory.set_word(STACK + 0x18, STACK + 0x40);
    memory.set_word(STACK + 0x40, STACK + 0x88);
    let by_fp = FrameAddress::Fp(0x10);
    let first = |frame, fp| code(&[(0, frame, fp), (0x10, by_fp, SAVED)]);
    let sp = FrameAddress::Sp(0x28);
    let expected = [CODE + 3, CALLERS[0] - 1, CALLERS[1] - 1];
    // In the register, in the frame, in the word that the register points to.
    let found = walk_by(&memory, &first(sp, SavedFp::Register), STACK + 0x40, 100);
    assert_eq!(found, expected);
    assert_eq!(walk_by(&memory, &first(sp, SAVED), 0, 100), expected);
    let at_fp = first(sp, SavedFp::AtFp);
    assert_eq!(walk_by(&memory, &at_fp, STACK + 0x18, 100), expected);
    for lost in [SavedFp::Lost, SavedFp::Saved(0x100)] {
        assert_eq!(walk_by(&memory, &first(sp, lost), 0, 100), expected[..2]);
    }
    // The address of an aligned frame is in memory.
    memory.set_word(STACK + 0x38, STACK + 0x28);
    let aligned = first(FrameAddress::BelowFp(8), SavedFp::AtFp);
    assert_eq!(
        walk_by(&memory, &aligned, STACK + 0x40, 100)[..2],
        expected[..2]
    );
}

#[test]
fn an_entry_of_the_linkage_table_has_pushed_one_word_at_its_end() {
    let memory = memory_without_frame_pointers();
    let all = code(&[
        (0, FrameAddress::Linkage, SavedFp::Register),
        (0x10, FrameAddress::Root, SavedFp::Lost),
    ]);
    let at = |pc: usize, sp: usize| {
        let registers = Registers {
            pc: CODE + pc,
            sp: STACK + sp,
            ..Registers::default()
        };
        let mut found = 0;
        let stack = registers.sp..STACK_END;
        native_frames(
            Machine::X86_64,
            &memory,
            stack,
            registers,
            Some(&all),
            |_| false,
            |_| {
                found += 1;
                true
            },
        );
        found
    };
    assert_eq!([at(0, 0x20), at(6, 0x20), at(11, 0x18)], [2; 3]);
    assert_eq!([at(0, 0x18), at(11, 0x20)], [1; 2]);
}

#[test]
fn the_outermost_function_has_no_caller() {
    let mut memory = memory_without_frame_pointers();
    memory.write(CALLERS[1] - 5, &[0xe8]);
    let root = code(&[
        (0, FrameAddress::Sp(0x28), SavedFp::Register),
        (0x10, FrameAddress::Root, SavedFp::Register),
    ]);
    assert_eq!(walk_by(&memory, &root, STACK + 0x40, 100).len(), 2);
}

#[test]
fn code_without_rules_is_left_by_its_frame_pointer() {
    let mut memory = memory_without_frame_pointers();
    let all = code(&[
        (0, FrameAddress::Sp(0x28), SavedFp::Register),
        (0x10, FrameAddress::Unknown, SavedFp::Register),
        (0x30, FrameAddress::Sp(0x38), SavedFp::Register),
    ]);
    // A frame pointer may be anything, so there must be a call.
    assert_eq!(walk_by(&memory, &all, STACK + 0x40, 100).len(), 2);
    memory.write(CALLERS[1] - 5, &[0xe8]);
    assert_eq!(walk_by(&memory, &all, STACK + 0x40, 100).len(), 3);
    // Nor does a rule lead on from a stack pointer that may be wrong.
    memory.set_word(STACK + 0x80, CALLERS[2]);
    assert_eq!(walk_by(&memory, &all, STACK + 0x40, 100).len(), 3);
    memory.write(CALLERS[2] - 5, &[0xe8]);
    assert_eq!(walk_by(&memory, &all, STACK + 0x40, 100).len(), 4);
}

#[test]
fn a_rule_that_does_not_fit_the_stack_ends_the_walk() {
    let mut memory = memory_without_frame_pointers();
    let first = |frame| code(&[(0, frame, SavedFp::Register)]);
    for frame in [
        FrameAddress::Sp(0),
        FrameAddress::Sp(0x8),
        FrameAddress::Sp(STACK_END - STACK + WORD),
        FrameAddress::Fp(0),
        FrameAddress::BelowFp(8),
    ] {
        for fp in [0, STACK - 8, STACK_END, usize::MAX] {
            let found = walk_by(&memory, &first(frame), fp, 100);
            assert_eq!(found, [CODE + 3], "{frame:?} {fp:x}");
        }
    }
    // A return address without code.
    memory.set_word(STACK + 0x20, CODE - 1);
    let found = walk_by(&memory, &first(FrameAddress::Sp(0x28)), 0, 100);
    assert_eq!(found, [CODE + 3]);
}

fn frame_address() -> impl Strategy<Value = FrameAddress> {
    prop_oneof![
        Just(FrameAddress::Unknown),
        Just(FrameAddress::Root),
        Just(FrameAddress::Linkage),
        (0usize..0x50).prop_map(FrameAddress::Sp),
        (0usize..8).prop_map(|words| FrameAddress::Sp(words * WORD)),
        (0usize..8).prop_map(|words| FrameAddress::Fp(words * WORD)),
        (0usize..8).prop_map(|words| FrameAddress::BelowFp(words * WORD)),
    ]
}

fn saved_fp() -> impl Strategy<Value = SavedFp> {
    prop_oneof![
        Just(SavedFp::Register),
        Just(SavedFp::AtFp),
        Just(SavedFp::Lost),
        (0usize..12).prop_map(|words| SavedFp::Saved(words * WORD)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 1_500 } else { 100_000 }))]

    /// Any rule may be wrong, and any word of the stack: the walk goes up to its end.
    #[test]
    fn wrong_rules_and_stacks_end_a_walk(
        rules in prop::collection::btree_map(0u32..0x100, (frame_address(), saved_fp()), 0..12),
        words in prop::collection::vec((0usize..32, prop_oneof![
            (0usize..0x120).prop_map(|offset| CODE + offset),
            (0usize..0x120).prop_map(|offset| STACK + offset),
            Just(JAVA),
            any::<usize>(),
        ]), 0..40),
        sp in 0usize..0x108,
        fp in prop_oneof![(0usize..0x120).prop_map(|offset| STACK + offset), any::<usize>()],
        most in 1usize..40,
    ) {
        let mut memory = memory();
        for (word, value) in words {
            memory.set_word(STACK + word * WORD, value);
        }
        let rules: Vec<_> = rules.into_iter().map(|(at, (frame, fp))| (at, frame, fp)).collect();
        let found = walk_from(&memory, &code(&rules), STACK + sp, fp, most);
        prop_assert!((1..=most).contains(&found.len()));
        // Each frame takes a word of the stack.
        prop_assert!(found.len() <= 1 + (0x100 - sp.min(0x100)) / WORD);
    }
}

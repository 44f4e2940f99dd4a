use super::super::tests::{INTERPRETING, THREAD, callers, made, put_callers, word};
use super::*;
use crate::testing::{
    ANCHOR, BAD_MASK, CHUNK_STACK, FakeMemory, INTERPRETER, OBJECT_BYTES, OBJECTS, SHIFT, bytecode,
    frozen, heaps, layout, method, method_id,
};
use crate::walk::tests::{BARRIER, LEAF, OUTER};
use crate::{Failure, Walker};

const ADDRESSES: References = References::Addresses {
    are_forwarded: false,
};

/// The address of an object: the virtual thread, its continuation, two chunks.
fn object(number: usize) -> usize {
    OBJECTS + number * OBJECT_BYTES
}

/// The address of a word of a chunk's stack.
fn chunk_word(chunk: usize, index: usize) -> usize {
    object(chunk) + CHUNK_STACK + index * WORD
}

fn put_chunk(memory: &mut FakeMemory, chunk: usize, parent: usize, words: [usize; 3]) {
    memory.set_word(object(chunk) + 8, parent);
    for (field, number) in [16, 20, 24].into_iter().zip(words) {
        memory.set_int(object(chunk) + field, number);
    }
}

/// A virtual thread in the method of `put_callers`, whose callers are in two chunks: an interpreted method that a
/// compiled one has called, and a compiled one alone.
fn made_frozen() -> FakeMemory {
    let mut memory = made(0);
    put_callers(&mut memory);
    memory.set_word(word(31), BARRIER.at(0x20));
    memory.set_word(ANCHOR + 56, object(0));
    memory.set_word(object(0) + 16, object(1));
    memory.set_word(object(1) + 24, object(2));
    // The interpreted frame of 10 words, below 3 of arguments and local variables; the compiled one has 4 words. It begins
    // at the arguments.
    put_chunk(&mut memory, 2, object(3), [40, 10, 26]);
    let fp = 20;
    memory.set_word(chunk_word(2, 9), INTERPRETER);
    memory.set_word(chunk_word(2, 8), fp - 8);
    memory.set_word(chunk_word(2, fp - 8), bytecode(4, 8));
    memory.set_word(chunk_word(2, fp - 7), 4);
    memory.set_word(chunk_word(2, fp - 3), method(4));
    memory.set_word(chunk_word(2, fp - 1), 3);
    memory.set_word(chunk_word(2, fp + 1), OUTER.at(0x20));
    memory.set_word(chunk_word(2, 26), 0x77);
    memory.set_word(chunk_word(2, 26 + 1), BARRIER.at(0x20));
    put_chunk(&mut memory, 3, 0, [20, 5, 11]);
    memory.set_word(chunk_word(3, 4), LEAF.at(0x60));
    memory
}

fn walk(memory: &FakeMemory, references: References) -> (Result<End, Failure>, Vec<(usize, i32)>) {
    let walker = Walker::new(layout(0));
    walker.set_frozen(frozen(references));
    let mut frames = Vec::new();
    let end = walker.walk(memory, &heaps(), THREAD, INTERPRETING, &mut |frame| {
        frames.push((frame.method_id, frame.location));
        true
    });
    (end, frames)
}

fn on_stack() -> Vec<(usize, i32)> {
    callers()[..1].to_vec()
}

fn all() -> Vec<(usize, i32)> {
    let in_heap = [(method_id(4), 8), (method_id(0), 5), (method_id(2), 11)];
    [on_stack(), in_heap.to_vec()].concat()
}

#[test]
fn a_walk_goes_on_in_the_heap() {
    let memory = made_frozen();
    assert_eq!(walk(&memory, ADDRESSES), (Ok(End::VirtualRoot), all()));
}

#[test]
fn empty_chunks_are_passed_by() {
    let mut memory = made_frozen();
    put_chunk(&mut memory, 2, object(3), [40, 26, 26]);
    let expected = [on_stack(), vec![(method_id(2), 11)]].concat();
    assert_eq!(walk(&memory, ADDRESSES), (Ok(End::VirtualRoot), expected));
}

#[test]
fn objects_are_left_alone_while_they_may_move() {
    let mut memory = made_frozen();
    for state in [4, 5, 7, 10] {
        memory.set_int(ANCHOR + 24, state);
        assert_eq!(walk(&memory, ADDRESSES), (Ok(End::Heap), on_stack()));
    }
    memory.set_int(ANCHOR + 24, 6);
    assert_eq!(walk(&memory, ADDRESSES).0, Ok(End::VirtualRoot));
}

#[test]
fn references_are_narrow_forwarded_or_colored() {
    let mut memory = made_frozen();
    let narrow = References::Narrow {
        base: OBJECTS - 0x100,
        shift: 3,
        are_forwarded: false,
    };
    for (from, to) in [(object(0) + 16, 1), (object(1) + 24, 2), (object(2) + 8, 3)] {
        memory.set_int(from, (object(to) - OBJECTS + 0x100) >> 3);
    }
    assert_eq!(walk(&memory, narrow), (Ok(End::VirtualRoot), all()));

    let mut memory = made_frozen();
    let forwarded = References::Addresses {
        are_forwarded: true,
    };
    assert_eq!(walk(&memory, forwarded), (Ok(End::VirtualRoot), all()));
    // The chunk has a copy, and its old place has nothing any more.
    memory.set_word(object(1) + 24, object(1) + 0x100);
    memory.set_word(object(1) + 0x100, object(2) | 3);
    assert_eq!(walk(&memory, forwarded), (Ok(End::VirtualRoot), all()));
    assert_eq!(walk(&memory, ADDRESSES), (Ok(End::Heap), on_stack()));

    let mut memory = made_frozen();
    let colored = References::Colored {
        bad: BAD_MASK,
        shift: Some(SHIFT),
    };
    memory.set_word(BAD_MASK, 0xf0);
    memory.set_word(SHIFT, 12);
    for (at, to) in [
        (ANCHOR + 56, 0),
        (object(0) + 16, 1),
        (object(1) + 24, 2),
        (object(2) + 8, 3),
    ] {
        memory.set_word(at, object(to) << 12 | 0x100);
    }
    // Null, with colors of this phase and an earlier one.
    for null in [0x100, 0x110] {
        memory.set_word(object(3) + 8, null);
        assert_eq!(walk(&memory, colored), (Ok(End::VirtualRoot), all()));
    }
    // One that may be stale.
    memory.set_word(object(2) + 8, object(3) << 12 | 0x110);
    let first = all()[..3].to_vec();
    assert_eq!(walk(&memory, colored), (Ok(End::Heap), first));
}

#[test]
fn chunks_that_make_no_sense_end_the_walk() {
    for words in [[40, 27, 26], [20, 10, 26], [1 << 25, 10, 26]] {
        let mut memory = made_frozen();
        put_chunk(&mut memory, 2, object(3), words);
        assert_eq!(walk(&memory, ADDRESSES), (Ok(End::Heap), on_stack()));
    }
    // Chunks in a circle, which is not all that this one would be.
    let mut memory = made_frozen();
    put_chunk(&mut memory, 3, object(3), [20, 11, 11]);
    assert_eq!(walk(&memory, ADDRESSES).0, Ok(End::Heap));
}

//! The blobs of the code cache, found by an address in them (`heap.cpp`, `CodeHeap::find_start`).
//!
//! ```text
//! heap   │ segment │ segment │ segment │ segment │ ...
//!        │ head│ blob ................ │ head│ ...
//! map    │    0    │    1    │    2    │    0    │ 255 = free
//! ```
//!
//! A block covers whole segments. The map has a byte for each: how many segments to go back, in steps, to the
//! block's first, whose byte is 0.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::layout::{BlobLayout, Integer, Start};
use crate::{Layout, Memory};

/// Heaps of code that a VM may have: one, or one for each kind of code.
pub const MAX_HEAPS: usize = 8;

/// The committed bounds of a heap of code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap {
    /// Its first address.
    pub low: usize,
    /// The address after what is committed.
    pub high: usize,
    /// The first byte of its map of segments.
    pub map_low: usize,
    /// The address after what is committed of the map.
    pub map_high: usize,
    /// The base-2 logarithm of a segment's bytes.
    pub segment_shift: u32,
}

/// All heaps of code, with bounds of this moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heaps {
    /// Unused ones are empty.
    pub heaps: [Heap; MAX_HEAPS],
}

impl Heaps {
    /// The heap that an address lies in.
    #[inline]
    pub fn of(&self, address: usize) -> Option<&Heap> {
        let mut heaps = self.heaps.iter();
        heaps.find(|heap| heap.low <= address && address < heap.high)
    }
}

/// The kinds of blobs that a walk distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A compiled method.
    Method,
    /// The wrapper of a native method.
    Native,
    /// The code to which the last thawed frame of a virtual thread returns.
    Continuation,
    /// The code by which native code calls Java through a pointer.
    Upcall,
    /// All other code that the VM has made for itself.
    Stub,
}

/// A blob.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blob {
    pub(crate) address: usize,
    pub(crate) kind: Kind,
    /// Bytes of a complete frame, the return address included; 0 for frames of no fixed size.
    pub(crate) frame_bytes: usize,
    /// The first instruction.
    pub(crate) code: usize,
    /// The first instruction at which the frame is complete; `None` when it never is.
    pub(crate) frame_complete: Option<usize>,
    pub(crate) end: usize,
}

/// The kinds of names, by the address of the name. They are few: a name is a string of the VM itself.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Addresses, shifted by [`KIND_BITS`], plus the kind; 0 for none. At a place of its own each.
    known: [AtomicUsize; NAMES],
}

/// How many names are remembered: more than there are kinds of blobs on stacks.
const NAMES: usize = 32;
/// Bits for the number of a kind.
const KIND_BITS: u32 = 3;
/// Bytes of a name that are compared.
const NAME_BYTES: usize = 32;

impl Names {
    fn kind<M: Memory>(&self, memory: &M, layout: &BlobLayout, name: usize) -> Option<Kind> {
        if name == 0 || name > usize::MAX >> KIND_BITS {
            return None;
        }
        let place = self.known.get((name >> 3) % NAMES)?;
        let known = place.load(Ordering::Relaxed);
        if known >> KIND_BITS == name {
            return Some(match known & ((1 << KIND_BITS) - 1) {
                0 => Kind::Method,
                1 => Kind::Native,
                2 => Kind::Continuation,
                4 => Kind::Upcall,
                _ => Kind::Stub,
            });
        }
        // A name at the end of its page is shorter than the others.
        let text = memory.bytes::<NAME_BYTES>(name);
        let (kind, number) = match text {
            Some(text) if text.starts_with(layout.nmethod_name) => (Kind::Method, 0),
            Some(text) if text.starts_with(layout.native_name) => (Kind::Native, 1),
            Some(text) if text.starts_with(layout.continuation_name) => (Kind::Continuation, 2),
            Some(text) if text.starts_with(layout.upcall_name) => (Kind::Upcall, 4),
            Some(_) => (Kind::Stub, 3),
            None => return None,
        };
        place.store(name << KIND_BITS | number, Ordering::Relaxed);
        Some(kind)
    }
}

/// The blob that an address lies in.
pub(crate) fn find<M: Memory>(
    memory: &M,
    heaps: &Heaps,
    layout: &BlobLayout,
    names: &Names,
    address: usize,
) -> Option<Blob> {
    let heap = heaps.of(address)?;
    let mut segment = address.checked_sub(heap.low)? >> heap.segment_shift.min(usize::BITS - 1);
    // The VM commits a segment before its byte of the map.
    if segment >= heap.map_high.checked_sub(heap.map_low)? {
        return None;
    }
    loop {
        match memory.byte(heap.map_low, segment)? {
            0 => break,
            mark if mark == layout.free_segment => return None,
            back => segment = segment.checked_sub(usize::from(back))?,
        }
    }
    let block = heap.low.checked_add(segment << heap.segment_shift)?;
    if memory.byte(block, layout.block_used)? == 0 {
        return None;
    }
    let blob = block.checked_add(layout.block_header)?;
    let size = usize::try_from(memory.int(blob, layout.size)?).ok()?;
    let end = blob.checked_add(size)?;
    if address < blob || address >= end || end > heap.high {
        return None;
    }
    let kind = names.kind(memory, layout, memory.word(blob, layout.name)?)?;
    let words = usize::try_from(memory.int(blob, layout.frame_size)?).unwrap_or(0);
    let code = start(memory, layout.code, blob, 0, 0)?;
    let complete = integer(memory, layout.frame_complete, blob)?;
    Some(Blob {
        address: blob,
        kind,
        frame_bytes: words.checked_mul(size_of::<usize>())?,
        code,
        frame_complete: usize::try_from(complete)
            .ok()
            .and_then(|offset| code.checked_add(offset)),
        end,
    })
}

/// The place that a field of the blob tells.
pub(crate) fn start<M: Memory>(
    memory: &M,
    place: Start,
    blob: usize,
    code: usize,
    immutable: usize,
) -> Option<usize> {
    let (base, offset) = match place {
        Start::Address(field) => return memory.word(blob, field),
        Start::FromBlob(field) => (blob, field),
        Start::FromCode(field) => (code, field),
        Start::FromImmutable(field) => (immutable, field),
    };
    base.checked_add_signed(isize::try_from(integer(memory, offset, blob)?).ok()?)
}

fn integer<M: Memory>(memory: &M, field: Integer, blob: usize) -> Option<i32> {
    match field {
        Integer::Int(offset) => memory.int(blob, offset),
        Integer::Short(offset) => {
            let bits = memory.short(blob, offset)?;
            Some(i32::from(i16::from_ne_bytes(bits.to_ne_bytes())))
        }
    }
}

/// Returns whether an address lies in code of the VM: of a heap, or of the interpreter.
pub(crate) fn is_code(heaps: &Heaps, layout: &Layout, address: usize) -> bool {
    heaps.of(address).is_some() || layout.interpreted.code.contains(&address)
}

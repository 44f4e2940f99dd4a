//! The VM's table of generated code: the blobs of its code cache.
//!
//! The VM finds the blob of an address by a map of the segments that a heap of code
//! is made of (`heap.cpp`, `CodeHeap::find_start`). This module does that too, without a call, from
//! the thread that has the blob's code on its stack: the VM frees no code that is in use, and
//! everything else that is read lies in memory which the VM has committed for ever.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::guarded;
use super::releases::layout::{
    FREE_SEGMENT, Field, MAX_CODE_HEAPS, METHOD_BLOBS, METHOD_IN_USE, SEGMENT_SHIFTS, TextFlag,
    Type,
};
use crate::VmStructs;

/// A piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blob {
    /// A compiled method.
    Method {
        /// No other code of this VM's life has the same.
        compile_id: u32,
        /// Where the VM has that.
        id_at: usize,
        /// Bytes of its frame, the return address included.
        frame_bytes: usize,
        /// The VM wants to be rid of the code, whose frames may be due for deoptimization: the return
        /// address then says nothing.
        is_old: bool,
        /// The caller's address is this many bytes above the stack pointer then.
        original_pc: Option<usize>,
    },
    /// Something that the VM has made once, for instance the way from compiled code
    /// to one of its own functions.
    Stub {
        /// The low half of the address of its name.
        name: u32,
        /// Where the VM has that.
        name_at: usize,
        /// Bytes of its frame.
        frame_bytes: usize,
    },
}

/// The heaps of the code cache.
pub(super) struct CodeBlobs {
    heaps: Box<[Heap]>,
    layout: Layout,
    names: BlobNames,
}

/// The meanings of names of blobs, by the address of the name. They are few: a name is a string of the VM
/// itself.
#[derive(Default)]
struct BlobNames {
    /// Addresses with a low bit that is set for methods; 0 for none. At a place of its own each.
    known: [AtomicUsize; NAMES],
}

/// Addresses of words of the VM that describe a heap.
#[derive(Clone, Copy)]
pub(super) struct Heap {
    low: usize,
    high: usize,
    map_low: usize,
    map_high: usize,
    segment_shift: u32,
}

/// Offsets in a blob, and in the block of a heap that it lies in.
#[derive(Clone, Copy)]
struct Layout {
    block_header: usize,
    block_used: usize,
    name: usize,
    frame_size: usize,
    compile_id: usize,
    state: usize,
    original_pc: usize,
}

impl Layout {
    /// An offset after all fields that are read of a method's blob.
    fn end(&self) -> usize {
        self.state.max(self.compile_id).max(self.original_pc) + size_of::<usize>()
    }
}

/// How many names are remembered: more than there are kinds of blobs on stacks.
const NAMES: usize = 32;
/// The number of places where a name may be remembered.
const WAYS: usize = 8;

/// Reads a word of the VM.
///
/// # Safety
/// `address` is that of a word of the VM that stays mapped.
unsafe fn word(address: usize) -> usize {
    // SAFETY: by the caller's promise. The VM may change it meanwhile.
    unsafe { (address as *const usize).read_volatile() }
}

impl Heap {
    /// All heaps of this VM, which are there once it runs. `None` when it does not tell.
    pub(super) fn all(structs: VmStructs) -> Option<Box<[Self]>> {
        // Code of `jaotc` (JDK 11, JEP 295) lies elsewhere and is found in another way.
        if structs.is_set(TextFlag::AotLibrary) {
            return None;
        }
        let memory = structs.offset(Field::HeapMemory)?;
        let map = structs.offset(Field::HeapSegments)?;
        let shift = structs.offset(Field::HeapSegmentShift)?;
        let low = structs.offset(Field::SpaceLow)?;
        let high = structs.offset(Field::SpaceHigh)?;
        let at = |heap: usize| {
            // SAFETY: the offset is the VM's own, and `heap` is a heap of it, which is never freed.
            let segment_shift = unsafe { *((heap + shift) as *const i32) };
            let segment_shift = u32::try_from(segment_shift).ok()?;
            SEGMENT_SHIFTS.contains(&segment_shift).then_some(Heap {
                low: heap + memory + low,
                high: heap + memory + high,
                map_low: heap + map + low,
                map_high: heap + map + high,
                segment_shift,
            })
        };
        if let Some(only) = structs.address(Field::OnlyCodeHeap) {
            // SAFETY: the static field holds the address of the heap.
            let heap = unsafe { word(only) };
            return (heap != 0).then(|| Some(Box::from([at(heap)?])))?;
        }
        let length = structs.offset(Field::ArrayLength)?;
        let data = structs.offset(Field::ArrayData)?;
        // SAFETY: the offsets are the VM's own: `_heaps` points to a GrowableArray, whose elements point
        // to heaps, which are never freed.
        unsafe {
            let heaps = word(structs.address(Field::CodeHeaps)?);
            if heaps == 0 {
                return None;
            }
            let count = usize::try_from(*((heaps + length) as *const i32)).ok()?;
            let first = word(heaps + data);
            if first == 0 || count == 0 || count > MAX_CODE_HEAPS {
                return None;
            }
            (0..count)
                .map(|index| {
                    let heap = word(first + index * size_of::<usize>());
                    if heap == 0 { None } else { at(heap) }
                })
                .collect()
        }
    }

    /// The bounds of this moment.
    #[inline]
    pub(super) fn now(self) -> hprof_walker::Heap {
        // SAFETY: `all` found these words in a heap, and heaps are never freed. The memory before the words'
        // values is committed for ever.
        unsafe {
            hprof_walker::Heap {
                low: word(self.low),
                high: word(self.high),
                map_low: word(self.map_low),
                map_high: word(self.map_high),
                segment_shift: self.segment_shift,
            }
        }
    }
}

impl CodeBlobs {
    /// Learns where the heaps are, which are all there once the VM runs. `None` when this VM does not
    /// tell, or has code of other makers too.
    pub(super) fn learn(structs: VmStructs) -> Option<Self> {
        let layout = Layout {
            block_header: structs.type_size(Type::HeapBlock)?,
            block_used: structs.offset(Field::BlockHeader)? + structs.offset(Field::BlockUsed)?,
            name: structs.offset(Field::BlobName)?,
            frame_size: structs.offset(Field::BlobFrameSize)?,
            compile_id: structs.offset(Field::MethodCompileId)?,
            state: structs.offset(Field::MethodState)?,
            original_pc: structs.offset(Field::MethodOriginalPc)?,
        };
        Some(Self {
            heaps: Heap::all(structs)?,
            layout,
            names: BlobNames::default(),
        })
    }

    /// The blob that a return address on the current thread's stack lies in. `None` when it is no such
    /// address after all.
    #[inline]
    pub(super) fn find(&self, address: usize) -> Option<Blob> {
        for heap in &self.heaps {
            // SAFETY: `learn` found these words in a heap.
            let (low, high) = unsafe { (word(heap.low), word(heap.high)) };
            if (low..high).contains(&address) {
                return self.find_in(*heap, low..high, address);
            }
        }
        None
    }

    #[inline]
    fn find_in(&self, heap: Heap, bounds: Range<usize>, address: usize) -> Option<Blob> {
        // SAFETY: as in `find`.
        let (map, map_end) = unsafe { (word(heap.map_low), word(heap.map_high)) };
        let mut segment = (address - bounds.start) >> heap.segment_shift;
        // The VM commits a segment before its byte of the map.
        if segment >= map_end.checked_sub(map)? {
            return None;
        }
        loop {
            // SAFETY: the map is committed up to its end, and for ever.
            match unsafe { ((map + segment) as *const u8).read_volatile() } {
                0 => break,
                FREE_SEGMENT => return None,
                // The value is a number of segments: that far back is the first of the block, or another one nearer to
                // it.
                back => segment = segment.checked_sub(usize::from(back))?,
            }
        }
        let block = bounds.start + (segment << heap.segment_shift);
        let blob = block + self.layout.block_header;
        if blob + self.layout.end() > bounds.end {
            return None;
        }
        // SAFETY: the block is committed, as far as what is read here. If it is in use, a blob lies
        // after its header.
        unsafe {
            if *((block + self.layout.block_used) as *const u8) == 0 {
                return None;
            }
            let frame_size = *((blob + self.layout.frame_size) as *const i32);
            let frame_bytes = usize::try_from(frame_size).ok()? * size_of::<usize>();
            if frame_bytes == 0 {
                return None;
            }
            let (name, name_at) = (word(blob + self.layout.name), blob + self.layout.name);
            if !self.names.is_method(name)? {
                return Some(Blob::Stub {
                    name: name as u32,
                    name_at,
                    frame_bytes,
                });
            }
            let state = ((blob + self.layout.state) as *const u8).read_volatile();
            let original_pc = *((blob + self.layout.original_pc) as *const i32);
            Some(Blob::Method {
                compile_id: *((blob + self.layout.compile_id) as *const u32),
                id_at: blob + self.layout.compile_id,
                frame_bytes,
                is_old: state != METHOD_IN_USE,
                original_pc: usize::try_from(original_pc).ok(),
            })
        }
    }
}

impl BlobNames {
    /// Returns whether blobs with this name, a C string, are methods. `None` when there is no name: what was
    /// taken for a blob is none, or not one yet.
    #[inline]
    fn is_method(&self, name: usize) -> Option<bool> {
        for place in self.places(name) {
            let known = place.load(Ordering::Relaxed);
            if known >> 1 == name && name != 0 {
                return Some(known & 1 != 0);
            }
        }
        self.look(name)
    }

    /// The places where a name may be remembered; a search begins with the first. There are several, so that two
    /// names do not replace each other at every stack: each look at a name takes a system call.
    #[inline]
    fn places(&self, name: usize) -> impl Iterator<Item = &AtomicUsize> {
        (0..WAYS).filter_map(move |step| self.known.get((name >> 3).wrapping_add(step) % NAMES))
    }

    #[cold]
    fn look(&self, name: usize) -> Option<bool> {
        // SAFETY: names of the VM do not change.
        let text: [u8; 16] = unsafe { guarded::load(name) }?;
        let is_method = METHOD_BLOBS
            .iter()
            .any(|method| text.starts_with(method.to_bytes_with_nul()));
        let is_free = |place: &&AtomicUsize| place.load(Ordering::Relaxed) == 0;
        let free = self.places(name).find(is_free);
        let place = free.or_else(|| self.places(name).next())?;
        place.store(name << 1 | usize::from(is_method), Ordering::Relaxed);
        Some(is_method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: usize = 64;
    const LAYOUT: Layout = Layout {
        block_header: 16,
        block_used: 8,
        name: 0,
        frame_size: 8,
        compile_id: 12,
        state: 16,
        original_pc: 20,
    };

    /// A heap of 16 segments: a method in the first three, a stub in the next two, a method that must
    /// not be entered any more in the next, and nothing after.
    struct MadeHeap {
        /// Start and end of the heap and of the segment map, as the VM has them.
        words: Box<[usize; 4]>,
        memory: Box<[u64]>,
        _map: Box<[u8]>,
    }

    /// Names whose searches begin at one place, as those of two names of JDK 25.0.2 do.
    #[test]
    fn names_do_not_drive_each_other_out() {
        let mut text = vec![0u8; 4 * 8 * NAMES];
        let names = BlobNames::default();
        let start = text.as_ptr() as usize;
        let all: Vec<usize> = (0..4).map(|number| start + 8 * NAMES * number).collect();
        text[..7].copy_from_slice(b"nmethod");
        for _ in 0..2 {
            for (number, &name) in all.iter().enumerate() {
                assert_eq!(names.is_method(name), Some(number == 0));
            }
        }
        let remembered = |name: usize| {
            let mut places = names.places(name);
            places.any(|place| place.load(Ordering::Relaxed) >> 1 == name)
        };
        assert!(all.into_iter().all(remembered));
    }

    fn made() -> (MadeHeap, CodeBlobs) {
        let mut memory = vec![0u64; 16 * SEGMENT / 8].into_boxed_slice();
        // As many bytes of a name are read, whatever its length.
        let mut block =
            |segment: usize, name: &'static [u8; 16], frame: u64, id: u64, state: u64| {
                let at = segment * SEGMENT / 8;
                memory[at + 1] = 1;
                memory[at + 2] = name.as_ptr() as u64;
                memory[at + 3] = frame | id << 32;
                memory[at + 4] = state;
            };
        block(0, b"nmethod\0........", 6, 77, 0);
        block(3, b"RuntimeStub\0....", 10, 0, 0);
        block(5, b"native nmethod\0.", 6, 78, 1 | 24 << 32);
        let mut map = vec![FREE_SEGMENT; 16].into_boxed_slice();
        map[..6].copy_from_slice(&[0, 1, 2, 0, 1, 0]);
        let low = memory.as_ptr() as usize;
        let words = Box::new([
            low,
            low + 16 * SEGMENT,
            map.as_ptr() as usize,
            map.as_ptr() as usize + map.len(),
        ]);
        let at = |index: usize| &raw const words[index] as usize;
        let blobs = CodeBlobs {
            heaps: Box::new([Heap {
                low: at(0),
                high: at(1),
                map_low: at(2),
                map_high: at(3),
                segment_shift: SEGMENT.ilog2(),
            }]),
            layout: LAYOUT,
            names: BlobNames::default(),
        };
        let heap = MadeHeap {
            words,
            memory,
            _map: map,
        };
        (heap, blobs)
    }

    #[test]
    fn blobs_are_found_by_every_address_in_them() {
        let (heap, blobs) = made();
        let low = heap.words[0];
        for offset in [0, 40, SEGMENT, 3 * SEGMENT - 1] {
            let expected = Blob::Method {
                compile_id: 77,
                id_at: low + LAYOUT.block_header + LAYOUT.compile_id,
                frame_bytes: 6 * size_of::<usize>(),
                is_old: false,
                original_pc: Some(0),
            };
            assert_eq!(blobs.find(low + offset), Some(expected), "{offset}");
        }
        let outdated = Blob::Method {
            compile_id: 78,
            id_at: low + 5 * SEGMENT + LAYOUT.block_header + LAYOUT.compile_id,
            frame_bytes: 6 * size_of::<usize>(),
            is_old: true,
            original_pc: Some(24),
        };
        assert_eq!(blobs.find(low + 5 * SEGMENT + 30), Some(outdated));
        let stub_at = low + 3 * SEGMENT + LAYOUT.block_header + LAYOUT.name;
        let stub = Blob::Stub {
            name: heap.memory[3 * SEGMENT / 8 + 2] as u32,
            name_at: stub_at,
            frame_bytes: 10 * size_of::<usize>(),
        };
        assert_eq!(blobs.find(low + 5 * SEGMENT - 1), Some(stub));
    }

    #[test]
    fn what_is_no_code_is_not_found() {
        let (heap, blobs) = made();
        let [low, high, ..] = *heap.words;
        for address in [low - 1, low + 6 * SEGMENT, high - 1, high] {
            assert_eq!(blobs.find(address), None, "{}", address.wrapping_sub(low));
        }
    }

    /// The VM has more memory for code already, but not yet of the map: such an address is garbage.
    #[test]
    fn segments_beyond_the_map_are_not_looked_up() {
        let (mut heap, blobs) = made();
        heap.words[3] = heap.words[2] + 3;
        let low = heap.words[0];
        assert!(blobs.find(low + 2 * SEGMENT).is_some());
        assert_eq!(blobs.find(low + 3 * SEGMENT), None);
    }

    /// A block that has just been given out still has what was in it before.
    #[test]
    fn a_block_whose_name_is_no_address_is_no_blob() {
        let (mut heap, blobs) = made();
        for name in [0, 0xdead_beef, u64::MAX] {
            heap.memory[3 * SEGMENT / 8 + 2] = name;
            assert_eq!(blobs.find(heap.words[0] + 3 * SEGMENT), None, "{name:x}");
        }
    }
}

//! Memory that tests make: a small VM with some methods, their code, and a stack.

use crate::layout::{
    AnchorLayout, BlobLayout, ChunkLayout, EntryLayout, FrozenLayout, Integer, InterpretedLayout,
    Metadata, MethodLayout, NmethodLayout, PcDescLayout, References, Start, ThreadLayout,
    UpcallLayout,
};
use crate::memory::WORD;
use crate::{Heap, Heaps, Layout, Machine, Memory};

/// Pieces of memory at chosen addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeMemory {
    pieces: Vec<(usize, Vec<u8>)>,
}

impl FakeMemory {
    /// Adds a piece.
    pub(crate) fn add(&mut self, address: usize, bytes: Vec<u8>) {
        self.pieces.push((address, bytes));
    }

    /// Writes into a piece.
    pub(crate) fn write(&mut self, address: usize, bytes: &[u8]) {
        for (start, piece) in &mut self.pieces {
            if let Some(offset) = address.checked_sub(*start)
                && let Some(place) = piece.get_mut(offset..offset + bytes.len())
            {
                place.copy_from_slice(bytes);
                return;
            }
        }
        panic!("no memory at {address:x}");
    }

    pub(crate) fn set_word(&mut self, address: usize, word: usize) {
        self.write(address, &word.to_ne_bytes());
    }

    pub(crate) fn set_int(&mut self, address: usize, int: usize) {
        self.write(address, &i32::try_from(int).unwrap().to_ne_bytes());
    }

    fn set_short(&mut self, address: usize, short: u16) {
        self.write(address, &short.to_ne_bytes());
    }

    /// Changes a byte somewhere; `place` counts through all pieces, again and again.
    pub(crate) fn spoil(&mut self, place: usize, byte: u8) {
        let total: usize = self.pieces.iter().map(|(_, piece)| piece.len()).sum();
        let mut place = place % total;
        for (_, piece) in &mut self.pieces {
            if let Some(old) = piece.get_mut(place) {
                *old = byte;
                return;
            }
            place -= piece.len();
        }
    }
}

impl Memory for FakeMemory {
    fn bytes<const N: usize>(&self, address: usize) -> Option<[u8; N]> {
        self.pieces.iter().find_map(|(start, bytes)| {
            let offset = address.checked_sub(*start)?;
            bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
        })
    }
}

const HEAP: usize = 0x10_0000;
const SEGMENT: usize = 64;
const SEGMENTS: usize = 128;
const MAP: usize = 0x20_0000;
pub(crate) const STACK: usize = 0x30_0000;
pub(crate) const STACK_END: usize = STACK + 4096;
const METHODS: usize = 0x40_0000;
const METHOD_BYTES: usize = 0x200;
const CLASS: usize = METHODS + 0x3000;
const NAMES: usize = 0x50_0000;
/// The anchor of the thread.
pub(crate) const ANCHOR: usize = 0x60_0000;
/// Objects of Java, `OBJECT_BYTES` apart; the first is a virtual thread, the second its continuation.
pub(crate) const OBJECTS: usize = 0x80_0000;
pub(crate) const OBJECT_BYTES: usize = 0x400;
/// Where the chunks' stacks begin.
pub(crate) const CHUNK_STACK: usize = 0x40;
/// The mask of ZGC, and the number of bits.
pub(crate) const BAD_MASK: usize = ANCHOR + 40;
pub(crate) const SHIFT: usize = ANCHOR + 48;
/// An address in the interpreter.
pub(crate) const INTERPRETER: usize = 0x70_0010;
/// Where Java returns to native code.
pub(crate) const CALL_STUB_RETURN: usize = HEAP + 64 * SEGMENT + 0x60;
/// The number of the method that is native.
pub(crate) const NATIVE_METHOD: usize = 7;

/// The layout of the VM that tests make.
pub(crate) fn layout(excluded_byte: u8) -> Layout {
    Layout {
        machine: Machine::X86_64,
        blob: BlobLayout {
            block_header: 16,
            block_used: 8,
            free_segment: 0xff,
            name: 0,
            size: 8,
            frame_size: 12,
            frame_complete: Integer::Int(16),
            code: Start::Address(24),
            nmethod_name: b"nmethod\0",
            native_name: b"native nmethod\0",
            continuation_name: b"StubRoutines (continuation",
            upcall_name: b"upcall_stub",
        },
        nmethod: NmethodLayout {
            method: 32,
            original_pc: 40,
            deopt_handlers: [Start::Address(48), Start::Address(56)],
            verified_entry: Start::Address(24),
            scopes_pcs: 64,
            scopes_pcs_end: 68,
            scopes_data: Start::FromBlob(Integer::Int(72)),
            immutable: None,
            metadata: Metadata::InBlob(76),
            pc_desc: PcDescLayout {
                size: 8,
                pc: 0,
                scope: 4,
            },
            excluded_byte,
        },
        method: MethodLayout {
            constant: 0,
            access_flags: 8,
            native_flag: 0x100,
            pool: 0,
            number: 8,
            code_size: 10,
            constant_size: 16,
            holder: 0,
            ids: 8,
            methods: 16,
            array_data: 8,
        },
        interpreted: InterpretedLayout {
            code: 0x70_0000..0x70_1000,
            caller_pc: 1,
            caller_fp: 0,
            caller_sp: -1,
            method: -3,
            bytecode: -8,
            locals: -7,
        },
        entry: EntryLayout {
            return_pc: CALL_STUB_RETURN,
            call_wrapper: -6,
            anchor: 8,
        },
        upcall: Some(UpcallLayout {
            data: 32,
            anchor: 8,
        }),
        anchor: AnchorLayout {
            sp: 0,
            pc: 8,
            fp: 16,
        },
    }
}

/// The layout of such a VM on AArch64.
pub(crate) fn aarch64_layout() -> Layout {
    let mut layout = layout(0);
    layout.machine = Machine::Aarch64;
    layout.interpreted.bytecode = -9;
    layout.interpreted.locals = -8;
    layout.entry.call_wrapper = -8;
    layout
}

/// The way to frames in the heap: `ANCHOR` is in a thread whose virtual thread the word at `ANCHOR + 56` tells.
pub(crate) fn frozen(references: References) -> FrozenLayout {
    FrozenLayout {
        thread: ThreadLayout {
            anchor: 0,
            state: 24,
            stops_safepoints: [8, 6],
            virtual_thread: 32,
        },
        references,
        continuation: 16,
        tail: 24,
        chunk: ChunkLayout {
            parent: 8,
            size: 16,
            sp: 20,
            bottom: 24,
            stack: CHUNK_STACK,
        },
    }
}

/// The heap of the VM that tests make.
pub(crate) fn heaps() -> Heaps {
    let mut heaps = Heaps::default();
    heaps.heaps[0] = Heap {
        low: HEAP,
        high: HEAP + SEGMENT * SEGMENTS,
        map_low: MAP,
        map_high: MAP + SEGMENTS,
        segment_shift: SEGMENT.ilog2(),
    };
    heaps
}

/// The address of a method.
pub(crate) fn method(number: usize) -> usize {
    METHODS + number * METHOD_BYTES
}

/// The id of a method: a number, behind which there is no memory.
pub(crate) fn method_id(number: usize) -> usize {
    1 + number
}

/// The address of a bytecode.
pub(crate) fn bytecode(number: usize, index: usize) -> usize {
    method(number) + 0x40 + 16 + index
}

/// A VM with eight methods and no code yet.
pub(crate) fn vm() -> FakeMemory {
    let mut memory = FakeMemory::default();
    memory.add(HEAP, vec![0; SEGMENT * SEGMENTS]);
    memory.add(MAP, vec![0xff; SEGMENTS]);
    memory.add(STACK, vec![0; STACK_END - STACK]);
    memory.add(METHODS, vec![0; 0x4000]);
    memory.add(NAMES, vec![0; 0x400]);
    memory.add(ANCHOR, vec![0; 64]);
    memory.add(OBJECTS, vec![0; 4 * OBJECT_BYTES]);
    memory.set_int(ANCHOR + 24, 8);
    memory.set_word(ANCHOR + 32, ANCHOR + 56);
    for number in 0..8 {
        let constant = method(number) + 0x40;
        memory.set_word(method(number), constant);
        memory.set_short(
            method(number) + 8,
            if number == NATIVE_METHOD { 0x100 } else { 1 },
        );
        memory.set_word(constant, CLASS);
        memory.set_short(constant + 8, u16::try_from(number).unwrap());
        memory.set_short(constant + 10, 100);
        memory.set_word(CLASS + 0x400 + (number + 1) * WORD, method_id(number));
        memory.set_word(CLASS + 0x800 + (number + 1) * WORD, method(number));
    }
    // The constant pool, and the class, in one: each has its own field.
    memory.set_word(CLASS, CLASS);
    memory.set_word(CLASS + 8, CLASS + 0x400);
    memory.set_word(CLASS + 0x400, 8);
    memory.set_word(CLASS + 16, CLASS + 0x800);
    memory.set_int(CLASS + 0x800, 8);
    memory
}

/// Five bytes: a call of x86-64, whose last four are a call of AArch64.
const CALL: [u8; 5] = [0xe8, 0, 0, 0, 0x94];

/// Code of a method or stub.
pub(crate) struct Code<'a> {
    /// The first segment.
    pub(crate) segment: usize,
    /// How many there are.
    pub(crate) segments: usize,
    pub(crate) name: &'a str,
    pub(crate) frame_words: usize,
    pub(crate) method: usize,
    /// Offsets in the code, with method and bytecode of each frame there, innermost first.
    pub(crate) records: &'a [(usize, &'a [(usize, usize)])],
}

impl Code<'_> {
    /// The address of an instruction.
    pub(crate) fn at(&self, offset: usize) -> usize {
        HEAP + self.segment * SEGMENT + 16 + 0x100 + offset
    }

    /// Puts the code into the heap. Instructions before the records are calls, of x86-64 and of AArch64 at once.
    pub(crate) fn put(&self, memory: &mut FakeMemory, excluded: u8) {
        let block = HEAP + self.segment * SEGMENT;
        let blob = block + 16;
        let name = NAMES + self.segment * 8;
        memory.write(name, self.name.as_bytes());
        memory.write(block + 8, &[1]);
        for segment in 0..self.segments {
            let back = u8::try_from(segment).unwrap();
            memory.write(MAP + self.segment + segment, &[back]);
        }
        memory.set_word(blob, name);
        memory.set_int(blob + 8, self.segments * SEGMENT - 16);
        memory.set_int(blob + 12, self.frame_words);
        memory.set_int(blob + 16, 0x10);
        memory.set_word(blob + 24, self.at(0));
        if !self.name.contains("nmethod") {
            for (offset, _) in self.records {
                memory.write(self.at(*offset) - 5, &CALL);
            }
            return;
        }
        memory.set_word(blob + 32, method(self.method));
        memory.set_int(blob + 40, 16);
        memory.set_word(blob + 48, self.at(0xe0));
        memory.set_word(blob + 56, self.at(0xe8));
        let (metadata, records, scopes) = (0x200, 0x240, 0x2c0);
        memory.set_int(blob + 64, records);
        memory.set_int(blob + 68, records + 8 * (self.records.len() + 2));
        memory.set_int(blob + 72, scopes);
        memory.set_int(blob + 76, metadata);
        for number in 0..8 {
            memory.set_word(blob + metadata + number * WORD, method(number));
        }
        memory.write(blob + records, &(-1i32).to_ne_bytes());
        let mut scope = 1;
        for (index, (offset, frames)) in self.records.iter().enumerate() {
            memory.write(self.at(*offset) - 5, &CALL);
            let mut sender = 0;
            for (number, bytecode) in frames.iter().rev() {
                let numbers = [sender, number + 1, bytecode + 1];
                let bytes = numbers.map(|number| u8::try_from(number).unwrap() + excluded);
                memory.write(blob + scopes + scope, &bytes);
                sender = scope;
                scope += bytes.len();
            }
            let record = blob + records + 8 * (index + 1);
            memory.set_int(record, *offset);
            memory.set_int(record + 4, sender);
        }
        let last = blob + records + 8 * (self.records.len() + 1);
        memory.set_int(last, i32::MAX as usize);
    }
}

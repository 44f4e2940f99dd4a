//! Where HotSpot keeps what a walk reads. This crate knows no offset: the owner learns them from the VM.

use std::ops::Range;

use crate::Machine;

/// Offsets in bytes from the start of the named type, unless a field's own words differ.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The processor, which decides how code makes frames.
    pub machine: Machine,
    /// Code blobs.
    pub blob: BlobLayout,
    /// Compiled methods.
    pub nmethod: NmethodLayout,
    /// Methods, and the way to their ids.
    pub method: MethodLayout,
    /// Frames of the interpreter.
    pub interpreted: InterpretedLayout,
    /// Frames in which native code calls Java.
    pub entry: EntryLayout,
    /// Frames in which it does so by a pointer; `None` where the VM does not tell.
    pub upcall: Option<UpcallLayout>,
    /// `JavaFrameAnchor`.
    pub anchor: AnchorLayout,
}

/// The way from a thread to the frames of its virtual thread that are in the heap. Known later than the rest, as it
/// leads through objects of Java classes.
#[derive(Clone, Debug)]
pub struct FrozenLayout {
    /// The carrier.
    pub thread: ThreadLayout,
    /// How objects refer to each other.
    pub references: References,
    /// In a `java.lang.VirtualThread`: its continuation.
    pub continuation: usize,
    /// In a `jdk.internal.vm.Continuation`: the chunk with its innermost frames.
    pub tail: usize,
    /// The chunks.
    pub chunk: ChunkLayout,
}

/// `JavaThread`.
#[derive(Clone, Debug)]
pub struct ThreadLayout {
    /// The frame anchor, by whose address the walk knows the thread.
    pub anchor: usize,
    /// The state of the thread, an `int`.
    pub state: usize,
    /// The states of a thread that a safepoint has to wait for.
    pub stops_safepoints: [i32; 2],
    /// The address of the word with a reference to the current virtual thread.
    pub virtual_thread: usize,
}

/// `jdk.internal.vm.StackChunk`.
#[derive(Clone, Debug)]
pub struct ChunkLayout {
    /// The chunk with the callers of the outermost frame.
    pub parent: usize,
    /// Words of the stack, an `int`.
    pub size: usize,
    /// The innermost frame, in words from the start of the stack, an `int`.
    pub sp: usize,
    /// The end of the outermost frame, in words from the start of the stack, an `int`.
    pub bottom: usize,
    /// Where the stack begins.
    pub stack: usize,
}

/// How objects refer to each other.
#[derive(Clone, Copy, Debug)]
pub enum References {
    /// By addresses. With a collector that copies objects while the program runs (Shenandoah), the first word of an
    /// object may tell of its copy.
    Addresses {
        /// There is such a collector.
        are_forwarded: bool,
    },
    /// By 32-bit numbers in objects, and by addresses elsewhere.
    Narrow {
        /// The address of number 0.
        base: usize,
        /// The base-2 logarithm of the bytes between two numbers.
        shift: u32,
        /// As for addresses.
        are_forwarded: bool,
    },
    /// By addresses with some bits that tell whether the object may have been moved (ZGC).
    Colored {
        /// The address of a mask of these bits.
        bad: usize,
        /// The address of the number of bits that are right of the object's address; `None` where the bits are in it.
        shift: Option<usize>,
    },
}

/// A block of a code heap, and the blob in it (`CodeBlob`).
#[derive(Clone, Debug)]
pub struct BlobLayout {
    /// Bytes of the head of a block, after which its blob begins.
    pub block_header: usize,
    /// The byte in the head of a block that tells whether it is in use.
    pub block_used: usize,
    /// The mark of a free segment in the map of segments.
    pub free_segment: u8,
    /// The address of the blob's name.
    pub name: usize,
    /// Bytes of the blob, an `int`.
    pub size: usize,
    /// Words of the frame, an `int`.
    pub frame_size: usize,
    /// Where the frame is complete, in bytes from the start of the code; negative for never.
    pub frame_complete: Integer,
    /// Where the code begins.
    pub code: Start,
    /// Names of blobs that are compiled methods.
    pub nmethod_name: &'static [u8],
    /// Names of blobs that call native methods.
    pub native_name: &'static [u8],
    /// How names of the blob begin to which the last thawed frame of a virtual thread returns.
    pub continuation_name: &'static [u8],
    /// How names of the blobs begin through which native code calls Java by a pointer (JEP 454).
    pub upcall_name: &'static [u8],
}

/// Compiled methods (`nmethod`, and `CompiledMethod` where there is such a type).
#[derive(Clone, Debug)]
pub struct NmethodLayout {
    /// The method.
    pub method: usize,
    /// The place of the original return address in a frame that is due for deoptimization, an `int`.
    pub original_pc: usize,
    /// Where such frames return to instead: after ordinary calls, and after calls of method handles. One place for both
    /// since JDK 26.
    pub deopt_handlers: [Start; 2],
    /// Where callers that know the class enter.
    pub verified_entry: Start,
    /// The `PcDesc` records begin, an `int` from [`Self::immutable`].
    pub scopes_pcs: usize,
    /// Their end, an `int` from [`Self::immutable`].
    pub scopes_pcs_end: usize,
    /// The data of the scopes.
    pub scopes_data: Start,
    /// The block of data apart from the blob; `None` when this data lies in the blob.
    pub immutable: Option<usize>,
    /// The methods and classes that the code refers to.
    pub metadata: Metadata,
    /// The size of `PcDesc`, and its members.
    pub pc_desc: PcDescLayout,
    /// The value that is subtracted from each byte of a compressed number: 1 since JDK 20 (JDK-8292758), 0 before.
    pub excluded_byte: u8,
}

/// `PcDesc`.
#[derive(Clone, Copy, Debug)]
pub struct PcDescLayout {
    /// Bytes of a record.
    pub size: usize,
    /// Offset of the program counter from the start of the code, an `int`.
    pub pc: usize,
    /// Offset of the scope in the data of the scopes, an `int`.
    pub scope: usize,
}

/// Where an array of metadata begins.
#[derive(Clone, Copy, Debug)]
pub enum Metadata {
    /// An `int` at this offset counts bytes from the start of the blob.
    InBlob(usize),
    /// In a block of its own, after the relocations.
    Apart {
        /// The address of the block.
        block: usize,
        /// Bytes of the relocations, an `int`.
        relocations: usize,
    },
}

/// How a place is written down.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// The field at this offset holds an address.
    Address(usize),
    /// The field holds bytes from the start of the blob.
    FromBlob(Integer),
    /// The field holds bytes from the start of the code.
    FromCode(Integer),
    /// The field holds bytes from [`NmethodLayout::immutable`].
    FromImmutable(Integer),
}

/// An offset, and the width of the number there.
#[derive(Clone, Copy, Debug)]
pub enum Integer {
    /// An `int`.
    Int(usize),
    /// 16 bits, signed.
    Short(usize),
}

/// `Method`, `ConstMethod`, `ConstantPool` and `InstanceKlass`.
#[derive(Clone, Debug)]
pub struct MethodLayout {
    /// In a method: what does not change of it.
    pub constant: usize,
    /// In a method: its access flags.
    pub access_flags: usize,
    /// The flag of native methods.
    pub native_flag: u16,
    /// In a `ConstMethod`: its constant pool.
    pub pool: usize,
    /// In a `ConstMethod`: the method's number in its class, 16 bits.
    pub number: usize,
    /// In a `ConstMethod`: bytes of bytecode, 16 bits.
    pub code_size: usize,
    /// Bytes of a `ConstMethod`, after which its bytecode begins.
    pub constant_size: usize,
    /// In a constant pool: its class.
    pub holder: usize,
    /// In a class: its array of method ids, whose first word is their number.
    pub ids: usize,
    /// In a class: the address of the array of its methods, by number; its length is an `int` at the start.
    pub methods: usize,
    /// In such an array: the first method.
    pub array_data: usize,
}

/// Words from the frame pointer of an interpreted frame.
#[derive(Clone, Debug)]
pub struct InterpretedLayout {
    /// Where the interpreter's code lies.
    pub code: Range<usize>,
    /// The caller's program counter.
    pub caller_pc: isize,
    /// The caller's frame pointer.
    pub caller_fp: isize,
    /// The caller's stack pointer.
    pub caller_sp: isize,
    /// The method.
    pub method: isize,
    /// The address of the bytecode.
    pub bytecode: isize,
    /// In a frame in the heap: the first local variable, in words from the frame pointer.
    pub locals: isize,
}

/// Frames in which native code calls Java.
#[derive(Clone, Debug)]
pub struct EntryLayout {
    /// Where Java returns to.
    pub return_pc: usize,
    /// From the frame pointer to the address of the VM's description of the call, in words.
    pub call_wrapper: isize,
    /// In this description: the anchor of the Java frame before.
    pub anchor: usize,
}

/// Frames of `UpcallStub`.
#[derive(Clone, Copy, Debug)]
pub struct UpcallLayout {
    /// In the blob: bytes from the frame's stack pointer to what the frame keeps, an `int`.
    pub data: usize,
    /// In there: the anchor of the Java frame before.
    pub anchor: usize,
}

/// `JavaFrameAnchor`.
#[derive(Clone, Copy, Debug)]
pub struct AnchorLayout {
    /// The stack pointer; 0 when the thread runs Java code.
    pub sp: usize,
    /// The program counter; 0 when it is the word below the stack pointer.
    pub pc: usize,
    /// The frame pointer.
    pub fp: usize,
}

//! Walks the Java stack of a HotSpot thread from its registers, in a signal handler of that thread, without a
//! call into the VM.
//!
//! The crate knows how frames are linked; its caller passes where the VM keeps things ([`Layout`]). It reads through
//! [`Memory`] and has no unsafe code. It allocates nothing, takes no lock, and cannot panic by construction: all
//! arithmetic is checked, nothing is indexed. The frames are those of x86-64 or of AArch64, as the layout says
//! ([`Machine`]), whatever processor the walk itself runs on.
//!
//! # The start
//!
//! ```text
//! the thread's anchor has a stack pointer ──► Java has called the VM or native code: begin at the anchor
//! pc in the code cache                    ──► Java code was interrupted: its frame may be incomplete
//! pc elsewhere                            ──► a routine that Java calls without an anchor: follow frame
//!                                             pointers, then look for a return address to Java
//! ```
//!
//! # Kinds of frames
//!
//! Stacks grow downwards; callers are further up.
//!
//! A compiled method, and a stub of fixed size (`CodeBlob::_frame_size` words):
//!
//! ```text
//!            │ return address │ ◄─ the caller's pc
//!            │ caller's rbp   │
//!            │ spilled values │
//! sp ──────► │ ...            │    pc ─► PcDesc ─► scopes: the method and what is inlined
//! ```
//!
//! An interpreted method:
//!
//! ```text
//!            │ return address │
//! fp ──────► │ caller's rbp   │
//!            │ caller's rsp   │    where the caller's frame begins, as the arguments were pushed after it
//!            │ last rsp       │
//!            │ Method*        │
//!            │ ... 4 words    │
//!            │ bytecode       │    an address in the ConstMethod; in r13 while the method runs
//! sp ──────► │ operands       │
//! ```
//!
//! An entry frame, with which native code calls Java. The walk skips the native frames between:
//!
//! ```text
//! fp ──────► │ caller's rbp   │
//!            │ ...            │
//!            │ JavaCallWrapper├──► anchor: sp, fp and pc of the Java frame before; sp = 0 at the root
//! sp ──────► │ ...            │
//! ```
//!
//! On AArch64 `x29` takes the place of `rbp`, and calls put the return address into `x30`: a method stores both as it makes its
//! frame. An address on the stack may be signed. Frames of the interpreter have these words:
//!
//! ```text
//!            │ return address │
//! fp ──────► │ caller's x29   │
//!            │ caller's sp    │    below the room for its operands, so possibly inside of the frame that it has called
//!            │ last sp        │
//!            │ Method*        │
//!            │ ... 5 words    │
//!            │ bytecode       │    an address in the ConstMethod; in x22 while the method runs
//! sp ──────► │ operands       │
//! ```
//!
//! A native method: a compiled wrapper, found by the anchor. A stub without a frame size (array copies, `Math`):
//!
//! ```text
//!            │ return address │
//! fp ──────► │ caller's rbp   │    after the stub's first two instructions; on top of the stack before
//! sp ──────► │ ...            │
//! ```
//!
//! The last frame of a virtual thread that is thawed. The VM copies callers back when they are returned to:
//!
//! ```text
//!            │ frames of the carrier                  │
//!            │ return barrier │ ◄─ instead of the caller, which is in the heap
//! sp ──────► │ ...            │
//! ```
//!
//! The walk goes on in the heap if the objects there cannot move meanwhile; `walk/frozen.rs` has the picture.
//!
//! A frame that is due for deoptimization returns to a handler of its method; the original address is in the
//! frame (`nmethod::_orig_pc_offset`).

pub mod callers;
mod code;
mod compressed;
mod instructions;
pub mod layout;
mod machine;
mod memory;
mod method;
mod native;
mod nmethod;
#[cfg(test)]
mod testing;
mod walk;

pub use code::{Heap, Heaps, MAX_HEAPS};
pub use layout::Layout;
pub use machine::Machine;
pub use memory::Memory;
pub use method::NATIVE;
pub use native::native_frames;
pub use walk::{End, Failure, Frame, Registers, Thread, Walker};

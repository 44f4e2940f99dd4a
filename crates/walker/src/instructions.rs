//! Infers the state of the frame from the instructions around an interrupted program counter.

pub(crate) mod aarch64;
pub(crate) mod x86_64;

/// How much of a frame there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Built {
    /// Nothing: the return address is where the call has put it.
    Nothing,
    /// The caller's frame pointer is on top of the stack, the return address above it.
    FramePointer,
    /// The stack pointer has its place, the caller's frame pointer is still in its register, as is what else the call has put into
    /// one.
    Room,
    /// All of it.
    Complete,
}

//! native=SIZE: who allocates memory outside of the heap.
//!
//! ```text
//! malloc of a library ─► its import table ─► hook ─► the function itself
//!                                             │ one block in SIZE bytes
//!                                             └► stack ─► table of stacks ◄─ table of blocks, until free
//! ```
//!
//! The rules of [`native_calls`](crate::native_calls) hold for [`hooks`], [`sampler`] and [`blocks`] too.

mod blocks;
mod hooks;
mod recorder;
mod sampler;

pub use recorder::NativeRecorder;

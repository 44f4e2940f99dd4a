//! native=SIZE: who allocates memory outside of the heap.
//!
//! ```text
//! malloc of a library ─► its import table ─► hook ─► the function itself
//!                                             │ one block in SIZE bytes
//!                                             └► stack ─► table of stacks ◄─ table of blocks, until free
//! ```
//!
//! # Rules for code that hooks run
//!
//! [`hooks`], [`sampler`], [`capture`], [`known`], [`blocks`] and [`stacks`] run inside of other libraries' allocations, where
//! any lock may be held, on threads that begin or end, and after a fork:
//! - no allocation, no lock, no thread-local with a destructor, no formatting;
//! - memory is preallocated and never freed, so that a thread that is late finds it valid;
//! - `errno` is as the function itself has left it;
//! - a hook inside of a hook only calls the function.

mod blocks;
mod capture;
mod hooks;
mod known;
mod recorder;
mod room;
mod sampler;
mod stacks;

pub use recorder::NativeRecorder;

//! `cpu=wall`: what all threads do, at an interval on the wall clock.
//!
//! The profile thread looks at threads in turn, at most [`sampler::MAX_LOOKS`] of them per interval, each
//! [sample](sampler) counting the intervals since the one before. So the cost has a bound, whatever the number of
//! threads.
//!
//! ```text
//! CPU clock as at the last look ─► nothing has changed: the trace of the last look
//! the kernel has it running or ready ─► signal to the thread, whose handler walks its stack
//! else it waits ─► GetThreadListStackTraces, with its state
//! ```
//!
//! A thread that waits gets no signal, so no system call of the program is interrupted. Its stack needs no
//! second walk until its CPU clock has moved. A thread that runs is seen where it runs, not at a safepoint.

mod running;
mod sampler;
mod state;
mod threads;

pub use sampler::{Seen, Waiting, WallSampler};
pub use state::WallState;
pub use threads::{WallThread, WallThreads};

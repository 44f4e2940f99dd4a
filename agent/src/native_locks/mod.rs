//! nativelock=: who waits for mutexes and read-write locks of native code, and how long.
//!
//! ```text
//! pthread_mutex_lock of a library ─► its import table ─► hook ─► pthread_mutex_trylock: it is free, no more is done
//!                                                         │ it is not
//!                                                         └► clock, stack ─► the function itself ─► clock ─► table of stacks
//! ```
//!
//! The rules of [`native_calls`](crate::native_calls) hold for [`hooks`]. The stack is taken before the thread waits, so that no lock
//! is held longer than without the agent.

mod hooks;
mod recorder;
mod state;

pub use recorder::NativeLockRecorder;

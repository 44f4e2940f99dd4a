//! The profile's way out of the agent: writers of the formats over a sink, and what replaces a sink
//! that fails. With a picture as `file=` a profile is kept and drawn ([`picture`]); nothing else in the
//! agent draws.

mod failover;
mod held;
mod host;
mod picture;
mod records;
mod sums;
mod target;
mod writer;

pub use held::{HeldThread, HeldThreads};
pub use host::Host;
pub use records::{Begin, Record, WaitRecord, thread_object};
pub use writer::{DumpEnd, Output};

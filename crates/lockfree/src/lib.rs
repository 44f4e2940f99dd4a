//! The memory that signal handlers and Java code share with the agent's threads
//! without a lock, apart from any JVM.
//!
//! | Module | Written by | Read by |
//! |---|---|---|
//! | [`published`] | the profile thread | signal handlers |
//! | [`ring`] | signal handlers of many threads | the profile thread |
//! | [`slots`] | threads that start or end | signal handlers |
//! | [`nodes`] | the thread that makes a node | hooks in Java code |
//! | [`counters`] | one thread's hooks, its timer's handler, the sampler | dumps |
//!
//! Everything marked as safe in a signal handler allocates nothing, takes no lock
//! and cannot panic.
//!
//! Three tools check this crate. The model tests (`tests/loom.rs`, built with
//! `--cfg loom`) try every order of a few threads' steps; `scripts/test` runs them.
//! `scripts/sanitize` runs the other tests under Valgrind, AddressSanitizer and Miri.

pub mod counters;
pub mod nodes;
pub mod published;
pub mod ring;
pub mod slots;
pub mod switch;
mod sync;

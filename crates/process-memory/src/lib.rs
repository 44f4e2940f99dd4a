//! The resident memory of a JVM, accounted for: rows that add up to it, and its likely cause.
//!
//! The kernel lists mappings with their resident pages ([`smaps`]), threads with their stacks ([`threads`]) and the cgroup
//! ([`cgroup`]); the JVM reports its heap, metaspace, code cache and flags when it is asked ([`heap`], [`code_cache`],
//! [`loaders`], [`flags`]), and keeps an account of the rest if it was started so ([`nmt`]); [`malloc`] walks the arenas of
//! glibc. [`Evidence`] holds all that, [`Table`] is the account, and [`Cause`] the conclusion.
//! [`series`] has tables over time, and [`course`] concludes from them.
//!
//! Nothing here asks a process: texts come from the caller. Any of them may be missing, old or hostile.

// Heaps of one range are usual.
#![cfg_attr(test, allow(clippy::single_range_in_vec_init))]

pub mod bytes;
pub mod cause;
pub mod cgroup;
pub mod code_cache;
pub mod course;
pub mod course_sentence;
pub mod evidence;
pub mod flags;
pub mod growth;
pub mod heap;
pub mod loaders;
pub mod malloc;
pub mod memory;
pub mod nmt;
pub mod objects;
mod owners;
pub mod post_mortem;
pub mod row;
mod sentence;
pub mod series;
pub mod smaps;
pub mod status;
pub mod table;
pub mod threads;

pub use bytes::Bytes;
pub use cause::Cause;
pub use evidence::Evidence;
pub use row::{Basis, Kind, Row};
pub use table::Table;

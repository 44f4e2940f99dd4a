//! Reads HPROF dumps and profiles of any producer and says what is in them.
//!
//! [`input::Input`] opens a file, a pipe or a compressed file. [`contents::Contents`] is what one
//! pass over it finds: the records, the names, the stacks, the tables of a profile, and a
//! [`heap::Census`] of every heap dump. The rest of the crate answers questions about that:
//! [`heap::histogram()`], [`stacks::Weights`], [`stacks::CallTree`], [`diff`].
//!
//! Damage never ends a reading. What could not be read is listed in
//! [`contents::Contents::damage`] with its place.

pub mod android;
pub mod contents;
pub mod diff;
pub mod direct_buffers;
pub mod dominators;
pub mod duplicates;
mod gate;
pub mod graph;
pub mod growth;
pub mod heap;
pub mod input;
pub mod leaks;
pub mod locks;
pub mod mapping;
mod marks;
pub mod names;
pub mod numbers;
pub mod observations;
pub mod out_of_memory;
pub mod parallel;
pub mod paths;
pub mod resident;
pub mod retained;
pub mod snapshot;
pub mod stacks;
pub mod strip;
pub mod trace;
pub mod usage;
mod walk;
pub mod whole_file;

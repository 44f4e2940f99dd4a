//! The binary format (`format=b`).
//!
//! Described in the manual of HPROF ("HPROF: A Heap/CPU Profiling Tool", Java SE 8
//! documentation) and, for heap dumps, in the comment at the head of HotSpot's
//! `heapDumper.cpp`. All numbers are big-endian, nothing is aligned or padded.

mod body;
pub mod mutf8;
pub mod tags;
mod writer;

pub use body::{Body, IdSize};
pub use writer::BinaryWriter;

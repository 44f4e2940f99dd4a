//! The HPROF text and binary profile formats: record types, writers, readers.
//!
//! HPROF is the file format of the profiling agent that shipped with the JDK
//! up to version 8, and of the heap dumps the HotSpot, GraalVM and Android
//! virtual machines write to this day. This crate knows nothing about a
//! running JVM, starts no thread, and opens no file: it turns descriptions into
//! bytes on any [`std::io::Write`], and bytes into records.
//!
//! * [`model`] holds the neutral descriptions a profiler hands over;
//! * [`writer::ProfileWriter`] is the interface both formats implement;
//! * [`text::TextWriter`] writes `format=a`, [`binary::BinaryWriter`] `format=b`;
//! * [`reader`] reads binary files of all known producers;
//! * [`splitter`] follows a profile that comes in piece by piece, and mends one that was cut off;
//! * [`verify`] looks up everything that a file's records refer to;
//! * [`listing`] puts records into words;
//! * [`rank`] orders a table and applies its cutoff, as a pure function;
//! * [`ids`] has one newtype per kind of serial number and identifier.

pub mod binary;
pub mod held;
pub mod ids;
pub mod listing;
pub mod model;
pub mod rank;
pub mod reader;
pub mod serial_set;
pub mod splitter;
pub mod text;
pub mod verify;
pub mod writer;

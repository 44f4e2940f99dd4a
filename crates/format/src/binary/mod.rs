//! The binary format (`format=b`).
//!
//! Described in the manual of HPROF ("HPROF: A Heap/CPU Profiling Tool", Java SE 8
//! documentation) and, for heap dumps, in the comment at the head of HotSpot's
//! `heapDumper.cpp`. All numbers are big-endian, nothing is aligned or padded.

mod basic_type;
mod body;
mod bytes;
mod class_dump;
mod filler;
mod fixed_length;
mod heap_writer;
mod lists;
mod record;
mod record_writer;
mod root;
mod sub_record;
mod sub_records;
pub mod tags;
mod writer;

pub(crate) use basic_type::width_of_type;
pub use basic_type::{BasicType, Value};
pub use body::{Body, IdSize};
pub(crate) use bytes::{u4, u8};
pub use class_dump::{
    ClassDump, Constant, Constants, InstanceField, InstanceFields, StaticField, StaticFields,
};
pub use filler::{FILLER_HEAD, fillers};
pub use fixed_length::fixed_length;
pub use hprof_java_names::mutf8;
pub use lists::{AllocSite, AllocSiteRows, CpuSample, CpuSamples, Ids, IdsIter};
pub use record::Record;
pub use record_writer::RecordWriter;
pub use sub_record::SubRecord;
pub(crate) use sub_record::{Stop, decode as decode_sub_record, decode_start};
pub use sub_records::SubRecords;
pub(crate) use sub_records::{OPEN_ENDED, damage_of};
pub use writer::BinaryWriter;

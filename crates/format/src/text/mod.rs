//! The text format (`format=a`).
//!
//! Line layouts and column widths are those of the JDK 8 agent, as shown in the manual of HPROF
//! ("HPROF: A Heap/CPU Profiling Tool", Java SE 8 documentation). Text is UTF-8.

mod digits;
mod escape;
mod heap;
mod monitors;
mod prelude;
mod reader;
mod slow;
mod writer;

pub use prelude::PRELUDE;
pub use reader::{
    TextCpuRow, TextCpuTable, TextFrame, TextHeapDump, TextItem, TextMethod, TextMonitor,
    TextMonitorDump, TextMonitorRow, TextMonitorTable, TextMonitorThread, TextOldCpuRow, TextRank,
    TextReader, TextSiteRow, TextSiteTable, TextTable, TextThread, TextTrace, TextUncounted,
    TextWait,
};
pub(crate) use writer::round_to_millis;
pub use writer::{NO_STACK, TextWriter};

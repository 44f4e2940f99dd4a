//! The garbage collection logs of HotSpot, from bytes to figures and advice.
//!
//! [`Reader`] takes a log in pieces of any size and keeps sums, never the log: its memory is bounded,
//! whatever the log holds. It understands unified logging (JEP 158 and 271, JDK 9 and later) of Serial,
//! Parallel, CMS, G1, ZGC and Shenandoah with all decorations, and the forms of JDK 8's
//! `-XX:+PrintGC`, `-XX:+PrintGCDetails`, `-XX:+PrintGCID` and `-XX:+PrintGCApplicationStoppedTime`. The forms come from
//! HotSpot's sources (`gcTraceTime.cpp`, `g1YoungGCPostEvacuateTasks.cpp`, `zStat.cpp`,
//! `shenandoahUtils.cpp`, `safepoint.cpp`) and from logs of JDK 11 to 25.
//!
//! [`read_recording`] has the same figures of a recording of the JDK Flight Recorder.
//!
//! The crate has no policy for files and prints nothing.
//!
//! ```
//! let mut reader = hprof_gclog::Reader::new();
//! reader.feed(b"[0.5s][info][gc] GC(0) Pause Young (Allocation Failure) 34M->10M(124M) 2.5ms\n");
//! let summary = reader.finish();
//! assert_eq!(summary.pauses.count, 1);
//! assert_eq!(summary.kinds[0].name, "Young");
//! ```

mod clock;
mod compare;
mod durations;
mod event;
mod findings;
mod jdk8;
mod line;
mod names;
mod numbers;
mod part;
mod reader;
mod recording;
mod requests;
mod statistics;
mod summary;
mod timeline;
mod unified;
mod wrapping;

pub use clock::Gap;
pub use compare::{Figure, Measure, Unit, compare, figures};
pub use durations::{Durations, Spread};
pub use event::{Collector, Family, HeapChange, Nanos};
pub use findings::{Finding, Severity, size};
pub use part::Part;
pub use reader::{Reader, first_time};
pub use recording::{Recording, read_recording, read_recording_part};
pub use requests::Request;
pub use summary::{Counts, Cpu, Heap, Lines, Metaspace, Rate, Row, Summary, WorstPause, WorstStop};
pub use timeline::{Bucket, Timeline};

//! Thread dumps of HotSpot, from text or JSON to threads, locks, groups and findings.
//!
//! [`read`] takes what `jstack`, `jcmd PID Thread.print` and `kill -3` print (JDK 8 to 25), also in the middle of a
//! program's log, several times in one file, or without the first line, and both forms of
//! `jcmd PID Thread.dump_to_file` (JDK 21 and later), which have virtual threads too. The forms come from HotSpot's
//! sources (`thread.cpp`, `javaThread.cpp`, `vframe.cpp`, `threadService.cpp`) and from the JDK's
//! `jdk.internal.vm.ThreadDumper`. It also takes the dumps of tools over JMX (VisualVM, Spring Boot, Jolokia), the
//! texts of `java.lang.management.ThreadInfo`, those of the serviceability agent (`jhsdb jstack`, `jstack -F`),
//! javacores of OpenJ9, and the `MONITOR DUMP`s of HPROF's text profiles.
//!
//! The crate opens no file and prints nothing.
//!
//! ```
//! let text = "Full thread dump OpenJDK 64-Bit Server VM (21 mixed mode):\n\n\
//!     \"main\" #1 prio=5 os_prio=0 cpu=1.50ms elapsed=2.00s tid=0x1 nid=17 runnable [0x2]\n   \
//!     java.lang.Thread.State: RUNNABLE\n\tat App.main(App.java:7)\n";
//! let dumps = hprof_thread_dumps::read(text.as_bytes()).unwrap();
//! let report = hprof_thread_dumps::Report::of(&dumps);
//! assert_eq!(report.dumps[0].threads, 1);
//! assert_eq!(report.stacks[0].frames, ["App.main(App.java:7)"]);
//! ```

mod beans;
mod deadlocks;
mod frames;
mod hprof;
mod javacore;
mod json;
mod model;
mod moved;
mod plain;
mod pools;
mod read;
mod report;
mod text;

pub use deadlocks::{Deadlock, Step};
pub use frames::{Frames, StackId};
pub use model::{Dump, Lock, Source, State, Thread, Wait, WaitKind};
pub use moved::{Busy, Moved, Stuck};
pub use pools::of as pool_of;
pub use read::{Dumps, NoDump, begins_in, read};
pub use report::{DumpFacts, LockRow, PoolRow, Report, StackGroup, ThreadRow};

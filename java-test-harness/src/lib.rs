//! Runs small Java programs on real JVMs and gives the test what they did.
//!
//! The folder `java/` holds one program per behaviour. A test picks a JDK, starts a program under
//! the agent, and looks at the [`Outcome`]: exit status, output, the files left behind, and the
//! profile as read by own parsers ([`TextProfile`], [`BinaryProfile`]), which share no
//! code with the product, so that a mistake in its writer cannot hide behind the same mistake in
//! its reader.
//!
//! ```no_run
//! use java_test_harness::{Run, each_jdk};
//!
//! each_jdk(|jdk| {
//!     let outcome = Run::new(jdk).agent("cpu=samples").class("Hello").run();
//!     assert_eq!(outcome.status, Some(0));
//!     assert_eq!(outcome.stdout, "hello\n");
//! });
//! ```
//!
//! A test that fails prints the command line, exit status, output and the heads of all files of the
//! JVMs it started (see [`Outcome`]).
//!
//! The environment can say:
//!
//! * `HPROF_RS_AGENT`: the agent library to load; otherwise `agent/libhprof_rs.so` in cargo's
//!   target folder.
//! * `HPROF_RS_JDKS`: the feature releases to test (`17,21`); otherwise 17 and 25, and for tests of what
//!   differs between releases 11, 21, 26, 27 and 28 as well. All but those from 26 on must then be there (`scripts/setup
//!   jdks` fetches them).
//! * `HPROF_RS_COLLECTORS`: the collectors of tests that run with each (`Parallel,G1`); otherwise
//!   all that a JDK has.
//! * `HPROF_RS_CACHE`: where `scripts/setup` keeps the JDKs.

mod agent;
mod collector;
mod compile;
mod front_end;
mod jdk;
mod load;
mod matrix;
mod native_cycles;
mod outcome;
mod process;
pub mod rights;
mod run;
mod site_expectation;
mod stress;

/// Returns whether bytes, as of a file or a reply, have a text in them.
pub fn contains(bytes: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(bytes, text).is_some()
}

pub use agent::{agent_library, control_socket, workspace};
pub use collector::Collector;
pub use compile::{
    classes, classes_compiled_with, classes_for, java_sources, lazy_transformer, preview_classes,
    redefiner, slow_transformer,
};
pub use front_end::{FrontEnd, Peer};
pub use java_test_profiles::{
    BinaryFrame, BinaryHeap, BinaryProfile, BinarySite, BinaryTable, BinaryTrace, Content,
    CpuTable, HeapClass, HeapObject, HeapRoot, MonitorDump, Row, SiteRow, SiteTable, TextClass,
    TextHeap, TextObject, TextProfile, ThreadStart, Trace, UsedMonitor,
};
pub use jdk::{Jdk, cache_folder};
pub use matrix::{each_collector, each_jdk, each_jdk_since, each_release, each_release_since};
pub use native_cycles::{NativeCycles, native_cycles};
pub use outcome::{Outcome, Usage};
pub use process::{Signal, measure};
pub use run::{Run, Running};
pub use site_expectation::SiteExpectation;
pub use stress::Stress;

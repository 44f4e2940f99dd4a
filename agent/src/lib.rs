//! The HPROF profiler as a JVMTI agent.
//!
//! Built as the shared library `libhprof_rs.so`, which a JVM loads with
//! `-agentpath:` or `-agentlib:`. The same crate is an ordinary Rust library so
//! that everything that needs no JVM can be tested without one.

pub mod options;

//! Raw bindings to the JVM Tool Interface, made by bindgen from the JDK's
//! `jvmti.h` over the types of `jni-sys`.
//!
//! The functions of [`jvmtiEnv`] are called through one table of pointers; the
//! safe layer over them is the agent's `vm` module, and nothing else should use
//! this crate. The header is that of JDK 25, a superset of the older ones: the
//! table only ever grows at slots that were reserved before, so one library
//! serves JDK 11 to 25 as long as a function is called only where the VM has it.

#[rustfmt::skip]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    unsafe_op_in_unsafe_fn
)]
mod jvmti;

pub use jni_sys;
pub use jvmti::*;

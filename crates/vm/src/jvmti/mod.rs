//! The functions of JVMTI and JNI, each wrapped once: the same on every VM that has them.

pub(crate) mod calls;
pub(crate) mod classes;
pub(crate) mod env;
pub(crate) mod error;
pub(crate) mod fields;
pub(crate) mod follow;
pub(crate) mod gate;
pub(crate) mod heap;
pub(crate) mod ids;
pub(crate) mod invoke;
pub(crate) mod jni;
pub(crate) mod management;
pub(crate) mod memory;
pub(crate) mod monitors;
pub(crate) mod object_sizes;
pub(crate) mod redefine;
pub(crate) mod refs;
pub(crate) mod stacks;
pub(crate) mod threads;
pub(crate) mod thrown;
pub(crate) mod view;

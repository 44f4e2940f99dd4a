//! The VM as the current thread sees it.

use crate::{Jni, Jvmti};

/// An environment of JVMTI and the current thread's environment of JNI.
#[derive(Clone, Copy)]
pub struct Vm<'a> {
    /// The environment of the run.
    pub jvmti: &'a Jvmti,
    /// The environment of the current thread.
    pub jni: &'a Jni,
}

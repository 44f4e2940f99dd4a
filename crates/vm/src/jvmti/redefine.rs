//! Class files: changing them while classes load, and afterwards.

use std::ffi::{CStr, c_void};
use std::ptr;

use super::env::call;
use super::refs::{Class, Ref};
use crate::Fault;
use crate::{Jvmti, JvmtiError, Result};

/// A native method for [`register_natives`](crate::Jni::register_natives).
pub struct NativeMethod {
    /// Its name.
    pub name: &'static CStr,
    /// Its descriptor.
    pub signature: &'static CStr,
    /// A function with JNI's parameters for that descriptor.
    pub function: *mut c_void,
}

impl Jvmti {
    /// A copy of `bytes` in the VM's own memory, for a class-file hook, and its
    /// length.
    ///
    /// # Errors
    /// The error of `Allocate`.
    pub fn copy_for_vm(&self, bytes: &[u8]) -> Result<(*mut u8, i32)> {
        let len = i32::try_from(bytes.len()).map_err(|_| JvmtiError::INTERNAL)?;
        let mut memory = ptr::null_mut();
        call!(self, Allocate, i64::from(len), &mut memory)?;
        // SAFETY: the VM allocated that many bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok((memory, len))
    }

    /// Returns whether a class may be retransformed.
    pub fn is_modifiable(&self, class: Ref<'_, Class>) -> bool {
        let mut answer = false;
        call!(self, IsModifiableClass, class.as_raw(), &mut answer).is_ok() && answer
    }

    /// Sends classes through the class-file hook again.
    ///
    /// # Errors
    /// The error of `RetransformClasses`; then no class was changed.
    pub fn retransform(&self, classes: &[Ref<'_, Class>]) -> Result<()> {
        let count = i32::try_from(classes.len()).map_err(|_| JvmtiError::INTERNAL)?;
        if Fault::NoHooks.is_wanted() {
            return Err(JvmtiError::INTERNAL);
        }
        // `Ref` is laid out as the raw reference.
        call!(self, RetransformClasses, count, classes.as_ptr().cast())
    }
}

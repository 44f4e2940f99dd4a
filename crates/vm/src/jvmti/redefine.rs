//! Class files: changing them while classes load, and afterwards.

use std::ffi::{CStr, c_void};
use std::ptr;

use super::env::call;
use super::refs::{Class, Ref};
use crate::{Fault, Jvmti, JvmtiError, Release, Result};

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
        let answered = call!(self, IsModifiableClass, class.as_raw(), &mut answer);
        answered.is_ok() && answer && !self.may_have_replaced_constants(class)
    }

    /// Returns true for the VM's anonymous classes of JDK 8, also if that cannot be found out. Where their constants were
    /// replaced by objects, as in the code of method handles, its functions that write constants or class files take
    /// these for strings, and end the JVM with a fault. It calls them modifiable; JDK 11 and later do not.
    pub(super) fn may_have_replaced_constants(&self, class: Ref<'_, Class>) -> bool {
        Release::of(self).has_modifiable_anonymous_classes()
            && self
                .class_signature(class)
                .map_or(true, |it| is_numbered(&it))
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

/// Returns true for signatures of classes like `Ljava/lang/invoke/LambdaForm$MH/1480010240;`: the VM names an anonymous
/// class by its host and a number.
fn is_numbered(signature: &str) -> bool {
    let name = signature.strip_suffix(';').unwrap_or(signature);
    let number = name.rsplit_once('/').map_or("", |(_, last)| last);
    !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_classes_of_the_vm_are_known_by_their_number() {
        assert!(is_numbered("Ljava/lang/invoke/LambdaForm$MH/1480010240;"));
        assert!(is_numbered("LLate$$Lambda$1/764977973;"));
        for other in [
            "LLate;",
            "Ljava/lang/Thread;",
            "La/b/C1;",
            "La/1b;",
            "[I",
            "",
        ] {
            assert!(!is_numbered(other), "{other}");
        }
    }
}

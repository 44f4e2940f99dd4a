//! Java exceptions, taken from the thread they were pending on.

use std::ffi::CStr;
use std::fmt;

use hprof_java_names::mutf8;
use jni_sys::jobject;

use super::jni::{Jni, jni};
use super::refs::{LocalRef, Ref};
use crate::JvmtiError;

/// Why a call into Java failed: the exception it left, which is not pending any more. Its text is asked of
/// Java only when it is shown.
pub struct Thrown<'a> {
    jni: &'a Jni,
    /// `None` when the call failed without an exception.
    exception: Option<LocalRef<'a>>,
}

impl fmt::Display for Thrown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.exception {
            Some(exception) => match self.jni.text_of(exception.get()) {
                Some(text) => f.write_str(&text),
                None => f.write_str("a Java exception without text"),
            },
            None => f.write_str("the VM gives no reason"),
        }
    }
}

impl fmt::Debug for Thrown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Thrown<'_> {}

impl From<Thrown<'_>> for JvmtiError {
    fn from(_: Thrown<'_>) -> Self {
        Self::INTERNAL
    }
}

impl Jni {
    /// Returns whether a Java exception is pending. Most JNI calls are forbidden then.
    pub fn exception_pending(&self) -> bool {
        // SAFETY: the call takes nothing.
        unsafe { jni!(self, v1_2.ExceptionCheck) }
    }

    /// Takes the pending exception, `None` if there is none.
    pub fn take_exception(&self) -> Option<Thrown<'_>> {
        // SAFETY: the call takes nothing, and returns a new local reference.
        let exception = unsafe { LocalRef::own(self, jni!(self, v1_2.ExceptionOccurred)) }?;
        self.clear_exception();
        Some(Thrown {
            jni: self,
            exception: Some(exception),
        })
    }

    /// Takes over what a call returned: null, or an exception, is a failure.
    ///
    /// # Safety
    /// As for [`LocalRef::own`].
    pub(crate) unsafe fn returned<T>(&self, raw: jobject) -> Result<LocalRef<'_, T>, Thrown<'_>> {
        // SAFETY: by the caller's promise.
        let object = unsafe { LocalRef::own(self, raw) };
        self.outcome(object)
    }

    /// `value`, unless an exception is pending or there is none.
    pub(crate) fn outcome<T>(&self, value: Option<T>) -> Result<T, Thrown<'_>> {
        match (self.take_exception(), value) {
            (Some(thrown), _) => Err(thrown),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(Thrown {
                jni: self,
                exception: None,
            }),
        }
    }

    pub(crate) fn clear_exception(&self) {
        if self.exception_pending() {
            // SAFETY: the call takes nothing.
            unsafe { jni!(self, v1_2.ExceptionClear) };
        }
    }

    /// The result of an object's `toString`.
    fn text_of(&self, object: Ref<'_>) -> Option<String> {
        let class = self.find_class(c"java/lang/Object").ok()?;
        let to_string = self
            .method_id(class.get(), c"toString", c"()Ljava/lang/String;")
            .ok()?;
        // SAFETY: every object has this method, which takes nothing and returns a string.
        let text: LocalRef<'_> = unsafe { self.call_object(object, to_string, &[]) }.ok()?;
        // SAFETY: the object is a string; the place for "is a copy" may be null.
        let chars = unsafe {
            let (text, is_copy) = (text.get().as_raw(), std::ptr::null_mut());
            jni!(self, v1_2.GetStringUTFChars, text, is_copy)
        };
        if chars.is_null() {
            self.clear_exception();
            return None;
        }
        // SAFETY: the VM returned a NUL-terminated copy, which is released below.
        let copy = mutf8::decode(unsafe { CStr::from_ptr(chars) }.to_bytes()).into_owned();
        // SAFETY: the characters are those of this string, and released once.
        unsafe { jni!(self, v1_2.ReleaseStringUTFChars, text.get().as_raw(), chars) };
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use crate::fake::{self, with_state};

    const REASON: &std::ffi::CStr = c"java.lang.NoSuchMethodError: exit";

    #[test]
    fn the_reason_of_a_method_that_is_missing_is_shown() {
        let jni = fake::jni();
        with_state(|state| state.no_method = Some(REASON));
        let thrown = jni.exit_vm().expect_err("there is no method");
        assert_eq!(thrown.to_string(), REASON.to_str().unwrap());
        assert!(!jni.exception_pending());
        drop(thrown);
        assert!(with_state(|state| state.live.is_empty()));
    }

    #[test]
    fn a_failure_without_an_exception_says_so() {
        let jni = fake::jni();
        let thrown = jni.outcome(None::<()>).expect_err("nothing");
        assert_eq!(thrown.to_string(), "the VM gives no reason");
    }
}

//! JVMTI error codes.

use hprof_native_headers as raw;

/// An error code of a JVMTI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("JVMTI Error {}({code})", self.name())]
pub struct JvmtiError {
    code: u32,
}

/// The result of a JVMTI call.
pub type Result<T> = std::result::Result<T, JvmtiError>;

impl JvmtiError {
    /// The function is missing from the table of this VM.
    pub const NOT_AVAILABLE: Self = Self {
        code: raw::JVMTI_ERROR_NOT_AVAILABLE,
    };
    /// The environment was closed.
    pub const INVALID_ENVIRONMENT: Self = Self {
        code: raw::JVMTI_ERROR_INVALID_ENVIRONMENT,
    };
    /// The thread has no object of class `Thread` (yet).
    pub const INVALID_THREAD: Self = Self {
        code: raw::JVMTI_ERROR_INVALID_THREAD,
    };
    /// The class may not be changed.
    pub const UNMODIFIABLE_CLASS: Self = Self {
        code: raw::JVMTI_ERROR_UNMODIFIABLE_CLASS,
    };
    /// A JNI call failed or left an exception.
    pub const INTERNAL: Self = Self {
        code: raw::JVMTI_ERROR_INTERNAL,
    };

    /// `Ok` for `JVMTI_ERROR_NONE`.
    ///
    /// # Errors
    /// Every other code.
    pub fn check(code: u32) -> Result<()> {
        if code == raw::JVMTI_ERROR_NONE {
            Ok(())
        } else {
            Err(Self { code })
        }
    }

    /// The name of the error in `jvmti.h`, without the common prefix.
    pub fn name(self) -> &'static str {
        match self.code {
            raw::JVMTI_ERROR_INVALID_THREAD => "INVALID_THREAD",
            raw::JVMTI_ERROR_THREAD_NOT_ALIVE => "THREAD_NOT_ALIVE",
            raw::JVMTI_ERROR_INVALID_OBJECT => "INVALID_OBJECT",
            raw::JVMTI_ERROR_INVALID_CLASS => "INVALID_CLASS",
            raw::JVMTI_ERROR_CLASS_NOT_PREPARED => "CLASS_NOT_PREPARED",
            raw::JVMTI_ERROR_INVALID_METHODID => "INVALID_METHODID",
            raw::JVMTI_ERROR_NOT_AVAILABLE => "NOT_AVAILABLE",
            raw::JVMTI_ERROR_MUST_POSSESS_CAPABILITY => "MUST_POSSESS_CAPABILITY",
            raw::JVMTI_ERROR_NULL_POINTER => "NULL_POINTER",
            raw::JVMTI_ERROR_ABSENT_INFORMATION => "ABSENT_INFORMATION",
            raw::JVMTI_ERROR_ILLEGAL_ARGUMENT => "ILLEGAL_ARGUMENT",
            raw::JVMTI_ERROR_NATIVE_METHOD => "NATIVE_METHOD",
            raw::JVMTI_ERROR_OUT_OF_MEMORY => "OUT_OF_MEMORY",
            raw::JVMTI_ERROR_ACCESS_DENIED => "ACCESS_DENIED",
            raw::JVMTI_ERROR_WRONG_PHASE => "WRONG_PHASE",
            raw::JVMTI_ERROR_INTERNAL => "INTERNAL",
            raw::JVMTI_ERROR_UNATTACHED_THREAD => "UNATTACHED_THREAD",
            raw::JVMTI_ERROR_INVALID_ENVIRONMENT => "INVALID_ENVIRONMENT",
            _ => "UNKNOWN",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_name_and_number() {
        let error = JvmtiError::check(99).unwrap_err();
        assert_eq!(error.to_string(), "JVMTI Error MUST_POSSESS_CAPABILITY(99)");
        assert_eq!(JvmtiError::check(0), Ok(()));
    }
}

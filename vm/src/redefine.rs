//! Class files: changing them while classes load, and afterwards.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use jni_sys::{JNINativeMethod, jclass, jfieldID, jobject};

use super::env::call;
use super::jni::{Jni, LocalRef, jni};
use super::{Jvmti, JvmtiError, Result};

/// A native method for [`Jni::register_natives`].
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
    /// What `Allocate` says.
    pub fn copy_for_vm(&self, bytes: &[u8]) -> Result<(*mut u8, i32)> {
        let len = i32::try_from(bytes.len()).map_err(|_| JvmtiError::INTERNAL)?;
        let mut memory = ptr::null_mut();
        call!(self, Allocate, i64::from(len), &mut memory)?;
        // SAFETY: the VM allocated that many bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok((memory, len))
    }

    /// Whether a class may be retransformed.
    pub fn is_modifiable(&self, class: jclass) -> bool {
        let mut answer = false;
        call!(self, IsModifiableClass, class, &mut answer).is_ok() && answer
    }

    /// Sends classes through the class-file hook again.
    ///
    /// # Errors
    /// What `RetransformClasses` says; then no class was changed.
    pub fn retransform(&self, classes: &[jclass]) -> Result<()> {
        let count = i32::try_from(classes.len()).map_err(|_| JvmtiError::INTERNAL)?;
        call!(self, RetransformClasses, count, classes.as_ptr())
    }
}

impl Jni {
    /// Defines a class of the boot loader.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    pub fn define_boot_class(&self, name: &CStr, bytes: &[u8]) -> Result<LocalRef<'_>> {
        let len = i32::try_from(bytes.len()).map_err(|_| JvmtiError::INTERNAL)?;
        let class = jni!(
            self,
            v1_1.DefineClass,
            name.as_ptr(),
            ptr::null_mut(),
            bytes.as_ptr().cast(),
            len
        );
        self.checked(class)
    }

    /// `RegisterNatives`.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    ///
    /// # Safety
    /// Each function has the parameters that its descriptor says.
    pub unsafe fn register_natives(&self, class: jclass, methods: &[NativeMethod]) -> Result<()> {
        let methods: Vec<JNINativeMethod> = methods
            .iter()
            .map(|method| JNINativeMethod {
                name: method.name.as_ptr() as *mut c_char,
                signature: method.signature.as_ptr() as *mut c_char,
                fnPtr: method.function,
            })
            .collect();
        let count = i32::try_from(methods.len()).map_err(|_| JvmtiError::INTERNAL)?;
        let code = jni!(self, v1_2.RegisterNatives, class, methods.as_ptr(), count);
        self.clear_exception();
        if code == jni_sys::JNI_OK {
            Ok(())
        } else {
            Err(JvmtiError::INTERNAL)
        }
    }

    /// Calls a static method without parameters and result.
    ///
    /// # Errors
    /// `INTERNAL` when there is none or it throws; the Java exception is cleared.
    pub fn call_static(&self, class: jclass, method: &CStr) -> Result<()> {
        let id = jni!(
            self,
            v1_2.GetStaticMethodID,
            class,
            method.as_ptr(),
            c"()V".as_ptr()
        );
        if id.is_null() {
            self.clear_exception();
            return Err(JvmtiError::INTERNAL);
        }
        jni!(self, v1_2.CallStaticVoidMethodA, class, id, ptr::null());
        let thrown = self.exception_pending();
        self.clear_exception();
        if thrown {
            Err(JvmtiError::INTERNAL)
        } else {
            Ok(())
        }
    }

    /// `SetLongField`.
    pub fn set_long_field(&self, object: jobject, field: jfieldID, value: i64) {
        jni!(self, v1_2.SetLongField, object, field, value);
    }

    /// `IsInstanceOf`.
    pub fn is_instance(&self, object: jobject, class: jclass) -> bool {
        jni!(self, v1_2.IsInstanceOf, object, class)
    }
}

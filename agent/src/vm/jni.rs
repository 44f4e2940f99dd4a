//! The few JNI calls that the agent makes.

use std::ffi::CStr;
use std::marker::PhantomData;

use jni_sys::{JNIEnv, jclass, jfieldID, jmethodID, jobject, jvalue};

use super::{JvmtiError, Result};

/// The JNI environment of the current thread.
#[derive(Clone, Copy)]
pub struct Jni {
    env: *mut JNIEnv,
}

/// A local reference, deleted on drop.
pub struct LocalRef<'a> {
    jni: Jni,
    object: jobject,
    scope: PhantomData<&'a Jni>,
}

/// A global reference. It is kept for the life of the VM: the agent only pins
/// its own few objects with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GlobalRef(jobject);

// SAFETY: JNI global references are valid on every thread.
unsafe impl Send for GlobalRef {}
// SAFETY: as above.
unsafe impl Sync for GlobalRef {}

/// Calls a function of the JNI table.
macro_rules! jni {
    ($jni:expr, $version:ident . $name:ident $(, $arg:expr)* $(,)?) => {{
        let env = $jni.as_raw();
        // SAFETY: `Jni` wraps the environment that the VM gave for this very
        // thread; the arguments are live references or valid ids.
        unsafe { ((**env).$version.$name)(env $(, $arg)*) }
    }};
}

pub(super) use jni;

impl Jni {
    /// Wraps the environment of the current thread.
    ///
    /// # Safety
    /// `env` belongs to the current thread and the value does not leave it.
    pub unsafe fn new(env: *mut JNIEnv) -> Self {
        Self { env }
    }

    /// The raw pointer.
    pub fn as_raw(self) -> *mut JNIEnv {
        self.env
    }

    /// Takes over a local reference that a JVMTI function returned.
    pub fn own<'a>(&'a self, object: jobject) -> LocalRef<'a> {
        LocalRef {
            jni: *self,
            object,
            scope: PhantomData,
        }
    }

    /// `FindClass`, through the loader of the current frame.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    pub fn find_class(&self, name: &CStr) -> Result<LocalRef<'_>> {
        self.checked(jni!(self, v1_2.FindClass, name.as_ptr()))
    }

    /// `NewStringUTF`.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    pub fn new_string(&self, text: &CStr) -> Result<LocalRef<'_>> {
        self.checked(jni!(self, v1_2.NewStringUTF, text.as_ptr()))
    }

    /// `NewObjectA`.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    pub fn new_object(
        &self,
        class: jclass,
        constructor: jmethodID,
        arguments: &[jvalue],
    ) -> Result<LocalRef<'_>> {
        self.checked(jni!(
            self,
            v1_2.NewObjectA,
            class,
            constructor,
            arguments.as_ptr()
        ))
    }

    /// `GetMethodID`.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    pub fn method_id(&self, class: jclass, name: &CStr, signature: &CStr) -> Result<jmethodID> {
        let id = jni!(
            self,
            v1_2.GetMethodID,
            class,
            name.as_ptr(),
            signature.as_ptr()
        );
        self.clear_exception();
        if id.is_null() {
            Err(JvmtiError::INTERNAL)
        } else {
            Ok(id)
        }
    }

    /// `GetFieldID`.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    pub fn field_id(&self, class: jclass, name: &CStr, signature: &CStr) -> Result<jfieldID> {
        let id = jni!(
            self,
            v1_2.GetFieldID,
            class,
            name.as_ptr(),
            signature.as_ptr()
        );
        self.clear_exception();
        if id.is_null() {
            Err(JvmtiError::INTERNAL)
        } else {
            Ok(id)
        }
    }

    /// `GetLongField`.
    pub fn long_field(&self, object: jobject, field: jfieldID) -> i64 {
        jni!(self, v1_2.GetLongField, object, field)
    }

    /// `NewGlobalRef`.
    pub fn new_global(&self, object: jobject) -> GlobalRef {
        GlobalRef(jni!(self, v1_2.NewGlobalRef, object))
    }

    /// `IsSameObject`.
    pub fn is_same(&self, object: jobject, global: GlobalRef) -> bool {
        jni!(self, v1_2.IsSameObject, object, global.0)
    }

    /// Makes room for many local references, all of which die with the frame:
    /// a callback's own room is for 16.
    pub fn local_frame(&self, capacity: u32) -> LocalFrame {
        let capacity = jni_sys::jint::try_from(capacity).unwrap_or(jni_sys::jint::MAX);
        let pushed = jni!(self, v1_2.PushLocalFrame, capacity) == jni_sys::JNI_OK;
        self.clear_exception();
        LocalFrame { jni: *self, pushed }
    }

    /// Whether a Java exception is pending. Most JNI calls are forbidden then.
    pub fn exception_pending(&self) -> bool {
        jni!(self, v1_2.ExceptionCheck)
    }

    pub(super) fn checked(&self, object: jobject) -> Result<LocalRef<'_>> {
        self.clear_exception();
        if object.is_null() {
            Err(JvmtiError::INTERNAL)
        } else {
            Ok(self.own(object))
        }
    }

    pub(super) fn clear_exception(&self) {
        if self.exception_pending() {
            jni!(self, v1_2.ExceptionClear);
        }
    }
}

/// A frame of local references; see [`Jni::local_frame`].
pub struct LocalFrame {
    jni: Jni,
    pushed: bool,
}

impl Drop for LocalFrame {
    fn drop(&mut self) {
        if self.pushed {
            jni!(self.jni, v1_2.PopLocalFrame, std::ptr::null_mut());
        }
    }
}

impl LocalRef<'_> {
    /// The raw reference, valid while `self` lives.
    pub fn as_raw(&self) -> jobject {
        self.object
    }
}

impl Drop for LocalRef<'_> {
    fn drop(&mut self) {
        if !self.object.is_null() {
            jni!(self.jni, v1_2.DeleteLocalRef, self.object);
        }
    }
}

impl GlobalRef {
    /// The raw reference.
    pub fn as_raw(self) -> jobject {
        self.0
    }
}

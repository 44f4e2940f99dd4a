//! The few JNI calls that the agent makes.

use std::ffi::CStr;
use std::marker::PhantomData;

use jni_sys::{JNIEnv, JavaVM, jclass, jfieldID, jmethodID, jobject, jvalue};

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

/// A global reference. It exists until [`Jni::delete_global`]: the agent only pins
/// its own few objects with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GlobalRef(jobject);

// SAFETY: JNI global references are valid on every thread.
unsafe impl Send for GlobalRef {}
// SAFETY: as above.
unsafe impl Sync for GlobalRef {}

/// A weak global reference. It exists until [`Jni::delete_weak`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeakRef(jobject);

// SAFETY: JNI global references are valid on every thread.
unsafe impl Send for WeakRef {}
// SAFETY: as above.
unsafe impl Sync for WeakRef {}

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

    /// `GetStaticMethodID`.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception stays for [`Self::take_exception`].
    pub fn static_method_id(
        &self,
        class: jclass,
        name: &CStr,
        signature: &CStr,
    ) -> Result<jmethodID> {
        let (name, signature) = (name.as_ptr(), signature.as_ptr());
        let id = jni!(self, v1_2.GetStaticMethodID, class, name, signature);
        self.clear_exception();
        if id.is_null() {
            return Err(JvmtiError::INTERNAL);
        }
        Ok(id)
    }

    /// `CallStaticObjectMethodA`.
    ///
    /// # Errors
    /// `INTERNAL` when it returned null or threw; the exception is cleared.
    pub fn call_static_object(
        &self,
        class: jclass,
        method: jmethodID,
        arguments: &[jvalue],
    ) -> Result<LocalRef<'_>> {
        let arguments = arguments.as_ptr();
        let object = jni!(self, v1_2.CallStaticObjectMethodA, class, method, arguments);
        self.clear_exception();
        if object.is_null() {
            return Err(JvmtiError::INTERNAL);
        }
        Ok(self.own(object))
    }

    /// `CallVoidMethodA`.
    ///
    /// # Errors
    /// The Java exception as text; it is cleared.
    pub fn call_void(
        &self,
        object: jobject,
        method: jmethodID,
        arguments: &[jvalue],
    ) -> std::result::Result<(), String> {
        let arguments = arguments.as_ptr();
        jni!(self, v1_2.CallVoidMethodA, object, method, arguments);
        self.take_exception().map_or(Ok(()), Err)
    }

    /// `CallBooleanMethodA`.
    ///
    /// # Errors
    /// The Java exception as text; it is cleared.
    pub fn call_boolean(
        &self,
        object: jobject,
        method: jmethodID,
        arguments: &[jvalue],
    ) -> std::result::Result<bool, String> {
        let arguments = arguments.as_ptr();
        let result = jni!(self, v1_2.CallBooleanMethodA, object, method, arguments);
        self.take_exception().map_or(Ok(result), Err)
    }

    /// `System.exit(0)`: the VM's orderly end.
    ///
    /// # Errors
    /// What Java says, such as a security manager that forbids it.
    pub fn exit_vm(&self) -> std::result::Result<(), String> {
        let text = |error: JvmtiError| error.to_string();
        let class = self.find_class(c"java/lang/System").map_err(text)?;
        let exit = self.static_method_id(class.as_raw(), c"exit", c"(I)V");
        let exit = exit.map_err(|error| self.take_exception().unwrap_or(text(error)))?;
        let arguments = [jvalue { i: 0 }];
        jni!(
            self,
            v1_2.CallStaticVoidMethodA,
            class.as_raw(),
            exit,
            arguments.as_ptr()
        );
        self.take_exception().map_or(Ok(()), Err)
    }

    /// Clears the pending exception and returns its text, `None` if there is none.
    pub fn take_exception(&self) -> Option<String> {
        let exception = jni!(self, v1_2.ExceptionOccurred);
        if exception.is_null() {
            return None;
        }
        jni!(self, v1_2.ExceptionClear);
        let exception = self.own(exception);
        let text = self.text_of(exception.as_raw());
        self.clear_exception();
        Some(text.unwrap_or_else(|| "a Java exception without text".to_owned()))
    }

    /// What `toString` of an object returns.
    fn text_of(&self, object: jobject) -> Option<String> {
        let class = self.find_class(c"java/lang/Object").ok()?;
        let to_string = self
            .method_id(class.as_raw(), c"toString", c"()Ljava/lang/String;")
            .ok()?;
        let arguments = std::ptr::null();
        let text = jni!(self, v1_2.CallObjectMethodA, object, to_string, arguments);
        let text = self.checked(text).ok()?;
        let null = std::ptr::null_mut();
        let chars = jni!(self, v1_2.GetStringUTFChars, text.as_raw(), null);
        if chars.is_null() {
            return None;
        }
        // SAFETY: the VM returned a NUL-terminated copy, which is released below.
        let copy = super::memory::decode(unsafe { CStr::from_ptr(chars) }.to_bytes());
        jni!(self, v1_2.ReleaseStringUTFChars, text.as_raw(), chars);
        Some(copy)
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

    /// A static field of type long.
    ///
    /// # Errors
    /// `INTERNAL` if there is none; the Java exception is cleared.
    pub fn static_long(&self, class: jclass, name: &CStr) -> Result<i64> {
        let (name, signature) = (name.as_ptr(), c"J".as_ptr());
        let id = jni!(self, v1_2.GetStaticFieldID, class, name, signature);
        self.clear_exception();
        if id.is_null() {
            return Err(JvmtiError::INTERNAL);
        }
        Ok(jni!(self, v1_2.GetStaticLongField, class, id))
    }

    /// `NewGlobalRef`.
    pub fn new_global(&self, object: jobject) -> GlobalRef {
        GlobalRef(jni!(self, v1_2.NewGlobalRef, object))
    }

    /// `DeleteGlobalRef`. No copy may be used afterwards.
    pub fn delete_global(&self, global: GlobalRef) {
        jni!(self, v1_2.DeleteGlobalRef, global.0);
    }

    /// `NewWeakGlobalRef`.
    ///
    /// # Errors
    /// `INTERNAL` when the VM has no memory left; the Java exception is cleared.
    pub fn new_weak(&self, object: jobject) -> Result<WeakRef> {
        let weak = jni!(self, v1_2.NewWeakGlobalRef, object);
        if weak.is_null() {
            self.clear_exception();
            return Err(JvmtiError::INTERNAL);
        }
        Ok(WeakRef(weak))
    }

    /// `DeleteWeakGlobalRef`. The reference must not be used again.
    pub fn delete_weak(&self, weak: WeakRef) {
        jni!(self, v1_2.DeleteWeakGlobalRef, weak.0);
    }

    /// Whether the referent of a weak reference is gone.
    pub fn is_cleared(&self, weak: WeakRef) -> bool {
        jni!(self, v1_2.IsSameObject, weak.0, std::ptr::null_mut())
    }

    /// `NewLocalRef` of a weak reference; `None` when the referent is gone.
    pub fn resolve(&self, weak: WeakRef) -> Option<LocalRef<'_>> {
        self.checked(jni!(self, v1_2.NewLocalRef, weak.0)).ok()
    }

    /// `IsSameObject`, where a cleared reference is the same as no object.
    pub fn is_weak_of(&self, object: jobject, weak: WeakRef) -> bool {
        jni!(self, v1_2.IsSameObject, object, weak.0)
    }

    /// `GetSuperclass`; `None` for `Object`, interfaces and primitive types.
    pub fn superclass(&self, class: jclass) -> Option<LocalRef<'_>> {
        self.checked(jni!(self, v1_2.GetSuperclass, class)).ok()
    }

    /// `NewByteArray`.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    pub fn new_byte_array(&self, length: i32) -> Result<LocalRef<'_>> {
        self.checked(jni!(self, v1_2.NewByteArray, length))
    }

    /// `NewObjectArray`, of nulls.
    ///
    /// # Errors
    /// `INTERNAL`; the Java exception is cleared.
    pub fn new_object_array(&self, length: i32, class: jclass) -> Result<LocalRef<'_>> {
        let null = std::ptr::null_mut();
        self.checked(jni!(self, v1_2.NewObjectArray, length, class, null))
    }

    /// `GetJavaVM`.
    ///
    /// # Errors
    /// `INTERNAL` when the VM does not say.
    pub fn java_vm(&self) -> Result<*mut JavaVM> {
        let mut vm = std::ptr::null_mut();
        match jni!(self, v1_2.GetJavaVM, &mut vm) {
            jni_sys::JNI_OK if !vm.is_null() => Ok(vm),
            _ => Err(JvmtiError::INTERNAL),
        }
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

    /// As [`Self::local_frame`], for lists of the VM: of all threads or all classes.
    ///
    /// Room costs nothing until it is used, so this is the most that the VM grants
    /// (`MaxJNILocalCapacity`). With less than there are references, `-Xcheck:jni` prints a warning.
    pub fn large_local_frame(&self) -> LocalFrame {
        self.local_frame(1 << 16)
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

impl WeakRef {
    /// The raw reference.
    pub fn as_raw(self) -> jobject {
        self.0
    }

    /// A reference from what [`Self::as_raw`] returned.
    ///
    /// # Safety
    /// The reference was not deleted meanwhile.
    pub unsafe fn from_raw(reference: jobject) -> Self {
        Self(reference)
    }
}

impl GlobalRef {
    /// The raw reference.
    pub fn as_raw(self) -> jobject {
        self.0
    }
}

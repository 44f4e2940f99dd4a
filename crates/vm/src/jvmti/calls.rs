//! Classes, methods and fields through JNI. Calls that take ids are `unsafe`: JNI checks nothing.

use std::ffi::{CStr, c_char};
use std::ptr;

use jni_sys::{JNINativeMethod, JavaVM, jvalue};

use super::ids::{JFieldId, JMethodId};
use super::jni::{Jni, jni};
use super::redefine::NativeMethod;
use super::refs::{Class, LocalRef, Ref};
use super::thrown::Thrown;
use crate::{Fault, Release};

type Result<'a, T> = std::result::Result<T, Thrown<'a>>;

impl Jni {
    /// `FindClass`, through the loader of the current frame.
    ///
    /// # Errors
    /// When there is none.
    pub fn find_class(&self, name: &CStr) -> Result<'_, LocalRef<'_, Class>> {
        // SAFETY: the name is NUL-terminated, the result a new local reference to a class.
        unsafe { self.returned(jni!(self, v1_2.FindClass, name.as_ptr())) }
    }

    /// Finds a class of the boot loader by its name with dots, and does not initialize it, as `FindClass` would.
    ///
    /// # Errors
    /// The exception, if there is no such class.
    pub fn find_class_only(&self, name: &CStr) -> Result<'_, LocalRef<'_, Class>> {
        let class_class = self.find_class(c"java/lang/Class")?;
        let find = self.static_method_id(
            class_class.get(),
            c"forName",
            c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
        )?;
        let name = self.new_string(name)?;
        let arguments = [
            jvalue {
                l: name.get().as_raw(),
            },
            jvalue { z: false },
            jvalue {
                l: std::ptr::null_mut(),
            },
        ];
        // SAFETY: the method is a static one of this class, takes these, and returns a class.
        let found = unsafe { self.call_static_object(class_class.get(), find, &arguments) }?;
        Ok(found.into_class())
    }

    /// `NewStringUTF`. The text is modified UTF-8.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new_string(&self, text: &CStr) -> Result<'_, LocalRef<'_>> {
        // SAFETY: the text is NUL-terminated, the result a new local reference.
        unsafe { self.returned(jni!(self, v1_2.NewStringUTF, text.as_ptr())) }
    }

    /// `NewByteArray`.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new_byte_array(&self, length: i32) -> Result<'_, LocalRef<'_>> {
        // SAFETY: the call takes a number, the result is a new local reference.
        unsafe { self.returned(jni!(self, v1_2.NewByteArray, length)) }
    }

    /// `NewObjectArray`, of nulls.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new_object_array(&self, length: i32, class: Ref<'_, Class>) -> Result<'_, LocalRef<'_>> {
        let (class, null) = (class.as_raw(), ptr::null_mut());
        // SAFETY: the class is live, the result a new local reference.
        unsafe { self.returned(jni!(self, v1_2.NewObjectArray, length, class, null)) }
    }

    /// `GetMethodID`.
    ///
    /// # Errors
    /// When there is none.
    pub fn method_id(
        &self,
        class: Ref<'_, Class>,
        name: &CStr,
        descriptor: &CStr,
    ) -> Result<'_, JMethodId> {
        let (class, name, descriptor) = (class.as_raw(), name.as_ptr(), descriptor.as_ptr());
        // SAFETY: the class is live, the texts are NUL-terminated.
        let id = unsafe { jni!(self, v1_2.GetMethodID, class, name, descriptor) };
        // SAFETY: the VM gave it.
        self.outcome((!id.is_null()).then(|| unsafe { JMethodId::from_raw(id) }))
    }

    /// `GetStaticMethodID`.
    ///
    /// # Errors
    /// When there is none.
    pub fn static_method_id(
        &self,
        class: Ref<'_, Class>,
        name: &CStr,
        descriptor: &CStr,
    ) -> Result<'_, JMethodId> {
        let (class, name, descriptor) = (class.as_raw(), name.as_ptr(), descriptor.as_ptr());
        // SAFETY: the class is live, the texts are NUL-terminated.
        let id = unsafe { jni!(self, v1_2.GetStaticMethodID, class, name, descriptor) };
        // SAFETY: the VM gave it.
        self.outcome((!id.is_null()).then(|| unsafe { JMethodId::from_raw(id) }))
    }

    /// `GetFieldID`.
    ///
    /// # Errors
    /// When there is none.
    pub fn field_id(
        &self,
        class: Ref<'_, Class>,
        name: &CStr,
        descriptor: &CStr,
    ) -> Result<'_, JFieldId> {
        let (class, name, descriptor) = (class.as_raw(), name.as_ptr(), descriptor.as_ptr());
        // SAFETY: the class is live, the texts are NUL-terminated.
        let id = unsafe { jni!(self, v1_2.GetFieldID, class, name, descriptor) };
        self.outcome(JFieldId::new(id))
    }

    /// `NewObjectA`.
    ///
    /// # Errors
    /// The exception that the constructor throws.
    ///
    /// # Safety
    /// `constructor` is one of `class`, and the arguments are those of its descriptor.
    pub unsafe fn new_object(
        &self,
        class: Ref<'_, Class>,
        constructor: JMethodId,
        arguments: &[jvalue],
    ) -> Result<'_, LocalRef<'_>> {
        let (class, id, arguments) = (class.as_raw(), constructor.as_raw(), arguments.as_ptr());
        // SAFETY: by the caller's promise; the result is a new local reference.
        unsafe { self.returned(jni!(self, v1_2.NewObjectA, class, id, arguments)) }
    }

    /// `CallStaticObjectMethodA`.
    ///
    /// # Errors
    /// The exception that the method throws; returning null is an error too.
    ///
    /// # Safety
    /// `method` is a static one of `class` that returns an object, and the arguments are those of its
    /// descriptor.
    pub unsafe fn call_static_object(
        &self,
        class: Ref<'_, Class>,
        method: JMethodId,
        arguments: &[jvalue],
    ) -> Result<'_, LocalRef<'_>> {
        let (class, id, arguments) = (class.as_raw(), method.as_raw(), arguments.as_ptr());
        // SAFETY: by the caller's promise; the result is a new local reference.
        unsafe {
            self.returned(jni!(
                self,
                v1_2.CallStaticObjectMethodA,
                class,
                id,
                arguments
            ))
        }
    }

    /// `CallObjectMethodA`.
    ///
    /// # Errors
    /// The exception that the method throws; returning null is an error too.
    ///
    /// # Safety
    /// `method` is one of the object's class that returns an object, and the arguments are those of its
    /// descriptor.
    pub(crate) unsafe fn call_object(
        &self,
        object: Ref<'_>,
        method: JMethodId,
        arguments: &[jvalue],
    ) -> Result<'_, LocalRef<'_>> {
        let (object, id, arguments) = (object.as_raw(), method.as_raw(), arguments.as_ptr());
        // SAFETY: by the caller's promise; the result is a new local reference.
        unsafe { self.returned(jni!(self, v1_2.CallObjectMethodA, object, id, arguments)) }
    }

    /// `CallVoidMethodA`.
    ///
    /// # Errors
    /// The exception that the method throws.
    ///
    /// # Safety
    /// `method` is one of the object's class that returns nothing, and the arguments are those of its
    /// descriptor.
    pub unsafe fn call_void(
        &self,
        object: Ref<'_>,
        method: JMethodId,
        arguments: &[jvalue],
    ) -> Result<'_, ()> {
        let (object, id, arguments) = (object.as_raw(), method.as_raw(), arguments.as_ptr());
        // SAFETY: by the caller's promise.
        unsafe { jni!(self, v1_2.CallVoidMethodA, object, id, arguments) };
        self.outcome(Some(()))
    }

    /// `CallBooleanMethodA`.
    ///
    /// # Errors
    /// The exception that the method throws.
    ///
    /// # Safety
    /// `method` is one of the object's class that returns a boolean, and the arguments are those of its
    /// descriptor.
    pub unsafe fn call_boolean(
        &self,
        object: Ref<'_>,
        method: JMethodId,
        arguments: &[jvalue],
    ) -> Result<'_, bool> {
        let (object, id, arguments) = (object.as_raw(), method.as_raw(), arguments.as_ptr());
        // SAFETY: by the caller's promise.
        let result = unsafe { jni!(self, v1_2.CallBooleanMethodA, object, id, arguments) };
        self.outcome(Some(result))
    }

    /// Calls a static method without parameters and result.
    ///
    /// # Errors
    /// When there is none, or what it throws.
    pub fn call_static(&self, class: Ref<'_, Class>, method: &CStr) -> Result<'_, ()> {
        let id = self.static_method_id(class, method, c"()V")?;
        let (class, id) = (class.as_raw(), id.as_raw());
        // SAFETY: the method is a static one of this class and takes nothing.
        unsafe { jni!(self, v1_2.CallStaticVoidMethodA, class, id, ptr::null()) };
        self.outcome(Some(()))
    }

    /// `System.exit(0)`: the VM's orderly end. Does not return if it succeeds.
    ///
    /// # Errors
    /// The Java exception, such as that of a security manager.
    pub fn exit_vm(&self) -> Result<'_, ()> {
        let class = self.find_class(c"java/lang/System")?;
        let exit = self.static_method_id(class.get(), c"exit", c"(I)V")?;
        let (class, exit, status) = (class.get().as_raw(), exit.as_raw(), [jvalue { i: 0 }]);
        // SAFETY: the method is a static one of this class and takes an int.
        unsafe {
            jni!(
                self,
                v1_2.CallStaticVoidMethodA,
                class,
                exit,
                status.as_ptr()
            )
        };
        self.outcome(Some(()))
    }

    /// `GetLongField`.
    ///
    /// # Safety
    /// `field` is of type long, and the object's class has it.
    #[inline]
    pub unsafe fn long_field(&self, object: Ref<'_>, field: JFieldId) -> i64 {
        // SAFETY: by the caller's promise.
        unsafe { jni!(self, v1_2.GetLongField, object.as_raw(), field.as_raw()) }
    }

    /// `SetLongField`.
    ///
    /// # Safety
    /// `field` is of type long and not final, and the object's class has it.
    #[inline]
    pub unsafe fn set_long_field(&self, object: Ref<'_>, field: JFieldId, value: i64) {
        // SAFETY: by the caller's promise.
        unsafe {
            jni!(
                self,
                v1_2.SetLongField,
                object.as_raw(),
                field.as_raw(),
                value
            )
        };
    }

    /// `GetIntField`.
    ///
    /// # Safety
    /// `field` is of type int, and the object's class has it.
    pub unsafe fn int_field(&self, object: Ref<'_>, field: JFieldId) -> i32 {
        // SAFETY: by the caller's promise.
        unsafe { jni!(self, v1_2.GetIntField, object.as_raw(), field.as_raw()) }
    }

    /// `GetObjectField`; `None` for null.
    ///
    /// # Safety
    /// `field` holds a reference, and the object's class has it.
    pub unsafe fn object_field(&self, object: Ref<'_>, field: JFieldId) -> Option<LocalRef<'_>> {
        let (object, field) = (object.as_raw(), field.as_raw());
        // SAFETY: by the caller's promise; the result is a new local reference.
        unsafe { LocalRef::own(self, jni!(self, v1_2.GetObjectField, object, field)) }
    }

    /// Hands each element of an array to `body`, but for those that are null.
    ///
    /// # Safety
    /// `array` is an array of references.
    pub unsafe fn each_element(&self, array: Ref<'_>, mut body: impl FnMut(Ref<'_>)) {
        let array = array.as_raw();
        // SAFETY: an array, by the caller's promise.
        let length = unsafe { jni!(self, v1_2.GetArrayLength, array) };
        for index in 0..length {
            // SAFETY: an array of references, by the caller's promise, with more elements; the result is a new local reference.
            let element = unsafe {
                LocalRef::own(self, jni!(self, v1_2.GetObjectArrayElement, array, index))
            };
            if let Some(element) = element {
                body(LocalRef::<crate::Object>::get(&element));
            }
        }
    }

    /// `IsVirtualThread`; false where `release`, the VM's own, has no virtual threads.
    pub fn is_virtual_thread(&self, release: Release, thread: Ref<'_>) -> bool {
        // SAFETY: the table of this release has the function, and the reference is live.
        release.has_virtual_threads() && unsafe { jni!(self, v19.IsVirtualThread, thread.as_raw()) }
    }

    /// Defines a class of the boot loader.
    ///
    /// # Errors
    /// The VM's error about the class file.
    pub fn define_boot_class(&self, name: &CStr, bytes: &[u8]) -> Result<'_, LocalRef<'_, Class>> {
        // The VM refuses a class file without bytes.
        let bytes = match Fault::NoHookClass.is_wanted() {
            true => &[],
            false => bytes,
        };
        let (start, loader) = (bytes.as_ptr().cast(), ptr::null_mut());
        // A class file that is longer than an int tells is refused by the VM.
        let len = i32::try_from(bytes.len()).unwrap_or(0);
        // SAFETY: the name is NUL-terminated, the bytes are as many as said, null is the boot loader, and
        // the result is a new local reference to a class.
        unsafe {
            self.returned(jni!(
                self,
                v1_1.DefineClass,
                name.as_ptr(),
                loader,
                start,
                len
            ))
        }
    }

    /// `RegisterNatives`.
    ///
    /// # Errors
    /// The exception that the VM throws, for example for a missing method.
    ///
    /// # Safety
    /// Each function has the parameters that its descriptor says.
    pub unsafe fn register_natives(
        &self,
        class: Ref<'_, Class>,
        methods: &[NativeMethod],
    ) -> Result<'_, ()> {
        let methods: Vec<JNINativeMethod> = methods
            .iter()
            .map(|method| JNINativeMethod {
                name: method.name.as_ptr() as *mut c_char,
                signature: method.signature.as_ptr() as *mut c_char,
                fnPtr: method.function,
            })
            .collect();
        let count = i32::try_from(methods.len()).unwrap_or(i32::MAX);
        let (class, methods) = (class.as_raw(), methods.as_ptr());
        // SAFETY: the class is live, the array has as many entries, the functions are the caller's duty.
        let code = unsafe { jni!(self, v1_2.RegisterNatives, class, methods, count) };
        self.outcome((code == jni_sys::JNI_OK).then_some(()))
    }

    /// `GetJavaVM`.
    ///
    /// # Errors
    /// When the VM does not say.
    pub(crate) fn java_vm(&self) -> Result<'_, *mut JavaVM> {
        let mut vm = ptr::null_mut();
        // SAFETY: `vm` is a place for the result.
        let code = unsafe { jni!(self, v1_2.GetJavaVM, &mut vm) };
        self.outcome((code == jni_sys::JNI_OK && !vm.is_null()).then_some(vm))
    }
}

// Made by bindgen from the JDK's jvmti.h and jvmticmlr.h. Do not edit: run
// scripts/generate-bindings.

use jni_sys::*;

#[repr(C)]
#[derive(Copy, Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct __BindgenBitfieldUnit<Storage> {
    storage: Storage,
}
impl<Storage> __BindgenBitfieldUnit<Storage> {
    #[inline]
    pub const fn new(storage: Storage) -> Self {
        Self { storage }
    }
}
impl<Storage> __BindgenBitfieldUnit<Storage>
where
    Storage: AsRef<[u8]> + AsMut<[u8]>,
{
    #[inline]
    fn extract_bit(byte: u8, index: usize) -> bool {
        let bit_index = if cfg!(target_endian = "big") {
            7 - (index % 8)
        } else {
            index % 8
        };
        let mask = 1 << bit_index;
        byte & mask == mask
    }
    #[inline]
    pub fn get_bit(&self, index: usize) -> bool {
        debug_assert!(index / 8 < self.storage.as_ref().len());
        let byte_index = index / 8;
        let byte = self.storage.as_ref()[byte_index];
        Self::extract_bit(byte, index)
    }
    #[inline]
    pub unsafe fn raw_get_bit(this: *const Self, index: usize) -> bool {
        debug_assert!(index / 8 < core::mem::size_of::<Storage>());
        let byte_index = index / 8;
        let byte = unsafe {
            *(core::ptr::addr_of!((*this).storage) as *const u8)
                .offset(byte_index as isize)
        };
        Self::extract_bit(byte, index)
    }
    #[inline]
    fn change_bit(byte: u8, index: usize, val: bool) -> u8 {
        let bit_index = if cfg!(target_endian = "big") {
            7 - (index % 8)
        } else {
            index % 8
        };
        let mask = 1 << bit_index;
        if val { byte | mask } else { byte & !mask }
    }
    #[inline]
    pub fn set_bit(&mut self, index: usize, val: bool) {
        debug_assert!(index / 8 < self.storage.as_ref().len());
        let byte_index = index / 8;
        let byte = &mut self.storage.as_mut()[byte_index];
        *byte = Self::change_bit(*byte, index, val);
    }
    #[inline]
    pub unsafe fn raw_set_bit(this: *mut Self, index: usize, val: bool) {
        debug_assert!(index / 8 < core::mem::size_of::<Storage>());
        let byte_index = index / 8;
        let byte = unsafe {
            (core::ptr::addr_of_mut!((*this).storage) as *mut u8)
                .offset(byte_index as isize)
        };
        unsafe { *byte = Self::change_bit(*byte, index, val) };
    }
    #[inline]
    pub fn get(&self, bit_offset: usize, bit_width: u8) -> u64 {
        debug_assert!(bit_width <= 64);
        debug_assert!(bit_offset / 8 < self.storage.as_ref().len());
        debug_assert!(
            (bit_offset + (bit_width as usize)) / 8 <= self.storage.as_ref().len(),
        );
        let mut val = 0;
        for i in 0..(bit_width as usize) {
            if self.get_bit(i + bit_offset) {
                let index = if cfg!(target_endian = "big") {
                    bit_width as usize - 1 - i
                } else {
                    i
                };
                val |= 1 << index;
            }
        }
        val
    }
    #[inline]
    pub unsafe fn raw_get(this: *const Self, bit_offset: usize, bit_width: u8) -> u64 {
        debug_assert!(bit_width <= 64);
        debug_assert!(bit_offset / 8 < core::mem::size_of::<Storage>());
        debug_assert!(
            (bit_offset + (bit_width as usize)) / 8 <= core::mem::size_of::<Storage>(),
        );
        let mut val = 0;
        for i in 0..(bit_width as usize) {
            if unsafe { Self::raw_get_bit(this, i + bit_offset) } {
                let index = if cfg!(target_endian = "big") {
                    bit_width as usize - 1 - i
                } else {
                    i
                };
                val |= 1 << index;
            }
        }
        val
    }
    #[inline]
    pub fn set(&mut self, bit_offset: usize, bit_width: u8, val: u64) {
        debug_assert!(bit_width <= 64);
        debug_assert!(bit_offset / 8 < self.storage.as_ref().len());
        debug_assert!(
            (bit_offset + (bit_width as usize)) / 8 <= self.storage.as_ref().len(),
        );
        for i in 0..(bit_width as usize) {
            let mask = 1 << i;
            let val_bit_is_set = val & mask == mask;
            let index = if cfg!(target_endian = "big") {
                bit_width as usize - 1 - i
            } else {
                i
            };
            self.set_bit(index + bit_offset, val_bit_is_set);
        }
    }
    #[inline]
    pub unsafe fn raw_set(this: *mut Self, bit_offset: usize, bit_width: u8, val: u64) {
        debug_assert!(bit_width <= 64);
        debug_assert!(bit_offset / 8 < core::mem::size_of::<Storage>());
        debug_assert!(
            (bit_offset + (bit_width as usize)) / 8 <= core::mem::size_of::<Storage>(),
        );
        for i in 0..(bit_width as usize) {
            let mask = 1 << i;
            let val_bit_is_set = val & mask == mask;
            let index = if cfg!(target_endian = "big") {
                bit_width as usize - 1 - i
            } else {
                i
            };
            unsafe { Self::raw_set_bit(this, index + bit_offset, val_bit_is_set) };
        }
    }
}
#[repr(C)]
pub struct __BindgenUnionField<T>(::std::marker::PhantomData<T>);
impl<T> __BindgenUnionField<T> {
    #[inline]
    pub const fn new() -> Self {
        __BindgenUnionField(::std::marker::PhantomData)
    }
    #[inline]
    pub unsafe fn as_ref(&self) -> &T {
        ::std::mem::transmute(self)
    }
    #[inline]
    pub unsafe fn as_mut(&mut self) -> &mut T {
        ::std::mem::transmute(self)
    }
}
impl<T> ::std::default::Default for __BindgenUnionField<T> {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}
impl<T> ::std::clone::Clone for __BindgenUnionField<T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> ::std::marker::Copy for __BindgenUnionField<T> {}
impl<T> ::std::fmt::Debug for __BindgenUnionField<T> {
    fn fmt(&self, fmt: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
        fmt.write_str("__BindgenUnionField")
    }
}
impl<T> ::std::hash::Hash for __BindgenUnionField<T> {
    fn hash<H: ::std::hash::Hasher>(&self, _state: &mut H) {}
}
impl<T> ::std::cmp::PartialEq for __BindgenUnionField<T> {
    fn eq(&self, _other: &__BindgenUnionField<T>) -> bool {
        true
    }
}
impl<T> ::std::cmp::Eq for __BindgenUnionField<T> {}
pub type va_list = __builtin_va_list;
pub type jbooleanArray = jarray;
pub type jbyteArray = jarray;
pub type jcharArray = jarray;
pub type jshortArray = jarray;
pub type jintArray = jarray;
pub type jlongArray = jarray;
pub type jfloatArray = jarray;
pub type jdoubleArray = jarray;
pub const JNIInvalidRefType: _jobjectType = 0;
pub const JNILocalRefType: _jobjectType = 1;
pub const JNIGlobalRefType: _jobjectType = 2;
pub const JNIWeakGlobalRefType: _jobjectType = 3;
pub type _jobjectType = ::std::os::raw::c_uint;
pub use self::_jobjectType as jobjectRefType;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JNINativeMethod {
    pub name: *mut ::std::os::raw::c_char,
    pub signature: *mut ::std::os::raw::c_char,
    pub fnPtr: *mut ::std::os::raw::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of JNINativeMethod"][::std::mem::size_of::<JNINativeMethod>() - 24usize];
    ["Alignment of JNINativeMethod"][::std::mem::align_of::<JNINativeMethod>() - 8usize];
    [
        "Offset of field: JNINativeMethod::name",
    ][::std::mem::offset_of!(JNINativeMethod, name) - 0usize];
    [
        "Offset of field: JNINativeMethod::signature",
    ][::std::mem::offset_of!(JNINativeMethod, signature) - 8usize];
    [
        "Offset of field: JNINativeMethod::fnPtr",
    ][::std::mem::offset_of!(JNINativeMethod, fnPtr) - 16usize];
};
impl Default for JNINativeMethod {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JNIInvokeInterface_ {
    pub reserved0: *mut ::std::os::raw::c_void,
    pub reserved1: *mut ::std::os::raw::c_void,
    pub reserved2: *mut ::std::os::raw::c_void,
    pub DestroyJavaVM: ::std::option::Option<
        unsafe extern "C" fn(vm: *mut JavaVM) -> jint,
    >,
    pub AttachCurrentThread: ::std::option::Option<
        unsafe extern "C" fn(
            vm: *mut JavaVM,
            penv: *mut *mut ::std::os::raw::c_void,
            args: *mut ::std::os::raw::c_void,
        ) -> jint,
    >,
    pub DetachCurrentThread: ::std::option::Option<
        unsafe extern "C" fn(vm: *mut JavaVM) -> jint,
    >,
    pub GetEnv: ::std::option::Option<
        unsafe extern "C" fn(
            vm: *mut JavaVM,
            penv: *mut *mut ::std::os::raw::c_void,
            version: jint,
        ) -> jint,
    >,
    pub AttachCurrentThreadAsDaemon: ::std::option::Option<
        unsafe extern "C" fn(
            vm: *mut JavaVM,
            penv: *mut *mut ::std::os::raw::c_void,
            args: *mut ::std::os::raw::c_void,
        ) -> jint,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of JNIInvokeInterface_",
    ][::std::mem::size_of::<JNIInvokeInterface_>() - 64usize];
    [
        "Alignment of JNIInvokeInterface_",
    ][::std::mem::align_of::<JNIInvokeInterface_>() - 8usize];
    [
        "Offset of field: JNIInvokeInterface_::reserved0",
    ][::std::mem::offset_of!(JNIInvokeInterface_, reserved0) - 0usize];
    [
        "Offset of field: JNIInvokeInterface_::reserved1",
    ][::std::mem::offset_of!(JNIInvokeInterface_, reserved1) - 8usize];
    [
        "Offset of field: JNIInvokeInterface_::reserved2",
    ][::std::mem::offset_of!(JNIInvokeInterface_, reserved2) - 16usize];
    [
        "Offset of field: JNIInvokeInterface_::DestroyJavaVM",
    ][::std::mem::offset_of!(JNIInvokeInterface_, DestroyJavaVM) - 24usize];
    [
        "Offset of field: JNIInvokeInterface_::AttachCurrentThread",
    ][::std::mem::offset_of!(JNIInvokeInterface_, AttachCurrentThread) - 32usize];
    [
        "Offset of field: JNIInvokeInterface_::DetachCurrentThread",
    ][::std::mem::offset_of!(JNIInvokeInterface_, DetachCurrentThread) - 40usize];
    [
        "Offset of field: JNIInvokeInterface_::GetEnv",
    ][::std::mem::offset_of!(JNIInvokeInterface_, GetEnv) - 48usize];
    [
        "Offset of field: JNIInvokeInterface_::AttachCurrentThreadAsDaemon",
    ][::std::mem::offset_of!(JNIInvokeInterface_, AttachCurrentThreadAsDaemon)
        - 56usize];
};
impl Default for JNIInvokeInterface_ {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const JVMTI_VERSION_1: _bindgen_ty_1 = 805371904;
pub const JVMTI_VERSION_1_0: _bindgen_ty_1 = 805371904;
pub const JVMTI_VERSION_1_1: _bindgen_ty_1 = 805372160;
pub const JVMTI_VERSION_1_2: _bindgen_ty_1 = 805372416;
pub const JVMTI_VERSION_9: _bindgen_ty_1 = 805896192;
pub const JVMTI_VERSION_11: _bindgen_ty_1 = 806027264;
pub const JVMTI_VERSION_19: _bindgen_ty_1 = 806551552;
pub const JVMTI_VERSION_21: _bindgen_ty_1 = 806682624;
pub const JVMTI_VERSION: _bindgen_ty_1 = 806944768;
pub type _bindgen_ty_1 = ::std::os::raw::c_uint;
pub type jvmtiEnv = *const jvmtiInterface_1_;
pub type jthread = jobject;
pub type jthreadGroup = jobject;
pub type jlocation = jlong;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct _jrawMonitorID {
    _unused: [u8; 0],
}
pub type jrawMonitorID = *mut _jrawMonitorID;
pub type jniNativeInterface = JNINativeInterface_;
pub const JVMTI_THREAD_STATE_ALIVE: _bindgen_ty_2 = 1;
pub const JVMTI_THREAD_STATE_TERMINATED: _bindgen_ty_2 = 2;
pub const JVMTI_THREAD_STATE_RUNNABLE: _bindgen_ty_2 = 4;
pub const JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER: _bindgen_ty_2 = 1024;
pub const JVMTI_THREAD_STATE_WAITING: _bindgen_ty_2 = 128;
pub const JVMTI_THREAD_STATE_WAITING_INDEFINITELY: _bindgen_ty_2 = 16;
pub const JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT: _bindgen_ty_2 = 32;
pub const JVMTI_THREAD_STATE_SLEEPING: _bindgen_ty_2 = 64;
pub const JVMTI_THREAD_STATE_IN_OBJECT_WAIT: _bindgen_ty_2 = 256;
pub const JVMTI_THREAD_STATE_PARKED: _bindgen_ty_2 = 512;
pub const JVMTI_THREAD_STATE_SUSPENDED: _bindgen_ty_2 = 1048576;
pub const JVMTI_THREAD_STATE_INTERRUPTED: _bindgen_ty_2 = 2097152;
pub const JVMTI_THREAD_STATE_IN_NATIVE: _bindgen_ty_2 = 4194304;
pub const JVMTI_THREAD_STATE_VENDOR_1: _bindgen_ty_2 = 268435456;
pub const JVMTI_THREAD_STATE_VENDOR_2: _bindgen_ty_2 = 536870912;
pub const JVMTI_THREAD_STATE_VENDOR_3: _bindgen_ty_2 = 1073741824;
pub type _bindgen_ty_2 = ::std::os::raw::c_uint;
pub const JVMTI_JAVA_LANG_THREAD_STATE_MASK: _bindgen_ty_3 = 1207;
pub const JVMTI_JAVA_LANG_THREAD_STATE_NEW: _bindgen_ty_3 = 0;
pub const JVMTI_JAVA_LANG_THREAD_STATE_TERMINATED: _bindgen_ty_3 = 2;
pub const JVMTI_JAVA_LANG_THREAD_STATE_RUNNABLE: _bindgen_ty_3 = 5;
pub const JVMTI_JAVA_LANG_THREAD_STATE_BLOCKED: _bindgen_ty_3 = 1025;
pub const JVMTI_JAVA_LANG_THREAD_STATE_WAITING: _bindgen_ty_3 = 145;
pub const JVMTI_JAVA_LANG_THREAD_STATE_TIMED_WAITING: _bindgen_ty_3 = 161;
pub type _bindgen_ty_3 = ::std::os::raw::c_uint;
pub const JVMTI_THREAD_MIN_PRIORITY: _bindgen_ty_4 = 1;
pub const JVMTI_THREAD_NORM_PRIORITY: _bindgen_ty_4 = 5;
pub const JVMTI_THREAD_MAX_PRIORITY: _bindgen_ty_4 = 10;
pub type _bindgen_ty_4 = ::std::os::raw::c_uint;
pub const JVMTI_HEAP_FILTER_TAGGED: _bindgen_ty_5 = 4;
pub const JVMTI_HEAP_FILTER_UNTAGGED: _bindgen_ty_5 = 8;
pub const JVMTI_HEAP_FILTER_CLASS_TAGGED: _bindgen_ty_5 = 16;
pub const JVMTI_HEAP_FILTER_CLASS_UNTAGGED: _bindgen_ty_5 = 32;
pub type _bindgen_ty_5 = ::std::os::raw::c_uint;
pub const JVMTI_VISIT_OBJECTS: _bindgen_ty_6 = 256;
pub const JVMTI_VISIT_ABORT: _bindgen_ty_6 = 32768;
pub type _bindgen_ty_6 = ::std::os::raw::c_uint;
pub const JVMTI_HEAP_REFERENCE_CLASS: jvmtiHeapReferenceKind = 1;
pub const JVMTI_HEAP_REFERENCE_FIELD: jvmtiHeapReferenceKind = 2;
pub const JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT: jvmtiHeapReferenceKind = 3;
pub const JVMTI_HEAP_REFERENCE_CLASS_LOADER: jvmtiHeapReferenceKind = 4;
pub const JVMTI_HEAP_REFERENCE_SIGNERS: jvmtiHeapReferenceKind = 5;
pub const JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN: jvmtiHeapReferenceKind = 6;
pub const JVMTI_HEAP_REFERENCE_INTERFACE: jvmtiHeapReferenceKind = 7;
pub const JVMTI_HEAP_REFERENCE_STATIC_FIELD: jvmtiHeapReferenceKind = 8;
pub const JVMTI_HEAP_REFERENCE_CONSTANT_POOL: jvmtiHeapReferenceKind = 9;
pub const JVMTI_HEAP_REFERENCE_SUPERCLASS: jvmtiHeapReferenceKind = 10;
pub const JVMTI_HEAP_REFERENCE_JNI_GLOBAL: jvmtiHeapReferenceKind = 21;
pub const JVMTI_HEAP_REFERENCE_SYSTEM_CLASS: jvmtiHeapReferenceKind = 22;
pub const JVMTI_HEAP_REFERENCE_MONITOR: jvmtiHeapReferenceKind = 23;
pub const JVMTI_HEAP_REFERENCE_STACK_LOCAL: jvmtiHeapReferenceKind = 24;
pub const JVMTI_HEAP_REFERENCE_JNI_LOCAL: jvmtiHeapReferenceKind = 25;
pub const JVMTI_HEAP_REFERENCE_THREAD: jvmtiHeapReferenceKind = 26;
pub const JVMTI_HEAP_REFERENCE_OTHER: jvmtiHeapReferenceKind = 27;
pub type jvmtiHeapReferenceKind = ::std::os::raw::c_uint;
pub const JVMTI_PRIMITIVE_TYPE_BOOLEAN: jvmtiPrimitiveType = 90;
pub const JVMTI_PRIMITIVE_TYPE_BYTE: jvmtiPrimitiveType = 66;
pub const JVMTI_PRIMITIVE_TYPE_CHAR: jvmtiPrimitiveType = 67;
pub const JVMTI_PRIMITIVE_TYPE_SHORT: jvmtiPrimitiveType = 83;
pub const JVMTI_PRIMITIVE_TYPE_INT: jvmtiPrimitiveType = 73;
pub const JVMTI_PRIMITIVE_TYPE_LONG: jvmtiPrimitiveType = 74;
pub const JVMTI_PRIMITIVE_TYPE_FLOAT: jvmtiPrimitiveType = 70;
pub const JVMTI_PRIMITIVE_TYPE_DOUBLE: jvmtiPrimitiveType = 68;
pub type jvmtiPrimitiveType = ::std::os::raw::c_uint;
pub const JVMTI_HEAP_OBJECT_TAGGED: jvmtiHeapObjectFilter = 1;
pub const JVMTI_HEAP_OBJECT_UNTAGGED: jvmtiHeapObjectFilter = 2;
pub const JVMTI_HEAP_OBJECT_EITHER: jvmtiHeapObjectFilter = 3;
pub type jvmtiHeapObjectFilter = ::std::os::raw::c_uint;
pub const JVMTI_HEAP_ROOT_JNI_GLOBAL: jvmtiHeapRootKind = 1;
pub const JVMTI_HEAP_ROOT_SYSTEM_CLASS: jvmtiHeapRootKind = 2;
pub const JVMTI_HEAP_ROOT_MONITOR: jvmtiHeapRootKind = 3;
pub const JVMTI_HEAP_ROOT_STACK_LOCAL: jvmtiHeapRootKind = 4;
pub const JVMTI_HEAP_ROOT_JNI_LOCAL: jvmtiHeapRootKind = 5;
pub const JVMTI_HEAP_ROOT_THREAD: jvmtiHeapRootKind = 6;
pub const JVMTI_HEAP_ROOT_OTHER: jvmtiHeapRootKind = 7;
pub type jvmtiHeapRootKind = ::std::os::raw::c_uint;
pub const JVMTI_REFERENCE_CLASS: jvmtiObjectReferenceKind = 1;
pub const JVMTI_REFERENCE_FIELD: jvmtiObjectReferenceKind = 2;
pub const JVMTI_REFERENCE_ARRAY_ELEMENT: jvmtiObjectReferenceKind = 3;
pub const JVMTI_REFERENCE_CLASS_LOADER: jvmtiObjectReferenceKind = 4;
pub const JVMTI_REFERENCE_SIGNERS: jvmtiObjectReferenceKind = 5;
pub const JVMTI_REFERENCE_PROTECTION_DOMAIN: jvmtiObjectReferenceKind = 6;
pub const JVMTI_REFERENCE_INTERFACE: jvmtiObjectReferenceKind = 7;
pub const JVMTI_REFERENCE_STATIC_FIELD: jvmtiObjectReferenceKind = 8;
pub const JVMTI_REFERENCE_CONSTANT_POOL: jvmtiObjectReferenceKind = 9;
pub type jvmtiObjectReferenceKind = ::std::os::raw::c_uint;
pub const JVMTI_ITERATION_CONTINUE: jvmtiIterationControl = 1;
pub const JVMTI_ITERATION_IGNORE: jvmtiIterationControl = 2;
pub const JVMTI_ITERATION_ABORT: jvmtiIterationControl = 0;
pub type jvmtiIterationControl = ::std::os::raw::c_uint;
pub const JVMTI_CLASS_STATUS_VERIFIED: _bindgen_ty_7 = 1;
pub const JVMTI_CLASS_STATUS_PREPARED: _bindgen_ty_7 = 2;
pub const JVMTI_CLASS_STATUS_INITIALIZED: _bindgen_ty_7 = 4;
pub const JVMTI_CLASS_STATUS_ERROR: _bindgen_ty_7 = 8;
pub const JVMTI_CLASS_STATUS_ARRAY: _bindgen_ty_7 = 16;
pub const JVMTI_CLASS_STATUS_PRIMITIVE: _bindgen_ty_7 = 32;
pub type _bindgen_ty_7 = ::std::os::raw::c_uint;
pub const JVMTI_ENABLE: jvmtiEventMode = 1;
pub const JVMTI_DISABLE: jvmtiEventMode = 0;
pub type jvmtiEventMode = ::std::os::raw::c_uint;
pub const JVMTI_TYPE_JBYTE: jvmtiParamTypes = 101;
pub const JVMTI_TYPE_JCHAR: jvmtiParamTypes = 102;
pub const JVMTI_TYPE_JSHORT: jvmtiParamTypes = 103;
pub const JVMTI_TYPE_JINT: jvmtiParamTypes = 104;
pub const JVMTI_TYPE_JLONG: jvmtiParamTypes = 105;
pub const JVMTI_TYPE_JFLOAT: jvmtiParamTypes = 106;
pub const JVMTI_TYPE_JDOUBLE: jvmtiParamTypes = 107;
pub const JVMTI_TYPE_JBOOLEAN: jvmtiParamTypes = 108;
pub const JVMTI_TYPE_JOBJECT: jvmtiParamTypes = 109;
pub const JVMTI_TYPE_JTHREAD: jvmtiParamTypes = 110;
pub const JVMTI_TYPE_JCLASS: jvmtiParamTypes = 111;
pub const JVMTI_TYPE_JVALUE: jvmtiParamTypes = 112;
pub const JVMTI_TYPE_JFIELDID: jvmtiParamTypes = 113;
pub const JVMTI_TYPE_JMETHODID: jvmtiParamTypes = 114;
pub const JVMTI_TYPE_CCHAR: jvmtiParamTypes = 115;
pub const JVMTI_TYPE_CVOID: jvmtiParamTypes = 116;
pub const JVMTI_TYPE_JNIENV: jvmtiParamTypes = 117;
pub type jvmtiParamTypes = ::std::os::raw::c_uint;
pub const JVMTI_KIND_IN: jvmtiParamKind = 91;
pub const JVMTI_KIND_IN_PTR: jvmtiParamKind = 92;
pub const JVMTI_KIND_IN_BUF: jvmtiParamKind = 93;
pub const JVMTI_KIND_ALLOC_BUF: jvmtiParamKind = 94;
pub const JVMTI_KIND_ALLOC_ALLOC_BUF: jvmtiParamKind = 95;
pub const JVMTI_KIND_OUT: jvmtiParamKind = 96;
pub const JVMTI_KIND_OUT_BUF: jvmtiParamKind = 97;
pub type jvmtiParamKind = ::std::os::raw::c_uint;
pub const JVMTI_TIMER_USER_CPU: jvmtiTimerKind = 30;
pub const JVMTI_TIMER_TOTAL_CPU: jvmtiTimerKind = 31;
pub const JVMTI_TIMER_ELAPSED: jvmtiTimerKind = 32;
pub type jvmtiTimerKind = ::std::os::raw::c_uint;
pub const JVMTI_PHASE_ONLOAD: jvmtiPhase = 1;
pub const JVMTI_PHASE_PRIMORDIAL: jvmtiPhase = 2;
pub const JVMTI_PHASE_START: jvmtiPhase = 6;
pub const JVMTI_PHASE_LIVE: jvmtiPhase = 4;
pub const JVMTI_PHASE_DEAD: jvmtiPhase = 8;
pub type jvmtiPhase = ::std::os::raw::c_uint;
pub const JVMTI_VERSION_INTERFACE_JNI: _bindgen_ty_8 = 0;
pub const JVMTI_VERSION_INTERFACE_JVMTI: _bindgen_ty_8 = 805306368;
pub type _bindgen_ty_8 = ::std::os::raw::c_uint;
pub const JVMTI_VERSION_MASK_INTERFACE_TYPE: _bindgen_ty_9 = 1879048192;
pub const JVMTI_VERSION_MASK_MAJOR: _bindgen_ty_9 = 268369920;
pub const JVMTI_VERSION_MASK_MINOR: _bindgen_ty_9 = 65280;
pub const JVMTI_VERSION_MASK_MICRO: _bindgen_ty_9 = 255;
pub type _bindgen_ty_9 = ::std::os::raw::c_uint;
pub const JVMTI_VERSION_SHIFT_MAJOR: _bindgen_ty_10 = 16;
pub const JVMTI_VERSION_SHIFT_MINOR: _bindgen_ty_10 = 8;
pub const JVMTI_VERSION_SHIFT_MICRO: _bindgen_ty_10 = 0;
pub type _bindgen_ty_10 = ::std::os::raw::c_uint;
pub const JVMTI_VERBOSE_OTHER: jvmtiVerboseFlag = 0;
pub const JVMTI_VERBOSE_GC: jvmtiVerboseFlag = 1;
pub const JVMTI_VERBOSE_CLASS: jvmtiVerboseFlag = 2;
pub const JVMTI_VERBOSE_JNI: jvmtiVerboseFlag = 4;
pub type jvmtiVerboseFlag = ::std::os::raw::c_uint;
pub const JVMTI_JLOCATION_JVMBCI: jvmtiJlocationFormat = 1;
pub const JVMTI_JLOCATION_MACHINEPC: jvmtiJlocationFormat = 2;
pub const JVMTI_JLOCATION_OTHER: jvmtiJlocationFormat = 0;
pub type jvmtiJlocationFormat = ::std::os::raw::c_uint;
pub const JVMTI_RESOURCE_EXHAUSTED_OOM_ERROR: _bindgen_ty_11 = 1;
pub const JVMTI_RESOURCE_EXHAUSTED_JAVA_HEAP: _bindgen_ty_11 = 2;
pub const JVMTI_RESOURCE_EXHAUSTED_THREADS: _bindgen_ty_11 = 4;
pub type _bindgen_ty_11 = ::std::os::raw::c_uint;
pub const JVMTI_ERROR_NONE: jvmtiError = 0;
pub const JVMTI_ERROR_INVALID_THREAD: jvmtiError = 10;
pub const JVMTI_ERROR_INVALID_THREAD_GROUP: jvmtiError = 11;
pub const JVMTI_ERROR_INVALID_PRIORITY: jvmtiError = 12;
pub const JVMTI_ERROR_THREAD_NOT_SUSPENDED: jvmtiError = 13;
pub const JVMTI_ERROR_THREAD_SUSPENDED: jvmtiError = 14;
pub const JVMTI_ERROR_THREAD_NOT_ALIVE: jvmtiError = 15;
pub const JVMTI_ERROR_INVALID_OBJECT: jvmtiError = 20;
pub const JVMTI_ERROR_INVALID_CLASS: jvmtiError = 21;
pub const JVMTI_ERROR_CLASS_NOT_PREPARED: jvmtiError = 22;
pub const JVMTI_ERROR_INVALID_METHODID: jvmtiError = 23;
pub const JVMTI_ERROR_INVALID_LOCATION: jvmtiError = 24;
pub const JVMTI_ERROR_INVALID_FIELDID: jvmtiError = 25;
pub const JVMTI_ERROR_INVALID_MODULE: jvmtiError = 26;
pub const JVMTI_ERROR_NO_MORE_FRAMES: jvmtiError = 31;
pub const JVMTI_ERROR_OPAQUE_FRAME: jvmtiError = 32;
pub const JVMTI_ERROR_TYPE_MISMATCH: jvmtiError = 34;
pub const JVMTI_ERROR_INVALID_SLOT: jvmtiError = 35;
pub const JVMTI_ERROR_DUPLICATE: jvmtiError = 40;
pub const JVMTI_ERROR_NOT_FOUND: jvmtiError = 41;
pub const JVMTI_ERROR_INVALID_MONITOR: jvmtiError = 50;
pub const JVMTI_ERROR_NOT_MONITOR_OWNER: jvmtiError = 51;
pub const JVMTI_ERROR_INTERRUPT: jvmtiError = 52;
pub const JVMTI_ERROR_INVALID_CLASS_FORMAT: jvmtiError = 60;
pub const JVMTI_ERROR_CIRCULAR_CLASS_DEFINITION: jvmtiError = 61;
pub const JVMTI_ERROR_FAILS_VERIFICATION: jvmtiError = 62;
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_ADDED: jvmtiError = 63;
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED: jvmtiError = 64;
pub const JVMTI_ERROR_INVALID_TYPESTATE: jvmtiError = 65;
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED: jvmtiError = 66;
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_DELETED: jvmtiError = 67;
pub const JVMTI_ERROR_UNSUPPORTED_VERSION: jvmtiError = 68;
pub const JVMTI_ERROR_NAMES_DONT_MATCH: jvmtiError = 69;
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED: jvmtiError = 70;
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED: jvmtiError = 71;
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED: jvmtiError = 72;
pub const JVMTI_ERROR_UNSUPPORTED_OPERATION: jvmtiError = 73;
pub const JVMTI_ERROR_UNMODIFIABLE_CLASS: jvmtiError = 79;
pub const JVMTI_ERROR_UNMODIFIABLE_MODULE: jvmtiError = 80;
pub const JVMTI_ERROR_NOT_AVAILABLE: jvmtiError = 98;
pub const JVMTI_ERROR_MUST_POSSESS_CAPABILITY: jvmtiError = 99;
pub const JVMTI_ERROR_NULL_POINTER: jvmtiError = 100;
pub const JVMTI_ERROR_ABSENT_INFORMATION: jvmtiError = 101;
pub const JVMTI_ERROR_INVALID_EVENT_TYPE: jvmtiError = 102;
pub const JVMTI_ERROR_ILLEGAL_ARGUMENT: jvmtiError = 103;
pub const JVMTI_ERROR_NATIVE_METHOD: jvmtiError = 104;
pub const JVMTI_ERROR_CLASS_LOADER_UNSUPPORTED: jvmtiError = 106;
pub const JVMTI_ERROR_OUT_OF_MEMORY: jvmtiError = 110;
pub const JVMTI_ERROR_ACCESS_DENIED: jvmtiError = 111;
pub const JVMTI_ERROR_WRONG_PHASE: jvmtiError = 112;
pub const JVMTI_ERROR_INTERNAL: jvmtiError = 113;
pub const JVMTI_ERROR_UNATTACHED_THREAD: jvmtiError = 115;
pub const JVMTI_ERROR_INVALID_ENVIRONMENT: jvmtiError = 116;
pub const JVMTI_ERROR_MAX: jvmtiError = 116;
pub type jvmtiError = ::std::os::raw::c_uint;
pub const JVMTI_MIN_EVENT_TYPE_VAL: jvmtiEvent = 50;
pub const JVMTI_EVENT_VM_INIT: jvmtiEvent = 50;
pub const JVMTI_EVENT_VM_DEATH: jvmtiEvent = 51;
pub const JVMTI_EVENT_THREAD_START: jvmtiEvent = 52;
pub const JVMTI_EVENT_THREAD_END: jvmtiEvent = 53;
pub const JVMTI_EVENT_CLASS_FILE_LOAD_HOOK: jvmtiEvent = 54;
pub const JVMTI_EVENT_CLASS_LOAD: jvmtiEvent = 55;
pub const JVMTI_EVENT_CLASS_PREPARE: jvmtiEvent = 56;
pub const JVMTI_EVENT_VM_START: jvmtiEvent = 57;
pub const JVMTI_EVENT_EXCEPTION: jvmtiEvent = 58;
pub const JVMTI_EVENT_EXCEPTION_CATCH: jvmtiEvent = 59;
pub const JVMTI_EVENT_SINGLE_STEP: jvmtiEvent = 60;
pub const JVMTI_EVENT_FRAME_POP: jvmtiEvent = 61;
pub const JVMTI_EVENT_BREAKPOINT: jvmtiEvent = 62;
pub const JVMTI_EVENT_FIELD_ACCESS: jvmtiEvent = 63;
pub const JVMTI_EVENT_FIELD_MODIFICATION: jvmtiEvent = 64;
pub const JVMTI_EVENT_METHOD_ENTRY: jvmtiEvent = 65;
pub const JVMTI_EVENT_METHOD_EXIT: jvmtiEvent = 66;
pub const JVMTI_EVENT_NATIVE_METHOD_BIND: jvmtiEvent = 67;
pub const JVMTI_EVENT_COMPILED_METHOD_LOAD: jvmtiEvent = 68;
pub const JVMTI_EVENT_COMPILED_METHOD_UNLOAD: jvmtiEvent = 69;
pub const JVMTI_EVENT_DYNAMIC_CODE_GENERATED: jvmtiEvent = 70;
pub const JVMTI_EVENT_DATA_DUMP_REQUEST: jvmtiEvent = 71;
pub const JVMTI_EVENT_MONITOR_WAIT: jvmtiEvent = 73;
pub const JVMTI_EVENT_MONITOR_WAITED: jvmtiEvent = 74;
pub const JVMTI_EVENT_MONITOR_CONTENDED_ENTER: jvmtiEvent = 75;
pub const JVMTI_EVENT_MONITOR_CONTENDED_ENTERED: jvmtiEvent = 76;
pub const JVMTI_EVENT_RESOURCE_EXHAUSTED: jvmtiEvent = 80;
pub const JVMTI_EVENT_GARBAGE_COLLECTION_START: jvmtiEvent = 81;
pub const JVMTI_EVENT_GARBAGE_COLLECTION_FINISH: jvmtiEvent = 82;
pub const JVMTI_EVENT_OBJECT_FREE: jvmtiEvent = 83;
pub const JVMTI_EVENT_VM_OBJECT_ALLOC: jvmtiEvent = 84;
pub const JVMTI_EVENT_SAMPLED_OBJECT_ALLOC: jvmtiEvent = 86;
pub const JVMTI_EVENT_VIRTUAL_THREAD_START: jvmtiEvent = 87;
pub const JVMTI_EVENT_VIRTUAL_THREAD_END: jvmtiEvent = 88;
pub const JVMTI_MAX_EVENT_TYPE_VAL: jvmtiEvent = 88;
pub type jvmtiEvent = ::std::os::raw::c_uint;
pub type jvmtiStartFunction = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        arg: *mut ::std::os::raw::c_void,
    ),
>;
pub type jvmtiHeapIterationCallback = ::std::option::Option<
    unsafe extern "C" fn(
        class_tag: jlong,
        size: jlong,
        tag_ptr: *mut jlong,
        length: jint,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jint,
>;
pub type jvmtiHeapReferenceCallback = ::std::option::Option<
    unsafe extern "C" fn(
        reference_kind: jvmtiHeapReferenceKind,
        reference_info: *const jvmtiHeapReferenceInfo,
        class_tag: jlong,
        referrer_class_tag: jlong,
        size: jlong,
        tag_ptr: *mut jlong,
        referrer_tag_ptr: *mut jlong,
        length: jint,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jint,
>;
pub type jvmtiPrimitiveFieldCallback = ::std::option::Option<
    unsafe extern "C" fn(
        kind: jvmtiHeapReferenceKind,
        info: *const jvmtiHeapReferenceInfo,
        object_class_tag: jlong,
        object_tag_ptr: *mut jlong,
        value: jvalue,
        value_type: jvmtiPrimitiveType,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jint,
>;
pub type jvmtiArrayPrimitiveValueCallback = ::std::option::Option<
    unsafe extern "C" fn(
        class_tag: jlong,
        size: jlong,
        tag_ptr: *mut jlong,
        element_count: jint,
        element_type: jvmtiPrimitiveType,
        elements: *const ::std::os::raw::c_void,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jint,
>;
pub type jvmtiStringPrimitiveValueCallback = ::std::option::Option<
    unsafe extern "C" fn(
        class_tag: jlong,
        size: jlong,
        tag_ptr: *mut jlong,
        value: *const jchar,
        value_length: jint,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jint,
>;
pub type jvmtiReservedCallback = ::std::option::Option<unsafe extern "C" fn() -> jint>;
pub type jvmtiHeapObjectCallback = ::std::option::Option<
    unsafe extern "C" fn(
        class_tag: jlong,
        size: jlong,
        tag_ptr: *mut jlong,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jvmtiIterationControl,
>;
pub type jvmtiHeapRootCallback = ::std::option::Option<
    unsafe extern "C" fn(
        root_kind: jvmtiHeapRootKind,
        class_tag: jlong,
        size: jlong,
        tag_ptr: *mut jlong,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jvmtiIterationControl,
>;
pub type jvmtiStackReferenceCallback = ::std::option::Option<
    unsafe extern "C" fn(
        root_kind: jvmtiHeapRootKind,
        class_tag: jlong,
        size: jlong,
        tag_ptr: *mut jlong,
        thread_tag: jlong,
        depth: jint,
        method: jmethodID,
        slot: jint,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jvmtiIterationControl,
>;
pub type jvmtiObjectReferenceCallback = ::std::option::Option<
    unsafe extern "C" fn(
        reference_kind: jvmtiObjectReferenceKind,
        class_tag: jlong,
        size: jlong,
        tag_ptr: *mut jlong,
        referrer_tag: jlong,
        referrer_index: jint,
        user_data: *mut ::std::os::raw::c_void,
    ) -> jvmtiIterationControl,
>;
pub type jvmtiExtensionFunction = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, ...) -> jvmtiError,
>;
pub type jvmtiExtensionEvent = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, ...),
>;
#[repr(C)]
pub struct jvmtiThreadInfo {
    pub name: *mut ::std::os::raw::c_char,
    pub priority: jint,
    pub is_daemon: jboolean,
    pub thread_group: jthreadGroup,
    pub context_class_loader: jobject,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of jvmtiThreadInfo"][::std::mem::size_of::<jvmtiThreadInfo>() - 32usize];
    ["Alignment of jvmtiThreadInfo"][::std::mem::align_of::<jvmtiThreadInfo>() - 8usize];
    [
        "Offset of field: jvmtiThreadInfo::name",
    ][::std::mem::offset_of!(jvmtiThreadInfo, name) - 0usize];
    [
        "Offset of field: jvmtiThreadInfo::priority",
    ][::std::mem::offset_of!(jvmtiThreadInfo, priority) - 8usize];
    [
        "Offset of field: jvmtiThreadInfo::is_daemon",
    ][::std::mem::offset_of!(jvmtiThreadInfo, is_daemon) - 12usize];
    [
        "Offset of field: jvmtiThreadInfo::thread_group",
    ][::std::mem::offset_of!(jvmtiThreadInfo, thread_group) - 16usize];
    [
        "Offset of field: jvmtiThreadInfo::context_class_loader",
    ][::std::mem::offset_of!(jvmtiThreadInfo, context_class_loader) - 24usize];
};
impl Default for jvmtiThreadInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiMonitorStackDepthInfo {
    pub monitor: jobject,
    pub stack_depth: jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiMonitorStackDepthInfo",
    ][::std::mem::size_of::<jvmtiMonitorStackDepthInfo>() - 16usize];
    [
        "Alignment of jvmtiMonitorStackDepthInfo",
    ][::std::mem::align_of::<jvmtiMonitorStackDepthInfo>() - 8usize];
    [
        "Offset of field: jvmtiMonitorStackDepthInfo::monitor",
    ][::std::mem::offset_of!(jvmtiMonitorStackDepthInfo, monitor) - 0usize];
    [
        "Offset of field: jvmtiMonitorStackDepthInfo::stack_depth",
    ][::std::mem::offset_of!(jvmtiMonitorStackDepthInfo, stack_depth) - 8usize];
};
impl Default for jvmtiMonitorStackDepthInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiThreadGroupInfo {
    pub parent: jthreadGroup,
    pub name: *mut ::std::os::raw::c_char,
    pub max_priority: jint,
    pub is_daemon: jboolean,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiThreadGroupInfo",
    ][::std::mem::size_of::<jvmtiThreadGroupInfo>() - 24usize];
    [
        "Alignment of jvmtiThreadGroupInfo",
    ][::std::mem::align_of::<jvmtiThreadGroupInfo>() - 8usize];
    [
        "Offset of field: jvmtiThreadGroupInfo::parent",
    ][::std::mem::offset_of!(jvmtiThreadGroupInfo, parent) - 0usize];
    [
        "Offset of field: jvmtiThreadGroupInfo::name",
    ][::std::mem::offset_of!(jvmtiThreadGroupInfo, name) - 8usize];
    [
        "Offset of field: jvmtiThreadGroupInfo::max_priority",
    ][::std::mem::offset_of!(jvmtiThreadGroupInfo, max_priority) - 16usize];
    [
        "Offset of field: jvmtiThreadGroupInfo::is_daemon",
    ][::std::mem::offset_of!(jvmtiThreadGroupInfo, is_daemon) - 20usize];
};
impl Default for jvmtiThreadGroupInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiFrameInfo {
    pub method: jmethodID,
    pub location: jlocation,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of jvmtiFrameInfo"][::std::mem::size_of::<jvmtiFrameInfo>() - 16usize];
    ["Alignment of jvmtiFrameInfo"][::std::mem::align_of::<jvmtiFrameInfo>() - 8usize];
    [
        "Offset of field: jvmtiFrameInfo::method",
    ][::std::mem::offset_of!(jvmtiFrameInfo, method) - 0usize];
    [
        "Offset of field: jvmtiFrameInfo::location",
    ][::std::mem::offset_of!(jvmtiFrameInfo, location) - 8usize];
};
impl Default for jvmtiFrameInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiStackInfo {
    pub thread: jthread,
    pub state: jint,
    pub frame_buffer: *mut jvmtiFrameInfo,
    pub frame_count: jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of jvmtiStackInfo"][::std::mem::size_of::<jvmtiStackInfo>() - 32usize];
    ["Alignment of jvmtiStackInfo"][::std::mem::align_of::<jvmtiStackInfo>() - 8usize];
    [
        "Offset of field: jvmtiStackInfo::thread",
    ][::std::mem::offset_of!(jvmtiStackInfo, thread) - 0usize];
    [
        "Offset of field: jvmtiStackInfo::state",
    ][::std::mem::offset_of!(jvmtiStackInfo, state) - 8usize];
    [
        "Offset of field: jvmtiStackInfo::frame_buffer",
    ][::std::mem::offset_of!(jvmtiStackInfo, frame_buffer) - 16usize];
    [
        "Offset of field: jvmtiStackInfo::frame_count",
    ][::std::mem::offset_of!(jvmtiStackInfo, frame_count) - 24usize];
};
impl Default for jvmtiStackInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiHeapReferenceInfoField {
    pub index: jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiHeapReferenceInfoField",
    ][::std::mem::size_of::<jvmtiHeapReferenceInfoField>() - 4usize];
    [
        "Alignment of jvmtiHeapReferenceInfoField",
    ][::std::mem::align_of::<jvmtiHeapReferenceInfoField>() - 4usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoField::index",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoField, index) - 0usize];
};
impl Default for jvmtiHeapReferenceInfoField {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiHeapReferenceInfoArray {
    pub index: jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiHeapReferenceInfoArray",
    ][::std::mem::size_of::<jvmtiHeapReferenceInfoArray>() - 4usize];
    [
        "Alignment of jvmtiHeapReferenceInfoArray",
    ][::std::mem::align_of::<jvmtiHeapReferenceInfoArray>() - 4usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoArray::index",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoArray, index) - 0usize];
};
impl Default for jvmtiHeapReferenceInfoArray {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiHeapReferenceInfoConstantPool {
    pub index: jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiHeapReferenceInfoConstantPool",
    ][::std::mem::size_of::<jvmtiHeapReferenceInfoConstantPool>() - 4usize];
    [
        "Alignment of jvmtiHeapReferenceInfoConstantPool",
    ][::std::mem::align_of::<jvmtiHeapReferenceInfoConstantPool>() - 4usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoConstantPool::index",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoConstantPool, index) - 0usize];
};
impl Default for jvmtiHeapReferenceInfoConstantPool {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiHeapReferenceInfoStackLocal {
    pub thread_tag: jlong,
    pub thread_id: jlong,
    pub depth: jint,
    pub method: jmethodID,
    pub location: jlocation,
    pub slot: jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiHeapReferenceInfoStackLocal",
    ][::std::mem::size_of::<jvmtiHeapReferenceInfoStackLocal>() - 48usize];
    [
        "Alignment of jvmtiHeapReferenceInfoStackLocal",
    ][::std::mem::align_of::<jvmtiHeapReferenceInfoStackLocal>() - 8usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoStackLocal::thread_tag",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoStackLocal, thread_tag) - 0usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoStackLocal::thread_id",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoStackLocal, thread_id) - 8usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoStackLocal::depth",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoStackLocal, depth) - 16usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoStackLocal::method",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoStackLocal, method) - 24usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoStackLocal::location",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoStackLocal, location) - 32usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoStackLocal::slot",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoStackLocal, slot) - 40usize];
};
impl Default for jvmtiHeapReferenceInfoStackLocal {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiHeapReferenceInfoJniLocal {
    pub thread_tag: jlong,
    pub thread_id: jlong,
    pub depth: jint,
    pub method: jmethodID,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiHeapReferenceInfoJniLocal",
    ][::std::mem::size_of::<jvmtiHeapReferenceInfoJniLocal>() - 32usize];
    [
        "Alignment of jvmtiHeapReferenceInfoJniLocal",
    ][::std::mem::align_of::<jvmtiHeapReferenceInfoJniLocal>() - 8usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoJniLocal::thread_tag",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoJniLocal, thread_tag) - 0usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoJniLocal::thread_id",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoJniLocal, thread_id) - 8usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoJniLocal::depth",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoJniLocal, depth) - 16usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoJniLocal::method",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoJniLocal, method) - 24usize];
};
impl Default for jvmtiHeapReferenceInfoJniLocal {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiHeapReferenceInfoReserved {
    pub reserved1: jlong,
    pub reserved2: jlong,
    pub reserved3: jlong,
    pub reserved4: jlong,
    pub reserved5: jlong,
    pub reserved6: jlong,
    pub reserved7: jlong,
    pub reserved8: jlong,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiHeapReferenceInfoReserved",
    ][::std::mem::size_of::<jvmtiHeapReferenceInfoReserved>() - 64usize];
    [
        "Alignment of jvmtiHeapReferenceInfoReserved",
    ][::std::mem::align_of::<jvmtiHeapReferenceInfoReserved>() - 8usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoReserved::reserved1",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoReserved, reserved1) - 0usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoReserved::reserved2",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoReserved, reserved2) - 8usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoReserved::reserved3",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoReserved, reserved3) - 16usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoReserved::reserved4",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoReserved, reserved4) - 24usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoReserved::reserved5",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoReserved, reserved5) - 32usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoReserved::reserved6",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoReserved, reserved6) - 40usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoReserved::reserved7",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoReserved, reserved7) - 48usize];
    [
        "Offset of field: jvmtiHeapReferenceInfoReserved::reserved8",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfoReserved, reserved8) - 56usize];
};
impl Default for jvmtiHeapReferenceInfoReserved {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiHeapReferenceInfo {
    pub field: __BindgenUnionField<jvmtiHeapReferenceInfoField>,
    pub array: __BindgenUnionField<jvmtiHeapReferenceInfoArray>,
    pub constant_pool: __BindgenUnionField<jvmtiHeapReferenceInfoConstantPool>,
    pub stack_local: __BindgenUnionField<jvmtiHeapReferenceInfoStackLocal>,
    pub jni_local: __BindgenUnionField<jvmtiHeapReferenceInfoJniLocal>,
    pub other: __BindgenUnionField<jvmtiHeapReferenceInfoReserved>,
    pub bindgen_union_field: [u64; 8usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiHeapReferenceInfo",
    ][::std::mem::size_of::<jvmtiHeapReferenceInfo>() - 64usize];
    [
        "Alignment of jvmtiHeapReferenceInfo",
    ][::std::mem::align_of::<jvmtiHeapReferenceInfo>() - 8usize];
    [
        "Offset of field: jvmtiHeapReferenceInfo::field",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfo, field) - 0usize];
    [
        "Offset of field: jvmtiHeapReferenceInfo::array",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfo, array) - 0usize];
    [
        "Offset of field: jvmtiHeapReferenceInfo::constant_pool",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfo, constant_pool) - 0usize];
    [
        "Offset of field: jvmtiHeapReferenceInfo::stack_local",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfo, stack_local) - 0usize];
    [
        "Offset of field: jvmtiHeapReferenceInfo::jni_local",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfo, jni_local) - 0usize];
    [
        "Offset of field: jvmtiHeapReferenceInfo::other",
    ][::std::mem::offset_of!(jvmtiHeapReferenceInfo, other) - 0usize];
};
impl Default for jvmtiHeapReferenceInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct jvmtiHeapCallbacks {
    pub heap_iteration_callback: jvmtiHeapIterationCallback,
    pub heap_reference_callback: jvmtiHeapReferenceCallback,
    pub primitive_field_callback: jvmtiPrimitiveFieldCallback,
    pub array_primitive_value_callback: jvmtiArrayPrimitiveValueCallback,
    pub string_primitive_value_callback: jvmtiStringPrimitiveValueCallback,
    pub reserved5: jvmtiReservedCallback,
    pub reserved6: jvmtiReservedCallback,
    pub reserved7: jvmtiReservedCallback,
    pub reserved8: jvmtiReservedCallback,
    pub reserved9: jvmtiReservedCallback,
    pub reserved10: jvmtiReservedCallback,
    pub reserved11: jvmtiReservedCallback,
    pub reserved12: jvmtiReservedCallback,
    pub reserved13: jvmtiReservedCallback,
    pub reserved14: jvmtiReservedCallback,
    pub reserved15: jvmtiReservedCallback,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiHeapCallbacks",
    ][::std::mem::size_of::<jvmtiHeapCallbacks>() - 128usize];
    [
        "Alignment of jvmtiHeapCallbacks",
    ][::std::mem::align_of::<jvmtiHeapCallbacks>() - 8usize];
    [
        "Offset of field: jvmtiHeapCallbacks::heap_iteration_callback",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, heap_iteration_callback) - 0usize];
    [
        "Offset of field: jvmtiHeapCallbacks::heap_reference_callback",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, heap_reference_callback) - 8usize];
    [
        "Offset of field: jvmtiHeapCallbacks::primitive_field_callback",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, primitive_field_callback) - 16usize];
    [
        "Offset of field: jvmtiHeapCallbacks::array_primitive_value_callback",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, array_primitive_value_callback)
        - 24usize];
    [
        "Offset of field: jvmtiHeapCallbacks::string_primitive_value_callback",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, string_primitive_value_callback)
        - 32usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved5",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved5) - 40usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved6",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved6) - 48usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved7",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved7) - 56usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved8",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved8) - 64usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved9",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved9) - 72usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved10",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved10) - 80usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved11",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved11) - 88usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved12",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved12) - 96usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved13",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved13) - 104usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved14",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved14) - 112usize];
    [
        "Offset of field: jvmtiHeapCallbacks::reserved15",
    ][::std::mem::offset_of!(jvmtiHeapCallbacks, reserved15) - 120usize];
};
#[repr(C)]
pub struct jvmtiClassDefinition {
    pub klass: jclass,
    pub class_byte_count: jint,
    pub class_bytes: *const ::std::os::raw::c_uchar,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiClassDefinition",
    ][::std::mem::size_of::<jvmtiClassDefinition>() - 24usize];
    [
        "Alignment of jvmtiClassDefinition",
    ][::std::mem::align_of::<jvmtiClassDefinition>() - 8usize];
    [
        "Offset of field: jvmtiClassDefinition::klass",
    ][::std::mem::offset_of!(jvmtiClassDefinition, klass) - 0usize];
    [
        "Offset of field: jvmtiClassDefinition::class_byte_count",
    ][::std::mem::offset_of!(jvmtiClassDefinition, class_byte_count) - 8usize];
    [
        "Offset of field: jvmtiClassDefinition::class_bytes",
    ][::std::mem::offset_of!(jvmtiClassDefinition, class_bytes) - 16usize];
};
impl Default for jvmtiClassDefinition {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiMonitorUsage {
    pub owner: jthread,
    pub entry_count: jint,
    pub waiter_count: jint,
    pub waiters: *mut jthread,
    pub notify_waiter_count: jint,
    pub notify_waiters: *mut jthread,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of jvmtiMonitorUsage"][::std::mem::size_of::<jvmtiMonitorUsage>() - 40usize];
    [
        "Alignment of jvmtiMonitorUsage",
    ][::std::mem::align_of::<jvmtiMonitorUsage>() - 8usize];
    [
        "Offset of field: jvmtiMonitorUsage::owner",
    ][::std::mem::offset_of!(jvmtiMonitorUsage, owner) - 0usize];
    [
        "Offset of field: jvmtiMonitorUsage::entry_count",
    ][::std::mem::offset_of!(jvmtiMonitorUsage, entry_count) - 8usize];
    [
        "Offset of field: jvmtiMonitorUsage::waiter_count",
    ][::std::mem::offset_of!(jvmtiMonitorUsage, waiter_count) - 12usize];
    [
        "Offset of field: jvmtiMonitorUsage::waiters",
    ][::std::mem::offset_of!(jvmtiMonitorUsage, waiters) - 16usize];
    [
        "Offset of field: jvmtiMonitorUsage::notify_waiter_count",
    ][::std::mem::offset_of!(jvmtiMonitorUsage, notify_waiter_count) - 24usize];
    [
        "Offset of field: jvmtiMonitorUsage::notify_waiters",
    ][::std::mem::offset_of!(jvmtiMonitorUsage, notify_waiters) - 32usize];
};
impl Default for jvmtiMonitorUsage {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiLineNumberEntry {
    pub start_location: jlocation,
    pub line_number: jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiLineNumberEntry",
    ][::std::mem::size_of::<jvmtiLineNumberEntry>() - 16usize];
    [
        "Alignment of jvmtiLineNumberEntry",
    ][::std::mem::align_of::<jvmtiLineNumberEntry>() - 8usize];
    [
        "Offset of field: jvmtiLineNumberEntry::start_location",
    ][::std::mem::offset_of!(jvmtiLineNumberEntry, start_location) - 0usize];
    [
        "Offset of field: jvmtiLineNumberEntry::line_number",
    ][::std::mem::offset_of!(jvmtiLineNumberEntry, line_number) - 8usize];
};
impl Default for jvmtiLineNumberEntry {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiLocalVariableEntry {
    pub start_location: jlocation,
    pub length: jint,
    pub name: *mut ::std::os::raw::c_char,
    pub signature: *mut ::std::os::raw::c_char,
    pub generic_signature: *mut ::std::os::raw::c_char,
    pub slot: jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiLocalVariableEntry",
    ][::std::mem::size_of::<jvmtiLocalVariableEntry>() - 48usize];
    [
        "Alignment of jvmtiLocalVariableEntry",
    ][::std::mem::align_of::<jvmtiLocalVariableEntry>() - 8usize];
    [
        "Offset of field: jvmtiLocalVariableEntry::start_location",
    ][::std::mem::offset_of!(jvmtiLocalVariableEntry, start_location) - 0usize];
    [
        "Offset of field: jvmtiLocalVariableEntry::length",
    ][::std::mem::offset_of!(jvmtiLocalVariableEntry, length) - 8usize];
    [
        "Offset of field: jvmtiLocalVariableEntry::name",
    ][::std::mem::offset_of!(jvmtiLocalVariableEntry, name) - 16usize];
    [
        "Offset of field: jvmtiLocalVariableEntry::signature",
    ][::std::mem::offset_of!(jvmtiLocalVariableEntry, signature) - 24usize];
    [
        "Offset of field: jvmtiLocalVariableEntry::generic_signature",
    ][::std::mem::offset_of!(jvmtiLocalVariableEntry, generic_signature) - 32usize];
    [
        "Offset of field: jvmtiLocalVariableEntry::slot",
    ][::std::mem::offset_of!(jvmtiLocalVariableEntry, slot) - 40usize];
};
impl Default for jvmtiLocalVariableEntry {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiParamInfo {
    pub name: *mut ::std::os::raw::c_char,
    pub kind: jvmtiParamKind,
    pub base_type: jvmtiParamTypes,
    pub null_ok: jboolean,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of jvmtiParamInfo"][::std::mem::size_of::<jvmtiParamInfo>() - 24usize];
    ["Alignment of jvmtiParamInfo"][::std::mem::align_of::<jvmtiParamInfo>() - 8usize];
    [
        "Offset of field: jvmtiParamInfo::name",
    ][::std::mem::offset_of!(jvmtiParamInfo, name) - 0usize];
    [
        "Offset of field: jvmtiParamInfo::kind",
    ][::std::mem::offset_of!(jvmtiParamInfo, kind) - 8usize];
    [
        "Offset of field: jvmtiParamInfo::base_type",
    ][::std::mem::offset_of!(jvmtiParamInfo, base_type) - 12usize];
    [
        "Offset of field: jvmtiParamInfo::null_ok",
    ][::std::mem::offset_of!(jvmtiParamInfo, null_ok) - 16usize];
};
impl Default for jvmtiParamInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiExtensionFunctionInfo {
    pub func: jvmtiExtensionFunction,
    pub id: *mut ::std::os::raw::c_char,
    pub short_description: *mut ::std::os::raw::c_char,
    pub param_count: jint,
    pub params: *mut jvmtiParamInfo,
    pub error_count: jint,
    pub errors: *mut jvmtiError,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiExtensionFunctionInfo",
    ][::std::mem::size_of::<jvmtiExtensionFunctionInfo>() - 56usize];
    [
        "Alignment of jvmtiExtensionFunctionInfo",
    ][::std::mem::align_of::<jvmtiExtensionFunctionInfo>() - 8usize];
    [
        "Offset of field: jvmtiExtensionFunctionInfo::func",
    ][::std::mem::offset_of!(jvmtiExtensionFunctionInfo, func) - 0usize];
    [
        "Offset of field: jvmtiExtensionFunctionInfo::id",
    ][::std::mem::offset_of!(jvmtiExtensionFunctionInfo, id) - 8usize];
    [
        "Offset of field: jvmtiExtensionFunctionInfo::short_description",
    ][::std::mem::offset_of!(jvmtiExtensionFunctionInfo, short_description) - 16usize];
    [
        "Offset of field: jvmtiExtensionFunctionInfo::param_count",
    ][::std::mem::offset_of!(jvmtiExtensionFunctionInfo, param_count) - 24usize];
    [
        "Offset of field: jvmtiExtensionFunctionInfo::params",
    ][::std::mem::offset_of!(jvmtiExtensionFunctionInfo, params) - 32usize];
    [
        "Offset of field: jvmtiExtensionFunctionInfo::error_count",
    ][::std::mem::offset_of!(jvmtiExtensionFunctionInfo, error_count) - 40usize];
    [
        "Offset of field: jvmtiExtensionFunctionInfo::errors",
    ][::std::mem::offset_of!(jvmtiExtensionFunctionInfo, errors) - 48usize];
};
impl Default for jvmtiExtensionFunctionInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiExtensionEventInfo {
    pub extension_event_index: jint,
    pub id: *mut ::std::os::raw::c_char,
    pub short_description: *mut ::std::os::raw::c_char,
    pub param_count: jint,
    pub params: *mut jvmtiParamInfo,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiExtensionEventInfo",
    ][::std::mem::size_of::<jvmtiExtensionEventInfo>() - 40usize];
    [
        "Alignment of jvmtiExtensionEventInfo",
    ][::std::mem::align_of::<jvmtiExtensionEventInfo>() - 8usize];
    [
        "Offset of field: jvmtiExtensionEventInfo::extension_event_index",
    ][::std::mem::offset_of!(jvmtiExtensionEventInfo, extension_event_index) - 0usize];
    [
        "Offset of field: jvmtiExtensionEventInfo::id",
    ][::std::mem::offset_of!(jvmtiExtensionEventInfo, id) - 8usize];
    [
        "Offset of field: jvmtiExtensionEventInfo::short_description",
    ][::std::mem::offset_of!(jvmtiExtensionEventInfo, short_description) - 16usize];
    [
        "Offset of field: jvmtiExtensionEventInfo::param_count",
    ][::std::mem::offset_of!(jvmtiExtensionEventInfo, param_count) - 24usize];
    [
        "Offset of field: jvmtiExtensionEventInfo::params",
    ][::std::mem::offset_of!(jvmtiExtensionEventInfo, params) - 32usize];
};
impl Default for jvmtiExtensionEventInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiTimerInfo {
    pub max_value: jlong,
    pub may_skip_forward: jboolean,
    pub may_skip_backward: jboolean,
    pub kind: jvmtiTimerKind,
    pub reserved1: jlong,
    pub reserved2: jlong,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of jvmtiTimerInfo"][::std::mem::size_of::<jvmtiTimerInfo>() - 32usize];
    ["Alignment of jvmtiTimerInfo"][::std::mem::align_of::<jvmtiTimerInfo>() - 8usize];
    [
        "Offset of field: jvmtiTimerInfo::max_value",
    ][::std::mem::offset_of!(jvmtiTimerInfo, max_value) - 0usize];
    [
        "Offset of field: jvmtiTimerInfo::may_skip_forward",
    ][::std::mem::offset_of!(jvmtiTimerInfo, may_skip_forward) - 8usize];
    [
        "Offset of field: jvmtiTimerInfo::may_skip_backward",
    ][::std::mem::offset_of!(jvmtiTimerInfo, may_skip_backward) - 9usize];
    [
        "Offset of field: jvmtiTimerInfo::kind",
    ][::std::mem::offset_of!(jvmtiTimerInfo, kind) - 12usize];
    [
        "Offset of field: jvmtiTimerInfo::reserved1",
    ][::std::mem::offset_of!(jvmtiTimerInfo, reserved1) - 16usize];
    [
        "Offset of field: jvmtiTimerInfo::reserved2",
    ][::std::mem::offset_of!(jvmtiTimerInfo, reserved2) - 24usize];
};
impl Default for jvmtiTimerInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
pub struct jvmtiAddrLocationMap {
    pub start_address: *const ::std::os::raw::c_void,
    pub location: jlocation,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiAddrLocationMap",
    ][::std::mem::size_of::<jvmtiAddrLocationMap>() - 16usize];
    [
        "Alignment of jvmtiAddrLocationMap",
    ][::std::mem::align_of::<jvmtiAddrLocationMap>() - 8usize];
    [
        "Offset of field: jvmtiAddrLocationMap::start_address",
    ][::std::mem::offset_of!(jvmtiAddrLocationMap, start_address) - 0usize];
    [
        "Offset of field: jvmtiAddrLocationMap::location",
    ][::std::mem::offset_of!(jvmtiAddrLocationMap, location) - 8usize];
};
impl Default for jvmtiAddrLocationMap {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[repr(align(4))]
#[derive(Debug, Default, Copy, Clone)]
pub struct jvmtiCapabilities {
    pub _bitfield_align_1: [u8; 0],
    pub _bitfield_1: __BindgenBitfieldUnit<[u8; 16usize]>,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of jvmtiCapabilities"][::std::mem::size_of::<jvmtiCapabilities>() - 16usize];
    [
        "Alignment of jvmtiCapabilities",
    ][::std::mem::align_of::<jvmtiCapabilities>() - 4usize];
};
impl jvmtiCapabilities {
    #[inline]
    pub fn can_tag_objects(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(0usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_tag_objects(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(0usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_tag_objects_raw(this: *const Self) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 0usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_tag_objects_raw(this: *mut Self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                0usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_field_modification_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(1usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_field_modification_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(1usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_field_modification_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 1usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_field_modification_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                1usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_field_access_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(2usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_field_access_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(2usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_field_access_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 2usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_field_access_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                2usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_bytecodes(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(3usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_bytecodes(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(3usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_bytecodes_raw(this: *const Self) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 3usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_bytecodes_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                3usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_synthetic_attribute(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(4usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_synthetic_attribute(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(4usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_synthetic_attribute_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 4usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_synthetic_attribute_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                4usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_owned_monitor_info(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(5usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_owned_monitor_info(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(5usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_owned_monitor_info_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 5usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_owned_monitor_info_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                5usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_current_contended_monitor(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(6usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_current_contended_monitor(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(6usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_current_contended_monitor_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 6usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_current_contended_monitor_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                6usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_monitor_info(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(7usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_monitor_info(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(7usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_monitor_info_raw(this: *const Self) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 7usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_monitor_info_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                7usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_pop_frame(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(8usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_pop_frame(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(8usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_pop_frame_raw(this: *const Self) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 8usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_pop_frame_raw(this: *mut Self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                8usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_redefine_classes(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(9usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_redefine_classes(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(9usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_redefine_classes_raw(this: *const Self) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 9usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_redefine_classes_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                9usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_signal_thread(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(10usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_signal_thread(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(10usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_signal_thread_raw(this: *const Self) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 10usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_signal_thread_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                10usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_source_file_name(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(11usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_source_file_name(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(11usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_source_file_name_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 11usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_source_file_name_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                11usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_line_numbers(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(12usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_line_numbers(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(12usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_line_numbers_raw(this: *const Self) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 12usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_line_numbers_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                12usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_source_debug_extension(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(13usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_source_debug_extension(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(13usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_source_debug_extension_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 13usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_source_debug_extension_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                13usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_access_local_variables(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(14usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_access_local_variables(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(14usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_access_local_variables_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 14usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_access_local_variables_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                14usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_maintain_original_method_order(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(15usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_maintain_original_method_order(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(15usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_maintain_original_method_order_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 15usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_maintain_original_method_order_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                15usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_single_step_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(16usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_single_step_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(16usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_single_step_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 16usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_single_step_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                16usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_exception_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(17usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_exception_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(17usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_exception_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 17usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_exception_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                17usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_frame_pop_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(18usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_frame_pop_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(18usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_frame_pop_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 18usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_frame_pop_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                18usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_breakpoint_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(19usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_breakpoint_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(19usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_breakpoint_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 19usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_breakpoint_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                19usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_suspend(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(20usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_suspend(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(20usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_suspend_raw(this: *const Self) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 20usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_suspend_raw(this: *mut Self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                20usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_redefine_any_class(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(21usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_redefine_any_class(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(21usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_redefine_any_class_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 21usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_redefine_any_class_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                21usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_current_thread_cpu_time(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(22usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_current_thread_cpu_time(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(22usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_current_thread_cpu_time_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 22usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_current_thread_cpu_time_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                22usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_thread_cpu_time(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(23usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_thread_cpu_time(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(23usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_thread_cpu_time_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 23usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_thread_cpu_time_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                23usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_method_entry_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(24usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_method_entry_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(24usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_method_entry_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 24usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_method_entry_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                24usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_method_exit_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(25usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_method_exit_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(25usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_method_exit_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 25usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_method_exit_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                25usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_all_class_hook_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(26usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_all_class_hook_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(26usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_all_class_hook_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 26usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_all_class_hook_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                26usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_compiled_method_load_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(27usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_compiled_method_load_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(27usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_compiled_method_load_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 27usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_compiled_method_load_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                27usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_monitor_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(28usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_monitor_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(28usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_monitor_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 28usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_monitor_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                28usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_vm_object_alloc_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(29usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_vm_object_alloc_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(29usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_vm_object_alloc_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 29usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_vm_object_alloc_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                29usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_native_method_bind_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(30usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_native_method_bind_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(30usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_native_method_bind_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 30usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_native_method_bind_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                30usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_garbage_collection_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(31usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_garbage_collection_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(31usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_garbage_collection_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 31usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_garbage_collection_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                31usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_object_free_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(32usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_object_free_events(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(32usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_object_free_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 32usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_object_free_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                32usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_force_early_return(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(33usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_force_early_return(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(33usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_force_early_return_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 33usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_force_early_return_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                33usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_owned_monitor_stack_depth_info(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(34usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_owned_monitor_stack_depth_info(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(34usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_owned_monitor_stack_depth_info_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 34usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_owned_monitor_stack_depth_info_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                34usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_get_constant_pool(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(35usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_get_constant_pool(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(35usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_get_constant_pool_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 35usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_get_constant_pool_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                35usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_set_native_method_prefix(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(36usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_set_native_method_prefix(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(36usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_set_native_method_prefix_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 36usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_set_native_method_prefix_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                36usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_retransform_classes(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(37usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_retransform_classes(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(37usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_retransform_classes_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 37usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_retransform_classes_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                37usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_retransform_any_class(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(38usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_retransform_any_class(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(38usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_retransform_any_class_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 38usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_retransform_any_class_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                38usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_resource_exhaustion_heap_events(
        &self,
    ) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(39usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_resource_exhaustion_heap_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(39usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_resource_exhaustion_heap_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 39usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_resource_exhaustion_heap_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                39usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_resource_exhaustion_threads_events(
        &self,
    ) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(40usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_resource_exhaustion_threads_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(40usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_resource_exhaustion_threads_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 40usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_resource_exhaustion_threads_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                40usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_early_vmstart(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(41usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_early_vmstart(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(41usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_early_vmstart_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 41usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_early_vmstart_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                41usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_early_class_hook_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(42usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_early_class_hook_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(42usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_early_class_hook_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 42usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_early_class_hook_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                42usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_generate_sampled_object_alloc_events(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(43usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_generate_sampled_object_alloc_events(
        &mut self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(43usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_generate_sampled_object_alloc_events_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 43usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_generate_sampled_object_alloc_events_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                43usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn can_support_virtual_threads(&self) -> ::std::os::raw::c_uint {
        unsafe { ::std::mem::transmute(self._bitfield_1.get(44usize, 1u8) as u32) }
    }
    #[inline]
    pub fn set_can_support_virtual_threads(&mut self, val: ::std::os::raw::c_uint) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            self._bitfield_1.set(44usize, 1u8, val as u64)
        }
    }
    #[inline]
    pub unsafe fn can_support_virtual_threads_raw(
        this: *const Self,
    ) -> ::std::os::raw::c_uint {
        unsafe {
            ::std::mem::transmute(
                <__BindgenBitfieldUnit<
                    [u8; 16usize],
                >>::raw_get(::std::ptr::addr_of!((*this)._bitfield_1), 44usize, 1u8)
                    as u32,
            )
        }
    }
    #[inline]
    pub unsafe fn set_can_support_virtual_threads_raw(
        this: *mut Self,
        val: ::std::os::raw::c_uint,
    ) {
        unsafe {
            let val: u32 = ::std::mem::transmute(val);
            <__BindgenBitfieldUnit<
                [u8; 16usize],
            >>::raw_set(
                ::std::ptr::addr_of_mut!((*this)._bitfield_1),
                44usize,
                1u8,
                val as u64,
            )
        }
    }
    #[inline]
    pub fn new_bitfield_1(
        can_tag_objects: ::std::os::raw::c_uint,
        can_generate_field_modification_events: ::std::os::raw::c_uint,
        can_generate_field_access_events: ::std::os::raw::c_uint,
        can_get_bytecodes: ::std::os::raw::c_uint,
        can_get_synthetic_attribute: ::std::os::raw::c_uint,
        can_get_owned_monitor_info: ::std::os::raw::c_uint,
        can_get_current_contended_monitor: ::std::os::raw::c_uint,
        can_get_monitor_info: ::std::os::raw::c_uint,
        can_pop_frame: ::std::os::raw::c_uint,
        can_redefine_classes: ::std::os::raw::c_uint,
        can_signal_thread: ::std::os::raw::c_uint,
        can_get_source_file_name: ::std::os::raw::c_uint,
        can_get_line_numbers: ::std::os::raw::c_uint,
        can_get_source_debug_extension: ::std::os::raw::c_uint,
        can_access_local_variables: ::std::os::raw::c_uint,
        can_maintain_original_method_order: ::std::os::raw::c_uint,
        can_generate_single_step_events: ::std::os::raw::c_uint,
        can_generate_exception_events: ::std::os::raw::c_uint,
        can_generate_frame_pop_events: ::std::os::raw::c_uint,
        can_generate_breakpoint_events: ::std::os::raw::c_uint,
        can_suspend: ::std::os::raw::c_uint,
        can_redefine_any_class: ::std::os::raw::c_uint,
        can_get_current_thread_cpu_time: ::std::os::raw::c_uint,
        can_get_thread_cpu_time: ::std::os::raw::c_uint,
        can_generate_method_entry_events: ::std::os::raw::c_uint,
        can_generate_method_exit_events: ::std::os::raw::c_uint,
        can_generate_all_class_hook_events: ::std::os::raw::c_uint,
        can_generate_compiled_method_load_events: ::std::os::raw::c_uint,
        can_generate_monitor_events: ::std::os::raw::c_uint,
        can_generate_vm_object_alloc_events: ::std::os::raw::c_uint,
        can_generate_native_method_bind_events: ::std::os::raw::c_uint,
        can_generate_garbage_collection_events: ::std::os::raw::c_uint,
        can_generate_object_free_events: ::std::os::raw::c_uint,
        can_force_early_return: ::std::os::raw::c_uint,
        can_get_owned_monitor_stack_depth_info: ::std::os::raw::c_uint,
        can_get_constant_pool: ::std::os::raw::c_uint,
        can_set_native_method_prefix: ::std::os::raw::c_uint,
        can_retransform_classes: ::std::os::raw::c_uint,
        can_retransform_any_class: ::std::os::raw::c_uint,
        can_generate_resource_exhaustion_heap_events: ::std::os::raw::c_uint,
        can_generate_resource_exhaustion_threads_events: ::std::os::raw::c_uint,
        can_generate_early_vmstart: ::std::os::raw::c_uint,
        can_generate_early_class_hook_events: ::std::os::raw::c_uint,
        can_generate_sampled_object_alloc_events: ::std::os::raw::c_uint,
        can_support_virtual_threads: ::std::os::raw::c_uint,
    ) -> __BindgenBitfieldUnit<[u8; 16usize]> {
        let mut __bindgen_bitfield_unit: __BindgenBitfieldUnit<[u8; 16usize]> = Default::default();
        __bindgen_bitfield_unit
            .set(
                0usize,
                1u8,
                {
                    let can_tag_objects: u32 = unsafe {
                        ::std::mem::transmute(can_tag_objects)
                    };
                    can_tag_objects as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                1usize,
                1u8,
                {
                    let can_generate_field_modification_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_field_modification_events)
                    };
                    can_generate_field_modification_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                2usize,
                1u8,
                {
                    let can_generate_field_access_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_field_access_events)
                    };
                    can_generate_field_access_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                3usize,
                1u8,
                {
                    let can_get_bytecodes: u32 = unsafe {
                        ::std::mem::transmute(can_get_bytecodes)
                    };
                    can_get_bytecodes as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                4usize,
                1u8,
                {
                    let can_get_synthetic_attribute: u32 = unsafe {
                        ::std::mem::transmute(can_get_synthetic_attribute)
                    };
                    can_get_synthetic_attribute as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                5usize,
                1u8,
                {
                    let can_get_owned_monitor_info: u32 = unsafe {
                        ::std::mem::transmute(can_get_owned_monitor_info)
                    };
                    can_get_owned_monitor_info as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                6usize,
                1u8,
                {
                    let can_get_current_contended_monitor: u32 = unsafe {
                        ::std::mem::transmute(can_get_current_contended_monitor)
                    };
                    can_get_current_contended_monitor as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                7usize,
                1u8,
                {
                    let can_get_monitor_info: u32 = unsafe {
                        ::std::mem::transmute(can_get_monitor_info)
                    };
                    can_get_monitor_info as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                8usize,
                1u8,
                {
                    let can_pop_frame: u32 = unsafe {
                        ::std::mem::transmute(can_pop_frame)
                    };
                    can_pop_frame as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                9usize,
                1u8,
                {
                    let can_redefine_classes: u32 = unsafe {
                        ::std::mem::transmute(can_redefine_classes)
                    };
                    can_redefine_classes as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                10usize,
                1u8,
                {
                    let can_signal_thread: u32 = unsafe {
                        ::std::mem::transmute(can_signal_thread)
                    };
                    can_signal_thread as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                11usize,
                1u8,
                {
                    let can_get_source_file_name: u32 = unsafe {
                        ::std::mem::transmute(can_get_source_file_name)
                    };
                    can_get_source_file_name as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                12usize,
                1u8,
                {
                    let can_get_line_numbers: u32 = unsafe {
                        ::std::mem::transmute(can_get_line_numbers)
                    };
                    can_get_line_numbers as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                13usize,
                1u8,
                {
                    let can_get_source_debug_extension: u32 = unsafe {
                        ::std::mem::transmute(can_get_source_debug_extension)
                    };
                    can_get_source_debug_extension as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                14usize,
                1u8,
                {
                    let can_access_local_variables: u32 = unsafe {
                        ::std::mem::transmute(can_access_local_variables)
                    };
                    can_access_local_variables as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                15usize,
                1u8,
                {
                    let can_maintain_original_method_order: u32 = unsafe {
                        ::std::mem::transmute(can_maintain_original_method_order)
                    };
                    can_maintain_original_method_order as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                16usize,
                1u8,
                {
                    let can_generate_single_step_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_single_step_events)
                    };
                    can_generate_single_step_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                17usize,
                1u8,
                {
                    let can_generate_exception_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_exception_events)
                    };
                    can_generate_exception_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                18usize,
                1u8,
                {
                    let can_generate_frame_pop_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_frame_pop_events)
                    };
                    can_generate_frame_pop_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                19usize,
                1u8,
                {
                    let can_generate_breakpoint_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_breakpoint_events)
                    };
                    can_generate_breakpoint_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                20usize,
                1u8,
                {
                    let can_suspend: u32 = unsafe { ::std::mem::transmute(can_suspend) };
                    can_suspend as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                21usize,
                1u8,
                {
                    let can_redefine_any_class: u32 = unsafe {
                        ::std::mem::transmute(can_redefine_any_class)
                    };
                    can_redefine_any_class as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                22usize,
                1u8,
                {
                    let can_get_current_thread_cpu_time: u32 = unsafe {
                        ::std::mem::transmute(can_get_current_thread_cpu_time)
                    };
                    can_get_current_thread_cpu_time as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                23usize,
                1u8,
                {
                    let can_get_thread_cpu_time: u32 = unsafe {
                        ::std::mem::transmute(can_get_thread_cpu_time)
                    };
                    can_get_thread_cpu_time as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                24usize,
                1u8,
                {
                    let can_generate_method_entry_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_method_entry_events)
                    };
                    can_generate_method_entry_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                25usize,
                1u8,
                {
                    let can_generate_method_exit_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_method_exit_events)
                    };
                    can_generate_method_exit_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                26usize,
                1u8,
                {
                    let can_generate_all_class_hook_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_all_class_hook_events)
                    };
                    can_generate_all_class_hook_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                27usize,
                1u8,
                {
                    let can_generate_compiled_method_load_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_compiled_method_load_events)
                    };
                    can_generate_compiled_method_load_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                28usize,
                1u8,
                {
                    let can_generate_monitor_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_monitor_events)
                    };
                    can_generate_monitor_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                29usize,
                1u8,
                {
                    let can_generate_vm_object_alloc_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_vm_object_alloc_events)
                    };
                    can_generate_vm_object_alloc_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                30usize,
                1u8,
                {
                    let can_generate_native_method_bind_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_native_method_bind_events)
                    };
                    can_generate_native_method_bind_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                31usize,
                1u8,
                {
                    let can_generate_garbage_collection_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_garbage_collection_events)
                    };
                    can_generate_garbage_collection_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                32usize,
                1u8,
                {
                    let can_generate_object_free_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_object_free_events)
                    };
                    can_generate_object_free_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                33usize,
                1u8,
                {
                    let can_force_early_return: u32 = unsafe {
                        ::std::mem::transmute(can_force_early_return)
                    };
                    can_force_early_return as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                34usize,
                1u8,
                {
                    let can_get_owned_monitor_stack_depth_info: u32 = unsafe {
                        ::std::mem::transmute(can_get_owned_monitor_stack_depth_info)
                    };
                    can_get_owned_monitor_stack_depth_info as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                35usize,
                1u8,
                {
                    let can_get_constant_pool: u32 = unsafe {
                        ::std::mem::transmute(can_get_constant_pool)
                    };
                    can_get_constant_pool as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                36usize,
                1u8,
                {
                    let can_set_native_method_prefix: u32 = unsafe {
                        ::std::mem::transmute(can_set_native_method_prefix)
                    };
                    can_set_native_method_prefix as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                37usize,
                1u8,
                {
                    let can_retransform_classes: u32 = unsafe {
                        ::std::mem::transmute(can_retransform_classes)
                    };
                    can_retransform_classes as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                38usize,
                1u8,
                {
                    let can_retransform_any_class: u32 = unsafe {
                        ::std::mem::transmute(can_retransform_any_class)
                    };
                    can_retransform_any_class as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                39usize,
                1u8,
                {
                    let can_generate_resource_exhaustion_heap_events: u32 = unsafe {
                        ::std::mem::transmute(
                            can_generate_resource_exhaustion_heap_events,
                        )
                    };
                    can_generate_resource_exhaustion_heap_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                40usize,
                1u8,
                {
                    let can_generate_resource_exhaustion_threads_events: u32 = unsafe {
                        ::std::mem::transmute(
                            can_generate_resource_exhaustion_threads_events,
                        )
                    };
                    can_generate_resource_exhaustion_threads_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                41usize,
                1u8,
                {
                    let can_generate_early_vmstart: u32 = unsafe {
                        ::std::mem::transmute(can_generate_early_vmstart)
                    };
                    can_generate_early_vmstart as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                42usize,
                1u8,
                {
                    let can_generate_early_class_hook_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_early_class_hook_events)
                    };
                    can_generate_early_class_hook_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                43usize,
                1u8,
                {
                    let can_generate_sampled_object_alloc_events: u32 = unsafe {
                        ::std::mem::transmute(can_generate_sampled_object_alloc_events)
                    };
                    can_generate_sampled_object_alloc_events as u64
                },
            );
        __bindgen_bitfield_unit
            .set(
                44usize,
                1u8,
                {
                    let can_support_virtual_threads: u32 = unsafe {
                        ::std::mem::transmute(can_support_virtual_threads)
                    };
                    can_support_virtual_threads as u64
                },
            );
        __bindgen_bitfield_unit
    }
}
pub type jvmtiEventReserved = ::std::option::Option<unsafe extern "C" fn()>;
pub type jvmtiEventBreakpoint = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        location: jlocation,
    ),
>;
pub type jvmtiEventClassFileLoadHook = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        class_being_redefined: jclass,
        loader: jobject,
        name: *const ::std::os::raw::c_char,
        protection_domain: jobject,
        class_data_len: jint,
        class_data: *const ::std::os::raw::c_uchar,
        new_class_data_len: *mut jint,
        new_class_data: *mut *mut ::std::os::raw::c_uchar,
    ),
>;
pub type jvmtiEventClassLoad = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        klass: jclass,
    ),
>;
pub type jvmtiEventClassPrepare = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        klass: jclass,
    ),
>;
pub type jvmtiEventCompiledMethodLoad = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        method: jmethodID,
        code_size: jint,
        code_addr: *const ::std::os::raw::c_void,
        map_length: jint,
        map: *const jvmtiAddrLocationMap,
        compile_info: *const ::std::os::raw::c_void,
    ),
>;
pub type jvmtiEventCompiledMethodUnload = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        method: jmethodID,
        code_addr: *const ::std::os::raw::c_void,
    ),
>;
pub type jvmtiEventDataDumpRequest = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv),
>;
pub type jvmtiEventDynamicCodeGenerated = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        name: *const ::std::os::raw::c_char,
        address: *const ::std::os::raw::c_void,
        length: jint,
    ),
>;
pub type jvmtiEventException = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        location: jlocation,
        exception: jobject,
        catch_method: jmethodID,
        catch_location: jlocation,
    ),
>;
pub type jvmtiEventExceptionCatch = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        location: jlocation,
        exception: jobject,
    ),
>;
pub type jvmtiEventFieldAccess = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        location: jlocation,
        field_klass: jclass,
        object: jobject,
        field: jfieldID,
    ),
>;
pub type jvmtiEventFieldModification = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        location: jlocation,
        field_klass: jclass,
        object: jobject,
        field: jfieldID,
        signature_type: ::std::os::raw::c_char,
        new_value: jvalue,
    ),
>;
pub type jvmtiEventFramePop = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        was_popped_by_exception: jboolean,
    ),
>;
pub type jvmtiEventGarbageCollectionFinish = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv),
>;
pub type jvmtiEventGarbageCollectionStart = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv),
>;
pub type jvmtiEventMethodEntry = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
    ),
>;
pub type jvmtiEventMethodExit = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        was_popped_by_exception: jboolean,
        return_value: jvalue,
    ),
>;
pub type jvmtiEventMonitorContendedEnter = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        object: jobject,
    ),
>;
pub type jvmtiEventMonitorContendedEntered = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        object: jobject,
    ),
>;
pub type jvmtiEventMonitorWait = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        object: jobject,
        timeout: jlong,
    ),
>;
pub type jvmtiEventMonitorWaited = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        object: jobject,
        timed_out: jboolean,
    ),
>;
pub type jvmtiEventNativeMethodBind = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        address: *mut ::std::os::raw::c_void,
        new_address_ptr: *mut *mut ::std::os::raw::c_void,
    ),
>;
pub type jvmtiEventObjectFree = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, tag: jlong),
>;
pub type jvmtiEventResourceExhausted = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        flags: jint,
        reserved: *const ::std::os::raw::c_void,
        description: *const ::std::os::raw::c_char,
    ),
>;
pub type jvmtiEventSampledObjectAlloc = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        object: jobject,
        object_klass: jclass,
        size: jlong,
    ),
>;
pub type jvmtiEventSingleStep = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        method: jmethodID,
        location: jlocation,
    ),
>;
pub type jvmtiEventThreadEnd = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv, thread: jthread),
>;
pub type jvmtiEventThreadStart = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv, thread: jthread),
>;
pub type jvmtiEventVirtualThreadEnd = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        virtual_thread: jthread,
    ),
>;
pub type jvmtiEventVirtualThreadStart = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        virtual_thread: jthread,
    ),
>;
pub type jvmtiEventVMDeath = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv),
>;
pub type jvmtiEventVMInit = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv, thread: jthread),
>;
pub type jvmtiEventVMObjectAlloc = ::std::option::Option<
    unsafe extern "C" fn(
        jvmti_env: *mut jvmtiEnv,
        jni_env: *mut JNIEnv,
        thread: jthread,
        object: jobject,
        object_klass: jclass,
        size: jlong,
    ),
>;
pub type jvmtiEventVMStart = ::std::option::Option<
    unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv),
>;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct jvmtiEventCallbacks {
    pub VMInit: jvmtiEventVMInit,
    pub VMDeath: jvmtiEventVMDeath,
    pub ThreadStart: jvmtiEventThreadStart,
    pub ThreadEnd: jvmtiEventThreadEnd,
    pub ClassFileLoadHook: jvmtiEventClassFileLoadHook,
    pub ClassLoad: jvmtiEventClassLoad,
    pub ClassPrepare: jvmtiEventClassPrepare,
    pub VMStart: jvmtiEventVMStart,
    pub Exception: jvmtiEventException,
    pub ExceptionCatch: jvmtiEventExceptionCatch,
    pub SingleStep: jvmtiEventSingleStep,
    pub FramePop: jvmtiEventFramePop,
    pub Breakpoint: jvmtiEventBreakpoint,
    pub FieldAccess: jvmtiEventFieldAccess,
    pub FieldModification: jvmtiEventFieldModification,
    pub MethodEntry: jvmtiEventMethodEntry,
    pub MethodExit: jvmtiEventMethodExit,
    pub NativeMethodBind: jvmtiEventNativeMethodBind,
    pub CompiledMethodLoad: jvmtiEventCompiledMethodLoad,
    pub CompiledMethodUnload: jvmtiEventCompiledMethodUnload,
    pub DynamicCodeGenerated: jvmtiEventDynamicCodeGenerated,
    pub DataDumpRequest: jvmtiEventDataDumpRequest,
    pub reserved72: jvmtiEventReserved,
    pub MonitorWait: jvmtiEventMonitorWait,
    pub MonitorWaited: jvmtiEventMonitorWaited,
    pub MonitorContendedEnter: jvmtiEventMonitorContendedEnter,
    pub MonitorContendedEntered: jvmtiEventMonitorContendedEntered,
    pub reserved77: jvmtiEventReserved,
    pub reserved78: jvmtiEventReserved,
    pub reserved79: jvmtiEventReserved,
    pub ResourceExhausted: jvmtiEventResourceExhausted,
    pub GarbageCollectionStart: jvmtiEventGarbageCollectionStart,
    pub GarbageCollectionFinish: jvmtiEventGarbageCollectionFinish,
    pub ObjectFree: jvmtiEventObjectFree,
    pub VMObjectAlloc: jvmtiEventVMObjectAlloc,
    pub reserved85: jvmtiEventReserved,
    pub SampledObjectAlloc: jvmtiEventSampledObjectAlloc,
    pub VirtualThreadStart: jvmtiEventVirtualThreadStart,
    pub VirtualThreadEnd: jvmtiEventVirtualThreadEnd,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiEventCallbacks",
    ][::std::mem::size_of::<jvmtiEventCallbacks>() - 312usize];
    [
        "Alignment of jvmtiEventCallbacks",
    ][::std::mem::align_of::<jvmtiEventCallbacks>() - 8usize];
    [
        "Offset of field: jvmtiEventCallbacks::VMInit",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, VMInit) - 0usize];
    [
        "Offset of field: jvmtiEventCallbacks::VMDeath",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, VMDeath) - 8usize];
    [
        "Offset of field: jvmtiEventCallbacks::ThreadStart",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, ThreadStart) - 16usize];
    [
        "Offset of field: jvmtiEventCallbacks::ThreadEnd",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, ThreadEnd) - 24usize];
    [
        "Offset of field: jvmtiEventCallbacks::ClassFileLoadHook",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, ClassFileLoadHook) - 32usize];
    [
        "Offset of field: jvmtiEventCallbacks::ClassLoad",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, ClassLoad) - 40usize];
    [
        "Offset of field: jvmtiEventCallbacks::ClassPrepare",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, ClassPrepare) - 48usize];
    [
        "Offset of field: jvmtiEventCallbacks::VMStart",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, VMStart) - 56usize];
    [
        "Offset of field: jvmtiEventCallbacks::Exception",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, Exception) - 64usize];
    [
        "Offset of field: jvmtiEventCallbacks::ExceptionCatch",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, ExceptionCatch) - 72usize];
    [
        "Offset of field: jvmtiEventCallbacks::SingleStep",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, SingleStep) - 80usize];
    [
        "Offset of field: jvmtiEventCallbacks::FramePop",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, FramePop) - 88usize];
    [
        "Offset of field: jvmtiEventCallbacks::Breakpoint",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, Breakpoint) - 96usize];
    [
        "Offset of field: jvmtiEventCallbacks::FieldAccess",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, FieldAccess) - 104usize];
    [
        "Offset of field: jvmtiEventCallbacks::FieldModification",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, FieldModification) - 112usize];
    [
        "Offset of field: jvmtiEventCallbacks::MethodEntry",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, MethodEntry) - 120usize];
    [
        "Offset of field: jvmtiEventCallbacks::MethodExit",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, MethodExit) - 128usize];
    [
        "Offset of field: jvmtiEventCallbacks::NativeMethodBind",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, NativeMethodBind) - 136usize];
    [
        "Offset of field: jvmtiEventCallbacks::CompiledMethodLoad",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, CompiledMethodLoad) - 144usize];
    [
        "Offset of field: jvmtiEventCallbacks::CompiledMethodUnload",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, CompiledMethodUnload) - 152usize];
    [
        "Offset of field: jvmtiEventCallbacks::DynamicCodeGenerated",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, DynamicCodeGenerated) - 160usize];
    [
        "Offset of field: jvmtiEventCallbacks::DataDumpRequest",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, DataDumpRequest) - 168usize];
    [
        "Offset of field: jvmtiEventCallbacks::reserved72",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, reserved72) - 176usize];
    [
        "Offset of field: jvmtiEventCallbacks::MonitorWait",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, MonitorWait) - 184usize];
    [
        "Offset of field: jvmtiEventCallbacks::MonitorWaited",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, MonitorWaited) - 192usize];
    [
        "Offset of field: jvmtiEventCallbacks::MonitorContendedEnter",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, MonitorContendedEnter) - 200usize];
    [
        "Offset of field: jvmtiEventCallbacks::MonitorContendedEntered",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, MonitorContendedEntered) - 208usize];
    [
        "Offset of field: jvmtiEventCallbacks::reserved77",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, reserved77) - 216usize];
    [
        "Offset of field: jvmtiEventCallbacks::reserved78",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, reserved78) - 224usize];
    [
        "Offset of field: jvmtiEventCallbacks::reserved79",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, reserved79) - 232usize];
    [
        "Offset of field: jvmtiEventCallbacks::ResourceExhausted",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, ResourceExhausted) - 240usize];
    [
        "Offset of field: jvmtiEventCallbacks::GarbageCollectionStart",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, GarbageCollectionStart) - 248usize];
    [
        "Offset of field: jvmtiEventCallbacks::GarbageCollectionFinish",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, GarbageCollectionFinish) - 256usize];
    [
        "Offset of field: jvmtiEventCallbacks::ObjectFree",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, ObjectFree) - 264usize];
    [
        "Offset of field: jvmtiEventCallbacks::VMObjectAlloc",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, VMObjectAlloc) - 272usize];
    [
        "Offset of field: jvmtiEventCallbacks::reserved85",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, reserved85) - 280usize];
    [
        "Offset of field: jvmtiEventCallbacks::SampledObjectAlloc",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, SampledObjectAlloc) - 288usize];
    [
        "Offset of field: jvmtiEventCallbacks::VirtualThreadStart",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, VirtualThreadStart) - 296usize];
    [
        "Offset of field: jvmtiEventCallbacks::VirtualThreadEnd",
    ][::std::mem::offset_of!(jvmtiEventCallbacks, VirtualThreadEnd) - 304usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct jvmtiInterface_1_ {
    pub reserved1: *mut ::std::os::raw::c_void,
    pub SetEventNotificationMode: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            mode: jvmtiEventMode,
            event_type: jvmtiEvent,
            event_thread: jthread,
            ...
        ) -> jvmtiError,
    >,
    pub GetAllModules: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            module_count_ptr: *mut jint,
            modules_ptr: *mut *mut jobject,
        ) -> jvmtiError,
    >,
    pub GetAllThreads: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            threads_count_ptr: *mut jint,
            threads_ptr: *mut *mut jthread,
        ) -> jvmtiError,
    >,
    pub SuspendThread: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError,
    >,
    pub ResumeThread: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError,
    >,
    pub StopThread: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            exception: jobject,
        ) -> jvmtiError,
    >,
    pub InterruptThread: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError,
    >,
    pub GetThreadInfo: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            info_ptr: *mut jvmtiThreadInfo,
        ) -> jvmtiError,
    >,
    pub GetOwnedMonitorInfo: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            owned_monitor_count_ptr: *mut jint,
            owned_monitors_ptr: *mut *mut jobject,
        ) -> jvmtiError,
    >,
    pub GetCurrentContendedMonitor: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            monitor_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    pub RunAgentThread: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            proc_: jvmtiStartFunction,
            arg: *const ::std::os::raw::c_void,
            priority: jint,
        ) -> jvmtiError,
    >,
    pub GetTopThreadGroups: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            group_count_ptr: *mut jint,
            groups_ptr: *mut *mut jthreadGroup,
        ) -> jvmtiError,
    >,
    pub GetThreadGroupInfo: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            group: jthreadGroup,
            info_ptr: *mut jvmtiThreadGroupInfo,
        ) -> jvmtiError,
    >,
    pub GetThreadGroupChildren: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            group: jthreadGroup,
            thread_count_ptr: *mut jint,
            threads_ptr: *mut *mut jthread,
            group_count_ptr: *mut jint,
            groups_ptr: *mut *mut jthreadGroup,
        ) -> jvmtiError,
    >,
    pub GetFrameCount: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            count_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetThreadState: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            thread_state_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetCurrentThread: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, thread_ptr: *mut jthread) -> jvmtiError,
    >,
    pub GetFrameLocation: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            method_ptr: *mut jmethodID,
            location_ptr: *mut jlocation,
        ) -> jvmtiError,
    >,
    pub NotifyFramePop: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
        ) -> jvmtiError,
    >,
    pub GetLocalObject: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    pub GetLocalInt: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetLocalLong: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jlong,
        ) -> jvmtiError,
    >,
    pub GetLocalFloat: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jfloat,
        ) -> jvmtiError,
    >,
    pub GetLocalDouble: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jdouble,
        ) -> jvmtiError,
    >,
    pub SetLocalObject: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jobject,
        ) -> jvmtiError,
    >,
    pub SetLocalInt: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jint,
        ) -> jvmtiError,
    >,
    pub SetLocalLong: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jlong,
        ) -> jvmtiError,
    >,
    pub SetLocalFloat: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jfloat,
        ) -> jvmtiError,
    >,
    pub SetLocalDouble: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jdouble,
        ) -> jvmtiError,
    >,
    pub CreateRawMonitor: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            name: *const ::std::os::raw::c_char,
            monitor_ptr: *mut jrawMonitorID,
        ) -> jvmtiError,
    >,
    pub DestroyRawMonitor: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError,
    >,
    pub RawMonitorEnter: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError,
    >,
    pub RawMonitorExit: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError,
    >,
    pub RawMonitorWait: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            monitor: jrawMonitorID,
            millis: jlong,
        ) -> jvmtiError,
    >,
    pub RawMonitorNotify: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError,
    >,
    pub RawMonitorNotifyAll: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError,
    >,
    pub SetBreakpoint: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            location: jlocation,
        ) -> jvmtiError,
    >,
    pub ClearBreakpoint: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            location: jlocation,
        ) -> jvmtiError,
    >,
    pub GetNamedModule: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            class_loader: jobject,
            package_name: *const ::std::os::raw::c_char,
            module_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    pub SetFieldAccessWatch: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
        ) -> jvmtiError,
    >,
    pub ClearFieldAccessWatch: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
        ) -> jvmtiError,
    >,
    pub SetFieldModificationWatch: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
        ) -> jvmtiError,
    >,
    pub ClearFieldModificationWatch: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
        ) -> jvmtiError,
    >,
    pub IsModifiableClass: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            is_modifiable_class_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    pub Allocate: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            size: jlong,
            mem_ptr: *mut *mut ::std::os::raw::c_uchar,
        ) -> jvmtiError,
    >,
    pub Deallocate: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            mem: *mut ::std::os::raw::c_uchar,
        ) -> jvmtiError,
    >,
    pub GetClassSignature: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            signature_ptr: *mut *mut ::std::os::raw::c_char,
            generic_ptr: *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub GetClassStatus: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            status_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetSourceFileName: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            source_name_ptr: *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub GetClassModifiers: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            modifiers_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetClassMethods: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            method_count_ptr: *mut jint,
            methods_ptr: *mut *mut jmethodID,
        ) -> jvmtiError,
    >,
    pub GetClassFields: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field_count_ptr: *mut jint,
            fields_ptr: *mut *mut jfieldID,
        ) -> jvmtiError,
    >,
    pub GetImplementedInterfaces: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            interface_count_ptr: *mut jint,
            interfaces_ptr: *mut *mut jclass,
        ) -> jvmtiError,
    >,
    pub IsInterface: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            is_interface_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    pub IsArrayClass: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            is_array_class_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    pub GetClassLoader: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            classloader_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    pub GetObjectHashCode: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            hash_code_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetObjectMonitorUsage: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            info_ptr: *mut jvmtiMonitorUsage,
        ) -> jvmtiError,
    >,
    pub GetFieldName: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
            name_ptr: *mut *mut ::std::os::raw::c_char,
            signature_ptr: *mut *mut ::std::os::raw::c_char,
            generic_ptr: *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub GetFieldDeclaringClass: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
            declaring_class_ptr: *mut jclass,
        ) -> jvmtiError,
    >,
    pub GetFieldModifiers: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
            modifiers_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub IsFieldSynthetic: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
            is_synthetic_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    pub GetMethodName: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            name_ptr: *mut *mut ::std::os::raw::c_char,
            signature_ptr: *mut *mut ::std::os::raw::c_char,
            generic_ptr: *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub GetMethodDeclaringClass: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            declaring_class_ptr: *mut jclass,
        ) -> jvmtiError,
    >,
    pub GetMethodModifiers: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            modifiers_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub ClearAllFramePops: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError,
    >,
    pub GetMaxLocals: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            max_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetArgumentsSize: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            size_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetLineNumberTable: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            entry_count_ptr: *mut jint,
            table_ptr: *mut *mut jvmtiLineNumberEntry,
        ) -> jvmtiError,
    >,
    pub GetMethodLocation: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            start_location_ptr: *mut jlocation,
            end_location_ptr: *mut jlocation,
        ) -> jvmtiError,
    >,
    pub GetLocalVariableTable: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            entry_count_ptr: *mut jint,
            table_ptr: *mut *mut jvmtiLocalVariableEntry,
        ) -> jvmtiError,
    >,
    pub SetNativeMethodPrefix: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            prefix: *const ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub SetNativeMethodPrefixes: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            prefix_count: jint,
            prefixes: *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub GetBytecodes: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            bytecode_count_ptr: *mut jint,
            bytecodes_ptr: *mut *mut ::std::os::raw::c_uchar,
        ) -> jvmtiError,
    >,
    pub IsMethodNative: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            is_native_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    pub IsMethodSynthetic: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            is_synthetic_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    pub GetLoadedClasses: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            class_count_ptr: *mut jint,
            classes_ptr: *mut *mut jclass,
        ) -> jvmtiError,
    >,
    pub GetClassLoaderClasses: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            initiating_loader: jobject,
            class_count_ptr: *mut jint,
            classes_ptr: *mut *mut jclass,
        ) -> jvmtiError,
    >,
    pub PopFrame: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError,
    >,
    pub ForceEarlyReturnObject: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            value: jobject,
        ) -> jvmtiError,
    >,
    pub ForceEarlyReturnInt: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            value: jint,
        ) -> jvmtiError,
    >,
    pub ForceEarlyReturnLong: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            value: jlong,
        ) -> jvmtiError,
    >,
    pub ForceEarlyReturnFloat: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            value: jfloat,
        ) -> jvmtiError,
    >,
    pub ForceEarlyReturnDouble: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            value: jdouble,
        ) -> jvmtiError,
    >,
    pub ForceEarlyReturnVoid: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError,
    >,
    pub RedefineClasses: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            class_count: jint,
            class_definitions: *const jvmtiClassDefinition,
        ) -> jvmtiError,
    >,
    pub GetVersionNumber: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, version_ptr: *mut jint) -> jvmtiError,
    >,
    pub GetCapabilities: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            capabilities_ptr: *mut jvmtiCapabilities,
        ) -> jvmtiError,
    >,
    pub GetSourceDebugExtension: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            source_debug_extension_ptr: *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub IsMethodObsolete: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            is_obsolete_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    pub SuspendThreadList: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            request_count: jint,
            request_list: *const jthread,
            results: *mut jvmtiError,
        ) -> jvmtiError,
    >,
    pub ResumeThreadList: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            request_count: jint,
            request_list: *const jthread,
            results: *mut jvmtiError,
        ) -> jvmtiError,
    >,
    pub AddModuleReads: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            to_module: jobject,
        ) -> jvmtiError,
    >,
    pub AddModuleExports: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            pkg_name: *const ::std::os::raw::c_char,
            to_module: jobject,
        ) -> jvmtiError,
    >,
    pub AddModuleOpens: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            pkg_name: *const ::std::os::raw::c_char,
            to_module: jobject,
        ) -> jvmtiError,
    >,
    pub AddModuleUses: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            service: jclass,
        ) -> jvmtiError,
    >,
    pub AddModuleProvides: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            service: jclass,
            impl_class: jclass,
        ) -> jvmtiError,
    >,
    pub IsModifiableModule: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            is_modifiable_module_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    pub GetAllStackTraces: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            max_frame_count: jint,
            stack_info_ptr: *mut *mut jvmtiStackInfo,
            thread_count_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetThreadListStackTraces: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread_count: jint,
            thread_list: *const jthread,
            max_frame_count: jint,
            stack_info_ptr: *mut *mut jvmtiStackInfo,
        ) -> jvmtiError,
    >,
    pub GetThreadLocalStorage: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            data_ptr: *mut *mut ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub SetThreadLocalStorage: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            data: *const ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub GetStackTrace: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            start_depth: jint,
            max_frame_count: jint,
            frame_buffer: *mut jvmtiFrameInfo,
            count_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub reserved105: *mut ::std::os::raw::c_void,
    pub GetTag: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            tag_ptr: *mut jlong,
        ) -> jvmtiError,
    >,
    pub SetTag: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            tag: jlong,
        ) -> jvmtiError,
    >,
    pub ForceGarbageCollection: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv) -> jvmtiError,
    >,
    pub IterateOverObjectsReachableFromObject: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            object_reference_callback: jvmtiObjectReferenceCallback,
            user_data: *const ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub IterateOverReachableObjects: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            heap_root_callback: jvmtiHeapRootCallback,
            stack_ref_callback: jvmtiStackReferenceCallback,
            object_ref_callback: jvmtiObjectReferenceCallback,
            user_data: *const ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub IterateOverHeap: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            object_filter: jvmtiHeapObjectFilter,
            heap_object_callback: jvmtiHeapObjectCallback,
            user_data: *const ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub IterateOverInstancesOfClass: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            object_filter: jvmtiHeapObjectFilter,
            heap_object_callback: jvmtiHeapObjectCallback,
            user_data: *const ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub reserved113: *mut ::std::os::raw::c_void,
    pub GetObjectsWithTags: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            tag_count: jint,
            tags: *const jlong,
            count_ptr: *mut jint,
            object_result_ptr: *mut *mut jobject,
            tag_result_ptr: *mut *mut jlong,
        ) -> jvmtiError,
    >,
    pub FollowReferences: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            heap_filter: jint,
            klass: jclass,
            initial_object: jobject,
            callbacks: *const jvmtiHeapCallbacks,
            user_data: *const ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub IterateThroughHeap: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            heap_filter: jint,
            klass: jclass,
            callbacks: *const jvmtiHeapCallbacks,
            user_data: *const ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub reserved117: *mut ::std::os::raw::c_void,
    pub SuspendAllVirtualThreads: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            except_count: jint,
            except_list: *const jthread,
        ) -> jvmtiError,
    >,
    pub ResumeAllVirtualThreads: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            except_count: jint,
            except_list: *const jthread,
        ) -> jvmtiError,
    >,
    pub SetJNIFunctionTable: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            function_table: *const jniNativeInterface,
        ) -> jvmtiError,
    >,
    pub GetJNIFunctionTable: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            function_table: *mut *mut jniNativeInterface,
        ) -> jvmtiError,
    >,
    pub SetEventCallbacks: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            callbacks: *const jvmtiEventCallbacks,
            size_of_callbacks: jint,
        ) -> jvmtiError,
    >,
    pub GenerateEvents: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, event_type: jvmtiEvent) -> jvmtiError,
    >,
    pub GetExtensionFunctions: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            extension_count_ptr: *mut jint,
            extensions: *mut *mut jvmtiExtensionFunctionInfo,
        ) -> jvmtiError,
    >,
    pub GetExtensionEvents: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            extension_count_ptr: *mut jint,
            extensions: *mut *mut jvmtiExtensionEventInfo,
        ) -> jvmtiError,
    >,
    pub SetExtensionEventCallback: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            extension_event_index: jint,
            callback: jvmtiExtensionEvent,
        ) -> jvmtiError,
    >,
    pub DisposeEnvironment: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv) -> jvmtiError,
    >,
    pub GetErrorName: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            error: jvmtiError,
            name_ptr: *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub GetJLocationFormat: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            format_ptr: *mut jvmtiJlocationFormat,
        ) -> jvmtiError,
    >,
    pub GetSystemProperties: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            count_ptr: *mut jint,
            property_ptr: *mut *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub GetSystemProperty: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            property: *const ::std::os::raw::c_char,
            value_ptr: *mut *mut ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub SetSystemProperty: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            property: *const ::std::os::raw::c_char,
            value_ptr: *const ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub GetPhase: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            phase_ptr: *mut jvmtiPhase,
        ) -> jvmtiError,
    >,
    pub GetCurrentThreadCpuTimerInfo: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            info_ptr: *mut jvmtiTimerInfo,
        ) -> jvmtiError,
    >,
    pub GetCurrentThreadCpuTime: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, nanos_ptr: *mut jlong) -> jvmtiError,
    >,
    pub GetThreadCpuTimerInfo: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            info_ptr: *mut jvmtiTimerInfo,
        ) -> jvmtiError,
    >,
    pub GetThreadCpuTime: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            nanos_ptr: *mut jlong,
        ) -> jvmtiError,
    >,
    pub GetTimerInfo: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            info_ptr: *mut jvmtiTimerInfo,
        ) -> jvmtiError,
    >,
    pub GetTime: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, nanos_ptr: *mut jlong) -> jvmtiError,
    >,
    pub GetPotentialCapabilities: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            capabilities_ptr: *mut jvmtiCapabilities,
        ) -> jvmtiError,
    >,
    pub reserved141: *mut ::std::os::raw::c_void,
    pub AddCapabilities: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            capabilities_ptr: *const jvmtiCapabilities,
        ) -> jvmtiError,
    >,
    pub RelinquishCapabilities: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            capabilities_ptr: *const jvmtiCapabilities,
        ) -> jvmtiError,
    >,
    pub GetAvailableProcessors: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            processor_count_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetClassVersionNumbers: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            minor_version_ptr: *mut jint,
            major_version_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    pub GetConstantPool: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            constant_pool_count_ptr: *mut jint,
            constant_pool_byte_count_ptr: *mut jint,
            constant_pool_bytes_ptr: *mut *mut ::std::os::raw::c_uchar,
        ) -> jvmtiError,
    >,
    pub GetEnvironmentLocalStorage: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            data_ptr: *mut *mut ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub SetEnvironmentLocalStorage: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            data: *const ::std::os::raw::c_void,
        ) -> jvmtiError,
    >,
    pub AddToBootstrapClassLoaderSearch: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            segment: *const ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub SetVerboseFlag: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            flag: jvmtiVerboseFlag,
            value: jboolean,
        ) -> jvmtiError,
    >,
    pub AddToSystemClassLoaderSearch: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            segment: *const ::std::os::raw::c_char,
        ) -> jvmtiError,
    >,
    pub RetransformClasses: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            class_count: jint,
            classes: *const jclass,
        ) -> jvmtiError,
    >,
    pub GetOwnedMonitorStackDepthInfo: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            monitor_info_count_ptr: *mut jint,
            monitor_info_ptr: *mut *mut jvmtiMonitorStackDepthInfo,
        ) -> jvmtiError,
    >,
    pub GetObjectSize: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            size_ptr: *mut jlong,
        ) -> jvmtiError,
    >,
    pub GetLocalInstance: ::std::option::Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            value_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    pub SetHeapSamplingInterval: ::std::option::Option<
        unsafe extern "C" fn(env: *mut jvmtiEnv, sampling_interval: jint) -> jvmtiError,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of jvmtiInterface_1_",
    ][::std::mem::size_of::<jvmtiInterface_1_>() - 1248usize];
    [
        "Alignment of jvmtiInterface_1_",
    ][::std::mem::align_of::<jvmtiInterface_1_>() - 8usize];
    [
        "Offset of field: jvmtiInterface_1_::reserved1",
    ][::std::mem::offset_of!(jvmtiInterface_1_, reserved1) - 0usize];
    [
        "Offset of field: jvmtiInterface_1_::SetEventNotificationMode",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetEventNotificationMode) - 8usize];
    [
        "Offset of field: jvmtiInterface_1_::GetAllModules",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetAllModules) - 16usize];
    [
        "Offset of field: jvmtiInterface_1_::GetAllThreads",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetAllThreads) - 24usize];
    [
        "Offset of field: jvmtiInterface_1_::SuspendThread",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SuspendThread) - 32usize];
    [
        "Offset of field: jvmtiInterface_1_::ResumeThread",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ResumeThread) - 40usize];
    [
        "Offset of field: jvmtiInterface_1_::StopThread",
    ][::std::mem::offset_of!(jvmtiInterface_1_, StopThread) - 48usize];
    [
        "Offset of field: jvmtiInterface_1_::InterruptThread",
    ][::std::mem::offset_of!(jvmtiInterface_1_, InterruptThread) - 56usize];
    [
        "Offset of field: jvmtiInterface_1_::GetThreadInfo",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetThreadInfo) - 64usize];
    [
        "Offset of field: jvmtiInterface_1_::GetOwnedMonitorInfo",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetOwnedMonitorInfo) - 72usize];
    [
        "Offset of field: jvmtiInterface_1_::GetCurrentContendedMonitor",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetCurrentContendedMonitor) - 80usize];
    [
        "Offset of field: jvmtiInterface_1_::RunAgentThread",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RunAgentThread) - 88usize];
    [
        "Offset of field: jvmtiInterface_1_::GetTopThreadGroups",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetTopThreadGroups) - 96usize];
    [
        "Offset of field: jvmtiInterface_1_::GetThreadGroupInfo",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetThreadGroupInfo) - 104usize];
    [
        "Offset of field: jvmtiInterface_1_::GetThreadGroupChildren",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetThreadGroupChildren) - 112usize];
    [
        "Offset of field: jvmtiInterface_1_::GetFrameCount",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetFrameCount) - 120usize];
    [
        "Offset of field: jvmtiInterface_1_::GetThreadState",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetThreadState) - 128usize];
    [
        "Offset of field: jvmtiInterface_1_::GetCurrentThread",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetCurrentThread) - 136usize];
    [
        "Offset of field: jvmtiInterface_1_::GetFrameLocation",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetFrameLocation) - 144usize];
    [
        "Offset of field: jvmtiInterface_1_::NotifyFramePop",
    ][::std::mem::offset_of!(jvmtiInterface_1_, NotifyFramePop) - 152usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLocalObject",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLocalObject) - 160usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLocalInt",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLocalInt) - 168usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLocalLong",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLocalLong) - 176usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLocalFloat",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLocalFloat) - 184usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLocalDouble",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLocalDouble) - 192usize];
    [
        "Offset of field: jvmtiInterface_1_::SetLocalObject",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetLocalObject) - 200usize];
    [
        "Offset of field: jvmtiInterface_1_::SetLocalInt",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetLocalInt) - 208usize];
    [
        "Offset of field: jvmtiInterface_1_::SetLocalLong",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetLocalLong) - 216usize];
    [
        "Offset of field: jvmtiInterface_1_::SetLocalFloat",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetLocalFloat) - 224usize];
    [
        "Offset of field: jvmtiInterface_1_::SetLocalDouble",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetLocalDouble) - 232usize];
    [
        "Offset of field: jvmtiInterface_1_::CreateRawMonitor",
    ][::std::mem::offset_of!(jvmtiInterface_1_, CreateRawMonitor) - 240usize];
    [
        "Offset of field: jvmtiInterface_1_::DestroyRawMonitor",
    ][::std::mem::offset_of!(jvmtiInterface_1_, DestroyRawMonitor) - 248usize];
    [
        "Offset of field: jvmtiInterface_1_::RawMonitorEnter",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RawMonitorEnter) - 256usize];
    [
        "Offset of field: jvmtiInterface_1_::RawMonitorExit",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RawMonitorExit) - 264usize];
    [
        "Offset of field: jvmtiInterface_1_::RawMonitorWait",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RawMonitorWait) - 272usize];
    [
        "Offset of field: jvmtiInterface_1_::RawMonitorNotify",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RawMonitorNotify) - 280usize];
    [
        "Offset of field: jvmtiInterface_1_::RawMonitorNotifyAll",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RawMonitorNotifyAll) - 288usize];
    [
        "Offset of field: jvmtiInterface_1_::SetBreakpoint",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetBreakpoint) - 296usize];
    [
        "Offset of field: jvmtiInterface_1_::ClearBreakpoint",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ClearBreakpoint) - 304usize];
    [
        "Offset of field: jvmtiInterface_1_::GetNamedModule",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetNamedModule) - 312usize];
    [
        "Offset of field: jvmtiInterface_1_::SetFieldAccessWatch",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetFieldAccessWatch) - 320usize];
    [
        "Offset of field: jvmtiInterface_1_::ClearFieldAccessWatch",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ClearFieldAccessWatch) - 328usize];
    [
        "Offset of field: jvmtiInterface_1_::SetFieldModificationWatch",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetFieldModificationWatch) - 336usize];
    [
        "Offset of field: jvmtiInterface_1_::ClearFieldModificationWatch",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ClearFieldModificationWatch) - 344usize];
    [
        "Offset of field: jvmtiInterface_1_::IsModifiableClass",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IsModifiableClass) - 352usize];
    [
        "Offset of field: jvmtiInterface_1_::Allocate",
    ][::std::mem::offset_of!(jvmtiInterface_1_, Allocate) - 360usize];
    [
        "Offset of field: jvmtiInterface_1_::Deallocate",
    ][::std::mem::offset_of!(jvmtiInterface_1_, Deallocate) - 368usize];
    [
        "Offset of field: jvmtiInterface_1_::GetClassSignature",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetClassSignature) - 376usize];
    [
        "Offset of field: jvmtiInterface_1_::GetClassStatus",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetClassStatus) - 384usize];
    [
        "Offset of field: jvmtiInterface_1_::GetSourceFileName",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetSourceFileName) - 392usize];
    [
        "Offset of field: jvmtiInterface_1_::GetClassModifiers",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetClassModifiers) - 400usize];
    [
        "Offset of field: jvmtiInterface_1_::GetClassMethods",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetClassMethods) - 408usize];
    [
        "Offset of field: jvmtiInterface_1_::GetClassFields",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetClassFields) - 416usize];
    [
        "Offset of field: jvmtiInterface_1_::GetImplementedInterfaces",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetImplementedInterfaces) - 424usize];
    [
        "Offset of field: jvmtiInterface_1_::IsInterface",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IsInterface) - 432usize];
    [
        "Offset of field: jvmtiInterface_1_::IsArrayClass",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IsArrayClass) - 440usize];
    [
        "Offset of field: jvmtiInterface_1_::GetClassLoader",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetClassLoader) - 448usize];
    [
        "Offset of field: jvmtiInterface_1_::GetObjectHashCode",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetObjectHashCode) - 456usize];
    [
        "Offset of field: jvmtiInterface_1_::GetObjectMonitorUsage",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetObjectMonitorUsage) - 464usize];
    [
        "Offset of field: jvmtiInterface_1_::GetFieldName",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetFieldName) - 472usize];
    [
        "Offset of field: jvmtiInterface_1_::GetFieldDeclaringClass",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetFieldDeclaringClass) - 480usize];
    [
        "Offset of field: jvmtiInterface_1_::GetFieldModifiers",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetFieldModifiers) - 488usize];
    [
        "Offset of field: jvmtiInterface_1_::IsFieldSynthetic",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IsFieldSynthetic) - 496usize];
    [
        "Offset of field: jvmtiInterface_1_::GetMethodName",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetMethodName) - 504usize];
    [
        "Offset of field: jvmtiInterface_1_::GetMethodDeclaringClass",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetMethodDeclaringClass) - 512usize];
    [
        "Offset of field: jvmtiInterface_1_::GetMethodModifiers",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetMethodModifiers) - 520usize];
    [
        "Offset of field: jvmtiInterface_1_::ClearAllFramePops",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ClearAllFramePops) - 528usize];
    [
        "Offset of field: jvmtiInterface_1_::GetMaxLocals",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetMaxLocals) - 536usize];
    [
        "Offset of field: jvmtiInterface_1_::GetArgumentsSize",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetArgumentsSize) - 544usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLineNumberTable",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLineNumberTable) - 552usize];
    [
        "Offset of field: jvmtiInterface_1_::GetMethodLocation",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetMethodLocation) - 560usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLocalVariableTable",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLocalVariableTable) - 568usize];
    [
        "Offset of field: jvmtiInterface_1_::SetNativeMethodPrefix",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetNativeMethodPrefix) - 576usize];
    [
        "Offset of field: jvmtiInterface_1_::SetNativeMethodPrefixes",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetNativeMethodPrefixes) - 584usize];
    [
        "Offset of field: jvmtiInterface_1_::GetBytecodes",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetBytecodes) - 592usize];
    [
        "Offset of field: jvmtiInterface_1_::IsMethodNative",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IsMethodNative) - 600usize];
    [
        "Offset of field: jvmtiInterface_1_::IsMethodSynthetic",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IsMethodSynthetic) - 608usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLoadedClasses",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLoadedClasses) - 616usize];
    [
        "Offset of field: jvmtiInterface_1_::GetClassLoaderClasses",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetClassLoaderClasses) - 624usize];
    [
        "Offset of field: jvmtiInterface_1_::PopFrame",
    ][::std::mem::offset_of!(jvmtiInterface_1_, PopFrame) - 632usize];
    [
        "Offset of field: jvmtiInterface_1_::ForceEarlyReturnObject",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ForceEarlyReturnObject) - 640usize];
    [
        "Offset of field: jvmtiInterface_1_::ForceEarlyReturnInt",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ForceEarlyReturnInt) - 648usize];
    [
        "Offset of field: jvmtiInterface_1_::ForceEarlyReturnLong",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ForceEarlyReturnLong) - 656usize];
    [
        "Offset of field: jvmtiInterface_1_::ForceEarlyReturnFloat",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ForceEarlyReturnFloat) - 664usize];
    [
        "Offset of field: jvmtiInterface_1_::ForceEarlyReturnDouble",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ForceEarlyReturnDouble) - 672usize];
    [
        "Offset of field: jvmtiInterface_1_::ForceEarlyReturnVoid",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ForceEarlyReturnVoid) - 680usize];
    [
        "Offset of field: jvmtiInterface_1_::RedefineClasses",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RedefineClasses) - 688usize];
    [
        "Offset of field: jvmtiInterface_1_::GetVersionNumber",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetVersionNumber) - 696usize];
    [
        "Offset of field: jvmtiInterface_1_::GetCapabilities",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetCapabilities) - 704usize];
    [
        "Offset of field: jvmtiInterface_1_::GetSourceDebugExtension",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetSourceDebugExtension) - 712usize];
    [
        "Offset of field: jvmtiInterface_1_::IsMethodObsolete",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IsMethodObsolete) - 720usize];
    [
        "Offset of field: jvmtiInterface_1_::SuspendThreadList",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SuspendThreadList) - 728usize];
    [
        "Offset of field: jvmtiInterface_1_::ResumeThreadList",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ResumeThreadList) - 736usize];
    [
        "Offset of field: jvmtiInterface_1_::AddModuleReads",
    ][::std::mem::offset_of!(jvmtiInterface_1_, AddModuleReads) - 744usize];
    [
        "Offset of field: jvmtiInterface_1_::AddModuleExports",
    ][::std::mem::offset_of!(jvmtiInterface_1_, AddModuleExports) - 752usize];
    [
        "Offset of field: jvmtiInterface_1_::AddModuleOpens",
    ][::std::mem::offset_of!(jvmtiInterface_1_, AddModuleOpens) - 760usize];
    [
        "Offset of field: jvmtiInterface_1_::AddModuleUses",
    ][::std::mem::offset_of!(jvmtiInterface_1_, AddModuleUses) - 768usize];
    [
        "Offset of field: jvmtiInterface_1_::AddModuleProvides",
    ][::std::mem::offset_of!(jvmtiInterface_1_, AddModuleProvides) - 776usize];
    [
        "Offset of field: jvmtiInterface_1_::IsModifiableModule",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IsModifiableModule) - 784usize];
    [
        "Offset of field: jvmtiInterface_1_::GetAllStackTraces",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetAllStackTraces) - 792usize];
    [
        "Offset of field: jvmtiInterface_1_::GetThreadListStackTraces",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetThreadListStackTraces) - 800usize];
    [
        "Offset of field: jvmtiInterface_1_::GetThreadLocalStorage",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetThreadLocalStorage) - 808usize];
    [
        "Offset of field: jvmtiInterface_1_::SetThreadLocalStorage",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetThreadLocalStorage) - 816usize];
    [
        "Offset of field: jvmtiInterface_1_::GetStackTrace",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetStackTrace) - 824usize];
    [
        "Offset of field: jvmtiInterface_1_::reserved105",
    ][::std::mem::offset_of!(jvmtiInterface_1_, reserved105) - 832usize];
    [
        "Offset of field: jvmtiInterface_1_::GetTag",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetTag) - 840usize];
    [
        "Offset of field: jvmtiInterface_1_::SetTag",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetTag) - 848usize];
    [
        "Offset of field: jvmtiInterface_1_::ForceGarbageCollection",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ForceGarbageCollection) - 856usize];
    [
        "Offset of field: jvmtiInterface_1_::IterateOverObjectsReachableFromObject",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IterateOverObjectsReachableFromObject)
        - 864usize];
    [
        "Offset of field: jvmtiInterface_1_::IterateOverReachableObjects",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IterateOverReachableObjects) - 872usize];
    [
        "Offset of field: jvmtiInterface_1_::IterateOverHeap",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IterateOverHeap) - 880usize];
    [
        "Offset of field: jvmtiInterface_1_::IterateOverInstancesOfClass",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IterateOverInstancesOfClass) - 888usize];
    [
        "Offset of field: jvmtiInterface_1_::reserved113",
    ][::std::mem::offset_of!(jvmtiInterface_1_, reserved113) - 896usize];
    [
        "Offset of field: jvmtiInterface_1_::GetObjectsWithTags",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetObjectsWithTags) - 904usize];
    [
        "Offset of field: jvmtiInterface_1_::FollowReferences",
    ][::std::mem::offset_of!(jvmtiInterface_1_, FollowReferences) - 912usize];
    [
        "Offset of field: jvmtiInterface_1_::IterateThroughHeap",
    ][::std::mem::offset_of!(jvmtiInterface_1_, IterateThroughHeap) - 920usize];
    [
        "Offset of field: jvmtiInterface_1_::reserved117",
    ][::std::mem::offset_of!(jvmtiInterface_1_, reserved117) - 928usize];
    [
        "Offset of field: jvmtiInterface_1_::SuspendAllVirtualThreads",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SuspendAllVirtualThreads) - 936usize];
    [
        "Offset of field: jvmtiInterface_1_::ResumeAllVirtualThreads",
    ][::std::mem::offset_of!(jvmtiInterface_1_, ResumeAllVirtualThreads) - 944usize];
    [
        "Offset of field: jvmtiInterface_1_::SetJNIFunctionTable",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetJNIFunctionTable) - 952usize];
    [
        "Offset of field: jvmtiInterface_1_::GetJNIFunctionTable",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetJNIFunctionTable) - 960usize];
    [
        "Offset of field: jvmtiInterface_1_::SetEventCallbacks",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetEventCallbacks) - 968usize];
    [
        "Offset of field: jvmtiInterface_1_::GenerateEvents",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GenerateEvents) - 976usize];
    [
        "Offset of field: jvmtiInterface_1_::GetExtensionFunctions",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetExtensionFunctions) - 984usize];
    [
        "Offset of field: jvmtiInterface_1_::GetExtensionEvents",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetExtensionEvents) - 992usize];
    [
        "Offset of field: jvmtiInterface_1_::SetExtensionEventCallback",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetExtensionEventCallback) - 1000usize];
    [
        "Offset of field: jvmtiInterface_1_::DisposeEnvironment",
    ][::std::mem::offset_of!(jvmtiInterface_1_, DisposeEnvironment) - 1008usize];
    [
        "Offset of field: jvmtiInterface_1_::GetErrorName",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetErrorName) - 1016usize];
    [
        "Offset of field: jvmtiInterface_1_::GetJLocationFormat",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetJLocationFormat) - 1024usize];
    [
        "Offset of field: jvmtiInterface_1_::GetSystemProperties",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetSystemProperties) - 1032usize];
    [
        "Offset of field: jvmtiInterface_1_::GetSystemProperty",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetSystemProperty) - 1040usize];
    [
        "Offset of field: jvmtiInterface_1_::SetSystemProperty",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetSystemProperty) - 1048usize];
    [
        "Offset of field: jvmtiInterface_1_::GetPhase",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetPhase) - 1056usize];
    [
        "Offset of field: jvmtiInterface_1_::GetCurrentThreadCpuTimerInfo",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetCurrentThreadCpuTimerInfo)
        - 1064usize];
    [
        "Offset of field: jvmtiInterface_1_::GetCurrentThreadCpuTime",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetCurrentThreadCpuTime) - 1072usize];
    [
        "Offset of field: jvmtiInterface_1_::GetThreadCpuTimerInfo",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetThreadCpuTimerInfo) - 1080usize];
    [
        "Offset of field: jvmtiInterface_1_::GetThreadCpuTime",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetThreadCpuTime) - 1088usize];
    [
        "Offset of field: jvmtiInterface_1_::GetTimerInfo",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetTimerInfo) - 1096usize];
    [
        "Offset of field: jvmtiInterface_1_::GetTime",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetTime) - 1104usize];
    [
        "Offset of field: jvmtiInterface_1_::GetPotentialCapabilities",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetPotentialCapabilities) - 1112usize];
    [
        "Offset of field: jvmtiInterface_1_::reserved141",
    ][::std::mem::offset_of!(jvmtiInterface_1_, reserved141) - 1120usize];
    [
        "Offset of field: jvmtiInterface_1_::AddCapabilities",
    ][::std::mem::offset_of!(jvmtiInterface_1_, AddCapabilities) - 1128usize];
    [
        "Offset of field: jvmtiInterface_1_::RelinquishCapabilities",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RelinquishCapabilities) - 1136usize];
    [
        "Offset of field: jvmtiInterface_1_::GetAvailableProcessors",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetAvailableProcessors) - 1144usize];
    [
        "Offset of field: jvmtiInterface_1_::GetClassVersionNumbers",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetClassVersionNumbers) - 1152usize];
    [
        "Offset of field: jvmtiInterface_1_::GetConstantPool",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetConstantPool) - 1160usize];
    [
        "Offset of field: jvmtiInterface_1_::GetEnvironmentLocalStorage",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetEnvironmentLocalStorage) - 1168usize];
    [
        "Offset of field: jvmtiInterface_1_::SetEnvironmentLocalStorage",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetEnvironmentLocalStorage) - 1176usize];
    [
        "Offset of field: jvmtiInterface_1_::AddToBootstrapClassLoaderSearch",
    ][::std::mem::offset_of!(jvmtiInterface_1_, AddToBootstrapClassLoaderSearch)
        - 1184usize];
    [
        "Offset of field: jvmtiInterface_1_::SetVerboseFlag",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetVerboseFlag) - 1192usize];
    [
        "Offset of field: jvmtiInterface_1_::AddToSystemClassLoaderSearch",
    ][::std::mem::offset_of!(jvmtiInterface_1_, AddToSystemClassLoaderSearch)
        - 1200usize];
    [
        "Offset of field: jvmtiInterface_1_::RetransformClasses",
    ][::std::mem::offset_of!(jvmtiInterface_1_, RetransformClasses) - 1208usize];
    [
        "Offset of field: jvmtiInterface_1_::GetOwnedMonitorStackDepthInfo",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetOwnedMonitorStackDepthInfo)
        - 1216usize];
    [
        "Offset of field: jvmtiInterface_1_::GetObjectSize",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetObjectSize) - 1224usize];
    [
        "Offset of field: jvmtiInterface_1_::GetLocalInstance",
    ][::std::mem::offset_of!(jvmtiInterface_1_, GetLocalInstance) - 1232usize];
    [
        "Offset of field: jvmtiInterface_1_::SetHeapSamplingInterval",
    ][::std::mem::offset_of!(jvmtiInterface_1_, SetHeapSamplingInterval) - 1240usize];
};
impl Default for jvmtiInterface_1_ {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub type jvmtiInterface_1 = jvmtiInterface_1_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct _jvmtiEnv {
    pub functions: *const jvmtiInterface_1_,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of _jvmtiEnv"][::std::mem::size_of::<_jvmtiEnv>() - 8usize];
    ["Alignment of _jvmtiEnv"][::std::mem::align_of::<_jvmtiEnv>() - 8usize];
    [
        "Offset of field: _jvmtiEnv::functions",
    ][::std::mem::offset_of!(_jvmtiEnv, functions) - 0usize];
};
impl Default for _jvmtiEnv {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const JVMTI_CMLR_MAJOR_VERSION_1: _bindgen_ty_12 = 1;
pub const JVMTI_CMLR_MINOR_VERSION_0: _bindgen_ty_12 = 0;
pub const JVMTI_CMLR_MAJOR_VERSION: _bindgen_ty_12 = 1;
pub const JVMTI_CMLR_MINOR_VERSION: _bindgen_ty_12 = 0;
pub type _bindgen_ty_12 = ::std::os::raw::c_uint;
pub const JVMTI_CMLR_DUMMY: jvmtiCMLRKind = 1;
pub const JVMTI_CMLR_INLINE_INFO: jvmtiCMLRKind = 2;
pub type jvmtiCMLRKind = ::std::os::raw::c_uint;
#[repr(C)]
pub struct _jvmtiCompiledMethodLoadRecordHeader {
    pub kind: jvmtiCMLRKind,
    pub majorinfoversion: jint,
    pub minorinfoversion: jint,
    pub next: *mut _jvmtiCompiledMethodLoadRecordHeader,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of _jvmtiCompiledMethodLoadRecordHeader",
    ][::std::mem::size_of::<_jvmtiCompiledMethodLoadRecordHeader>() - 24usize];
    [
        "Alignment of _jvmtiCompiledMethodLoadRecordHeader",
    ][::std::mem::align_of::<_jvmtiCompiledMethodLoadRecordHeader>() - 8usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadRecordHeader::kind",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadRecordHeader, kind) - 0usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadRecordHeader::majorinfoversion",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadRecordHeader, majorinfoversion)
        - 4usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadRecordHeader::minorinfoversion",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadRecordHeader, minorinfoversion)
        - 8usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadRecordHeader::next",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadRecordHeader, next) - 16usize];
};
impl Default for _jvmtiCompiledMethodLoadRecordHeader {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub type jvmtiCompiledMethodLoadRecordHeader = _jvmtiCompiledMethodLoadRecordHeader;
#[repr(C)]
pub struct _PCStackInfo {
    pub pc: *mut ::std::os::raw::c_void,
    pub numstackframes: jint,
    pub methods: *mut jmethodID,
    pub bcis: *mut jint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of _PCStackInfo"][::std::mem::size_of::<_PCStackInfo>() - 32usize];
    ["Alignment of _PCStackInfo"][::std::mem::align_of::<_PCStackInfo>() - 8usize];
    [
        "Offset of field: _PCStackInfo::pc",
    ][::std::mem::offset_of!(_PCStackInfo, pc) - 0usize];
    [
        "Offset of field: _PCStackInfo::numstackframes",
    ][::std::mem::offset_of!(_PCStackInfo, numstackframes) - 8usize];
    [
        "Offset of field: _PCStackInfo::methods",
    ][::std::mem::offset_of!(_PCStackInfo, methods) - 16usize];
    [
        "Offset of field: _PCStackInfo::bcis",
    ][::std::mem::offset_of!(_PCStackInfo, bcis) - 24usize];
};
impl Default for _PCStackInfo {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub type PCStackInfo = _PCStackInfo;
#[repr(C)]
pub struct _jvmtiCompiledMethodLoadInlineRecord {
    pub header: jvmtiCompiledMethodLoadRecordHeader,
    pub numpcs: jint,
    pub pcinfo: *mut PCStackInfo,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of _jvmtiCompiledMethodLoadInlineRecord",
    ][::std::mem::size_of::<_jvmtiCompiledMethodLoadInlineRecord>() - 40usize];
    [
        "Alignment of _jvmtiCompiledMethodLoadInlineRecord",
    ][::std::mem::align_of::<_jvmtiCompiledMethodLoadInlineRecord>() - 8usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadInlineRecord::header",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadInlineRecord, header) - 0usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadInlineRecord::numpcs",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadInlineRecord, numpcs) - 24usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadInlineRecord::pcinfo",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadInlineRecord, pcinfo) - 32usize];
};
impl Default for _jvmtiCompiledMethodLoadInlineRecord {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub type jvmtiCompiledMethodLoadInlineRecord = _jvmtiCompiledMethodLoadInlineRecord;
#[repr(C)]
pub struct _jvmtiCompiledMethodLoadDummyRecord {
    pub header: jvmtiCompiledMethodLoadRecordHeader,
    pub message: [::std::os::raw::c_char; 50usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of _jvmtiCompiledMethodLoadDummyRecord",
    ][::std::mem::size_of::<_jvmtiCompiledMethodLoadDummyRecord>() - 80usize];
    [
        "Alignment of _jvmtiCompiledMethodLoadDummyRecord",
    ][::std::mem::align_of::<_jvmtiCompiledMethodLoadDummyRecord>() - 8usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadDummyRecord::header",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadDummyRecord, header) - 0usize];
    [
        "Offset of field: _jvmtiCompiledMethodLoadDummyRecord::message",
    ][::std::mem::offset_of!(_jvmtiCompiledMethodLoadDummyRecord, message) - 24usize];
};
impl Default for _jvmtiCompiledMethodLoadDummyRecord {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub type jvmtiCompiledMethodLoadDummyRecord = _jvmtiCompiledMethodLoadDummyRecord;
pub type __builtin_va_list = [__va_list_tag; 1usize];
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct __va_list_tag {
    pub gp_offset: ::std::os::raw::c_uint,
    pub fp_offset: ::std::os::raw::c_uint,
    pub overflow_arg_area: *mut ::std::os::raw::c_void,
    pub reg_save_area: *mut ::std::os::raw::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of __va_list_tag"][::std::mem::size_of::<__va_list_tag>() - 24usize];
    ["Alignment of __va_list_tag"][::std::mem::align_of::<__va_list_tag>() - 8usize];
    [
        "Offset of field: __va_list_tag::gp_offset",
    ][::std::mem::offset_of!(__va_list_tag, gp_offset) - 0usize];
    [
        "Offset of field: __va_list_tag::fp_offset",
    ][::std::mem::offset_of!(__va_list_tag, fp_offset) - 4usize];
    [
        "Offset of field: __va_list_tag::overflow_arg_area",
    ][::std::mem::offset_of!(__va_list_tag, overflow_arg_area) - 8usize];
    [
        "Offset of field: __va_list_tag::reg_save_area",
    ][::std::mem::offset_of!(__va_list_tag, reg_save_area) - 16usize];
};
impl Default for __va_list_tag {
    fn default() -> Self {
        let mut s = ::std::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::std::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

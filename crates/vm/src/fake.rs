//! A VM of a few functions, for tests: it counts references, and throws when told to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use hprof_native_headers as raw;
use jni_sys::{
    JNI_OK, JNIEnv, JNIInvokeInterface_, JNINativeInterface_, JavaVM, jboolean, jclass, jint,
    jmethodID, jobject, jstring, jvalue,
};

use super::{Jni, Jvmti};

/// The actions of the VM of the current thread.
#[derive(Default)]
pub(crate) struct State {
    /// The text of the exception that is pending.
    pub(crate) pending: Option<&'static CStr>,
    /// The result of `toString`: the text of the exception that was taken last.
    taken: Option<&'static CStr>,
    /// The exception that a look-up of a method throws.
    pub(crate) no_method: Option<&'static CStr>,
    /// Live references, by their kind.
    pub(crate) live: BTreeMap<usize, Kind>,
    next: usize,
    /// Live references when each frame began.
    frames: Vec<usize>,
    /// How often an environment was disposed of.
    pub(crate) disposed: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Local,
    Global,
    Weak,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Looks at the VM of the current thread, or tells it something.
pub(crate) fn with_state<T>(body: impl FnOnce(&mut State) -> T) -> T {
    STATE.with(|state| body(&mut state.borrow_mut()))
}

fn make(kind: Kind) -> jobject {
    with_state(|state| {
        state.next += 8;
        state.live.insert(state.next, kind);
        state.next as jobject
    })
}

fn delete(reference: jobject, kind: Kind) {
    let known = with_state(|state| state.live.remove(&(reference as usize)));
    assert_eq!(known, Some(kind), "deleted twice, or of another kind");
}

unsafe extern "system" fn find_class(_: *mut JNIEnv, _: *const c_char) -> jclass {
    make(Kind::Local)
}

unsafe extern "system" fn method_id(
    _: *mut JNIEnv,
    _: jclass,
    name: *const c_char,
    _: *const c_char,
) -> jmethodID {
    // SAFETY: the wrappers pass C strings.
    let is_text = unsafe { CStr::from_ptr(name) } == c"toString";
    with_state(|state| match state.no_method {
        Some(text) if !is_text => {
            state.pending = Some(text);
            ptr::null_mut()
        }
        _ => 8 as jmethodID,
    })
}

unsafe extern "system" fn exception_check(_: *mut JNIEnv) -> jboolean {
    with_state(|state| state.pending.is_some())
}

unsafe extern "system" fn exception_occurred(_: *mut JNIEnv) -> jobject {
    match with_state(|state| state.pending) {
        Some(text) => {
            with_state(|state| state.taken = Some(text));
            make(Kind::Local)
        }
        None => ptr::null_mut(),
    }
}

unsafe extern "system" fn exception_clear(_: *mut JNIEnv) {
    with_state(|state| state.pending = None);
}

unsafe extern "system" fn call_object(
    _: *mut JNIEnv,
    _: jobject,
    _: jmethodID,
    _: *const jvalue,
) -> jobject {
    make(Kind::Local)
}

unsafe extern "system" fn string_chars(
    _: *mut JNIEnv,
    _: jstring,
    _: *mut jboolean,
) -> *const c_char {
    with_state(|state| state.taken.map_or(ptr::null(), CStr::as_ptr))
}

unsafe extern "system" fn release_chars(_: *mut JNIEnv, _: jstring, _: *const c_char) {}

unsafe extern "system" fn delete_local(_: *mut JNIEnv, reference: jobject) {
    delete(reference, Kind::Local);
}

unsafe extern "system" fn new_global(_: *mut JNIEnv, _: jobject) -> jobject {
    make(Kind::Global)
}

unsafe extern "system" fn delete_global(_: *mut JNIEnv, reference: jobject) {
    delete(reference, Kind::Global);
}

unsafe extern "system" fn new_weak(_: *mut JNIEnv, _: jobject) -> jobject {
    make(Kind::Weak)
}

unsafe extern "system" fn delete_weak(_: *mut JNIEnv, reference: jobject) {
    delete(reference, Kind::Weak);
}

unsafe extern "system" fn push_frame(_: *mut JNIEnv, _: jint) -> jint {
    with_state(|state| state.frames.push(state.next));
    JNI_OK
}

unsafe extern "system" fn pop_frame(_: *mut JNIEnv, _: jobject) -> jobject {
    with_state(|state| {
        let start = state.frames.pop().expect("a frame");
        let left = state.live.iter();
        let left = left.filter(|&(&it, &kind)| it > start && kind == Kind::Local);
        // A reference whose owner could not be made is the frame's own.
        let owned = if std::thread::panicking() {
            0
        } else {
            left.count()
        };
        assert_eq!(owned, 0, "a reference outlives its frame");
    });
    ptr::null_mut()
}

unsafe extern "system" fn java_vm(_: *mut JNIEnv, vm: *mut *mut JavaVM) -> jint {
    let mut table = Box::new(MaybeUninit::<JNIInvokeInterface_>::zeroed());
    // SAFETY: the place of a function in the table; nothing is read there.
    unsafe { (*table.as_mut_ptr()).v1_2.GetEnv = get_env };
    let table: *const JNIInvokeInterface_ = Box::leak(table).as_ptr();
    // SAFETY: the wrapper passes a place for the result.
    unsafe { *vm = Box::leak(Box::new(table)) };
    JNI_OK
}

unsafe extern "system" fn get_env(_: *mut JavaVM, env: *mut *mut c_void, _: jint) -> jint {
    // SAFETY: the wrapper passes a place for the result.
    unsafe { *env = jni().as_raw().cast() };
    JNI_OK
}

/// The environment of the current thread.
pub(crate) fn jni() -> Jni {
    let mut table = Box::new(MaybeUninit::<JNINativeInterface_>::zeroed());
    let functions = table.as_mut_ptr();
    // SAFETY: places of functions in the table; nothing is read there.
    unsafe {
        (*functions).v1_2.FindClass = find_class;
        (*functions).v1_2.NewStringUTF = find_class;
        (*functions).v1_2.GetMethodID = method_id;
        (*functions).v1_2.GetStaticMethodID = method_id;
        (*functions).v1_2.ExceptionCheck = exception_check;
        (*functions).v1_2.ExceptionOccurred = exception_occurred;
        (*functions).v1_2.ExceptionClear = exception_clear;
        (*functions).v1_2.CallObjectMethodA = call_object;
        (*functions).v1_2.GetStringUTFChars = string_chars;
        (*functions).v1_2.ReleaseStringUTFChars = release_chars;
        (*functions).v1_2.DeleteLocalRef = delete_local;
        (*functions).v1_2.NewGlobalRef = new_global;
        (*functions).v1_2.DeleteGlobalRef = delete_global;
        (*functions).v1_2.NewWeakGlobalRef = new_weak;
        (*functions).v1_2.DeleteWeakGlobalRef = delete_weak;
        (*functions).v1_2.PushLocalFrame = push_frame;
        (*functions).v1_2.PopLocalFrame = pop_frame;
        (*functions).v1_2.GetJavaVM = java_vm;
    }
    let table: *const JNINativeInterface_ = Box::leak(table).as_ptr();
    // SAFETY: the table has what the tests call, and lives for ever.
    unsafe { Jni::new(Box::leak(Box::new(table))) }
}

unsafe extern "C" fn dispose(_: *mut raw::jvmtiEnv) -> raw::jvmtiError {
    with_state(|state| state.disposed += 1);
    raw::JVMTI_ERROR_NONE
}

unsafe extern "C" fn collect(_: *mut raw::jvmtiEnv) -> raw::jvmtiError {
    raw::JVMTI_ERROR_NONE
}

/// An environment that can collect garbage, and be disposed of.
pub(crate) fn jvmti() -> Jvmti {
    let table = raw::jvmtiInterface_1_ {
        DisposeEnvironment: Some(dispose),
        ForceGarbageCollection: Some(collect),
        // SAFETY: a table of pointers to functions that may all be missing.
        ..unsafe { MaybeUninit::zeroed().assume_init() }
    };
    let table: raw::jvmtiEnv = Box::leak(Box::new(table));
    // SAFETY: the table has what the tests call, and lives for ever.
    unsafe { Jvmti::from_raw(Box::leak(Box::new(table))) }
}

//! Virtual threads (JEP 444): HotSpot's mount events have the CPU time of a call go with its thread from carrier to carrier.

use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jobject};

use super::SlowCalls;
use super::memory::Memory;
use crate::os::timer::current_cpu_nanos;
use crate::vm::{Jni, Ref};

const MOUNT: &str = "com.sun.hotspot.events.VirtualThreadMount";
const UNMOUNT: &str = "com.sun.hotspot.events.VirtualThreadUnmount";

type MountEvent = unsafe extern "C" fn(*mut raw::jvmtiEnv, *mut JNIEnv, jobject);

/// Enables the events. Before JDK 21 there are none, and no virtual threads either.
pub(super) fn enable(slow: &SlowCalls) {
    // SAFETY: the VM calls an extension event's callback with the parameters it declares; these two declare JNIEnv and thread
    // (jvmtiExtensions.cpp).
    let (mounted, unmounted) = unsafe {
        (
            std::mem::transmute::<MountEvent, raw::jvmtiExtensionEvent>(mount),
            std::mem::transmute::<MountEvent, raw::jvmtiExtensionEvent>(unmount),
        )
    };
    let _ = slow.jvmti.set_extension_event(MOUNT, mounted);
    let _ = slow.jvmti.set_extension_event(UNMOUNT, unmounted);
}

unsafe extern "C" fn mount(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    // SAFETY: the parameters of this callback.
    unsafe {
        with_id(jni, thread, |memory, tid| {
            memory.mount(tid, current_cpu_nanos)
        })
    };
}

unsafe extern "C" fn unmount(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    // SAFETY: the parameters of this callback.
    unsafe {
        with_id(jni, thread, |memory, tid| {
            memory.unmount(tid, current_cpu_nanos)
        })
    };
}

/// Runs the body of a callback with the id of a thread.
///
/// # Safety
/// The arguments are parameters of the callback that runs.
unsafe fn with_id(jni: *mut JNIEnv, thread: jobject, body: impl FnOnce(&Memory, u64)) {
    SlowCalls::callback(|slow| {
        // SAFETY: by the caller's promise.
        let (jni, thread) = unsafe { (Jni::new(jni), Ref::from_raw(thread)) };
        if let Some(thread) = thread {
            body(slow.memory, slow.thread_id(&jni, thread));
        }
    });
}

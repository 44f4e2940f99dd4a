//! The native methods of the hook class.

use std::ffi::{CStr, c_void};

use jni_sys::{JNIEnv, jclass, jint, jlong, jobject};

use super::counter::CALLS;
use crate::vm::{Jni, NativeMethod, Ref, guard};
use hprof_lockfree::nodes::NodeNumber;

pub(super) fn natives() -> [NativeMethod; 3] {
    let native =
        |name: &'static CStr, signature: &'static CStr, function: *mut c_void| NativeMethod {
            name,
            signature,
            function,
        };
    [
        native(
            c"attach",
            c"(Ljava/lang/Thread;)J",
            attach as *const () as *mut c_void,
        ),
        native(c"root", c"()J", root as *const () as *mut c_void),
        native(c"find", c"(JI)J", find as *const () as *mut c_void),
    ]
}

/// The value of `HprofHooks.VIRTUAL`.
pub(super) const VIRTUAL: jlong = -1;

unsafe extern "system" fn attach(env: *mut JNIEnv, _class: jclass, thread: jobject) -> jlong {
    let Some(calls) = CALLS.get() else {
        return VIRTUAL;
    };
    guard(calls.shared_state, || {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(env) };
        let Some(java) = calls.java.get() else {
            return VIRTUAL;
        };
        // SAFETY: the parameter of this native method.
        let Some(thread) = (unsafe { Ref::from_raw(thread) }) else {
            return VIRTUAL;
        };
        if java.is_virtual(&jni, thread) {
            return VIRTUAL;
        }
        // SAFETY: the call has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        // SAFETY: the method's descriptor says that it is a thread.
        let vm_thread = unsafe { java.vm_thread(&jni, thread) };
        calls.threads.lock().attach(tid, vm_thread) as jlong
    })
}

unsafe extern "system" fn root(_env: *mut JNIEnv, _class: jclass) -> jlong {
    NodeNumber::ROOT.as_word() as jlong
}

unsafe extern "system" fn find(
    _env: *mut JNIEnv,
    _class: jclass,
    node: jlong,
    method: jint,
) -> jlong {
    let Some(calls) = CALLS.get() else {
        return node;
    };
    guard(NodeNumber::ROOT.as_word() as jlong, || {
        let node = NodeNumber::from_word(node.cast_unsigned());
        let next = calls.automaton.lock().next(node, method as u32);
        next.as_word() as jlong
    })
}

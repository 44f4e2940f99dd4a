//! The native methods of the hook class.

use std::ffi::{CStr, c_void};

use jni_sys::{JNIEnv, jclass, jint, jlong};

use super::counter::CALLS;
use crate::vm::{NativeMethod, guard};
use hprof_lockfree::nodes::NodeNumber;

pub(super) fn natives() -> [NativeMethod; 3] {
    let native =
        |name: &'static CStr, signature: &'static CStr, function: *mut c_void| NativeMethod {
            name,
            signature,
            function,
        };
    [
        native(c"attach", c"()J", attach as *const () as *mut c_void),
        native(c"root", c"()J", root as *const () as *mut c_void),
        native(c"find", c"(JI)J", find as *const () as *mut c_void),
    ]
}

unsafe extern "system" fn attach(_env: *mut JNIEnv, _class: jclass) -> jlong {
    // It has defined the class.
    let Some(calls) = CALLS.get() else {
        return 0;
    };
    guard(calls.shared_state, || {
        // SAFETY: the call has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        calls.threads.lock().attach(tid) as jlong
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

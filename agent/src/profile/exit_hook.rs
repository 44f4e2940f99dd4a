//! A last collection while the collector still runs.
//!
//! HotSpot stops ZGC and Shenandoah before it tells agents of its death
//! (`before_exit` in `java.cpp`), and a collection that is asked for then never
//! ends. So with these collectors a shutdown hook is registered: a thread that
//! does nothing, whose start is the moment to collect.

use std::ffi::CStr;

use jni_sys::{jmethodID, jvalue};

use super::state::Profile;
use crate::report;
use crate::vm::{Jni, JvmtiError, LocalRef, VmStructs};

/// Whether the collector in use is gone when the VM dies.
pub(super) fn is_needed(structs: Option<VmStructs>) -> bool {
    structs.is_some_and(VmStructs::moves_objects_concurrently)
}

/// Registers the hook.
pub(super) fn register(profile: &Profile, jni: &Jni) {
    if let Err(error) = try_register(profile, jni) {
        let _ = jni.take_exception();
        report::error(&format!(
            "cannot register a shutdown hook, live objects at exit include dead ones ({error})"
        ));
    }
}

fn try_register(profile: &Profile, jni: &Jni) -> Result<(), String> {
    let text = |error: JvmtiError| error.to_string();
    let hook = profile.run.new_own(jni, "HPROF exit").map_err(text)?;
    // Runs only once, so the cell is empty.
    let _ = profile.exit_hook.set(hook);
    let (runtime, add) = runtime_method(jni, c"addShutdownHook", c"(Ljava/lang/Thread;)V")?;
    jni.call_void(runtime.as_raw(), add, &[jvalue { l: hook.as_raw() }])
}

/// Takes the hook back, unless the VM is ending already.
pub(super) fn unregister(profile: &Profile, jni: &Jni) {
    let Some(hook) = profile.exit_hook.get() else {
        return;
    };
    let method = runtime_method(jni, c"removeShutdownHook", c"(Ljava/lang/Thread;)Z");
    let removed = method.and_then(|(runtime, remove)| {
        jni.call_boolean(runtime.as_raw(), remove, &[jvalue { l: hook.as_raw() }])
    });
    // An IllegalStateException: the VM ends, and the hook does nothing by itself.
    drop(removed);
}

/// The one Runtime, and a method of it.
fn runtime_method<'a>(
    jni: &'a Jni,
    name: &CStr,
    signature: &CStr,
) -> Result<(LocalRef<'a>, jmethodID), String> {
    let text = |error: JvmtiError| error.to_string();
    let class = jni.find_class(c"java/lang/Runtime").map_err(text)?;
    let get = jni
        .static_method_id(class.as_raw(), c"getRuntime", c"()Ljava/lang/Runtime;")
        .map_err(text)?;
    let method = jni
        .method_id(class.as_raw(), name, signature)
        .map_err(text)?;
    let runtime = jni
        .call_static_object(class.as_raw(), get, &[])
        .map_err(text)?;
    Ok((runtime, method))
}

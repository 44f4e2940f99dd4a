//! A last collection while the collector still runs.
//!
//! HotSpot stops ZGC and Shenandoah before it tells agents of its death
//! (`before_exit` in `java.cpp`), and a collection requested then never
//! ends. So with these collectors a shutdown hook is registered: a thread that
//! does nothing, whose start is the moment to collect.

use std::ffi::CStr;
use std::sync::Arc;

use jni_sys::jvalue;

use super::state::Profile;
use crate::report;
use crate::vm::{JMethodId, Jni, LocalRef, Thrown, VmStructs};

/// Returns true if the collector in use has stopped when the VM dies.
pub(super) fn is_needed(structs: Option<VmStructs>) -> bool {
    structs.is_some_and(VmStructs::moves_objects_concurrently)
}

/// Registers the hook.
pub(super) fn register(profile: &Profile, jni: &Jni) {
    if let Err(error) = try_register(profile, jni) {
        report::error(&format!(
            "cannot register a shutdown hook, live objects at exit include dead ones ({error})"
        ));
    }
}

fn try_register(profile: &Profile, jni: &Jni) -> Result<(), String> {
    let hook = profile.run.new_own(jni, "HPROF exit");
    let hook = hook.map_err(|error| error.to_string())?;
    // Runs only once, so the cell is empty.
    let _ = profile.exit_hook.set(Arc::clone(&hook));
    let added = runtime_method(jni, c"addShutdownHook", c"(Ljava/lang/Thread;)V").and_then(
        |(runtime, add)| {
            let arguments = [jvalue {
                l: hook.get().as_raw(),
            }];
            // SAFETY: the method is one of the object's, takes a thread and returns nothing.
            unsafe { jni.call_void(runtime.get(), add, &arguments) }
        },
    );
    added.map_err(|thrown| thrown.to_string())
}

/// Takes the hook back, unless the VM is ending already.
pub(super) fn unregister(profile: &Profile, jni: &Jni) {
    let Some(hook) = profile.exit_hook.get() else {
        return;
    };
    let method = runtime_method(jni, c"removeShutdownHook", c"(Ljava/lang/Thread;)Z");
    let removed = method.and_then(|(runtime, remove)| {
        let arguments = [jvalue {
            l: hook.get().as_raw(),
        }];
        // SAFETY: the method is one of the object's, takes a thread and returns a boolean.
        unsafe { jni.call_boolean(runtime.get(), remove, &arguments) }
    });
    // An IllegalStateException: the VM ends, and the hook does nothing by itself.
    drop(removed);
}

/// The one Runtime, and a method of it.
fn runtime_method<'a>(
    jni: &'a Jni,
    name: &CStr,
    descriptor: &CStr,
) -> Result<(LocalRef<'a>, JMethodId), Thrown<'a>> {
    let class = jni.find_class(c"java/lang/Runtime")?;
    let get = jni.static_method_id(class.get(), c"getRuntime", c"()Ljava/lang/Runtime;")?;
    let method = jni.method_id(class.get(), name, descriptor)?;
    // SAFETY: the method is a static one of this class, takes nothing and returns an object.
    let runtime = unsafe { jni.call_static_object(class.get(), get, &[]) }?;
    Ok((runtime, method))
}

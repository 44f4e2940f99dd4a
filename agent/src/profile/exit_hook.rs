//! A last collection while the collector still runs.
//!
//! HotSpot stops ZGC and Shenandoah before it tells agents of its death
//! (`before_exit` in `java.cpp`), and a collection that is asked for then never
//! ends. So with these collectors a shutdown hook is registered: a thread that
//! does nothing, whose start is the moment to collect.

use jni_sys::jvalue;

use super::Profile;
use crate::report;
use crate::vm::{Jni, JvmtiError, VmStructs};

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
    let thread = super::start::new_thread(profile, jni, "HPROF exit").map_err(text)?;
    let hook = jni.new_global(thread.as_raw());
    profile.own_threads.lock().push(hook);
    // Runs only once, so the cell is empty.
    let _ = profile.exit_hook.set(hook);
    let class = jni.find_class(c"java/lang/Runtime").map_err(text)?;
    let get = jni
        .static_method_id(class.as_raw(), c"getRuntime", c"()Ljava/lang/Runtime;")
        .map_err(text)?;
    let add = jni
        .method_id(class.as_raw(), c"addShutdownHook", c"(Ljava/lang/Thread;)V")
        .map_err(text)?;
    let runtime = jni
        .call_static_object(class.as_raw(), get, &[])
        .map_err(text)?;
    jni.call_void(runtime.as_raw(), add, &[jvalue { l: hook.as_raw() }])
}

//! The hook class under a security manager of the program's own.
//!
//! Before a class may use one of `java.lang`, the VM asks `ClassLoader.checkPackageAccess`, once for
//! each protection domain, and that asks the security manager (`Dictionary::validate_protection_domain`).
//! Were the security manager itself the first to come to a hook, it would be asked again from
//! within, without end. So the VM has to ask while there are no hooks yet. JDK 24 has none of this
//! any more (JEP 486).

use jni_sys::{jclass, jvalue};

use crate::report;
use crate::vm::{Jni, Jvmti, Result};

/// Has the VM ask for all classes that are loaded. Without a security manager there is nothing to do.
pub(super) fn ask_for_all(jvmti: &Jvmti, jni: &Jni) {
    if !has_manager(jni) {
        return;
    }
    let _frame = jni.large_local_frame();
    let asked = jvmti
        .loaded_classes()
        .and_then(|classes| ask_for(jvmti, jni, &classes));
    if let Err(error) = asked {
        report::error(&format!(
            "the security manager could not be asked for the hooks' class ({error})"
        ));
    }
}

fn has_manager(jni: &Jni) -> bool {
    let manager = jni.find_class(c"java/lang/System").and_then(|system| {
        let get = jni.static_method_id(
            system.as_raw(),
            c"getSecurityManager",
            c"()Ljava/lang/SecurityManager;",
        )?;
        jni.call_static_object(system.as_raw(), get, &[])
    });
    manager.is_ok()
}

/// Finds the hook class on behalf of each class, as `Class.forName` does for its caller.
fn ask_for(jvmti: &Jvmti, jni: &Jni, classes: &[jclass]) -> Result<()> {
    let class_class = jni.find_class(c"java/lang/Class")?;
    let find = jni.static_method_id(
        class_class.as_raw(),
        c"forName0",
        c"(Ljava/lang/String;ZLjava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/Class;",
    )?;
    let name = jni.new_string(c"java.lang.HprofHooks")?;
    for &class in classes {
        let loader = jni.own(jvmti.class_loader(class)?);
        if loader.as_raw().is_null() {
            continue;
        }
        let arguments = [
            jvalue { l: name.as_raw() },
            jvalue { z: false },
            jvalue { l: loader.as_raw() },
            jvalue { l: class },
        ];
        // One that may not use it will get the answer again at its first hook.
        let _ = jni.call_static_object(class_class.as_raw(), find, &arguments);
    }
    Ok(())
}

//! The hook class under a security manager of the program's own.
//!
//! Before a class may use one of `java.lang`, the VM asks `ClassLoader.checkPackageAccess`, once for
//! each protection domain, and that asks the security manager (`Dictionary::validate_protection_domain`).
//! Were the security manager itself the first to come to a hook, it would be asked again from
//! within, without end. So the VM has to ask while there are no hooks yet. JDK 24 has none of this
//! any more (JEP 486).

use jni_sys::jvalue;

use crate::report;
use crate::vm::{Class, Jni, Jvmti, LocalRef, Ref, Result};

/// Has the VM ask for all classes that are loaded. Without a security manager there is nothing to do.
pub(super) fn ask_for_all(jvmti: &Jvmti, jni: &Jni) {
    if !has_manager(jni) {
        return;
    }
    let jni = &*jni.large_local_frame();
    let asked = jvmti
        .loaded_classes(jni)
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
            system.get(),
            c"getSecurityManager",
            c"()Ljava/lang/SecurityManager;",
        )?;
        // SAFETY: the method is a static one of this class, takes nothing and returns an object.
        unsafe { jni.call_static_object(system.get(), get, &[]) }.map(drop)
    });
    manager.is_ok()
}

/// Finds the hook class on behalf of each class, as `Class.forName` does for its caller.
fn ask_for(jvmti: &Jvmti, jni: &Jni, classes: &[LocalRef<'_, Class>]) -> Result<()> {
    let class_class = jni.find_class(c"java/lang/Class")?;
    let find = jni.static_method_id(
        class_class.get(),
        c"forName0",
        c"(Ljava/lang/String;ZLjava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/Class;",
    )?;
    let name = jni.new_string(c"java.lang.HprofHooks")?;
    for class in classes {
        let Some(loader) = jvmti.class_loader(jni, class.get())? else {
            continue;
        };
        let object = |object: Ref<'_>| jvalue { l: object.as_raw() };
        let arguments = [
            object(name.get()),
            jvalue { z: false },
            object(loader.get()),
            object(class.get().as_object()),
        ];
        // One that may not use it will get the answer again at its first hook.
        // SAFETY: the method is a static one of this class, and the arguments are those of its descriptor.
        let _ = unsafe { jni.call_static_object(class_class.get(), find, &arguments) };
    }
    Ok(())
}

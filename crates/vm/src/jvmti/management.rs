//! The VM's own heap dumper.
//!
//! HotSpot exports `JVM_GetManagement`, which the module `java.management` uses too: a
//! table of functions, `jmm.h` in its sources, one of which dumps the heap. Through the table no
//! class has to be loaded, and images without that module work. A VM that does
//! not offer a table we know is asked through its `HotSpotDiagnosticMXBean`.

use std::ffi::{CStr, c_void};

use jni_sys::{JNIEnv, jboolean, jint, jobject, jvalue};

use crate::hotspot::releases::MANAGEMENT_TABLES;
use crate::{Jni, Ref, Thrown, VmLibrary};

/// The ways to the VM's heap dumper.
#[derive(Clone, Copy)]
pub struct VmDumper {
    table: Option<DumpHeap>,
}

type GetManagement = unsafe extern "C" fn(version: jint) -> *mut c_void;
/// `DumpHeap0`: file, live objects only; an exception tells of a failure.
type DumpHeap = unsafe extern "C" fn(*mut JNIEnv, jobject, jboolean) -> jint;

impl VmDumper {
    /// Looks for the dumper of the VM in `library`.
    pub fn of(library: Option<VmLibrary>) -> Self {
        let table = library.and_then(|library| {
            let symbol = library.symbol(c"JVM_GetManagement")?;
            // SAFETY: the exported function of this name has this type (jvm.h).
            let get: GetManagement = unsafe { std::mem::transmute(symbol) };
            MANAGEMENT_TABLES.iter().find_map(|&(version, slot)| {
                // SAFETY: any version may be asked for; null is the answer to an unknown one.
                let table = unsafe { get(version) }.cast::<Option<DumpHeap>>();
                if table.is_null() {
                    return None;
                }
                // SAFETY: the table of this version has this function in this place (jmm.h).
                unsafe { *table.add(slot) }
            })
        });
        Self { table }
    }

    /// Dumps the heap into a new file, whose name must end in `.hprof`. With `live`, a garbage
    /// collection comes first and only what it left is dumped.
    ///
    /// # Errors
    /// The VM's error, as text.
    pub fn dump(self, jni: &Jni, file: &CStr, live: bool) -> Result<(), String> {
        // The VM leaves local references.
        let jni = &*jni.local_frame(16);
        let Ok(name) = jni.new_string(file) else {
            return Err("no room for a file name in the Java heap".to_owned());
        };
        match self.table {
            Some(dump) => {
                // SAFETY: the environment is that of the current thread, the reference is live.
                let result = unsafe { dump(jni.as_raw(), name.get().as_raw(), live) };
                match jni.take_exception() {
                    Some(problem) => Err(problem.to_string()),
                    None if result != 0 => Err(format!("the VM's dumper returned {result}")),
                    None => Ok(()),
                }
            }
            None => dump_through_bean(jni, name.get(), live),
        }
    }
}

fn dump_through_bean(jni: &Jni, file: Ref<'_>, live: bool) -> Result<(), String> {
    let explain = |thrown: Thrown<'_>| format!("this VM has no heap dumper that we know: {thrown}");
    let bean_class = jni
        .find_class(c"com/sun/management/HotSpotDiagnosticMXBean")
        .map_err(explain)?;
    let factory = jni
        .find_class(c"java/lang/management/ManagementFactory")
        .map_err(explain)?;
    let get = jni
        .static_method_id(
            factory.get(),
            c"getPlatformMXBean",
            c"(Ljava/lang/Class;)Ljava/lang/management/PlatformManagedObject;",
        )
        .map_err(explain)?;
    let dump = jni
        .method_id(bean_class.get(), c"dumpHeap", c"(Ljava/lang/String;Z)V")
        .map_err(explain)?;
    let argument = [jvalue {
        l: bean_class.get().as_raw(),
    }];
    // SAFETY: the method is a static one of this class, takes a class and returns an object.
    let bean = unsafe { jni.call_static_object(factory.get(), get, &argument) }.map_err(explain)?;
    let arguments = [jvalue { l: file.as_raw() }, jvalue { z: live }];
    // SAFETY: the bean is of that class, whose method takes a string and a boolean and returns nothing.
    unsafe { jni.call_void(bean.get(), dump, &arguments) }.map_err(|thrown| thrown.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, with_state};

    #[test]
    fn the_reason_why_there_is_no_dumper_is_shown() {
        let jni = fake::jni();
        with_state(|state| {
            state.no_method = Some(c"java.lang.NoSuchMethodError: getPlatformMXBean")
        });
        let dumper = VmDumper { table: None };
        let refused = dumper.dump(&jni, c"a.hprof", true);
        assert_eq!(
            refused.unwrap_err(),
            "this VM has no heap dumper that we know: java.lang.NoSuchMethodError: getPlatformMXBean"
        );
        assert!(with_state(|state| state.live.is_empty()));
    }
}

//! The hook class: its definition, its native methods, and the hooks' way into classes and out of them.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jclass, jint, jlong, jobject};

use super::SlowCalls;
use super::contexts;
use super::memory::Memory;
use super::methods::HOOK_CLASS;
use crate::os::timer::current_cpu_nanos;
use crate::vm::{
    Class, GlobalRef, Jni, Jvmti, JvmtiError, LocalRef, NativeMethod, Ref, Release, Result, guard,
};

const STARTED_CLASS: &CStr = c"java/lang/HprofSlow$Started";
const STARTED_SIGNATURE: &str = "Ljava/lang/HprofSlow$Started;";
const CLASS_FILE: &[u8] = include_bytes!("../../hooks/classes/HprofSlow.class");
const STARTED_FILE: &[u8] = include_bytes!("../../hooks/classes/HprofSlow$Started.class");
/// The class that programs call, and its file.
const SPAN_CLASS: &CStr = c"java/lang/HprofSpan";
const SPAN_FILE: &[u8] = include_bytes!("../../hooks/classes/HprofSpan.class");
/// The class that OpenTelemetry's API calls, and its file.
const CONTEXTS_CLASS: &CStr = c"java/lang/HprofContexts";
const CONTEXTS_FILE: &[u8] = include_bytes!("../../hooks/classes/HprofContexts.class");
const EIGHT_CLASS_FILE: &[u8] = include_bytes!("../../hooks/classes/HprofSlow.eight.class");
const EIGHT_STARTED_FILE: &[u8] =
    include_bytes!("../../hooks/classes/HprofSlow$Started.eight.class");

/// The constants that the class file has in place of addresses.
const RECORDS: u64 = 0x7265_636f_7264_7361;
const METHODS: u64 = 0x6d65_7468_6f64_7361;

/// UTF-16 units of a span's name that are kept.
const MAX_SPAN_NAME: usize = 200;

/// Classes in a step of rewriting; the program stands still for a part of it.
const STEP: usize = 32;

/// The hook class has its natives, as it has after the first run of a process.
static HAS_NATIVES: AtomicBool = AtomicBool::new(false);

/// The class file with the addresses of the memory.
fn with_addresses(class_file: &[u8], memory: &Memory) -> Option<Vec<u8>> {
    let mut bytes = class_file.to_vec();
    for (constant, value) in [
        (RECORDS, memory.records_address()),
        (METHODS, memory.methods_address()),
    ] {
        let constant = constant.to_be_bytes();
        let at = bytes.windows(8).position(|bytes| bytes == constant)?;
        bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
    }
    Some(bytes)
}

/// Returns true if this copy of the agent has defined the hook class before.
pub(super) fn is_defined() -> bool {
    HAS_NATIVES.load(Ordering::Acquire)
}

/// Returns true if another copy of the agent has: its hooks may still be in methods that run.
pub(super) fn is_of_another(jni: &Jni) -> bool {
    !is_defined() && jni.find_class(HOOK_CLASS).is_ok()
}

impl SlowCalls {
    /// Defines the hook class, unless an earlier run has.
    pub(super) fn define_hooks(&self, jni: &Jni) -> Result<()> {
        if is_defined() {
            return Ok(());
        }
        let (class_file, started) = match Release::of(&self.jvmti).is_before_modules() {
            true => (EIGHT_CLASS_FILE, EIGHT_STARTED_FILE),
            false => (CLASS_FILE, STARTED_FILE),
        };
        let class_file = with_addresses(class_file, self.memory).ok_or(JvmtiError::INTERNAL)?;
        let hooks = jni.define_boot_class(HOOK_CLASS, &class_file)?;
        jni.define_boot_class(STARTED_CLASS, started)?;
        jni.define_boot_class(SPAN_CLASS, SPAN_FILE)?;
        jni.define_boot_class(CONTEXTS_CLASS, CONTEXTS_FILE)?;
        *self.hooks.lock() = Some(jni.new_global(hooks.get())?);
        // The class is prepared in the call, see `class_prepare`.
        let event = raw::JVMTI_EVENT_CLASS_PREPARE;
        self.jvmti.set_event(event, true)?;
        let called = jni.call_static(hooks.get(), c"start");
        self.jvmti.set_event(event, false)?;
        called?;
        match is_defined() {
            true => Ok(()),
            false => Err(JvmtiError::INTERNAL),
        }
    }

    /// Sends the loaded classes through the class-file hook that may have methods of these patterns. Returns how many the VM
    /// refuses.
    pub(super) fn rewrite_loaded(&self, jni: &Jni) -> u64 {
        let jni = &*jni.large_local_frame();
        let Ok(loaded) = self.jvmti.loaded_classes(jni) else {
            return 0;
        };
        let classes = loaded.iter().map(LocalRef::get);
        let classes: Vec<_> = classes.filter(|&class| self.may_match(class)).collect();
        classes
            .chunks(STEP)
            .map(|step| retransform(&self.jvmti, step))
            .sum()
    }

    fn may_match(&self, class: Ref<'_, Class>) -> bool {
        let Ok(signature) = self.jvmti.class_signature(class) else {
            return false;
        };
        let name = signature.strip_prefix('L');
        let name = name.and_then(|name| name.strip_suffix(';'));
        let is_wanted =
            |name: &[u8]| contexts::is_storage(name) || self.methods.lock().may_match(name);
        name.is_some_and(|name| is_wanted(name.as_bytes())) && self.jvmti.is_modifiable(class)
    }
}

/// Retransforms in one go, or, where the VM refuses, one by one. Returns how many it refuses.
fn retransform(jvmti: &Jvmti, classes: &[Ref<'_, Class>]) -> u64 {
    if jvmti.retransform(classes).is_ok() {
        return 0;
    }
    let refused = |class: &&Ref<'_, Class>| jvmti.retransform(&[**class]).is_err();
    classes.iter().filter(refused).count() as u64
}

/// The natives of the hook class are registered while it is what runs, so that the
/// VM sees the call come from java.base.
pub(super) unsafe extern "C" fn class_prepare(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    _thread: jobject,
    class: jclass,
) {
    SlowCalls::callback(|slow| {
        // SAFETY: the VM passes the environment of the current thread, and a class.
        let (jni, class) = unsafe { (Jni::new(jni), Ref::<Class>::from_raw(class)) };
        let Some(class) = class else {
            return;
        };
        let signature = slow.jvmti.class_signature(class);
        if signature.is_ok_and(|signature| signature != STARTED_SIGNATURE) {
            return;
        }
        if let Some(hooks) = &*slow.hooks.lock() {
            // SAFETY: the functions have the parameters of these descriptors.
            let done = unsafe { jni.register_natives(hooks.get(), &natives()) };
            HAS_NATIVES.store(done.is_ok(), Ordering::Release);
        }
    });
}

pub(super) unsafe extern "C" fn class_file_load(
    _env: *mut raw::jvmtiEnv,
    _jni: *mut JNIEnv,
    _redefined: jclass,
    _loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    len: jint,
    bytes: *const u8,
    new_len: *mut jint,
    new_bytes: *mut *mut u8,
) {
    SlowCalls::callback(|slow| {
        let Ok(len) = usize::try_from(len) else {
            return;
        };
        if name.is_null() || bytes.is_null() || slow.is_over() {
            return;
        }
        // SAFETY: the VM passes the name as a C string and the class file with its length.
        let (name, bytes) = unsafe {
            (
                CStr::from_ptr(name).to_bytes(),
                std::slice::from_raw_parts(bytes, len),
            )
        };
        let timed = slow.methods.lock().rewrite(slow.memory, name, bytes);
        let told = contexts::with_calls(name, timed.as_deref().unwrap_or(bytes));
        let Some(changed) = told.or(timed) else {
            return;
        };
        if let Ok((memory, len)) = slow.jvmti.copy_for_vm(&changed) {
            // SAFETY: the VM passes places for the new class file, and frees it.
            unsafe {
                *new_len = len;
                *new_bytes = memory;
            }
        }
    });
}

fn natives() -> [NativeMethod; 4] {
    let native =
        |name: &'static CStr, signature: &'static CStr, function: *mut c_void| NativeMethod {
            name,
            signature,
            function,
        };
    [
        native(c"cpu", c"()J", cpu as *const () as *mut c_void),
        native(
            c"span",
            c"(Ljava/lang/String;)I",
            span as *const () as *mut c_void,
        ),
        native(c"claim", c"(JJ)J", claim as *const () as *mut c_void),
        native(c"ended", c"(JJJJ)V", ended as *const () as *mut c_void),
    ]
}

unsafe extern "system" fn cpu(_env: *mut JNIEnv, _class: jclass) -> jlong {
    guard(0, || current_cpu_nanos() as jlong)
}

/// The number of spans of this name, -1 if they are not timed.
unsafe extern "system" fn span(env: *mut JNIEnv, _class: jclass, name: jobject) -> jint {
    let mut number = -1;
    SlowCalls::callback(|slow| {
        // SAFETY: the VM passes the environment of the current thread, and an object.
        let (jni, name) = unsafe { (Jni::new(env), Ref::from_raw(name)) };
        let found = name.and_then(|name| {
            let string = jni.find_class(c"java/lang/String").ok()?;
            let (name, _) = jni.text(string.get(), name, MAX_SPAN_NAME)?;
            slow.methods.lock().span(slow.memory, span_name(&name))
        });
        number = found.and_then(|it| jint::try_from(it).ok()).unwrap_or(-1);
    });
    number
}

/// A name that is one line of a table.
fn span_name(name: &str) -> String {
    let line = name
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    let line: String = line.collect();
    match line.trim() {
        "" => "(no name)".to_owned(),
        line => line.to_owned(),
    }
}

unsafe extern "system" fn claim(
    _env: *mut JNIEnv,
    _class: jclass,
    _first: jlong,
    tid: jlong,
) -> jlong {
    guard(0, || {
        Memory::the().map_or(0, |memory| memory.claim(tid as u64)) as jlong
    })
}

unsafe extern "system" fn ended(
    env: *mut JNIEnv,
    _class: jclass,
    block: jlong,
    began: jlong,
    wall: jlong,
    cpu: jlong,
) {
    SlowCalls::callback(|slow| {
        // SAFETY: the VM passes the environment of the current thread; hooks pass the address of a block.
        let (jni, number) = unsafe { (Jni::new(env), Memory::number_of(block as u64)) };
        let cpu = u64::try_from(cpu).ok();
        slow.ended(&jni, number, began, wall.max(0) as u64, cpu);
    });
}

/// A reference to the hook class, kept for its natives.
pub(super) type Hooks = Option<GlobalRef<Class>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_spans_are_one_line() {
        assert_eq!(span_name(" check\nout\t"), "check out");
        assert_eq!(span_name("\n"), "(no name)");
    }

    #[test]
    fn spans_are_of_a_class_that_jdk_8_reads() {
        for file in [SPAN_FILE, CONTEXTS_FILE] {
            assert_eq!(
                file.get(..8),
                Some(&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52][..])
            );
        }
    }

    #[test]
    fn each_class_file_has_each_address_once() {
        for class_file in [CLASS_FILE, EIGHT_CLASS_FILE] {
            for constant in [RECORDS, METHODS] {
                let constant = constant.to_be_bytes();
                let found = class_file.windows(8).filter(|bytes| *bytes == constant);
                assert_eq!(found.count(), 1);
            }
        }
    }
}

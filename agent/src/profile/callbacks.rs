//! The VM's events. Each callback is a few lines inside a guard; what takes
//! longer is a message to the profile thread.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use hprof_format::ids::ThreadSerial;
use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jclass, jint, jobject};

use super::messages::Message;
use super::virtual_threads::NAMED;
use super::{Engine, Phase, Profile, start};
use crate::cpu_samples::signal::SampledThread;
use crate::report;
use crate::vm::{GlobalRef, Jni, NativeThread, Ref};

/// The table of all callbacks.
pub(super) fn table() -> raw::jvmtiEventCallbacks {
    raw::jvmtiEventCallbacks {
        ClassFileLoadHook: Some(class_file_load),
        VMInit: Some(vm_init),
        VMDeath: Some(vm_death),
        ThreadStart: Some(thread_start),
        ThreadEnd: Some(thread_end),
        ClassLoad: Some(class_load),
        ClassPrepare: Some(class_prepare),
        DataDumpRequest: Some(data_dump_request),
        ..Default::default()
    }
}

unsafe extern "C" fn vm_init(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    Profile::callback(|profile| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        // SAFETY: the parameter of this callback.
        if let Some(thread) = unsafe { Ref::from_raw(thread) } {
            start::start(profile, &jni, thread);
        }
    });
}

unsafe extern "C" fn class_file_load(
    _env: *mut raw::jvmtiEnv,
    _jni: *mut JNIEnv,
    redefined: jclass,
    _loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    len: jint,
    bytes: *const u8,
    new_len: *mut jint,
    new_bytes: *mut *mut u8,
) {
    Profile::callback(|profile| {
        let (Some(calls), Ok(len)) = (profile.calls, usize::try_from(len)) else {
            return;
        };
        if name.is_null() || bytes.is_null() {
            return;
        }
        // SAFETY: the VM passes the name as a C string and the class file with its length.
        let (name, bytes) = unsafe {
            (
                CStr::from_ptr(name).to_bytes(),
                std::slice::from_raw_parts(bytes, len),
            )
        };
        let Some(changed) = calls.class_file(name, bytes, !redefined.is_null()) else {
            return;
        };
        if let Ok((memory, len)) = profile.jvmti.copy_for_vm(&changed) {
            // SAFETY: the VM passes places for the new class file, and frees it.
            unsafe {
                *new_len = len;
                *new_bytes = memory;
            }
        }
    });
}

unsafe extern "C" fn vm_death(_env: *mut raw::jvmtiEnv, _jni: *mut JNIEnv) {
    Profile::callback(Profile::finish);
}

unsafe extern "C" fn data_dump_request(_env: *mut raw::jvmtiEnv) {
    Profile::callback(|profile| {
        if profile.phase() == Phase::Live {
            profile.dump();
        }
    });
}

unsafe extern "C" fn thread_start(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    Profile::callback(|profile| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        if profile.phase() != Phase::Live {
            return;
        }
        // SAFETY: the parameter of this callback.
        let Some(thread) = (unsafe { Ref::from_raw(thread) }) else {
            return;
        };
        let own_threads = profile.own_threads.lock().clone();
        let is = |own: &Arc<GlobalRef>| jni.is_same(thread, own.get());
        if own_threads.iter().any(is) {
            if profile.exit_hook.get().is_some_and(is) {
                if let Some(sites) = profile.heap_sites {
                    sites.ignore_current_thread();
                }
                profile.collect_before_exit();
            }
            return;
        }
        let native = profile
            .java_threads
            .get()
            .map(|threads| threads.current(&jni));
        register(profile, &jni, thread, native);
        if let Some(sites) = profile.heap_sites {
            sites.thread_started(&jni);
        }
    });
}

unsafe extern "C" fn thread_end(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    Profile::callback(|profile| {
        if let Some(sites) = profile.heap_sites {
            sites.thread_ended();
        }
        if let Some(calls) = profile.calls {
            // SAFETY: the VM passes the environment of the current thread.
            let jni = unsafe { Jni::new(jni) };
            // SAFETY: the call takes nothing and cannot fail.
            let tid = unsafe { libc::gettid() };
            let serial = profile.calls_serial(tid);
            // SAFETY: the parameter of this callback.
            if let Some(thread) = unsafe { Ref::from_raw(thread) } {
                calls.thread_end(&jni, thread, tid, serial);
            }
        }
        // SAFETY: the call takes nothing and cannot fail.
        let Some(ended) = profile.registry.end(unsafe { libc::gettid() }) else {
            return;
        };
        if let (Engine::Signal(engine, _), Some(slot)) = (profile.engine(), ended.slot) {
            profile.registry.add_ended_cpu(engine.cpu_time(slot));
            engine.end_thread(slot);
        }
        profile.send(Message::ThreadEnd {
            serial: ended.serial,
        });
    });
}

/// AsyncGetCallTrace wants this event enabled, for its side effect in the VM: it
/// refuses to work without (`forte.cpp`).
unsafe extern "C" fn class_load(
    _env: *mut raw::jvmtiEnv,
    _jni: *mut JNIEnv,
    _thread: jobject,
    _class: jclass,
) {
}

unsafe extern "C" fn class_prepare(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    _thread: jobject,
    class: jclass,
) {
    Profile::callback(|profile| {
        // SAFETY: the parameter of this callback.
        let Some(class) = (unsafe { Ref::from_raw(class) }) else {
            return;
        };
        if let Some(calls) = profile.calls {
            // SAFETY: the VM passes the environment of the current thread.
            calls.class_prepared(&profile.jvmti, &unsafe { Jni::new(jni) }, class);
            return;
        }
        // A class that fails here only loses its names in samples.
        let _ = profile.jvmti.create_method_ids(class);
    });
}

/// Registers a thread, current or not, and starts its timer.
pub(super) fn register(
    profile: &'static Profile,
    jni: &Jni,
    thread: Ref<'_>,
    native: Option<NativeThread>,
) {
    let tid = match native {
        Some(native) => native.tid,
        // SAFETY: the call takes nothing and cannot fail.
        None => unsafe { libc::gettid() },
    };
    let vm_thread = native.map_or(0, |native| native.vm_thread);
    let Some(serial) = profile.registry.begin(tid, vm_thread) else {
        return;
    };
    sample_thread(profile, thread, native, serial);
    let info = profile.jvmti.thread_info(jni, thread).unwrap_or_default();
    profile.send(Message::ThreadStart { serial, info });
}

/// Has a registered thread sampled.
pub(super) fn sample_thread(
    profile: &'static Profile,
    thread: Ref<'_>,
    native: Option<NativeThread>,
    serial: ThreadSerial,
) {
    match profile.engine() {
        Engine::Signal(engine, installed) => {
            if let Some(NativeThread {
                tid,
                env,
                stack_end,
                anchor,
                ..
            }) = native
            {
                let slot = SampledThread {
                    tid,
                    env,
                    serial: serial.get(),
                    stack_end,
                    anchor,
                };
                match engine.start_thread(slot, installed) {
                    Ok(token) if profile.registry.set_slot(tid, token) => {}
                    // It ended, or somebody else was faster.
                    Ok(token) => engine.end_thread(token),
                    Err(error) => no_timer(profile, &error),
                }
            }
        }
        Engine::Safepoint | Engine::None => {}
    }
    if matches!(profile.engine(), Engine::Safepoint) || profile.monitors.is_some() {
        let _ = profile
            .jvmti
            .set_thread_local(Some(thread), serial.get() as usize | NAMED);
    }
}

/// Registers a thread that started before VMInit on a VM that is not HotSpot,
/// whose kernel thread is not known: the safepoint engine needs no more.
pub(super) fn register_by_name(profile: &'static Profile, jni: &Jni, thread: Ref<'_>) {
    let known = profile.jvmti.thread_local(Some(thread)).unwrap_or(0) != 0;
    if known
        || !matches!(profile.engine(), Engine::Safepoint)
        || profile.java_threads.get().is_some()
    {
        return;
    }
    let serial = profile.registry.new_serial();
    let _ = profile
        .jvmti
        .set_thread_local(Some(thread), serial.get() as usize);
    let info = profile.jvmti.thread_info(jni, thread).unwrap_or_default();
    profile.send(Message::ThreadStart { serial, info });
}

fn no_timer(profile: &Profile, error: &std::io::Error) {
    if profile.phase() != Phase::Live {
        return;
    }
    if profile.registry.count_without_timer() {
        report::error(&format!(
            "a thread got no CPU timer and is not sampled: {error}; \
             raise the limit of pending signals (ulimit -i) or use engine=safepoint"
        ));
    }
}

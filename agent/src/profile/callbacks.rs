//! The VM's events. Each callback is a few lines inside a guard; what takes
//! longer is a message to the profile thread.

use std::ffi::{CStr, c_char};
use std::sync::atomic::Ordering;

use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jclass, jint, jobject};

use super::start;
use super::state::Profile;
use super::threads::{register, send_last_name};
use crate::call_times::calls_serial;
use crate::control;
use crate::cpu_samples::{Engine, check_walk};
use crate::output::Record;
use crate::recording::Phase;
use crate::vm::{Jni, Ref, Vm};

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
        if let Ok((memory, len)) = profile.run.jvmti.copy_for_vm(&changed) {
            // SAFETY: the VM passes places for the new class file, and frees it.
            unsafe {
                *new_len = len;
                *new_bytes = memory;
            }
        }
    });
}

unsafe extern "C" fn vm_death(_env: *mut raw::jvmtiEnv, _jni: *mut JNIEnv) {
    Profile::callback(|profile| {
        control::close();
        profile.finish();
    });
}

unsafe extern "C" fn data_dump_request(_env: *mut raw::jvmtiEnv) {
    Profile::callback(|profile| {
        if profile.run.phase() == Phase::Live {
            profile.dump();
        }
    });
}

unsafe extern "C" fn thread_start(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    Profile::callback(|profile| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        if profile.run.phase() != Phase::Live {
            return;
        }
        // SAFETY: the parameter of this callback.
        let Some(thread) = (unsafe { Ref::from_raw(thread) }) else {
            return;
        };
        if let Some(calls) = profile.calls {
            calls.thread_start(&jni, thread);
        }
        if profile.run.is_own(&jni, thread) {
            let hook = profile.exit_hook.get();
            if hook.is_some_and(|hook| jni.is_same(thread, hook.get())) {
                if let Some(sites) = profile.heap_sites {
                    sites.ignore_current_thread();
                }
                // The collector will not work at the VM's death.
                let collected = profile.run.jvmti.force_garbage_collection().is_ok();
                let before_exit = &profile.run.collected_before_exit;
                before_exit.store(collected, Ordering::Release);
            }
            return;
        }
        let native = profile
            .run
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
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        if let Some(sites) = profile.heap_sites {
            sites.thread_ended(&jni);
        }
        let threads = profile.run.java_threads.get();
        let tid = threads.and_then(|threads| threads.current_tid(&jni));
        // SAFETY: the call has no arguments and cannot fail.
        let tid = tid.unwrap_or_else(|| unsafe { libc::gettid() });
        if let Some(calls) = profile.calls {
            let serial = calls_serial(profile.run, tid);
            // SAFETY: the parameter of this callback.
            if let Some(thread) = unsafe { Ref::from_raw(thread) } {
                calls.thread_end(&jni, thread, tid, serial);
            }
        }
        profile.sampling.wall.end(tid);
        // SAFETY: the parameter of this callback.
        if let (Some(known), Some(thread)) = (profile.run.threads.get(tid), unsafe {
            Ref::from_raw(thread)
        }) {
            send_last_name(profile, &jni, thread, &known);
        }
        let Some(ended) = profile.run.threads.end(tid) else {
            return;
        };
        if let (Engine::Signal(engine, _), Some(slot)) = (profile.sampling.engine(), ended.slot) {
            profile.run.threads.add_ended_cpu(engine.cpu_time(slot));
            engine.end_thread(slot);
        }
        profile.send(Record::ThreadEnd {
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
            calls.class_prepared(&profile.run.jvmti, &unsafe { Jni::new(jni) }, class);
            return;
        }
        // A class that fails here only loses its names in samples.
        let _ = profile.run.jvmti.create_method_ids(class);
        let vm = Vm {
            jvmti: &profile.run.jvmti,
            // SAFETY: the VM passes the environment of the current thread.
            jni: &unsafe { Jni::new(jni) },
        };
        check_walk(profile.run, &profile.sampling, vm);
    });
}

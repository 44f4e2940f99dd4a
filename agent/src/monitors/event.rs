//! The VM's events for the monitors of objects.
//!
//! At the event for a monitor that was entered, the thread owns it already, so what
//! is done there makes others wait longer: stacks and names belong to the event
//! before, when the thread has time.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jlong, jobject};

use super::rows::Source;
use super::slots::Wait;
use super::{MAX_LOGGED, Monitors};
use crate::output::{Record, WaitRecord};
use crate::vm::{Jni, Ref, WeakRef};

/// The callbacks of the mode's own environment.
pub(super) fn table() -> raw::jvmtiEventCallbacks {
    raw::jvmtiEventCallbacks {
        MonitorContendedEnter: Some(contended_enter),
        MonitorContendedEntered: Some(contended_entered),
        MonitorWait: Some(wait),
        MonitorWaited: Some(waited),
        ThreadEnd: Some(thread_end),
        ClassPrepare: Some(super::park::class_prepare),
        ClassFileLoadHook: Some(super::park::class_file_load),
        ..Default::default()
    }
}

unsafe extern "C" fn contended_enter(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    thread: jobject,
    object: jobject,
) {
    Monitors::callback(|monitors| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        // SAFETY: the parameter of this callback.
        let Some(thread) = (unsafe { Ref::from_raw(thread) }) else {
            return;
        };
        // SAFETY: the parameter of this callback.
        let Some(object) = (unsafe { Ref::from_raw(object) }) else {
            return;
        };
        monitors.enter(&jni, thread, object);
    });
}

unsafe extern "C" fn contended_entered(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    thread: jobject,
    _object: jobject,
) {
    let now = Instant::now();
    Monitors::callback(|monitors| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        // SAFETY: the parameter of this callback.
        let Some(thread) = (unsafe { Ref::from_raw(thread) }) else {
            return;
        };
        monitors.end(&jni, thread, Source::Monitor, now);
    });
}

unsafe extern "C" fn wait(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    thread: jobject,
    object: jobject,
    millis: jlong,
) {
    Monitors::callback(|monitors| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        // SAFETY: the parameter of this callback.
        let Some(thread) = (unsafe { Ref::from_raw(thread) }) else {
            return;
        };
        // SAFETY: the parameter of this callback.
        let Some(object) = (unsafe { Ref::from_raw(object) }) else {
            return;
        };
        let millis = u64::try_from(millis).unwrap_or(0);
        monitors.wait(&jni, thread, object, millis);
    });
}

unsafe extern "C" fn waited(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    thread: jobject,
    _object: jobject,
    _timed_out: bool,
) {
    let now = Instant::now();
    Monitors::callback(|monitors| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        // SAFETY: the parameter of this callback.
        let Some(thread) = (unsafe { Ref::from_raw(thread) }) else {
            return;
        };
        monitors.end(&jni, thread, Source::ObjectWait, now);
    });
}

unsafe extern "C" fn thread_end(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    Monitors::callback(|monitors| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        // SAFETY: the parameter of this callback.
        let Some(thread) = (unsafe { Ref::from_raw(thread) }) else {
            return;
        };
        if let Some(slot) = monitors.current() {
            monitors.interrupt(&jni, thread, slot);
        }
        if let Some(slot) = monitors.current() {
            monitors.leave(slot);
        }
    });
}

impl Monitors {
    fn enter(&self, jni: &Jni, thread: Ref<'_>, object: Ref<'_>) {
        let source = Source::Monitor;
        let Some(free) = self.free_slot(jni, thread) else {
            return;
        };
        let class = self.classes.of(&self.jvmti, jni, object);
        let mut wait = Wait::new(source, class);
        wait.object = self.keep(jni, object);
        if self.threshold.is_zero() {
            wait.row = Some(self.row(jni, thread, source, class, Some(0)));
        }
        self.begin(jni, thread, free, wait);
    }

    fn wait(&self, jni: &Jni, thread: Ref<'_>, object: Ref<'_>, millis: u64) {
        let Some(free) = self.free_slot(jni, thread) else {
            return;
        };
        let class = self.classes.of(&self.jvmti, jni, object);
        let mut wait = Wait::new(Source::ObjectWait, class);
        wait.object = self.keep(jni, object);
        if self.logged.load(Ordering::Relaxed) < MAX_LOGGED {
            self.logged.fetch_add(1, Ordering::Relaxed);
            wait.logged = (self.host.serial)(jni, thread);
            if wait.logged != 0 {
                (self.host.log)(Record::Wait(WaitRecord {
                    class: &class.name,
                    millis,
                    thread: wait.logged,
                }));
            }
        } else {
            self.lost.not_logged.fetch_add(1, Ordering::Relaxed);
        }
        self.begin(jni, thread, free, wait);
    }

    /// A reference for dumps to the object of a wait, where the VM refuses to tell what a thread waits for.
    fn keep(&self, jni: &Jni, object: Ref<'_>) -> Option<WeakRef> {
        self.keeps_objects.then(|| jni.new_weak(object).ok())?
    }

    /// A wait of this kind ends.
    fn end(&self, jni: &Jni, thread: Ref<'_>, source: Source, now: Instant) {
        let Some(slot) = self.current() else {
            return;
        };
        slot.blocked_before.store(false, Ordering::Relaxed);
        let is_same = |wait: &Wait| wait.source == source;
        if !slot.wait.lock().as_ref().is_some_and(is_same) {
            return;
        }
        let Some(wait) = self.release(jni, slot) else {
            return;
        };
        self.book(jni, thread, &wait, now, 0);
        if wait.logged != 0 {
            let time: Duration = now.saturating_duration_since(wait.start);
            (self.host.log)(Record::Waited(WaitRecord {
                class: &wait.class.name,
                millis: u64::try_from(time.as_millis()).unwrap_or(0),
                thread: wait.logged,
            }));
        }
    }
}

//! Locks and synchronizers of `java.util.concurrent`.
//!
//! `LockSupport` notes in a thread what it parks for, and clears the note when the
//! thread continues. The two methods that do so, and those in which synchronizers try
//! until they have what they want, get a call of `HprofLocks` (in `java/` of this
//! crate) at their end. A thread may park several times before it has a lock: the
//! time counts from the first to the last, as one.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use hprof_instrument::{Hooks, MethodHook, MethodInfo, Rewriter, Shape};
use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jclass, jint, jobject};

use super::Monitors;
use super::java_side::{
    HookFiles, HookNames, JavaSide, changed_classes, define_free, has_hooked_methods, notes_itself,
    noting, number,
};
use super::rows::Source;
use super::slots::Wait;
use super::waiting::FreeSlot;
use crate::vm::{Class, Jni, JvmtiError, LocalRef, NativeMethod, Ref, Result};

/// True if the hook class is there and has its natives, as it has after the first run of a process.
static HAS_NATIVES: AtomicBool = AtomicBool::new(false);
/// The names of this copy of the agent, since it has defined its classes.
static NAMES: OnceLock<&HookNames> = OnceLock::new();

fn hooks(class: &CStr) -> Hooks<'_> {
    Hooks {
        class: class.to_bytes(),
        enter: b"enter",
        exit: b"exit",
        repair: b"repair",
        count: b"count",
    }
}

/// Frames of the hooks above the method that has them: the native method, `exit`,
/// and in the first case the method that notes.
const FRAMES_AT_BLOCKER: i32 = 3;
const FRAMES_AT_ACQUIRED: i32 = 2;

impl Monitors {
    /// Defines the hook class and has the four classes call it.
    pub(super) fn start_parks(&'static self, jni: &Jni) -> Result<()> {
        let jvmti = &self.jvmti;
        if HAS_NATIVES.load(Ordering::Acquire) {
            let _ = self.java.set(JavaSide {
                hooks: None,
                hooked: AtomicU32::new(0),
                wanted: changed_classes(self.release).len(),
            });
        } else {
            self.define_hooks(jni)?;
        }
        let java = self.java.get().ok_or(JvmtiError::INTERNAL)?;
        // Loaded before, not while the hook counts what it rewrites. They all are then, so the
        // hook, which every class that is loaded has to pass, is needed no longer than this.
        let classes = self.hooked_classes(jni)?;
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)?;
        let changed = self.retransform(&classes);
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, false)?;
        changed?;
        if java.is_complete() {
            Ok(())
        } else {
            Err(JvmtiError::INTERNAL)
        }
    }

    fn define_hooks(&self, jni: &Jni) -> Result<()> {
        let files = HookFiles::of(self.release);
        let (names, hooks) = define_free(jni, files)?;
        let _ = NAMES.set(names);
        jni.define_boot_class(names.started, &names.rename(files.started))?;
        if let Some(notes) = files.notes {
            jni.define_boot_class(&names.notes(), &names.rename(notes))?;
        }
        let _ = self.java.set(JavaSide {
            hooks: Some(jni.new_global(hooks.get())?),
            hooked: AtomicU32::new(0),
            wanted: changed_classes(self.release).len(),
        });
        // The class is prepared in the call, see `class_prepare`.
        let event = raw::JVMTI_EVENT_CLASS_PREPARE;
        self.jvmti.set_event(event, true)?;
        let called = jni.call_static(hooks.get(), c"start");
        self.jvmti.set_event(event, false)?;
        called?;
        match HAS_NATIVES.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(JvmtiError::INTERNAL),
        }
    }

    /// Restores the code of the four classes: the VM calls the hook no more.
    pub(super) fn end_parks(&self, jni: &Jni) -> Result<()> {
        match self.java.get() {
            Some(_) => self.retransform(&self.hooked_classes(jni)?),
            None => Ok(()),
        }
    }

    /// The classes that get hooks, loaded now if need be.
    fn hooked_classes<'a>(&self, jni: &'a Jni) -> Result<Vec<LocalRef<'a, Class>>> {
        let names = changed_classes(self.release).into_iter();
        names.map(|name| Ok(jni.find_class(name)?)).collect()
    }

    fn retransform(&self, classes: &[LocalRef<'_, Class>]) -> Result<()> {
        let classes: Vec<Ref<'_, Class>> = classes.iter().map(LocalRef::get).collect();
        self.jvmti.retransform(&classes)
    }

    /// The current thread is about to park.
    fn park(&self, jni: &Jni, thread: Ref<'_>, blocker: Ref<'_>, source: Source) {
        let class = self.classes.of(&self.jvmti, jni, blocker);
        let mut free = FreeSlot {
            slot: self.current(),
        };
        if let Some(slot) = free.slot {
            let mut waits = slot.wait.lock();
            if let Some(wait) = waits.as_mut() {
                if wait.ran.is_none() {
                    // It runs code of its carrier, say.
                    return;
                }
                if wait.source == source && std::ptr::eq(wait.class, class) {
                    // It was woken, but another thread was faster.
                    wait.ran = None;
                    return;
                }
                drop(waits);
                free = self.interrupt(jni, thread, slot);
            }
        }
        let mut wait = Wait::new(source, class);
        if source.may_be_contention() && self.threshold.is_zero() {
            wait.row = Some(self.row(jni, thread, source, class, Some(FRAMES_AT_BLOCKER)));
        }
        self.begin(jni, thread, free, wait);
    }

    /// The current thread continues.
    fn unpark(&self, jni: &Jni, thread: Ref<'_>, now: Instant) {
        let Some(slot) = self.current() else {
            return;
        };
        {
            let mut wait = slot.wait.lock();
            let Some(wait) = wait.as_mut() else {
                return;
            };
            if wait.is_virtual && !self.is_virtual(jni, thread) {
                // Its carrier went on, for which it runs some code.
                return;
            }
            match wait.source {
                Source::Park => {}
                Source::Synchronizer => {
                    wait.ran.get_or_insert(now);
                    return;
                }
                Source::Monitor | Source::ObjectWait => return,
            }
        }
        if let Some(wait) = self.release(jni, slot) {
            self.book(jni, thread, &wait, now, FRAMES_AT_BLOCKER);
        }
    }

    /// The current thread has what it wanted of a synchronizer, or gave up.
    fn acquired(&self, jni: &Jni, thread: Ref<'_>) {
        let Some(slot) = self.current() else {
            return;
        };
        let end = match slot.wait.lock().as_ref() {
            Some(wait) if wait.source == Source::Synchronizer => wait.ran,
            _ => None,
        };
        let Some(end) = end else {
            return;
        };
        if let Some(wait) = self.release(jni, slot) {
            self.book(jni, thread, &wait, end, FRAMES_AT_ACQUIRED);
        }
    }

    fn rewrite(&self, name: &[u8], class: &[u8]) -> Option<Vec<u8>> {
        let (is_hooked, notes) = (has_hooked_methods(name), notes_itself(self.release, name));
        if !is_hooked && !notes {
            return None;
        }
        let java = self.java.get()?;
        // A run before has taken its hooks back: no code calls them.
        let mut rewriter = match java.hooks {
            Some(_) => Rewriter::new(),
            None => Rewriter::new().accepting_names(),
        };
        let names = *NAMES.get()?;
        let hooks = hooks(names.class);
        if !is_hooked {
            let changed = noting(names, class)?;
            java.hooked.fetch_add(1, Ordering::Relaxed);
            return Some(changed);
        }
        let done = rewriter.rewrite(class, &hooks, &mut |method: &MethodInfo<'_>| {
            let number = number(
                &method.class.to_string(),
                &method.name.to_string(),
                &method.descriptor.to_string(),
            )?;
            let shape = Shape::Full;
            Some(MethodHook { number, shape })
        });
        let done = done.ok()?;
        let bytes = match notes {
            true => noting(names, done.bytes)?,
            false => done.bytes.to_vec(),
        };
        java.hooked.fetch_add(1, Ordering::Relaxed);
        Some(bytes)
    }
}

/// The natives of the hook class are registered while it is what runs, so that the
/// VM sees the call come from java.base.
pub(super) unsafe extern "C" fn class_prepare(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    _thread: jobject,
    class: jclass,
) {
    Monitors::callback(|monitors| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        let Some(hooks) = monitors.java.get().and_then(|java| java.hooks.as_ref()) else {
            return;
        };
        // SAFETY: the parameter of this callback.
        let Some(class) = (unsafe { Ref::from_raw(class) }) else {
            return;
        };
        let signature = monitors.jvmti.class_signature(class);
        if signature.is_ok_and(|signature| {
            !NAMES
                .get()
                .is_some_and(|names| names.is_started(&signature))
        }) {
            return;
        }
        // SAFETY: the functions have the parameters of these descriptors.
        let done = unsafe { jni.register_natives(hooks.get(), &natives()) };
        HAS_NATIVES.store(done.is_ok(), Ordering::Release);
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
    Monitors::callback(|monitors| {
        let Ok(len) = usize::try_from(len) else {
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
        let Some(changed) = monitors.rewrite(name, bytes) else {
            return;
        };
        if let Ok((memory, len)) = monitors.jvmti.copy_for_vm(&changed) {
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
    let with_blocker = c"(Ljava/lang/Thread;Ljava/lang/Object;)V";
    let alone = c"(Ljava/lang/Thread;)V";
    [
        native(
            c"acquiring",
            with_blocker,
            acquiring as *const () as *mut c_void,
        ),
        native(
            c"parking",
            with_blocker,
            parking as *const () as *mut c_void,
        ),
        native(c"unparked", alone, unparked as *const () as *mut c_void),
        native(c"acquired", alone, acquired as *const () as *mut c_void),
    ]
}

/// Runs the body of a native method with the thread that it got.
///
/// # Safety
/// The arguments are parameters of the native method that runs.
unsafe fn native(env: *mut JNIEnv, thread: jobject, body: impl FnOnce(&Monitors, &Jni, Ref<'_>)) {
    Monitors::callback(|monitors| {
        // SAFETY: the VM passes the environment of the current thread, and the references, by the caller's
        // promise.
        let (jni, thread) = unsafe { (Jni::new(env), Ref::from_raw(thread)) };
        if let Some(thread) = thread {
            body(monitors, &jni, thread);
        }
    });
}

/// Notes what the current thread is about to park for.
///
/// # Safety
/// The arguments are parameters of the native method that runs.
unsafe fn park(env: *mut JNIEnv, thread: jobject, blocker: jobject, source: Source) {
    // SAFETY: by the caller's promise.
    unsafe {
        native(env, thread, |monitors, jni, thread| {
            if let Some(blocker) = Ref::from_raw(blocker) {
                monitors.park(jni, thread, blocker, source);
            }
        });
    }
}

unsafe extern "system" fn acquiring(
    env: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    blocker: jobject,
) {
    // SAFETY: parameters of this native method.
    unsafe { park(env, thread, blocker, Source::Synchronizer) };
}

unsafe extern "system" fn parking(
    env: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    blocker: jobject,
) {
    // SAFETY: parameters of this native method.
    unsafe { park(env, thread, blocker, Source::Park) };
}

unsafe extern "system" fn unparked(env: *mut JNIEnv, _class: jclass, thread: jobject) {
    let now = Instant::now();
    // SAFETY: parameters of this native method.
    unsafe {
        native(env, thread, |monitors, jni, thread| {
            monitors.unpark(jni, thread, now)
        })
    };
}

unsafe extern "system" fn acquired(env: *mut JNIEnv, _class: jclass, thread: jobject) {
    // SAFETY: parameters of this native method.
    unsafe { native(env, thread, Monitors::acquired) };
}

//! Virtual threads (JEP 444), only looked at with `thread=y`: HotSpot's mount
//! events tell which one runs on a carrier. They cost something at each mount,
//! so a profile that does not tell threads apart does without.
//!
//! A virtual thread gets a serial at its first mount, kept by the VM with the
//! thread, and a THREAD START record once a sample or allocation of it was recorded: a program
//! may have a million of them.

use hprof_format::ids::ThreadSerial;
use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jobject};

use super::state::Profile;
use super::threads::send_start;
use crate::cpu_samples::Engine;
use crate::recording::NAMED;
use crate::vm::{Jni, Jvmti, Ref};

const MOUNT: &str = "com.sun.hotspot.events.VirtualThreadMount";
const UNMOUNT: &str = "com.sun.hotspot.events.VirtualThreadUnmount";

/// Enables the mount events. Before JDK 21 there are none, and no virtual
/// threads either.
pub(super) fn enable(jvmti: &Jvmti) {
    // SAFETY: the VM calls an extension event's callback with the parameters it
    // declares; these two declare JNIEnv and thread (jvmtiExtensions.cpp).
    let (mounted, unmounted) = unsafe {
        (
            std::mem::transmute::<MountEvent, raw::jvmtiExtensionEvent>(mount),
            std::mem::transmute::<MountEvent, raw::jvmtiExtensionEvent>(unmount),
        )
    };
    let _ = jvmti.set_extension_event(MOUNT, mounted);
    let _ = jvmti.set_extension_event(UNMOUNT, unmounted);
}

type MountEvent = unsafe extern "C" fn(*mut raw::jvmtiEnv, *mut JNIEnv, jobject);

unsafe extern "C" fn mount(_env: *mut raw::jvmtiEnv, _jni: *mut JNIEnv, thread: jobject) {
    Profile::callback(|profile| {
        // SAFETY: the parameter of this callback.
        let thread = unsafe { Ref::from_raw(thread) };
        let Ok(mut word) = profile.run.jvmti.thread_local(thread) else {
            return;
        };
        if word == 0 {
            word = profile.run.threads.new_serial().get() as usize;
            let _ = profile.run.jvmti.set_thread_local(thread, word);
        }
        note(profile, word as u32);
    });
}

unsafe extern "C" fn unmount(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    Profile::callback(|profile| {
        // SAFETY: the parameter of this callback.
        let thread = unsafe { Ref::from_raw(thread) };
        let mentioned = note(profile, 0);
        if mentioned == 0 {
            return;
        }
        let Ok(word) = profile.run.jvmti.thread_local(thread) else {
            return;
        };
        if word & NAMED != 0 || word as u32 != mentioned {
            return;
        }
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        if let Some(thread) = thread {
            send_start(profile, &jni, thread, ThreadSerial::new(mentioned));
        }
        let _ = profile.run.jvmti.set_thread_local(thread, word | NAMED);
    });
}

/// Tells the profilers which virtual thread the current carrier runs. Returns the
/// serial of the one before if the profile mentions it.
fn note(profile: &Profile, serial: u32) -> u32 {
    let allocated = profile
        .heap_sites
        .map_or(0, |sites| sites.note_virtual_thread(serial));
    match note_for_samples(profile, serial) {
        0 => allocated,
        sampled => sampled,
    }
}

fn note_for_samples(profile: &Profile, serial: u32) -> u32 {
    let Engine::Signal(engine, _) = profile.sampling.engine() else {
        return 0;
    };
    // SAFETY: the call has no arguments and cannot fail.
    let carrier = profile.run.threads.get(unsafe { libc::gettid() });
    match carrier.and_then(|thread| thread.slot) {
        Some(slot) => engine.set_virtual_thread(slot, serial),
        None => 0,
    }
}

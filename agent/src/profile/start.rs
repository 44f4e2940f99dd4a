//! VMInit: from here on the program is profiled.

use std::sync::atomic::Ordering;

use crossbeam_channel::{Sender, bounded};
use hprof_native_headers as raw;

use super::state::Profile;
use super::thread::ProfileThread;
use super::threads::{register, register_running};
use super::{exit_hook, virtual_threads, work};
use crate::control;
use crate::heap_dump::PROFILE_THREAD;
use crate::native_memory::NativeRecorder;
use crate::recording::{Phase, Recorder};
use crate::report;
use crate::vm::{JavaThreads, Jni, Ref, Vm, VmLibrary, VmStructs};

/// Switches everything on. A mode that fails is reported and left out; the program runs. `current` is the
/// current thread.
pub(super) fn start(profile: &'static Profile, jni: &Jni, current: Ref<'_>) {
    let run = profile.run;
    let Some(mut thread) = profile.thread.lock().take() else {
        return;
    };
    let hand_over = match start_profile_thread(profile, jni) {
        Ok(hand_over) => hand_over,
        Err(error) => {
            report::error(&format!(
                "cannot start the profile thread, nothing is profiled ({error})"
            ));
            return;
        }
    };
    run.set_phase(Phase::Live);
    let structs = VmLibrary::of(&run.jvmti).and_then(VmStructs::of);
    if let Some(threads) = structs.and_then(|s| JavaThreads::learn(s, &run.jvmti, jni)) {
        let _ = run.java_threads.set(threads);
    }
    let vm = Vm {
        jvmti: &run.jvmti,
        jni,
    };
    // Before the first timer is set.
    let (mut cx, recorders) = thread.split(vm);
    recorders.samples.start(&mut cx);
    register(profile, jni, current, run.native_of_current(jni));
    for event in [
        raw::JVMTI_EVENT_THREAD_START,
        raw::JVMTI_EVENT_THREAD_END,
        raw::JVMTI_EVENT_DATA_DUMP_REQUEST,
    ] {
        if let Err(error) = run.jvmti.set_event(event, true) {
            report::error(&format!("cannot enable event {event} ({error})"));
        }
    }
    if run.settings.thread {
        virtual_threads::enable(&run.jvmti);
    }
    if let Some(times) = &mut recorders.times {
        times.start(&mut cx);
    }
    register_running(profile, jni);
    if let Some(monitors) = &mut recorders.monitors {
        monitors.start(&mut cx);
    }
    if let Some(slow) = &mut recorders.slow {
        slow.start(&mut cx);
    }
    recorders.heap.start(&mut cx);
    if run.settings.modes.tracks_objects() && exit_hook::is_needed(structs) {
        run.collector_stops.store(true, Ordering::Release);
        exit_hook::register(profile, jni);
    }
    if let Some(&(vm, serve)) = profile.control.get() {
        control::open_or_say(vm, serve);
    }
    // Last, so that what the agent allocates here is not taken for the program's.
    if let Some(sites) = &mut recorders.sites {
        sites.start(&mut cx);
    }
    if let Some(native) = &mut recorders.native {
        native.start(&mut cx);
    }
    if let Some(locks) = &mut recorders.native_locks {
        locks.start(&mut cx);
    }
    // The thread waits for it.
    let _ = hand_over.send(thread);
}

/// Starts the profile thread, which waits for what it is to own.
fn start_profile_thread(
    profile: &'static Profile,
    jni: &Jni,
) -> crate::vm::Result<Sender<ProfileThread>> {
    let (hand_over, taken_over) = bounded::<ProfileThread>(1);
    profile.run.start_own(jni, PROFILE_THREAD, move |jni| {
        if let Some(sites) = profile.heap_sites {
            sites.ignore_current_thread();
        }
        let modes = &profile.run.settings.modes;
        if modes.native || modes.native_lock {
            NativeRecorder::ignore_current_thread();
        }
        if let Ok(thread) = taken_over.recv() {
            work::work(thread, profile, jni);
        }
    })?;
    Ok(hand_over)
}

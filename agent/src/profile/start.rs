//! VMInit: from here on the program is profiled.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hprof_native_headers as raw;
use jni_sys::jvalue;

use super::callbacks::{register, register_by_name, sample_thread};
use super::{Engine, Phase, Profile, exit_hook, load, virtual_threads};
use crate::control;
use crate::report;
use crate::vm::{
    self, Capabilities, JavaThreads, Jni, LocalRef, NativeThread, Ref, VmLibrary, VmStructs,
};

/// Switches everything on. What fails is reported and left out; the program runs.
pub(super) fn start(profile: &'static Profile, jni: &Jni, main: Ref<'_>) {
    if let Err(error) = start_profile_thread(profile, jni) {
        report::error(&format!(
            "cannot start the profile thread, nothing is profiled ({error})"
        ));
        return;
    }
    profile.set_phase(Phase::Live);
    let structs = VmLibrary::of(&profile.jvmti).and_then(VmStructs::of);
    if let Some(threads) = structs.and_then(|s| JavaThreads::learn(s, &profile.jvmti, jni)) {
        let _ = profile.java_threads.set(threads);
    }
    if let Engine::Signal(..) = profile.engine() {
        make_method_ids(profile, jni);
        if profile.java_threads.get().is_none() {
            report::error("this VM hides its threads from the signal engine: use engine=safepoint");
        }
    }
    register(profile, jni, main, native_of(profile, jni, main));
    for event in [
        raw::JVMTI_EVENT_THREAD_START,
        raw::JVMTI_EVENT_THREAD_END,
        raw::JVMTI_EVENT_DATA_DUMP_REQUEST,
    ] {
        if let Err(error) = profile.jvmti.set_event(event, true) {
            report::error(&format!("cannot enable event {event} ({error})"));
        }
    }
    if profile.settings.thread {
        virtual_threads::enable(&profile.jvmti);
    }
    if let Some(calls) = profile.calls
        && let Err(error) = calls.start(&profile.jvmti, jni)
    {
        report::error(&format!(
            "this VM does not take the agent's Java class; calls are not counted ({error})"
        ));
    }
    register_running(profile, jni);
    if let Some(monitors) = profile.monitors {
        monitors.start(jni);
    }
    if profile.settings.modes.tracks_objects() && exit_hook::is_needed(structs) {
        profile.collector_stops.store(true, Ordering::Release);
        exit_hook::register(profile, jni);
    }
    if let Some(&vm) = profile.control.get() {
        control::open_or_say(vm);
    }
    // Last, so that what the agent allocates here is not taken for the program's.
    if let Some(sites) = profile.heap_sites {
        sites.start(jni);
    }
}

/// Registers the threads that started before their event was enabled.
fn register_running(profile: &'static Profile, jni: &Jni) {
    let jni = &*jni.large_local_frame();
    let Ok(threads) = profile.jvmti.all_threads(jni) else {
        return;
    };
    for thread in threads {
        let thread = thread.get();
        let own = profile
            .own_threads
            .lock()
            .iter()
            .any(|own| jni.is_same(thread, own.get()));
        if own {
            continue;
        }
        match native_of(profile, jni, thread) {
            Some(native) => register(profile, jni, thread, Some(native)),
            None => register_by_name(profile, jni, thread),
        }
    }
}

/// Begins to sample a program that runs.
///
/// # Errors
/// Why it cannot be sampled.
pub(super) fn start_sampling(profile: &'static Profile, jni: &Jni) -> Result<(), String> {
    let engine = load::find_engine(&profile.jvmti, &profile.settings)?;
    if let Engine::Safepoint = engine {
        let mut wanted = Capabilities::default();
        wanted.set_can_get_thread_cpu_time(1);
        let added = profile.jvmti.add_capabilities(&wanted);
        added.map_err(|error| error.to_string())?;
    }
    load::has_debug_info(&profile.jvmti, engine);
    if let Engine::Signal(..) = engine {
        make_method_ids(profile, jni);
    }
    *profile.engine.write() = engine;
    let jni = &*jni.large_local_frame();
    let threads = profile.jvmti.all_threads(jni);
    for thread in threads.map_err(|error| error.to_string())? {
        let native = native_of(profile, jni, thread.get());
        let known = native.and_then(|native| profile.registry.get(native.tid));
        if let Some(known) = known.filter(|known| known.slot.is_none()) {
            sample_thread(profile, thread.get(), native, known.serial);
        }
    }
    Ok(())
}

fn native_of(profile: &Profile, jni: &Jni, thread: Ref<'_>) -> Option<NativeThread> {
    let threads = profile.java_threads.get()?;
    // SAFETY: callers have the thread from the VM.
    unsafe { threads.native(jni, thread) }
}

/// Creates the ids of all methods that are loaded, and sees to those to come.
fn make_method_ids(profile: &Profile, jni: &Jni) {
    for event in [raw::JVMTI_EVENT_CLASS_LOAD, raw::JVMTI_EVENT_CLASS_PREPARE] {
        if let Err(error) = profile.jvmti.set_event(event, true) {
            report::error(&format!(
                "cannot enable event {event}; samples will fail ({error})"
            ));
        }
    }
    let jni = &*jni.large_local_frame();
    let Ok(classes) = profile.jvmti.loaded_classes(jni) else {
        return;
    };
    for class in classes {
        // Classes that are not prepared yet have their event later.
        let _ = profile.jvmti.create_method_ids(class.get());
    }
}

/// The name of the profile thread.
pub(super) const PROFILE_THREAD: &str = "HPROF profile thread";

fn start_profile_thread(profile: &'static Profile, jni: &Jni) -> vm::Result<()> {
    let Some(collector) = profile.collector.lock().take() else {
        return Ok(());
    };
    let thread = new_thread(profile, jni, PROFILE_THREAD)?;
    let own = Arc::new(jni.new_global(thread.get())?);
    profile.own_threads.lock().push(Arc::clone(&own));
    profile.jvmti.run_agent_thread(
        own.get(),
        Box::new(move |jni| collector.run(profile, &profile.jvmti, jni)),
    )
}

/// A thread of the agent that was not started yet.
pub(super) fn new_thread<'a>(
    profile: &Profile,
    jni: &'a Jni,
    name: &str,
) -> vm::Result<LocalRef<'a>> {
    let class = jni.find_class(c"java/lang/Thread")?;
    let constructor = jni.method_id(
        class.get(),
        c"<init>",
        c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V",
    )?;
    let group = profile.jvmti.top_thread_group(jni)?;
    let name = jni.new_string(&CString::new(name).unwrap_or_default())?;
    let arguments = [group.get(), name.get()].map(|argument| jvalue {
        l: argument.as_raw(),
    });
    // SAFETY: the constructor is one of this class, and takes a group and a string.
    Ok(unsafe { jni.new_object(class.get(), constructor, &arguments) }?)
}

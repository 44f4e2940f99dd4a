//! VMInit: from here on the program is profiled.

use hprof_native_headers as raw;
use jni_sys::{jobject, jvalue};

use super::callbacks::register;
use super::{Engine, Phase, Profile, virtual_threads};
use crate::report;
use crate::vm::{JavaThreads, Jni, Result, VmLibrary, VmStructs};

/// Room for references to classes or threads: the most that a start-up has.
const MANY_REFERENCES: u32 = 1 << 14;

/// Switches everything on. What fails is reported and left out; the program runs.
pub(super) fn start(profile: &'static Profile, jni: &Jni, main: jobject) {
    if let Err(error) = start_profile_thread(profile, jni) {
        report::error(&format!(
            "cannot start the profile thread, nothing is profiled ({error})"
        ));
        return;
    }
    profile.set_phase(Phase::Live);
    let structs = VmLibrary::of(profile.jvmti).and_then(VmStructs::of);
    if let Some(threads) = structs.and_then(|s| JavaThreads::learn(s, jni, main)) {
        let _ = profile.java_threads.set(threads);
    }
    if let Engine::Signal(..) = profile.engine {
        make_method_ids(profile, jni);
        if profile.java_threads.get().is_none() {
            report::error("this VM hides its threads from the signal engine: use engine=safepoint");
        }
    }
    let native_of = |thread| {
        profile
            .java_threads
            .get()
            .and_then(|t| t.native(jni, thread))
    };
    register(profile, jni, main, native_of(main));
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
        virtual_threads::enable(profile.jvmti);
    }
    if let Some(calls) = profile.calls
        && let Err(error) = calls.start(profile.jvmti, jni)
    {
        report::error(&format!(
            "this VM does not take the agent's Java class; calls are not counted ({error})"
        ));
    }
    // The threads that started before this event would never be seen otherwise.
    let _frame = jni.local_frame(MANY_REFERENCES);
    let Ok(threads) = profile.jvmti.all_threads() else {
        return;
    };
    for &thread in threads.iter() {
        let thread = jni.own(thread);
        let own = profile
            .own_threads
            .lock()
            .iter()
            .any(|&t| jni.is_same(thread.as_raw(), t));
        if own {
            continue;
        }
        let native = native_of(thread.as_raw());
        if native.is_some() {
            register(profile, jni, thread.as_raw(), native);
        }
    }
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
    let _frame = jni.local_frame(MANY_REFERENCES);
    let Ok(classes) = profile.jvmti.loaded_classes() else {
        return;
    };
    for &class in classes.iter() {
        let class = jni.own(class);
        // Classes that are not prepared yet have their event later.
        let _ = profile.jvmti.create_method_ids(class.as_raw());
    }
}

fn start_profile_thread(profile: &'static Profile, jni: &Jni) -> Result<()> {
    let Some(collector) = profile.collector.lock().take() else {
        return Ok(());
    };
    let class = jni.find_class(c"java/lang/Thread")?;
    let constructor = jni.method_id(
        class.as_raw(),
        c"<init>",
        c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V",
    )?;
    let group = profile.jvmti.top_thread_group(jni)?;
    let name = jni.new_string(c"HPROF profile thread")?;
    let arguments = [jvalue { l: group.as_raw() }, jvalue { l: name.as_raw() }];
    let thread = jni.new_object(class.as_raw(), constructor, &arguments)?;
    let own = jni.new_global(thread.as_raw());
    profile.own_threads.lock().push(own);
    profile.jvmti.run_agent_thread(
        own.as_raw(),
        Box::new(move |jvmti, jni| collector.run(profile, jvmti, &jni)),
    )
}

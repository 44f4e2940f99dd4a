//! The threads that are sampled.

use hprof_native_headers as raw;

use super::debug_info::has_debug_info;
use super::engine::{Engine, Sampling, choose};
use super::signal::SampledThread;
use super::wall::WallThread;
use crate::options;
use crate::os::timer;
use crate::recording::{NAMED, Phase, Run};
use crate::report;
use crate::vm::{Capabilities, Jni, NativeThread, Ref, ThreadReader, Vm};

/// Has a registered thread sampled.
pub fn sample_thread(
    run: &Run,
    sampling: &Sampling,
    jni: &Jni,
    thread: Ref<'_>,
    native: Option<NativeThread>,
    serial: u32,
) {
    let filter = &run.settings.filter;
    let is_wanted = || {
        let name = run.jvmti.thread_name(jni, thread).unwrap_or_default();
        filter.matches(&name)
    };
    let is_wanted = sampling.is_on() && (filter.is_empty() || is_wanted());
    let mut slot_of_wall = None;
    if is_wanted
        && let (Engine::Signal(engine, installed), Some(native)) = (sampling.engine(), native)
    {
        let NativeThread {
            tid,
            env,
            stack_start,
            stack_end,
            anchor,
            ..
        } = native;
        let slot = SampledThread {
            tid,
            env,
            serial,
            stack_start,
            stack_end,
            anchor,
            is_starting: env == jni.as_raw(),
        };
        match engine.start_thread(slot, installed) {
            Ok(token) if run.threads.set_slot(tid, token) => slot_of_wall = Some(token),
            // It ended, or another thread was faster.
            Ok(token) => engine.end_thread(token),
            // Its end is on the way to the agent.
            Err(error) if timer::has_ended(&error) => {}
            Err(error) => no_timer(run, 1, &error),
        }
    }
    if is_wanted
        && run.settings.samples_wall()
        && let Some(native) = native
        && let Ok(object) = jni.new_global(thread)
    {
        let thread = WallThread::new(native.tid, serial, slot_of_wall, object);
        sampling.wall.begin(thread);
    }
    let is_safepoint = is_wanted && matches!(sampling.engine(), Engine::Safepoint);
    // On HotSpot the serial is found by the VM's own thread.
    let is_hotspot = run.java_threads.get().is_some();
    if !is_hotspot && (is_safepoint || run.settings.modes.monitor) {
        let _ = run
            .jvmti
            .set_thread_local(Some(thread), serial as usize | NAMED);
    }
}

/// Counts threads that the kernel gave no timer, and reports the first.
pub(super) fn no_timer(run: &Run, threads: u32, error: &std::io::Error) {
    if run.phase() == Phase::Live && run.threads.count_without_timer(threads) {
        report::error(&match run.settings.event {
            None => format!(
                "a thread got no CPU timer and is not sampled: {error}; \
                 raise the limit of pending signals (ulimit -i) or use engine=safepoint"
            ),
            Some(_) => format!(
                "a thread is not sampled, as its event cannot be counted: {error}; raise the limit of open files \
                 (ulimit -n)"
            ),
        });
    }
}

/// Begins to sample in a run that did not until now.
///
/// # Errors
/// A sentence that says why it cannot.
pub fn begin_sampling(run: &Run, sampling: &Sampling, vm: Vm<'_>) -> Result<(), String> {
    let engine = choose(vm.jvmti, &run.settings)?;
    if let Engine::Safepoint = engine {
        let mut wanted = Capabilities::default();
        wanted.set_can_get_thread_cpu_time(1);
        let added = vm.jvmti.add_capabilities(&wanted);
        added.map_err(|error| error.to_string())?;
    }
    has_debug_info(vm.jvmti, engine);
    if let Engine::Signal(..) = engine {
        make_method_ids(vm);
        begin_walking(run, vm, engine);
    }
    sampling.set_engine(engine);
    let jni = &*vm.jni.large_local_frame();
    let threads = vm.jvmti.all_threads(jni);
    let mut reader = run.thread_reader();
    for thread in threads.map_err(|error| error.to_string())? {
        // SAFETY: the VM has listed the thread.
        let read = |reader: &mut ThreadReader<'_>| unsafe { reader.read(jni, thread.get()) };
        let native = reader.as_mut().and_then(read);
        let known = native.and_then(|native| run.threads.get(native.tid));
        if let Some(known) = known.filter(|known| known.slot.is_none()) {
            sample_thread(run, sampling, jni, thread.get(), native, known.serial.get());
        }
    }
    Ok(())
}

/// Has the agent's own walk take stacks where it can, unless the options ask for `AsyncGetCallTrace`.
pub(super) fn begin_walking(run: &Run, vm: Vm<'_>, engine: Engine) {
    let is_asked = run.settings.engine == options::Engine::Walker;
    let Engine::Signal(engine, _) = engine else {
        return;
    };
    if run.settings.engine == options::Engine::Signal || engine.begin_walking(vm, is_asked) {
        return;
    }
    // Where the agent knows the processor, the walk is expected without being asked for.
    if is_asked {
        report::note(
            "this VM does not export what engine=walker needs: cpu=samples uses AsyncGetCallTrace",
        );
    } else if cfg!(target_arch = "x86_64") {
        report::note(
            "stacks of this VM are not as the agent knows them: cpu=samples uses AsyncGetCallTrace, which loses more \
             samples",
        );
    }
}

/// Compares the walk of the current thread's stack with the VM's, and reports the first difference.
pub fn check_walk(run: &Run, sampling: &Sampling, vm: Vm<'_>) {
    if let (Engine::Signal(engine, _), Some(threads)) = (sampling.engine(), run.java_threads.get())
        && let Some(text) = engine.check_walk(vm, threads)
    {
        report::note(&text);
    }
}

/// Creates the ids of all methods that are loaded, and sees to those to come: `AsyncGetCallTrace`
/// cannot create them in a signal handler.
pub fn make_method_ids(vm: Vm<'_>) {
    for event in [raw::JVMTI_EVENT_CLASS_LOAD, raw::JVMTI_EVENT_CLASS_PREPARE] {
        if let Err(error) = vm.jvmti.set_event(event, true) {
            report::error(&format!(
                "cannot enable event {event}; samples will fail ({error})"
            ));
        }
    }
    let jni = &*vm.jni.large_local_frame();
    let Ok(classes) = vm.jvmti.loaded_classes(jni) else {
        return;
    };
    for class in classes {
        // Classes that are not prepared yet have their event later.
        let _ = vm.jvmti.create_method_ids(class.get());
    }
}

//! Agent_OnLoad: options are checked, the output is created, the engine chosen.
//! Everything that can refuse to start does so here, before any Java code runs.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::bounded;
use hprof_native_headers as raw;
use jni_sys::JavaVM;
use parking_lot::{Mutex, RwLock};

use super::collector::Collector;
use super::output::Output;
use super::registry::Registry;
use super::{Engine, PROFILE, Phase, Profile, advice, callbacks};
use crate::call_times::{Arrival, CallTimes, ChosenClasses, MAX_PATH, Plan, Timing};
use crate::cpu_samples::signal::SignalEngine;
use crate::heap_sites::HeapSites;
use crate::monitors::Monitors;
use crate::options::{
    self, Clock, Destination, ExitKind, Failure, Process, Settings, Start, StartTime, parse,
    unique_name, unique_picture_name,
};
use crate::os::signals::SignalNumber;
use crate::report;
use crate::sink::{Endpoint, Existing, FileSink, Hurry, Sink};
use crate::vm::{Capabilities, Jvmti, VmHandle, VmLibrary, VmStructs};

/// Why the agent does not start, or the text that was asked for instead.
pub enum Refusal {
    /// Text for standard output; the process then ends well.
    Help(String),
    /// Lines for standard error and the end of the process.
    Failure(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Messages that may wait for the profile thread before callbacks drop theirs.
const CHANNEL: usize = 1 << 15;

/// How long a VM that is attached to may still be starting.
const LONGEST_START: Duration = Duration::from_secs(10);

/// The one signal engine of this process: a signal may be on its way to it at any time, so it is
/// used again rather than freed.
static SIGNAL_ENGINE: OnceLock<&'static SignalEngine> = OnceLock::new();

static LOADED: AtomicBool = AtomicBool::new(false);

/// Prepares the profile that `command_line` describes.
///
/// # Errors
/// [`Refusal`]: option errors, help, or a set-up that cannot work.
///
/// # Safety
/// `vm` is the pointer that the VM passed to the agent's entry point.
pub unsafe fn load(vm: *mut JavaVM, command_line: &str) -> Result<(), Refusal> {
    if LOADED.swap(true, Ordering::AcqRel) {
        // The process ends here, so the first one's file must not stay behind.
        if let Some(collector) = Profile::get().and_then(|first| first.collector.lock().take()) {
            collector.discard();
        }
        return Err(fatal(
            "Cannot load this JVM TI agent twice, check your java command line for duplicate \
             hprof options.",
        ));
    }
    // SAFETY: by the caller's promise.
    let jvmti = unsafe { Jvmti::from_vm(vm) }.map_err(|code| {
        set_up_error(&format!(
            "this VM has no JVMTI of version 11 or later (GetEnv: {code})"
        ))
    })?;
    let process = Process {
        pid: std::process::id(),
        start: StartTime::local(SystemTime::now()),
    };
    let environment = std::env::var_os(parse::ENVIRONMENT_VARIABLE);
    let environment = environment.as_ref().map(|value| value.to_string_lossy());
    let settings = match options::load(command_line, environment.as_deref(), &process)? {
        Start::Help(text) => return Err(Refusal::Help(text)),
        Start::Profile(settings) => *settings,
    };
    report::set_policy(settings.error_policy());
    let hurry = Hurry::default();
    let output = Box::new(Output::new(&settings, create_sink(&settings, &hurry)?));
    if settings.pause {
        pause();
    }
    let control = settings.control;
    // SAFETY: by the caller's promise.
    let heap_environment = || unsafe { Jvmti::from_vm(vm) };
    match prepare(
        jvmti,
        &heap_environment,
        settings,
        output,
        hurry,
        Arrival::Early,
    ) {
        Ok(()) => {
            if control && let Some(profile) = Profile::get() {
                // SAFETY: by the caller's promise.
                let _ = profile.control.set(unsafe { VmHandle::new(vm) });
            }
            Ok(())
        }
        Err((output, refusal)) => {
            output.discard();
            Err(refusal)
        }
    }
}

/// Prepares a run in a VM that is up. Nothing ends the process here.
///
/// # Errors
/// Why there can be none.
///
/// # Safety
/// `vm` is the VM.
pub(super) unsafe fn load_late(
    vm: *mut JavaVM,
    settings: Settings,
) -> Result<&'static Profile, String> {
    let said = |refusal| match refusal {
        Refusal::Help(text) => text,
        Refusal::Failure(failure) => failure.lines.join("\n"),
    };
    // SAFETY: by the caller's promise.
    let mut jvmti = unsafe { Jvmti::from_vm(vm) };
    let asked = Instant::now();
    // Whoever attaches early finds the VM between its phases "onload" and "live".
    while matches!(jvmti, Err(jni_sys::JNI_EDETACHED)) && asked.elapsed() < LONGEST_START {
        std::thread::sleep(Duration::from_millis(10));
        // SAFETY: by the caller's promise.
        jvmti = unsafe { Jvmti::from_vm(vm) };
    }
    let jvmti = jvmti
        .map_err(|code| format!("this VM has no JVMTI of version 11 or later (GetEnv: {code})"))?;
    let hurry = Hurry::default();
    let output = create_sink(&settings, &hurry).map_err(said)?;
    let output = Box::new(Output::new(&settings, output));
    // SAFETY: by the caller's promise.
    let heap_environment = || unsafe { Jvmti::from_vm(vm) };
    match prepare(
        jvmti,
        &heap_environment,
        settings,
        output,
        hurry,
        Arrival::Late,
    ) {
        Ok(()) => Profile::get().ok_or_else(|| "no profile".to_owned()),
        Err((output, refusal)) => {
            output.discard();
            Err(said(refusal))
        }
    }
}

fn create_sink(settings: &Settings, hurry: &Hurry) -> Result<Sink, Refusal> {
    let endpoint = match &settings.destination {
        Destination::File(path) => {
            let (format, is_picture) = (settings.format, settings.picture.is_some());
            let another = move |path: &std::path::Path| -> PathBuf {
                let pid = std::process::id();
                match is_picture {
                    true => unique_picture_name(path, pid),
                    false => unique_name(path, pid, format),
                }
            };
            let existing = match settings.force {
                false => Existing::Keep,
                true if settings.has_force => Existing::Force,
                true => Existing::Replace,
            };
            return FileSink::create(path, existing, another)
                .map(Sink::File)
                .map_err(|e| set_up_error(&e.to_string()));
        }
        Destination::Net { host, port } => Endpoint::Tcp(host.clone(), *port),
        Destination::Unix(path) => Endpoint::Unix(path.clone()),
    };
    let connected = endpoint.connect(settings.netwait, hurry);
    connected.map(Sink::Net).map_err(|error| {
        set_up_error(&format!(
            "can't connect to {endpoint}: {error}; a front-end (hprof-rs listen) must listen \
             there before the program starts, or use netwait=<seconds>"
        ))
    })
}

/// What can fail once there is an output, which must then be removed.
fn prepare(
    jvmti: Jvmti,
    new_environment: &dyn Fn() -> Result<Jvmti, i32>,
    settings: Settings,
    output: Box<Output>,
    hurry: Hurry,
    arrival: Arrival,
) -> Result<(), (Box<Output>, Refusal)> {
    let engine = match choose_engine(&jvmti, &settings) {
        Ok(engine) => engine,
        Err(refusal) => return Err((output, refusal)),
    };
    if let Err(error) = enable(&jvmti, &settings, engine, arrival) {
        let text = format!("Unable to get necessary JVMTI capabilities. ({error})");
        return Err((output, set_up_error(&text)));
    }
    let heap_sites = match install_heap_sites(new_environment, &settings) {
        Ok(heap_sites) => heap_sites,
        Err(refusal) => return Err((output, refusal)),
    };
    let calls = match prepare_calls(&jvmti, &settings, arrival) {
        Ok(calls) => calls,
        Err(refusal) => return Err((output, refusal)),
    };
    let monitors = match install_monitors(new_environment, &settings) {
        Ok(monitors) => monitors,
        Err(refusal) => return Err((output, refusal)),
    };
    let (sender, receiver) = bounded(CHANNEL);
    let collector = Collector::new(receiver, *output, &settings, heap_sites, monitors);
    let profile = Profile {
        advises: advice::wanted(&settings).filter(|_| arrival == Arrival::Early),
        jvmti,
        settings,
        phase: AtomicU8::new(Phase::Load as u8),
        registry: Registry::default(),
        sender: RwLock::new(Some(sender)),
        engine: RwLock::new(engine),
        heap_sites,
        calls,
        monitors,
        heap_was_dumped: AtomicBool::new(false),
        java_threads: OnceLock::new(),
        own_threads: Mutex::new(Vec::new()),
        exit_hook: OnceLock::new(),
        collector_stops: AtomicBool::new(false),
        collected_before_exit: AtomicBool::new(false),
        collector: Mutex::new(Some(collector)),
        dumping: AtomicBool::new(false),
        finishing: AtomicBool::new(false),
        dumping_heap: AtomicBool::new(false),
        hurry,
        control: OnceLock::new(),
    };
    PROFILE.store(Box::into_raw(Box::new(profile)), Ordering::Release);
    Ok(())
}

fn install_heap_sites(
    new_environment: &dyn Fn() -> Result<Jvmti, i32>,
    settings: &Settings,
) -> Result<Option<&'static HeapSites>, Refusal> {
    if !settings.modes.heap_sites {
        return Ok(None);
    }
    if HeapSites::was_used() {
        return Err(set_up_error(
            "allocation sites were recorded in this JVM before, and can be once only",
        ));
    }
    let jvmti = new_environment()
        .map_err(|code| set_up_error(&format!("no second JVMTI environment (GetEnv: {code})")))?;
    HeapSites::install(jvmti, settings, Profile::current_serial)
        .map(Some)
        .map_err(|error| {
            set_up_error(&format!(
                "heap=sites cannot have the VM's allocation events ({error}); they go to one agent \
                 only, so leave out the other agent that samples allocations"
            ))
        })
}

fn install_monitors(
    new_environment: &dyn Fn() -> Result<Jvmti, i32>,
    settings: &Settings,
) -> Result<Option<&'static Monitors>, Refusal> {
    if !settings.modes.monitor {
        return Ok(None);
    }
    if Monitors::was_used() {
        return Err(set_up_error(
            "monitors were recorded in this JVM before, and can be once only",
        ));
    }
    let jvmti = new_environment().map_err(|code| {
        set_up_error(&format!(
            "no JVMTI environment for monitors (GetEnv: {code})"
        ))
    })?;
    Monitors::install(jvmti, settings, super::monitors::HOST)
        .map(Some)
        .map_err(|error| set_up_error(&format!("monitor=y cannot have the VM's events ({error})")))
}

fn choose_engine(jvmti: &Jvmti, settings: &Settings) -> Result<Engine, Refusal> {
    // Depth 0 records nothing, as in the original.
    if !settings.modes.cpu_samples || settings.depth == 0 {
        return Ok(Engine::None);
    }
    find_engine(jvmti, settings).map_err(|text| set_up_error(&text))
}

/// The engine that cpu=samples uses here, ready for its first thread.
pub(super) fn find_engine(jvmti: &Jvmti, settings: &Settings) -> Result<Engine, String> {
    if settings.engine == options::Engine::Safepoint {
        return Ok(Engine::Safepoint);
    }
    let wanted = settings.signal.map(SignalNumber);
    let (depth, interval) = (settings.depth.max(1), settings.interval);
    let started = match SIGNAL_ENGINE.get() {
        Some(&engine) => engine
            .install_again(depth, interval, wanted)
            .map(|installed| (engine, installed)),
        None => SignalEngine::new(jvmti, depth, interval)
            .and_then(|engine| engine.install(wanted))
            .inspect(|(engine, _)| {
                let _ = SIGNAL_ENGINE.set(engine);
            }),
    };
    match started {
        Ok((engine, installed)) => Ok(Engine::Signal(engine, installed)),
        Err(error) if settings.engine == options::Engine::Auto && settings.signal.is_none() => {
            report::note(&format!(
                "{error}: cpu=samples uses the safepoint engine, which is biased"
            ));
            Ok(Engine::Safepoint)
        }
        Err(error) => Err(format!(
            "cpu=samples cannot use the signal engine: {error}; engine=safepoint works everywhere"
        )),
    }
}

fn prepare_calls(
    jvmti: &Jvmti,
    settings: &Settings,
    arrival: Arrival,
) -> Result<Option<&'static CallTimes>, Refusal> {
    if !settings.modes.counts_calls() {
        return Ok(None);
    }
    let structs = VmLibrary::of(jvmti).and_then(VmStructs::of);
    if structs.is_some_and(VmStructs::makes_aot_cache) {
        let mode = if settings.modes.cpu_old {
            "cpu=old"
        } else {
            "cpu=times"
        };
        return Err(set_up_error(&format!(
            "{mode} rewrites classes, and this VM crashes when it makes an AOT cache of such: leave \
             out -XX:AOTCacheOutput and -XX:AOTMode=record or create, or use cpu=samples"
        )));
    }
    let depth = settings.call_depth();
    if depth > MAX_PATH {
        report::note(&format!("cpu=times keeps {MAX_PATH} frames at most"));
    }
    let timing = match settings.clock {
        _ if settings.modes.cpu_old => Timing::ClockedInclusive,
        Clock::Exact => Timing::Clocked,
        Clock::Sampled => Timing::Sampled,
    };
    let classes = ChosenClasses {
        include: settings.include.clone(),
        exclude: settings.exclude.clone(),
    };
    let plan = Plan {
        depth,
        timing,
        classes,
        signal: settings.signal,
    };
    match CallTimes::prepare(plan, arrival) {
        Ok(calls) => Ok(Some(calls)),
        Err(reason) => Err(set_up_error(&reason.to_string())),
    }
}

fn enable(
    jvmti: &Jvmti,
    settings: &Settings,
    engine: Engine,
    arrival: Arrival,
) -> crate::vm::Result<()> {
    let mut wanted = Capabilities::default();
    wanted.set_can_get_source_file_name(1);
    wanted.set_can_get_line_numbers(1);
    if let Engine::Safepoint = engine {
        wanted.set_can_get_thread_cpu_time(1);
    }
    if settings.thread {
        wanted.set_can_support_virtual_threads(1);
    }
    if settings.modes.counts_calls() {
        wanted.set_can_retransform_classes(1);
        wanted.set_can_retransform_any_class(1);
        wanted.set_can_generate_all_class_hook_events(1);
        // What a VM that runs no longer gives.
        wanted.set_can_generate_early_class_hook_events(u32::from(arrival == Arrival::Early));
    }
    let debug_info = has_debug_info(jvmti, engine);
    if !debug_info {
        wanted.set_can_generate_compiled_method_load_events(1);
    }
    jvmti.add_capabilities(&wanted)?;
    jvmti.set_callbacks(&callbacks::table())?;
    jvmti.set_event(raw::JVMTI_EVENT_VM_INIT, true)?;
    jvmti.set_event(raw::JVMTI_EVENT_VM_DEATH, true)?;
    if settings.modes.counts_calls() {
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)?;
    }
    if !debug_info {
        // The compilers keep debug information for every instruction, not only
        // for safepoints, while an agent listens to this event.
        let _ = jvmti.set_event(raw::JVMTI_EVENT_COMPILED_METHOD_LOAD, true);
    }
    Ok(())
}

/// Whether the compilers keep what the engine needs, or will from now on.
pub(super) fn has_debug_info(jvmti: &Jvmti, engine: Engine) -> bool {
    match engine {
        Engine::Signal(..) => debug_non_safepoints(jvmti),
        Engine::Safepoint | Engine::None => true,
    }
}

/// Makes the compilers keep debug information between safepoints, without which
/// a sample in compiled code is charged to the nearest safepoint. It is the
/// diagnostic flag -XX:+DebugNonSafepoints. Writing it costs nothing, while the
/// event that implies it makes the VM describe every compiled method to us, and
/// had races with method unloading (JDK-8173361). A value the user gave stays.
fn debug_non_safepoints(jvmti: &Jvmti) -> bool {
    let Some(structs) = VmLibrary::of(jvmti).and_then(VmStructs::of) else {
        return false;
    };
    let Some(flag) = structs.default_flag(c"DebugNonSafepoints") else {
        // Set by the user, or unknown here: in the latter case the event helps.
        return structs.type_size(c"JVMFlag").is_some();
    };
    // SAFETY: the VM's own table says that a bool flag lies there: a byte, which compilers that run
    // already see whole, before or after.
    unsafe { std::ptr::write_volatile(flag as *mut u8, 1) };
    FLAG_SET.store(flag, Ordering::Relaxed);
    true
}

/// Where the flag is that was written; 0 when it was not.
static FLAG_SET: AtomicUsize = AtomicUsize::new(0);

/// Gives the flag its old value back.
pub(super) fn restore_debug_info() {
    let flag = FLAG_SET.swap(0, Ordering::Relaxed);
    if flag != 0 {
        // SAFETY: `debug_non_safepoints` has written it.
        unsafe { std::ptr::write_volatile(flag as *mut u8, 0) };
    }
}

/// `pause=y`: time for a native debugger to attach.
fn pause() {
    report::raw(&format!("\nHPROF pause for PID {}\n", std::process::id()));
    for _ in 0..60 {
        std::thread::sleep(Duration::from_secs(10));
    }
    report::raw("\n HPROF pause got tired of waiting and gave up.\n");
}

#[track_caller]
fn set_up_error(text: &str) -> Refusal {
    let line = options::error::error_line(text, std::panic::Location::caller());
    Refusal::Failure(Failure {
        lines: vec![line],
        exit: ExitKind::Status(1),
    })
}

#[track_caller]
fn fatal(text: &str) -> Refusal {
    let line = options::error::error_line(text, std::panic::Location::caller());
    let lines = vec![line, "HPROF TERMINATED PROCESS".to_owned()];
    Refusal::Failure(Failure {
        lines,
        exit: ExitKind::Status(9),
    })
}

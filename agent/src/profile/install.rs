//! The run is put together: engine, capabilities, what the modes record into, the profile thread's own.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use hprof_native_headers as raw;
use parking_lot::{Mutex, RwLock};

use super::recorders::Recorders;
use super::state::Profile;
use super::thread::ProfileThread;
use super::threads::HOST;
use super::{advice, callbacks};
use crate::call_times::{Arrival, CallClock, CallTimes, ChosenClasses, MAX_PATH, Plan};
use crate::cpu_samples::{Engine, Sampling, choose, has_debug_info};
use crate::heap_sites::HeapSites;
use crate::monitors::Monitors;
use crate::options::{self, Clock, ExitKind, Failure, Settings};
use crate::output::Output;
use crate::recording::{Outbox, Run};
use crate::report;
use crate::sink::VmWaits;
use crate::slow_calls::SlowCalls;
use crate::vm::{BoolFlag, Capabilities, Jvmti, Release, VmLibrary, VmStructs};

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

/// The steps that can fail once the output exists, which must then be removed.
pub(super) fn prepare(
    jvmti: Jvmti,
    new_environment: &dyn Fn() -> Result<Jvmti, i32>,
    settings: Settings,
    output: Box<Output>,
    vm_waits: VmWaits,
    arrival: Arrival,
) -> Result<(), (Box<Output>, Refusal)> {
    let parts = match Parts::prepare(&jvmti, new_environment, &settings, arrival) {
        Ok(parts) => parts,
        Err(refusal) => return Err((output, refusal)),
    };
    let Parts {
        engine,
        calls,
        heap_sites,
        monitors,
        slow,
    } = parts;
    if arrival == Arrival::Early && ends_at_out_of_memory(&jvmti) {
        report::note(
            "this VM ends at its first OutOfMemoryError without telling its agents, and leaves no profile then: leave \
             out -XX:+ExitOnOutOfMemoryError and CrashOnOutOfMemoryError, or ask for dumps before that",
        );
    }
    let advises = advice::wanted(&settings).filter(|_| arrival == Arrival::Early);
    let (outbox, inbox) = Outbox::new();
    let sampling = Arc::new(Sampling::new(engine));
    let recorders = Recorders::new(&settings, &sampling, heap_sites, calls, monitors, slow);
    // A callback may look at it at any time.
    let run: &'static Run = Box::leak(Box::new(Run::new(jvmti, settings)));
    let thread = ProfileThread::new(run, inbox, *output, recorders);
    let profile = Profile {
        run,
        outbox: RwLock::new(Some(outbox)),
        sampling,
        heap_sites,
        calls,
        exit_hook: OnceLock::new(),
        thread: Mutex::new(Some(thread)),
        dumping: AtomicBool::new(false),
        finishing: AtomicBool::new(false),
        vm_waits,
        control: OnceLock::new(),
        advises,
    };
    profile.publish();
    Ok(())
}

/// The engine and the recording parts of a run, by mode.
struct Parts {
    engine: Engine,
    calls: Option<&'static CallTimes>,
    heap_sites: Option<&'static HeapSites>,
    monitors: Option<&'static Monitors>,
    slow: Option<&'static SlowCalls>,
}

impl Parts {
    /// Prepares all that the run needs, or nothing: a later run finds the process as if this one had not been asked for.
    fn prepare(
        jvmti: &Jvmti,
        new_environment: &dyn Fn() -> Result<Jvmti, i32>,
        settings: &Settings,
        arrival: Arrival,
    ) -> Result<Self, Refusal> {
        let mut parts = Self {
            engine: Engine::None,
            calls: None,
            heap_sites: None,
            monitors: None,
            slow: None,
        };
        let prepared = parts.prepare_each(jvmti, new_environment, settings, arrival);
        match prepared {
            Ok(()) => Ok(parts),
            Err(refusal) => {
                parts.undo();
                Err(refusal)
            }
        }
    }

    fn prepare_each(
        &mut self,
        jvmti: &Jvmti,
        new_environment: &dyn Fn() -> Result<Jvmti, i32>,
        settings: &Settings,
        arrival: Arrival,
    ) -> Result<(), Refusal> {
        // Depth 0 records nothing, as in the original.
        if settings.modes.cpu_samples && settings.depth > 0 {
            self.engine = match choose(jvmti, settings) {
                Ok(engine) => engine,
                // A kernel or container that forbids it is no mistake in the options, and the program is to start: other
                // modes go on. A program that runs already does not need the agent.
                Err(text) if settings.event.is_some() && arrival != Arrival::Late => {
                    report::error(&text);
                    Engine::None
                }
                Err(text) => return Err(set_up_error(&text)),
            };
        }
        enable(jvmti, settings, self.engine, arrival).map_err(|error| {
            set_up_error(&format!(
                "Unable to get necessary JVMTI capabilities. ({error})"
            ))
        })?;
        self.calls = prepare_calls(jvmti, settings, arrival)?;
        self.heap_sites = install_heap_sites(new_environment, settings, arrival)?;
        self.monitors = install_monitors(new_environment, settings)?;
        self.slow = install_slow(jvmti, new_environment, settings)?;
        Ok(())
    }

    /// Takes back what was prepared.
    fn undo(self) {
        if let Engine::Signal(engine, installed) = self.engine {
            engine.detach(installed);
        }
        if let Some(calls) = self.calls {
            calls.cancel();
        }
        if let Some(sites) = self.heap_sites {
            sites.cancel();
        }
    }
}

fn install_heap_sites(
    new_environment: &dyn Fn() -> Result<Jvmti, i32>,
    settings: &Settings,
    arrival: Arrival,
) -> Result<Option<&'static HeapSites>, Refusal> {
    if !settings.modes.heap_sites {
        return Ok(None);
    }
    let jvmti = new_environment()
        .map_err(|code| set_up_error(&format!("no second JVMTI environment (GetEnv: {code})")))?;
    let is_late = arrival == Arrival::Late;
    HeapSites::install(jvmti, settings, Profile::current_serial, is_late)
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
    let jvmti = new_environment().map_err(|code| {
        set_up_error(&format!(
            "no JVMTI environment for monitors (GetEnv: {code})"
        ))
    })?;
    Monitors::install(jvmti, settings, HOST)
        .map(Some)
        .map_err(|error| set_up_error(&format!("monitor=y cannot have the VM's events ({error})")))
}

fn install_slow(
    jvmti: &Jvmti,
    new_environment: &dyn Fn() -> Result<Jvmti, i32>,
    settings: &Settings,
) -> Result<Option<&'static SlowCalls>, Refusal> {
    if !settings.modes.slow {
        return Ok(None);
    }
    let structs = VmLibrary::of(jvmti).and_then(VmStructs::of);
    if structs.is_some_and(VmStructs::makes_aot_cache) {
        return Err(set_up_error(
            "slow= rewrites classes, and this VM crashes when it makes an AOT cache of such: leave out \
             -XX:AOTCacheOutput and -XX:AOTMode=record or create",
        ));
    }
    let jvmti = new_environment().map_err(|code| {
        set_up_error(&format!("no JVMTI environment for slow= (GetEnv: {code})"))
    })?;
    SlowCalls::install(jvmti, settings, HOST.serial)
        .map(Some)
        .map_err(|error| set_up_error(&format!("slow=: {error}")))
}

fn ends_at_out_of_memory(jvmti: &Jvmti) -> bool {
    let structs = VmLibrary::of(jvmti).and_then(VmStructs::of);
    structs.is_some_and(VmStructs::ends_at_out_of_memory)
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
    let mode = match settings.modes.cpu_old {
        true => "cpu=old",
        false => "cpu=times",
    };
    if structs.is_some_and(VmStructs::makes_aot_cache) {
        return Err(set_up_error(&format!(
            "{mode} rewrites classes, and this VM crashes when it makes an AOT cache of such: leave \
             out -XX:AOTCacheOutput and -XX:AOTMode=record or create, or use cpu=samples"
        )));
    }
    let adds_fields = adds_fields(jvmti, settings, arrival);
    let insists = structs.and_then(VmStructs::insists_on_class_data);
    if let Some(option) = insists.filter(|_| adds_fields) {
        return Err(set_up_error(&format!(
            "{mode} sees each class load, which this VM does without its class data, and {option} ends it then: \
             leave out {option}, or use cpu=samples"
        )));
    }
    let depth = settings.call_depth();
    if depth > MAX_PATH {
        report::note(&format!("cpu=times keeps {MAX_PATH} frames at most"));
    }
    let timing = match settings.clock {
        _ if settings.modes.cpu_old => CallClock::ClockedInclusive,
        Clock::Exact => CallClock::Clocked,
        Clock::Sampled => CallClock::Sampled,
    };
    let classes = ChosenClasses {
        include: settings.include.clone(),
        exclude: settings.exclude.clone(),
    };
    let plan = Plan {
        depth,
        timing,
        classes,
        adds_fields,
        has_fast_accessors: has_fast_accessors(jvmti),
        signal: settings.signal,
    };
    match CallTimes::prepare(plan, arrival) {
        Ok(calls) => Ok(Some(calls)),
        Err(reason) => Err(set_up_error(&reason.to_string())),
    }
}

/// Returns true if `Thread` gets fields. To see it load takes class data sharing from the VM, so only where what it
/// has costs more.
fn adds_fields(jvmti: &Jvmti, settings: &Settings, arrival: Arrival) -> bool {
    settings.modes.counts_calls()
        && arrival == Arrival::Early
        && Release::of(jvmti).threads_have_holders()
}

fn has_fast_accessors(jvmti: &Jvmti) -> bool {
    let structs = VmLibrary::of(jvmti).and_then(VmStructs::of);
    structs.and_then(|structs| structs.bool_flag(BoolFlag::UseFastAccessors)) == Some(true)
}

fn enable(
    jvmti: &Jvmti,
    settings: &Settings,
    engine: Engine,
    arrival: Arrival,
) -> crate::vm::Result<()> {
    let adds_fields = adds_fields(jvmti, settings, arrival);
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
        wanted.set_can_generate_early_class_hook_events(u32::from(adds_fields));
    }
    let debug_info = has_debug_info(jvmti, engine);
    if !debug_info {
        wanted.set_can_generate_compiled_method_load_events(1);
    }
    if settings.modes.heap_dump && Release::of(jvmti).owned_monitors_are_cheap() {
        wanted.set_can_get_owned_monitor_info(1);
    }
    jvmti.add_capabilities(&wanted)?;
    jvmti.set_callbacks(&callbacks::table())?;
    jvmti.set_event(raw::JVMTI_EVENT_VM_INIT, true)?;
    jvmti.set_event(raw::JVMTI_EVENT_VM_DEATH, true)?;
    if adds_fields {
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)?;
    }
    if !debug_info {
        // The compilers keep debug information for every instruction, not only
        // for safepoints, while an agent listens to this event.
        let _ = jvmti.set_event(raw::JVMTI_EVENT_COMPILED_METHOD_LOAD, true);
    }
    Ok(())
}

#[track_caller]
pub(super) fn set_up_error(text: &str) -> Refusal {
    let line = options::error::error_line(text, std::panic::Location::caller());
    Refusal::Failure(Failure {
        lines: vec![line],
        exit: ExitKind::Status(1),
    })
}

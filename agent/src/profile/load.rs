//! Agent_OnLoad: options are checked, the output is created, the engine chosen.
//! Everything that can refuse to start does so here, before any Java code runs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use jni_sys::JavaVM;

use super::install::{Refusal, prepare, set_up_error};
use super::session::NotBegun;
use super::siblings;
use super::state::Profile;
use crate::call_times::Arrival;
use crate::control;
use crate::options::{
    self, Destination, ExitKind, Failure, Lost, Picture, Process, Settings, Start, StartTime,
    parse, unique_name, unique_packed_name, unique_picture_name,
};
use crate::output::Output;
use crate::report;
use crate::sink::{Endpoint, Existing, FileSink, PushSink, Sink, VmWaits};
use crate::vm::{Jvmti, VmHandle, keep_environment};

/// How long a VM that is attached to may still be starting.
const MAX_START: Duration = Duration::from_secs(10);

/// The refusal of `file=x.svg` by an agent that cannot draw it.
const NO_SVG: &str = "this agent was built without the feature `svg`; give file= a name that ends in .html, or \
                      build the agent with `cargo build --profile agent -p hprof-agent`";

static LOADED: AtomicBool = AtomicBool::new(false);

/// Prepares the profile that `command_line` describes. `serve` carries out what comes over its control
/// socket.
///
/// # Errors
/// [`Refusal`]: option errors, help, or a set-up that cannot work.
///
/// # Safety
/// `vm` is the pointer that the VM passed to the agent's entry point.
pub unsafe fn load(
    vm: *mut JavaVM,
    command_line: &str,
    serve: control::Serve,
) -> Result<(), Refusal> {
    if LOADED.swap(true, Ordering::AcqRel) {
        // The process ends here, so the first one's file must be removed.
        if let Some(thread) = Profile::get().and_then(|first| first.thread.lock().take()) {
            thread.discard();
        }
        return Err(fatal(
            "Cannot load this JVM TI agent twice, check your java command line for duplicate \
             hprof options.",
        ));
    }
    // SAFETY: by the caller's promise.
    let jvmti = unsafe { Jvmti::from_vm(vm) }.map_err(|code| {
        set_up_error(&format!(
            "this VM is older than JDK 8, or has no JVMTI (GetEnv: {code}): the agent needs JDK 8 or later"
        ))
    })?;
    // SAFETY: by the caller's promise.
    unsafe { keep_environment(vm) };
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
    if siblings::began().is_some() && !siblings::runs_a_program(&jvmti) {
        return Ok(());
    }
    let vm_waits = VmWaits::default();
    let sink = match create_sink(&settings, &vm_waits) {
        Ok(sink) => sink,
        // The receiver of the profile has gone, as when a build starts a JVM after its recording has
        // ended. That is no reason to end the program.
        Err(_)
            if settings.lost == Lost::Detach
                && !matches!(settings.destination, Destination::File(_)) =>
        {
            report::note("no front-end listens any more, and nothing is recorded (lost=detach)");
            return Ok(());
        }
        Err(refusal) => return Err(refusal),
    };
    let output = Box::new(Output::new(&settings, sink));
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
        vm_waits,
        Arrival::Early,
    ) {
        Ok(()) => {
            if control && let Some(profile) = Profile::get() {
                // SAFETY: by the caller's promise.
                let _ = profile.control.set((unsafe { VmHandle::new(vm) }, serve));
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
) -> Result<&'static Profile, NotBegun> {
    let said = |refusal| match refusal {
        Refusal::Help(text) => NotBegun::Reason(text),
        Refusal::Failure(failure) => NotBegun::Lines(failure.lines),
    };
    // SAFETY: by the caller's promise.
    let mut jvmti = unsafe { Jvmti::from_vm(vm) };
    let asked = Instant::now();
    // A client that attaches early finds the VM between its phases "onload" and "live".
    while matches!(jvmti, Err(jni_sys::JNI_EDETACHED)) && asked.elapsed() < MAX_START {
        std::thread::sleep(Duration::from_millis(10));
        // SAFETY: by the caller's promise.
        jvmti = unsafe { Jvmti::from_vm(vm) };
    }
    let jvmti = jvmti
        .map_err(|code| format!("this VM is older than JDK 8, or has no JVMTI (GetEnv: {code}): the agent needs JDK 8 or later"))?;
    // SAFETY: by the caller's promise.
    unsafe { keep_environment(vm) };
    let vm_waits = VmWaits::default();
    let output = create_sink(&settings, &vm_waits).map_err(said)?;
    let output = Box::new(Output::new(&settings, output));
    // SAFETY: by the caller's promise.
    let heap_environment = || unsafe { Jvmti::from_vm(vm) };
    match prepare(
        jvmti,
        &heap_environment,
        settings,
        output,
        vm_waits,
        Arrival::Late,
    ) {
        Ok(()) => Profile::get().ok_or_else(|| "no profile".to_owned().into()),
        Err((output, refusal)) => {
            output.discard();
            Err(said(refusal))
        }
    }
}

fn create_sink(settings: &Settings, vm_waits: &VmWaits) -> Result<Sink, Refusal> {
    if settings.picture == Some(Picture::Svg) && !cfg!(feature = "svg") {
        return Err(set_up_error(NO_SVG));
    }
    let endpoint = match &settings.destination {
        Destination::File(path) => {
            let (format, packing) = (settings.format, settings.packing);
            let is_picture = settings.picture.is_some();
            let another = move |path: &std::path::Path| -> PathBuf {
                let pid = std::process::id();
                match is_picture {
                    true => unique_picture_name(path, pid),
                    false if packing.is_some() => unique_packed_name(path, pid),
                    false => unique_name(path, pid, format),
                }
            };
            let existing = match (settings.force, siblings::began()) {
                (false, _) => Existing::Keep,
                (true, _) if settings.has_force => Existing::Force,
                (true, Some(began)) => Existing::KeepSince(began),
                (true, None) => Existing::Replace,
            };
            return FileSink::create(path, existing, another)
                .map(|file| file.packed(packing))
                .map(|file| match settings.strip.is_none() {
                    true => file,
                    false => file.sparse(),
                })
                .map(Sink::File)
                .map_err(|e| set_up_error(&e.to_string()));
        }
        Destination::Net { host, port } => Endpoint::Tcp(host.clone(), *port),
        Destination::Unix(path) => Endpoint::Unix(path.clone()),
        Destination::Push { url, every } => {
            let sink = PushSink::start(url.clone(), *every);
            return sink.map(Sink::Push).map_err(|why| set_up_error(&why));
        }
    };
    let connected = endpoint.connect(settings.netwait, vm_waits);
    connected.map(Sink::Net).map_err(|error| {
        set_up_error(&format!(
            "can't connect to {endpoint}: {error}; a front-end (hprof-rs listen) must listen \
             there before the program starts, or use netwait=<seconds>"
        ))
    })
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
fn fatal(text: &str) -> Refusal {
    let line = options::error::error_line(text, std::panic::Location::caller());
    let lines = vec![line, "HPROF TERMINATED PROCESS".to_owned()];
    Refusal::Failure(Failure {
        lines,
        exit: ExitKind::Status(9),
    })
}

//! A run in a VM that is running already, and its end before that of the VM.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use hprof_wire::control::{Mode, Request};
use jni_sys::JavaVM;
use parking_lot::Mutex;

use super::state::{Profile, is_running};
use super::{load, start};
use crate::call_times::taken_by_another;
use crate::cpu_samples::begin_sampling;
use crate::options::{self, Destination, Process, Settings, StartTime};
use crate::recording::Phase;
use crate::report;
use crate::vm::{Jni, Vm};

/// Why a run cannot begin in a VM that is running.
pub enum NotBegun {
    /// Lines as spec section 1 has them, complete.
    Lines(Vec<String>),
    /// A sentence.
    Reason(String),
}

impl From<String> for NotBegun {
    fn from(reason: String) -> Self {
        Self::Reason(reason)
    }
}

impl std::fmt::Display for NotBegun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lines(lines) => formatter.write_str(&lines.join("\n")),
            Self::Reason(reason) => formatter.write_str(reason),
        }
    }
}

/// One begins at a time.
static BEGINNING: Mutex<()> = Mutex::new(());

/// Begins a run with these options, or adds their modes to the one that is under way. Options that
/// name no mode change nothing. Returns whether there is a run now.
///
/// # Errors
/// [`NotBegun`]: what cannot be done and why.
///
/// # Safety
/// `vm` is the VM, and `jni` the environment of the current thread.
pub unsafe fn begin(vm: *mut JavaVM, jni: &Jni, text: &str) -> Result<bool, NotBegun> {
    let _one = BEGINNING.lock();
    let process = Process {
        pid: std::process::id(),
        start: StartTime::local(SystemTime::now()),
    };
    let settings =
        options::load_late(text, &process).map_err(|failure| NotBegun::Lines(failure.lines))?;
    let Some(settings) = settings else {
        return Ok(is_running());
    };
    if let Some(profile) = Profile::get() {
        return Ok(add(profile, jni, &settings).map(|()| true)?);
    }
    if settings.modes.counts_calls()
        && let Some(reason) = taken_by_another(jni)
    {
        return Err(format!("{reason}: calls cannot be counted").into());
    }
    // SAFETY: by the caller's promise.
    let profile = unsafe { load::load_late(vm, settings) }?;
    let run = profile.run;
    let thread = run
        .jvmti
        .current_thread(jni)
        .map_err(|error| error.to_string())?;
    start::start(profile, jni, thread.get());
    match run.phase() {
        Phase::Live if profile.calls.is_some_and(|calls| !calls.is_counting()) => {
            profile.detach();
            let refused = "this VM does not take the agent's Java class: calls cannot be counted";
            Err(refused.to_owned().into())
        }
        Phase::Live => {
            dump_heap_at_once(profile);
            Ok(true)
        }
        _ => Err("the profile thread cannot be started".to_owned().into()),
    }
}

/// Dumps the heap of a running VM now: a user who attaches with this mode does not want to wait for the VM's end.
/// With heap=all there is nothing to join the objects with yet.
fn dump_heap_at_once(profile: &'static Profile) {
    let modes = &profile.run.settings.modes;
    if !modes.heap_dump || modes.heap_sites {
        return;
    }
    match profile.request(Request::Dump(vec![Mode::Heap])).error {
        None => profile.run.heap_was_dumped.store(true, Ordering::Release),
        Some(text) => report::error(&text),
    }
}

/// Adds modes to a run.
fn add(profile: &'static Profile, jni: &Jni, wanted: &Settings) -> Result<(), String> {
    let new = &wanted.modes;
    let has = &profile.run.settings.modes;
    if new.heap_sites && !has.heap_sites {
        return Err(
            "heap=sites cannot be added to a run: detach, then begin with all modes".to_owned(),
        );
    }
    if new.monitor && !has.monitor {
        return Err(
            "monitor=y cannot be added to a run: detach, then begin with all modes".to_owned(),
        );
    }
    if new.counts_calls() && !has.counts_calls() {
        return Err(
            "calls cannot be counted in a run that began without that: detach, then begin with all \
             modes"
                .to_owned(),
        );
    }
    if new.slow && !has.slow {
        return Err("slow= cannot be added to a run: detach, then begin with all modes".to_owned());
    }
    if new.heap_dump && !has.heap_dump {
        return Err(
            "heap=dump cannot be added to a run, whose file is no heap dump: `hprof-rs dump` writes one beside it"
                .to_owned(),
        );
    }
    let given = match &wanted.destination {
        Destination::File(path) => {
            let default = std::path::Path::new(wanted.format.default_file_name());
            (path != default).then(|| path.display().to_string())
        }
        Destination::Net { host, port } => Some(format!("{host}:{port}")),
        Destination::Unix(path) => Some(path.display().to_string()),
        Destination::Push { url, .. } => Some(match url {
            Some(url) => format!("continuous={url}"),
            None => "continuous=y".to_owned(),
        }),
    };
    if let Some(given) = given
        && wanted.destination != profile.run.settings.destination
    {
        return Err(format!(
            "a run is under way and has its output already; leave out {given}, or detach first"
        ));
    }
    if new.only_dumps() {
        // As when such a run begins: the user wants it now.
        let reply = profile.request(Request::Dump(vec![Mode::Heap]));
        return reply.error.map_or(Ok(()), Err);
    }
    if new.cpu_samples && !profile.sampling.is_on() {
        let vm = Vm {
            jvmti: &profile.run.jvmti,
            jni,
        };
        begin_sampling(profile.run, &profile.sampling, vm)?;
    }
    let modes = [
        (Mode::Cpu, new.cpu_samples || new.counts_calls()),
        (Mode::Sites, new.heap_sites),
        (Mode::Slow, new.slow),
    ];
    let modes = modes
        .into_iter()
        .filter_map(|(mode, is_wanted)| is_wanted.then_some(mode));
    let modes: Vec<Mode> = modes.collect();
    if modes.is_empty() {
        return Ok(());
    }
    // One of them may be stopped.
    profile
        .request(Request::Resume(modes))
        .error
        .map_or(Ok(()), Err)
}

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

/// One begins at a time.
static BEGINNING: Mutex<()> = Mutex::new(());

/// Begins a run with these options, or adds their modes to the one that is under way. Options that
/// name no mode change nothing. Returns whether there is a run now.
///
/// # Errors
/// A sentence that says what cannot be done and why.
///
/// # Safety
/// `vm` is the VM, and `jni` the environment of the current thread.
pub unsafe fn begin(vm: *mut JavaVM, jni: &Jni, text: &str) -> Result<bool, String> {
    let _one = BEGINNING.lock();
    let process = Process {
        pid: std::process::id(),
        start: StartTime::local(SystemTime::now()),
    };
    let settings =
        options::load_late(text, &process).map_err(|failure| failure.lines.join("\n"))?;
    let Some(settings) = settings else {
        return Ok(is_running());
    };
    if let Some(profile) = Profile::get() {
        return add(profile, jni, &settings).map(|()| true);
    }
    if settings.modes.counts_calls()
        && let Some(reason) = taken_by_another(jni)
    {
        return Err(format!("{reason}: calls cannot be counted"));
    }
    // SAFETY: by the caller's promise.
    let profile = unsafe { load::load_late(vm, settings) }?;
    let run = profile.run;
    let started = run
        .jvmti
        .current_thread(jni)
        .map_err(|error| error.to_string());
    started.and_then(|thread| {
        start::start(profile, jni, thread.get());
        match run.phase() {
            Phase::Live if profile.calls.is_some_and(|calls| !calls.is_counting()) => {
                profile.detach();
                Err(
                    "this VM does not take the agent's Java class: calls cannot be counted"
                        .to_owned(),
                )
            }
            Phase::Live => {
                dump_heap_at_once(profile);
                Ok(true)
            }
            _ => Err("the profile thread cannot be started".to_owned()),
        }
    })
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
    if new.heap_dump && !has.heap_dump {
        return Err("heap=dump needs no start in a run: ask for 'dump heap'".to_owned());
    }
    let given = match &wanted.destination {
        Destination::File(path) => {
            let default = std::path::Path::new(wanted.format.default_file_name());
            (path != default).then(|| path.display().to_string())
        }
        Destination::Net { host, port } => Some(format!("{host}:{port}")),
        Destination::Unix(path) => Some(path.display().to_string()),
    };
    if let Some(given) = given
        && wanted.destination != profile.run.settings.destination
    {
        return Err(format!(
            "a run is under way and has its output already; leave out {given}, or detach first"
        ));
    }
    if new.cpu_samples && !profile.sampling.is_on() {
        let vm = Vm {
            jvmti: &profile.run.jvmti,
            jni,
        };
        begin_sampling(profile.run, &profile.sampling, vm)?;
    }
    Ok(())
}

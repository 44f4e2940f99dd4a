//! A run in a VM that is running already, and its end before that of the VM.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use hprof_native_headers as raw;
use hprof_wire::control::{Mode, Request};
use jni_sys::JavaVM;
use parking_lot::Mutex;

use super::{Engine, PROFILE, Phase, Profile, exit_hook, load, start};
use crate::options::{self, Destination, Process, Settings, StartTime};
use crate::report;
use crate::vm::Jni;

/// One begins at a time.
static BEGINNING: Mutex<()> = Mutex::new(());

/// The events that a run may have enabled in the VM.
const EVENTS: [raw::jvmtiEvent; 9] = [
    raw::JVMTI_EVENT_THREAD_START,
    raw::JVMTI_EVENT_THREAD_END,
    raw::JVMTI_EVENT_CLASS_LOAD,
    raw::JVMTI_EVENT_CLASS_PREPARE,
    raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
    raw::JVMTI_EVENT_COMPILED_METHOD_LOAD,
    raw::JVMTI_EVENT_DATA_DUMP_REQUEST,
    raw::JVMTI_EVENT_VM_DEATH,
    raw::JVMTI_EVENT_VM_INIT,
];

/// Longest wait for callbacks that are under way when their events go off. They take microseconds, but
/// their threads may not run.
const CALLBACKS_END: Duration = Duration::from_secs(5);

/// Whether a run is under way.
pub fn is_running() -> bool {
    Profile::get().is_some_and(|profile| profile.phase() == Phase::Live)
}

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
    // SAFETY: by the caller's promise.
    let profile = unsafe { load::load_late(vm, settings) }?;
    let started = profile
        .jvmti
        .current_thread(jni)
        .map_err(|error| error.to_string());
    started.and_then(|thread| {
        start::start(profile, jni, thread.get());
        match profile.phase() {
            Phase::Live if profile.calls.is_some_and(|calls| !calls.is_counting()) => {
                super::detach();
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

/// Whoever asks a running VM for a heap dump wants it now, not when the VM ends. With heap=all there
/// is nothing to join the objects with yet.
fn dump_heap_at_once(profile: &'static Profile) {
    let modes = &profile.settings.modes;
    if !modes.heap_dump || modes.heap_sites {
        return;
    }
    match super::request(Request::Dump(vec![Mode::Heap])).error {
        None => profile.heap_was_dumped.store(true, Ordering::Release),
        Some(text) => report::error(&text),
    }
}

/// Adds modes to a run.
fn add(profile: &'static Profile, jni: &Jni, wanted: &Settings) -> Result<(), String> {
    let new = &wanted.modes;
    let has = &profile.settings.modes;
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
        && wanted.destination != profile.settings.destination
    {
        return Err(format!(
            "a run is under way and has its output already; leave out {given}, or detach first"
        ));
    }
    if new.cpu_samples && matches!(profile.engine(), Engine::None) {
        start::start_sampling(profile, jni)?;
    }
    Ok(())
}

impl Profile {
    /// Takes everything back that the run has put into the VM, on the profile thread. What stays is
    /// this structure: a callback that has just begun may still find it, and find its environment closed.
    pub(super) fn retire(&self, jni: &Jni) {
        if let Some(calls) = self.calls {
            calls.retire(&self.jvmti, jni);
        }
        for event in EVENTS {
            // An event that this run did not have cannot be refused.
            let _ = self.jvmti.set_event(event, false);
        }
        let engine = std::mem::replace(&mut *self.engine.write(), Engine::None);
        if let Engine::Signal(engine, installed) = engine {
            engine.uninstall(installed);
        }
        let sites = self
            .heap_sites
            .map_or(Ok(()), |sites| sites.end(CALLBACKS_END));
        let monitors = self
            .monitors
            .map_or(Ok(()), |monitors| monitors.retire(jni, CALLBACKS_END));
        exit_hook::unregister(self, jni);
        self.registry.forget();
        load::restore_debug_info();
        PROFILE.store(std::ptr::null_mut(), Ordering::Release);
        *self.sender.write() = None;
        let own = self.jvmti.close(CALLBACKS_END);
        if own.is_ok() {
            self.own_threads.lock().clear();
        }
        if let Err(error) = sites.and(monitors).and(own) {
            report::note(&format!("{error}: the VM keeps what it has for it"));
        }
    }
}

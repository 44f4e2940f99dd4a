//! The run: what is profiled, how far the VM is, and who may dump.
//!
//! ```text
//! OnLoad    options checked, output created, engine chosen          (load.rs)
//! VMInit    threads registered, profile thread and timers started   (start.rs)
//! live      callbacks and signal handlers send, the profile thread  (callbacks.rs,
//!           alone owns tables and output                             collector.rs, tables.rs, dumps.rs)
//! VMDeath   the profile thread finishes; the VM waits for it        (callbacks.rs)
//! ```

mod advice;
mod callbacks;
mod check;
mod collector;
mod commands;
mod dumps;
mod exit_hook;
mod identity;
mod left_out;
mod load;
mod messages;
mod monitors;
mod numbers;
mod orders;
mod output;
mod peer;
mod registry;
mod requests;
mod session;
mod sites;
mod start;
mod tables;
mod virtual_threads;

pub use load::{Refusal, load};
pub use session::{begin, is_running};

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use hprof_format::ids::ThreadSerial;
use hprof_wire::control::{Reply, Request};
use parking_lot::{Mutex, RwLock};

use crate::call_times::CallTimes;
use crate::control;
use crate::cpu_samples::signal::SignalEngine;
use crate::heap_sites::HeapSites;
use crate::monitors::Monitors;
use crate::options::Settings;
use crate::os::signals::Installed;
use crate::report;
use crate::sink::Hurry;
use crate::vm::{GlobalRef, JavaThreads, Jvmti, VmHandle};
use collector::Collector;
use messages::Message;
use registry::Registry;

/// How far the VM is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Phase {
    Load = 0,
    Live = 1,
    Dead = 2,
}

/// The one profile of this process.
struct Profile {
    jvmti: Jvmti,
    settings: Settings,
    phase: AtomicU8,
    registry: Registry,
    /// Gone when the run has ended.
    sender: RwLock<Option<Sender<Message>>>,
    engine: RwLock<Engine>,
    heap_sites: Option<&'static HeapSites>,
    /// Call counting, when wanted.
    calls: Option<&'static CallTimes>,
    /// Locks, when wanted.
    monitors: Option<&'static Monitors>,
    java_threads: OnceLock<JavaThreads>,
    /// The threads of the agent itself, which no profile shows.
    own_threads: Mutex<Vec<Arc<GlobalRef>>>,
    /// One of them, whose start is the time for a last collection.
    exit_hook: OnceLock<Arc<GlobalRef>>,
    /// The collector will be gone at the VM's death.
    collector_stops: AtomicBool,
    /// Garbage was collected before that.
    collected_before_exit: AtomicBool,
    /// What the profile thread takes over at VMInit.
    collector: Mutex<Option<Collector>>,
    dumping: AtomicBool,
    /// Somebody has asked for the end before that of the VM.
    finishing: AtomicBool,
    /// Set while the VM waits for the end.
    hurry: Hurry,
    /// The VM, if a control socket is to be opened when it is up.
    control: OnceLock<VmHandle>,
    /// The profile thread writes a heap dump.
    dumping_heap: AtomicBool,
    /// A run that came late has written its heap dump when it began; its end writes no second one.
    heap_was_dumped: AtomicBool,
    /// The folder of the user who wants to know where the profile is in the end.
    advises: Option<PathBuf>,
}

/// How stacks are taken.
#[derive(Clone, Copy)]
enum Engine {
    /// No CPU samples are wanted.
    None,
    /// Timers and signals.
    Signal(&'static SignalEngine, Installed),
    /// The VM's own stack dump.
    Safepoint,
}

/// The run of this process. It is leaked: a callback may look at it at any time.
static PROFILE: AtomicPtr<Profile> = AtomicPtr::new(std::ptr::null_mut());

/// Longest wait for a dump that somebody asked for while the program runs.
const DUMP_WAIT: Duration = Duration::from_secs(300);

impl Profile {
    fn get() -> Option<&'static Self> {
        let profile = PROFILE.load(Ordering::Acquire);
        // SAFETY: null, or a leaked profile.
        unsafe { profile.as_ref() }
    }

    /// Runs a callback's body, if there is a run. Its end waits for the body.
    fn callback(body: impl FnOnce(&'static Self)) {
        if let Some(profile) = Self::get() {
            profile.jvmti.callback((), || body(profile));
        }
    }

    fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Load,
            1 => Phase::Live,
            _ => Phase::Dead,
        }
    }

    /// The serial under which a thread's calls are counted (`thread=y`).
    fn calls_serial(&self, tid: i32) -> Option<ThreadSerial> {
        let wanted = self.settings.thread;
        wanted
            .then(|| self.registry.get(tid))
            .flatten()
            .map(|thread| thread.serial)
    }

    /// How stacks are taken at the moment.
    fn engine(&self) -> Engine {
        *self.engine.read()
    }

    fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// The serial of the current thread, 0 when it has none.
    fn current_serial() -> u32 {
        // SAFETY: the call takes nothing and cannot fail.
        let tid = unsafe { libc::gettid() };
        Self::get()
            .and_then(|profile| profile.registry.get(tid))
            .map_or(0, |thread| thread.serial.get())
    }

    /// Whether a collection can be asked for: it would never end when the collector
    /// is gone.
    fn may_collect(&self) -> bool {
        self.phase() == Phase::Live || !self.collector_stops.load(Ordering::Acquire)
    }

    /// The VM begins to end, and the collector will not work at its death.
    fn collect_before_exit(&self) {
        let collected = self.jvmti.force_garbage_collection().is_ok();
        self.collected_before_exit
            .store(collected, Ordering::Release);
    }

    /// Sends without ever blocking the caller; a full channel loses the message,
    /// which is counted.
    fn send(&self, message: Message) {
        let sender = self.sender.read();
        if sender
            .as_ref()
            .is_some_and(|sender| sender.try_send(message).is_err())
        {
            self.registry.count_lost_record();
        }
    }

    /// Sends, waiting for room if need be; false when there is no profile thread.
    fn ask(&self, message: Message) -> bool {
        let sender = self.sender.read().clone();
        sender.is_some_and(|sender| sender.send(message).is_ok())
    }

    /// Asks the profile thread for a dump and waits for its end. A second request
    /// while one runs is ignored, as the original does.
    fn dump(&self) {
        if self.dumping.swap(true, Ordering::AcqRel) {
            return;
        }
        if !self.ask_and_wait(|done| Message::Dump { done }) {
            report::error("the dump takes longer than 5 minutes; it goes on by itself");
        }
        self.dumping.store(false, Ordering::Release);
    }

    /// Sends a message to the profile thread and waits until that is done with it;
    /// false when it takes too long. A heap dump may take as long as it needs.
    fn ask_and_wait(&self, message: impl FnOnce(Sender<()>) -> Message) -> bool {
        let (done, wait) = bounded(1);
        let sender = self.sender.read().clone();
        let sent = sender.map(|sender| sender.send_timeout(message(done), DUMP_WAIT).is_ok());
        if sent != Some(true) {
            return false;
        }
        loop {
            match wait.recv_timeout(DUMP_WAIT) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Timeout) if self.dumping_heap.load(Ordering::Acquire) => {}
                Err(_) => return false,
            }
        }
    }

    /// The end: the profile thread writes what it has, and the VM waits for it.
    fn finish(&self) {
        control::close();
        if self.phase() == Phase::Dead {
            return;
        }
        let started = self.phase() == Phase::Live;
        self.set_phase(Phase::Dead);
        if let Engine::Signal(engine, _) = self.engine() {
            engine.set_sampling(false);
        }
        if let Some(calls) = self.calls {
            calls.stop();
        }
        if !started {
            // The VM ends before it was up: nothing was profiled.
            if let Some(collector) = self.collector.lock().take() {
                collector.discard();
            }
            return;
        }
        self.hurry.set(true);
        if !self.ask_and_wait(|done| Message::Finish { done }) {
            report::error(
                "the profile could not be finished within 5 minutes; \
                 what was written lies beside the output under a name ending in .tmp",
            );
        }
    }
}

/// Has the profile thread carry a request out.
pub fn request(request: Request) -> Reply {
    let (reply, wait) = bounded(1);
    let asked =
        Profile::get().is_some_and(|profile| profile.ask(Message::Request { request, reply }));
    match wait.recv() {
        Ok(reply) if asked => reply,
        _ => Reply::error("the run has ended"),
    }
}

/// Ends the run before the VM ends: the last dump is written, and everything is taken back.
pub fn detach() -> Reply {
    let Some(profile) = Profile::get() else {
        return Reply::default();
    };
    if profile.calls.is_some_and(|calls| !calls.can_end()) {
        return Reply::error(
            "a run that counts calls from the start of the VM stays to its end, as java.lang.Thread \
             has two more fields; 'stop cpu' takes the hooks out of all classes",
        );
    }
    if profile.finishing.swap(true, Ordering::AcqRel) {
        return Reply::error("the run ends already");
    }
    let (reply, wait) = bounded(1);
    if !profile.ask(Message::Detach { reply }) {
        return Reply::error("the run has ended");
    }
    wait.recv()
        .unwrap_or_else(|_| Reply::error("the run has ended"))
}

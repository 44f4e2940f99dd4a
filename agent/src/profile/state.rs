//! The one run of this process, as callbacks see it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use hprof_wire::control::{Reply, Request};
use parking_lot::{Mutex, RwLock};

use super::thread::ProfileThread;
use crate::call_times::CallTimes;
use crate::control::Serve;
use crate::cpu_samples::{Engine, Sampling};
use crate::heap_sites::HeapSites;
use crate::output::Record;
use crate::recording::{Message, Outbox, Phase, Run};
use crate::report;
use crate::sink::VmWaits;
use crate::vm::{GlobalRef, VmHandle};

/// The one profile of this process.
pub(super) struct Profile {
    pub(super) run: &'static Run,
    /// Gone when the run has ended.
    pub(super) outbox: RwLock<Option<Outbox>>,
    pub(super) sampling: Arc<Sampling>,
    /// The state of other modes, if they are on.
    pub(super) heap_sites: Option<&'static HeapSites>,
    pub(super) calls: Option<&'static CallTimes>,
    /// One of the agent's threads, whose start is the time for a last collection.
    pub(super) exit_hook: OnceLock<Arc<GlobalRef>>,
    /// The state that the profile thread takes over at VMInit.
    pub(super) thread: Mutex<Option<ProfileThread>>,
    pub(super) dumping: AtomicBool,
    /// A request asked for the end of the run before that of the VM.
    pub(super) finishing: AtomicBool,
    /// Set while the VM waits for the end.
    pub(super) vm_waits: VmWaits,
    /// The VM and what serves a control socket, if one is to be opened when the VM is up.
    pub(super) control: OnceLock<(VmHandle, Serve)>,
    /// The folder of the user who wants to know where the profile is in the end.
    pub(super) advises: Option<PathBuf>,
}

/// The run of this process. It is leaked: a callback may look at it at any time.
static PROFILE: AtomicPtr<Profile> = AtomicPtr::new(std::ptr::null_mut());

/// Longest wait for a dump that was requested while the program runs.
const MAX_DUMP_WAIT: Duration = Duration::from_secs(300);

/// Returns true if a run is under way.
pub(super) fn is_running() -> bool {
    Profile::get().is_some_and(|profile| profile.run.phase() == Phase::Live)
}

impl Profile {
    pub(super) fn get() -> Option<&'static Self> {
        let profile = PROFILE.load(Ordering::Acquire);
        // SAFETY: null, or a leaked profile.
        unsafe { profile.as_ref() }
    }

    /// Callbacks find it from now on.
    pub(super) fn publish(self) {
        PROFILE.store(Box::into_raw(Box::new(self)), Ordering::Release);
    }

    /// Callbacks to come find no run. Those that have begun may still look at it.
    pub(super) fn withdraw() {
        PROFILE.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Runs the body of a callback of the run's environment, while there is a run. The end of the
    /// environment waits for it.
    pub(super) fn callback(body: impl FnOnce(&'static Self)) {
        if let Some(profile) = Self::get() {
            profile.run.jvmti.callback((), || body(profile));
        }
    }

    /// The serial of the current thread, 0 when it has none.
    pub(super) fn current_serial() -> u32 {
        // SAFETY: the call has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        Self::get()
            .and_then(|profile| profile.run.threads.get(tid))
            .map_or(0, |thread| thread.serial.get())
    }

    /// Sends a record without ever blocking the caller; where too many wait, it is lost, which is counted.
    /// False when it does not reach the profile.
    pub(super) fn send(&self, record: Record) -> bool {
        let outbox = self.outbox.read();
        let Some(outbox) = outbox.as_ref() else {
            return false;
        };
        let sent = outbox.record(record);
        if !sent {
            self.run.threads.count_lost_record();
        }
        sent
    }

    /// Sends; false when there is no profile thread. The sender waits for the answer, so these messages are few.
    pub(super) fn ask(&self, message: Message) -> bool {
        let outbox = self.outbox.read().clone();
        outbox.is_some_and(|outbox| outbox.send(message))
    }

    /// Has the profile thread carry a request out.
    pub(super) fn request(&self, request: Request) -> Reply {
        let (reply, wait) = bounded(1);
        let asked = self.ask(Message::Request { request, reply });
        match wait.recv() {
            Ok(reply) if asked => reply,
            _ => Reply::error("the run has ended"),
        }
    }

    /// Asks the profile thread for a dump and waits for its end. A second request
    /// while one runs is ignored, as the original does.
    pub(super) fn dump(&self) {
        if self.dumping.swap(true, Ordering::AcqRel) {
            return;
        }
        if !self.ask_and_wait(|done| Message::Dump { done }) {
            report::error("the dump takes longer than 5 minutes; it continues by itself");
        }
        self.dumping.store(false, Ordering::Release);
    }

    /// Sends a message to the profile thread and waits until that is done with it;
    /// false when it takes too long. A heap dump may take as long as it needs.
    fn ask_and_wait(&self, message: impl FnOnce(Sender<()>) -> Message) -> bool {
        let (done, wait) = bounded(1);
        if !self.ask(message(done)) {
            return false;
        }
        let dumping_heap = &self.run.dumping_heap;
        loop {
            match wait.recv_timeout(MAX_DUMP_WAIT) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Timeout) if dumping_heap.load(Ordering::Acquire) => {}
                Err(_) => return false,
            }
        }
    }

    /// The end: the profile thread writes what it has, and the VM waits for it.
    pub(super) fn finish(&self) {
        let run = self.run;
        if run.phase() == Phase::Dead {
            return;
        }
        let started = run.phase() == Phase::Live;
        run.set_phase(Phase::Dead);
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            engine.set_sampling(false);
        }
        if let Some(calls) = self.calls {
            calls.stop();
        }
        if !started {
            // The VM ends before it was up: nothing was profiled.
            if let Some(thread) = self.thread.lock().take() {
                thread.discard();
            }
            return;
        }
        self.vm_waits.set(true);
        if !self.ask_and_wait(|done| Message::Finish { done }) {
            report::error(
                "the profile could not be finished within 5 minutes; \
                 what was written lies beside the output under a name ending in .tmp",
            );
        }
    }

    /// Ends the run before the VM ends: the last dump is written, and everything is taken back. The reply
    /// names the output, or says that the dump could not be written.
    ///
    /// # Errors
    /// If the run has to stay, or ends already, as a sentence.
    pub(super) fn end_early(&self) -> Result<Reply, &'static str> {
        if self.calls.is_some_and(|calls| !calls.can_end()) {
            return Err(
                "a run that counts calls from the start of the VM stays to its end, as \
                 java.lang.Thread has two more fields; 'stop cpu' takes the hooks out of all classes",
            );
        }
        if self.finishing.swap(true, Ordering::AcqRel) {
            return Err("the run ends already");
        }
        let (reply, wait) = bounded(1);
        if !self.ask(Message::Detach { reply }) {
            return Err("the run has ended");
        }
        wait.recv().map_err(|_| "the run has ended")
    }

    /// Ends the run early, and returns the reply to the request for it.
    pub(super) fn detach(&self) -> Reply {
        self.end_early().unwrap_or_else(Reply::error)
    }
}

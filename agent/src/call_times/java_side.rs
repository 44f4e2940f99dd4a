//! The hook class, and when classes get hooks or lose them.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use hprof_native_headers as raw;

use super::counter::{CALLS, CallTimes};
use super::methods::HOOK_CLASS;
use super::natives::natives;
use super::plan::Arrival;
use super::rewriting::{Java, StatePlace, Variant};
use super::state::CallClock;
use super::{permission, sampler};
use crate::os::copies::other_copies;
use crate::recording::Run;
use crate::report;
use crate::vm::{Class, Jni, Jvmti, JvmtiError, Ref, Release, Result};
use hprof_lockfree::nodes::HookNodes;

const FIELDS_HOOKS: &[u8] = include_bytes!("../../hooks/classes/HprofHooks.fields.class");
const THREAD_HOOKS: &[u8] = include_bytes!("../../hooks/classes/HprofHooks.thread.class");
const HOLDER_HOOKS: &[u8] = include_bytes!("../../hooks/classes/HprofHooks.holder.class");
pub(super) const THREAD_SIGNATURE: &str = "Ljava/lang/Thread;";
const THREADS_CLASS: &CStr = c"java/lang/HprofThreads";
const THREADS_CLASS_FILE: &[u8] = include_bytes!("../../hooks/classes/HprofThreads.class");
const STARTED_CLASS: &CStr = c"java/lang/HprofHooks$Started";
const STARTED_SIGNATURE: &str = "Ljava/lang/HprofHooks$Started;";
const STARTED_CLASS_FILE: &[u8] = include_bytes!("../../hooks/classes/HprofHooks$Started.class");

/// The class files of JDK 8.
const EIGHT_HOOKS: &[u8] = include_bytes!("../../hooks/classes/HprofHooks.eight.class");
const EIGHT_THREADS: &[u8] = include_bytes!("../../hooks/classes/HprofThreads.eight.class");
const EIGHT_STARTED: &[u8] = include_bytes!("../../hooks/classes/HprofHooks$Started.eight.class");

/// The constants of `HprofHooks` that stand for other values: two addresses, and a number that is 1 if
/// threads keep their states.
const FOLLOWERS: u64 = u64::from_be_bytes(*b"follower");
const RESTS: u64 = u64::from_be_bytes(*b"restrest");
const KEEPS: u64 = u64::from_be_bytes(*b"keeps-it");

/// The hook class with its values as constants, which compilers put into their code.
fn with_values(class_file: &[u8], nodes: HookNodes, keeps_states: bool) -> Option<Vec<u8>> {
    let mut bytes = class_file.to_vec();
    for (constant, value) in [
        (FOLLOWERS, nodes.followers_base()),
        (RESTS, nodes.rests_base()),
        (KEEPS, u64::from(keeps_states)),
    ] {
        let constant = constant.to_be_bytes();
        let at = bytes.windows(8).position(|bytes| bytes == constant)?;
        bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
    }
    Some(bytes)
}

/// Why this copy of the agent cannot count calls in this JVM, if another one has: the hooks of that copy may still be in
/// methods that run, and would take this one's states for their own.
pub fn taken_by_another(jni: &Jni) -> Option<String> {
    let is_own = CALLS.get().is_some_and(|calls| calls.java.get().is_some());
    if is_own || jni.find_class(HOOK_CLASS).is_err() {
        return None;
    }
    let copies = other_copies();
    let path = copies.first().map(|path| format!(" ({path})"));
    Some(format!(
        "another copy of the agent{} has its hooks in this JVM; use that copy, or restart the program",
        path.unwrap_or_default()
    ))
}

impl CallTimes {
    /// Starts counting, once the VM is up.
    ///
    /// # Errors
    /// The Java side cannot be set up; nothing is counted then.
    pub fn start(&'static self, run: &'static Run, jni: &Jni) -> Result<()> {
        let jvmti = &run.jvmti;
        self.set_up(jvmti, jni)?;
        permission::ask_for_all(jvmti, jni);
        self.engaged.store(true, Ordering::Release);
        match self.arrival {
            Arrival::Early => {
                self.start_sampler();
                self.rewrite_at_start(run, jni);
                let nodes = self.automaton.lock().len();
                self.threads.lock().forget_time(nodes);
            }
            Arrival::Late => {
                self.rewrite_all(jvmti, jni);
                // From here on all calls are counted, so this is where counting starts.
                drop(self.take(false, &|_| None));
                self.threads.lock().resume();
                self.start_sampler();
            }
        }
        Ok(())
    }

    /// Takes the hooks out of all classes; what was counted stays.
    pub fn pause(&self, jvmti: &Jvmti, jni: &Jni) {
        if !self.engaged.swap(false, Ordering::AcqRel) {
            return;
        }
        self.end_sampler();
        self.threads.lock().pause();
        self.rewrite_all(jvmti, jni);
    }

    /// Puts the hooks back.
    pub fn resume(&'static self, jvmti: &Jvmti, jni: &Jni) {
        if self.engaged.load(Ordering::Acquire) {
            return;
        }
        self.methods.lock().forget_left_out();
        self.threads.lock().restart_paths();
        permission::ask_for_all(jvmti, jni);
        self.engaged.store(true, Ordering::Release);
        self.rewrite_all(jvmti, jni);
        self.threads.lock().resume();
        self.start_sampler();
    }

    /// Ends counting while the program continues: no hook, thread or timer stays, and the signal
    /// has its old handler.
    pub fn detach(&self, jvmti: &Jvmti, jni: &Jni) {
        self.pause(jvmti, jni);
        self.give_constructor_back(jvmti, jni);
        let nodes = self.automaton.lock().len();
        self.threads.lock().detach(nodes);
        // Methods that are still running end with a hook, which has no state then.
        let _ = self.forget_states(jvmti, jni);
    }

    /// A class was prepared: registers the natives of the hook class when that is
    /// what runs, so that the VM sees the call come from java.base.
    pub fn class_prepared(&self, jvmti: &Jvmti, jni: &Jni, class: Ref<'_, Class>) {
        let Some(java) = self.java.get() else {
            return;
        };
        let signature = jvmti.class_signature(class);
        if java.registered.load(Ordering::Acquire)
            || signature.is_ok_and(|signature| signature != STARTED_SIGNATURE)
        {
            return;
        }
        // SAFETY: the functions have the parameters of these descriptors.
        let done = unsafe { jni.register_natives(java.hooks.get(), &natives()) };
        java.registered.store(done.is_ok(), Ordering::Release);
    }

    /// Defines the hook class, unless an earlier run has defined it, and takes their states from all threads.
    fn set_up(&self, jvmti: &Jvmti, jni: &Jni) -> Result<()> {
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)?;
        match self.java.get() {
            None => self.define_hooks(jvmti, jni)?,
            Some(java) if java.place.variant == Variant::Thread => {
                self.keep_states_of_attaching(jvmti, jni);
            }
            Some(_) => {}
        }
        let java = self.java.get().ok_or(JvmtiError::INTERNAL)?;
        if !java.registered.load(Ordering::Acquire) {
            return Err(JvmtiError::INTERNAL);
        }
        self.forget_states(jvmti, jni)
    }

    fn define_hooks(&self, jvmti: &Jvmti, jni: &Jni) -> Result<()> {
        let place = StatePlace::find(jni)?;
        let is_8 = Release::of(jvmti).is_before_modules();
        let (class_file, threads, started) = match place.variant {
            _ if is_8 => (EIGHT_HOOKS, EIGHT_THREADS, EIGHT_STARTED),
            Variant::Fields => (FIELDS_HOOKS, THREADS_CLASS_FILE, STARTED_CLASS_FILE),
            Variant::Thread => (THREAD_HOOKS, THREADS_CLASS_FILE, STARTED_CLASS_FILE),
            Variant::Holder => (HOLDER_HOOKS, THREADS_CLASS_FILE, STARTED_CLASS_FILE),
        };
        // Nothing takes the state from a thread that has one, for as long as the agent stays.
        let mut keeps_states = false;
        if place.variant == Variant::Thread {
            jni.define_boot_class(THREADS_CLASS, threads)?;
            keeps_states =
                self.keep_states_of_attaching(jvmti, jni) && self.arrival == Arrival::Early;
        }
        let class_file = with_values(class_file, self.automaton.lock().shared(), keeps_states);
        let class_file = class_file.ok_or(JvmtiError::INTERNAL)?;
        let hooks = jni.define_boot_class(HOOK_CLASS, &class_file)?;
        jni.define_boot_class(STARTED_CLASS, started)?;
        let _ = self.java.set(Java {
            place,
            hooks: jni.new_global(hooks.get())?,
            registered: AtomicBool::new(false),
            keeps_states,
        });
        // Before any thread, this one too, calls a hook.
        self.forget_states(jvmti, jni)?;
        // The class is prepared in the call, see `class_prepared`.
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_PREPARE, true)?;
        let called = jni.call_static(hooks.get(), c"start");
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_PREPARE, false)?;
        Ok(called?)
    }

    /// Has the constructor of `Thread` leave the state of a thread that is being attached. Whether it does.
    fn keep_states_of_attaching(&self, jvmti: &Jvmti, jni: &Jni) -> bool {
        self.methods.lock().keeps_states = true;
        let thread = jni.find_class(c"java/lang/Thread");
        thread.is_ok_and(|thread| jvmti.retransform(&[thread.get()]).is_ok())
            && self.methods.lock().has_kept_states
    }

    /// Has the constructor of `Thread` set its field itself again, once no class has hooks.
    fn give_constructor_back(&self, jvmti: &Jvmti, jni: &Jni) {
        let is_changed = std::mem::take(&mut self.methods.lock().keeps_states);
        if is_changed && let Ok(thread) = jni.find_class(c"java/lang/Thread") {
            // Where the VM refuses, the call stays, which sets the field as well.
            let _ = jvmti.retransform(&[thread.get()]);
        }
    }

    /// Takes their states from all threads. Each gets one when it calls a hook.
    fn forget_states(&self, jvmti: &Jvmti, jni: &Jni) -> Result<()> {
        let java = self.java.get().ok_or(JvmtiError::INTERNAL)?;
        let jni = &*jni.large_local_frame();
        for thread in jvmti.all_threads(jni)? {
            // SAFETY: the VM gives threads.
            unsafe { java.place.set(jni, thread.get(), 0) };
        }
        Ok(())
    }

    fn start_sampler(&'static self) {
        if self.timing != CallClock::Sampled {
            return;
        }
        self.stopped.store(false, Ordering::Relaxed);
        match sampler::start(self) {
            Ok(thread) => *self.sampler.lock() = Some(thread),
            Err(error) => report::error(&format!(
                "cannot start the thread that books CPU time, all times are 0 ({error})"
            )),
        }
    }

    fn end_sampler(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.sampler.lock().take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_variants_have_each_constant_once() {
        for class_file in [FIELDS_HOOKS, THREAD_HOOKS, HOLDER_HOOKS, EIGHT_HOOKS] {
            for constant in [FOLLOWERS, RESTS, KEEPS] {
                let constant = constant.to_be_bytes();
                let found = class_file.windows(8).filter(|bytes| *bytes == constant);
                assert_eq!(found.count(), 1);
            }
        }
    }
}

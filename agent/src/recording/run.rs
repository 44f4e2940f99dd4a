//! The facts of a run that every thread may look at.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use hprof_format::ids::ThreadSerial;
use jni_sys::jvalue;
use parking_lot::Mutex;

use super::threads::Threads;
use crate::options::Settings;
use crate::report;
use crate::vm::{
    self, GlobalRef, JavaThreads, Jni, Jvmti, NativeThread, Ref, ThreadInfo, ThreadNames,
    ThreadReader,
};

/// How far the VM is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Phase {
    /// It is starting.
    Load = 0,
    /// It runs Java code.
    Live = 1,
    /// The run is over.
    Dead = 2,
}

/// A run: what is asked for, how far it is, and the threads of the program.
pub struct Run {
    /// The environment of the run. Tags and thread-local words of modes are in environments of
    /// their own.
    pub jvmti: Jvmti,
    /// The user's settings.
    pub settings: Settings,
    /// The program's threads.
    pub threads: Threads,
    /// The groups of threads whose names are known.
    pub thread_names: ThreadNames,
    /// Where HotSpot's threads have what the signal engine needs.
    pub java_threads: OnceLock<JavaThreads>,
    /// The threads of the agent itself, which no profile shows.
    pub own_threads: Mutex<Vec<Arc<GlobalRef>>>,
    /// The collector will be gone at the VM's death.
    pub collector_stops: AtomicBool,
    /// Garbage was collected before that.
    pub collected_before_exit: AtomicBool,
    /// The profile thread writes a heap dump, which may take as long as it needs.
    pub dumping_heap: AtomicBool,
    /// A run that began in a running JVM has written its heap dump then; its end writes no second one.
    pub heap_was_dumped: AtomicBool,
    phase: AtomicU8,
}

impl Run {
    /// A run whose VM is starting.
    pub fn new(jvmti: Jvmti, settings: Settings) -> Self {
        Self {
            jvmti,
            settings,
            threads: Threads::default(),
            thread_names: ThreadNames::default(),
            java_threads: OnceLock::new(),
            own_threads: Mutex::new(Vec::new()),
            collector_stops: AtomicBool::new(false),
            collected_before_exit: AtomicBool::new(false),
            dumping_heap: AtomicBool::new(false),
            heap_was_dumped: AtomicBool::new(false),
            phase: AtomicU8::new(Phase::Load as u8),
        }
    }

    /// How far the VM is.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Load,
            1 => Phase::Live,
            _ => Phase::Dead,
        }
    }

    /// The VM has come further.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Returns true if a collection can be asked for: it would never end after the collector has stopped.
    pub fn may_collect(&self) -> bool {
        self.phase() == Phase::Live || !self.collector_stops.load(Ordering::Acquire)
    }

    /// Returns true if garbage was collected just before the collector went.
    pub fn was_collected(&self) -> bool {
        self.collected_before_exit.load(Ordering::Acquire)
    }

    /// Collects garbage.
    ///
    /// # Errors
    /// A sentence that says why nothing was collected.
    pub fn collect_garbage(&self) -> Result<(), String> {
        if !self.may_collect() {
            return Err("the VM ends, and its collector is gone".to_owned());
        }
        let collected = self.jvmti.force_garbage_collection();
        collected.map_err(|error| error.to_string())
    }

    /// Name and groups of a thread; all are empty if the VM returns an error.
    pub fn thread_info(&self, jni: &Jni, thread: Ref<'_>) -> ThreadInfo {
        let info = self.jvmti.thread_info(jni, thread, &self.thread_names);
        info.unwrap_or_default()
    }

    /// Returns true if `thread` is one of the agent's own.
    pub fn is_own(&self, jni: &Jni, thread: Ref<'_>) -> bool {
        let own = self.own_threads.lock();
        own.iter().any(|own| jni.is_same(thread, own.get()))
    }

    /// The operating system's data about the current thread.
    pub fn native_of_current(&self, jni: &Jni) -> Option<NativeThread> {
        Some(self.java_threads.get()?.current(jni))
    }

    /// The serial of a live platform thread of HotSpot, 0 as long as it is not registered.
    /// `None` for other threads, whose serial is what the VM keeps for us with them.
    ///
    /// The VM must not be asked for that of a platform thread other than the current one: if the thread
    /// ends meanwhile, `GetThreadLocalStorage` and `SetThreadLocalStorage` use what the VM has freed.
    ///
    /// # Safety
    /// `thread` is a `java.lang.Thread`.
    pub unsafe fn serial_of_platform_thread(&self, jni: &Jni, thread: Ref<'_>) -> Option<u32> {
        let threads = self.java_threads.get()?;
        // SAFETY: by the caller's promise.
        let address = unsafe { threads.address(jni, thread) }?;
        let serial = self.threads.serial_of(address);
        Some(serial.map_or(0, ThreadSerial::get))
    }

    /// Reads the operating system's data about other threads. `None` on a VM whose layout is unknown, and,
    /// with a note on stderr, where the program may open no more files.
    pub fn thread_reader(&self) -> Option<ThreadReader<'_>> {
        match self.java_threads.get()?.reader() {
            Ok(reader) => Some(reader),
            Err(error) => {
                report::note(&format!(
                    "cannot look at other threads without a pipe ({error}): those that run already may \
                     not be sampled; raise the limit of open files (ulimit -n)"
                ));
                None
            }
        }
    }

    /// Starts a Java thread of the agent, which no profile shows.
    ///
    /// # Errors
    /// The VM's error.
    pub fn start_own(
        &self,
        jni: &Jni,
        name: &str,
        body: impl FnOnce(&Jni) + Send + 'static,
    ) -> vm::Result<()> {
        let own = self.new_own(jni, name)?;
        self.jvmti.run_agent_thread(own.get(), Box::new(body))
    }

    /// A Java thread of the agent that is not started yet.
    ///
    /// # Errors
    /// The VM's error.
    pub fn new_own(&self, jni: &Jni, name: &str) -> vm::Result<Arc<GlobalRef>> {
        let class = jni.find_class(c"java/lang/Thread")?;
        let constructor = jni.method_id(
            class.get(),
            c"<init>",
            c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V",
        )?;
        let group = self.jvmti.top_thread_group(jni)?;
        let name = jni.new_string(&CString::new(name).unwrap_or_default())?;
        let arguments = [group.get(), name.get()].map(|argument| jvalue {
            l: argument.as_raw(),
        });
        // SAFETY: the constructor is one of this class, and takes a group and a string.
        let thread = unsafe { jni.new_object(class.get(), constructor, &arguments) }?;
        let own = Arc::new(jni.new_global(thread.get())?);
        self.own_threads.lock().push(Arc::clone(&own));
        Ok(own)
    }
}

//! slow=: every call of chosen methods, timed.
//!
//! Methods that patterns find get hooks at their start, at their returns, and where an exception leaves them ([`methods`]). The
//! hooks are in Java (`agent/hooks/java/java/lang/HprofSlow.java`) and count in native memory ([`memory`]): a histogram of times
//! for each method, and a record for each thread with the calls that it is in. A call within one of the same method is part of
//! that. Calls that may be among the slowest, and those above the threshold, are passed to the agent ([`SlowCalls::ended`]).
//!
//! Spans that the program names are timed as calls are, by a class that the agent brings (`HprofSpan.java`); each name has a number
//! as a method has. The slowest calls have what else is known: when collections stopped the program ([`pauses`]), who had the locks
//! that they waited for ([`owners`]), and the request, which the program or OpenTelemetry's API ([`contexts`]) names.
//!
//! Wall time is exact. CPU time is that of the thread, to 50 µs: reading its clock takes longer than most calls. That of a virtual
//! thread goes with it from carrier to carrier ([`virtual_threads`]).

mod contexts;
mod java_side;
mod memory;
mod methods;
mod missing;
mod owners;
mod pauses;
mod recorder;
mod rows;
mod slowest;
mod spans;
mod totals;
mod virtual_threads;

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hprof_native_headers as raw;
use hprof_stacks::slow::{SlowCall, SlowSpan};
use jni_sys::{JNIEnv, jobject};
use parking_lot::Mutex;

use crate::lock_fields::LockFields;
use crate::options::Settings;
use crate::os::timer::monotonic_nanos;
use crate::vm::{Capabilities, JFieldId, Jni, Jvmti, JvmtiError, Ref, Release, StillInside};
use java_side::Hooks;
use memory::{Memory, TraceContext};
use methods::Methods;
use owners::Owners;
use pauses::Pauses;

pub use recorder::SlowRecorder;

/// The state into which hooks and callbacks record.
pub struct SlowCalls {
    /// An environment of its own.
    jvmti: Jvmti,
    release: Release,
    memory: &'static Memory,
    methods: &'static Mutex<Methods>,
    hooks: Mutex<Hooks>,
    /// Where threads have their ids.
    tid: OnceLock<JFieldId>,
    /// The serial of a thread, 0 if it has none.
    serial: fn(&Jni, Ref<'_>) -> u32,
    /// Samples of virtual threads have serials of their own.
    per_thread: bool,
    /// From the monotonic clock to the time since 1970-01-01 UTC, in nanoseconds.
    moved: AtomicI64,
    /// Classes that the VM refuses with hooks.
    refused: AtomicU64,
    /// When collections stopped the program.
    pauses: Pauses,
    /// Who had the locks that long calls waited for.
    owners: Owners,
    lock_fields: OnceLock<Option<LockFields>>,
    /// The run is over, while the VM continues.
    over: AtomicBool,
}

/// The thread that a call has ended in.
#[derive(Default)]
struct CurrentThread {
    /// Its id, as the program has it.
    tid: u64,
    name: String,
    is_virtual: bool,
    /// Its serial, by which samples know it.
    serial: Option<u32>,
}

/// Why calls cannot be timed.
#[derive(Debug, thiserror::Error)]
pub enum NotInstalled {
    /// The VM's error.
    #[error("this VM lets no agent rewrite classes ({0})")]
    Refused(#[from] JvmtiError),
    /// The system gives no memory.
    #[error("there is no memory for timing calls")]
    NoMemory,
}

/// The newest run. It is leaked: a callback may look at it at any time.
static INSTANCE: AtomicPtr<SlowCalls> = AtomicPtr::new(ptr::null_mut());

/// The methods of all runs: they keep their numbers, which hooks have.
static METHODS: OnceLock<Mutex<Methods>> = OnceLock::new();

const EVENTS: [raw::jvmtiEvent; 2] = [
    raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
    raw::JVMTI_EVENT_THREAD_END,
];
/// Without them, calls do not say when collections stopped the program.
const COLLECTIONS: [raw::jvmtiEvent; 2] = [
    raw::JVMTI_EVENT_GARBAGE_COLLECTION_START,
    raw::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
];

impl SlowCalls {
    /// Sets the mode up in `jvmti`, an environment that nothing else uses. Nothing is timed before [`Self::start`].
    ///
    /// # Errors
    /// [`NotInstalled`].
    pub fn install(
        jvmti: Jvmti,
        settings: &Settings,
        serial: fn(&Jni, Ref<'_>) -> u32,
    ) -> std::result::Result<&'static Self, NotInstalled> {
        let mut wanted = Capabilities::default();
        wanted.set_can_retransform_classes(1);
        wanted.set_can_retransform_any_class(1);
        wanted.set_can_generate_all_class_hook_events(1);
        wanted.set_can_support_virtual_threads(1);
        // Where the VM refuses these, calls lack pauses and owners of locks.
        wanted.set_can_generate_garbage_collection_events(1);
        wanted.set_can_get_monitor_info(1);
        wanted.set_can_get_current_contended_monitor(1);
        let refused = jvmti.add_capabilities(&wanted)?;
        if refused.can_retransform_classes() != 0 {
            return Err(JvmtiError::NOT_AVAILABLE.into());
        }
        jvmti.set_callbacks(&raw::jvmtiEventCallbacks {
            ClassFileLoadHook: Some(java_side::class_file_load),
            ClassPrepare: Some(java_side::class_prepare),
            ThreadEnd: Some(thread_end),
            GarbageCollectionStart: Some(pauses::start),
            GarbageCollectionFinish: Some(pauses::finish),
            ..Default::default()
        })?;
        let methods = METHODS.get_or_init(Mutex::default);
        methods
            .lock()
            .begin(settings.slow.clone(), java_side::is_defined());
        let slow = Self {
            release: Release::of(&jvmti),
            jvmti,
            memory: Memory::the().ok_or(NotInstalled::NoMemory)?,
            methods,
            hooks: Mutex::default(),
            tid: OnceLock::new(),
            serial,
            per_thread: settings.thread,
            moved: AtomicI64::new(0),
            refused: AtomicU64::new(0),
            pauses: Pauses::default(),
            owners: Owners::default(),
            lock_fields: OnceLock::new(),
            over: AtomicBool::new(false),
        };
        let slow: &'static Self = Box::leak(Box::new(slow));
        INSTANCE.store(ptr::from_ref(slow).cast_mut(), Ordering::Release);
        Ok(slow)
    }

    /// Runs the body of a callback, or of a native method of the hooks, while there is a run. [`Self::detach`] waits for it.
    fn callback(body: impl FnOnce(&'static Self)) {
        // SAFETY: null, or a leaked instance that no code changes.
        let newest = unsafe { INSTANCE.load(Ordering::Acquire).as_ref() };
        if let Some(slow) = newest.filter(|slow| !slow.is_over()) {
            slow.jvmti.callback((), || body(slow));
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// VMInit, or later: calls are timed from here on.
    ///
    /// # Errors
    /// Why none can be.
    pub fn start(&self, jni: &Jni) -> std::result::Result<(), String> {
        if java_side::is_of_another(jni) {
            return Err(
                "another copy of the agent has its hooks for slow= in this JVM; use that copy, or restart the program"
                    .to_owned(),
            );
        }
        let refused = |error: JvmtiError| {
            format!("this VM does not take the agent's Java class for slow= ({error})")
        };
        let thread = jni.find_class(c"java/lang/Thread");
        let tid = thread.and_then(|thread| jni.field_id(thread.get(), c"tid", c"J"));
        let _ = self.tid.set(tid.map_err(|error| refused(error.into()))?);
        self.define_hooks(jni).map_err(refused)?;
        self.memory.forget_running();
        self.moved.store(moved(), Ordering::Relaxed);
        virtual_threads::enable(self);
        for event in EVENTS {
            self.jvmti.set_event(event, true).map_err(refused)?;
        }
        let refused = self.rewrite_loaded(jni);
        self.refused.store(refused, Ordering::Relaxed);
        for event in COLLECTIONS {
            let _ = self.jvmti.set_event(event, true);
        }
        let _ = self.lock_fields.set(LockFields::find(jni).ok());
        self.methods.lock().begin_spans(self.memory);
        Ok(())
    }

    /// Takes the hooks out of all classes, for good, and gives the environment back once its callbacks have left. Calls that are
    /// running end without effect.
    ///
    /// # Errors
    /// When a callback is still under way after `limit`: the environment stays, without effect.
    pub fn detach(&self, jni: &Jni, limit: Duration) -> std::result::Result<(), StillInside> {
        self.methods.lock().end(self.memory);
        self.over.store(true, Ordering::Relaxed);
        // Without the run, classes get their own code.
        self.rewrite_loaded(jni);
        for event in EVENTS.into_iter().chain(COLLECTIONS) {
            // An event that was not enabled cannot be refused.
            let _ = self.jvmti.set_event(event, false);
        }
        self.jvmti.close(limit)
    }

    /// A long call of a method, by its number, has ended in the current thread. It began at `began` of the monotonic clock. The
    /// CPU time of a span that began in another thread is not known.
    fn ended(&self, jni: &Jni, number: u32, began: i64, wall: u64, cpu: Option<u64>) {
        let first = began.max(0).cast_unsigned();
        let began = began.saturating_add(self.moved.load(Ordering::Relaxed));
        let (is_slow, is_among_slowest) = {
            let mut methods = self.methods.lock();
            let timed = methods.get_mut(number);
            let Some(timed) = timed.filter(|timed| timed.pattern.is_some()) else {
                return;
            };
            let is_slow = timed.block.threshold().is_some_and(|it| wall >= it);
            (is_slow, timed.slowest.takes(wall))
        };
        if !is_slow && !is_among_slowest {
            return;
        }
        let mut thread = self.current_thread(jni, is_among_slowest);
        if cpu.is_none() {
            // Its samples are not those of the span.
            thread.serial = None;
        }
        let context = self.memory.context(thread.tid, first.cast_signed());
        let call = is_among_slowest.then(|| {
            let (trace_id, span_id) = context.map(TraceContext::ids).unzip();
            let owners = match cpu {
                Some(_) => self.owners.of_call(thread.tid, first, wall),
                None => Vec::new(),
            };
            SlowCall {
                began,
                wall,
                cpu: cpu.unwrap_or(0),
                thread: thread.name,
                serial: thread.serial,
                is_virtual: thread.is_virtual,
                trace_id,
                span_id,
                pauses: self.pauses.within(first, wall),
                owners,
            }
        });
        let mut methods = self.methods.lock();
        let Some(timed) = methods.get_mut(number) else {
            return;
        };
        if is_slow {
            timed.block.count_slow();
            match thread.serial {
                Some(serial) => {
                    let span = SlowSpan(began / 1000, wall / 1000, serial);
                    timed.spans.add(span, context);
                }
                // Samples of virtual threads have the serial of their carrier, unless threads are kept apart.
                None => timed.spans.count_lost(),
            }
        }
        if let Some(call) = call {
            timed.slowest.add(call);
            timed.block.set_floor(timed.slowest.floor());
        }
    }

    /// The current thread, with its name if that is wanted.
    fn current_thread(&self, jni: &Jni, wants_name: bool) -> CurrentThread {
        let Ok(thread) = self.jvmti.current_thread(jni) else {
            return CurrentThread::default();
        };
        let is_virtual = jni.is_virtual_thread(self.release, thread.get());
        let name = match wants_name {
            true => self
                .jvmti
                .thread_name(jni, thread.get())
                .unwrap_or_default(),
            false => String::new(),
        };
        let name = match name.is_empty() {
            // Most virtual threads have no name.
            true => format!("#{}", self.thread_id(jni, thread.get())),
            false => name,
        };
        // Samples have that of its carrier otherwise.
        let has_serial = !is_virtual || self.per_thread;
        let serial = match has_serial {
            true => (self.serial)(jni, thread.get()),
            false => 0,
        };
        CurrentThread {
            tid: self.thread_id(jni, thread.get()),
            name,
            is_virtual,
            serial: (serial > 0).then_some(serial),
        }
    }

    /// The id of a thread, as the program has it.
    fn thread_id(&self, jni: &Jni, thread: Ref<'_>) -> u64 {
        match self.tid.get() {
            // SAFETY: a thread, and a field of its class of type long.
            Some(&tid) => unsafe { jni.long_field(thread, tid) }.cast_unsigned(),
            None => 0,
        }
    }
}

/// The nanoseconds from the monotonic clock to the time since 1970-01-01 UTC.
fn moved() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let monotonic = i64::try_from(monotonic_nanos()).unwrap_or(i64::MAX);
    i64::try_from(since.as_nanos())
        .unwrap_or(i64::MAX)
        .saturating_sub(monotonic)
}

unsafe extern "C" fn thread_end(_env: *mut raw::jvmtiEnv, jni: *mut JNIEnv, thread: jobject) {
    SlowCalls::callback(|slow| {
        // SAFETY: the VM passes the environment of the current thread, and a thread.
        let (jni, thread) = unsafe { (Jni::new(jni), Ref::from_raw(thread)) };
        if let Some(thread) = thread {
            slow.memory.end(slow.thread_id(&jni, thread));
        }
    });
}

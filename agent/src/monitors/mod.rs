//! monitor=y: who waits for whom.
//!
//! The VM tells of monitors by events ([`event`]). Locks of `java.util.concurrent`
//! park threads, which all goes through four classes of the JDK; their methods call
//! a Java class of the agent before and after, never around, so that a virtual
//! thread still gives its carrier up ([`park`]). Both keep the current wait in a
//! [slot](slots) that the VM keeps with the thread, and count in [rows] that
//! are shared by all. Names are looked up later by the profile thread, which then
//! tells contention from other waits ([`kinds`]), by what the synchronizer does
//! ([`acquisition`]).
//!
//! ```text
//! enter ─► class, stack, row ─► slot ─► (blocked) ─► entered ─► row's counters ─► tables
//! ```

mod acquisition;
mod blocked;
mod classes;
mod costs;
mod deadlock;
mod event;
mod fields;
mod java_side;
mod kinds;
mod park;
mod parts;
mod recent;
mod recorder;
mod rows;
mod slots;
mod tables;
mod usage;
mod waiting;

pub use recorder::MonitorRecorder;

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hprof_native_headers as raw;

use crate::options::{Locks, Settings};
use crate::output::Record;
use crate::report;
use crate::vm::{
    Capabilities, FastCompare, Jni, Jvmti, JvmtiError, Ref, Release, Result, StackKeys,
    StillInside, VmLibrary, VmStructs,
};
use classes::LockClasses;
use fields::Fields;
use java_side::JavaSide;
use parts::Parts;
use recent::RecentRows;
use rows::{Row, Rows};
use slots::{Slots, nanos};

/// The services of the profile for this mode.
#[derive(Clone, Copy)]
pub struct Host {
    /// The serial of a thread, made if it has none yet; 0 if that fails.
    pub serial: fn(&Jni, Ref<'_>) -> u32,
    /// Something for the log.
    pub log: fn(Record),
}

/// The state into which callbacks record.
pub struct Monitors {
    /// An environment of its own: the VM keeps one word for each thread and
    /// environment.
    jvmti: Jvmti,
    locks: Locks,
    depth: usize,
    threshold: Duration,
    per_thread: bool,
    release: Release,
    host: Host,
    /// The six below are parts of them.
    parts: &'static Parts,
    slots: &'static Slots,
    rows: &'static Rows,
    recent: &'static RecentRows,
    stack_keys: &'static OnceLock<StackKeys>,
    classes: &'static LockClasses,
    fields: &'static OnceLock<Fields>,
    java: OnceLock<JavaSide>,
    owned_monitors: bool,
    /// The VM tells only agents that were there at its start which monitor a thread waits for: waits keep theirs.
    keeps_objects: bool,
    logged: AtomicU32,
    /// The run is over, while the VM continues.
    ended: AtomicBool,
    /// Virtual threads have waited.
    virtual_threads: AtomicBool,
    lost: LostWaits,
}

/// The number of events that could not be recorded, by reason.
#[derive(Default)]
struct LostWaits {
    stacks: AtomicU64,
    waits: AtomicU64,
    not_logged: AtomicU64,
}

/// The newest run. It is leaked: a callback may look at it at any time.
static INSTANCE: AtomicPtr<Monitors> = AtomicPtr::new(ptr::null_mut());

/// The events of the mode; all but the first are of monitors.
const EVENTS: [raw::jvmtiEvent; 5] = [
    raw::JVMTI_EVENT_THREAD_END,
    raw::JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
    raw::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
    raw::JVMTI_EVENT_MONITOR_WAIT,
    raw::JVMTI_EVENT_MONITOR_WAITED,
];

/// Frames of locks and hooks at most, which traces do not show.
pub const INNER_FRAMES: usize = 12;
/// How many waits are written to the log.
const MAX_LOGGED: u32 = 10_000;

impl Monitors {
    /// Sets the mode up in `jvmti`, an environment that nothing else uses. Nothing
    /// is recorded before [`Self::start`].
    ///
    /// # Errors
    /// The VM's error.
    pub fn install(jvmti: Jvmti, settings: &Settings, host: Host) -> Result<&'static Self> {
        let release = Release::of(&jvmti);
        let mut wanted = Capabilities::default();
        wanted.set_can_generate_monitor_events(1);
        wanted.set_can_get_monitor_info(1);
        wanted.set_can_get_current_contended_monitor(1);
        wanted.set_can_support_virtual_threads(1);
        wanted.set_can_get_bytecodes(1);
        wanted.set_can_get_constant_pool(1);
        let structs = VmLibrary::of(&jvmti).and_then(VmStructs::of);
        let mut locks = settings.locks;
        if locks.juc && structs.is_some_and(VmStructs::makes_aot_cache) {
            report::note(
                "this VM makes an AOT cache, in which the agent's hooks would stay: locks of java.util.concurrent are \
                 not counted",
            );
            locks.juc = false;
        }
        let owned_monitors = release.owned_monitors_are_cheap();
        if owned_monitors {
            wanted.set_can_get_owned_monitor_info(1);
        }
        if locks.juc {
            wanted.set_can_retransform_classes(1);
        }
        let refused = jvmti.add_capabilities(&wanted)?;
        if refused.can_generate_monitor_events() != 0 {
            return Err(JvmtiError::NOT_AVAILABLE);
        }
        jvmti.set_callbacks(&event::table())?;
        let parts = Parts::take(FastCompare::of(structs));
        let monitors = Self {
            jvmti,
            locks,
            depth: settings.depth as usize,
            threshold: settings.lock_threshold,
            per_thread: settings.thread,
            release,
            host,
            parts,
            slots: &parts.slots,
            rows: &parts.rows,
            recent: &parts.recent,
            stack_keys: &parts.stack_keys,
            classes: &parts.classes,
            fields: &parts.fields,
            java: OnceLock::new(),
            owned_monitors: owned_monitors && refused.can_get_owned_monitor_info() == 0,
            keeps_objects: refused.can_get_current_contended_monitor() != 0,
            logged: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            virtual_threads: AtomicBool::new(false),
            lost: LostWaits::default(),
        };
        let monitors: &'static Self = Box::leak(Box::new(monitors));
        INSTANCE.store(ptr::from_ref(monitors).cast_mut(), Ordering::Release);
        Ok(monitors)
    }

    fn newest() -> Option<&'static Self> {
        // SAFETY: null, or a leaked instance that no code changes.
        unsafe { INSTANCE.load(Ordering::Acquire).as_ref() }
    }

    /// Runs the body of a callback, or of a native method of the hooks, while there is something to
    /// record. [`Self::detach`] waits for it.
    fn callback(body: impl FnOnce(&'static Self)) {
        let monitors = Self::newest();
        if let Some(monitors) = monitors.filter(|monitors| !monitors.ended.load(Ordering::Relaxed))
        {
            monitors.jvmti.callback((), || body(monitors));
        }
    }

    /// The environment of the mode.
    pub(super) fn jvmti(&self) -> &Jvmti {
        &self.jvmti
    }

    /// Records nothing any more, for good, takes the hooks back, and gives the environment back once its
    /// callbacks have left. A parked thread may call the hooks' natives later; they do nothing then.
    ///
    /// # Errors
    /// When a callback is still under way after `limit`: the environment stays, without effect.
    pub fn detach(&self, jni: &Jni, limit: Duration) -> std::result::Result<(), StillInside> {
        self.ended.store(true, Ordering::Relaxed);
        for event in EVENTS {
            // An event that was not enabled cannot be refused.
            let _ = self.jvmti.set_event(event, false);
        }
        if let Err(error) = self.end_parks(jni) {
            report::error(&format!(
                "hooks stay in java.util.concurrent.locks, without effect ({error})"
            ));
        }
        self.jvmti.close(limit)
    }

    /// Leaves the memory to the next run.
    ///
    /// # Safety
    /// [`Self::detach`] has succeeded, and no thread has a row. This is called once.
    unsafe fn forget(&self, jni: &Jni) {
        // SAFETY: the gate is closed for good and all have left; no thread has a row, by the caller's promise.
        unsafe { self.parts.give_back(jni) };
    }

    /// VMInit, or later: records from here on.
    pub fn start(&'static self, jni: &Jni) {
        if self.stack_keys.get().is_none()
            && let Some(keys) = StackKeys::learn(&self.jvmti, jni)
        {
            let _ = self.stack_keys.set(keys);
        }
        if self.stack_keys.get().is_some() {
            // A VM without this event, which is none that is known, unloads classes unnoticed.
            let _ = StackKeys::watch_unloading(&self.jvmti);
        } else if cfg!(target_arch = "x86_64") {
            report::note(
                "stacks of this VM are not as the agent knows them: monitor=y walks each of them, which is as exact and slower",
            );
        }
        if self.fields.get().is_none() {
            match Fields::find(jni) {
                Ok(fields) => {
                    let _ = self.fields.set(fields);
                }
                Err(error) => report::error(&format!(
                    "the VM's lock classes are not as expected: dumps show no locks of \
                     java.util.concurrent ({error})"
                )),
            }
        }
        // The hooks give slots to threads, and so does what notes blocked ones: that comes first.
        let comes_late = self.keeps_objects && self.locks.java;
        if comes_late {
            let blocked = self.note_blocked(jni);
            self.enable_events();
            self.forget_unblocked(&blocked);
        }
        if self.locks.juc
            && let Err(error) = self.start_parks(jni)
        {
            report::error(&format!(
                "the VM does not take the hooks in java.util.concurrent.locks, locks of \
                 java.util.concurrent are not counted ({error})"
            ));
        }
        if !comes_late {
            self.enable_events();
        }
    }

    fn enable_events(&self) {
        let events = if self.locks.java {
            &EVENTS[..]
        } else {
            &EVENTS[..1]
        };
        for &event in events {
            if let Err(error) = self.jvmti.set_event(event, true) {
                report::error(&format!(
                    "cannot enable event {event}, contention is not recorded ({error})"
                ));
            }
        }
    }

    /// The rows made since the last time. Their names have to be looked up before
    /// their classes are unloaded.
    pub fn take_fresh(&self) -> Vec<&'static Row> {
        self.rows.take_fresh()
    }

    /// Books the waits for locks that are going on, up to now.
    pub fn book_going_on(&self) {
        let now = Instant::now();
        self.slots.each(|wait| {
            let Some(row) = wait.row.filter(|row| row.source.may_be_contention()) else {
                return;
            };
            let end = wait.ran.unwrap_or(now);
            let time = end.saturating_duration_since(wait.start);
            row.add(u64::from(!wait.counted), nanos(time));
            wait.counted = true;
            wait.start = end;
        });
    }

    /// True if nothing that was asked for is recorded, as the VM has refused the hooks.
    pub fn has_no_source(&self) -> bool {
        let has_hooks = self.java.get().is_some_and(JavaSide::is_complete);
        let has_source = self.locks.java || (self.locks.juc && has_hooks);
        !has_source
    }

    /// Remarks on facts outside the tables.
    pub fn remarks(&self) -> String {
        let kinds = match (self.locks.java, self.locks.juc) {
            (true, true) => "all",
            (true, false) => "java",
            _ => "juc",
        };
        let hooks = match self.java.get().is_some_and(JavaSide::is_complete) {
            true => "y",
            false if self.locks.juc => "n",
            false => "-",
        };
        format!(
            "hprof-rs {}: monitor={kinds} threshold_us={} juc_hooks={hooks} stacks_lost={} \
             stacks_cut={} stacks_mistaken={} stacks_taken={} waits_lost={} waits_logged={} waits_not_logged={} \
             internal_errors={}",
            env!("CARGO_PKG_VERSION"),
            self.threshold.as_micros(),
            self.lost.stacks.load(Ordering::Relaxed),
            self.rows.cut(),
            self.recent.wrong(),
            self.recent.taken(),
            self.lost.waits.load(Ordering::Relaxed),
            self.logged.load(Ordering::Relaxed).min(MAX_LOGGED),
            self.lost.not_logged.load(Ordering::Relaxed),
            crate::vm::panics(),
        )
    }
}

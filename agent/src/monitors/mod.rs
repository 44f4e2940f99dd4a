//! monitor=y: who waits for whom.
//!
//! The VM tells of monitors by events ([`event`]). Locks of `java.util.concurrent`
//! park threads, which all goes through four classes of the JDK; their methods call
//! a Java class of the agent before and after, never around, so that a virtual
//! thread still gives its carrier up ([`park`]). Both keep what goes on in a
//! [slot](slots) that the VM keeps with the thread, and count in [rows](rows) that
//! are shared by all. Names are looked up later by the profile thread, which then
//! tells contention from other waits ([`kinds`]).
//!
//! ```text
//! enter ─► class, stack, row ─► slot ─► (blocked) ─► entered ─► row's counters ─► tables
//! ```

mod classes;
mod deadlock;
mod event;
mod kinds;
mod park;
mod recent;
mod rows;
mod slots;
mod usage;

pub use deadlock::{Edge, cycles};
pub use kinds::{Classified, Kind, classify, inner_frames, public_class};
pub use rows::{Row, Source};
pub use usage::{LockUsage, Usage, UsedBy};

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hprof_native_headers as raw;
use jni_sys::jobject;

use crate::hash::mix;
use crate::options::{Locks, Settings};
use crate::report;
use crate::vm::{
    Capabilities, FastCompare, Jni, Jvmti, JvmtiError, Result, StackFrame, StackKeys, VmLibrary,
    VmStructs,
};
use classes::{LockClass, LockClasses};
use park::JavaSide;
use recent::RecentRows;
use rows::{RowKey, Rows};
use slots::{Slot, Slots, Wait};
use usage::Fields;

/// What the profile does for this mode.
#[derive(Clone, Copy)]
pub struct Host {
    /// The serial of a thread, made if it has none yet; 0 if that fails.
    pub serial: fn(&Jni, jobject) -> u32,
    /// Something for the log.
    pub log: fn(LogLine),
}

/// A line of the log of `Object.wait`.
pub enum LogLine {
    /// A thread begins to wait.
    Wait {
        class: &'static str,
        millis: u64,
        thread: u32,
    },
    /// It goes on.
    Waited {
        class: &'static str,
        millis: u64,
        thread: u32,
    },
}

/// What callbacks record into.
pub struct Monitors {
    /// An environment of its own: the VM keeps one word for each thread and
    /// environment.
    jvmti: Jvmti,
    locks: Locks,
    depth: usize,
    threshold: Duration,
    per_thread: bool,
    /// The feature release of the VM, 0 when it does not tell.
    release: u32,
    host: Host,
    slots: Slots,
    rows: Rows,
    recent: RecentRows,
    /// What tells known stacks, if the VM lets itself be looked at.
    stack_keys: OnceLock<StackKeys>,
    classes: LockClasses,
    java: OnceLock<JavaSide>,
    fields: OnceLock<Fields>,
    owned_monitors: bool,
    logged: AtomicU32,
    /// The run is over, while the VM goes on.
    ended: AtomicBool,
    /// Virtual threads have waited.
    virtual_threads: AtomicBool,
    lost: Lost,
}

/// The current thread may wait.
#[derive(Clone, Copy)]
struct Room {
    /// An empty slot that it has.
    slot: Option<&'static Slot>,
}

/// What could not be recorded.
#[derive(Default)]
struct Lost {
    stacks: AtomicU64,
    waits: AtomicU64,
    not_logged: AtomicU64,
}

static INSTANCE: OnceLock<Monitors> = OnceLock::new();

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
/// A wait that is no contention gets a stack if it lasts this long.
const LONG_WAIT: Duration = Duration::from_micros(100);
/// How many waits are written to the log.
const MOST_LOGGED: u32 = 10_000;

thread_local! {
    /// Where stacks are written to. No state: it is used within one call only.
    static FRAMES: RefCell<Vec<StackFrame>> = const { RefCell::new(Vec::new()) };
}

impl Monitors {
    /// Sets the mode up in `jvmti`, an environment that nothing else uses. Nothing
    /// is recorded before [`Self::start`].
    ///
    /// # Errors
    /// What the VM says.
    pub fn install(jvmti: Jvmti, settings: &Settings, host: Host) -> Result<&'static Self> {
        let release = jvmti.version().unwrap_or(0);
        let mut wanted = Capabilities::default();
        wanted.set_can_generate_monitor_events(1);
        wanted.set_can_get_monitor_info(1);
        wanted.set_can_get_current_contended_monitor(1);
        wanted.set_can_support_virtual_threads(1);
        // Before JDK 16 it makes the compilers do without escape analysis
        // (JDK-8230677, JDK-8227745).
        let owned_monitors = release >= 16;
        if owned_monitors {
            wanted.set_can_get_owned_monitor_info(1);
        }
        if settings.locks.juc {
            wanted.set_can_retransform_classes(1);
        }
        let refused = jvmti.add_capabilities(&wanted)?;
        if refused.can_generate_monitor_events() != 0 {
            return Err(JvmtiError::NOT_AVAILABLE);
        }
        jvmti.set_callbacks(&event::table())?;
        let hotspot = VmLibrary::of(jvmti).and_then(VmStructs::of).is_some();
        let monitors = Self {
            jvmti,
            locks: settings.locks,
            depth: settings.depth as usize,
            threshold: settings.lock_threshold,
            per_thread: settings.thread,
            release,
            host,
            slots: Slots::default(),
            rows: Rows::default(),
            recent: RecentRows::default(),
            stack_keys: OnceLock::new(),
            classes: LockClasses::new(FastCompare { hotspot }),
            java: OnceLock::new(),
            fields: OnceLock::new(),
            owned_monitors: owned_monitors && refused.can_get_owned_monitor_info() == 0,
            logged: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            virtual_threads: AtomicBool::new(false),
            lost: Lost::default(),
        };
        // Loaded once, so the cell is empty.
        let _ = INSTANCE.set(monitors);
        INSTANCE.get().ok_or(JvmtiError::INTERNAL)
    }

    /// While there is something to record.
    fn get() -> Option<&'static Self> {
        let monitors = INSTANCE.get();
        monitors.filter(|monitors| !monitors.ended.load(Ordering::Relaxed))
    }

    /// Whether this VM has had the mode before, which it can have once.
    pub fn was_used() -> bool {
        INSTANCE.get().is_some()
    }

    /// Records nothing any more, for good, and takes the hooks back. The environment stays: a thread
    /// may be on its way to it.
    pub fn retire(&self, jni: &Jni) {
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
    }

    /// VMInit, or later: records from here on.
    pub fn start(&'static self, jni: &Jni) {
        if let Some(keys) = StackKeys::learn(self.jvmti, jni) {
            let _ = self.stack_keys.set(keys);
        }
        match Fields::find(jni) {
            Ok(fields) => {
                let _ = self.fields.set(fields);
            }
            Err(error) => report::error(&format!(
                "the VM's lock classes are not as expected: dumps show no locks of \
                 java.util.concurrent ({error})"
            )),
        }
        if self.locks.juc
            && let Err(error) = self.start_parks(jni)
        {
            report::error(&format!(
                "the VM does not take the hooks in java.util.concurrent.locks, locks of \
                 java.util.concurrent are not counted ({error})"
            ));
        }
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

    /// The slot of the current thread, if it has one.
    #[inline]
    fn current(&self) -> Option<&'static Slot> {
        let address = self.jvmti.thread_local(std::ptr::null_mut()).ok()?;
        // SAFETY: 0, or the address of a slot; slots are never freed.
        unsafe { (address as *const Slot).as_ref() }
    }

    /// The current thread, `thread`, begins to wait.
    fn begin(&self, jni: &Jni, thread: jobject, room: Room, wait: Wait) {
        let Some(slot) = room.slot.or_else(|| self.slots.take()) else {
            self.lost.waits.fetch_add(1, Ordering::Relaxed);
            return;
        };
        // Dumps have to find virtual threads, which no list has.
        let virtual_thread = self
            .is_virtual(jni, thread)
            .then(|| jni.new_weak(thread).ok())
            .flatten();
        let wait = Wait {
            is_virtual: virtual_thread.is_some(),
            virtual_thread,
            ..wait
        };
        if wait.is_virtual && !self.virtual_threads.load(Ordering::Relaxed) {
            self.virtual_threads.store(true, Ordering::Relaxed);
        }
        *slot.wait.lock() = Some(wait);
        if room.slot.is_some() {
            return;
        }
        let address = std::ptr::from_ref(slot) as usize;
        if self
            .jvmti
            .set_thread_local(std::ptr::null_mut(), address)
            .is_err()
        {
            self.take_out(jni, slot);
            self.slots.give_back(slot);
            self.lost.waits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The current thread goes on, and its slot is empty.
    fn release(&self, jni: &Jni, slot: &'static Slot) -> Option<Wait> {
        let wait = self.take_out(jni, slot);
        // A carrier that runs its own code may have a slot that belongs to its virtual thread,
        // whose end nobody tells.
        if self.virtual_threads.load(Ordering::Relaxed) {
            self.leave(slot);
        }
        wait
    }

    fn take_out(&self, jni: &Jni, slot: &Slot) -> Option<Wait> {
        let wait = slot.wait.lock().take()?;
        if let Some(weak) = wait.virtual_thread {
            jni.delete_weak(weak);
        }
        Some(wait)
    }

    /// The current thread gives its slot, which is empty, to others.
    fn leave(&self, slot: &'static Slot) {
        let _ = self.jvmti.set_thread_local(std::ptr::null_mut(), 0);
        self.slots.give_back(slot);
    }

    /// Books a wait that has ended, of the current thread, whose `skipped`
    /// innermost frames are the agent's.
    #[inline]
    fn book(&self, jni: &Jni, thread: jobject, wait: &Wait, end: Instant, skipped: i32) {
        let time = end.saturating_duration_since(wait.start);
        let row = match wait.row {
            Some(row) => row,
            None if wait.source.may_be_contention() && time < self.threshold => return,
            None => {
                let with_stack = wait.source.may_be_contention() || time >= LONG_WAIT;
                let depth = if with_stack { Some(skipped) } else { None };
                self.row(jni, thread, wait.source, wait.class, depth)
            }
        };
        row.add(u64::from(!wait.counted), nanos(time));
    }

    /// The row for the current thread and its stack, but for the innermost
    /// `skipped` frames.
    fn row(
        &self,
        jni: &Jni,
        thread: jobject,
        source: Source,
        class: &'static LockClass,
        skipped: Option<i32>,
    ) -> &'static Row {
        let serial = match skipped {
            Some(_) if self.per_thread => (self.host.serial)(jni, thread),
            _ => 0,
        };
        let key = skipped.and_then(|skipped| {
            let frames = self.frames(source) + usize::try_from(skipped).ok()?;
            let start = mix(u64::from(serial) << 2 | source as u64, u64::from(class.id));
            let start = mix(start, frames as u64);
            self.stack_keys.get()?.key(jni, frames, start)
        });
        let take = || self.row_by_stack(source, class, skipped, serial);
        match key {
            Some(key) => self.recent.row(key, take),
            None => take(),
        }
    }

    /// The same from the stack itself.
    #[cold]
    fn row_by_stack(
        &self,
        source: Source,
        class: &'static LockClass,
        skipped: Option<i32>,
        serial: u32,
    ) -> &'static Row {
        FRAMES.with(|buffer| {
            // Nothing in here comes back to this place, so it is free.
            let mut buffer = buffer.try_borrow_mut().ok();
            let mut none = Vec::new();
            let buffer = buffer.as_deref_mut().unwrap_or(&mut none);
            let frames = match skipped {
                Some(skipped) => self.stack(source, skipped, buffer),
                None => &[],
            };
            self.rows.intern(RowKey {
                source,
                thread: serial,
                class,
                frames,
            })
        })
    }

    fn stack<'a>(
        &self,
        source: Source,
        skipped: i32,
        buffer: &'a mut Vec<StackFrame>,
    ) -> &'a [StackFrame] {
        let frames = self.frames(source);
        if frames == 0 {
            return &[];
        }
        buffer.resize(frames, StackFrame::NONE);
        match self.jvmti.current_stack_below(skipped, buffer) {
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(_) => {
                self.lost.stacks.fetch_add(1, Ordering::Relaxed);
                &[]
            }
        }
    }

    /// How many frames are taken.
    fn frames(&self, source: Source) -> usize {
        self.depth
            + match source {
                Source::Monitor | Source::ObjectWait => 0,
                Source::Synchronizer | Source::Park => INNER_FRAMES,
            }
    }

    fn is_virtual(&self, jni: &Jni, thread: jobject) -> bool {
        // SAFETY: asked for the release first.
        self.release >= 21 && unsafe { jni.is_virtual_thread(thread) }
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

    /// What the tables do not show, as remarks.
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
             stacks_cut={} stacks_mistaken={} waits_lost={} waits_logged={} waits_not_logged={} \
             internal_errors={}",
            env!("CARGO_PKG_VERSION"),
            self.threshold.as_micros(),
            self.lost.stacks.load(Ordering::Relaxed),
            self.rows.cut(),
            self.recent.wrong(),
            self.lost.waits.load(Ordering::Relaxed),
            self.logged.load(Ordering::Relaxed).min(MOST_LOGGED),
            self.lost.not_logged.load(Ordering::Relaxed),
            crate::vm::panics(),
        )
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

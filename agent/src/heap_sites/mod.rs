//! heap=sites: where objects are allocated, and how many of them are alive.
//!
//! The VM's event for sampled allocations, at a distance of 0 bytes, tells of
//! every object. A byte's way:
//!
//! ```text
//! event ─► stack, class ─► the thread's cache of sites ─► site table ─┐
//!      └─► weak reference ─► the thread's segment ─► sweeper ─────────┴► profile thread's tables
//! ```
//!
//! No callback takes a lock that another thread holds during a call of the VM,
//! and each thread counts in memory of its own.

mod cache;
mod classes;
mod dump_watch;
mod event;
mod hooks;
mod join;
mod live;
mod located;
mod marks;
mod prime;
mod profile;
mod queue;
mod recorder;
mod run;
mod shortcut;
mod sites;
mod spare;
mod stacks;
mod starts;
mod sweep;
mod tables;
mod threads;
mod walk;
mod weights;

pub(crate) use classes::ClassTable;
pub use located::Located;
pub use profile::SitesProfile;
pub use recorder::{SharedSites, SiteRequest, SitesRecorder};

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hprof_native_headers as raw;
use parking_lot::Mutex;

use crate::names::HiddenNames;
use crate::options::{Live, Settings};
use crate::report;
use crate::vm::{
    Capabilities, Class, FastCompare, Fault, Jni, Jvmti, KeptWeakRef, Ref, Release, Result,
    SampleHook, StackKeys, StillInside, VmLibrary, VmStructs,
};
use dump_watch::Watch;
use hooks::SiteHooks;
use live::{LivenessCheck, Segment};
use queue::SegmentQueue;
use shortcut::Shortcut;
use sites::SiteTable;
use spare::Spare;
use stacks::StackTable;
use tables::Tables;
use threads::Threads;
use weights::Weights;

/// The state into which callbacks record.
pub struct HeapSites {
    /// An environment of its own: tags belong to an environment.
    jvmti: Jvmti,
    depth: AtomicUsize,
    recording: AtomicBool,
    interval: u32,
    weights: Weights,
    live: Live,
    per_thread: bool,
    structs: Option<VmStructs>,
    liveness: LivenessCheck,
    compare: FastCompare,
    release: Release,
    /// See [`Release::needs_priming`]; only when every allocation is recorded.
    needs_help: bool,
    gives_up_buffers: bool,
    /// The four below and the keys are parts of them.
    tables: &'static Tables,
    stacks: &'static StackTable,
    sites: &'static SiteTable,
    threads: &'static Threads,
    segments: &'static SegmentQueue,
    stack_keys: &'static OnceLock<StackKeys>,
    classes: &'static ClassTable,
    /// Objects that are followed, but for those in segments being filled.
    following: AtomicUsize,
    /// New objects are followed with probability 2 to the power of minus this.
    shift: AtomicU8,
    collections: AtomicUsize,
    /// Phases of collections that have begun since the event was enabled.
    begun: AtomicUsize,
    watch: Mutex<Option<Watch>>,
    /// Objects move in collection pauses only.
    moves_in_pauses: bool,
    serial_of_current: fn() -> u32,
    /// The agent came into a running JVM. What was allocated before is none of its business: to look at it would
    /// stop the program for as long as a walk through its heap takes.
    is_late: bool,
    started: AtomicBool,
    /// They tell of allocations where the VM has no event for them.
    hooks: Option<SiteHooks>,
    /// The hook by which known sites do without the event, or the reason why they cannot.
    hook: std::result::Result<SampleHook, &'static str>,
    shortcut: OnceLock<Shortcut>,
    /// References that are used again, where that can be done.
    spare: Option<&'static Spare>,
    unrecorded: Unrecorded,
}

/// The number of events that could not be recorded, by reason.
#[derive(Default)]
struct Unrecorded {
    stacks: AtomicU64,
    classes: AtomicU64,
    references: AtomicU64,
    /// Stacks that were not what their keys said.
    mistaken: AtomicU64,
    unprimed_threads: AtomicU64,
}

/// The newest run. It is leaked: a callback may look at it at any time.
static INSTANCE: AtomicPtr<HeapSites> = AtomicPtr::new(ptr::null_mut());

/// How many objects are followed at full exactness.
const MAX_FOLLOWED: usize = 32 << 20;
/// About what each of them takes, 8 of them in the VM.
const FOLLOWED_BYTES: usize = 11;

impl HeapSites {
    /// Sets the mode up in `jvmti`, an environment that nothing else uses.
    /// `serial_of_current` tells the serial of the current thread, 0 when it has
    /// none. `is_late` if the JVM runs already: objects that are there are not counted then.
    /// Nothing is recorded before [`Self::start`].
    ///
    /// # Errors
    /// The VM's error; `NOT_AVAILABLE` for the capability when another agent
    /// samples allocations.
    pub fn install(
        jvmti: Jvmti,
        settings: &Settings,
        serial_of_current: fn() -> u32,
        is_late: bool,
    ) -> Result<&'static Self> {
        let release = Release::of(&jvmti);
        let hooks = (!release.has_allocation_events()).then(SiteHooks::new);
        // Hooks tell of each object.
        let interval = match hooks {
            Some(_) => 0,
            None => settings.heap_interval,
        };
        let mut wanted = Capabilities::default();
        wanted.set_can_generate_garbage_collection_events(1);
        wanted.set_can_tag_objects(1);
        match hooks {
            Some(_) => hooks::want(&mut wanted),
            None => wanted.set_can_generate_sampled_object_alloc_events(1),
        }
        let refused = jvmti.add_capabilities(&wanted)?;
        if refused.can_generate_sampled_object_alloc_events() != 0 {
            return Err(crate::vm::JvmtiError::NOT_AVAILABLE);
        }
        hooks::refused(&refused)?;
        jvmti.set_callbacks(&event::table())?;
        if hooks.is_none() {
            jvmti.set_heap_sampling_interval(interval)?;
        } else if settings.heap_interval != 0 {
            report::note("heapinterval= has no effect on this JDK: every allocation is counted");
        }
        let library = VmLibrary::of(&jvmti);
        let structs = library.and_then(VmStructs::of);
        if hooks.is_some() {
            hooks::let_strings_be_made(structs);
        }
        let hook = match (interval, settings.shortcut) {
            _ if hooks.is_some() => Err("this JDK has no event"),
            // SAFETY: this environment has the capability, and has not enabled the event.
            (0, true) => unsafe { shortcut::hook(&jvmti, library) },
            (0, false) => Err("shortcut=n"),
            _ => Err("objects are sampled"),
        };
        let needs_help = interval == 0 && hooks.is_none() && release.needs_priming();
        let tables = Tables::take();
        let moves_in_pauses = !structs.is_some_and(VmStructs::moves_objects_concurrently);
        let sites = Self {
            jvmti,
            depth: AtomicUsize::new(settings.depth as usize),
            recording: AtomicBool::new(false),
            interval,
            weights: Weights::new(interval),
            live: settings.live,
            per_thread: settings.thread,
            structs,
            liveness: LivenessCheck {
                hotspot: structs.is_some(),
            },
            compare: FastCompare::of(structs),
            release,
            needs_help,
            gives_up_buffers: needs_help && prime::give_up_buffers(structs),
            tables,
            stacks: &tables.stacks,
            sites: &tables.sites,
            threads: &tables.threads,
            segments: &tables.segments,
            stack_keys: &tables.stack_keys,
            classes: tables::classes(HiddenNames::of(settings.format)),
            following: AtomicUsize::new(0),
            shift: AtomicU8::new(0),
            collections: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            watch: Mutex::new(None),
            moves_in_pauses,
            serial_of_current,
            is_late,
            started: AtomicBool::new(false),
            hooks,
            hook,
            shortcut: OnceLock::new(),
            spare: (hook.is_ok() && moves_in_pauses).then_some(&tables.spare),
            unrecorded: Unrecorded::default(),
        };
        let sites: &'static Self = Box::leak(Box::new(sites));
        INSTANCE.store(ptr::from_ref(sites).cast_mut(), Ordering::Release);
        Ok(sites)
    }

    fn newest() -> Option<&'static Self> {
        // SAFETY: null, or a leaked instance that no code changes.
        unsafe { INSTANCE.load(Ordering::Acquire).as_ref() }
    }

    /// Runs a callback's body. [`Self::detach`] waits for it.
    #[inline]
    fn callback(body: impl FnOnce(&'static Self)) {
        if let Some(sites) = Self::newest() {
            sites.jvmti.callback((), || body(sites));
        }
    }

    /// Records nothing any more, for good, and gives the environment back once its callbacks have left.
    ///
    /// # Errors
    /// When one is still under way after `limit`: the environment stays, without effect.
    pub fn detach(&self, limit: Duration) -> std::result::Result<(), StillInside> {
        // An event that the VM lacks was not on.
        for event in [
            raw::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
            raw::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
        ] {
            let _ = self.jvmti.set_event(event, false);
        }
        self.recording.store(false, Ordering::Relaxed);
        self.jvmti.close(limit)
    }

    /// Takes back what [`Self::install`] has prepared. No event is on yet, so there is no callback to wait for.
    pub fn cancel(&self) {
        if self.detach(Duration::ZERO).is_ok() {
            self.tables.give_back();
        }
    }

    /// VMInit, on the main thread, or later: books the existing objects, unless it is late, then records.
    pub fn start(&self, jni: &Jni) {
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
                "stacks of this VM are not as the agent knows them: heap=sites walks each of them, which is as exact and slower",
            );
        }
        if let (Ok(hook), Some(structs)) = (self.hook, self.structs)
            && let Some(shortcut) = Shortcut::learn(hook, structs, &self.jvmti, jni)
        {
            let _ = self.shortcut.set(shortcut);
        }
        if let Some(hooks) = &self.hooks
            && let Err(error) = hooks.engage(&self.jvmti, jni)
        {
            report::error(&format!(
                "this VM does not take the hooks that count allocations, none are recorded ({error})"
            ));
        }
        if !self.is_late
            && let Err(error) = self.book_existing(jni)
        {
            report::error(&format!(
                "cannot look at the objects of the VM's start, they are left out ({error})"
            ));
        }
        let events = [
            raw::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
            raw::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
        ];
        let wanted = match self.hooks {
            Some(_) => &events[..1],
            None => &events[..],
        };
        for &event in wanted {
            let is_allocation = event == raw::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC;
            if is_allocation && Fault::NoAllocations.is_wanted() {
                continue;
            }
            if let Err(error) = self.jvmti.set_event(event, true) {
                report::error(&format!(
                    "cannot enable event {event}, allocations are not recorded ({error})"
                ));
            }
        }
        self.recording.store(true, Ordering::Relaxed);
        self.started.store(true, Ordering::Release);
        if self.interval == 0 && self.hooks.is_none() {
            self.prime_main(jni);
        }
    }

    /// Records allocations no more, or again.
    ///
    /// # Errors
    /// The VM's error.
    pub fn set_recording(&self, on: bool) -> Result<()> {
        if self.hooks.is_none() {
            self.jvmti
                .set_event(raw::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, on)?;
        }
        self.recording.store(on, Ordering::Relaxed);
        Ok(())
    }

    /// Takes the hooks out of all classes, where there are any.
    pub fn take_hooks_back(&self, jni: &Jni) {
        if let Some(hooks) = &self.hooks
            && let Err(error) = hooks.disengage(&self.jvmti, jni)
        {
            report::error(&format!(
                "hooks that count allocations stay in some classes, without effect ({error})"
            ));
        }
    }

    /// Returns true if allocations are recorded.
    pub fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed)
    }

    /// Keeps this many frames of stacks to come.
    pub fn set_depth(&self, depth: u32) {
        self.depth.store(depth as usize, Ordering::Relaxed);
    }

    /// A thread starts; called on that thread.
    pub fn thread_started(&self, jni: &Jni) {
        self.threads.start_current();
        if self.needs_help && self.started.load(Ordering::Acquire) {
            self.prime(jni);
        }
    }

    /// The current thread ends.
    pub fn thread_ended(&self, jni: &Jni) {
        if self.hooks.is_some() {
            self.forget_reflected(jni);
        }
        let words = self
            .threads
            .end_current(self.sites, |segment| self.hand_over(segment));
        if let Some(spare) = self.spare {
            spare.keep(&mut vec![words]);
        }
    }

    /// The current thread is one of the agent's own.
    pub fn ignore_current_thread(&self) {
        self.threads.ignore_current();
    }

    /// The current carrier runs the virtual thread with this serial from now on; 0
    /// for none. Returns the serial of the one before if it has allocated since
    /// its own note.
    pub fn note_virtual_thread(&self, serial: u32) -> u32 {
        let Some(thread) = self.threads.current() else {
            return 0;
        };
        let before = thread.virtual_serial.replace(serial);
        if thread.virtual_used.replace(false) {
            before
        } else {
            0
        }
    }

    /// Gives a segment to the profile thread.
    fn hand_over(&self, segment: Arc<Segment>) {
        segment.close(self.collections.load(Ordering::Relaxed));
        let len = segment.len();
        // Before the profile thread can subtract the dead among them.
        self.following.fetch_add(len, Ordering::Relaxed);
        if !self.segments.push(segment) {
            self.following.fetch_sub(len, Ordering::Relaxed);
        }
        self.adjust_shift();
    }

    /// Has fewer new objects followed when very many are, or when the profile thread is late.
    fn adjust_shift(&self) {
        let following = self.following.load(Ordering::Relaxed);
        let shift = profile::shift_for(following).max(self.segments.shift());
        self.shift.store(shift, Ordering::Relaxed);
    }

    /// Returns true if two references are of the same object, `mirror` being weak.
    #[inline]
    fn is_mirror(&self, jni: &Jni, class: Ref<'_, Class>, mirror: KeptWeakRef) -> bool {
        self.compare.is_weak_of(jni, class, mirror.get())
    }
}

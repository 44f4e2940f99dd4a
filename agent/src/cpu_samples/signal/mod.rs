//! The signal engine: one CPU-time timer for each Java thread, whose signal
//! walks the stack of the thread it lands on. On the wall clock threads have no timers, and
//! `sample_now` sends the signal.
//!
//! Only a thread that burns CPU gets signals, so there is no safepoint bias and
//! a thread blocked in native code counts nothing. What happens to a sample:
//!
//! ```text
//! timer expires ─► handler on that thread ─► AsyncGetCallTrace ─► ring ─► profile thread
//! ```
//!
//! # Rules for code that runs in the handler
//!
//! `handler`, `walking`, `virtual_root`, `anchor`, `c_frames`, `first_signal`, `moments`, `ticks`, `unwind`, the crate `hprof-walker`, and the parts of `slots` and of the crate
//! `hprof-lockfree` they call:
//! - no allocation, no lock, no thread-local with a destructor, no formatting;
//! - nothing that can panic: no indexing, no arithmetic that can overflow in a
//!   checked build, no `unwrap`;
//! - memory is preallocated and never freed, so a late signal finds it valid;
//! - `errno` is as it was when the handler returns.

mod anchor;
mod asgct;
mod c_frames;
mod code_cache;
mod first_signal;
mod handler;
mod moments;
mod neighbour;
mod slots;
mod starts;
mod ticks;
mod unwind;
mod virtual_root;
mod walking;

pub use asgct::{AsgctFrame, NATIVE_LOCATION, StackPart, WalkFailure};
pub use code_cache::CodeCache;
pub use handler::is_in_place;
pub use moments::Moments;
pub use neighbour::Watch;
pub use slots::{SampledThread, Sent, SlotToken};
pub use walking::{WalkCounts, sampled};

/// A sample of the signal engine.
pub type Sample<'a> = hprof_lockfree::ring::Sample<'a, AsgctFrame>;

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use hprof_lockfree::switch::RingSwitch;
use parking_lot::RwLock;

use crate::os::kernel_stacks;
use crate::os::perf_event::{self, KernelStacks, PerfEvent};
use crate::os::signals::{self, Installed, SignalNumber, install};
use crate::os::timer::TimerId;
use crate::os::{TimerError, task, timer};
use crate::vm::callers::CodeMap;
use crate::vm::{JavaThreads, Jvmti, Vm, VmHandle, VmLibrary, VmStructs};
use asgct::AsyncGetCallTrace;
use c_frames::CFrames;
use slots::{ThreadSlots, UNHEARD_NANOS};
use starts::{Starts, Turn, start_helper};
use unwind::Unwinder;
use walking::Walking;

/// Intervals of CPU time without a signal after which a thread's mask is looked at: more than the fallback of a timer that
/// was not set again.
const UNHEARD_INTERVALS: u64 = 20;

/// The engine, leaked once it is started: the handler may run at any time.
pub struct SignalEngine {
    walk: AsyncGetCallTrace,
    vm: VmHandle,
    /// Empty while nothing is sampled for good.
    ring: RingSwitch<AsgctFrame>,
    /// Threads may be registered: there is a handler.
    open: RwLock<bool>,
    slots: ThreadSlots,
    starts: Starts,
    unwinder: Unwinder,
    walking: Walking,
    c_frames: CFrames,
    sampling: AtomicBool,
    /// Samples are asked for on the wall clock: threads have no timers.
    is_wall: AtomicBool,
    /// The event that takes samples; threads have timers if there is none.
    event: RwLock<Option<PerfEvent>>,
    /// Events that a signal counts; 0 if there is none.
    event_weight: AtomicU32,
    /// The handler arms the event again.
    is_armed: AtomicBool,
    lost: AtomicU64,
    foreign: AtomicU64,
    interval_nanos: AtomicU64,
    scheduler_tick_nanos: u64,
    /// Some thread has asked for a timer to put samples off.
    wants_delay_timer: AtomicBool,
    /// The signal, once there is a handler.
    signal: AtomicI32,
    ended_deaf: AtomicU64,
}

/// The samples that the engine is to take.
#[derive(Clone)]
pub struct SampleShape {
    /// Frames of Java at most.
    pub depth: u32,
    /// CPU time between two samples of a thread.
    pub interval: Duration,
    /// Stacks have frames of native code too.
    pub has_c_frames: bool,
    /// The event of the kernel that takes samples instead of CPU time.
    pub event: Option<PerfEvent>,
}

/// Why the signal engine cannot be used here.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The VM does not export what the engine needs.
    #[error("this VM does not export {0}")]
    Missing(&'static str),
    /// The system has no timers or signals for it.
    #[error(transparent)]
    Timer(#[from] TimerError),
    /// The signal is one that the kernel may turn into another, when an event sends it.
    #[error(
        "signal {0} cannot be sent by an event of the kernel, as its queue may be full; choose another with signal="
    )]
    RealTime(i32),
}

impl SignalEngine {
    /// Looks up what the VM must export, and checks that the kernel gives timers.
    /// Nothing is switched on yet.
    ///
    /// # Errors
    /// [`EngineError`] when this VM or kernel cannot carry the engine.
    pub fn new(jvmti: &Jvmti, shape: SampleShape) -> Result<Self, EngineError> {
        let library = VmLibrary::of(jvmti).ok_or(EngineError::Missing("a library"))?;
        let walk =
            AsyncGetCallTrace::find(library).ok_or(EngineError::Missing("AsyncGetCallTrace"))?;
        let structs = VmStructs::of(library).ok_or(EngineError::Missing("its vmStructs tables"))?;
        let vm = VmHandle::known().ok_or(EngineError::Missing("a virtual machine"))?;
        timer::probe().map_err(TimerError::Timer)?;
        let c_frames = CFrames::default();
        c_frames.set(shape.has_c_frames, has_kernel_stacks(shape.event.as_ref()));
        let (depth, interval) = (shape.depth, shape.interval);
        Ok(Self {
            walk,
            vm,
            ring: RingSwitch::new(c_frames.ring(depth)),
            open: RwLock::new(true),
            slots: ThreadSlots::default(),
            starts: Starts::default(),
            unwinder: Unwinder::new(CodeCache::of(structs)),
            walking: Walking::default(),
            c_frames,
            sampling: AtomicBool::new(true),
            is_wall: AtomicBool::new(false),
            event_weight: AtomicU32::new(weight_of(shape.event.as_ref())),
            is_armed: AtomicBool::new(shape.event.as_ref().is_some_and(PerfEvent::is_armed)),
            event: RwLock::new(shape.event),
            lost: AtomicU64::new(0),
            foreign: AtomicU64::new(0),
            interval_nanos: AtomicU64::new(nanos(interval).get()),
            scheduler_tick_nanos: timer::scheduler_tick_nanos(),
            wants_delay_timer: AtomicBool::new(false),
            signal: AtomicI32::new(0),
            ended_deaf: AtomicU64::new(0),
        })
    }

    /// The engine of an earlier run, made ready for a new one.
    ///
    /// # Errors
    /// [`EngineError::Timer`], as for [`Self::install`].
    pub fn install_again(
        &'static self,
        shape: SampleShape,
        wanted: Option<SignalNumber>,
    ) -> Result<Installed, EngineError> {
        let installed = install(wanted, handler::on_signal).map_err(TimerError::from)?;
        check_signal(installed, shape.event.as_ref())?;
        self.event_weight
            .store(weight_of(shape.event.as_ref()), Ordering::Release);
        let is_armed = shape.event.as_ref().is_some_and(PerfEvent::is_armed);
        self.is_armed.store(is_armed, Ordering::Relaxed);
        let has_kernel = has_kernel_stacks(shape.event.as_ref());
        *self.event.write() = shape.event;
        self.unwinder.set_restorer(installed.restorer());
        self.signal.store(installed.signal(), Ordering::Relaxed);
        self.ended_deaf.store(0, Ordering::Relaxed);
        self.interval_nanos
            .store(nanos(shape.interval).get(), Ordering::Release);
        self.c_frames.set(shape.has_c_frames, has_kernel);
        self.ring
            .exchange(Some(self.c_frames.ring(shape.depth)), |_| {});
        self.slots.mute_all(false);
        self.foreign.store(0, Ordering::Relaxed);
        self.starts.open();
        *self.open.write() = true;
        self.set_sampling(true);
        Ok(installed)
    }

    /// Ends sampling for good: no timer, handler or queue remains.
    pub fn detach(&self, installed: Installed) {
        self.set_sampling(false);
        self.walking.end();
        // Waits for threads that are being registered; those to come get no timer.
        *self.open.write() = false;
        self.starts.close();
        self.slots.release_all(|id| self.delete(id));
        // Waits for running handlers.
        self.ring.exchange(None, |_| {});
        // SAFETY: all events have ended, and the handlers that ran then have returned.
        unsafe { kernel_stacks::unmap_retired() };
        self.c_frames.set_code(None);
        installed.remove(handler::on_signal);
    }

    /// Has the agent's own walk take stacks once it has proved itself. False when this VM does not export
    /// a table that the walk reads. `is_thorough` has it compared with the VM's at every known point.
    pub fn begin_walking(&self, vm: Vm<'_>, is_thorough: bool) -> bool {
        VmLibrary::of(vm.jvmti)
            .and_then(VmStructs::of)
            .is_some_and(|structs| self.walking.learn(structs, vm, is_thorough))
    }

    /// Learns what the walk needs of classes of virtual threads that have been prepared meanwhile.
    pub fn learn_virtual_threads(&self, vm: Vm<'_>) {
        self.walking.learn_virtual_threads(vm);
    }

    /// Compares the walk of the current thread's stack with the VM's. Returns a sentence when they differ for the
    /// first time.
    pub fn check_walk(&self, vm: Vm<'_>, threads: &JavaThreads) -> Option<String> {
        self.walking.check(vm, threads)
    }

    /// Counts of the agent's own walk; `None` when it is not wanted.
    pub fn walk_counts(&self) -> Option<WalkCounts> {
        self.walking.counts()
    }

    /// Threads to come get no timers, and are sampled by [`Self::sample_now`]; or they get timers.
    pub fn set_wall(&self, is_wall: bool) {
        self.is_wall.store(is_wall, Ordering::Release);
    }

    /// Has a thread sample itself, whose CPU clock is at `cpu_nanos`. The sample counts these intervals of the wall
    /// clock: those for which it had a CPU, and those for which it was ready without one.
    pub fn sample_now(
        &self,
        token: SlotToken,
        (running, ready): (u32, u32),
        cpu_nanos: u64,
        installed: Installed,
    ) -> Sent {
        self.slots
            .sample(token, (running, ready), cpu_nanos, |tid| {
                signals::send(tid, installed.signal(), token.as_signal_value()).is_ok()
            })
    }

    /// Returns the kernel thread id of a thread that uses CPU time and blocks the signal, unless it is known to block
    /// it. From the returned moments on it must be sampled in another way, until [`Self::is_deaf`] says that it hears.
    pub fn turns_deaf(&self, token: SlotToken, installed: Installed) -> Option<(i32, Moments)> {
        let limit = self.interval().get().saturating_mul(UNHEARD_INTERVALS);
        let limit = limit.max(UNHEARD_NANOS);
        let (tid, moments) = self.slots.unheard(token, limit, self.interval())?;
        let mask = task::blocked_signals(tid)?;
        let is_new = mask.has(SignalNumber(installed.signal())) && !self.slots.is_deaf(token);
        is_new.then(|| {
            self.slots.set_deaf(token);
            (tid, moments)
        })
    }

    /// True if a thread is known to block the signal.
    pub fn is_deaf(&self, token: SlotToken) -> bool {
        self.slots.is_deaf(token)
    }

    /// Makes room for stacks of `depth` frames from now on; `consume` gets the
    /// samples taken so far.
    pub fn set_depth(&self, depth: u32, consume: impl FnMut(Sample<'_>)) {
        self.ring.exchange(Some(self.c_frames.ring(depth)), consume);
    }

    /// Has frames of native code found by these rules from now on.
    pub fn set_code(&self, code: CodeMap) {
        self.c_frames.set_code(Some(code));
    }

    fn interval(&self) -> NonZeroU64 {
        let nanos = self.interval_nanos.load(Ordering::Relaxed);
        NonZeroU64::new(nanos).unwrap_or(NonZeroU64::MIN)
    }

    /// Samples a thread no more, or again.
    pub fn mute(&self, token: SlotToken, muted: bool) {
        self.slots.mute(token, muted);
    }

    /// Mutes or unmutes all threads, present and future.
    pub fn mute_all(&self, muted: bool) {
        self.slots.mute_all(muted);
    }

    /// Leaks the engine and installs the handler. `wanted` is the user's choice
    /// of signal, if any.
    ///
    /// # Errors
    /// [`EngineError::Timer`] when the signal, or each of the usual ones, has an owner.
    pub fn install(
        self,
        wanted: Option<SignalNumber>,
    ) -> Result<(&'static Self, Installed), EngineError> {
        let engine: &'static Self = Box::leak(Box::new(self));
        handler::publish(engine);
        let installed = install(wanted, handler::on_signal).map_err(TimerError::from)?;
        check_signal(installed, engine.event.read().as_ref())?;
        engine.unwinder.set_restorer(installed.restorer());
        engine.signal.store(installed.signal(), Ordering::Relaxed);
        Ok((engine, installed))
    }

    /// Registers a thread and starts its timer, if samples are on the CPU clock; where many threads start, that may
    /// be done later.
    ///
    /// # Errors
    /// The kernel's error; `EAGAIN` when `ulimit -i` is reached.
    pub fn start_thread(
        &'static self,
        thread: SampledThread,
        installed: Installed,
    ) -> std::io::Result<SlotToken> {
        let open = self.open.read();
        if !*open {
            return Err(std::io::ErrorKind::NotConnected.into());
        }
        let is_wall = self.is_wall.load(Ordering::Acquire);
        if thread.is_starting {
            // A launcher may have blocked it, or the library that started this thread.
            signals::unblock(installed.signal());
        }
        let event = self.event.read();
        let turn = match thread.is_starting && !is_wall && event.is_none() {
            true => self.starts.turn(|| start_helper(self, installed)),
            false => Turn::Now(0),
        };
        let token = self
            .slots
            .acquire(thread, turn != Turn::Later)
            .ok_or(std::io::ErrorKind::OutOfMemory)?;
        if is_wall {
            return Ok(token);
        }
        let Turn::Now(shift) = turn else {
            self.starts.add(token);
            return Ok(token);
        };
        if let Some(event) = &*event {
            let value = token.as_signal_value();
            let started = event.start(thread.tid, installed.signal(), value);
            return match started {
                Ok(file) => {
                    if !self.slots.set_timer(token, TimerId(file), 0) {
                        // The thread has ended meanwhile.
                        perf_event::close(file);
                    }
                    Ok(token)
                }
                Err(error) => {
                    self.end_thread(token);
                    Err(error)
                }
            };
        }
        let started = timer::create(thread.tid, token.as_signal_value(), installed.signal())
            .and_then(|id| {
                // Known before the first signal, which resets it.
                self.slots.set_timer(token, id, shift);
                timer::start(id, 1, self.fallback())
            });
        if let Err(error) = started {
            self.end_thread(token);
            return Err(error);
        }
        if shift > 0 {
            self.starts.add(token);
        }
        Ok(token)
    }

    /// Returns true if samples are taken by an event of the kernel.
    pub fn has_event(&self) -> bool {
        self.event_weight.load(Ordering::Relaxed) > 0
    }

    /// Returns true if samples are taken by an event that counts in the kernel, too.
    pub fn counts_kernel(&self) -> bool {
        self.event
            .read()
            .as_ref()
            .is_some_and(PerfEvent::has_kernel)
    }

    /// Returns whether samples have frames of the kernel.
    pub fn kernel_stacks(&self) -> KernelStacks {
        let event = self.event.read();
        event.as_ref().map_or(KernelStacks::None, PerfEvent::stacks)
    }

    /// Deletes what sends the signals of a thread.
    fn delete(&self, id: TimerId) {
        match self.has_event() {
            true => perf_event::close(id.0),
            false => timer::delete(id),
        }
    }

    /// CPU time after which a timer expires again if no handler has set it meanwhile.
    fn fallback(&self) -> Duration {
        Duration::from_nanos(self.interval().get()).saturating_mul(16)
    }

    /// Gives threads that have asked for it a timer that puts their samples off.
    pub fn give_delay_timers(&self, installed: Installed) {
        if !self.wants_delay_timer.swap(false, Ordering::Relaxed) {
            return;
        }
        let open = self.open.read();
        if *open {
            self.slots.give_delay_timers(|tid, value| {
                timer::create_on_wall(tid, value | ticks::PUT_OFF, installed.signal())
            });
        }
    }

    /// Starts a timer for a thread that has none yet; from now on its signals count once.
    fn settle_thread(&self, token: SlotToken, installed: Installed) -> std::io::Result<()> {
        let create = |tid| timer::create(tid, token.as_signal_value(), installed.signal());
        let start = |id| timer::start(id, 1, self.fallback());
        self.slots.settle(token, create, start)
    }

    /// How many timers the kernel has refused since the last call to threads that had started before, and its last error.
    pub fn take_refused_timers(&self) -> Option<(u32, std::io::Error)> {
        self.starts.take_refused()
    }

    /// Threads that got no timer at once, because many started.
    pub fn delayed_timers(&self) -> u64 {
        self.starts.delayed()
    }

    /// Ends a thread's timer. Signals that are still on their way find a slot of
    /// a later generation and are dropped.
    pub fn end_thread(&self, token: SlotToken) {
        let limit = self.interval().get().saturating_mul(2);
        // SAFETY: the call has no arguments and cannot fail.
        let own = unsafe { libc::gettid() };
        if !self.has_event()
            && let Some((tid, _)) = self.slots.unheard(token, limit, self.interval())
            && tid == own
            && !self.slots.is_deaf(token)
            && signals::is_blocked(self.signal.load(Ordering::Relaxed))
        {
            self.ended_deaf.fetch_add(1, Ordering::Relaxed);
        }
        self.slots.release(token).for_each(|id| self.delete(id));
    }

    /// Threads that have blocked the signal and ended before that was noticed: they have no samples.
    pub fn ended_deaf(&self) -> u64 {
        self.ended_deaf.load(Ordering::Relaxed)
    }

    /// Notes which virtual thread runs on the thread; 0 for none. Returns the
    /// serial of the last virtual thread that a sample was taken of since the
    /// note before.
    pub fn set_virtual_thread(&self, token: SlotToken, serial: u32) -> u32 {
        self.slots.set_virtual_thread(token, serial)
    }

    /// CPU time burnt by the thread since it was registered.
    pub fn cpu_time(&self, token: SlotToken) -> Duration {
        self.slots.cpu_time(token)
    }

    /// Hands all samples taken so far to `consume`.
    pub fn drain(&self, consume: impl FnMut(Sample<'_>)) -> usize {
        self.ring.drain(consume)
    }

    /// Pauses or resumes sampling; timers continue but their signals do not count.
    pub fn set_sampling(&self, on: bool) {
        self.sampling.store(on, Ordering::Release);
    }

    /// Samples lost because the ring was full.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Signals of our number that no timer of ours sent.
    pub fn foreign_signals(&self) -> u64 {
        self.foreign.load(Ordering::Relaxed)
    }
}

fn has_kernel_stacks(event: Option<&PerfEvent>) -> bool {
    event.is_some_and(|event| event.stacks() == KernelStacks::Given)
}

/// Events that a signal counts; 0 if there is none.
fn weight_of(event: Option<&PerfEvent>) -> u32 {
    event.map_or(0, PerfEvent::weight)
}

/// Takes the handler away again if an event cannot send its signal.
fn check_signal(installed: Installed, event: Option<&PerfEvent>) -> Result<(), EngineError> {
    let signal = installed.signal();
    if event.is_none() || perf_event::takes(signal) {
        return Ok(());
    }
    installed.remove(handler::on_signal);
    Err(EngineError::RealTime(signal))
}

fn nanos(interval: Duration) -> NonZeroU64 {
    let nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    NonZeroU64::new(nanos).unwrap_or(NonZeroU64::MIN)
}

#[cfg(test)]
mod tests;

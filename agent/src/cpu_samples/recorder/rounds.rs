//! The ways of samples into the counts.

use hprof_format::ids::{ThreadSerial, TraceSerial};

use super::SamplesRecorder;
use crate::cpu_samples::c_symbols::CSymbols;
use crate::cpu_samples::counts::SampleCounts;
use crate::cpu_samples::engine::Engine;
use crate::cpu_samples::safepoint::{SafepointSample, SafepointSampler};
use crate::cpu_samples::signal::{
    AsgctFrame, NATIVE_LOCATION, Sample, Sent, StackPart, WalkFailure,
};
use crate::cpu_samples::times::Times;
use crate::cpu_samples::wall::{Seen, Waiting, WallSampler, WallState};
use crate::names::{FrameId, Location, Names};
use crate::options::Settings;
use crate::os::timer::monotonic_nanos;
use crate::recording::{Context, Run};
use crate::report;
use crate::vm::Vm;

/// How samples are distinguished.
#[derive(Clone, Copy)]
pub(super) struct Distinctions {
    /// By thread.
    per_thread: bool,
    /// They are of the wall clock, and have states.
    is_wall: bool,
    /// States are frames.
    has_state_frames: bool,
}

impl Distinctions {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            per_thread: settings.thread,
            is_wall: settings.samples_wall(),
            has_state_frames: settings.states,
        }
    }
}

impl SamplesRecorder {
    /// Takes the samples out of the signal engine's ring; returns how many.
    pub(super) fn drain(&mut self, cx: &mut Context<'_>) -> usize {
        let Engine::Signal(engine, installed) = self.sampling.engine() else {
            return 0;
        };
        if let Some(text) = self.other_profilers.look(engine, installed) {
            report::note(text);
        }
        let symbols = &mut self.symbols;
        let counted = &mut Counted {
            counts: &mut self.counts,
            times: &mut self.times,
        };
        let (apart, vm) = (self.apart, cx.vm);
        engine.learn_virtual_threads(vm);
        engine.drain(|sample| count(counted, symbols, cx.names, vm, apart, &sample))
    }

    /// Tells the handler the rules for callers in the code that is mapped, if stacks have native code. Returns whether
    /// more of them remain to be made.
    pub(super) fn follow_code(&mut self) -> bool {
        let Engine::Signal(engine, _) = self.sampling.engine() else {
            return false;
        };
        if !self.has_c_frames {
            return false;
        }
        let (code, is_unfinished) = self.symbols.advance_rules();
        if let Some(code) = code {
            engine.set_code(code);
        }
        is_unfinished
    }

    /// Takes the stacks that the safepoint engine wants now.
    pub(super) fn safepoint_round(&mut self, cx: &mut Context<'_>) {
        let (run, vm) = (cx.run, cx.vm);
        let is_for_all = matches!(self.sampling.engine(), Engine::Safepoint);
        if self.apart.is_wall || !is_for_all && self.deaf.is_empty() {
            return;
        }
        let (interval, depth) = (run.settings.interval, self.depth);
        let sampler = self
            .safepoint
            .get_or_insert_with(|| SafepointSampler::new(interval, depth));
        if !sampler.is_due() || self.is_stopped {
            return;
        }
        let (muted, all_muted) = (&self.muted, self.all_muted);
        let deaf = &self.deaf;
        let samples = sampler.round(vm, |thread| {
            if run.is_own(vm.jni, thread) {
                return None;
            }
            // A thread that has no serial yet is about to get it, on itself.
            // SAFETY: the VM has listed the thread.
            let told = unsafe { run.serial_of_platform_thread(vm.jni, thread) };
            let serial = match told {
                Some(serial) => serial,
                // On a VM that is not HotSpot; or the thread has ended, which is an error.
                None => vm.jvmti.thread_local(Some(thread)).ok()? as u32,
            };
            if serial == 0 || *muted.get(&serial).unwrap_or(&all_muted) {
                return None;
            }
            let cpu_nanos = match is_for_all {
                true => vm.jvmti.thread_cpu_nanos(thread).ok()?,
                false => deaf.cpu_nanos(serial)?,
            };
            Some((serial, cpu_nanos))
        });
        for sample in samples.unwrap_or_default() {
            self.count_safepoint(cx, &sample);
        }
    }

    fn count_safepoint(&mut self, cx: &mut Context<'_>, sample: &SafepointSample) {
        let thread = self.apart.thread(sample.thread);
        let trace = if sample.frames.is_empty() {
            let trace = cx.names.intern_empty(thread);
            self.counts
                .add_failure(trace, WalkFailure::NoJavaFrame, sample.weight);
            trace
        } else {
            let trace = cx
                .names
                .intern(cx.vm, thread, sample.frames.iter().copied());
            self.counts.add(trace, sample.weight);
            trace
        };
        self.times
            .add(monotonic_nanos(), trace, sample.thread, sample.weight);
    }

    /// Looks at threads on the wall clock.
    pub(super) fn wall_round(&mut self, cx: &mut Context<'_>) {
        if !self.apart.is_wall || !self.sampling.is_on() {
            return;
        }
        let (interval, depth) = (cx.run.settings.interval, self.depth);
        let sampler = self
            .wall
            .get_or_insert_with(|| WallSampler::new(interval, depth));
        sampler.adopt(&self.sampling.wall);
        if self.is_stopped || !sampler.is_due() {
            return;
        }
        let engine = self.sampling.engine();
        let (muted, all_muted) = (&self.muted, self.all_muted);
        let looks = sampler.round(
            cx.vm,
            |thread, weights, cpu_nanos| match (engine, thread.slot) {
                (Engine::Signal(engine, installed), Some(slot)) => {
                    engine.sample_now(slot, weights, cpu_nanos, installed)
                }
                _ => Sent::No,
            },
            |serial| *muted.get(&serial).unwrap_or(&all_muted),
        );
        let deaf = sampler.take_deaf();
        let now = monotonic_nanos();
        for look in looks {
            let (place, state, frames) = match look.seen {
                Seen::Unchanged(Waiting { trace, state }) => {
                    self.counts.add(trace, look.weight);
                    self.times.add(now, trace, look.thread, look.weight);
                    self.counts.add_state(state, look.weight);
                    continue;
                }
                Seen::New {
                    place,
                    state,
                    frames,
                } => (place, state, frames),
            };
            let thread = self.apart.thread(look.thread);
            let frames = frames.into_iter();
            let trace = self.apart.intern(cx.names, cx.vm, thread, frames, state);
            self.counts.add(trace, look.weight);
            self.times.add(now, trace, look.thread, look.weight);
            self.counts.add_state(state, look.weight);
            sampler.note(place, Waiting { trace, state });
        }
        if let Engine::Signal(_, installed) = engine {
            self.deaf.report(&deaf, installed);
        }
    }

    /// Reads the CPU clocks of threads that run no Java code.
    pub(super) fn read_vm_threads(&mut self, run: &Run) {
        if let Some(threads) = &mut self.vm_threads {
            threads.read_now_and_then(|tid| run.threads.get(tid).is_some());
        }
    }
}

impl Distinctions {
    /// Returns true if samples are of the wall clock.
    pub(super) fn is_wall(self) -> bool {
        self.is_wall
    }

    fn thread(self, serial: u32) -> Option<ThreadSerial> {
        self.per_thread.then(|| ThreadSerial::new(serial))
    }

    fn intern(
        self,
        names: &mut Names,
        vm: Vm<'_>,
        thread: Option<ThreadSerial>,
        frames: impl Iterator<Item = Location>,
        state: WallState,
    ) -> TraceSerial {
        match self.has_state_frames {
            true => names.intern_rooted(vm, thread, frames, state.frame()),
            false => names.intern(vm, thread, frames),
        }
    }
}

/// A stack of the signal engine.
struct SampledStack<'a> {
    /// Frames of native code.
    inner: Vec<FrameId>,
    /// The frames of Java, or the VM's code for their absence.
    java: Result<&'a [AsgctFrame], i32>,
}

impl<'a> SampledStack<'a> {
    fn of(sample: &Sample<'a>, names: &mut Names, symbols: &mut CSymbols) -> Self {
        let mut inner = Vec::new();
        let mut java = sample.frames;
        while let Ok([first, rest @ ..]) = java {
            match first.part() {
                StackPart::Java => break,
                StackPart::Code(address) => {
                    inner.push(symbols.frame(names, address));
                    java = Ok(rest);
                }
                StackPart::Failure(code) => java = Err(code),
            }
        }
        Self { inner, java }
    }

    fn locations(&self) -> impl Iterator<Item = Location> + 'a {
        self.java.unwrap_or_default().iter().map(location)
    }

    fn count_in(&self, counted: &mut Counted<'_>, trace: TraceSerial, weight: u64) {
        let counts = &mut *counted.counts;
        match self.java {
            Ok(_) => counts.add(trace, weight),
            Err(code) => counts.add_failure(trace, WalkFailure::from_code(code), weight),
        }
    }
}

/// Where samples are counted.
pub(super) struct Counted<'a> {
    pub(super) counts: &'a mut SampleCounts,
    pub(super) times: &'a mut Times,
}

/// Counts a sample of the signal engine.
pub(super) fn count(
    counted: &mut Counted<'_>,
    symbols: &mut CSymbols,
    names: &mut Names,
    vm: Vm<'_>,
    apart: Distinctions,
    sample: &Sample<'_>,
) {
    let serial = match sample.virtual_thread {
        0 => sample.thread,
        virtual_thread => virtual_thread,
    };
    let thread = apart.thread(serial);
    let stack = SampledStack::of(sample, names, symbols);
    if apart.is_wall {
        let running = sample.weight.saturating_sub(sample.ready);
        let weights = [
            (running, WallState::Running),
            (sample.ready, WallState::Runnable),
        ];
        for (weight, state) in weights.into_iter().filter(|&(weight, _)| weight > 0) {
            let root = apart.has_state_frames.then(|| state.frame());
            let frames = (&*stack.inner, stack.locations(), root);
            let trace = names.intern_between(vm, thread, frames);
            counted.counts.add_state(state, u64::from(weight));
            stack.count_in(counted, trace, u64::from(weight));
            counted
                .times
                .add(sample.at, trace, serial, u64::from(weight));
        }
        return;
    }
    let trace = names.intern_between(vm, thread, (&stack.inner, stack.locations(), None));
    stack.count_in(counted, trace, u64::from(sample.weight));
    counted
        .times
        .add(sample.at, trace, serial, u64::from(sample.weight));
}

/// The place in a Java method that a frame stands for.
pub fn location(frame: &AsgctFrame) -> Location {
    let bytecode = match frame.location {
        NATIVE_LOCATION => None,
        index => Some(u32::try_from(index).unwrap_or(0)),
    };
    Location {
        method: frame.method,
        bytecode,
    }
}

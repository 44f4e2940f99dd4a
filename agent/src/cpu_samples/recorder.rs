//! The recorder of cpu=samples.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hprof_format::ids::ThreadSerial;
use hprof_format::model::{CpuKind, CpuTable};
use hprof_format::rank::{Cutoff, RankedCpuTable};
use hprof_wire::command::ThreadObject;
use hprof_wire::control::{Mode, Reply};

use super::counts::SampleCounts;
use super::debug_info::restore_debug_info;
use super::engine::{Engine, Sampling};
use super::safepoint::{SafepointSample, SafepointSampler};
use super::signal::{
    AsgctFrame, NATIVE_LOCATION, Sample, SignalEngine, WalkFailure, Watch, is_in_place,
};
use super::threads::{begin_sampling, begin_walking, make_method_ids};
use crate::names::{Location, Names};
use crate::options::Settings;
use crate::output::thread_object;
use crate::recording::{Activity, Context, Incomplete, LiveThread, Recorder, Run};
use crate::report;
use crate::vm::{StillInside, Vm};

/// Counts samples by trace.
pub struct SamplesRecorder {
    sampling: Arc<Sampling>,
    counts: SampleCounts,
    /// The safepoint engine's, if that is used.
    safepoint: Option<SafepointSampler>,
    /// The options ask for the mode.
    is_wanted: bool,
    per_thread: bool,
    /// Frames of stacks to come.
    depth: u32,
    /// Threads that were muted, or not, by themselves; by serial.
    muted: HashMap<u32, bool>,
    /// The setting for all other threads.
    all_muted: bool,
    is_stopped: bool,
    /// The signal engine's counts at the last reset.
    base: EngineTotals,
    /// The engine's counts when the current dump was written.
    dumped: EngineTotals,
    /// Looks for other profilers.
    other_profilers: Watch,
}

/// The signal engine's counts since its start.
#[derive(Clone, Copy, Default)]
struct EngineTotals {
    cpu: Duration,
    lost: u64,
}

impl EngineTotals {
    fn of(engine: &SignalEngine, run: &Run) -> Self {
        let live = run.threads.live();
        let slots = live.iter().filter_map(|thread| thread.slot);
        let live: Duration = slots.map(|slot| engine.cpu_time(slot)).sum();
        Self {
            cpu: live + run.threads.ended_cpu(),
            lost: engine.lost(),
        }
    }
}

impl SamplesRecorder {
    /// A recorder of what the engine in `sampling` takes.
    pub fn new(sampling: Arc<Sampling>, settings: &Settings) -> Self {
        Self {
            sampling,
            counts: SampleCounts::default(),
            safepoint: None,
            is_wanted: settings.modes.cpu_samples,
            per_thread: settings.thread,
            depth: settings.depth,
            muted: HashMap::new(),
            all_muted: false,
            is_stopped: false,
            base: EngineTotals::default(),
            dumped: EngineTotals::default(),
            other_profilers: Watch::default(),
        }
    }

    /// Intervals counted since the last dump.
    pub fn total(&self) -> u64 {
        self.counts.total()
    }

    /// Writes the counts as a table, which stays open.
    pub fn write_table(&self, cx: &mut Context<'_>, cutoff: Cutoff) {
        let rows = self.counts.rows();
        let table = CpuTable {
            kind: CpuKind::Samples,
            total: self.counts.total(),
            rows: &rows,
        };
        cx.write_cpu_table(&RankedCpuTable::new(&table, cutoff));
    }

    /// Whether stacks are taken.
    pub fn has_engine(&self) -> bool {
        self.sampling.is_on()
    }

    /// Whether any thread is sampled, unless all is stopped.
    pub fn samples_any(&self) -> bool {
        self.sampling.is_on() && (!self.all_muted || self.muted.values().any(|&muted| !muted))
    }

    /// Samples a thread from now on, or all with [`ThreadObject::ALL`]. Sampling begins if the run
    /// had none.
    ///
    /// # Errors
    /// A sentence that says why not.
    pub fn sample(&mut self, cx: &mut Context<'_>, thread: ThreadObject) -> Result<(), String> {
        if !self.sampling.is_on() {
            begin_sampling(cx.run, &self.sampling, cx.vm)?;
            if thread.get() != 0 {
                // Only this one is wanted.
                self.mute(cx, ThreadObject::ALL, true)?;
            }
        }
        self.mute(cx, thread, false)
    }

    /// Samples a thread no more, or all with [`ThreadObject::ALL`].
    ///
    /// # Errors
    /// A sentence that says why not.
    pub fn ignore(&mut self, cx: &mut Context<'_>, thread: ThreadObject) -> Result<(), String> {
        if !self.sampling.is_on() {
            return Err("no CPU samples are taken".to_owned());
        }
        self.mute(cx, thread, true)
    }

    fn mute(
        &mut self,
        cx: &mut Context<'_>,
        thread: ThreadObject,
        muted: bool,
    ) -> Result<(), String> {
        let engine = self.sampling.engine();
        if thread.get() == 0 {
            self.muted.clear();
            self.all_muted = muted;
            if let Engine::Signal(engine, _) = engine {
                engine.mute_all(muted);
            }
            return Ok(());
        }
        let threads = cx.run.threads.live();
        let found = find_thread(&threads, thread.get());
        let found = found.or_else(|| find_thread(&threads, thread.swapped()));
        let found = found.ok_or_else(|| format!("no live thread has the id {:x}", thread.get()))?;
        if let (Engine::Signal(engine, _), Some(slot)) = (engine, found.slot) {
            engine.mute(slot, muted);
        }
        self.muted.insert(found.serial.get(), muted);
        Ok(())
    }

    /// Takes the samples out of the signal engine's ring; returns how many.
    fn drain(&mut self, cx: &mut Context<'_>) -> usize {
        let Engine::Signal(engine, installed) = self.sampling.engine() else {
            return 0;
        };
        if let Some(text) = self.other_profilers.look(engine, installed) {
            report::note(text);
        }
        let (counts, per_thread, vm) = (&mut self.counts, self.per_thread, cx.vm);
        engine.drain(|sample| count(counts, cx.names, vm, per_thread, &sample))
    }

    /// Takes the stacks that the safepoint engine wants now.
    fn safepoint_round(&mut self, cx: &mut Context<'_>) {
        let (run, vm) = (cx.run, cx.vm);
        if !matches!(self.sampling.engine(), Engine::Safepoint) {
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
        let samples = sampler.round(vm, |thread| {
            if run.is_own(vm.jni, thread) {
                return None;
            }
            // A thread that has no serial yet is about to get it, on itself.
            let word = vm.jvmti.thread_local(Some(thread)).ok()?;
            Some(word as u32)
                .filter(|serial| *serial != 0 && !muted.get(serial).unwrap_or(&all_muted))
        });
        for sample in samples.unwrap_or_default() {
            self.count_safepoint(cx, &sample);
        }
    }

    fn count_safepoint(&mut self, cx: &mut Context<'_>, sample: &SafepointSample) {
        let thread = self.per_thread.then(|| ThreadSerial::new(sample.thread));
        if sample.frames.is_empty() {
            let trace = cx.names.intern_empty(thread);
            self.counts
                .add_failure(trace, WalkFailure::NoJavaFrame, sample.weight);
        } else {
            let trace = cx
                .names
                .intern(cx.vm, thread, sample.frames.iter().copied());
            self.counts.add(trace, sample.weight);
        }
    }

    /// The facts outside the tables of the profile, as comment lines.
    fn remarks(&mut self, cx: &Context<'_>) -> Vec<String> {
        let counts = &self.counts;
        let threads = &cx.run.threads;
        let interval = cx.run.settings.interval.as_millis();
        let version = env!("CARGO_PKG_VERSION");
        let mut lines = Vec::new();
        match self.sampling.engine() {
            Engine::Signal(engine, installed) => {
                self.dumped = EngineTotals::of(engine, cx.run);
                lines.push(format!(
                    "hprof-rs {version}: engine=signal signal={} interval_ms={interval} \
                     samples={} stacks={} cpu_ms={} threads={}",
                    installed.signal(),
                    counts.total(),
                    counts.stacks(),
                    self.dumped.cpu.saturating_sub(self.base.cpu).as_millis(),
                    threads.threads_seen(),
                ));
                lines.push(format!(
                    "hprof-rs: lost_samples={} foreign_signals={} threads_without_timer={} \
                     handler_replaced={}",
                    self.dumped.lost - self.base.lost,
                    engine.foreign_signals(),
                    threads.without_timer(),
                    if is_in_place(installed) { "n" } else { "y" },
                ));
                lines.extend(engine.walk_counts().map(|walk| {
                    format!(
                        "hprof-rs: walker={} walks_checked={} walks_cut={} walks_to_heap={} \
                         walks_failed={}",
                        if walk.is_on { "y" } else { "n" },
                        walk.checks,
                        walk.cut,
                        walk.heap,
                        walk.failed
                    )
                }));
                if let Some(text) = self.other_profilers.look_now(engine, installed) {
                    report::note(text);
                }
                let found = self.other_profilers.found();
                lines.extend(found.map(|text| format!("hprof-rs: {text}")));
            }
            Engine::Safepoint => lines.push(format!(
                "hprof-rs {version}: engine=safepoint interval_ms={interval} samples={} \
                 stacks={} threads={}",
                counts.total(),
                counts.stacks(),
                threads.threads_seen(),
            )),
            Engine::None => {}
        }
        let failed: u64 = counts.failures().values().sum();
        let reasons: String = counts
            .failures()
            .iter()
            .map(|(reason, weight)| format!(" {}={weight}", reason.label()))
            .collect();
        lines.push(format!("hprof-rs: samples_without_stack={failed}{reasons}"));
        lines.push(cx.general_remark());
        lines
    }
}

impl Recorder for SamplesRecorder {
    fn mode(&self) -> Mode {
        Mode::Cpu
    }

    fn is_on(&self) -> bool {
        self.is_wanted || self.sampling.is_on()
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        if let Engine::Signal(..) = self.sampling.engine() {
            make_method_ids(cx.vm);
            begin_walking(cx.run, cx.vm, self.sampling.engine());
            if cx.run.java_threads.get().is_none() {
                report::error(
                    "this VM hides its threads from the signal engine: use engine=safepoint",
                );
            }
        }
    }

    fn due_in(&self) -> Option<Duration> {
        let sampler = self.safepoint.as_ref().filter(|_| !self.is_stopped)?;
        Some(sampler.wait())
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Activity {
        self.safepoint_round(cx);
        match self.drain(cx) {
            0 => Activity::Idle,
            _ => Activity::Busy,
        }
    }

    fn dump(&mut self, cx: &mut Context<'_>, _is_last: bool) -> Result<(), Incomplete> {
        cx.announce(" CPU usage by sampling running threads ...");
        self.write_table(cx, cx.run.settings.cutoff);
        let remarks = self.remarks(cx);
        cx.comment(&remarks);
        Ok(())
    }

    fn end_dump(&mut self, _cx: &mut Context<'_>, is_written: bool) {
        if is_written {
            self.counts.clear();
            self.base = self.dumped;
        }
    }

    fn reset(&mut self, cx: &mut Context<'_>) {
        self.counts.clear();
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            self.dumped = EngineTotals::of(engine, cx.run);
        }
        self.base = self.dumped;
    }

    fn stop(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        self.is_stopped = true;
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            engine.set_sampling(false);
        }
        Ok(())
    }

    fn resume(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        self.is_stopped = false;
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            engine.set_sampling(true);
        }
        Ok(())
    }

    fn set_depth(&mut self, cx: &mut Context<'_>, depth: u32) {
        self.depth = depth;
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            let (counts, per_thread, vm) = (&mut self.counts, self.per_thread, cx.vm);
            engine.set_depth(depth, |sample| {
                count(counts, cx.names, vm, per_thread, &sample);
            });
        }
        if let Some(sampler) = &mut self.safepoint {
            sampler.set_depth(depth);
        }
    }

    fn detach(&mut self, _cx: &mut Context<'_>, _limit: Duration) -> Result<(), StillInside> {
        if let Engine::Signal(engine, installed) = self.sampling.set_engine(Engine::None) {
            engine.detach(installed);
        }
        restore_debug_info();
        Ok(())
    }

    fn is_recording(&self) -> bool {
        !self.is_stopped && self.samples_any()
    }

    fn status(&self, reply: &mut Reply) {
        let failed: u64 = self.counts.failures().values().sum();
        reply.push("samples", self.counts.total());
        reply.push("stacks", self.counts.stacks());
        reply.push("samples_without_stack", failed);
        if let Engine::Signal(engine, installed) = self.sampling.engine() {
            reply.push("lost_samples", engine.lost());
            reply.push("foreign_signals", engine.foreign_signals());
            reply.push("signal", installed.signal());
        }
    }
}

fn count(
    counts: &mut SampleCounts,
    names: &mut Names,
    vm: Vm<'_>,
    per_thread: bool,
    sample: &Sample<'_>,
) {
    let thread = match sample.virtual_thread {
        0 => sample.thread,
        virtual_thread => virtual_thread,
    };
    let thread = per_thread.then(|| ThreadSerial::new(thread));
    let weight = u64::from(sample.weight);
    match sample.frames {
        Ok(frames) => {
            let trace = names.intern(vm, thread, frames.iter().map(location));
            counts.add(trace, weight);
        }
        Err(code) => {
            let trace = names.intern_empty(thread);
            counts.add_failure(trace, WalkFailure::from_code(code), weight);
        }
    }
}

fn location(frame: &AsgctFrame) -> Location {
    let bytecode = match frame.location {
        NATIVE_LOCATION => None,
        index => Some(u32::try_from(index).unwrap_or(0)),
    };
    Location {
        method: frame.method,
        bytecode,
    }
}

fn find_thread(threads: &[LiveThread], object: u64) -> Option<LiveThread> {
    let mut threads = threads.iter().copied();
    threads.find(|thread| thread_object(thread.serial).get() == object)
}

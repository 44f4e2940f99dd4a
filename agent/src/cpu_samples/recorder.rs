//! The recorder of cpu=samples and cpu=wall.

mod deaf;
mod kernel;
mod nothing;
mod remarks;
mod rounds;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hprof_format::model::{CpuKind, CpuTable};
use hprof_format::rank::{Cutoff, RankedCpuTable};
use hprof_wire::command::ThreadObject;
use hprof_wire::control::{Mode, Reply};

use super::c_symbols::CSymbols;
use super::counts::SampleCounts;
use super::debug_info::restore_debug_info;
use super::engine::{Engine, HAS_C_FRAMES, Sampling};
use super::safepoint::SafepointSampler;
use super::signal::{SignalEngine, Watch};
use super::threads::{begin_sampling, begin_walking, make_method_ids, no_timer};
use super::times::Times;
use super::vm_threads::{Parts, VmThreads};
use super::wall::WallSampler;
use crate::options::Settings;
use crate::output::thread_object;
use crate::recording::{Activity, Context, Incomplete, LiveThread, Nothing, Recorder, Run};
use crate::report;
use crate::vm::StillInside;
use deaf::DeafThreads;
use nothing::Past;
use rounds::{Counted, Distinctions, count};

pub use rounds::location;

/// Counts samples by trace.
pub struct SamplesRecorder {
    sampling: Arc<Sampling>,
    counts: SampleCounts,
    times: Times,
    /// The names of native code.
    symbols: CSymbols,
    /// Stacks of the signal engine have native code.
    has_c_frames: bool,
    kernel_said: kernel::Said,
    /// Threads that block the signal.
    deaf: DeafThreads,
    /// The safepoint engine's, if that is used, be it for these threads only.
    safepoint: Option<SafepointSampler>,
    /// The options ask for the mode.
    is_wanted: bool,
    apart: Distinctions,
    /// The sampler of cpu=wall.
    wall: Option<WallSampler>,
    /// Threads that run no Java code, if the options ask for them; their CPU time at the last reset, and when the
    /// current dump was written.
    vm_threads: Option<VmThreads>,
    base_parts: Parts,
    dumped_parts: Parts,
    /// Frames of stacks to come.
    depth: u32,
    /// Threads that were muted, or not, by themselves; by serial.
    muted: HashMap<u32, bool>,
    /// The setting for all other threads.
    all_muted: bool,
    is_stopped: bool,
    /// Counts before the last dump or reset.
    past: Past,
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
            times: Times::new(settings),
            symbols: CSymbols::default(),
            has_c_frames: settings.c_stack && HAS_C_FRAMES,
            kernel_said: kernel::Said::default(),
            deaf: DeafThreads::default(),
            safepoint: None,
            is_wanted: settings.modes.cpu_samples,
            apart: Distinctions::of(settings),
            wall: None,
            vm_threads: (settings.vm_threads
                && settings.modes.cpu_samples
                && settings.event.is_none()
                && !settings.samples_wall())
            .then(VmThreads::begin),
            base_parts: Parts::default(),
            dumped_parts: Parts::default(),
            depth: settings.depth,
            muted: HashMap::new(),
            all_muted: false,
            is_stopped: false,
            past: Past::default(),
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
    pub fn write_table(&mut self, cx: &mut Context<'_>, cutoff: Cutoff) {
        let mut rows = self.counts.rows();
        rows.extend(self.vm_rows(cx));
        let table = CpuTable {
            kind: CpuKind::Samples,
            total: rows.iter().map(|row| row.cost).sum(),
            rows: &rows,
        };
        cx.write_cpu_table(RankedCpuTable::new(&table, cutoff));
    }

    /// Writes the samples that wait with their times; within a dump, after its tables. Returns whether there were any.
    fn write_times(&mut self, cx: &mut Context<'_>, is_dump: bool) -> bool {
        let (texts, traces) = self.times.texts();
        if texts.is_empty() {
            return false;
        }
        let names = &*cx.names;
        let mut traces: Vec<_> = traces.into_iter().collect();
        traces.sort_unstable();
        cx.output
            .write(|writer| names.write_traces(writer, traces.into_iter()));
        for text in texts {
            match is_dump {
                true => cx.output.mark_after_tables(text),
                false => cx.output.write(|writer| writer.mark(&text)),
            }
        }
        true
    }

    /// Returns true if stacks are taken.
    pub fn has_engine(&self) -> bool {
        self.sampling.is_on()
    }

    /// Returns true if any thread is sampled, unless all is stopped.
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

    /// Gives threads the timers that they have asked for, and reports those that the kernel has refused.
    fn see_to_timers(&self, run: &Run) {
        let Engine::Signal(engine, installed) = self.sampling.engine() else {
            return;
        };
        engine.give_delay_timers(installed);
        if let Some((threads, error)) = engine.take_refused_timers() {
            no_timer(run, threads, &error);
        }
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
}

impl Recorder for SamplesRecorder {
    fn mode(&self) -> Mode {
        Mode::Cpu
    }

    fn is_on(&self) -> bool {
        self.is_wanted || self.sampling.is_on()
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        if self.vm_threads.is_some() && !matches!(self.sampling.engine(), Engine::Signal(..)) {
            report::note("vmthreads=y needs the signal engine: the profile has no rows of the VM");
        }
        let has_c_frames =
            self.has_c_frames && matches!(self.sampling.engine(), Engine::Signal(..));
        if cx.run.settings.c_stack && self.is_wanted && !has_c_frames {
            report::note(
                "cstack=y needs the signal engine and x86-64: stacks have no frames of native code",
            );
        }
        self.note_no_kernel_stacks();
        self.times.start();
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
        if self.is_stopped {
            return None;
        }
        let wall = self.wall.as_ref().map(WallSampler::wait);
        wall.or_else(|| self.safepoint.as_ref().map(SafepointSampler::wait))
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Activity {
        self.safepoint_round(cx);
        self.wall_round(cx);
        self.read_vm_threads(cx.run);
        self.see_to_timers(cx.run);
        self.look_for_deaf_threads(cx.run, false);
        let is_unfinished = self.follow_code();
        let drained = self.drain(cx);
        if self.times.is_much() && self.write_times(cx, false) {
            self.times.written(cx.output.is_stream());
        }
        match drained {
            _ if is_unfinished => Activity::Unfinished,
            0 => Activity::Idle,
            _ => Activity::Busy,
        }
    }

    fn has_counts(&self) -> bool {
        self.total() > 0 || self.vm_threads.is_some()
    }

    fn dump(&mut self, cx: &mut Context<'_>, _is_last: bool) -> Result<(), Incomplete> {
        cx.announce(" CPU usage by sampling running threads ...");
        self.look_for_deaf_threads(cx.run, true);
        // Before the table, as it brings traces that have no row of their own there: tables end what readers of a stream take.
        self.write_times(cx, true);
        self.write_table(cx, cx.run.settings.cutoff);
        let remarks = self.remarks(cx);
        cx.comment(&remarks);
        Ok(())
    }

    fn nothing(&self, cx: &Context<'_>) -> Option<Nothing> {
        self.why_nothing(cx.run)
    }

    fn end_dump(&mut self, cx: &mut Context<'_>, is_written: bool) {
        self.note_kernel_gaps();
        if is_written {
            self.times.written(cx.output.is_stream());
            self.past.add(&self.counts);
            self.counts.clear();
            self.base = self.dumped;
            self.base_parts = self.dumped_parts;
        }
    }

    fn reset(&mut self, cx: &mut Context<'_>) {
        self.past.add(&self.counts);
        self.counts.clear();
        self.times.reset();
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            self.dumped = EngineTotals::of(engine, cx.run);
        }
        self.base = self.dumped;
        self.vm_rows(cx);
        self.base_parts = self.dumped_parts;
    }

    fn stop(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        // The end of the program stops it, too.
        self.past.was_stopped |= self.is_stopped;
        self.is_stopped = true;
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            engine.set_sampling(false);
        }
        Ok(())
    }

    fn resume(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        self.past.was_stopped |= self.is_stopped;
        self.is_stopped = false;
        if let Some(sampler) = &mut self.wall {
            sampler.skip();
        }
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            engine.set_sampling(true);
        }
        Ok(())
    }

    fn set_depth(&mut self, cx: &mut Context<'_>, depth: u32) {
        self.depth = depth;
        if let Engine::Signal(engine, _) = self.sampling.engine() {
            let (counts, symbols) = (&mut self.counts, &mut self.symbols);
            let counted = &mut Counted {
                counts,
                times: &mut self.times,
            };
            let (apart, vm) = (self.apart, cx.vm);
            engine.set_depth(depth, |sample| {
                count(counted, symbols, cx.names, vm, apart, &sample);
            });
        }
        if let Some(sampler) = &mut self.safepoint {
            sampler.set_depth(depth);
        }
        if let Some(sampler) = &mut self.wall {
            sampler.set_depth(depth);
        }
    }

    fn detach(&mut self, _cx: &mut Context<'_>, _limit: Duration) -> Result<(), StillInside> {
        if let Engine::Signal(engine, installed) = self.sampling.set_engine(Engine::None) {
            engine.detach(installed);
        }
        restore_debug_info();
        self.deaf = DeafThreads::default();
        self.safepoint = None;
        self.wall = None;
        self.sampling.wall.clear();
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

fn find_thread(threads: &[LiveThread], object: u64) -> Option<LiveThread> {
    let mut threads = threads.iter().copied();
    threads.find(|thread| thread_object(thread.serial).get() == object)
}

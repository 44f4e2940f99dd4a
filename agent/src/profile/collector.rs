//! The profile thread: it alone owns the tables and the output, takes messages
//! and samples, and writes the dumps.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{
    CpuKind, CpuRow, CpuTable, Frame, Line, OldCpuRow, Settings, SignedMethod, Trace,
};
use hprof_format::rank::{RankedCpuTable, share};
use hprof_format::writer::ProfileWriter;
use hprof_wire::control::{Mode, Reply};

use super::check;
use super::commands::Vm;
use super::messages::Message;
use super::monitors::WaitTables;
use super::numbers::ProfileNumbers;
use super::output::{Begin, DumpEnd, Output};
use super::requests::Parts;
use super::sites::{SiteMarks, SiteRequest};
use super::{Engine, Phase, Profile, identity, peer};
use crate::call_times::{CallTimes, PathCost, PathCosts, PathMethod};
use crate::clock::LocalTime;
use crate::cpu_samples::safepoint::{SafepointSample, SafepointSampler};
use crate::cpu_samples::signal::{AsgctFrame, NATIVE_LOCATION, Sample, SignalEngine, WalkFailure};
use crate::cpu_samples::{Samples, intern_stack};
use crate::heap_dump::{self, Content, Failure, Garbage, Request, Summary};
use crate::heap_sites::{HeapSites, SitesProfile};
use crate::monitors::Monitors;
use crate::names::{FrameId, Location, Method, MethodTable, Resolver, TraceTable};
use crate::options::{Clock, Format, Settings as RunSettings};
use crate::report;
use crate::vm::{Jni, Jvmti, VmDumper, VmLibrary, VmStructs};

/// What the profile thread owns.
pub(super) struct Collector {
    receiver: Receiver<Message>,
    /// A request that came while messages were written.
    put_off: Option<Message>,
    pub(super) output: Output,
    pub(super) tables: Tables,
    pub(super) sites: Option<SitesProfile>,
    pub(super) waits: Option<WaitTables>,
    started: LocalTime,
    /// The format of the old `prof` has tables and nothing else.
    is_bare: bool,
    last_cpu: Duration,
    last_lost: u64,
    /// What becomes of these two when the dump under way is complete.
    shown: (Duration, u64),
    /// The safepoint engine's, if that is used.
    pub(super) sampler: Option<SafepointSampler>,
    /// Frames of traces to come.
    pub(super) depth: u32,
    /// Threads that were muted, or not, by themselves.
    pub(super) muted: HashMap<u32, bool>,
    /// What holds for the others.
    pub(super) all_muted: bool,
    /// How many commands were refused.
    pub(super) refused: u32,
    pub(super) site_marks: SiteMarks,
    /// The next dump is the last.
    ending: bool,
    /// Sampling is stopped.
    pub(super) paused: bool,
    /// How many dumps were written.
    pub(super) dumps: u32,
    began: Instant,
}

pub(super) struct Tables {
    pub(super) methods: MethodTable,
    pub(super) resolver: Resolver,
    pub(super) traces: TraceTable,
    /// The serial of the profile thread, when a heap dump has shown it.
    pub(super) own_thread: Option<ThreadSerial>,
    /// The generation of the output that has shown it.
    own_thread_in: u32,
    pub(super) samples: Samples,
    per_thread: bool,
    scratch: Vec<FrameId>,
}

/// How long samples may wait in the ring. Names are looked up afterwards, so it
/// must be short against the life of a class.
const DRAIN_EVERY: Duration = Duration::from_millis(20);
/// The same when classes were unloaded before their methods had been looked up.
const CHURN_DRAIN_EVERY: Duration = Duration::from_millis(1);
/// The same when the program has been idle.
const IDLE_DRAIN_EVERY: Duration = Duration::from_millis(100);
/// Bytes for methods and traces together; see [`TraceTable::intern`].
const TABLE_MEMORY: usize = 16 << 20;
/// The same with heap=sites, which has many more traces.
const HEAP_TABLE_MEMORY: usize = 64 << 20;
/// The same when calls are counted: their traces are made for a dump only, and
/// only of the paths that its table shows.
const CALLS_TABLE_MEMORY: usize = 256 << 20;

impl Collector {
    pub(super) fn new(
        receiver: Receiver<Message>,
        output: Output,
        settings: &RunSettings,
        heap_sites: Option<&'static HeapSites>,
        monitors: Option<&'static Monitors>,
    ) -> Self {
        let table_memory = if settings.modes.counts_calls() {
            CALLS_TABLE_MEMORY
        } else if heap_sites.is_some() {
            HEAP_TABLE_MEMORY
        } else {
            TABLE_MEMORY
        };
        Self {
            receiver,
            put_off: None,
            output,
            tables: Tables {
                methods: MethodTable::default(),
                resolver: Resolver::new(settings.lineno),
                traces: TraceTable::new(table_memory),
                own_thread: None,
                own_thread_in: 0,
                samples: Samples::default(),
                per_thread: settings.thread,
                scratch: Vec::new(),
            },
            sites: heap_sites.map(SitesProfile::new),
            waits: monitors.map(WaitTables::new),
            started: LocalTime::now(),
            is_bare: settings.modes.cpu_old,
            last_cpu: Duration::ZERO,
            last_lost: 0,
            shown: (Duration::ZERO, 0),
            sampler: None,
            depth: settings.depth,
            muted: HashMap::new(),
            all_muted: false,
            refused: 0,
            site_marks: SiteMarks::default(),
            ending: false,
            paused: false,
            dumps: 0,
            began: Instant::now(),
        }
    }

    /// Forgets the profile: the VM ended before it was up.
    pub(super) fn discard(self) {
        self.output.discard();
    }

    /// The life of the profile thread.
    pub(super) fn run(mut self, profile: &'static Profile, jvmti: Jvmti, jni: &Jni) {
        self.begin(profile);
        self.tell_tables(profile, "start");
        if let Some(sites) = profile.heap_sites {
            sites.ignore_current_thread();
        }
        self.sampler = self.safepoint_sampler(profile);
        if let Some(source) = self.output.source() {
            self.site_marks.wanted = true;
            peer::listen(profile, source);
        }
        let mut drained = Instant::now();
        let mut pause = DRAIN_EVERY;
        loop {
            let wait = self
                .sampler
                .as_ref()
                .map_or(pause, |sampler| sampler.wait().min(pause));
            let message = match self.put_off.take() {
                Some(message) => Ok(message),
                None => self.receiver.recv_timeout(wait),
            };
            match message {
                Ok(Message::Commands { commands, done }) => {
                    let vm = Vm {
                        profile,
                        jvmti,
                        jni,
                    };
                    for command in commands {
                        self.command(vm, command);
                    }
                    let _ = done.send(());
                }
                Ok(Message::Request { request, reply }) => {
                    let vm = Vm {
                        profile,
                        jvmti,
                        jni,
                    };
                    let answer = self.request(vm, request);
                    let _ = reply.send(answer);
                }
                Ok(Message::Detach { reply }) => {
                    profile.set_phase(Phase::Dead);
                    if let Engine::Signal(engine, _) = profile.engine() {
                        engine.set_sampling(false);
                    }
                    let whole = self.finish(profile, jvmti, jni);
                    let mut answer = if whole {
                        Reply::default()
                    } else {
                        Reply::error("the last dump could not be written, see standard error")
                    };
                    answer.push("output", self.output.place());
                    drop(self);
                    profile.retire(jni);
                    let _ = reply.send(answer);
                    return;
                }
                Ok(Message::Connected(sink)) => {
                    if let Some(source) = self.output.reconnect(sink) {
                        peer::listen(profile, source);
                    }
                }
                Ok(Message::Dump { done }) => {
                    self.drain(profile, jvmti, jni);
                    self.dump(profile, Parts::ALL, jvmti, jni);
                    let _ = done.send(());
                }
                Ok(Message::Finish { done }) => {
                    self.finish(profile, jvmti, jni);
                    let _ = done.send(());
                    return;
                }
                Ok(message) => {
                    self.record(message);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.sampler.is_none() {
                self.sampler = self.safepoint_sampler(profile);
            }
            if let Some(mut sampler) = self.sampler.take() {
                if sampler.is_due() && !self.paused {
                    self.safepoint_round(profile, jvmti, jni, &mut sampler);
                }
                self.sampler = Some(sampler);
            }
            if let Some(endpoint) = self.output.take_lost() {
                peer::reconnect(profile, endpoint);
            }
            if drained.elapsed() >= pause {
                let unknown = self.tables.resolver.unknown_methods();
                let busy = self.drain(profile, jvmti, jni) > 0;
                self.tick_waits(jvmti, jni);
                pause = if self.tick_sites(jvmti, jni) {
                    Duration::ZERO
                } else if self.tables.resolver.unknown_methods() > unknown {
                    CHURN_DRAIN_EVERY
                } else if busy {
                    (pause * 2).clamp(CHURN_DRAIN_EVERY, DRAIN_EVERY)
                } else {
                    (pause * 2).clamp(CHURN_DRAIN_EVERY, IDLE_DRAIN_EVERY)
                };
                drained = Instant::now();
                self.tables.resolver.refresh();
                self.output.tick();
            }
        }
    }

    /// Writes what is left. False when it could not be written.
    fn finish(&mut self, profile: &'static Profile, jvmti: Jvmti, jni: &Jni) -> bool {
        self.ending = true;
        self.drain(profile, jvmti, jni);
        let written = if profile.settings.doe {
            self.dump(profile, Parts::ALL, jvmti, jni)
        } else {
            // A front-end that is lost at the last moment has a file as its successor.
            self.output.commit() || self.output.commit()
        };
        self.output.close();
        self.tell_tables(profile, "end");
        self.check_output(profile);
        written
    }

    /// How long the run has lasted.
    pub(super) fn running(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn safepoint_sampler(&self, profile: &Profile) -> Option<SafepointSampler> {
        let interval = profile.settings.interval;
        matches!(profile.engine(), Engine::Safepoint)
            .then(|| SafepointSampler::new(interval, self.depth))
    }

    /// Sets all counts of samples and times to zero.
    pub(super) fn clear_cpu(&mut self, profile: &Profile) {
        self.tables.samples.clear();
        if let Engine::Signal(engine, _) = profile.engine() {
            self.shown = (cpu_time(profile, engine), engine.lost());
        }
        (self.last_cpu, self.last_lost) = self.shown;
        if let Some(calls) = profile.calls {
            drop(calls.take(false, &|tid| profile.calls_serial(tid)));
        }
    }

    /// Writes what a message tells; gives it back if it asks for something instead.
    fn record(&mut self, message: Message) -> Option<Message> {
        match message {
            Message::ThreadStart { .. } | Message::ThreadEnd { .. } if self.is_bare => {}
            Message::ThreadStart { serial, info } => self.output.thread_start(serial, info),
            Message::ThreadEnd { serial } => self.output.thread_end(serial),
            Message::Monitor(line) => self.log_wait(&line),
            Message::Dump { .. }
            | Message::Finish { .. }
            | Message::Commands { .. }
            | Message::Request { .. }
            | Message::Detach { .. }
            | Message::Connected(_) => return Some(message),
        }
        None
    }

    /// Writes what all messages sent so far tell, in the middle of a dump.
    pub(super) fn record_messages(&mut self) {
        while self.put_off.is_none()
            && let Ok(message) = self.receiver.try_recv()
        {
            self.put_off = self.record(message);
        }
    }

    fn begin(&mut self, profile: &Profile) {
        let settings = &profile.settings;
        if self.is_bare {
            return;
        }
        self.output.begin(Begin {
            started: self.started,
            settings: Settings {
                allocation_traces: settings.modes.tracks_objects(),
                cpu_sampling: settings.modes.cpu_samples,
                depth: settings.depth,
            },
            identity: identity::of(profile).to_string(),
        });
    }

    /// Reads the finished file back, where the options ask for that.
    fn check_output(&self, profile: &Profile) {
        let settings = &profile.settings;
        if !settings.checks_output() || settings.format != Format::Binary {
            return;
        }
        let Some(path) = self.output.finished_file() else {
            return;
        };
        check::check_file(&path);
        if settings.lists_output() && settings.modes.heap_dump {
            check::list_file(&path);
        }
    }

    /// `logflags=2`: what the tables hold, in figures.
    fn tell_tables(&self, profile: &Profile, when: &str) {
        if !profile.settings.tells_tables() {
            return;
        }
        let (methods, traces) = (&self.tables.methods, &self.tables.traces);
        report::note(&format!(
            "tables at the {when}: {methods} traces={} traces_cut={} trace_bytes={} threads={}",
            traces.count(),
            traces.cut(),
            traces.bytes(),
            profile.registry.threads_seen(),
        ));
    }

    /// Takes the samples out of the signal engine's ring.
    pub(super) fn drain(&mut self, profile: &Profile, jvmti: Jvmti, jni: &Jni) -> usize {
        let Engine::Signal(engine, _) = profile.engine() else {
            return 0;
        };
        let tables = &mut self.tables;
        engine.drain(|sample| tables.add_signal_sample(jvmti, jni, &sample))
    }

    fn safepoint_round(
        &mut self,
        profile: &Profile,
        jvmti: Jvmti,
        jni: &Jni,
        sampler: &mut SafepointSampler,
    ) {
        let own = profile.own_threads.lock().clone();
        let (muted, all_muted) = (&self.muted, self.all_muted);
        let samples = sampler.round(jvmti, jni, |thread| {
            if own.iter().any(|&own| jni.is_same(thread, own)) {
                return None;
            }
            // A thread that has no serial yet is about to get it, on itself.
            let word = jvmti.thread_local(thread).ok()?;
            Some(word as u32)
                .filter(|serial| *serial != 0 && !muted.get(serial).unwrap_or(&all_muted))
        });
        for sample in samples.unwrap_or_default() {
            self.tables.add_safepoint_sample(jvmti, jni, &sample);
        }
    }

    /// Writes a dump, and forgets the counts that it holds.
    pub(super) fn dump(
        &mut self,
        profile: &'static Profile,
        parts: Parts<'_>,
        jvmti: Jvmti,
        jni: &Jni,
    ) -> bool {
        let verbose = profile.settings.verbose;
        let cpu = parts.has(Mode::Cpu, true);
        let calls = profile.calls.filter(|_| cpu).map(|calls| {
            let old = profile.settings.modes.cpu_old;
            let serial_of = |tid| profile.calls_serial(tid).filter(|_| !old);
            let costs = calls.take(self.ending, &serial_of);
            (calls, costs)
        });
        loop {
            if verbose {
                report::raw("Dumping");
            }
            self.output.begin_dump();
            let summary = self.write_dump(profile, parts, calls.as_ref(), jvmti, jni);
            match self.output.end_dump() {
                DumpEnd::Written => {
                    self.dumps += 1;
                    if verbose {
                        report::raw(" done.\n");
                        if let Some(summary) = summary {
                            report::note(&summary.to_string());
                        }
                    }
                    break;
                }
                // The front-end is lost, and a file is there instead.
                DumpEnd::Again => {}
                DumpEnd::Failed => return false,
            }
        }
        if let Some(waits) = &mut self.waits
            && parts.has(Mode::Monitor, true)
        {
            waits.clear();
        }
        if cpu {
            self.tables.samples.clear();
            (self.last_cpu, self.last_lost) = self.shown;
        }
        true
    }

    fn write_dump(
        &mut self,
        profile: &'static Profile,
        parts: Parts<'_>,
        calls: Option<&(&CallTimes, PathCosts)>,
        jvmti: Jvmti,
        jni: &Jni,
    ) -> Option<Summary> {
        let verbose = profile.settings.verbose;
        if parts.has(Mode::Monitor, profile.monitors.is_some()) {
            if verbose {
                report::raw(" contended monitor usage ...");
            }
            self.dump_waits(profile, jvmti, jni);
        }
        let mut summary = None;
        let modes = profile.settings.modes;
        if parts.has(Mode::Heap, modes.heap_dump) {
            if verbose {
                report::raw(" Java heap ...");
            }
            profile.dumping_heap.store(true, Ordering::Release);
            summary = self.dump_heap(profile, jvmti, jni);
            profile.dumping_heap.store(false, Ordering::Release);
        }
        if parts.has(Mode::Sites, modes.heap_sites) {
            if verbose {
                report::raw(" allocation sites ...");
            }
            let request = SiteRequest::of_dump(profile);
            self.dump_sites(profile, jvmti, jni, request);
        }
        let samples = modes.cpu_samples || !matches!(profile.engine(), Engine::None);
        if parts.has(Mode::Cpu, samples) {
            if verbose {
                report::raw(" CPU usage by sampling running threads ...");
            }
            self.dump_samples(profile);
        }
        if let Some((calls, costs)) = calls {
            let old = profile.settings.modes.cpu_old;
            if verbose {
                report::raw(if old {
                    " CPU usage in old prof format ..."
                } else {
                    " CPU usage by timing methods ..."
                });
            }
            if old {
                self.dump_old_times(calls, costs);
            } else {
                self.dump_times(profile, calls, costs);
            }
            self.dump_call_remarks(profile, calls, jvmti, jni);
        }
        summary
    }

    /// Writes all objects. A failure is reported, and the profile goes on without.
    pub(super) fn dump_heap(
        &mut self,
        profile: &Profile,
        jvmti: Jvmti,
        jni: &Jni,
    ) -> Option<Summary> {
        let settings = &profile.settings;
        let content = Content {
            text: settings.format == Format::Text,
            fields: settings.primfields,
            arrays: settings.primarrays,
            lines: settings.lineno,
        };
        let scratch = self.output.scratch_path();
        let ctime = LocalTime::now().ctime();
        let library = VmLibrary::of(jvmti);
        let structs = library.and_then(VmStructs::of);
        let request = Request {
            dumper: VmDumper::of(library),
            jvmti,
            jni,
            output: &scratch,
            content,
            ctime: &ctime,
            garbage: if profile.may_collect() {
                Garbage::Collect
            } else if profile.collected_before_exit.load(Ordering::Acquire) {
                Garbage::CollectedBefore
            } else {
                Garbage::NotCollected
            },
            collects_in_pause: !structs.is_some_and(VmStructs::moves_objects_concurrently),
        };
        if self.tables.own_thread_in != self.output.generation() {
            self.tables.own_thread_in = self.output.generation();
            self.tables.own_thread = None;
        }
        let mut numbers = ProfileNumbers::new(profile, jni, &mut self.tables, self.sites.as_mut());
        let mut result = None;
        self.output.write(|writer| {
            let remark = match heap_dump::dump(&request, writer, &mut numbers) {
                Ok(summary) => {
                    result = Some(summary);
                    summary.to_string()
                }
                Err(Failure::Output(error)) => return Err(error),
                Err(failure) => {
                    report::error(&failure.to_string());
                    failure.to_string()
                }
            };
            writer.comment(&remark)
        });
        if let Some(sites) = &mut self.sites {
            sites.forget_located();
        }
        result
    }

    fn dump_samples(&mut self, profile: &Profile) {
        let rows = self.tables.samples.rows();
        let table = CpuTable {
            kind: CpuKind::Samples,
            total: self.tables.samples.total(),
            rows: &rows,
        };
        self.write_table(&table, profile.settings.cutoff);
        let remarks = self.remarks(profile);
        self.output
            .write(|writer| remarks.iter().try_for_each(|line| writer.comment(line)));
    }

    fn dump_times(&mut self, profile: &'static Profile, calls: &CallTimes, costs: &PathCosts) {
        let total = costs.nanos();
        let cutoff = profile.settings.cutoff;
        // What the table will not show needs no trace.
        let shown = |cost: &PathCost| cutoff.is_nan() || share(cost.nanos, total) >= cutoff;
        let mut costs: Vec<PathCost> = costs.rows().filter(shown).collect();
        costs.sort_by_key(|cost| (Reverse(cost.nanos), Reverse(cost.calls), cost.thread));
        let rows: Vec<CpuRow> = costs
            .iter()
            .map(|cost| CpuRow {
                cost: cost.nanos,
                count: cost.calls,
                trace: self.tables.intern_path(cost.thread, calls.path(cost)),
            })
            .collect();
        let table = CpuTable {
            kind: CpuKind::Times,
            total,
            rows: &merged(rows),
        };
        self.write_table(&table, cutoff);
    }

    /// Pairs of callee and caller.
    fn dump_old_times(&mut self, calls: &CallTimes, costs: &PathCosts) {
        let costs: Vec<PathCost> = costs.rows().collect();
        let paths: Vec<Vec<PathMethod>> = costs.iter().map(|cost| calls.path(cost)).collect();
        let rows: Vec<OldCpuRow<'_>> = costs
            .iter()
            .zip(&paths)
            .map(|(cost, path)| OldCpuRow {
                count: cost.calls,
                callee: path.first().map(signed),
                caller: path.get(1).map(signed),
                nanos: cost.nanos,
            })
            .collect();
        self.output.write(|writer| writer.old_cpu_table(&rows));
    }

    fn dump_call_remarks(&mut self, profile: &Profile, calls: &CallTimes, jvmti: Jvmti, jni: &Jni) {
        let settings = &profile.settings;
        let mut remarks = vec![format!(
            "hprof-rs {}: {} threads={} traces={} traces_cut={} internal_errors={}",
            env!("CARGO_PKG_VERSION"),
            match settings.clock {
                _ if settings.modes.cpu_old => "cpu=old clock=exact",
                Clock::Exact => "cpu=times clock=exact",
                Clock::Sampled => "cpu=times clock=sampled",
            },
            profile.registry.threads_seen(),
            self.tables.traces.count(),
            self.tables.traces.cut(),
            crate::vm::panics(),
        )];
        remarks.extend(calls.remarks(jvmti, jni));
        self.output
            .write(|writer| remarks.iter().try_for_each(|line| writer.comment(line)));
    }

    pub(super) fn write_table(&mut self, table: &CpuTable<'_>, cutoff: f64) {
        let table = RankedCpuTable::new(table, cutoff);
        let Tables {
            methods, traces, ..
        } = &self.tables;
        self.output.write(|writer| {
            self.tables.write_traces(writer, table.traces())?;
            writer.cpu_table(&table, &LocalTime::now().ctime(), &|serial| {
                traces
                    .get(serial)
                    .1
                    .first()
                    .map(|&frame| methods.name(frame))
            })
        });
    }

    /// What the profile does not show in its tables, as comment lines.
    fn remarks(&mut self, profile: &Profile) -> Vec<String> {
        let samples = &self.tables.samples;
        let registry = &profile.registry;
        let interval = profile.settings.interval.as_millis();
        let mut lines = Vec::new();
        let version = env!("CARGO_PKG_VERSION");
        match profile.engine() {
            Engine::Signal(engine, installed) => {
                let cpu = cpu_time(profile, engine);
                let lost = engine.lost();
                lines.push(format!(
                    "hprof-rs {version}: engine=signal signal={} interval_ms={interval} \
                     samples={} stacks={} cpu_ms={} threads={}",
                    installed.signal(),
                    samples.total(),
                    samples.stacks(),
                    cpu.saturating_sub(self.last_cpu).as_millis(),
                    registry.threads_seen(),
                ));
                lines.push(format!(
                    "hprof-rs: lost_samples={} foreign_signals={} threads_without_timer={} \
                     handler_replaced={}",
                    lost - self.last_lost,
                    engine.foreign_signals(),
                    registry.without_timer(),
                    if installed.is_ours() { "n" } else { "y" },
                ));
                self.shown = (cpu, lost);
            }
            Engine::Safepoint => lines.push(format!(
                "hprof-rs {version}: engine=safepoint interval_ms={interval} samples={} \
                 stacks={} threads={}",
                samples.total(),
                samples.stacks(),
                registry.threads_seen(),
            )),
            Engine::None => {}
        }
        let failed: u64 = samples.failures().values().sum();
        let reasons: String = samples
            .failures()
            .iter()
            .map(|(reason, weight)| format!(" {}={weight}", reason.label()))
            .collect();
        lines.push(format!("hprof-rs: samples_without_stack={failed}{reasons}"));
        lines.push(self.general_remark(profile));
        lines
    }

    /// What concerns all modes.
    pub(super) fn general_remark(&self, profile: &Profile) -> String {
        format!(
            "hprof-rs: traces={} traces_cut={} unknown_methods={} lost_thread_records={} \
             internal_errors={}",
            self.tables.traces.count(),
            self.tables.traces.cut(),
            self.tables.resolver.unknown_methods(),
            profile.registry.lost_records(),
            crate::vm::panics(),
        )
    }
}

impl Tables {
    /// Rough bytes of methods and traces.
    pub(super) fn bytes(&self) -> usize {
        self.traces.bytes() + self.methods.bytes()
    }

    /// Writes those of the traces that the file lacks.
    pub(super) fn write_traces(
        &self,
        writer: &mut dyn ProfileWriter,
        serials: impl Iterator<Item = TraceSerial>,
    ) -> io::Result<()> {
        for serial in serials {
            if !writer.has_trace(serial) {
                let (thread, frames) = self.traces.get(serial);
                let frames: Vec<Frame<'_>> = frames
                    .iter()
                    .map(|&frame| self.methods.describe(frame))
                    .collect();
                writer.trace(&Trace {
                    serial,
                    thread,
                    frames: &frames,
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn add_signal_sample(&mut self, jvmti: Jvmti, jni: &Jni, sample: &Sample<'_>) {
        let thread = match sample.virtual_thread {
            0 => sample.thread,
            virtual_thread => virtual_thread,
        };
        let thread = self.per_thread.then(|| ThreadSerial::new(thread));
        let weight = u64::from(sample.weight);
        match sample.frames {
            Ok(frames) => {
                let trace = self.intern(jvmti, jni, thread, frames.iter().map(location));
                self.samples.add(trace, weight);
            }
            Err(code) => {
                let trace = self.traces.intern(&self.methods, thread, &[]);
                self.samples
                    .add_failure(trace, WalkFailure::from_code(code), weight);
            }
        }
    }

    fn add_safepoint_sample(&mut self, jvmti: Jvmti, jni: &Jni, sample: &SafepointSample) {
        let thread = self.per_thread.then(|| ThreadSerial::new(sample.thread));
        if sample.frames.is_empty() {
            let trace = self.traces.intern(&self.methods, thread, &[]);
            self.samples
                .add_failure(trace, WalkFailure::NoJavaFrame, sample.weight);
        } else {
            let trace = self.intern(jvmti, jni, thread, sample.frames.iter().copied());
            self.samples.add(trace, sample.weight);
        }
    }

    /// The frames of a stack.
    pub(super) fn resolve(
        &mut self,
        jvmti: Jvmti,
        jni: &Jni,
        stack: impl Iterator<Item = Location>,
    ) -> Vec<FrameId> {
        let Self {
            methods, resolver, ..
        } = self;
        stack
            .map(|location| resolver.frame(jvmti, jni, methods, location))
            .collect()
    }

    fn intern_path(&mut self, thread: Option<ThreadSerial>, path: Vec<PathMethod>) -> TraceSerial {
        let lines_wanted = self.resolver.lines_wanted();
        self.scratch.clear();
        for PathMethod { method, line } in path {
            let line = match line.filter(|&line| lines_wanted && line > 0) {
                Some(line) => Line::Number(u32::from(line)),
                None => Line::Unknown,
            };
            let method = self.methods.intern(method);
            self.scratch.push(self.methods.frame(method, line));
        }
        self.traces.intern(&self.methods, thread, &self.scratch)
    }

    pub(super) fn intern(
        &mut self,
        jvmti: Jvmti,
        jni: &Jni,
        thread: Option<ThreadSerial>,
        stack: impl Iterator<Item = Location>,
    ) -> TraceSerial {
        let Self {
            methods,
            resolver,
            traces,
            scratch,
            ..
        } = self;
        scratch.clear();
        scratch.extend(stack.map(|location| resolver.frame(jvmti, jni, methods, location)));
        intern_stack(methods, traces, thread, scratch)
    }
}

/// CPU time of all threads that are or were sampled.
fn cpu_time(profile: &Profile, engine: &SignalEngine) -> Duration {
    let registry = &profile.registry;
    let live: Duration = registry
        .live()
        .iter()
        .filter_map(|thread| thread.slot)
        .map(|slot| engine.cpu_time(slot))
        .sum();
    live + registry.ended_cpu()
}

/// A method as the table of cpu=old has it.
fn signed(method: &PathMethod) -> SignedMethod<'_> {
    let Method {
        class_name,
        name,
        descriptor,
        ..
    } = &method.method;
    SignedMethod {
        class_name,
        method: name,
        signature: descriptor,
    }
}

/// One row for each trace: paths that were cut have the same.
fn merged(mut rows: Vec<CpuRow>) -> Vec<CpuRow> {
    rows.sort_by_key(|row| row.trace);
    rows.dedup_by(|row, kept| {
        let same = row.trace == kept.trace;
        if same {
            kept.cost += row.cost;
            kept.count += row.count;
        }
        same
    });
    rows
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

//! The profile thread: it alone owns the tables and the output, takes messages
//! and samples, and writes the dumps.

use std::io;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{
    CpuKind, CpuTable, Frame, Header, Settings, SiteOrder, SiteRow, SiteTable, ThreadStart, Trace,
};
use hprof_format::rank::{RankedCpuTable, RankedSiteTable};
use hprof_format::writer::ProfileWriter;

use super::messages::Message;
use super::numbers::ProfileNumbers;
use super::output::Output;
use super::{Engine, Profile};
use crate::clock::LocalTime;
use crate::cpu_samples::safepoint::{SafepointSample, SafepointSampler};
use crate::cpu_samples::signal::{AsgctFrame, NATIVE_LOCATION, Sample, WalkFailure};
use crate::cpu_samples::{Samples, intern_stack};
use crate::heap_dump::{self, Content, Failure, Request, Summary};
use crate::heap_sites::{HeapSites, SiteFigures, SitesProfile};
use crate::names::{FrameId, Location, MethodTable, Resolver, TraceTable};
use crate::options::Format;
use crate::options::Settings as RunSettings;
use crate::report;
use crate::vm::{Jni, Jvmti, StackFrame, ThreadInfo, VmDumper, VmLibrary};

/// What the profile thread owns.
pub(super) struct Collector {
    receiver: Receiver<Message>,
    output: Output,
    tables: Tables,
    sites: Option<SitesProfile>,
    started: LocalTime,
    last_cpu: Duration,
    last_lost: u64,
}

pub(super) struct Tables {
    methods: MethodTable,
    resolver: Resolver,
    pub(super) traces: TraceTable,
    /// The serial of the profile thread, when a heap dump has shown it.
    pub(super) own_thread: Option<ThreadSerial>,
    samples: Samples,
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

impl Collector {
    pub(super) fn new(
        receiver: Receiver<Message>,
        output: Output,
        settings: &RunSettings,
        heap_sites: Option<&'static HeapSites>,
    ) -> Self {
        let table_memory = match heap_sites {
            Some(_) => HEAP_TABLE_MEMORY,
            None => TABLE_MEMORY,
        };
        Self {
            receiver,
            output,
            tables: Tables {
                methods: MethodTable::default(),
                resolver: Resolver::new(settings.lineno),
                traces: TraceTable::new(table_memory),
                own_thread: None,
                samples: Samples::default(),
                per_thread: settings.thread,
                scratch: Vec::new(),
            },
            sites: heap_sites.map(SitesProfile::new),
            started: LocalTime::now(),
            last_cpu: Duration::ZERO,
            last_lost: 0,
        }
    }

    /// Forgets the profile: the VM ended before it was up.
    pub(super) fn discard(self) {
        self.output.discard();
    }

    /// The life of the profile thread.
    pub(super) fn run(mut self, profile: &'static Profile, jvmti: Jvmti, jni: &Jni) {
        self.begin(profile);
        if let Some(sites) = profile.heap_sites {
            sites.ignore_current_thread();
        }
        let mut safepoint = match profile.engine {
            Engine::Safepoint => Some(SafepointSampler::new(
                profile.settings.interval,
                profile.settings.depth,
            )),
            Engine::Signal(..) | Engine::None => None,
        };
        let mut drained = Instant::now();
        let mut pause = DRAIN_EVERY;
        loop {
            let wait = safepoint
                .as_ref()
                .map_or(pause, |sampler| sampler.wait().min(pause));
            match self.receiver.recv_timeout(wait) {
                Ok(Message::ThreadStart { serial, info }) => self.thread_start(serial, &info),
                Ok(Message::ThreadEnd { serial }) => {
                    self.output.write(|writer| writer.thread_end(serial));
                }
                Ok(Message::Dump { done }) => {
                    self.drain(profile, jvmti, jni);
                    self.dump(profile, jvmti, jni);
                    let _ = done.send(());
                }
                Ok(Message::Finish { done }) => {
                    self.drain(profile, jvmti, jni);
                    if profile.settings.doe {
                        self.dump(profile, jvmti, jni);
                    } else {
                        self.output.commit();
                    }
                    let _ = done.send(());
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Some(sampler) = safepoint.as_mut().filter(|sampler| sampler.is_due()) {
                self.safepoint_round(profile, jvmti, jni, sampler);
            }
            if drained.elapsed() >= pause {
                let unknown = self.tables.resolver.unknown_methods();
                let busy = self.drain(profile, jvmti, jni) > 0;
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

    fn begin(&mut self, profile: &Profile) {
        let created_ctime = self.started.ctime();
        let header = Header {
            created_millis: self.started.unix_millis(),
            created_ctime: &created_ctime,
            settings: Settings {
                allocation_traces: profile.settings.modes.tracks_objects(),
                cpu_sampling: profile.settings.modes.cpu_samples,
                depth: profile.settings.depth,
            },
        };
        self.output.write(|writer| writer.begin(&header));
    }

    fn thread_start(&mut self, serial: ThreadSerial, info: &ThreadInfo) {
        let number = u64::from(serial.get() - ThreadSerial::BASE);
        let record = ThreadStart {
            // Objects of a VM lie at multiples of eight: no heap dump has this id.
            object: ObjectId::new(ObjectId::BASE + 8 * number),
            serial,
            name: &info.name,
            group: &info.group,
            parent_group: &info.parent_group,
            trace: TraceSerial::SYSTEM,
        };
        self.output.write(|writer| writer.thread_start(&record));
    }

    /// Takes the samples out of the signal engine's ring.
    fn drain(&mut self, profile: &Profile, jvmti: Jvmti, jni: &Jni) -> usize {
        let Engine::Signal(engine, _) = profile.engine else {
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
        let samples = sampler.round(jvmti, jni, |thread| {
            if own.iter().any(|&own| jni.is_same(thread, own)) {
                return None;
            }
            // A thread that has no serial yet is about to get it, on itself.
            u32::try_from(jvmti.thread_local(thread).ok()?)
                .ok()
                .filter(|&serial| serial != 0)
        });
        for sample in samples.unwrap_or_default() {
            self.tables.add_safepoint_sample(jvmti, jni, &sample);
        }
    }

    /// Writes a dump, and forgets the counts that it holds.
    fn dump(&mut self, profile: &Profile, jvmti: Jvmti, jni: &Jni) {
        let verbose = profile.settings.verbose;
        if verbose {
            report::raw("Dumping");
        }
        let mut summary = None;
        if profile.settings.modes.heap_dump {
            if verbose {
                report::raw(" Java heap ...");
            }
            summary = self.dump_heap(profile, jvmti, jni);
        }
        if profile.settings.modes.heap_sites {
            if verbose {
                report::raw(" allocation sites ...");
            }
            self.dump_sites(profile, jvmti, jni);
        }
        if profile.settings.modes.cpu_samples {
            if verbose {
                report::raw(" CPU usage by sampling running threads ...");
            }
            self.dump_samples(profile);
        }
        if self.output.commit() && verbose {
            report::raw(" done.\n");
            if let Some(summary) = summary {
                report::note(&summary.to_string());
            }
        }
    }

    /// Writes all objects. A failure is reported, and the profile goes on without.
    fn dump_heap(&mut self, profile: &Profile, jvmti: Jvmti, jni: &Jni) -> Option<Summary> {
        let settings = &profile.settings;
        let content = Content {
            text: settings.format == Format::Text,
            fields: settings.primfields,
            arrays: settings.primarrays,
            lines: settings.lineno,
        };
        let scratch = self.output.scratch_path();
        let ctime = LocalTime::now().ctime();
        let request = Request {
            dumper: VmDumper::of(VmLibrary::of(jvmti)),
            jvmti,
            jni,
            output: &scratch,
            content,
            may_collect: profile.may_collect(),
            ctime: &ctime,
        };
        let mut numbers = ProfileNumbers::new(profile, jni, &mut self.tables);
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
        result
    }

    fn dump_samples(&mut self, profile: &Profile) {
        let rows = self.tables.samples.rows();
        let table = CpuTable {
            kind: CpuKind::Samples,
            total: self.tables.samples.total(),
            rows: &rows,
        };
        let table = RankedCpuTable::new(&table, profile.settings.cutoff);
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
        let remarks = self.remarks(profile);
        self.output
            .write(|writer| remarks.iter().try_for_each(|line| writer.comment(line)));
        self.tables.samples.clear();
    }

    /// Lets heap=sites do what is due. True when there is more to do at once.
    fn tick_sites(&mut self, jvmti: Jvmti, jni: &Jni) -> bool {
        let tables = &mut self.tables;
        self.sites.as_mut().is_some_and(|sites| {
            sites.tick(jni, &mut |thread, stack| {
                tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
            })
        })
    }

    fn dump_sites(&mut self, profile: &Profile, jvmti: Jvmti, jni: &Jni) {
        let Some(sites) = &mut self.sites else {
            return;
        };
        let tables = &mut self.tables;
        let may_collect = profile.may_collect();
        let SiteFigures {
            rows,
            totals,
            header,
            remarks,
            is_after_gc,
        } = sites.collect(jni, may_collect, &mut |thread, stack| {
            tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
        });
        let rows: Vec<SiteRow<'_>> = rows
            .iter()
            .map(|row| SiteRow {
                class_name: &row.class_name,
                class_id: tables.methods.class_object(&row.class_name),
                element: row.element,
                trace: row.trace,
                live_bytes: row.figures.live_bytes,
                live_objects: row.figures.live_objects,
                allocated_bytes: row.figures.allocated_bytes,
                allocated_objects: row.figures.allocated_objects,
            })
            .collect();
        let table = SiteTable {
            order: SiteOrder::LiveBytes,
            is_incremental: false,
            is_after_gc,
            totals,
            rows: &rows,
        };
        let table = RankedSiteTable::new(&table, profile.settings.cutoff);
        self.output.write(|writer| {
            header.iter().try_for_each(|line| writer.comment(line))?;
            let traces = table.rows().iter().map(|ranked| ranked.row.trace);
            self.tables.write_traces(writer, traces)?;
            writer.site_table(&table, &LocalTime::now().ctime())?;
            remarks.iter().try_for_each(|line| writer.comment(line))
        });
    }

    /// What the profile does not show in its tables, as comment lines.
    fn remarks(&mut self, profile: &Profile) -> Vec<String> {
        let samples = &self.tables.samples;
        let registry = &profile.registry;
        let interval = profile.settings.interval.as_millis();
        let mut lines = Vec::new();
        let version = env!("CARGO_PKG_VERSION");
        match profile.engine {
            Engine::Signal(engine, installed) => {
                let live: Duration = registry
                    .live()
                    .iter()
                    .filter_map(|thread| thread.slot)
                    .map(|slot| engine.cpu_time(slot))
                    .sum();
                let cpu = live + registry.ended_cpu();
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
                self.last_cpu = cpu;
                self.last_lost = lost;
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
        lines.push(format!(
            "hprof-rs: traces={} traces_cut={} unknown_methods={} lost_thread_records={} \
             internal_errors={}",
            self.tables.traces.count(),
            self.tables.traces.cut(),
            self.tables.resolver.unknown_methods(),
            registry.lost_records(),
            crate::vm::panics(),
        ));
        lines
    }
}

impl Tables {
    /// Writes those of the traces that the file lacks.
    fn write_traces(
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

    fn add_signal_sample(&mut self, jvmti: Jvmti, jni: &Jni, sample: &Sample<'_>) {
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

    fn intern(
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

fn stack_location(frame: &StackFrame) -> Location {
    Location {
        method: frame.method,
        bytecode: u32::try_from(frame.location).ok(),
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

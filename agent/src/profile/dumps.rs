//! What the profile thread writes: tables, heap dumps, remarks.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hprof_format::model::{CpuKind, CpuRow, CpuTable, OldCpuRow, SignedMethod};
use hprof_format::rank::{Cutoff, RankedCpuTable};
use hprof_wire::control::Mode;

use super::collector::Collector;
use super::left_out;
use super::numbers::ProfileNumbers;
use super::output::DumpEnd;
use super::requests::Parts;
use super::sites::SiteRequest;
use super::tables::Tables;
use super::{Engine, Profile};
use crate::call_times::{CallTimes, PathCost, PathCosts, PathMethod};
use crate::cpu_samples::signal::{SignalEngine, is_in_place};
use crate::heap_dump::{self, Content, Failure, Garbage, Request, Summary};
use crate::names::{HiddenNames, Method};
use crate::options::{Clock, Format};
use crate::os::clock::LocalTime;
use crate::report;
use crate::vm::{Jni, Jvmti, VmDumper, VmLibrary, VmStructs};

/// The parts of a dump that were written.
#[derive(Default)]
struct Written {
    /// The heap dump, if it was asked for.
    heap: Option<Result<Summary, Lack>>,
    /// Any other part was asked for.
    others: bool,
}

impl Written {
    /// Whether there is more than a heap dump that failed.
    fn has_content(&self) -> bool {
        self.others || !matches!(self.heap, Some(Err(_)))
    }
}

/// Why a profile is without its heap dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// Nothing of it was written.
    NoDump,
    /// Its end is missing.
    CutOff,
    /// The output failed.
    Output,
}

impl Collector {
    /// Writes a dump, and forgets the counts that it holds.
    pub(super) fn dump(
        &mut self,
        profile: &'static Profile,
        parts: Parts<'_>,
        jvmti: &Jvmti,
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
        let is_whole = loop {
            if verbose {
                report::raw("Dumping");
            }
            self.output.begin_dump();
            let written = self.write_dump(profile, parts, calls.as_ref(), jvmti, jni);
            let run = format!(
                "hprof-rs: run_ms={} depth={}",
                self.output.age().as_millis(),
                profile.settings.depth
            );
            self.output.write(|writer| writer.comment(&run));
            match self.output.end_dump(written.has_content()) {
                DumpEnd::Written => {
                    self.dumps += 1;
                    match written.heap {
                        Some(Err(lack)) => self.tell_lack(lack),
                        _ if !verbose => {}
                        heap => {
                            report::raw(" done.\n");
                            if let Some(Ok(summary)) = heap {
                                report::note(&summary.to_string());
                            }
                        }
                    }
                    break !matches!(written.heap, Some(Err(_)));
                }
                // The front-end is lost, and a file is there instead.
                DumpEnd::Again => {}
                DumpEnd::Failed => {
                    if let Some(Err(lack)) = written.heap {
                        self.tell_lack(lack);
                    }
                    return false;
                }
            }
        };
        if let Some(waits) = &mut self.waits
            && parts.has(Mode::Monitor, true)
        {
            waits.clear();
        }
        if cpu {
            self.tables.samples.clear();
            (self.last_cpu, self.last_lost) = self.shown;
        }
        is_whole
    }

    /// Tells where the profile is that lacks a heap dump.
    fn tell_lack(&self, lack: Lack) {
        let place = self.output.present_place();
        match lack {
            Lack::NoDump => report::note(&format!("the profile in {place} has no heap dump")),
            Lack::CutOff => report::note(&format!(
                "the profile in {place} has a heap dump that is cut off"
            )),
            // The output has said so.
            Lack::Output => {}
        }
    }

    fn write_dump(
        &mut self,
        profile: &'static Profile,
        parts: Parts<'_>,
        calls: Option<&(&CallTimes, PathCosts)>,
        jvmti: &Jvmti,
        jni: &Jni,
    ) -> Written {
        let verbose = profile.settings.verbose;
        if parts.has(Mode::Monitor, profile.monitors.is_some()) {
            if verbose {
                report::raw(" contended monitor usage ...");
            }
            self.dump_waits(profile, jvmti, jni);
        }
        let mut written = Written {
            others: parts.has(Mode::Monitor, profile.monitors.is_some()),
            ..Written::default()
        };
        let modes = profile.settings.modes;
        let is_done = self.ending && profile.heap_was_dumped.load(Ordering::Acquire);
        if parts.has(Mode::Heap, modes.heap_dump && !is_done) {
            if verbose {
                report::raw(" Java heap ...");
            }
            profile.dumping_heap.store(true, Ordering::Release);
            written.heap = Some(self.dump_heap(profile, jvmti, jni));
            profile.dumping_heap.store(false, Ordering::Release);
        }
        if parts.has(Mode::Sites, modes.heap_sites) {
            if verbose {
                report::raw(" allocation sites ...");
            }
            let request = SiteRequest::of_dump(profile);
            self.dump_sites(profile, jvmti, jni, request);
            written.others = true;
        }
        let samples = modes.cpu_samples || !matches!(profile.engine(), Engine::None);
        if parts.has(Mode::Cpu, samples) {
            if verbose {
                report::raw(" CPU usage by sampling running threads ...");
            }
            self.dump_samples(profile);
            written.others = true;
        }
        if let Some((calls, costs)) = calls {
            written.others = true;
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
        if let Some(remark) = HiddenNames::remark() {
            self.output.write(|writer| writer.comment(remark));
        }
        written
    }

    /// Writes all objects. A failure is reported, and the profile goes on without.
    pub(super) fn dump_heap(
        &mut self,
        profile: &Profile,
        jvmti: &Jvmti,
        jni: &Jni,
    ) -> Result<Summary, Lack> {
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
        let mut result = Err(Lack::Output);
        self.output.write(|writer| {
            let remark = match heap_dump::dump(&request, writer, &mut numbers) {
                Ok(summary) => {
                    result = Ok(summary);
                    summary.to_string()
                }
                Err(Failure::Output(error)) => return Err(error),
                Err(failure) => {
                    result = Err(match failure {
                        Failure::CutOff(_) => Lack::CutOff,
                        _ => Lack::NoDump,
                    });
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
        self.write_table(&RankedCpuTable::new(&table, profile.settings.cutoff));
        let remarks = self.remarks(profile);
        self.output
            .write(|writer| remarks.iter().try_for_each(|line| writer.comment(line)));
    }

    fn dump_times(&mut self, profile: &'static Profile, calls: &CallTimes, costs: &PathCosts) {
        let total = costs.nanos();
        let cutoff = profile.settings.cutoff;
        let counts = |cost: &PathCost| cost.nanos > 0 || cost.calls > 0;
        let mut costs: Vec<PathCost> = costs.rows().filter(counts).collect();
        costs.sort_by_key(|cost| (Reverse(cost.nanos), Reverse(cost.calls), cost.thread));
        // What the table will not show needs no trace.
        let kept = cutoff.kept(costs.iter().map(|cost| cost.nanos), total);
        let left_out = costs.len() - kept;
        costs.truncate(kept);
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
        // Those that are too small are gone.
        let table = RankedCpuTable::new(&table, Cutoff::below(0.0)).without(left_out);
        self.write_table(&table);
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

    fn dump_call_remarks(
        &mut self,
        profile: &Profile,
        calls: &CallTimes,
        jvmti: &Jvmti,
        jni: &Jni,
    ) {
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

    pub(super) fn write_table(&mut self, table: &RankedCpuTable) {
        let Tables {
            methods, traces, ..
        } = &self.tables;
        self.output.write(|writer| {
            self.tables.write_traces(writer, table.traces())?;
            writer.cpu_table(table, &LocalTime::now().ctime(), &|serial| {
                traces
                    .get(serial)
                    .1
                    .first()
                    .map(|&frame| methods.name(frame))
            })?;
            writer.comment(&left_out::of_cpu(table))
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
                    if is_in_place(installed) { "n" } else { "y" },
                ));
                if let Some(text) = self.watch.look_now(engine, installed) {
                    report::note(text);
                }
                let found = self.watch.found();
                lines.extend(found.map(|text| format!("hprof-rs: {text}")));
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

/// CPU time of all threads that are or were sampled.
pub(super) fn cpu_time(profile: &Profile, engine: &SignalEngine) -> Duration {
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

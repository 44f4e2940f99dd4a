//! The recorder of cpu=times and cpu=old.

use std::cmp::Reverse;
use std::time::Duration;

use hprof_format::ids::ThreadSerial;
use hprof_format::model::{CpuKind, CpuRow, CpuTable, OldCpuRow, SignedMethod};
use hprof_format::rank::{Cutoff, RankedCpuTable};
use hprof_wire::control::Mode;

use super::counter::{CallTimes, PathCost, PathCosts, PathMethod};
use super::java_side::taken_by_another;
use crate::names::Method;
use crate::options::Clock;
use crate::recording::{Activity, Context, Incomplete, Nothing, Recorder, Run};
use crate::report;
use crate::vm::{self, StillInside};

/// Writes what [`CallTimes`] has counted.
pub struct TimesRecorder {
    calls: &'static CallTimes,
    /// The table of the old `prof` is wanted.
    is_old: bool,
    /// The costs of the dump under way.
    taken: Option<PathCosts>,
    /// Why nothing is counted, where the start has failed.
    failed: Option<String>,
    /// A request has stopped the mode once.
    was_stopped: bool,
    /// There was a call.
    has_counted: bool,
    /// Standard error has a line about classes that are left out.
    has_reported: bool,
}

impl TimesRecorder {
    /// A recorder of `calls`. `is_old` tells that the table of cpu=old is wanted.
    pub fn new(calls: &'static CallTimes, is_old: bool) -> Self {
        Self {
            calls,
            is_old,
            taken: None,
            failed: None,
            was_stopped: false,
            has_counted: false,
            has_reported: false,
        }
    }

    /// All that was counted since the last time.
    fn take(&mut self, run: &Run, is_last: bool) -> PathCosts {
        let wanted = !self.is_old;
        let serial_of = |tid| calls_serial(run, tid).filter(|_| wanted);
        let costs = self.calls.take(is_last, &serial_of);
        self.has_counted = self.has_counted || costs.rows().any(|cost| cost.calls > 0);
        costs
    }

    fn option(&self) -> &'static str {
        match self.is_old {
            true => "cpu=old",
            false => "cpu=times",
        }
    }

    /// Says on standard error which calls the profile lacks.
    fn report_left_out(&mut self) {
        let refused = self.calls.refused();
        let refused = (refused > 0).then(|| {
            format!(
                "{refused} classes, which the VM refuses with the agent's hooks; cpu=samples needs no hooks"
            )
        });
        for what in [refused, self.calls.why_unknown()].into_iter().flatten() {
            self.has_reported = true;
            report::note(&format!("{} lacks the calls of {what}", self.option()));
        }
    }

    fn dump_times(&self, cx: &mut Context<'_>, costs: &PathCosts) {
        let total = costs.nanos();
        let cutoff = cx.run.settings.cutoff;
        let counts = |cost: &PathCost| cost.nanos > 0 || cost.calls > 0;
        let mut costs: Vec<PathCost> = costs.rows().filter(counts).collect();
        costs.sort_by_key(|cost| (Reverse(cost.nanos), Reverse(cost.calls), cost.thread));
        // What the table will not show needs no trace.
        let kept = cutoff.kept(costs.iter().map(|cost| cost.nanos), total);
        let left_out = costs.len() - kept;
        costs.truncate(kept);
        let rows: Vec<CpuRow> = costs
            .iter()
            .map(|cost| {
                let path = self.calls.path(cost).into_iter();
                let path = path.map(|PathMethod { method, line }| (method, line));
                CpuRow {
                    cost: cost.nanos,
                    count: cost.calls,
                    trace: cx.names.intern_path(cost.thread, path),
                }
            })
            .collect();
        let table = CpuTable {
            kind: CpuKind::Times,
            total,
            rows: &merged(rows),
        };
        // Those that are too small are gone.
        let table = RankedCpuTable::new(&table, Cutoff::below(0.0)).without(left_out);
        cx.write_cpu_table(table);
    }

    /// Pairs of callee and caller.
    fn dump_old_times(&self, cx: &mut Context<'_>, costs: &PathCosts) {
        let costs: Vec<PathCost> = costs.rows().collect();
        let paths: Vec<Vec<PathMethod>> = costs.iter().map(|cost| self.calls.path(cost)).collect();
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
        cx.output.write(|writer| writer.old_cpu_table(&rows));
    }

    fn remarks(&self, cx: &Context<'_>) -> Vec<String> {
        let mut remarks = vec![format!(
            "hprof-rs {}: {} threads={} traces={} traces_cut={} internal_errors={}",
            env!("CARGO_PKG_VERSION"),
            match cx.run.settings.clock {
                _ if self.is_old => "cpu=old clock=exact",
                Clock::Exact => "cpu=times clock=exact",
                Clock::Sampled => "cpu=times clock=sampled",
            },
            cx.run.threads.threads_seen(),
            cx.names.traces.count(),
            cx.names.traces.cut(),
            vm::panics(),
        )];
        remarks.extend(self.calls.remarks(cx.vm.jvmti, cx.vm.jni));
        remarks
    }
}

impl Recorder for TimesRecorder {
    fn mode(&self) -> Mode {
        Mode::Cpu
    }

    fn is_on(&self) -> bool {
        true
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let started = self.calls.start(cx.run, cx.vm.jni);
        if let Err(error) = started {
            let reason = taken_by_another(cx.vm.jni)
                .unwrap_or_else(|| "this VM does not take the agent's Java class".to_owned());
            let line =
                format!("{reason}: calls are not counted ({error}); cpu=samples needs no hooks");
            report::error(&line);
            self.failed = Some(line);
        }
    }

    fn tick(&mut self, _cx: &mut Context<'_>) -> Activity {
        Activity::Idle
    }

    fn nothing(&self, _cx: &Context<'_>) -> Option<Nothing> {
        if self.has_counted || self.was_stopped {
            return None;
        }
        if let Some(line) = &self.failed {
            return Some(Nothing::reported(format!(
                "{} has counted no call: {line}",
                self.option()
            )));
        }
        let why = self.calls.why_nothing();
        Some(Nothing::because(format!(
            "{} has counted no call: {why}",
            self.option()
        )))
    }

    fn dump(&mut self, cx: &mut Context<'_>, is_last: bool) -> Result<(), Incomplete> {
        let costs = match self.taken.take() {
            // The output that has got them is lost.
            Some(costs) => costs,
            None => self.take(cx.run, is_last),
        };
        if self.is_old {
            cx.announce(" CPU usage in old prof format ...");
            self.dump_old_times(cx, &costs);
        } else {
            cx.announce(" CPU usage by timing methods ...");
            self.dump_times(cx, &costs);
        }
        let remarks = self.remarks(cx);
        cx.comment(&remarks);
        if is_last && self.has_counted && !self.has_reported {
            self.report_left_out();
        }
        self.taken = Some(costs);
        Ok(())
    }

    fn end_dump(&mut self, _cx: &mut Context<'_>, _is_written: bool) {
        self.taken = None;
    }

    fn reset(&mut self, cx: &mut Context<'_>) {
        drop(self.take(cx.run, false));
    }

    fn stop(&mut self, cx: &mut Context<'_>) -> Result<(), String> {
        self.was_stopped = true;
        self.calls.pause(cx.vm.jvmti, cx.vm.jni);
        Ok(())
    }

    fn resume(&mut self, cx: &mut Context<'_>) -> Result<(), String> {
        self.calls.resume(cx.vm.jvmti, cx.vm.jni);
        Ok(())
    }

    fn detach(&mut self, cx: &mut Context<'_>, _limit: Duration) -> Result<(), StillInside> {
        self.calls.detach(cx.vm.jvmti, cx.vm.jni);
        Ok(())
    }

    fn is_recording(&self) -> bool {
        self.calls.is_counting()
    }
}

/// The serial under which the calls of a thread are counted (`thread=y`).
pub fn calls_serial(run: &Run, tid: i32) -> Option<ThreadSerial> {
    let wanted = run.settings.thread;
    let thread = wanted.then(|| run.threads.get(tid)).flatten();
    thread.map(|thread| thread.serial)
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

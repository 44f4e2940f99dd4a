//! The monitor part of a dump: MONITOR DUMP, the table of contention, remarks.

use std::collections::HashMap;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{
    MethodName, Monitor, MonitorDump, MonitorRow, MonitorTable, MonitorThread, ThreadState,
    ThreadStatus,
};
use hprof_format::rank::{Cutoff, RankedMonitorTable};
use hprof_native_headers as raw;

use super::deadlock::{Edge, cycles};
use super::kinds::inner_frames;
use super::usage::{LockUsage, Usage, UsedBy};
use crate::names::{Location, Names, class_signature};
use crate::os::clock::LocalTime;
use crate::recording::{Context, left_out};
use crate::vm::{self, Vm};

/// Writes who has and wants which lock, after the traces of `waits`.
pub(super) fn write_usage(
    cx: &mut Context<'_>,
    usage: &Usage,
    waits: &WaitRanks<'_>,
    depth: usize,
) {
    let per_thread = cx.run.settings.thread;
    let vm = cx.vm;
    let names = &mut *cx.names;
    let threads: Vec<MonitorThread> = usage
        .threads
        .iter()
        .map(|thread| MonitorThread {
            serial: thread.serial,
            trace: trace_of(thread, per_thread, vm, names, depth),
            status: status(thread.state),
        })
        .collect();
    let signatures: Vec<String> = usage
        .locks
        .iter()
        .map(|lock| class_signature(&lock.class))
        .collect();
    let locks: Vec<Monitor<'_>> = usage
        .locks
        .iter()
        .zip(&signatures)
        .map(|(lock, signature)| Monitor {
            signature,
            owner: lock.owner,
            entering: &lock.entering,
            waiting: &lock.waiting,
        })
        .collect();
    let dump = MonitorDump {
        threads: &threads,
        monitors: &locks,
    };
    let mut remarks = deadlocks(usage);
    if usage.left_out > 0 {
        remarks.push(format!("hprof-rs: locks_left_out={}", usage.left_out));
    }
    if usage.waits_left_out > 0 {
        remarks.push(format!("hprof-rs: waits_left_out={}", usage.waits_left_out));
    }
    if usage.blocked_before > 0 {
        remarks.push(format!(
            "hprof-rs: threads_blocked_before_start={} (the VM does not report their monitors to an attached agent; \
             `hprof-rs stacks` shows them)",
            usage.blocked_before
        ));
    }
    cx.output.write(|writer| {
        let traces = threads.iter().map(|thread| thread.trace);
        names.write_traces(writer, traces.chain(waits.traces()))?;
        writer.monitor_dump(&dump)
    });
    cx.comment(&remarks);
}

/// Writes the time lost to locks, and the time of other waits. The traces stand before
/// MONITOR DUMP.
pub(super) fn write_waits(cx: &mut Context<'_>, tables: &WaitRanks<'_>, remark: String) {
    let contention = &tables.contention;
    let mut remarks = vec![left_out::of_waits("monitor_time", contention), remark];
    for (title, table) in &tables.others {
        remarks.extend(wait_lines(title, table));
    }
    let ctime = LocalTime::now().ctime();
    cx.output.write(|writer| {
        if !contention.rows().is_empty() {
            writer.monitor_table(contention, &ctime)?;
        }
        Ok(())
    });
    cx.comment(&remarks);
}

/// Where a thread is, but for the frames of what it is parked in.
fn trace_of(
    thread: &UsedBy,
    per_thread: bool,
    vm: Vm<'_>,
    names: &mut Names,
    depth: usize,
) -> TraceSerial {
    let frames = names.resolve(vm, thread.frames.iter().map(Location::from));
    let methods: Vec<MethodName<'_>> = frames
        .iter()
        .map(|&frame| names.methods.name(frame))
        .collect();
    let shown = frames.get(inner_frames(&methods)..).unwrap_or_default();
    let shown = shown.get(..depth).unwrap_or(shown);
    let thread = per_thread.then_some(thread.serial);
    names.intern_frames(thread, shown)
}

/// The tables of a dump.
pub(super) struct WaitRanks<'a> {
    pub(super) contention: RankedMonitorTable<'a>,
    pub(super) others: [(&'static str, RankedMonitorTable<'a>); 2],
}

impl WaitRanks<'_> {
    fn traces(&self) -> impl Iterator<Item = TraceSerial> + '_ {
        let others = self.others.iter().flat_map(|(_, table)| table.rows());
        others
            .chain(self.contention.rows())
            .map(|row| row.row.trace)
    }
}

pub(super) fn ranked<'a>(rows: &'a [MonitorRow<'a>], cutoff: Cutoff) -> RankedMonitorTable<'a> {
    let total_nanos = rows.iter().map(|row| row.nanos).sum();
    RankedMonitorTable::new(&MonitorTable { total_nanos, rows }, cutoff)
}

/// The time that was no contention, as remarks: the format has no place for it.
fn wait_lines(title: &str, table: &RankedMonitorTable<'_>) -> Vec<String> {
    if table.rows().is_empty() {
        return Vec::new();
    }
    let millis = |nanos: u64| nanos as f64 / 1e6;
    let mut lines = vec![format!(
        "hprof-rs: not contention: {title} (total = {:.0} ms)",
        millis(table.total_nanos())
    )];
    lines.push("rank   self  accum   count trace monitor".to_owned());
    for ranked in table.rows() {
        lines.push(format!(
            "{:4} {:5.2}% {:5.2}% {:7} {:5} {}",
            ranked.rank,
            ranked.self_percent,
            ranked.accum_percent,
            ranked.row.count,
            ranked.row.trace.get(),
            ranked.row.class_name,
        ));
    }
    lines.push(left_out::of_waits(title, table));
    lines
}

/// Threads that wait for each other for ever, as remarks.
fn deadlocks(usage: &Usage) -> Vec<String> {
    let mut waiting = HashMap::new();
    for (place, lock) in usage.locks.iter().enumerate() {
        if let Some((owner, _)) = lock.owner {
            let edge = Edge { lock: place, owner };
            waiting.extend(lock.entering.iter().map(|&thread| (thread, edge)));
        }
    }
    let names: HashMap<ThreadSerial, &UsedBy> = usage
        .threads
        .iter()
        .map(|thread| (thread.serial, thread))
        .collect();
    let name = |serial: ThreadSerial| {
        let name = names.get(&serial).map_or("", |thread| &thread.name);
        format!("thread {serial} \"{name}\"")
    };
    let mut lines = Vec::new();
    for cycle in cycles(&waiting) {
        lines.push(format!("DEADLOCK of {} threads:", cycle.len()));
        for (thread, edge) in cycle {
            let lock = usage.locks.get(edge.lock).map(identity).unwrap_or_default();
            lines.push(format!(
                "  {} waits to enter {lock}, owned by {}",
                name(thread),
                name(edge.owner)
            ));
        }
    }
    lines
}

/// A lock as `Object.toString` has it.
fn identity(lock: &LockUsage) -> String {
    format!("{}@{:x}", lock.class, lock.hash)
}

fn status(state: vm::ThreadState) -> ThreadStatus {
    let is = |bits: u32| state.has(bits);
    ThreadStatus {
        is_suspended: is(raw::JVMTI_THREAD_STATE_SUSPENDED),
        is_interrupted: is(raw::JVMTI_THREAD_STATE_INTERRUPTED),
        is_native: is(raw::JVMTI_THREAD_STATE_IN_NATIVE),
        state: if is(raw::JVMTI_THREAD_STATE_TERMINATED) {
            ThreadState::Terminated
        } else if !is(raw::JVMTI_THREAD_STATE_ALIVE) {
            ThreadState::NotStarted
        } else if is(raw::JVMTI_THREAD_STATE_SLEEPING) {
            ThreadState::Sleeping
        } else if is(raw::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) {
            ThreadState::BlockedOnMonitor
        } else if is(raw::JVMTI_THREAD_STATE_WAITING) {
            ThreadState::Waiting
        } else if is(raw::JVMTI_THREAD_STATE_RUNNABLE) {
            ThreadState::Runnable
        } else {
            ThreadState::Unknown
        },
    }
}

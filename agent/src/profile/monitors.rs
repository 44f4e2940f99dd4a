//! The profile thread's work for monitor=y.

use std::collections::HashMap;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{
    LockKind, MethodName, Monitor, MonitorDump, MonitorRow, MonitorTable, MonitorThread,
    ThreadState, ThreadStatus,
};
use hprof_format::rank::{Cutoff, RankedMonitorTable};
use hprof_native_headers as raw;

use super::Profile;
use super::collector::Collector;
use super::left_out;
use super::messages::Message;
use super::sites::stack_location;
use super::tables::Tables;
use super::virtual_threads::NAMED;
use crate::cpu_samples::intern_stack;
use crate::monitors::{
    Classified, Edge, Host, INNER_FRAMES, Kind, LockUsage, LogLine, Monitors, Row, Source, Usage,
    UsedBy, classify, cycles, inner_frames, public_class,
};
use crate::os::clock::LocalTime;
use crate::vm::{self, Jni, Jvmti, Ref};

/// What the mode asks of the profile.
pub(super) const HOST: Host = Host { serial, log };

/// The serial of a thread. A virtual thread gets one, and its THREAD START record,
/// when it is first asked for.
fn serial(jni: &Jni, thread: Ref<'_>) -> u32 {
    let Some(profile) = Profile::get() else {
        return 0;
    };
    let Ok(word) = profile.jvmti.thread_local(Some(thread)) else {
        return 0;
    };
    // `virtual_threads` gives serials too, and names the threads later.
    let known = word as u32;
    if word & NAMED != 0 {
        return known;
    }
    let serial = match known {
        0 => profile.registry.new_serial(),
        known => ThreadSerial::new(known),
    };
    let word = serial.get() as usize | NAMED;
    if profile.jvmti.set_thread_local(Some(thread), word).is_err() {
        return 0;
    }
    let info = profile.jvmti.thread_info(jni, thread).unwrap_or_default();
    profile.send(Message::ThreadStart { serial, info });
    serial.get()
}

fn log(line: LogLine) {
    if let Some(profile) = Profile::get() {
        profile.send(Message::Monitor(line));
    }
}

/// What belongs to a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    kind: Kind,
    lock: LockKind,
    trace: TraceSerial,
    class: String,
}

/// A row's time since the last dump.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    count: u64,
    nanos: u64,
}

/// What was waited for between two dumps.
struct Costs(Vec<(Place, Cost)>);

impl Costs {
    /// What is of one kind.
    fn rows(&self, kind: Kind) -> Vec<MonitorRow<'_>> {
        let costs = self.0.iter().filter(|(place, _)| place.kind == kind);
        let rows = costs.map(|(place, cost)| MonitorRow {
            nanos: cost.nanos,
            count: cost.count,
            trace: place.trace,
            class_name: &place.class,
            lock: place.lock,
        });
        rows.collect()
    }
}

/// The rows by what they turned out to be.
pub(super) struct WaitTables {
    monitors: &'static Monitors,
    rows: Vec<(&'static Row, Place)>,
    /// What is not in a dump yet.
    costs: HashMap<Place, Cost>,
}

impl WaitTables {
    pub(super) fn new(monitors: &'static Monitors) -> Self {
        Self {
            monitors,
            rows: Vec::new(),
            costs: HashMap::new(),
        }
    }

    /// Looks up the names of new rows.
    fn update(&mut self, tables: &mut Tables, jvmti: &Jvmti, jni: &Jni, depth: usize) {
        for row in self.monitors.take_fresh() {
            let place = place_of(self.monitors, row, tables, jvmti, jni, depth);
            self.rows.push((row, place));
        }
    }

    /// What was waited for since the last [`Self::clear`].
    fn costs(&mut self) -> Costs {
        for (row, place) in &self.rows {
            let (count, nanos) = row.take();
            if count > 0 || nanos > 0 {
                let cost = self.costs.entry(place.clone()).or_default();
                cost.count += count;
                cost.nanos += nanos;
            }
        }
        let copy = |(place, cost): (&Place, &Cost)| (place.clone(), *cost);
        Costs(self.costs.iter().map(copy).collect())
    }

    /// A dump was written.
    pub(super) fn clear(&mut self) {
        self.costs.clear();
    }
}

fn place_of(
    monitors: &Monitors,
    row: &Row,
    tables: &mut Tables,
    jvmti: &Jvmti,
    jni: &Jni,
    depth: usize,
) -> Place {
    let frames = tables.resolve(jvmti, jni, row.frames.iter().map(stack_location));
    let names: Vec<MethodName<'_>> = frames
        .iter()
        .map(|&frame| tables.methods.name(frame))
        .collect();
    let Classified { kind, inner } =
        classify(row.source, monitors.acquisition(jni, row.class), &names);
    let shown = frames.get(inner..).unwrap_or_default();
    let shown = shown.get(..depth).unwrap_or(shown);
    let thread = (row.thread != 0).then(|| ThreadSerial::new(row.thread));
    let trace = intern_stack(&tables.methods, &mut tables.traces, thread, shown);
    let class = public_class(&row.class.name).to_owned();
    let lock = match row.source {
        Source::Monitor | Source::ObjectWait => LockKind::Monitor,
        Source::Synchronizer | Source::Park => LockKind::Synchronizer,
    };
    Place {
        kind,
        lock,
        trace,
        class,
    }
}

/// Where a thread is, but for the frames of what it is parked in.
fn trace_of(
    thread: &UsedBy,
    per_thread: bool,
    tables: &mut Tables,
    jvmti: &Jvmti,
    jni: &Jni,
    depth: usize,
) -> TraceSerial {
    let frames = tables.resolve(jvmti, jni, thread.frames.iter().map(stack_location));
    let names: Vec<MethodName<'_>> = frames
        .iter()
        .map(|&frame| tables.methods.name(frame))
        .collect();
    let shown = frames.get(inner_frames(&names)..).unwrap_or_default();
    let shown = shown.get(..depth).unwrap_or(shown);
    let thread = per_thread.then_some(thread.serial);
    intern_stack(&tables.methods, &mut tables.traces, thread, shown)
}

impl Collector {
    /// Looks up names before their classes can be unloaded.
    pub(super) fn tick_waits(&mut self, jvmti: &Jvmti, jni: &Jni) {
        let depth = self.depth as usize;
        if let Some(waits) = &mut self.waits {
            waits.update(&mut self.tables, jvmti, jni, depth);
        }
    }

    /// Writes a line of the log.
    pub(super) fn log_wait(&mut self, line: &LogLine) {
        self.output.write(|writer| match *line {
            LogLine::Wait {
                class,
                millis,
                thread,
            } => writer.wait(&signature(class), millis, ThreadSerial::new(thread)),
            LogLine::Waited {
                class,
                millis,
                thread,
            } => writer.waited(&signature(class), millis, ThreadSerial::new(thread)),
        });
    }

    /// Writes who has and wants which lock, and what time was lost to locks.
    pub(super) fn dump_waits(&mut self, profile: &Profile, jvmti: &Jvmti, jni: &Jni) {
        let Some(monitors) = profile.monitors else {
            return;
        };
        monitors.book_going_on();
        self.tick_waits(jvmti, jni);
        let own = profile.own_threads.lock().clone();
        let depth = match profile.settings.depth {
            0 => 0,
            depth => depth + INNER_FRAMES as u32,
        };
        let usage = monitors.usage(jni, &own, depth);
        // Threads that were met for the first time have sent their names.
        self.record_messages();
        let Some(waits) = &mut self.waits else {
            return;
        };
        let costs = waits.costs();
        let (contended, waited, idle) = (
            costs.rows(Kind::Contention),
            costs.rows(Kind::Waiting),
            costs.rows(Kind::Idle),
        );
        let cutoff = profile.settings.cutoff;
        let tables = WaitRanks {
            contention: ranked(&contended, cutoff),
            others: [
                ("waiting", ranked(&waited, cutoff)),
                ("idle", ranked(&idle, cutoff)),
            ],
        };
        self.write_usage(&usage, &tables, profile.settings.thread, jvmti, jni);
        self.write_waits(&tables, monitors.remarks());
    }

    fn write_usage(
        &mut self,
        usage: &Usage,
        waits: &WaitRanks<'_>,
        per_thread: bool,
        jvmti: &Jvmti,
        jni: &Jni,
    ) {
        let depth = self.depth as usize;
        let tables = &mut self.tables;
        let threads: Vec<MonitorThread> = usage
            .threads
            .iter()
            .map(|thread| MonitorThread {
                serial: thread.serial,
                trace: trace_of(thread, per_thread, tables, jvmti, jni, depth),
                status: status(thread.state),
            })
            .collect();
        let signatures: Vec<String> = usage
            .locks
            .iter()
            .map(|lock| signature(&lock.class))
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
        self.output.write(|writer| {
            let traces = threads.iter().map(|thread| thread.trace);
            self.tables
                .write_traces(writer, traces.chain(waits.traces()))?;
            writer.monitor_dump(&dump)?;
            remarks.iter().try_for_each(|line| writer.comment(line))
        });
    }

    /// The traces stand before MONITOR DUMP.
    fn write_waits(&mut self, tables: &WaitRanks<'_>, remark: String) {
        let contention = &tables.contention;
        let mut remarks = vec![left_out::of_waits("monitor_time", contention), remark];
        for (title, table) in &tables.others {
            remarks.extend(wait_lines(title, table));
        }
        let ctime = LocalTime::now().ctime();
        self.output.write(|writer| {
            if !contention.rows().is_empty() {
                writer.monitor_table(contention, &ctime)?;
            }
            remarks.iter().try_for_each(|line| writer.comment(line))
        });
    }
}

/// The tables of a dump.
struct WaitRanks<'a> {
    contention: RankedMonitorTable<'a>,
    others: [(&'static str, RankedMonitorTable<'a>); 2],
}

impl WaitRanks<'_> {
    fn traces(&self) -> impl Iterator<Item = TraceSerial> + '_ {
        let others = self.others.iter().flat_map(|(_, table)| table.rows());
        others
            .chain(self.contention.rows())
            .map(|row| row.row.trace)
    }
}

fn ranked<'a>(rows: &'a [MonitorRow<'a>], cutoff: Cutoff) -> RankedMonitorTable<'a> {
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

/// The signature of a class (JVM specification, 4.3.2) from its name.
fn signature(class: &str) -> String {
    let element = class.trim_end_matches("[]");
    let dimensions = (class.len() - element.len()) / 2;
    let primitive = match element {
        "byte" => "B",
        "char" => "C",
        "double" => "D",
        "float" => "F",
        "int" => "I",
        "long" => "J",
        "short" => "S",
        "boolean" => "Z",
        _ => "",
    };
    let mut signature = "[".repeat(dimensions);
    if dimensions > 0 && !primitive.is_empty() {
        signature.push_str(primitive);
    } else {
        signature.push('L');
        signature.push_str(&element.replace('.', "/"));
        signature.push(';');
    }
    signature
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_signatures() {
        assert_eq!(signature("java.lang.Object"), "Ljava/lang/Object;");
        assert_eq!(signature("int[]"), "[I");
        assert_eq!(signature("java.lang.Object[][]"), "[[Ljava/lang/Object;");
    }
}

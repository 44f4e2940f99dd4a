//! The events of a recording that rules judge, read in one pass.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hprof_foreign::jfr::any::{self, Event, Visitor};
use hprof_foreign::jfr::facts::Skipped;
use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_stacks::load::{self, Change, Load};
use hprof_stacks::timeline::{Moment, Timeline, Window};
use hprof_stacks::{Measure, Own, Stacks, Weight, Weights};
use rustc_hash::FxHashMap;

/// The time between samples of execution if a recording does not say, in nanoseconds: that of the JDK's default settings.
const PERIOD: f64 = 20e6;

/// A sample of execution.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Nanoseconds since 1970-01-01 UTC.
    pub at: i64,
    /// Its stack.
    pub trace: TraceSerial,
    /// The samples that it stands for.
    pub count: f64,
}

/// The reason why a thread waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waited {
    /// For a monitor.
    Monitor,
    /// It parked: for a lock, or for anything else of `java.util.concurrent`.
    Park,
    /// In `Object.wait`.
    Notify,
    /// In `Thread.sleep`.
    Sleep,
    /// For a file or a socket.
    Io(Io),
    /// A virtual thread waited and kept its carrier thread.
    Pinned,
}

/// Input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Io {
    /// From a file.
    FileRead,
    /// To a file.
    FileWrite,
    /// Until the disk has what was written.
    FileForce,
    /// From a socket.
    SocketRead,
    /// To a socket.
    SocketWrite,
}

/// A wait of a thread.
#[derive(Debug, Clone)]
pub struct Wait {
    /// Why.
    pub why: Waited,
    /// Its start, in nanoseconds since 1970-01-01 UTC.
    pub at: i64,
    /// How long, in nanoseconds.
    pub nanos: f64,
    /// The stack.
    pub trace: TraceSerial,
    /// The thread.
    pub thread: Option<ThreadSerial>,
    /// The class of the lock, or the file or host; empty if the recording does not say.
    pub of: Box<str>,
    /// The thread that had the lock, if the recording says.
    pub owner: Box<str>,
}

/// An allocation, or several of which this was sampled.
#[derive(Debug, Clone)]
pub struct Allocated {
    /// The stack.
    pub trace: TraceSerial,
    /// The class.
    pub class: Box<str>,
    /// The bytes for which it stands.
    pub bytes: f64,
}

/// A collection.
#[derive(Debug, Clone)]
pub struct Collection {
    /// Its cause, in the JVM's words.
    pub cause: String,
    /// The sum of its pauses in nanoseconds.
    pub pauses: f64,
}

/// A value of a counter of the JVM.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    /// Nanoseconds since 1970-01-01 UTC.
    pub at: i64,
    /// The value.
    pub value: f64,
}

/// A report that the code cache is full.
#[derive(Debug, Clone)]
pub struct CodeCacheFull {
    /// The part of it, in the JVM's words.
    pub part: String,
    /// The size of the part in bytes, if the recording says.
    pub size: Option<f64>,
}

/// A return to the interpreter.
#[derive(Debug, Clone)]
pub struct Deoptimization {
    /// The stack.
    pub trace: Option<TraceSerial>,
    /// The method, line, and place in the bytecode.
    pub site: (String, i64, i64),
    /// The JVM's reason.
    pub reason: String,
}

/// All of a recording that rules judge.
#[derive(Default)]
pub struct Recorded {
    /// The stacks.
    pub stacks: Stacks,
    /// Threads by serial.
    pub threads: FxHashMap<ThreadSerial, String>,
    /// The time that the recording covers.
    pub span: Option<Window>,
    own: Option<Own>,
    /// Samples of threads that ran Java code.
    pub samples: Vec<Sample>,
    /// Samples of threads in native code, running or not.
    pub native: Vec<Sample>,
    /// Waits.
    pub waits: Vec<Wait>,
    /// Allocations.
    pub allocations: Vec<Allocated>,
    /// Collections.
    pub collections: Vec<Collection>,
    /// Bytes of the heap that were in use before and after collections, by number.
    pub heap: BTreeMap<i64, (Option<f64>, Option<f64>)>,
    /// The largest size of the heap in bytes.
    pub heap_limit: Option<f64>,
    /// References to objects with finalizers that collections found, in all.
    pub final_references: f64,
    /// Classes with finalizers, and how many were run.
    pub finalized: BTreeMap<String, f64>,
    /// The stacks of calls of `System.gc`.
    pub asked_collections: Vec<TraceSerial>,
    /// CPU use of the JVM and of the machine, each a share of all CPUs.
    pub cpu_loads: Vec<(f64, f64)>,
    /// The CPUs of the machine.
    pub cpus: Option<f64>,
    /// Stops of the JVM: start, and the nanoseconds until all threads had stopped.
    pub safepoints: Vec<(i64, f64)>,
    /// Exceptions since the start of the JVM.
    pub thrown_so_far: Vec<Counter>,
    /// Exceptions: stack and class.
    pub thrown: Vec<(TraceSerial, Box<str>)>,
    /// Errors: stack and class.
    pub errors: Vec<(TraceSerial, Box<str>)>,
    /// The JVM's reports that its code cache is full.
    pub code_cache_full: Vec<CodeCacheFull>,
    /// Returns to the interpreter.
    pub deoptimizations: Vec<Deoptimization>,
    /// Classes that were loaded since the start of the JVM.
    pub loaded_so_far: Vec<Counter>,
    /// The stacks by which classes were loaded or defined.
    pub class_loads: Vec<TraceSerial>,
    /// The stacks by which threads were started, with the time.
    pub thread_starts: Vec<(i64, Option<TraceSerial>)>,
    /// The start of the JVM in nanoseconds since 1970-01-01 UTC.
    pub jvm_start: Option<i64>,
    /// The nanoseconds between samples of execution.
    pub period: Option<f64>,
    /// Types of events that were recorded, with or without any event of them.
    pub on: BTreeSet<String>,
    buffers: Vec<Allocated>,
}

/// The events that are read.
const WANTED: [&str; 39] = [
    "jdk.ActiveSetting",
    "jdk.ClassDefine",
    "jdk.ClassLoad",
    "jdk.ClassLoadingStatistics",
    "jdk.CodeCacheFull",
    "jdk.CPUInformation",
    "jdk.CPULoad",
    "jdk.CPUTimeSample",
    "jdk.Deoptimization",
    "jdk.ExceptionStatistics",
    "jdk.ExecutionSample",
    "jdk.FileForce",
    "jdk.FileRead",
    "jdk.FileWrite",
    "jdk.FinalizerStatistics",
    "jdk.GarbageCollection",
    "jdk.GCHeapConfiguration",
    "jdk.GCHeapSummary",
    "jdk.GCReferenceStatistics",
    "jdk.JavaErrorThrow",
    "jdk.JavaExceptionThrow",
    "jdk.JavaMonitorEnter",
    "jdk.JavaMonitorWait",
    "jdk.JVMInformation",
    "jdk.NativeMethodSample",
    "jdk.ObjectAllocationInNewTLAB",
    "jdk.ObjectAllocationOutsideTLAB",
    "jdk.ObjectAllocationSample",
    "jdk.SafepointBegin",
    "jdk.SocketRead",
    "jdk.SocketWrite",
    "jdk.SystemGC",
    "jdk.ThreadPark",
    "jdk.ThreadSleep",
    "jdk.ThreadStart",
    "jdk.VirtualThreadPinned",
    "profiler.WallClockSample",
    "datadog.ExecutionSample",
    "datadog.ObjectSample",
];

struct Collector(Recorded);

impl Visitor for Collector {
    fn wants(&self, name: &str) -> bool {
        WANTED.contains(&name)
    }

    fn event(&mut self, event: &mut Event<'_, '_, '_>) {
        let all = &mut self.0;
        if event.name != "jdk.ActiveSetting" && !all.on.contains(event.name) {
            all.on.insert(event.name.to_owned());
        }
        // Fields that a guard below asks for.
        let (state, of_type) = match event.name {
            "profiler.WallClockSample" | "jdk.ExecutionSample" => (event.text("state"), "".into()),
            "jdk.GCReferenceStatistics" => ("".into(), event.text("type")),
            _ => ("".into(), "".into()),
        };
        match event.name {
            "jdk.ActiveSetting" => all.setting(event),
            // async-profiler writes threads that sleep under the same name.
            "jdk.ExecutionSample" | "jdk.CPUTimeSample" | "datadog.ExecutionSample"
                if state != "STATE_SLEEPING" =>
            {
                let count = event.number("weight").or(event.number("samples"));
                all.samples.extend(sample(event, count));
            }
            "jdk.NativeMethodSample" => all.native.extend(sample(event, None)),
            "profiler.WallClockSample" if state == "STATE_RUNNABLE" => {
                // Only where no samples of CPU are.
                let count = event.number("samples");
                all.native.extend(sample(event, count));
            }
            "jdk.JavaMonitorEnter" => all.wait(event, Waited::Monitor, "monitorClass"),
            "jdk.ThreadPark" => all.wait(event, Waited::Park, "parkedClass"),
            "jdk.JavaMonitorWait" => all.wait(event, Waited::Notify, "monitorClass"),
            "jdk.ThreadSleep" => all.wait(event, Waited::Sleep, ""),
            "jdk.FileRead" => all.wait(event, Waited::Io(Io::FileRead), "path"),
            "jdk.FileWrite" => all.wait(event, Waited::Io(Io::FileWrite), "path"),
            "jdk.FileForce" => all.wait(event, Waited::Io(Io::FileForce), "path"),
            "jdk.SocketRead" => all.wait(event, Waited::Io(Io::SocketRead), "host"),
            "jdk.SocketWrite" => all.wait(event, Waited::Io(Io::SocketWrite), "host"),
            "jdk.VirtualThreadPinned" => all.wait(event, Waited::Pinned, ""),
            "jdk.ObjectAllocationSample" => {
                let bytes = event.fraction("weight");
                all.allocations.extend(allocated(event, bytes));
            }
            "datadog.ObjectSample" => {
                let size = event.fraction("size").unwrap_or(0.0);
                let bytes = event
                    .fraction("weight")
                    .map(|weight| size * weight.max(1.0));
                all.allocations.extend(allocated(event, bytes));
            }
            "jdk.ObjectAllocationInNewTLAB" => {
                // async-profiler says 0 for a buffer that is no larger.
                let buffer = event.fraction("tlabSize").filter(|&it| it > 0.0);
                let bytes = buffer.or(event.fraction("allocationSize"));
                all.buffers.extend(allocated(event, bytes));
            }
            "jdk.ObjectAllocationOutsideTLAB" => {
                let bytes = event.fraction("allocationSize");
                all.buffers.extend(allocated(event, bytes));
            }
            "jdk.GarbageCollection" => {
                let pauses = event.nanos("sumOfPauses").unwrap_or(event.duration) as f64;
                let cause = event.text("cause").into_owned();
                all.collections.push(Collection { cause, pauses });
            }
            "jdk.GCHeapSummary" => {
                let used = event.fraction("heapUsed");
                let sizes = all.heap.entry(event.number("gcId").unwrap_or(0));
                let sizes = sizes.or_default();
                match &*event.text("when") {
                    "Before GC" => sizes.0 = used,
                    _ => sizes.1 = used,
                }
            }
            "jdk.GCHeapConfiguration" => {
                all.heap_limit = event.fraction("maxSize").filter(|&size| size > 0.0);
            }
            "jdk.GCReferenceStatistics" if of_type == "Final reference" => {
                all.final_references += event.fraction("count").unwrap_or(0.0);
            }
            "jdk.FinalizerStatistics" => {
                let class = event.text("finalizableClass").into_owned();
                let runs = event.fraction("totalFinalizersRun").unwrap_or(0.0);
                let most = all.finalized.entry(class).or_default();
                *most = most.max(runs);
            }
            "jdk.CPULoad" => {
                let of = |field| event.fraction(field);
                // The first one of a recording has nothing to compare with, and is 0.
                if let (Some(user), Some(system), Some(machine)) =
                    (of("jvmUser"), of("jvmSystem"), of("machineTotal"))
                    && machine > 0.0
                {
                    all.cpu_loads.push((user + system, machine));
                }
            }
            "jdk.CPUInformation" => {
                all.cpus = event.fraction("hwThreads").filter(|&cpus| cpus >= 1.0);
            }
            "jdk.SystemGC" => all.asked_collections.extend(event.trace()),
            "jdk.SafepointBegin" => all.safepoints.push((event.at, event.duration as f64)),
            "jdk.ExceptionStatistics" => {
                let value = event.fraction("throwables");
                all.thrown_so_far.extend(counter(event, value));
            }
            "jdk.JavaExceptionThrow" => {
                let class = event.text("thrownClass").into();
                all.thrown.extend(event.trace().map(|trace| (trace, class)));
            }
            "jdk.JavaErrorThrow" => {
                let class = event.text("thrownClass").into();
                all.errors.extend(event.trace().map(|trace| (trace, class)));
            }
            "jdk.CodeCacheFull" => {
                let end = event.fraction("reservedTopAddress");
                let start = event.fraction("startAddress");
                let size = end.zip(start).map(|(end, start)| end - start);
                all.code_cache_full.push(CodeCacheFull {
                    part: event.text("codeBlobType").into_owned(),
                    size: size.filter(|&size| size > 0.0),
                });
            }
            "jdk.Deoptimization" => {
                let site = (
                    event.text("method").into_owned(),
                    event.number("lineNumber").unwrap_or(-1),
                    event.number("bci").unwrap_or(-1),
                );
                let trace = event.trace();
                let reason = event.text("reason").into_owned();
                all.deoptimizations.push(Deoptimization {
                    trace,
                    site,
                    reason,
                });
            }
            "jdk.ClassLoadingStatistics" => {
                let value = event.fraction("loadedClassCount");
                all.loaded_so_far.extend(counter(event, value));
            }
            "jdk.ClassLoad" | "jdk.ClassDefine" => all.class_loads.extend(event.trace()),
            "jdk.ThreadStart" => {
                let trace = event.trace();
                all.thread_starts.push((event.at, trace));
            }
            "jdk.JVMInformation" => {
                let millis = event.number("jvmStartTime");
                all.jvm_start = millis.and_then(|millis| millis.checked_mul(1_000_000));
            }
            _ => {}
        }
    }
}

fn sample(event: &mut Event<'_, '_, '_>, count: Option<i64>) -> Option<Sample> {
    let trace = event.trace()?;
    Some(Sample {
        at: event.at,
        trace,
        count: count.filter(|&count| count > 0).unwrap_or(1) as f64,
    })
}

fn allocated(event: &mut Event<'_, '_, '_>, bytes: Option<f64>) -> Option<Allocated> {
    Some(Allocated {
        trace: event.trace()?,
        class: event.text("objectClass").into(),
        bytes: bytes.filter(|&bytes| bytes > 0.0)?,
    })
}

fn counter(event: &Event<'_, '_, '_>, value: Option<f64>) -> Option<Counter> {
    Some(Counter {
        at: event.at,
        value: value?,
    })
}

impl Recorded {
    fn setting(&mut self, event: &mut Event<'_, '_, '_>) {
        let Some(of) = event.type_named_by("id") else {
            return;
        };
        let value = event.text("value").into_owned();
        match &*event.text("name") {
            "enabled" if value == "true" => {
                self.on.insert(of);
            }
            "period" | "interval" if of == "jdk.ExecutionSample" => {
                self.period = hprof_foreign::jfr::interval(&value).map(|nanos| nanos as f64);
            }
            _ => {}
        }
    }

    fn wait(&mut self, event: &mut Event<'_, '_, '_>, why: Waited, of: &str) {
        let Some(trace) = event.trace() else {
            return;
        };
        let of = match of {
            "" => "".into(),
            of => event.text(of).into(),
        };
        self.waits.push(Wait {
            why,
            at: event.at,
            nanos: event.duration as f64,
            trace,
            thread: event.thread(),
            of,
            owner: event.text("previousOwner").into(),
        });
    }

    /// Which classes are the program's.
    pub fn own(&self) -> &Own {
        self.own.as_ref().unwrap_or(&Own::Inferred)
    }

    /// The nanoseconds that the recording covers, for rates and shares; half a second at least: in the start of a JVM, which a shorter
    /// one has little beside, few events are many a second.
    pub fn nanos(&self) -> f64 {
        const LEAST: f64 = 5e8;
        self.length().max(LEAST)
    }

    /// The nanoseconds that the recording covers.
    fn length(&self) -> f64 {
        self.span.map_or(0.0, |span| span.length() as f64)
    }

    /// [`Self::nanos`] as seconds.
    pub fn seconds(&self) -> f64 {
        self.nanos() / 1e9
    }

    /// The threads that ran Java code, on average.
    pub fn running(&self) -> f64 {
        let samples = self.samples.iter().map(|it| it.count).sum::<f64>();
        samples * self.period.unwrap_or(PERIOD) / self.nanos()
    }

    /// True if events of one of some types were recorded, if there were any.
    pub fn has_any_on(&self, names: &[&str]) -> bool {
        names.iter().any(|&name| self.on.contains(name))
    }

    /// The seconds that the recording covers, however few; `None` if that is unknown.
    pub fn covered_seconds(&self) -> Option<f64> {
        self.span.map(|_| self.length() / 1e9)
    }

    /// The CPUs that the program had on average, if that was less than one because other programs kept the machine busy.
    /// It did less in a second then than it would do by itself.
    pub(crate) fn starved_to(&self) -> Option<f64> {
        let count = self.cpu_loads.len();
        if count == 0 {
            return None;
        }
        let average =
            |of: fn(&(f64, f64)) -> f64| self.cpu_loads.iter().map(of).sum::<f64>() / count as f64;
        let cores = average(|it| it.0) * self.cpus?;
        let is_busy = average(|it| it.1) >= 0.9;
        (is_busy && (0.02..1.0).contains(&cores)).then_some(cores)
    }

    /// The change of CPU use that stands out.
    pub(crate) fn change(&self) -> Option<(Load, Change)> {
        let span = self.span?;
        let mut moments: Vec<Moment> = self
            .samples
            .iter()
            .map(|sample| Moment {
                at: sample.at,
                value: sample.count as u64,
                trace: sample.trace,
                thread: None,
                measure: Measure::Samples,
            })
            .collect();
        moments.sort_by_key(|moment| moment.at);
        let timeline = Timeline {
            span,
            sample_nanos: self.period.map(|nanos| nanos as u64),
            is_wall: false,
            moments,
        };
        load::change(&timeline, &self.stacks, span)
    }

    /// Samples of threads that ran or were in native code, with their number.
    pub(crate) fn samples_and_native(&self) -> impl Iterator<Item = (TraceSerial, f64)> {
        let all = self.samples.iter().chain(&self.native);
        all.map(|it| (it.trace, it.count))
    }

    /// The rate of a counter by second, between its first and last value; `None` if it has not two.
    pub(crate) fn rate(&self, counters: &[Counter]) -> Option<f64> {
        let first = counters.iter().min_by_key(|it| it.at)?;
        let last = counters.iter().max_by_key(|it| it.at)?;
        let seconds = last.at.abs_diff(first.at) as f64 / 1e9;
        (seconds > 0.0).then(|| (last.value - first.value).max(0.0) / seconds)
    }

    /// The bytes that were allocated, by the sizes of the heap before and after collections.
    pub(crate) fn allocated_between_collections(&self) -> f64 {
        let mut before = None;
        let mut sum = 0.0;
        for (start, end) in self.heap.values() {
            if let (Some(before), Some(start)) = (before, start) {
                sum += f64::max(start - before, 0.0);
            }
            before = *end;
        }
        sum
    }
}

/// Reads a recording. The program's classes are those of `own` if that is not empty.
pub fn read(
    file: &[u8],
    own: &[String],
    passed: &mut dyn FnMut(Range<usize>),
) -> (Recorded, Skipped) {
    let mut collector = Collector(Recorded::default());
    let read = any::read(file, &mut collector, passed);
    let mut recorded = collector.0;
    recorded.stacks = read.stacks;
    let threads = read.threads.into_iter();
    recorded.threads = threads.map(|it| (it.serial, it.name)).collect();
    recorded.span = read.span;
    if recorded.allocations.is_empty() {
        recorded.allocations = std::mem::take(&mut recorded.buffers);
    }
    recorded.own = Some(match own.is_empty() {
        true => infer_own(&recorded),
        false => Own::Given(own.to_vec()),
    });
    (recorded, read.skipped)
}

/// Which classes are the program's, by all stacks alike.
fn infer_own(recorded: &Recorded) -> Own {
    let samples = recorded.samples.iter().map(|it| it.trace);
    let waits = recorded.waits.iter().map(|it| it.trace);
    let allocations = recorded.allocations.iter().map(|it| it.trace);
    let traces = samples.chain(waits).chain(allocations);
    let rows: Vec<Weight> = traces
        .map(|trace| Weight {
            trace,
            value: 1,
            class: None,
        })
        .collect();
    let weights = Weights {
        measure: Measure::Samples,
        total: rows.len() as u64,
        rows,
    };
    Own::infer(&recorded.stacks, &weights)
}

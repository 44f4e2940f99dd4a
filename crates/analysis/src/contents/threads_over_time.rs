//! What threads did when, by the events of a recording; and stops of all threads at safepoints.

use hprof_foreign::jfr::any::{self, Event, Visitor};
use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_stacks::ThreadState;
use hprof_stacks::lanes::{Did, LaneSource, Lanes, LanesBuilder};
use hprof_stacks::timeline::Window;
use rustc_hash::FxHashMap;

/// The nanoseconds between samples if a recording does not say: those of the JDK's default settings.
const PERIOD: u64 = 20_000_000;
/// Events that are kept, at most; each takes about 70 bytes for the moment.
const MAX_EVENTS: usize = 8_000_000;

/// The events of a thread's time.
const THREADS: [&str; 14] = [
    "jdk.CPUTimeSample",
    "jdk.ExecutionSample",
    "jdk.FileForce",
    "jdk.FileRead",
    "jdk.FileWrite",
    "jdk.JavaMonitorEnter",
    "jdk.JavaMonitorWait",
    "jdk.NativeMethodSample",
    "jdk.SocketRead",
    "jdk.SocketWrite",
    "jdk.ThreadPark",
    "jdk.ThreadSleep",
    "profiler.WallClockSample",
    "datadog.ExecutionSample",
];
/// Other events.
const OTHERS: [&str; 3] = [
    "jdk.ActiveSetting",
    "jdk.SafepointBegin",
    "jdk.SafepointEnd",
];

/// What a recording says of its threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// The lanes of threads; `None` if it has no event of them.
    pub lanes: Option<Lanes>,
    /// Stops of all threads: start in nanoseconds since 1970-01-01 UTC, and nanoseconds, as far as it says how long they were.
    pub safepoints: Vec<(i64, u64)>,
    /// Events of threads that are left out, as there are too many.
    pub left_out: u64,
}

/// How long an event was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Exact(u64),
    /// A sample, which stands for this many intervals.
    Intervals(u64),
}

struct Raw {
    at: i64,
    length: Length,
    thread: Option<ThreadSerial>,
    trace: TraceSerial,
    state: Before,
    of: Box<str>,
    owner: Box<str>,
}

/// The state, as far as it is known before the stacks are.
#[derive(Clone, Copy)]
enum Before {
    Known(ThreadState),
    Parked,
    Native,
    /// A sample: the agent's own have a frame for the state.
    Sampled,
}

#[derive(Default)]
struct Collector {
    events: Vec<Raw>,
    left_out: u64,
    period: Option<u64>,
    /// Starts of safepoints by their numbers, with the nanoseconds until all threads had stopped.
    began: FxHashMap<i64, (i64, u64)>,
    safepoints: Vec<(i64, u64)>,
}

impl Visitor for Collector {
    fn wants(&self, name: &str) -> bool {
        THREADS.contains(&name) || OTHERS.contains(&name)
    }

    fn event(&mut self, event: &mut Event<'_, '_, '_>) {
        let wait = |state, of, owner| (Before::Known(state), of, owner);
        let (state, of, owner) = match event.name {
            "jdk.ActiveSetting" => return self.setting(event),
            "jdk.SafepointBegin" | "jdk.SafepointEnd" => return self.safepoint(event),
            "jdk.JavaMonitorEnter" => {
                wait(ThreadState::WaitsForLock, "monitorClass", "previousOwner")
            }
            "jdk.JavaMonitorWait" => wait(ThreadState::Waits, "monitorClass", ""),
            "jdk.ThreadPark" => (Before::Parked, "parkedClass", ""),
            "jdk.ThreadSleep" => wait(ThreadState::Sleeps, "", ""),
            "jdk.FileRead" | "jdk.FileWrite" | "jdk.FileForce" => {
                wait(ThreadState::InputOutput, "path", "")
            }
            "jdk.SocketRead" | "jdk.SocketWrite" => wait(ThreadState::InputOutput, "host", ""),
            "jdk.NativeMethodSample" => (Before::Native, "", ""),
            _ => match &*event.text("state") {
                "STATE_SLEEPING" => (Before::Parked, "", ""),
                _ => (Before::Sampled, "", ""),
            },
        };
        if self.events.len() >= MAX_EVENTS {
            self.left_out += 1;
            return;
        }
        let Some(trace) = event.trace() else {
            return;
        };
        let length = match event.name.ends_with("Sample") {
            true => {
                let count = event.number("samples").or(event.number("weight"));
                let count = count.and_then(|it| u64::try_from(it).ok());
                Length::Intervals(count.unwrap_or(1).max(1))
            }
            false => Length::Exact(event.duration),
        };
        let mut text = |field: &str| match field {
            "" => Box::default(),
            field => event.text(field).into(),
        };
        let (of, owner) = (text(of), text(owner));
        self.events.push(Raw {
            at: event.at,
            length,
            thread: event.thread(),
            trace,
            state,
            of,
            owner,
        });
    }
}

impl Collector {
    fn setting(&mut self, event: &mut Event<'_, '_, '_>) {
        let is_period = matches!(&*event.text("name"), "period" | "interval");
        if is_period && event.type_named_by("id").as_deref() == Some("jdk.ExecutionSample") {
            self.period = hprof_foreign::jfr::interval(&event.text("value")).or(self.period);
        }
    }

    fn safepoint(&mut self, event: &Event<'_, '_, '_>) {
        let number = event.number("safepointId").unwrap_or(0);
        if event.name == "jdk.SafepointBegin" {
            self.began.insert(number, (event.at, event.duration));
        } else if let Some((from, _)) = self.began.remove(&number) {
            let to = event.at.saturating_add_unsigned(event.duration);
            let length = u64::try_from(to.saturating_sub(from)).unwrap_or(0);
            self.safepoints.push((from, length));
        }
    }
}

/// Reads a recording for the lanes of a part of its time.
pub(super) fn read(file: &[u8], part: Window) -> ThreadTimes {
    let mut collector = Collector::default();
    // Its damage is that of the profile.
    let read = any::read(file, &mut collector, &mut |_| {});
    let period = collector.period.filter(|&it| it > 0).unwrap_or(PERIOD);
    let mut builder = LanesBuilder::new(&read.stacks, period);
    let stacks = &read.stacks;
    // Samples of one moment are one look that stands for several intervals.
    let mut looks: FxHashMap<Option<ThreadSerial>, (i64, u64)> = FxHashMap::default();
    for raw in &collector.events {
        let state = match raw.state {
            Before::Known(state) => state,
            Before::Parked => ThreadState::parked(stacks, raw.trace),
            Before::Native => ThreadState::in_native(stacks, raw.trace),
            Before::Sampled => match ThreadState::of(stacks, raw.trace, true) {
                ThreadState::Unknown => ThreadState::Running,
                state => state,
            },
        };
        let did = |from, to| Did {
            thread: raw.thread,
            trace: raw.trace,
            time: Window { from, to },
            state,
            of: &raw.of,
            owner: &raw.owner,
        };
        match raw.length {
            Length::Exact(nanos) => {
                builder.add(&did(raw.at, raw.at.saturating_add_unsigned(nanos)));
            }
            Length::Intervals(count) => {
                let nanos = period.saturating_mul(count);
                let look = looks.entry(raw.thread).or_default();
                let before = if look.0 == raw.at { look.1 } else { 0 };
                *look = (raw.at, before.saturating_add(nanos));
                let to = raw.at.saturating_sub_unsigned(before);
                builder.sample(&did(to.saturating_sub_unsigned(nanos), to));
            }
        }
    }
    let names: FxHashMap<ThreadSerial, String> = read
        .threads
        .into_iter()
        .map(|it| (it.serial, it.name))
        .collect();
    let lanes = builder.finish(LaneSource::Recording, part, &|it| names.get(&it).cloned());
    let mut safepoints = collector.safepoints;
    // Without the events of their ends the time to reach them is known.
    safepoints.extend(collector.began.into_values());
    safepoints.retain(|&(at, nanos)| nanos > 0 && part.contains(at));
    safepoints.sort_unstable();
    ThreadTimes {
        lanes,
        safepoints,
        left_out: collector.left_out,
    }
}

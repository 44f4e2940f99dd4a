//! The events that cost something, summed by the numbers that they state.

use hprof_format::ids::TraceSerial;
use hprof_stacks::Measure;
use rustc_hash::FxHashMap;

use super::bytes::Cursor;
use super::chunk::Head;
use super::facts;
use super::metadata::{TypeId, Unit};
use super::plan::{Found, Plan, Plans, Role, Value};
use crate::Others;
use crate::builder::{Builder, ClassIndex};

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A thread that ran Java code, or any sample of async-profiler before 4.0.
    Execution,
    /// A thread in native code, running or not.
    Native,
    /// A thread that had used CPU time (JDK 25).
    CpuTime,
    /// Any thread (async-profiler 4.0).
    Wall,
    /// Allocation, chosen at random by bytes (JDK 16).
    Allocation,
    /// An allocation for which a thread's buffer was made.
    InBuffer,
    /// An allocation outside of buffers.
    OutsideBuffer,
    /// An object that is alive at the end (async-profiler).
    Live,
    /// A wait for a monitor or lock.
    Lock,
    /// A wait for a notification.
    Wait,
}

/// The events by name.
const KINDS: [(&str, Kind); 11] = [
    ("jdk.ExecutionSample", Kind::Execution),
    ("jdk.NativeMethodSample", Kind::Native),
    ("jdk.CPUTimeSample", Kind::CpuTime),
    ("profiler.WallClockSample", Kind::Wall),
    ("jdk.ObjectAllocationSample", Kind::Allocation),
    ("jdk.ObjectAllocationInNewTLAB", Kind::InBuffer),
    ("jdk.ObjectAllocationOutsideTLAB", Kind::OutsideBuffer),
    ("profiler.LiveObject", Kind::Live),
    ("jdk.JavaMonitorEnter", Kind::Lock),
    ("jdk.ThreadPark", Kind::Lock),
    ("jdk.JavaMonitorWait", Kind::Wait),
];

/// An entry of a pool; 0 if there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) of: TypeId,
    pub(super) key: u64,
}

/// Events of one type that state the same, by the keys of the entries to which they refer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Key {
    /// The place in [`Events::types`].
    pub(super) event: u32,
    pub(super) stack: u64,
    pub(super) thread: u64,
    pub(super) state: u64,
    pub(super) class: u64,
}

/// A type of events that cost something, and the pools to which the fields of its events refer.
#[derive(Debug)]
pub(super) struct EventType {
    pub(super) kind: Kind,
    plan: Plan,
    pub(super) stack: TypeId,
    pub(super) thread: TypeId,
    pub(super) state: TypeId,
    pub(super) class: TypeId,
}

/// Their number and the sum of what they cost: nanoseconds, bytes or samples.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) count: u64,
    pub(super) sum: u64,
}

/// The events of a chunk.
pub(super) struct Events {
    /// Places in `types`.
    index: FxHashMap<TypeId, u32>,
    pub(super) types: Vec<EventType>,
    ticks_per_second: u64,
    pub(super) costs: FxHashMap<Key, Cost>,
    collections: Vec<TypeId>,
    dumps: Vec<TypeId>,
}

impl Events {
    pub(super) fn new(plans: &mut Plans<'_>, head: &Head) -> Self {
        let mut events = Self {
            index: FxHashMap::default(),
            types: Vec::new(),
            ticks_per_second: head.ticks_per_second,
            costs: FxHashMap::default(),
            collections: plans.metadata.named(facts::COLLECTION).collect(),
            dumps: plans.metadata.named(facts::THREAD_DUMP).collect(),
        };
        for (name, kind) in KINDS {
            let ids: Vec<TypeId> = plans.metadata.named(name).collect();
            for id in ids {
                let Some(plan) = plans.get(id) else {
                    continue;
                };
                let place = events.types.len() as u32;
                let (stack, thread) = (plan.pool(Role::Stack), plan.pool(Role::Thread));
                let (state, class) = (plan.pool(Role::State), plan.pool(Role::Class));
                events.types.push(EventType {
                    kind,
                    plan,
                    stack,
                    thread,
                    state,
                    class,
                });
                events.index.insert(id, place);
            }
        }
        events
    }

    /// Takes in an event whose bytes begin after its head; `None` if it is damaged. Events of other
    /// kinds are counted at most.
    pub(super) fn add(
        &mut self,
        type_id: u64,
        mut body: Cursor<'_>,
        others: &mut Others,
    ) -> Option<()> {
        let Ok(type_id) = u32::try_from(type_id).map(TypeId) else {
            return Some(());
        };
        let Some(place) = self.index.get(&type_id).copied() else {
            others.collections += u64::from(self.collections.contains(&type_id));
            others.thread_dumps += u64::from(self.dumps.contains(&type_id));
            return Some(());
        };
        let EventType { kind, plan, .. } = &self.types[place as usize];
        let kind = *kind;
        let mut key = Key {
            event: place,
            ..Key::default()
        };
        let (mut size, mut buffer, mut samples) = (0, 0, 1);
        let mut nanos = 0;
        let ticks = self.ticks_per_second;
        plan.walk(&mut body, &mut |found| {
            let Found::Field(role, value) = found else {
                return;
            };
            let entry = match value {
                Value::Number(key, _) => key,
                Value::Time(..) | Value::Text(_) => 0,
            };
            match role {
                Role::Stack => key.stack = entry,
                Role::Thread => key.thread = entry,
                Role::State => key.state = entry,
                Role::Class => key.class = entry,
                Role::Size | Role::Weight => size = value.number(),
                Role::Tlab => buffer = value.number(),
                Role::Samples => samples = value.number(),
                Role::Duration | Role::Period => nanos = in_nanos(value, ticks),
                _ => {}
            }
        })?;
        let cost = match kind {
            Kind::Execution | Kind::Native => 1,
            Kind::Wall => samples,
            Kind::Allocation | Kind::OutsideBuffer | Kind::Live => size,
            // async-profiler says 0 for a buffer that is no larger.
            Kind::InBuffer if buffer == 0 => size,
            Kind::InBuffer => buffer,
            Kind::CpuTime | Kind::Lock | Kind::Wait => nanos,
        };
        let costs = self.costs.entry(key).or_default();
        costs.count += 1;
        costs.sum = costs.sum.saturating_add(cost);
        Some(())
    }
}

/// A duration; those without a unit are in ticks.
pub(super) fn in_nanos(value: Value<'_>, ticks_per_second: u64) -> u64 {
    let factor = match value {
        Value::Time(_, Unit::Nanos) => return value.number(),
        Value::Time(_, Unit::Millis) => return value.number().saturating_mul(1_000_000),
        _ => 1_000_000_000,
    };
    let nanos = u128::from(value.number()) * factor / u128::from(ticks_per_second);
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// Costs of which a file may hold two accounts. They are summed apart, until the end of the file
/// shows whether the better one is there.
#[derive(Default)]
pub(super) struct Choice {
    has_execution: bool,
    has_allocation: bool,
    cpu_samples: FxHashMap<TraceSerial, u64>,
    buffers: FxHashMap<(TraceSerial, Option<ClassIndex>), u64>,
}

impl Choice {
    /// Adds the events of one kind at a trace. `is_wall` if a profiler says that the thread need not
    /// have run.
    pub(super) fn add(
        &mut self,
        builder: &mut Builder,
        kind: Kind,
        is_wall: bool,
        trace: TraceSerial,
        class: Option<ClassIndex>,
        cost: Cost,
    ) {
        let measure = match kind {
            Kind::Execution if is_wall => Measure::Wall,
            Kind::Execution => {
                self.has_execution = true;
                Measure::Samples
            }
            Kind::Native => Measure::NativeSamples,
            Kind::CpuTime => {
                *self.cpu_samples.entry(trace).or_default() += cost.count;
                Measure::Time
            }
            Kind::Wall => Measure::Wall,
            Kind::Allocation => {
                self.has_allocation = true;
                Measure::AllocatedBytes
            }
            Kind::InBuffer | Kind::OutsideBuffer => {
                let sum = self.buffers.entry((trace, class)).or_default();
                *sum = sum.saturating_add(cost.sum);
                return;
            }
            Kind::Live => {
                builder.add(Measure::LiveObjects, trace, class, cost.count);
                Measure::LiveBytes
            }
            Kind::Lock => Measure::Contention,
            Kind::Wait => Measure::Waits,
        };
        builder.add(measure, trace, class, cost.sum);
    }

    /// Adds what no better account is there of. Samples of CPU time are samples like others, and
    /// buffers are made for what is allocated.
    pub(super) fn choose(self, builder: &mut Builder) {
        if !self.has_execution {
            for (trace, count) in self.cpu_samples {
                builder.add(Measure::Samples, trace, None, count);
            }
        }
        if !self.has_allocation {
            for ((trace, class), bytes) in self.buffers {
                builder.add(Measure::AllocatedBytes, trace, class, bytes);
            }
        }
    }
}

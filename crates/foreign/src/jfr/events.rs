//! The events that cost something, summed by the numbers that they state.

use hprof_format::ids::TraceSerial;
use hprof_stacks::Measure;
use rustc_hash::FxHashMap;

use super::bytes::Cursor;
use super::chunk::Head;
use super::facts::{self, Fact};
use super::metadata::{TypeId, Unit};
use super::moments::Account;
use super::plan::{Found, Plan, Plans, Role, Value};
use super::write::SPREAD;
use crate::builder::{Builder, ClassIndex};
use crate::{Others, Part};

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A thread that ran Java code, or any sample of async-profiler before 4.0.
    Execution,
    /// A thread in native code, running or not.
    Native,
    /// A thread that had used CPU time (JDK 25).
    CpuTime,
    /// A thread that ran, whatever its state is called (Datadog).
    Running,
    /// Any thread (async-profiler 4.0, Datadog).
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
    /// A parked thread: it waits for a lock, or for an event.
    Park,
    /// A wait for a notification.
    Wait,
    /// Memory that native code allocated (async-profiler).
    NativeMemory,
    /// A wait for a lock of native code (async-profiler).
    NativeLock,
}

impl Kind {
    /// Fields of which an event of this kind has one; without them its cost is not known.
    const fn costs(self) -> &'static [Role] {
        match self {
            Self::Execution | Self::Native | Self::Running | Self::Wall => &[],
            Self::CpuTime => &[Role::Period],
            Self::Allocation | Self::Live | Self::NativeMemory => &[Role::Size, Role::Weight],
            Self::InBuffer => &[Role::Size, Role::Tlab],
            Self::OutsideBuffer => &[Role::Size],
            Self::Lock | Self::Park | Self::Wait | Self::NativeLock => &[Role::Duration],
        }
    }

    /// Returns whether events that are read like this are of this kind.
    fn is_laid_out_as(self, plan: &Plan) -> bool {
        let costs = self.costs();
        plan.has(Role::Stack) && (costs.is_empty() || costs.iter().any(|&role| plan.has(role)))
    }
}

/// The events by name.
pub(super) const KINDS: [(&str, Kind); 17] = [
    ("jdk.ExecutionSample", Kind::Execution),
    ("jdk.NativeMethodSample", Kind::Native),
    ("jdk.CPUTimeSample", Kind::CpuTime),
    ("profiler.WallClockSample", Kind::Wall),
    ("jdk.ObjectAllocationSample", Kind::Allocation),
    ("jdk.ObjectAllocationInNewTLAB", Kind::InBuffer),
    ("jdk.ObjectAllocationOutsideTLAB", Kind::OutsideBuffer),
    ("profiler.LiveObject", Kind::Live),
    ("jdk.JavaMonitorEnter", Kind::Lock),
    ("jdk.ThreadPark", Kind::Park),
    ("jdk.JavaMonitorWait", Kind::Wait),
    ("profiler.Malloc", Kind::NativeMemory),
    ("profiler.NativeLock", Kind::NativeLock),
    ("datadog.ExecutionSample", Kind::Running),
    ("datadog.MethodSample", Kind::Wall),
    ("datadog.ObjectSample", Kind::Allocation),
    ("datadog.HeapLiveObject", Kind::Live),
];

/// True for events that cost something, however they are laid out.
pub(super) fn is_cost(event: &str) -> bool {
    KINDS.iter().any(|(name, _)| *name == event)
}

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
    /// The place among the sums, in the order of the first events.
    pub(super) place: u32,
    pub(super) count: u64,
    pub(super) sum: u64,
}

/// The events of a chunk.
pub(super) struct Events {
    /// Places in `types`.
    index: FxHashMap<TypeId, u32>,
    pub(super) types: Vec<EventType>,
    head: Head,
    part: Part,
    /// The times of events mean nothing.
    is_spread: bool,
    /// Events that are in no part of the time, as theirs is not known, by kind.
    pub(super) timeless: Vec<Kind>,
    pub(super) costs: FxHashMap<Key, Cost>,
    /// The events with their times, if these are wanted: the place of the sum, the time, the cost.
    pub(super) times: Vec<(u32, i64, u64)>,
    /// The nanoseconds between samples of execution, if the recording says.
    pub(super) sample_nanos: Option<u64>,
    settings: FxHashMap<TypeId, Plan>,
    collections: Vec<TypeId>,
    dumps: Vec<TypeId>,
    /// Events with stacks, or of a name that costs something, which are not taken in.
    pub(super) not_shown: FxHashMap<TypeId, u64>,
}

impl Events {
    pub(super) fn new(plans: &mut Plans<'_>, head: &Head, part: Part) -> Self {
        let is_spread = plans.metadata.named(SPREAD).next().is_some();
        let settings: Vec<TypeId> = plans.metadata.named(SETTING).collect();
        let settings = settings.into_iter();
        let settings = settings.filter_map(|id| Some((id, plans.get(id)?)));
        let mut events = Self {
            index: FxHashMap::default(),
            types: Vec::new(),
            head: head.clone(),
            part,
            is_spread,
            timeless: Vec::new(),
            costs: FxHashMap::default(),
            times: Vec::new(),
            sample_nanos: None,
            settings: settings.collect(),
            collections: plans.metadata.named(facts::COLLECTION).collect(),
            dumps: plans.metadata.named(facts::THREAD_DUMP).collect(),
            not_shown: FxHashMap::default(),
        };
        let with_stacks = plans
            .metadata
            .with_field(STACK_FIELD)
            .map(|(id, _)| (id, 0));
        events.not_shown.extend(with_stacks);
        for (name, kind) in KINDS {
            let ids: Vec<TypeId> = plans.metadata.named(name).collect();
            for id in ids {
                let plan = plans.get(id);
                let Some(plan) = plan.filter(|plan| kind.is_laid_out_as(plan)) else {
                    events.not_shown.insert(id, 0);
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
            if let Some(count) = self.not_shown.get_mut(&type_id) {
                *count += 1;
            }
            if self.settings.contains_key(&type_id) {
                return self.setting(type_id, body);
            }
            return Some(());
        };
        let EventType { kind, plan, .. } = &self.types[place as usize];
        let kind = *kind;
        if self.is_spread && self.part.window.is_some() {
            if !self.timeless.contains(&kind) {
                self.timeless.push(kind);
            }
            return Some(());
        }
        let mut key = Key {
            event: place,
            ..Key::default()
        };
        let (mut size, mut buffer, mut samples) = (None, 0, 1);
        let (mut weight, mut factor) = (None, None);
        let (mut nanos, mut start) = (0, None);
        let ticks = self.head.ticks_per_second;
        plan.walk(&mut body, &mut |found| {
            let Found::Field(role, value) = found else {
                return;
            };
            let entry = match value {
                Value::Number(key, _) => key,
                Value::Time(..) | Value::Float(_) | Value::Text(_) => 0,
            };
            match role {
                Role::Stack => key.stack = entry,
                Role::Thread => key.thread = entry,
                Role::State => key.state = entry,
                Role::Class => key.class = entry,
                Role::Size => size = Some(value.number()),
                Role::Weight => match value {
                    Value::Float(value) => factor = Some(value),
                    value => weight = Some(value.number()),
                },
                Role::Tlab => buffer = value.number(),
                Role::Samples => samples = value.number(),
                Role::Duration | Role::Period => nanos = in_nanos(value, ticks),
                Role::StartTime => start = Some(value.number()),
                _ => {}
            }
        })?;
        let start = start.unwrap_or(self.head.start_ticks);
        let at = self.head.wall(start);
        if let Some(window) = self.part.window {
            match kind {
                // What lasts costs what of it is in the window.
                Kind::Lock | Kind::Park | Kind::Wait | Kind::NativeLock if nanos > 0 => {
                    nanos = window.overlap(at, nanos);
                    if nanos == 0 {
                        return Some(());
                    }
                }
                _ if !window.contains(at) => return Some(()),
                _ => {}
            }
        }
        let cost = match kind {
            Kind::Execution | Kind::Native => 1,
            // Datadog's samples stand for several of a thread that stays where it is.
            Kind::Running | Kind::Wall => match weight {
                Some(weight @ 1..) => weight,
                _ => samples,
            },
            Kind::Allocation | Kind::OutsideBuffer | Kind::Live | Kind::NativeMemory => {
                match (size, factor) {
                    // The bytes that one sample stands for: its size and the inverse of its chance.
                    (Some(size), Some(factor)) => (size as f64 * f64::from(factor).max(1.0)) as u64,
                    (Some(size), None) if weight.is_none() => size,
                    _ => weight.or(size).unwrap_or(0),
                }
            }
            // async-profiler says 0 for a buffer that is no larger.
            Kind::InBuffer if buffer == 0 => size.unwrap_or(0),
            Kind::InBuffer => buffer,
            Kind::CpuTime | Kind::Lock | Kind::Park | Kind::Wait | Kind::NativeLock => nanos,
        };
        let place = self.costs.len() as u32;
        let costs = self.costs.entry(key).or_insert(Cost {
            place,
            count: 0,
            sum: 0,
        });
        if self.part.with_times && !self.is_spread {
            self.times.push((costs.place, at, cost));
        }
        costs.count += 1;
        costs.sum = costs.sum.saturating_add(cost);
        Some(())
    }

    /// Looks at a setting: the time between samples of execution is one.
    fn setting(&mut self, type_id: TypeId, mut body: Cursor<'_>) -> Option<()> {
        let plan = self.settings.get(&type_id)?;
        let (mut of, mut name, mut value) = (None, None, None);
        plan.walk(&mut body, &mut |found| match found {
            Found::Field(Role::Fact(Fact::Id), id) => of = Some(id.number()),
            Found::Field(Role::Name, Value::Text(text)) => name = Some(text),
            Found::Field(Role::Fact(Fact::Value), Value::Text(text)) => value = Some(text),
            Found::Field(..) | Found::ElementEnd => {}
        })?;
        let of = of.and_then(|of| u32::try_from(of).ok()).map(TypeId);
        let kind = of.and_then(|of| self.types.get(*self.index.get(&of)? as usize));
        let is_of_execution = kind.is_some_and(|it| it.kind == Kind::Execution);
        if let (true, Some(name), Some(value)) = (is_of_execution, name, value)
            && ["period", "interval"].contains(&&*name.decode())
        {
            self.sample_nanos = interval(&value.decode()).or(self.sample_nanos);
        }
        Some(())
    }
}

/// The event that states a setting of the recording.
const SETTING: &str = "jdk.ActiveSetting";

/// The nanoseconds of a time as settings state it: `20 ms` of the JDK, nanoseconds alone of async-profiler. `None` if it is no
/// time, or 0.
pub fn interval(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), "ns"));
    let factor = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let nanos = number.parse::<u64>().ok()?.checked_mul(factor)?;
    (nanos > 0).then_some(nanos)
}

/// The field by which an event refers to a stack.
const STACK_FIELD: &str = "stackTrace";

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

/// Which clock a sample of execution was taken by, as far as the thread's state shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// That of CPU time.
    Cpu,
    /// That of the wall, whatever the thread did.
    Wall,
    /// That of the wall, as the thread did not run.
    Sleeping,
    /// One of both: the thread ran. async-profiler before 2.0 has one state for both.
    CpuOrWall,
}

/// Costs of which a file may hold two accounts. They are summed apart, until the end of the file
/// shows whether the better one is there.
#[derive(Default)]
pub(super) struct Choice {
    has_execution: bool,
    has_allocation: bool,
    /// A thread that did not run was sampled by a profiler that does not say which samples are of CPU time.
    has_sleepers: bool,
    /// Samples of that profiler of threads that ran.
    runners: FxHashMap<TraceSerial, u64>,
    cpu_samples: FxHashMap<TraceSerial, u64>,
    buffers: FxHashMap<(TraceSerial, Option<ClassIndex>), u64>,
}

/// The accounts that count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chosen {
    /// The measure of samples whose clock is not stated.
    pub(super) runners: Measure,
    /// Samples of CPU time count as samples too.
    pub(super) has_cpu_samples: bool,
    /// Buffers count as allocation.
    pub(super) has_buffers: bool,
}

impl Choice {
    /// Adds the events of one kind at a trace; gives the account to which their costs go.
    pub(super) fn add(
        &mut self,
        builder: &mut Builder,
        kind: Kind,
        clock: Clock,
        trace: TraceSerial,
        class: Option<ClassIndex>,
        cost: Cost,
    ) -> Account {
        let measure = match kind {
            Kind::Execution | Kind::Running => match clock {
                Clock::Cpu => {
                    self.has_execution = true;
                    Measure::Samples
                }
                Clock::Wall => Measure::Wall,
                Clock::Sleeping => {
                    self.has_sleepers = true;
                    Measure::Wall
                }
                Clock::CpuOrWall => {
                    *self.runners.entry(trace).or_default() += cost.sum;
                    return Account::Runners;
                }
            },
            Kind::Native => Measure::NativeSamples,
            Kind::CpuTime => {
                *self.cpu_samples.entry(trace).or_default() += cost.count;
                builder.add(Measure::Time, trace, class, cost.sum);
                return Account::CpuTime;
            }
            Kind::Wall => Measure::Wall,
            Kind::Allocation => {
                self.has_allocation = true;
                Measure::AllocatedBytes
            }
            Kind::InBuffer | Kind::OutsideBuffer => {
                let sum = self.buffers.entry((trace, class)).or_default();
                *sum = sum.saturating_add(cost.sum);
                return Account::Buffers;
            }
            Kind::Live => {
                builder.add(Measure::LiveObjects, trace, class, cost.count);
                Measure::LiveBytes
            }
            // Of a class that is not known, it may be a lock; `resolve` knows the others.
            Kind::Lock | Kind::Park => Measure::Contention,
            Kind::Wait => Measure::Waits,
            Kind::NativeMemory => Measure::NativeBytes,
            Kind::NativeLock => Measure::NativeLock,
        };
        builder.add(measure, trace, class, cost.sum);
        Account::Measure(measure)
    }

    /// Adds what no better account is there of. Samples of CPU time are samples like others, and
    /// buffers are made for what is allocated.
    pub(super) fn choose(mut self, builder: &mut Builder) -> Chosen {
        self.has_execution |= !self.runners.is_empty() && !self.has_sleepers;
        let measure = match self.has_sleepers {
            true => Measure::Wall,
            false => Measure::Samples,
        };
        let chosen = Chosen {
            runners: measure,
            has_cpu_samples: !self.has_execution,
            has_buffers: !self.has_allocation,
        };
        for (trace, count) in self.runners {
            builder.add(measure, trace, None, count);
        }
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
        chosen
    }
}

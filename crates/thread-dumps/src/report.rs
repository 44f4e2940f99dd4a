//! The tables of dumps: the last one in groups, and the changes since the first.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::deadlocks::{self, Deadlock};
use crate::frames::StackId;
use crate::model::{Dump, Lock, Source, State, Thread, WaitKind};
use crate::moved::{self, Moved};
use crate::pools;
use crate::read::Dumps;

/// Threads that are listed one by one.
const MAX_THREADS: usize = 20_000;
/// Groups, pools and locks that are listed.
const MAX_ROWS: usize = 5_000;
/// Names of threads in a row.
const MAX_NAMES: usize = 20;

/// A dump in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DumpFacts {
    /// Its form.
    pub source: Source,
    /// When it was taken, as it says.
    pub time: Option<String>,
    /// The JVM, as it says.
    pub jvm: Option<String>,
    /// All threads.
    pub threads: usize,
    /// Virtual threads among them.
    pub virtual_threads: usize,
    /// Virtual threads of which the dump has neither state nor locks, as JDK 21 to 23 write none: a deadlock of theirs is
    /// not seen.
    pub without_locks: usize,
    /// True if it ends in the middle.
    pub is_cut: bool,
    /// Threads by state.
    pub states: BTreeMap<State, usize>,
}

/// Threads with equal stacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StackGroup {
    /// How many there are.
    pub threads: usize,
    /// Their states.
    pub states: BTreeMap<State, usize>,
    /// Names of some.
    pub names: Vec<String>,
    /// Their CPU time in milliseconds, if the dump has it.
    pub cpu_ms: Option<f64>,
    /// The frames, innermost first; none for threads of the JVM itself.
    pub frames: Vec<String>,
}

/// Threads whose names differ in a number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolRow {
    /// The name with `*` for the number, or the container that a JSON dump names.
    pub name: String,
    /// How many there are.
    pub threads: usize,
    /// Their states.
    pub states: BTreeMap<State, usize>,
    /// Their CPU time in milliseconds, if the dump has it.
    pub cpu_ms: Option<f64>,
    /// The innermost frame that most of them have.
    pub frame: String,
}

/// A lock that threads wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockRow {
    /// The lock.
    #[serde(flatten)]
    pub lock: Lock,
    /// The name of the thread that holds it; none if no thread does, or the dump does not show it.
    pub owner: Option<String>,
    /// The innermost frame of that thread.
    pub owner_frame: Option<String>,
    /// How many threads wait for it.
    pub waiting: usize,
    /// Names of some.
    pub names: Vec<String>,
}

/// A thread in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadRow {
    /// Its name.
    pub name: String,
    /// Its number in Java.
    pub id: Option<u64>,
    /// Its number for the operating system.
    pub os_id: Option<u64>,
    /// Its state.
    pub state: State,
    /// True if it is virtual.
    pub is_virtual: bool,
    /// CPU time so far, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// The time since its start, in milliseconds.
    pub elapsed_ms: Option<f64>,
    /// The place of its group in the list of stacks, if that has it.
    pub stack: Option<usize>,
    /// The lock that it waits for.
    pub waits_for: Option<Lock>,
    /// The name of the thread that holds that.
    pub owner: Option<String>,
    /// The locks that it holds.
    pub holds: Vec<Lock>,
}

/// The tables of all dumps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// All dumps.
    pub dumps: Vec<DumpFacts>,
    /// Deadlocks of the last dump.
    pub deadlocks: Vec<Deadlock>,
    /// Locks of the last dump that threads wait for and another holds, or several wait for; most waiting first.
    pub locks: Vec<LockRow>,
    /// Threads of the last dump with equal stacks, the largest group first.
    pub stacks: Vec<StackGroup>,
    /// Pools of the last dump, the largest first.
    pub pools: Vec<PoolRow>,
    /// Threads of the last dump.
    pub threads: Vec<ThreadRow>,
    /// Threads that are not in the list.
    pub threads_left_out: usize,
    /// The changes from the first dump to the last.
    pub moved: Option<Moved>,
}

impl Report {
    /// The report on some dumps.
    pub fn of(dumps: &Dumps) -> Self {
        let mut report = Self {
            dumps: dumps.dumps.iter().map(facts).collect(),
            deadlocks: Vec::new(),
            locks: Vec::new(),
            stacks: Vec::new(),
            pools: Vec::new(),
            threads: Vec::new(),
            threads_left_out: 0,
            moved: moved::of(dumps),
        };
        let Some(last) = dumps.dumps.last() else {
            return report;
        };
        let owners = deadlocks::owners(last);
        report.deadlocks = deadlocks::all(last, &dumps.frames);
        report.locks = locks(dumps, last, &owners);
        let (stacks, places) = stacks(dumps, last);
        report.stacks = stacks;
        report.pools = pools(dumps, last);
        report.threads_left_out = last.threads.len().saturating_sub(MAX_THREADS);
        let rows = last.threads.iter().zip(&owners).take(MAX_THREADS);
        report.threads = rows
            .map(|(thread, owner)| ThreadRow {
                name: thread.name.clone(),
                id: thread.id,
                os_id: thread.os_id,
                state: thread.state,
                is_virtual: thread.is_virtual,
                cpu_ms: thread.cpu_ms,
                elapsed_ms: thread.elapsed_ms,
                stack: places.get(&thread.stack).copied(),
                waits_for: thread.wait.as_ref().map(|wait| wait.lock.clone()),
                owner: owner.map(|owner| last.threads[owner].name.clone()),
                holds: thread.holds.clone(),
            })
            .collect();
        report
    }
}

fn facts(dump: &Dump) -> DumpFacts {
    DumpFacts {
        source: dump.source,
        time: dump.time.clone(),
        jvm: dump.jvm.clone(),
        threads: dump.threads.len(),
        virtual_threads: dump.threads.iter().filter(|it| it.is_virtual).count(),
        without_locks: dump.threads.iter().filter(|it| lacks_locks(it)).count(),
        is_cut: dump.is_cut,
        states: states(dump.threads.iter()),
    }
}

fn lacks_locks(thread: &Thread) -> bool {
    thread.is_virtual && thread.state == State::Unknown
}

fn states<'a>(threads: impl Iterator<Item = &'a Thread>) -> BTreeMap<State, usize> {
    let mut states = BTreeMap::new();
    for thread in threads {
        *states.entry(thread.state).or_default() += 1;
    }
    states
}

/// The sum of CPU times, if any thread has one.
fn cpu(threads: &[&Thread]) -> Option<f64> {
    let times = threads.iter().filter_map(|thread| thread.cpu_ms);
    times.reduce(|one, other| one + other)
}

fn names(threads: &[&Thread]) -> Vec<String> {
    let names = threads.iter().take(MAX_NAMES);
    let named = names.map(|thread| match (&*thread.name, thread.id) {
        ("", Some(id)) => format!("virtual #{id}"),
        (name, _) => name.to_owned(),
    });
    named.collect()
}

/// The groups, and the place of each stack among them.
fn stacks(dumps: &Dumps, dump: &Dump) -> (Vec<StackGroup>, FxHashMap<StackId, usize>) {
    let mut groups: BTreeMap<StackId, Vec<&Thread>> = BTreeMap::new();
    for thread in &dump.threads {
        groups.entry(thread.stack).or_default().push(thread);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, threads)| std::cmp::Reverse(threads.len()));
    groups.truncate(MAX_ROWS);
    let places = groups.iter().enumerate();
    let places = places.map(|(place, (stack, _))| (*stack, place)).collect();
    let rows = groups.into_iter().map(|(stack, threads)| StackGroup {
        threads: threads.len(),
        states: states(threads.iter().copied()),
        names: names(&threads),
        cpu_ms: cpu(&threads),
        frames: dumps.frames.of(stack).map(str::to_owned).collect(),
    });
    (rows.collect(), places)
}

fn pools(dumps: &Dumps, dump: &Dump) -> Vec<PoolRow> {
    let mut pools: BTreeMap<String, Vec<&Thread>> = BTreeMap::new();
    for thread in &dump.threads {
        let name = match (&thread.container, &*thread.name) {
            (Some(container), _) => container.clone(),
            (None, "") => "(virtual threads without a name)".to_owned(),
            (None, name) => pools::of(name),
        };
        pools.entry(name).or_default().push(thread);
    }
    let mut rows: Vec<PoolRow> = pools
        .into_iter()
        .map(|(name, threads)| {
            let mut frames: FxHashMap<&str, usize> = FxHashMap::default();
            for thread in &threads {
                if let Some(frame) = dumps.frames.of(thread.stack).next() {
                    *frames.entry(frame).or_default() += 1;
                }
            }
            let most = frames
                .into_iter()
                .max_by_key(|&(frame, count)| (count, frame));
            PoolRow {
                threads: threads.len(),
                states: states(threads.iter().copied()),
                cpu_ms: cpu(&threads),
                frame: most.map_or("", |(frame, _)| frame).to_owned(),
                name,
            }
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.threads));
    rows.truncate(MAX_ROWS);
    rows
}

fn locks(dumps: &Dumps, dump: &Dump, owners: &[Option<usize>]) -> Vec<LockRow> {
    let mut waiting: BTreeMap<&Lock, (Vec<&Thread>, Option<usize>)> = BTreeMap::new();
    for (thread, owner) in dump.threads.iter().zip(owners) {
        // Who waits to be notified does not wait for the lock.
        let wait = thread.wait.as_ref();
        if let Some(wait) = wait.filter(|it| it.kind != WaitKind::Notify) {
            let (threads, found) = waiting.entry(&wait.lock).or_default();
            threads.push(thread);
            *found = found.or(*owner);
        }
    }
    let is_contended =
        |threads: &[&Thread], owner: &Option<usize>| owner.is_some() || threads.len() > 1;
    let rows = waiting.into_iter();
    let mut rows: Vec<LockRow> = rows
        .filter(|(_, (threads, owner))| is_contended(threads, owner))
        .map(|(lock, (threads, owner))| {
            let owner = owner.map(|owner| &dump.threads[owner]);
            let frame = owner.and_then(|owner| dumps.frames.of(owner.stack).next());
            LockRow {
                lock: lock.clone(),
                owner: owner.map(|owner| owner.name.clone()),
                owner_frame: frame.map(str::to_owned),
                waiting: threads.len(),
                names: names(&threads),
            }
        })
        .collect();
    rows.sort_by_key(|row| (row.owner.is_none(), std::cmp::Reverse(row.waiting)));
    rows.truncate(MAX_ROWS);
    rows
}

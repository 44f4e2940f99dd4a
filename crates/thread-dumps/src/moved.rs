//! Several dumps of one program together: who used CPU time, and who did not move.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::deadlocks;
use crate::model::{Dump, State, Thread};
use crate::read::Dumps;

/// Rows of each list.
const MAX_ROWS: usize = 200;

/// A thread that used CPU time between the first and the last dump.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Busy {
    /// Its name.
    pub name: String,
    /// CPU time between the dumps, in milliseconds.
    pub cpu_ms: f64,
    /// Its share of the time between the dumps, from 0 to 1, if that is known.
    pub share: Option<f64>,
    /// The innermost frame in the last dump.
    pub frame: String,
}

/// A thread whose stack is equal in all dumps, and that does not wait for work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stuck {
    /// Its name.
    pub name: String,
    /// Its state in the last dump.
    pub state: State,
    /// The innermost frame.
    pub frame: String,
    /// The name of the thread that holds what it waits for.
    pub owner: Option<String>,
    /// CPU time between the dumps, in milliseconds.
    pub cpu_ms: Option<f64>,
}

/// The changes from the first dump to the last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// The time between them in milliseconds, by the age of a thread that is in both.
    pub elapsed_ms: Option<f64>,
    /// Threads that are in the last only.
    pub started: usize,
    /// Threads that are in the first only.
    pub ended: usize,
    /// Threads with the same stack in all dumps that wait, and for no lock that another holds.
    pub idle: usize,
    /// Threads by the CPU time that they used between the dumps.
    pub busy: Vec<Busy>,
    /// Threads that run or wait for a lock, and have the same stack in all dumps.
    pub stuck: Vec<Stuck>,
}

/// A native method that waits for work although its thread counts as running.
const IDLE: &str = "java.lang.ref.Reference.waitForReferencePendingList(";

type Identity<'a> = (Option<u64>, Option<u64>, &'a str);

fn by_identity(dump: &Dump) -> FxHashMap<Identity<'_>, &Thread> {
    let threads = dump.threads.iter();
    threads.map(|thread| (thread.identity(), thread)).collect()
}

/// The changes over these dumps, if they are several.
pub(crate) fn of(dumps: &Dumps) -> Option<Moved> {
    let [first, .., last] = &dumps.dumps[..] else {
        return None;
    };
    let earlier: Vec<_> = dumps.dumps[..dumps.dumps.len() - 1]
        .iter()
        .map(by_identity)
        .collect();
    let of_first = earlier.first()?;
    let innermost = |thread: &Thread| {
        let frame = dumps.frames.of(thread.stack).next();
        frame.unwrap_or_default().to_owned()
    };
    let owners = deadlocks::owners(last);
    let elapsed_ms = last.threads.iter().find_map(|thread| {
        let before = of_first.get(&thread.identity())?.elapsed_ms?;
        Some(thread.elapsed_ms? - before).filter(|elapsed| *elapsed > 0.0)
    });
    let mut moved = Moved {
        elapsed_ms,
        started: 0,
        ended: 0,
        idle: 0,
        busy: Vec::new(),
        stuck: Vec::new(),
    };
    let mut stayed = 0;
    for (index, thread) in last.threads.iter().enumerate() {
        let Some(before) = of_first.get(&thread.identity()) else {
            moved.started += 1;
            continue;
        };
        stayed += 1;
        let cpu_ms = thread
            .cpu_ms
            .zip(before.cpu_ms)
            .map(|(now, then)| now - then);
        if let Some(cpu_ms) = cpu_ms.filter(|cpu| *cpu > 0.0) {
            moved.busy.push(Busy {
                name: thread.name.clone(),
                cpu_ms,
                share: elapsed_ms.map(|elapsed| cpu_ms / elapsed),
                frame: innermost(thread),
            });
        }
        let is_same = |dump: &FxHashMap<_, &Thread>| {
            let other = dump.get(&thread.identity());
            other.is_some_and(|other| other.stack == thread.stack)
        };
        let has_stack = dumps.frames.of(thread.stack).next().is_some();
        if !has_stack || !earlier.iter().all(is_same) {
            continue;
        }
        let owner = owners[index].map(|owner| last.threads[owner].name.clone());
        let frame = innermost(thread);
        let runs =
            matches!(thread.state, State::Runnable | State::Blocked) && !frame.contains(IDLE);
        let is_stuck = owner.is_some() || runs;
        if !is_stuck {
            moved.idle += 1;
        } else if moved.stuck.len() < MAX_ROWS {
            moved.stuck.push(Stuck {
                name: thread.name.clone(),
                state: thread.state,
                frame,
                owner,
                cpu_ms,
            });
        }
    }
    moved.ended = first.threads.len().saturating_sub(stayed);
    moved.busy.sort_by(|a, b| b.cpu_ms.total_cmp(&a.cpu_ms));
    moved.busy.truncate(MAX_ROWS);
    Some(moved)
}

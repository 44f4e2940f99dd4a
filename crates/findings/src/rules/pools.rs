//! Pools whose threads all wait inside of tasks.

use std::collections::BTreeMap;

use hprof_stacks::Frame;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::{Recorded, Wait, Waited};
use crate::units::percent;

/// The pool whose threads waited most inside of tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StarvedPool {
    /// The names of its threads, with a `*` for their number.
    pub pool: Option<String>,
    /// Its threads.
    pub threads: u64,
    /// The share of their time in which they waited inside of tasks.
    pub blocked_share: f64,
    /// Of that, the share of waits for the results of other tasks.
    pub for_tasks_share: f64,
    /// The line that waits.
    pub place: Option<Place>,
}

/// The name of a thread without its number.
fn pool_of(thread: &str) -> Option<String> {
    let name = thread.trim_end_matches(|it: char| it.is_ascii_digit());
    (name.len() < thread.len() && !name.is_empty()).then(|| format!("{name}*"))
}

fn is_worker(frame: &Frame) -> bool {
    matches!(
        (&*frame.class_name, &*frame.method),
        ("java.util.concurrent.ThreadPoolExecutor", "runWorker")
            | ("java.util.concurrent.ForkJoinPool", "runWorker")
    )
}

fn waits_for_task(frame: &Frame) -> bool {
    matches!(
        (&*frame.class_name, &*frame.method),
        ("java.util.concurrent.FutureTask", "get" | "awaitDone")
            | (
                "java.util.concurrent.CompletableFuture",
                "get" | "join" | "waitingGet" | "timedGet"
            )
            | ("java.util.concurrent.CountDownLatch", "await")
            | (
                "java.util.concurrent.ForkJoinTask",
                "get" | "join" | "awaitDone"
            )
            | (
                "java.util.concurrent.AbstractExecutorService",
                "invokeAll" | "invokeAny"
            )
    )
}

impl Figures for StarvedPool {
    const RULE: &'static str = "starved-pool";
    const NEEDS: &'static [&'static str] =
        &["jdk.ThreadPark", "jdk.ThreadSleep", "jdk.JavaMonitorEnter"];

    fn of(recorded: &Recorded) -> Self {
        let mut pools: BTreeMap<String, Vec<&Wait>> = BTreeMap::new();
        for wait in &recorded.waits {
            let name = wait.thread.and_then(|thread| recorded.threads.get(&thread));
            let pool = name.and_then(|name| pool_of(name));
            if let Some(pool) = pool.filter(|_| wait.why != Waited::Pinned)
                && recorded.has(wait.trace, is_worker)
            {
                pools.entry(pool).or_default().push(wait);
            }
        }
        // All threads of the pools, as those that never wait keep it going.
        let mut sizes: FxHashMap<String, FxHashSet<&str>> = FxHashMap::default();
        for name in recorded.threads.values() {
            if let Some(pool) = pool_of(name) {
                sizes.entry(pool).or_default().insert(name);
            }
        }
        let end = recorded.span.map_or(0, |span| span.to);
        let judge = |(pool, waits): (String, Vec<&Wait>)| {
            let threads = sizes.get(&pool).map_or(0, FxHashSet::len) as u64;
            let begin = waits.iter().map(|it| it.at).min()?;
            let time = end.abs_diff(begin).max(1) as f64 * threads.max(1) as f64;
            // Without a frame of the program the worker waits for a task.
            let blocked = waits.iter().filter(|it| recorded.has_own(it.trace));
            let blocked: Vec<_> = blocked.map(|it| (it.trace, it.nanos)).collect();
            let sum: f64 = blocked.iter().map(|it| it.1).sum();
            let for_tasks = blocked
                .iter()
                .filter(|it| recorded.has(it.0, waits_for_task));
            Some(Self {
                pool: Some(pool),
                threads,
                blocked_share: (sum / time).min(1.0),
                for_tasks_share: for_tasks.map(|it| it.1).sum::<f64>() / sum.max(1.0),
                place: recorded.place(blocked.into_iter()),
            })
        };
        let judged = pools.into_iter().filter_map(judge);
        let judged = judged.filter(|it| it.threads > 1);
        let worst = judged.max_by(|a, b| a.blocked_share.total_cmp(&b.blocked_share));
        worst.unwrap_or_default()
    }

    fn level(&self) -> Level {
        let level = Level::of(self.blocked_share, 0.6, 0.8);
        match self.for_tasks_share > 0.5 {
            true => level,
            // A task that sleeps or reads may be all that the pool is for.
            false => level.min(Level::Warning),
        }
    }

    fn headline(&self) -> String {
        match (&self.pool, self.level()) {
            (None, _) => "No pool has threads that waited inside of tasks.".to_owned(),
            (Some(pool), Level::Ok) => format!(
                "The threads of pool {pool} waited inside of tasks {} of the time.",
                percent(self.blocked_share)
            ),
            (Some(pool), _) => format!(
                "All {} threads of pool {pool} waited inside of tasks {} of the time, so that other tasks had to queue{}.",
                self.threads,
                percent(self.blocked_share),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        match self.for_tasks_share > 0.5 {
            true => "The tasks wait for results of other tasks. If those are in the queue of the same pool, no thread is left to run them."
                .to_owned(),
            false => "A pool has as many tasks at once as threads; here each thread waits rather than works.".to_owned(),
        }
    }

    fn next(&self) -> String {
        match self.for_tasks_share > 0.5 {
            true => "Give subtasks a pool of their own, or chain them with CompletableFuture.thenCompose instead of waiting."
                .to_owned(),
            false => "Make the pool larger for tasks that wait, give these a pool of their own, or run them on virtual threads (JDK 21)."
                .to_owned(),
        }
    }
}

//! Work that is divided into tasks and done on all cores, by a pool of [`rayon`]'s threads.
//!
//! Each thread runs one piece of code with a result of its own and takes tasks in ascending order.
//! Rayon's own iterators halve a range and start in its middle instead, with a result for each
//! part: that would hold far more of a dump's counts in memory, and touch its file all over.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use rayon::slice::ParallelSliceMut;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::trace::Seen;

/// The tasks that no thread has taken, in ascending order. All threads take from the same ones.
pub(crate) struct Tasks<'a> {
    next: &'a AtomicUsize,
    end: usize,
}

impl Iterator for Tasks<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        crate::gate::pass();
        let task = self.next.fetch_add(1, Ordering::Relaxed);
        (task < self.end).then_some(task)
    }
}

/// Runs `work` once on each thread and gives what each has returned. The tasks are numbered from 0
/// up to `tasks`. `threads` is the number of threads, 0 for as many as the machine has; where no
/// threads can be started, the calling one does it all.
pub(crate) fn run<P: Send>(
    threads: usize,
    tasks: usize,
    work: impl Fn(Tasks<'_>) -> P + Sync,
) -> Vec<P> {
    let next = AtomicUsize::new(0);
    let all = || Tasks {
        next: &next,
        end: tasks,
    };
    if threads == 1 || tasks <= 1 {
        return vec![work(all())];
    }
    let seen = Seen::here();
    let on_pool = |pool: &ThreadPool| pool.broadcast(|_| seen.follow(|| work(all())));
    match threads {
        0 => match shared_pool() {
            Some(pool) => on_pool(pool),
            None => vec![work(all())],
        },
        _ => match pool_of(threads) {
            Some(pool) => on_pool(&pool),
            None => vec![work(all())],
        },
    }
}

/// Runs two pieces of work side by side, the second one on a thread of its own.
pub fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    let seen = Seen::here();
    let other = Mutex::new(Some(other));
    let run = || {
        let other = other.lock().unwrap_or_else(PoisonError::into_inner).take();
        other.map(|other| seen.follow(other))
    };
    thread::scope(|scope| {
        let beside = thread::Builder::new().name("beside".to_owned());
        let spawned = beside.spawn_scoped(scope, run);
        let made = one();
        let rest = match spawned {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Where no thread can be started, this one does it all.
            Err(_) => run(),
        };
        match rest {
            Some(rest) => (made, rest),
            None => unreachable!("the work runs once, on the one thread or the other"),
        }
    })
}

/// Sorts on all cores; equal elements may change places.
pub(crate) fn sort<T: Ord + Send>(elements: &mut [T]) {
    match shared_pool() {
        Some(pool) => pool.install(|| elements.par_sort_unstable()),
        None => elements.sort_unstable(),
    }
}

/// The number of threads that [`run`] uses.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        wanted => wanted,
    }
}

/// A pool with a thread for each core, which is made once.
fn shared_pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| pool_of(threads(0))).as_ref()
}

fn pool_of(threads: usize) -> Option<ThreadPool> {
    let name = |number| format!("analysis {number}");
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.thread_name(name).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_is_done_once_whatever_the_number_of_threads() {
        for threads in [0, 1, 3] {
            for tasks in [0, 1, 2, 1000] {
                let parts = run(threads, tasks, |tasks| tasks.collect::<Vec<_>>());
                assert!(parts.iter().all(|part| part.is_sorted()));
                let mut all = parts.concat();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..tasks), "{threads} threads");
            }
        }
    }

    #[test]
    fn a_panic_on_one_thread_reaches_the_caller() {
        let caught = std::panic::catch_unwind(|| {
            run(2, 100, |mut tasks| assert!(!tasks.any(|task| task == 50)));
        });
        assert!(caught.is_err());
    }
}

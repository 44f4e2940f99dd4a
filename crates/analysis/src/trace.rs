//! The phases of a long piece of work: which ones run, how far each is, and the time and CPU time of each by thread.
//!
//! A [`Trace`] sees the phases of the threads on which it was [entered](Trace::enter), and of those that
//! work for them: the threads of the pool, and those of [`both`](crate::parallel::both). Code names
//! its phases by [`phase`], which costs next to nothing where no trace listens.
//!
//! CPU time is that of each thread (`CLOCK_THREAD_CPUTIME_ID`, clock_gettime(2)). A phase within another one
//! has its own, which the outer one is without.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

macro_rules! works {
    ($($(#[$doc:meta])* $work:ident: $name:literal, $weight:literal;)*) => {
        /// The phases of opening a heap dump and of a report on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Work {
            $($(#[$doc])* $work,)*
        }

        impl Work {
            /// All of them, in about the order in which they begin.
            pub const ALL: &[Self] = &[$(Self::$work,)*];

            /// The name that is shown.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$work => $name,)*
                }
            }

            /// True for a phase of the opening, without those of a report.
            fn is_of_opening(self) -> bool {
                (self as usize) < Self::DeadObjects as usize
            }

            /// About how many nanoseconds it takes for each object of a heap of some millions. Only the relation of these
            /// numbers matters, for estimates.
            fn weight(self) -> u64 {
                match self {
                    $(Self::$work => $weight,)*
                }
            }
        }
    };
}

works! {
    /// Records outside of heap dumps.
    Outline: "outline of the file", 1;
    /// The first pass over the dump.
    Objects: "objects", 60;
    /// The second pass over the dump.
    References: "references", 70;
    /// The depth-first search from the roots.
    Search: "search from the roots", 70;
    /// References outside of the tree of the search.
    Predecessors: "predecessors", 25;
    /// Immediate dominators.
    Dominators: "dominators", 25;
    /// The layout of the dominator tree.
    Tree: "dominator tree", 50;
    /// Digests of all arrays of primitives.
    Digests: "contents of arrays", 60;
    /// Objects of Android whose life is over; of other dumps there are none.
    DeadObjects: "objects of Android that are dead", 0;
    /// Leak suspects.
    Suspects: "suspects", 30;
    /// Objects whose immediate dominator does not refer to them.
    Joins: "joins", 30;
    /// Retained sizes of classes, packages and loaders.
    RetainedSizes: "retained sizes", 60;
    /// Equal arrays and strings.
    Duplicates: "duplicates", 25;
    /// Memory of direct buffers.
    DirectMemory: "direct memory", 4;
    /// Observations beside the suspects.
    Observations: "observations", 8;
    /// The objects that retain most, and the map of the heap.
    Largest: "largest objects", 8;
    /// Threads with stacks and locals.
    Threads: "threads", 2;
    /// The index file.
    Index: "index", 30;
    /// The objects that a report names.
    Details: "details of objects", 6;
    /// The page, JSON or Markdown.
    Rendering: "page", 3;
}

/// The phases of the threads that it was entered on.
#[derive(Debug, Clone)]
pub struct Trace(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    began: Instant,
    phases: Mutex<Vec<Arc<Phase>>>,
}

#[derive(Debug)]
struct Phase {
    work: Work,
    began: Duration,
    took: OnceLock<Duration>,
    done: AtomicU64,
    /// 0 if it is not known.
    total: u64,
    threads: Mutex<Vec<ThreadTime>>,
}

/// The CPU time of a thread in a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadTime {
    /// The name of the thread.
    pub thread: String,
    /// Its CPU time, in milliseconds.
    pub cpu_ms: f64,
}

/// The times of a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// Its name.
    pub phase: &'static str,
    /// From the start of the trace to that of the phase, in milliseconds.
    pub began_ms: f64,
    /// From its start to its end, in milliseconds.
    pub wall_ms: f64,
    /// The CPU time of all threads, in milliseconds.
    pub cpu_ms: f64,
    /// By thread.
    pub threads: Vec<ThreadTime>,
}

/// How far the work is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The part that is done, from 0 to 1: an estimate.
    pub done: f64,
    /// The time that is left: an estimate, once there is something to go by.
    pub left: Option<Duration>,
    /// The phases that run, the first to begin first, each with the part of it that is done if that is known.
    pub running: Vec<(&'static str, Option<f64>)>,
}

/// The phase of a thread.
struct Place {
    shared: Arc<Shared>,
    phase: Option<Arc<Phase>>,
    /// The CPU time of the thread when it was last added to a phase.
    since: Duration,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn milliseconds(time: Duration) -> f64 {
    // In thousandths, so that sums are not printed with errors of the representation.
    (time.as_secs_f64() * 1e6).round() / 1e3
}

impl Default for Trace {
    fn default() -> Self {
        Self::begin()
    }
}

impl Trace {
    /// A trace without phases, whose clock starts now.
    pub fn begin() -> Self {
        Self(Arc::new(Shared {
            began: Instant::now(),
            phases: Mutex::default(),
        }))
    }

    /// Runs `work`, whose phases the trace sees.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let seen = Seen(Some((Arc::clone(&self.0), None)));
        seen.follow(work)
    }

    /// The times of all phases that have ended, in the order in which they began.
    pub fn timings(&self) -> Vec<Timing> {
        let phases = lock(&self.0.phases);
        let timing = |phase: &Arc<Phase>| {
            let threads = lock(&phase.threads).clone();
            Some(Timing {
                phase: phase.work.name(),
                began_ms: milliseconds(phase.began),
                wall_ms: milliseconds(*phase.took.get()?),
                cpu_ms: (threads.iter().map(|it| it.cpu_ms * 1e3).sum::<f64>()).round() / 1e3,
                threads,
            })
        };
        phases.iter().filter_map(timing).collect()
    }

    /// How far work is that consists of the phases `of`: those that have begun and ended, and those that are
    /// still to come. Once a phase of a report has begun, phases of the opening do not come any more: there was an index.
    pub fn progress(&self, of: &[Work]) -> Progress {
        let phases = lock(&self.0.phases);
        let elapsed = self.0.began.elapsed();
        let last = |work: Work| phases.iter().rev().find(|phase| phase.work == work);
        let is_opened = phases.iter().any(|phase| !phase.work.is_of_opening());
        let (mut done, mut all) = (0.0, 0.0);
        for &work in of {
            let weight = work.weight() as f64;
            match last(work) {
                Some(phase) => {
                    all += weight;
                    done += weight * phase.part_done(elapsed);
                }
                None if is_opened && work.is_of_opening() => {}
                None => all += weight,
            }
        }
        let done = if all > 0.0 { done / all } else { 0.0 };
        let left = (done > 0.05).then(|| elapsed.mul_f64((1.0 - done) / done));
        let running = phases.iter().filter(|phase| phase.took.get().is_none());
        Progress {
            done,
            left,
            running: running
                .map(|phase| (phase.work.name(), phase.known_part()))
                .collect(),
        }
    }
}

impl Phase {
    /// The part that is done, if the phase tells it.
    fn known_part(&self) -> Option<f64> {
        let done = self.done.load(Ordering::Relaxed) as f64;
        (self.total > 0).then(|| (done / self.total as f64).min(1.0))
    }

    /// The part that is done, or a guess: a phase that tells nothing comes nearer to its end without reaching it.
    fn part_done(&self, elapsed: Duration) -> f64 {
        if self.took.get().is_some() {
            return 1.0;
        }
        self.known_part().unwrap_or_else(|| {
            let since = elapsed.saturating_sub(self.began).as_secs_f64();
            let before = self.began.as_secs_f64();
            // Half when it has run for a tenth of all the time before it.
            since / (since + before / 10.0 + 1e-3)
        })
    }

    fn add(&self, cpu: Duration) {
        let current = thread::current();
        let name = current.name().unwrap_or("unnamed");
        let cpu_ms = milliseconds(cpu);
        let mut threads = lock(&self.threads);
        match threads.iter_mut().find(|known| known.thread == name) {
            Some(known) => known.cpu_ms = ((known.cpu_ms + cpu_ms) * 1e3).round() / 1e3,
            None => threads.push(ThreadTime {
                thread: name.to_owned(),
                cpu_ms,
            }),
        }
    }
}

impl Place {
    /// Adds the CPU time since the last call to the present phase, and makes another one the present.
    fn change(&mut self, phase: Option<Arc<Phase>>) -> Option<Arc<Phase>> {
        let now = cpu_time();
        let spent = now.saturating_sub(std::mem::replace(&mut self.since, now));
        if let Some(phase) = &self.phase {
            phase.add(spent);
        }
        std::mem::replace(&mut self.phase, phase)
    }
}

/// Runs a phase: `work`, of `total` steps, which [`advance`] counts; 0 if it does not count them.
pub fn phase<T>(of: Work, total: u64, work: impl FnOnce() -> T) -> T {
    let Some(_running) = Running::begin(of, total) else {
        return work();
    };
    work()
}

/// Counts steps of the present phase.
pub fn advance(steps: u64) {
    PLACE.with_borrow(|place| {
        if let Some(phase) = place.as_ref().and_then(|place| place.phase.as_ref()) {
            phase.done.fetch_add(steps, Ordering::Relaxed);
        }
    });
}

/// A phase of this thread, until it is dropped.
struct Running {
    phase: Arc<Phase>,
    outer: Option<Arc<Phase>>,
    began: Instant,
}

impl Running {
    fn begin(work: Work, total: u64) -> Option<Self> {
        PLACE.with_borrow_mut(|place| {
            let place = place.as_mut()?;
            let began = Instant::now();
            let phase = Arc::new(Phase {
                work,
                began: began.saturating_duration_since(place.shared.began),
                took: OnceLock::new(),
                done: AtomicU64::new(0),
                total,
                threads: Mutex::default(),
            });
            lock(&place.shared.phases).push(Arc::clone(&phase));
            Some(Self {
                outer: place.change(Some(Arc::clone(&phase))),
                phase,
                began,
            })
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        PLACE.with_borrow_mut(|place| {
            if let Some(place) = place {
                place.change(self.outer.take());
            }
        });
        // It is empty until now.
        let _ = self.phase.took.set(self.began.elapsed());
    }
}

/// The trace and phase of a thread, for others that work for it.
#[derive(Clone)]
pub(crate) struct Seen(Option<(Arc<Shared>, Option<Arc<Phase>>)>);

impl Seen {
    /// Those of this thread.
    pub fn here() -> Self {
        Self(PLACE.with_borrow(|place| {
            let place = place.as_ref()?;
            Some((Arc::clone(&place.shared), place.phase.clone()))
        }))
    }

    /// Runs `work` on another thread, as a part of the phase.
    pub fn follow<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some((shared, phase)) = &self.0 else {
            return work();
        };
        let place = Place {
            shared: Arc::clone(shared),
            phase: phase.clone(),
            since: cpu_time(),
        };
        let _entered = Entered(PLACE.replace(Some(place)));
        work()
    }
}

/// Restores the place that a thread had before.
struct Entered(Option<Place>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(mut place) = PLACE.replace(self.0.take()) {
            place.change(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel;

    /// Computes until this thread has used some CPU time.
    fn work_for(milliseconds: u64) {
        let end = cpu_time() + Duration::from_millis(milliseconds);
        while cpu_time() < end {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn each_phase_has_the_cpu_time_of_the_threads_that_worked_for_it() {
        let trace = Trace::begin();
        trace.enter(|| {
            phase(Work::Objects, 0, || {
                work_for(4);
                phase(Work::References, 0, || {
                    parallel::run(2, 2, |tasks| tasks.for_each(|_| work_for(3)));
                });
            });
        });
        // Without a trace, nothing is noted.
        phase(Work::Threads, 0, || work_for(1));
        let found = trace.timings();
        let names: Vec<_> = found.iter().map(|it| it.phase).collect();
        assert_eq!(names, ["objects", "references"]);
        let [objects, references] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(
            objects.cpu_ms >= 4.0 && references.cpu_ms >= 6.0,
            "{found:?}"
        );
        let of_pool = |it: &&ThreadTime| it.thread.starts_with("analysis ");
        assert!(references.threads.iter().filter(of_pool).count() >= 1);
        assert!(objects.threads.iter().filter(of_pool).count() == 0);
        let sum: f64 = references.threads.iter().map(|it| it.cpu_ms).sum();
        assert!((sum - references.cpu_ms).abs() < 0.01, "{found:?}");
        assert!(objects.wall_ms >= references.wall_ms);
    }

    #[test]
    fn progress_counts_the_steps_of_a_phase_and_leaves_out_what_does_not_come() {
        let of = [
            Work::Objects,
            Work::References,
            Work::Suspects,
            Work::Threads,
        ];
        let trace = Trace::begin();
        assert_eq!(trace.progress(&of).done, 0.0);
        let parts = trace.enter(|| {
            phase(Work::Objects, 10, || {
                advance(5);
                trace.progress(&of)
            })
        });
        let all = (60 + 70 + 30 + 2) as f64;
        assert!((parts.done - 30.0 / all).abs() < 1e-9, "{parts:?}");
        assert_eq!(parts.running, [("objects", Some(0.5))]);
        assert!(parts.left.is_some());
        // There are no references, as with an index.
        trace.enter(|| phase(Work::Suspects, 0, || ()));
        let parts = trace.progress(&of);
        assert!((parts.done - 90.0 / 92.0).abs() < 1e-9, "{parts:?}");
        assert_eq!(parts.running, []);
    }
}

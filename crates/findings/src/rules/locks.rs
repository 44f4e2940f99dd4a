//! Threads that wait for locks.

use serde::Serialize;

use super::{Figures, most};
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::{Recorded, Wait, Waited};
use crate::units::{percent, threads, time};

/// Waits for monitors and for locks of `java.util.concurrent`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Locks {
    /// The threads that waited, on average.
    pub waiting: f64,
    /// Their share of the threads that waited or ran.
    pub share: f64,
    /// The number of waits.
    pub count: u64,
    /// The longest, in nanoseconds.
    pub longest_nanos: f64,
    /// The class of the lock for which threads waited most.
    pub class: Option<String>,
    /// That lock's share of the time.
    pub class_share: f64,
    /// The thread that most often had it before, if the recording says.
    pub owner: Option<String>,
    /// The line that waits for it.
    pub place: Option<Place>,
}

/// Returns whether a wait is for a lock, rather than for something to happen.
fn is_lock(wait: &Wait) -> bool {
    match wait.why {
        Waited::Monitor => true,
        Waited::Park => [
            "ReentrantLock$",
            "ReentrantReadWriteLock$",
            "StampedLock",
            "Semaphore$",
        ]
        .iter()
        .any(|lock| wait.of.contains(lock)),
        Waited::Notify | Waited::Sleep | Waited::Io(_) | Waited::Pinned => false,
    }
}

impl Figures for Locks {
    const RULE: &'static str = "locks";
    const NEEDS: &'static [&'static str] = &["jdk.JavaMonitorEnter", "jdk.ThreadPark"];

    fn of(recorded: &Recorded) -> Self {
        let all = || recorded.waits.iter().filter(|it| is_lock(it));
        let waiting = all().map(|it| it.nanos).sum::<f64>() / recorded.nanos();
        let class = most(all().map(|it| (it.of.to_string(), it.nanos)));
        let of_it = || {
            let class = class.as_ref().map_or("", |(class, _)| class);
            all().filter(move |it| *it.of == *class)
        };
        let owners = of_it().filter(|it| !it.owner.is_empty());
        let owner = most(owners.map(|it| (it.owner.to_string(), 1.0)));
        Self {
            waiting,
            share: waiting / (waiting + recorded.running()).max(f64::MIN_POSITIVE),
            count: all().count() as u64,
            longest_nanos: all().map(|it| it.nanos).fold(0.0, f64::max),
            place: recorded.place(of_it().map(|it| (it.trace, it.nanos))),
            owner: owner
                .filter(|(_, share)| *share > 0.5)
                .map(|(owner, _)| owner),
            class_share: class.as_ref().map_or(0.0, |(_, share)| *share),
            class: class
                .map(|(class, _)| class)
                .filter(|class| !class.is_empty()),
        }
    }

    fn level(&self) -> Level {
        match self.share >= 0.1 {
            true => Level::of(self.waiting, 0.2, 1.0),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        let waiting = threads(self.waiting);
        match self.level() {
            Level::Ok => format!("{waiting} on average waited for locks."),
            _ => format!(
                "{waiting} on average waited for locks, {} of the time for {}{}; the longest wait took {}.",
                percent(self.class_share),
                self.class
                    .as_ref()
                    .map_or_else(|| "one class".to_owned(), |class| format!("a {class}")),
                at(self.place.as_ref()),
                time(self.longest_nanos)
            ),
        }
    }

    fn cause(&self) -> String {
        let owner = self.owner.as_ref();
        let owner = owner.map_or_else(String::new, |owner| {
            format!(" Thread \"{owner}\" had it before most of the waits.")
        });
        format!("One thread at a time runs what the lock guards, and the others queue.{owner}")
    }

    fn next(&self) -> String {
        "Do less while the lock is held (no I/O, no waits), or divide the lock: one for each key or part, or a concurrent collection."
            .to_owned()
    }
}

//! Finds owners and deadlocks among threads whose stacks are known.
//!
//! A blocked thread waits for the monitor of an object of its innermost frame: `javac` keeps what
//! a `synchronized` block has locked in the frame's last slot, and a `synchronized` method locks its
//! first. Other threads matter only as far as their stacks refer to that object too. It is said to be
//! held by a thread if that is the only one which refers to it and does not wait for it itself. So
//! threads that queue for a monitor whose owner is not visible are no deadlock.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Deadlock, HeldLock, Lock, LockKind, Locks, ThreadName, Wait};

/// A thread with all that says something of locks.
#[derive(Debug, Clone, Default)]
pub(crate) struct LockThread {
    /// The identifier of its object.
    pub id: u64,
    pub name: Option<String>,
    /// The frame that says most of what it does.
    pub at: Option<String>,
    /// True if it waits to enter a monitor.
    pub is_blocked: bool,
    /// True if it waits for no longer than a given time, so that it is no part of a deadlock.
    pub is_timed: bool,
    /// The synchronizer for which it is parked, if that has an owner.
    pub parked: Option<Parked>,
    /// The objects of its innermost frame, in the order of the frame's slots.
    pub inner: Vec<u64>,
    /// The objects of all its frames.
    pub locals: Vec<u64>,
}

/// A synchronizer with an owner.
#[derive(Debug, Clone)]
pub(crate) struct Parked {
    /// The identifier of its object.
    pub id: u64,
    pub class: String,
    /// The identifier of the owner's thread object.
    pub owner: u64,
}

/// A thread's wait: the lock's object, and the owner by place among the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waits {
    kind: LockKind,
    object: u64,
    owner: usize,
}

/// The slot of the innermost frame that has the monitor.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Last,
    First,
}

/// Finds locks that have owners. `class_of` gives the class of an object.
pub(crate) fn locks(threads: &[LockThread], class_of: impl Fn(u64) -> String) -> Locks {
    let stacks = Stacks::new(threads);
    let mut waits = stacks.waits(Slot::Last);
    let mut circles = circles(&endless(threads, &waits));
    // Blocked where a method is entered, a thread waits for the first object of its frame.
    let is_in_circle =
        |circles: &[Vec<usize>], thread| circles.iter().any(|it| it.contains(&thread));
    let others = stacks.waits(Slot::First);
    for circle in self::circles(&endless(threads, &others)) {
        if !circle.iter().any(|&thread| is_in_circle(&circles, thread)) {
            circle
                .iter()
                .for_each(|&thread| waits[thread] = others[thread]);
            circles.push(circle);
        }
    }
    circles.sort_by_key(|circle| (std::cmp::Reverse(circle.len()), circle.clone()));
    // Beside circles a monitor counts only if the frame leaves no choice.
    for (thread, wait) in waits.iter_mut().enumerate() {
        let is_sure = |wait: &Waits| {
            wait.kind == LockKind::Synchronizer || stacks.candidates(thread).len() == 1
        };
        if !is_in_circle(&circles, thread) {
            *wait = wait.filter(is_sure);
        }
    }
    let endless = endless(threads, &waits);
    let say = Say {
        threads,
        waits: &waits,
        endless: &endless,
        class_of: &class_of,
    };
    Locks {
        deadlocks: circles.iter().map(|circle| say.deadlock(circle)).collect(),
        held: say.held(&circles),
    }
}

/// The threads, and what their stacks refer to.
struct Stacks<'a> {
    threads: &'a [LockThread],
    /// By identifier of the thread object: its place.
    places: FxHashMap<u64, usize>,
    /// By object of the innermost frame of a blocked thread: the threads that refer to it.
    referring: FxHashMap<u64, FxHashSet<usize>>,
}

impl<'a> Stacks<'a> {
    fn new(threads: &'a [LockThread]) -> Self {
        let blocked = threads.iter().filter(|thread| thread.is_blocked);
        let inner = blocked.flat_map(|thread| thread.inner.iter());
        let mut referring: FxHashMap<u64, FxHashSet<usize>> = inner
            .map(|&object| (object, FxHashSet::default()))
            .collect();
        for (place, thread) in threads.iter().enumerate() {
            for object in thread.locals.iter().chain(&thread.inner) {
                if let Some(all) = referring.get_mut(object) {
                    all.insert(place);
                }
            }
        }
        let places = threads.iter().enumerate();
        Self {
            threads,
            places: places.map(|(place, thread)| (thread.id, place)).collect(),
            referring,
        }
    }

    /// The objects whose monitor a blocked thread may wait for, in the order of slots.
    fn candidates(&self, thread: usize) -> Vec<u64> {
        let is_shared = |object: &u64| {
            let all = self.referring.get(object);
            all.is_some_and(|all| all.iter().any(|&other| other != thread))
        };
        let mut found: Vec<u64> = Vec::new();
        for &object in self.threads[thread].inner.iter().filter(|it| is_shared(it)) {
            // The copy that javac makes comes after the variable.
            found.retain(|&known| known != object);
            found.push(object);
        }
        found
    }

    /// The wait of each thread.
    fn waits(&self, slot: Slot) -> Vec<Option<Waits>> {
        let monitors: Vec<Option<u64>> = (self.threads.iter().enumerate())
            .map(|(place, thread)| {
                let is_blocked = thread.is_blocked && thread.parked.is_none();
                let candidates = is_blocked.then(|| self.candidates(place))?;
                match slot {
                    Slot::Last => candidates.last().copied(),
                    Slot::First => candidates.first().copied(),
                }
            })
            .collect();
        let of = |place: usize| {
            if let Some(parked) = &self.threads[place].parked {
                let owner = *self.places.get(&parked.owner)?;
                return (owner != place).then_some(Waits {
                    kind: LockKind::Synchronizer,
                    object: parked.id,
                    owner,
                });
            }
            let monitor = monitors[place]?;
            let referring = self.referring.get(&monitor)?.iter();
            let mut owners =
                referring.filter(|&&other| other != place && monitors[other] != Some(monitor));
            let owner = *owners.next()?;
            owners.next().is_none().then_some(Waits {
                kind: LockKind::Monitor,
                object: monitor,
                owner,
            })
        };
        (0..self.threads.len()).map(of).collect()
    }
}

/// The waits without those that end by themselves.
fn endless(threads: &[LockThread], waits: &[Option<Waits>]) -> Vec<Option<Waits>> {
    let waits = threads.iter().zip(waits);
    waits
        .map(|(thread, wait)| wait.filter(|_| !thread.is_timed))
        .collect()
}

/// The circles of threads that wait for one another, each from its first thread on.
fn circles(waits: &[Option<Waits>]) -> Vec<Vec<usize>> {
    // By thread: 0, or the number of the walk that came to it.
    let mut walk_of = vec![0; waits.len()];
    let mut found = Vec::new();
    for start in 0..waits.len() {
        let mut way = Vec::new();
        let mut next = Some(start);
        while let Some(at) = next.filter(|&at| walk_of[at] == 0) {
            walk_of[at] = start + 1;
            way.push(at);
            next = waits[at].map(|wait| wait.owner);
        }
        let Some(at) = next.filter(|&at| walk_of[at] == start + 1) else {
            continue;
        };
        if let Some(first) = way.iter().position(|&thread| thread == at) {
            let mut circle = way.split_off(first);
            let least = circle.iter().enumerate().min_by_key(|(_, thread)| **thread);
            let least = least.map_or(0, |(position, _)| position);
            circle.rotate_left(least);
            found.push(circle);
        }
    }
    found
}

/// Puts threads and locks into answers.
struct Say<'a, F> {
    threads: &'a [LockThread],
    waits: &'a [Option<Waits>],
    endless: &'a [Option<Waits>],
    class_of: &'a F,
}

impl<F: Fn(u64) -> String> Say<'_, F> {
    fn thread(&self, place: usize) -> ThreadName {
        let thread = &self.threads[place];
        ThreadName {
            object: thread.id,
            name: thread.name.clone(),
            at: thread.at.clone(),
        }
    }

    fn lock(&self, waiter: usize, wait: Waits) -> Lock {
        let class = match &self.threads[waiter].parked {
            Some(parked) => lock_class(&parked.class).to_owned(),
            None => (self.class_of)(wait.object),
        };
        Lock {
            kind: wait.kind,
            class,
            object: wait.object,
        }
    }

    fn deadlock(&self, circle: &[usize]) -> Deadlock {
        let wait = |&place: &usize| {
            let wait = self.waits[place]?;
            Some(Wait {
                thread: self.thread(place),
                lock: self.lock(place, wait),
                owner: self.thread(wait.owner),
            })
        };
        let leads_here = |&place: &usize| {
            let mut at = place;
            // No way is longer than there are threads.
            for _ in 0..self.threads.len() {
                match self.endless[at] {
                    Some(wait) if circle.contains(&wait.owner) => return true,
                    Some(wait) => at = wait.owner,
                    None => return false,
                }
            }
            false
        };
        let others = (0..self.threads.len()).filter(|place| !circle.contains(place));
        Deadlock {
            waits: circle.iter().filter_map(wait).collect(),
            behind: others.filter(leads_here).count() as u64,
        }
    }

    fn held(&self, circles: &[Vec<usize>]) -> Vec<HeldLock> {
        let is_in_circle = |thread: usize| circles.iter().any(|it| it.contains(&thread));
        let mut places: FxHashMap<u64, usize> = FxHashMap::default();
        let mut held: Vec<HeldLock> = Vec::new();
        for (place, wait) in self.waits.iter().enumerate() {
            let Some(wait) = wait.filter(|_| !is_in_circle(place)) else {
                continue;
            };
            let at = *places.entry(wait.object).or_insert_with(|| {
                held.push(HeldLock {
                    lock: self.lock(place, wait),
                    owner: self.thread(wait.owner),
                    waiters: Vec::new(),
                });
                held.len() - 1
            });
            held[at].waiters.push(self.thread(place));
        }
        held.sort_by_key(|it| (std::cmp::Reverse(it.waiters.len()), it.lock.object));
        held
    }
}

/// The lock of a synchronizer: `ReentrantLock$NonfairSync` is that of a `ReentrantLock`.
fn lock_class(class: &str) -> &str {
    let inner = class.strip_prefix("java.util.concurrent.");
    let outer = inner.and_then(|_| class.split('$').next());
    outer.unwrap_or(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(id: u64, inner: &[u64], outer: &[u64]) -> LockThread {
        LockThread {
            id,
            name: Some(format!("t{id}")),
            is_blocked: true,
            inner: inner.to_vec(),
            locals: [inner, outer].concat(),
            ..LockThread::default()
        }
    }

    fn running(id: u64, locals: &[u64]) -> LockThread {
        LockThread {
            is_blocked: false,
            inner: Vec::new(),
            ..blocked(id, &[], locals)
        }
    }

    fn parked(id: u64, lock: u64, owner: u64, locals: &[u64]) -> LockThread {
        LockThread {
            parked: Some(Parked {
                id: lock,
                class: "java.util.concurrent.locks.ReentrantLock$NonfairSync".to_owned(),
                owner,
            }),
            ..running(id, locals)
        }
    }

    /// The deadlocks as `thread>lock`, and the held locks as `lock of owner: waiters`.
    fn found(threads: &[LockThread]) -> (Vec<String>, Vec<String>) {
        let name = |thread: &ThreadName| thread.name.clone().unwrap();
        let locks = locks(threads, |id| format!("C{id}"));
        let deadlocks = locks.deadlocks.iter().map(|deadlock| {
            let waits = deadlock.waits.iter();
            let waits = waits.map(|it| {
                format!(
                    "{}>{}>{}",
                    name(&it.thread),
                    it.lock.object,
                    name(&it.owner)
                )
            });
            format!(
                "{} +{}",
                waits.collect::<Vec<_>>().join(" "),
                deadlock.behind
            )
        });
        let held = locks.held.iter().map(|it| {
            let waiters: Vec<String> = it.waiters.iter().map(name).collect();
            format!(
                "{} of {}: {}",
                it.lock.object,
                name(&it.owner),
                waiters.join(" ")
            )
        });
        (deadlocks.collect(), held.collect())
    }

    #[test]
    fn two_threads_that_wait_for_each_others_monitor_are_a_deadlock() {
        // Both hold their first lock in the frame in which they wait for the second.
        let threads = [
            blocked(1, &[91, 92, 91, 92], &[1]),
            blocked(2, &[92, 91, 92, 91], &[2]),
            blocked(3, &[91], &[]),
            running(4, &[4]),
        ];
        let (deadlocks, held) = found(&threads);
        assert_eq!(deadlocks, ["t1>92>t2 t2>91>t1 +1"]);
        assert_eq!(held, ["91 of t1: t3"]);
    }

    #[test]
    fn threads_that_enter_synchronized_methods_wait_for_their_first_object() {
        let threads = [
            blocked(1, &[92, 7], &[91, 92, 7]),
            blocked(2, &[91, 7], &[92, 91, 7]),
        ];
        assert_eq!(found(&threads).0, ["t1>92>t2 t2>91>t1 +0"]);
    }

    #[test]
    fn threads_that_queue_are_no_deadlock() {
        // The owner is not seen, or shares more with those that wait than the monitor.
        let queue = |owner: LockThread| {
            let waiting = (1..5).map(|id| blocked(id, &[91, 92, 93], &[94]));
            waiting.chain([owner]).collect::<Vec<_>>()
        };
        for owner in [running(9, &[]), running(9, &[91, 92, 93])] {
            let (deadlocks, held) = found(&queue(owner));
            assert!(deadlocks.is_empty(), "{deadlocks:?}");
            assert!(held.is_empty(), "{held:?}");
        }
        let threads = [
            blocked(1, &[91, 5], &[]),
            blocked(2, &[91, 6], &[]),
            running(3, &[91]),
        ];
        assert_eq!(found(&threads).1, ["91 of t3: t1 t2"]);
    }

    #[test]
    fn threads_that_wait_for_a_time_are_no_deadlock() {
        let mut threads = [parked(1, 80, 2, &[]), parked(2, 81, 1, &[])];
        assert_eq!(found(&threads).0, ["t1>80>t2 t2>81>t1 +0"]);
        threads[1].is_timed = true;
        let (deadlocks, held) = found(&threads);
        assert!(deadlocks.is_empty(), "{deadlocks:?}");
        assert_eq!(held, ["80 of t2: t1", "81 of t1: t2"]);
    }

    #[test]
    fn monitors_and_synchronizers_make_circles_together() {
        let threads = [
            parked(1, 80, 2, &[91]),
            blocked(2, &[91], &[]),
            parked(3, 81, 4, &[]),
            running(4, &[]),
            // Of a thread that has ended, or of which the dump has nothing.
            parked(5, 82, 77, &[]),
        ];
        let (deadlocks, held) = found(&threads);
        assert_eq!(deadlocks, ["t1>80>t2 t2>91>t1 +0"]);
        assert_eq!(held, ["81 of t4: t3"]);
        let locks = locks(&threads, |id| format!("C{id}"));
        assert_eq!(
            locks.held[0].lock.class,
            "java.util.concurrent.locks.ReentrantLock"
        );
        assert_eq!(locks.deadlocks[0].waits[1].lock.class, "C91");
    }
}

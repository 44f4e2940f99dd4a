//! The kinds of waits: contention for a lock, or waiting for an event.
//!
//! The methods of a synchronizer decide its kind, see [`acquisition`](super::acquisition);
//! the innermost frames decide that of every other wait. Their names are those of the public classes of
//! `java.util.concurrent`, and of the methods of its own that have had the same names
//! from JDK 11 to 28.

use hprof_format::model::MethodName;

use super::acquisition::{AcquireMode, Acquisition};
use super::rows::Source;

/// How a wait is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Another thread had the lock.
    Contention,
    /// It waited for something to happen.
    Waiting,
    /// It had nothing to do, as a thread of a pool.
    Idle,
}

/// The innermost frames of a wait, as read.
pub struct Classified {
    pub kind: Kind,
    /// How many innermost frames are the lock's own.
    pub inner: usize,
}

/// The kind of a wait, from its stack and the `acquisition` of its object's class.
pub fn classify(source: Source, acquisition: Acquisition, frames: &[MethodName<'_>]) -> Classified {
    let inner = match source {
        Source::Monitor | Source::ObjectWait => 0,
        Source::Synchronizer | Source::Park => inner_frames(frames),
    };
    let has = |test: &dyn Fn(&MethodName<'_>) -> bool| frames.iter().any(test);
    let idle = has(&is_idle);
    let kind = match source {
        // Since JDK 27 the VM tells that the wait is over before it takes the monitor again.
        Source::Monitor if frames.first().is_some_and(is_object_wait) => waiting(idle),
        Source::Monitor => Kind::Contention,
        Source::Synchronizer if has(&is_condition) => waiting(idle),
        Source::Synchronizer
            if acquisition.is_event(AcquireMode::of(frames.get(..inner).unwrap_or_default())) =>
        {
            waiting(idle)
        }
        Source::Synchronizer => Kind::Contention,
        Source::ObjectWait | Source::Park => waiting(idle),
    };
    Classified { kind, inner }
}

fn waiting(idle: bool) -> Kind {
    if idle { Kind::Idle } else { Kind::Waiting }
}

/// Frames between the program and the parking: those of the framework that locks
/// are made of. The outermost of them stays if nothing else would.
pub fn inner_frames(frames: &[MethodName<'_>]) -> usize {
    let inner = frames.iter().take_while(|frame| is_inner(frame)).count();
    if inner == frames.len() {
        inner.saturating_sub(1)
    } else {
        inner
    }
}

fn is_inner(frame: &MethodName<'_>) -> bool {
    let class = frame.class_name;
    match class.strip_prefix("java.util.concurrent.") {
        Some("locks.StampedLock") => matches!(frame.method, "acquireRead" | "acquireWrite"),
        Some("ForkJoinPool") => {
            matches!(
                frame.method,
                "managedBlock" | "unmanagedBlock" | "compensatedBlock"
            )
        }
        Some(name) => {
            matches!(
                name,
                "locks.LockSupport"
                    | "locks.AbstractQueuedSynchronizer"
                    | "locks.AbstractQueuedLongSynchronizer"
            ) || name.ends_with("Sync")
                || name.ends_with("$ConditionNode")
        }
        None => {
            class.starts_with(super::java_side::HOOK_CLASS_PREFIX)
                || matches!(
                    (class, frame.method),
                    ("jdk.internal.misc.Unsafe", "park")
                        | (
                            "java.lang.System$2" | "java.lang.System$1",
                            "parkVirtualThread"
                        )
                        | (
                            "java.lang.VirtualThread",
                            "park" | "parkNanos" | "parkOnCarrierThread" | "yieldContinuation"
                        )
                        | ("jdk.internal.vm.Continuation", _)
                )
        }
    }
}

/// Taking a lock again after a condition was signalled is part of the wait, as with
/// `Object.wait`.
fn is_condition(frame: &MethodName<'_>) -> bool {
    frame.class_name.ends_with("Synchronizer$ConditionObject") && frame.method.starts_with("await")
}

/// `Object.wait`, which calls no method of Java that locks.
fn is_object_wait(frame: &MethodName<'_>) -> bool {
    frame.class_name == "java.lang.Object" && matches!(frame.method, "wait" | "wait0")
}

/// Threads that have nothing to do.
fn is_idle(frame: &MethodName<'_>) -> bool {
    matches!(
        (frame.class_name, frame.method),
        ("java.util.concurrent.ThreadPoolExecutor", "getTask")
            | ("java.util.concurrent.ForkJoinPool", "awaitWork")
            | (
                "java.lang.ref.ReferenceQueue",
                "remove" | "remove0" | "await"
            )
            | ("java.util.TimerThread", "mainLoop")
    )
}

/// The class that a program knows a lock by: locks park threads on a synchronizer
/// inside of them.
pub fn public_class(class: &str) -> &str {
    match class.rsplit_once('$') {
        Some((outer, inner)) if inner.ends_with("Sync") => outer,
        _ => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &'static str) -> MethodName<'static> {
        let (class_name, method) = text.rsplit_once('.').unwrap();
        MethodName { class_name, method }
    }

    fn kind(source: Source, frames: &[&'static str]) -> (Kind, usize) {
        let frames: Vec<_> = frames.iter().map(|text| frame(text)).collect();
        let Classified { kind, inner } = classify(source, Acquisition::default(), &frames);
        (kind, inner)
    }

    #[test]
    fn a_monitor_that_is_taken_again_belongs_to_the_wait() {
        let again = ["java.lang.Object.wait0", "java.lang.Thread.join"];
        assert_eq!(kind(Source::Monitor, &again).0, Kind::Waiting);
        assert_eq!(kind(Source::Monitor, &again[1..]).0, Kind::Contention);
        let idle = [again[0], "java.util.TimerThread.mainLoop"];
        assert_eq!(kind(Source::Monitor, &idle).0, Kind::Idle);
    }

    const PARK: &str = "java.util.concurrent.locks.LockSupport.park";
    const ACQUIRE: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire";
    const AWAIT: &str =
        "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await";

    #[test]
    fn a_lock_is_shown_from_its_own_method_on() {
        let stack = [
            PARK,
            ACQUIRE,
            ACQUIRE,
            "java.util.concurrent.locks.ReentrantLock$Sync.lock",
            "java.util.concurrent.locks.ReentrantLock.lock",
            "App.main",
        ];
        assert_eq!(kind(Source::Synchronizer, &stack), (Kind::Contention, 4));
        assert_eq!(kind(Source::Synchronizer, &stack[..2]).1, 1);
        let stack = [
            PARK,
            "java.util.concurrent.locks.StampedLock.acquireWrite",
            "java.util.concurrent.locks.StampedLock.writeLock",
            "App.main",
        ];
        assert_eq!(kind(Source::Synchronizer, &stack), (Kind::Contention, 2));
    }

    #[test]
    fn conditions_and_idle_threads_are_no_contention() {
        let again = [PARK, ACQUIRE, AWAIT, "App.main"];
        assert_eq!(kind(Source::Synchronizer, &again), (Kind::Waiting, 2));
        assert_eq!(kind(Source::Park, &again[2..]), (Kind::Waiting, 0));
        let idle = [
            AWAIT,
            "java.util.concurrent.LinkedBlockingQueue.take",
            "java.util.concurrent.ThreadPoolExecutor.getTask",
        ];
        assert_eq!(kind(Source::Park, &idle).0, Kind::Idle);
    }

    #[test]
    fn locks_have_the_class_that_programs_know() {
        for (class, public) in [
            (
                "java.util.concurrent.locks.ReentrantLock$NonfairSync",
                "java.util.concurrent.locks.ReentrantLock",
            ),
            ("App$Locks$Sync", "App$Locks"),
            ("App$Mutex", "App$Mutex"),
            (
                "java.util.concurrent.locks.StampedLock",
                "java.util.concurrent.locks.StampedLock",
            ),
        ] {
            assert_eq!(public_class(class), public);
        }
    }
}

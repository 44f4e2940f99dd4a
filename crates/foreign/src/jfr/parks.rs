//! Parks of `java.util.concurrent`: waits for a lock, and waits for an event.

/// Classes on which threads wait for an event, which no thread holds. Their nested classes count too.
const EVENTS: [&str; 14] = [
    "AbstractExecutorService",
    "CompletableFuture",
    "CountDownLatch",
    "CyclicBarrier",
    "Exchanger",
    "ForkJoinPool",
    "ForkJoinTask",
    "FutureTask",
    "LinkedTransferQueue",
    "Phaser",
    "SubmissionPublisher",
    "SynchronousQueue",
    "ThreadPerTaskExecutor",
    "ThreadPoolExecutor",
];

/// Returns true if a thread that parks with a blocker of this class waits for an event. It does without a blocker too: the
/// lock classes of the JDK name theirs.
pub(super) fn waits_for_event(blocker: Option<&str>) -> bool {
    let Some(blocker) = blocker else {
        return true;
    };
    let Some(name) = blocker.strip_prefix("java.util.concurrent.") else {
        return blocker.starts_with("java.lang.") || blocker.starts_with("sun.nio.ch.");
    };
    let outer = name.split('$').next().unwrap_or(name);
    EVENTS.contains(&outer)
        || name.ends_with("$ConditionObject")
        || name.ends_with("$ConditionNode")
}

#[cfg(test)]
mod tests {
    use super::waits_for_event;

    #[test]
    fn only_locks_can_be_contended() {
        let name = |name| format!("java.util.concurrent.{name}");
        for event in [
            "locks.AbstractQueuedSynchronizer$ConditionObject",
            "CountDownLatch$Sync",
            "CompletableFuture$Signaller",
            "SynchronousQueue$TransferStack",
            "ForkJoinPool",
            "FutureTask",
        ] {
            assert!(waits_for_event(Some(&name(event))), "{event}");
        }
        for lock in [
            "locks.ReentrantLock$NonfairSync",
            "locks.ReentrantReadWriteLock$FairSync",
            "locks.StampedLock",
            "Semaphore$NonfairSync",
            "locks.AbstractQueuedSynchronizer",
        ] {
            assert!(!waits_for_event(Some(&name(lock))), "{lock}");
        }
        assert!(!waits_for_event(Some("acme.Mutex$Sync")));
        assert!(waits_for_event(Some("java.lang.Thread")));
        assert!(waits_for_event(None));
    }
}

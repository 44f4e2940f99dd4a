import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Two threads that wait for each other's monitor, two for each other's ReentrantLock, and two for one of each; a queue for
 * a lock, and one for a monitor, whose owners sleep. Then a dump into a file.
 */
public class DeadlockDump {
    static final StringBuilder second = new StringBuilder();
    static final Object first = new Object(), fifth = new Object(), quiet = new int[3];
    static final ReentrantLock third = new ReentrantLock(), fourth = new ReentrantLock();
    static final ReentrantLock sixth = new ReentrantLock(), queue = new ReentrantLock();

    static volatile int holding;

    static synchronized void hold() {
        holding++;
    }

    static void meet() {
        hold();
        while (holding < 8) Thread.yield();
    }

    static void monitors(Object one, Object other) {
        synchronized (one) {
            meet();
            synchronized (other) {
                throw new IllegalStateException();
            }
        }
    }

    static void locks(ReentrantLock one, ReentrantLock other) {
        one.lock();
        meet();
        other.lock();
    }

    static void monitorThenLock() {
        synchronized (fifth) {
            meet();
            sixth.lock();
        }
    }

    static void lockThenMonitor() {
        sixth.lock();
        meet();
        synchronized (fifth) {
            throw new IllegalStateException();
        }
    }

    static void sleep() {
        meet();
        try {
            Thread.sleep(1_000_000);
        } catch (InterruptedException end) {
            throw new IllegalStateException(end);
        }
    }

    static void sleepInLock() {
        queue.lock();
        sleep();
    }

    static void sleepInMonitor() {
        synchronized (quiet) {
            sleep();
        }
    }

    static void waitForMonitor() {
        while (holding < 8) Thread.yield();
        synchronized (quiet) {
            throw new IllegalStateException();
        }
    }

    static void waitForLock() {
        while (holding < 8) Thread.yield();
        queue.lock();
    }

    static Thread start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = {
            start("monitor-1", () -> monitors(first, second)),
            start("monitor-2", () -> monitors(second, first)),
            start("lock-1", () -> locks(third, fourth)),
            start("lock-2", () -> locks(fourth, third)),
            start("mixed-1", () -> monitorThenLock()),
            start("mixed-2", () -> lockThenMonitor()),
            start("queue-1", () -> waitForLock()),
            start("queue-2", () -> waitForLock()),
            start("queue-3", () -> waitForLock()),
            start("gate-1", () -> waitForMonitor()),
            start("gate-2", () -> waitForMonitor()),
            start("owner-lock", () -> sleepInLock()),
            start("owner-monitor", () -> sleepInMonitor()),
        };
        for (Thread thread : threads) {
            boolean isOwner = thread.getName().startsWith("owner");
            while (thread.getState() != Thread.State.BLOCKED && thread.getState() != Thread.State.WAITING
                    && !(isOwner && thread.getState() == Thread.State.TIMED_WAITING)) {
                Thread.sleep(1);
            }
        }
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(args[0], true);
        Runtime.getRuntime().halt(0);
    }
}

import java.util.concurrent.locks.ReentrantLock;

/**
 * Two threads wait for each other's monitor, two for each other's ReentrantLock, and two for one of each. Prints
 * "ready" when all do, and ends when the file "end" appears in the current folder, or after a minute. With an argument
 * the threads of the monitors wait for their second one until the file "go" appears, and "holding" is printed first.
 */
public class Deadlock {
    static final Object first = new Object();
    static final StringBuilder second = new StringBuilder();
    static final ReentrantLock third = new ReentrantLock(), fourth = new ReentrantLock();
    static final Object fifth = new Object();
    static final ReentrantLock sixth = new ReentrantLock();

    static volatile int holding;
    static boolean waits;

    static synchronized void hold() {
        holding++;
    }

    static void meet(int threads) {
        hold();
        while (holding < threads) Thread.yield();
    }

    static void monitors(Object one, Object other) {
        synchronized (one) {
            meet(6);
            while (waits && !new java.io.File("go").exists()) Thread.yield();
            synchronized (other) {
                throw new IllegalStateException();
            }
        }
    }

    static void locks(ReentrantLock one, ReentrantLock other) {
        one.lock();
        one.lock();
        meet(6);
        other.lock();
    }

    static void monitorThenLock() {
        synchronized (fifth) {
            meet(6);
            sixth.lock();
        }
    }

    static void lockThenMonitor() {
        sixth.lock();
        meet(6);
        synchronized (fifth) {
            throw new IllegalStateException();
        }
    }

    static Thread start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        waits = args.length > 0;
        Thread[] threads = {
            start("monitor-1", () -> monitors(first, second)),
            start("monitor-2", () -> monitors(second, first)),
            start("lock-1", () -> locks(third, fourth)),
            start("lock-2", () -> locks(fourth, third)),
            start("mixed-1", () -> monitorThenLock()),
            start("mixed-2", () -> lockThenMonitor()),
        };
        long limit = System.nanoTime() + 60_000_000_000L;
        if (waits) {
            while (holding < 6) Thread.sleep(1);
            for (int number = 2; number < 6; number++) {
                Thread thread = threads[number];
                while (thread.getState() == Thread.State.RUNNABLE) Thread.sleep(1);
            }
            System.out.println("holding");
        }
        for (Thread thread : threads) {
            while (thread.getState() != Thread.State.BLOCKED && thread.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        System.out.println("ready");
        java.io.File end = new java.io.File("end");
        while (System.nanoTime() < limit && !end.exists()) Thread.sleep(10);
    }
}

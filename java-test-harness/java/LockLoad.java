import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that fight for monitors and ReentrantLocks, and start threads that do so for a while, until the
 * file "end" appears in the current folder.
 *
 * Arguments: COUNT. Prints "running", and at the end how many acquisitions there were.
 */
public class LockLoad {
    static final Object[] MONITORS = {new Object(), new StringBuilder()};
    static final ReentrantLock[] LOCKS = {new ReentrantLock(), new ReentrantLock(true)};
    static final AtomicLong acquisitions = new AtomicLong();

    static volatile boolean over;
    static long sink;

    static void monitor(int i) {
        synchronized (MONITORS[i & 1]) {
            work();
        }
    }

    static void lock(int i) {
        LOCKS[i & 1].lock();
        try {
            work();
        } finally {
            LOCKS[i & 1].unlock();
        }
    }

    static void work() {
        for (int i = 0; i < 200; i++) sink += i;
    }

    static void fight(long end) {
        int i = 0;
        while (!over && System.nanoTime() < end) {
            monitor(i++);
            lock(i);
        }
        acquisitions.addAndGet(2L * i);
    }

    public static void main(String[] args) throws Exception {
        java.io.File end = new java.io.File("end");
        Thread[] threads = new Thread[Integer.parseInt(args[0])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> fight(Long.MAX_VALUE), "fighter-" + i);
            threads[i].start();
        }
        System.out.println("running");
        while (!end.exists()) {
            Thread shortLived = new Thread(() -> fight(System.nanoTime() + 10_000_000));
            shortLived.start();
            shortLived.join();
        }
        over = true;
        for (Thread thread : threads) thread.join();
        System.out.println("acquisitions " + acquisitions);
    }
}

import java.util.concurrent.locks.ReentrantLock;

/**
 * Two threads that sleep 2 ms with a monitor and then with a ReentrantLock, so that one nearly always waits for the
 * other, until the file "end" appears, for two minutes at most. Prints "running", and "ended" at the end.
 */
public class TwoAtALock {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile boolean ended;

    static void monitor() throws InterruptedException {
        synchronized (MONITOR) {
            Thread.sleep(2);
        }
    }

    static void lock() throws InterruptedException {
        LOCK.lock();
        try {
            Thread.sleep(2);
        } finally {
            LOCK.unlock();
        }
    }

    static void work() {
        try {
            while (!ended) {
                monitor();
                lock();
            }
        } catch (InterruptedException stop) {
            // No thread interrupts.
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = {new Thread(TwoAtALock::work), new Thread(TwoAtALock::work)};
        for (Thread thread : threads) thread.start();
        System.out.println("running");
        long limit = System.nanoTime() + 120_000_000_000L;
        while (!new java.io.File("end").exists() && System.nanoTime() < limit) Thread.sleep(10);
        ended = true;
        for (Thread thread : threads) thread.join();
        System.out.println("ended");
    }
}

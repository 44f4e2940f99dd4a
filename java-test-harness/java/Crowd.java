import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * COUNT virtual threads want one lock that main has until all stand in the queue, and then have it one after the other.
 *
 * Arguments: "lock" or "monitor", COUNT. Prints "COUNT LEAST MOST": how many waited, for how many
 * nanoseconds at least, and how many they stood in lock(). With "monitor" before JDK 24 a waiting
 * thread keeps its carrier, so that the crowd is only as large as the number of carriers.
 */
public class Crowd {
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Object MONITOR = new Object();
    static final AtomicInteger arrived = new AtomicInteger();
    static final AtomicLong most = new AtomicLong();

    static void lock() {
        LOCK.lock();
    }

    static void underLock() {
        long start = System.nanoTime();
        arrived.incrementAndGet();
        lock();
        most.addAndGet(System.nanoTime() - start);
        LOCK.unlock();
    }

    static void monitor() {
        long start = System.nanoTime();
        arrived.incrementAndGet();
        synchronized (MONITOR) {
            most.addAndGet(System.nanoTime() - start);
        }
    }

    static List<Thread> startAll(int count, Runnable task) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) threads.add(VirtualThreads.start("crowd-" + i, task));
        return threads;
    }

    /** Waits until all wait for the lock, then 200 ms. */
    static long hold(List<Thread> threads) throws Exception {
        for (Thread thread : threads) {
            while (thread.getState() == Thread.State.RUNNABLE || thread.getState() == Thread.State.NEW) {
                Thread.sleep(1);
            }
        }
        long seen = System.nanoTime();
        Thread.sleep(200);
        return threads.size() * (System.nanoTime() - seen);
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[1]);
        List<Thread> threads;
        long least;
        if (args[0].equals("lock")) {
            LOCK.lock();
            threads = startAll(count, () -> underLock());
            least = hold(threads);
            LOCK.unlock();
        } else {
            synchronized (MONITOR) {
                threads = startAll(count, () -> monitor());
                least = hold(threads);
            }
        }
        for (Thread thread : threads) thread.join();
        System.out.println(count + " " + least + " " + most);
    }
}

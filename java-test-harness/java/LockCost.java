import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that do a fixed amount of work under one lock and without.
 *
 * Arguments: "monitor", "lock", "fair" (a fair lock) or "none", THREADS, ACQUISITIONS in total, INSIDE and OUTSIDE, steps of
 * work with and without the lock. With "none" each thread has a lock of its own of both kinds. Prints
 * "seconds=", how long it took, after a first tenth that does not count.
 */
public class LockCost {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock(), FAIR = new ReentrantLock(true);

    static final int PIECE = 1000;

    static int step(int value, int count) {
        for (int i = 0; i < count; i++) value = value * 1_103_515_245 + 12_345;
        return value;
    }

    static int shared;

    static int monitor(int times, int inside, int outside) {
        int value = 1;
        for (int i = 0; i < times; i++) {
            synchronized (MONITOR) {
                shared = step(shared, inside);
            }
            value = step(value, outside);
        }
        return value;
    }

    static int lock(ReentrantLock lock, int times, int inside, int outside) {
        int value = 1;
        for (int i = 0; i < times; i++) {
            lock.lock();
            try {
                shared = step(shared, inside);
            } finally {
                lock.unlock();
            }
            value = step(value, outside);
        }
        return value;
    }

    static int none(Object monitor, ReentrantLock lock, int times, int inside, int outside) {
        int value = 1;
        for (int i = 0; i < times; i++) {
            synchronized (monitor) {
                lock.lock();
                value = step(value, inside);
                lock.unlock();
            }
            value = step(value, outside);
        }
        return value;
    }

    static void run(String[] args, int times) throws Exception {
        int inside = Integer.parseInt(args[3]), outside = Integer.parseInt(args[4]);
        Thread[] threads = new Thread[Integer.parseInt(args[1])];
        int[] results = new int[threads.length];
        for (int i = 0; i < threads.length; i++) {
            int number = i, each = times / threads.length;
            threads[i] = new Thread(() -> {
                Object monitor = new Object();
                ReentrantLock lock = new ReentrantLock();
                // In pieces: how a loop is compiled while it runs differs from run to run.
                for (int done = 0; done < each; done += PIECE) {
                    int piece = Math.min(PIECE, each - done);
                    switch (args[0]) {
                        case "monitor":
                            results[number] += monitor(piece, inside, outside);
                            break;
                        case "lock":
                            results[number] += lock(LOCK, piece, inside, outside);
                            break;
                        case "fair":
                            results[number] += lock(FAIR, piece, inside, outside);
                            break;
                        default:
                            results[number] += none(monitor, lock, piece, inside, outside);
                    }
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        int sum = 0;
        for (int result : results) sum += result;
        if (sum == 42) System.out.println("by chance");
    }

    public static void main(String[] args) throws Exception {
        int times = Integer.parseInt(args[2]);
        run(args, times / 10);
        long start = System.nanoTime();
        run(args, times);
        System.out.println("seconds=" + (System.nanoTime() - start) / 1e9);
    }
}

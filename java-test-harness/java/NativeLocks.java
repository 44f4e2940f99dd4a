import java.io.File;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Waits for locks of a native library, whose path is the first argument: threads and rounds of each kind are the second and
 * third, and the milliseconds that a lock is held, once all wait for it, the fourth. Prints for each method its waits, the
 * nanoseconds that the locks were held while all waited, summed over the waits, and the nanoseconds that the calls took. With a fifth
 * argument it begins when there is a file of that name.
 */
public class NativeLocks {
    static final int MUTEX = 0;
    static final int READ = 1;
    static final int WRITE = 2;
    static final int TIMED_MUTEX = 3;
    static final int TIMED_READ = 4;
    static final int TIMED_WRITE = 5;

    static native long waitsForMutex(int index);

    static native long waitsToRead(int index);

    static native long waitsToWrite(int index);

    static native long waitsForMutexWithLimit(int index);

    static native long waitsToReadWithLimit(int index);

    static native long waitsToWriteWithLimit(int index);

    static native void give(int kind);

    static native void triesFor(int times);

    static native void take(int kind);

    static native long holds(int kind, int threads, int millis);

    static native void passes(int rounds);

    static native int checks();

    static long waits(int kind, int index) {
        switch (kind) {
            case MUTEX:
                return waitsForMutex(index);
            case READ:
                return waitsToRead(index);
            case TIMED_MUTEX:
                return waitsForMutexWithLimit(index);
            case TIMED_READ:
                return waitsToReadWithLimit(index);
            case TIMED_WRITE:
                return waitsToWriteWithLimit(index);
            default:
                return waitsToWrite(index);
        }
    }

    static void runs(String method, int kind, int threads, int rounds, int millis) throws InterruptedException {
        AtomicLong most = new AtomicLong();
        long least = 0;
        for (int round = 0; round < rounds; round++) {
            CountDownLatch taken = new CountDownLatch(1);
            Thread[] all = new Thread[threads];
            for (int i = 0; i < threads; i++) {
                int index = i;
                all[i] = new Thread(() -> {
                    try {
                        taken.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    most.addAndGet(waits(kind, index));
                });
                all[i].start();
            }
            take(kind);
            taken.countDown();
            least += threads * holds(kind, threads, millis);
            for (Thread thread : all) {
                thread.join();
            }
        }
        System.out.println(method + " " + threads * rounds + " " + least + " " + most.get());
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        int threads = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        int millis = Integer.parseInt(args[3]);
        System.out.println("loaded");
        if (args.length > 4) {
            while (!new File(args[4]).exists()) {
                Thread.sleep(10);
            }
        }
        passes(1_000_000);
        runs("waitsForMutex", MUTEX, threads, rounds, millis);
        runs("waitsToRead", READ, threads, rounds, millis);
        runs("waitsToWrite", WRITE, threads, rounds, millis);
        runs("waitsForMutexWithLimit", TIMED_MUTEX, threads, rounds, millis);
        runs("waitsToReadWithLimit", TIMED_READ, threads, rounds, millis);
        runs("waitsToWriteWithLimit", TIMED_WRITE, threads, rounds, millis);
        take(MUTEX);
        Thread trying = new Thread(() -> triesFor(7));
        trying.start();
        trying.join();
        give(MUTEX);
        System.out.println("wrong " + checks());
        System.out.println("ended");
        if (args.length > 5) {
            while (!new File(args[5]).exists()) {
                Thread.sleep(10);
            }
        }
    }
}

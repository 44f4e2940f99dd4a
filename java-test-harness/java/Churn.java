/**
 * Threads that live for a few allocations and wait for a monitor, started as fast as others end, beside threads that
 * allocate all the time, until the file "end" appears, for five minutes at most. Prints "running", and "ended" at the
 * end.
 */
public class Churn {
    static final Object MONITOR = new Object();
    static volatile boolean ended;
    static volatile Object sink;

    static void live() {
        for (int i = 0; i < 20; i++) {
            sink = new byte[100];
            synchronized (MONITOR) {
                sink = new Object();
            }
        }
    }

    static void churn() {
        try {
            while (!ended) {
                Thread thread = new Thread(Churn::live);
                thread.start();
                thread.join();
            }
        } catch (InterruptedException stop) {
            // No thread interrupts.
        }
    }

    static void allocate() {
        while (!ended) sink = new int[8];
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(i % 2 == 0 ? Churn::churn : Churn::allocate);
            threads[i].start();
        }
        System.out.println("running");
        long limit = System.nanoTime() + 300_000_000_000L;
        while (!new java.io.File("end").exists() && System.nanoTime() < limit) Thread.sleep(10);
        ended = true;
        for (Thread thread : threads) thread.join();
        System.out.println("ended");
    }
}

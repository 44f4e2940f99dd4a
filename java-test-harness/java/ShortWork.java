import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Starts thousands of threads a second, 64 at a time, that work for some hundredths of a millisecond in hot() and in
 * warm(): three steps and one, of the same work. Argument: for how many seconds (default 4). Prints
 * threads=N and cpu=S, the CPU seconds that these threads used in both.
 */
public class ShortWork {
    static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
    static final AtomicLong cpu = new AtomicLong();
    static volatile int sink;

    static int step(int x) {
        for (int i = 0; i < 30_000; i++) x = x * 31 + i;
        return x;
    }

    static void hot() {
        sink = step(sink);
        sink = step(sink);
        sink = step(sink);
    }

    static void warm() {
        sink = step(sink);
    }

    static void work() {
        long before = BEAN.getCurrentThreadCpuTime();
        hot();
        warm();
        cpu.addAndGet(BEAN.getCurrentThreadCpuTime() - before);
    }

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 4;
        for (int i = 0; i < 20_000; i++) {
            hot();
            warm();
        }
        long end = System.nanoTime() + (long) (seconds * 1e9);
        Thread[] threads = new Thread[64];
        int started = 0;
        for (; System.nanoTime() < end; started += threads.length) {
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(ShortWork::work);
                threads[i].start();
            }
            for (Thread thread : threads) thread.join();
        }
        System.out.println("threads=" + started);
        System.out.println("cpu=" + cpu.get() / 1e9);
    }
}

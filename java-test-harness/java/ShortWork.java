import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Two threads start thousands of threads a second, one after the other, that work for less than a millisecond in hot() and
 * in warm(): three steps and one, of the same work. Argument: for how many seconds (default 4). Prints
 * threads=N and cpu=S, the CPU seconds that these threads used.
 */
public class ShortWork {
    static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
    static final AtomicLong cpu = new AtomicLong();
    static final AtomicLong threads = new AtomicLong();
    static volatile int sink;

    static int step(int x) {
        for (int i = 0; i < 25_000; i++) x = x * 31 + i;
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
        threads.incrementAndGet();
    }

    static void startAll(long end) {
        try {
            while (System.nanoTime() < end) {
                Thread thread = new Thread(ShortWork::work);
                thread.start();
                thread.join();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 4;
        for (int i = 0; i < 20_000; i++) {
            hot();
            warm();
        }
        long end = System.nanoTime() + (long) (seconds * 1e9);
        Thread other = new Thread(() -> startAll(end));
        other.start();
        startAll(end);
        other.join();
        System.out.println("threads=" + threads);
        System.out.println("cpu=" + cpu.get() / 1e9);
    }
}

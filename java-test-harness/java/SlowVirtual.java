import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/**
 * Twenty virtual threads, "virtual-0" to "virtual-19", each in one call that computes 6 ms, waits 30 ms and computes 6 ms. From JDK
 * 21 on; called by reflection, for the sources are compiled for 8.
 */
public class SlowVirtual {
    static volatile long sink;

    /** The loop takes the same work in each thread: a virtual one cannot ask for its CPU time. */
    static long work;

    /** Writes to what threads share at the end alone: cores that write there together would take many times as long. */
    static void computes() {
        long mixed = 1;
        for (long i = 0; i < work; i++) {
            mixed ^= mixed << 13;
            mixed ^= mixed >>> 7;
            mixed ^= mixed << 17;
        }
        sink = mixed;
    }

    static void call() {
        try {
            computes();
            Thread.sleep(30);
            computes();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        work = 1_000_000;
        computes();
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        // As many as take 6 ms of CPU time, by the fastest of ten tries.
        long fastest = Long.MAX_VALUE;
        for (int i = 0; i < 10; i++) {
            long before = threads.getCurrentThreadCpuTime();
            computes();
            fastest = Math.min(fastest, threads.getCurrentThreadCpuTime() - before);
        }
        work = work * 6_000_000 / fastest;
        List<Thread> started = new ArrayList<>();
        Class<?> builder = Class.forName("java.lang.Thread$Builder");
        Method named = builder.getMethod("name", String.class);
        Method start = builder.getMethod("start", Runnable.class);
        for (int i = 0; i < 20; i++) {
            Object one = named.invoke(Thread.class.getMethod("ofVirtual").invoke(null), "virtual-" + i);
            started.add((Thread) start.invoke(one, (Runnable) SlowVirtual::call));
        }
        for (Thread thread : started) {
            thread.join();
        }
        System.out.println("done");
    }
}

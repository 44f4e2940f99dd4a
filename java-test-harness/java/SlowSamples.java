import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Two threads that call handle 100 times each. Call 30 and 70 compute 300 ms of CPU time in rare(), all others 2 ms in usual(). A
 * third thread computes 300 ms in elsewhere(), in no call of handle.
 */
public class SlowSamples {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    static void computes(int millis) {
        long end = THREADS.getCurrentThreadCpuTime() + millis * 1_000_000L;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            for (int i = 0; i < 10_000; i++) {
                sink += i;
            }
        }
    }

    static void rare() {
        computes(300);
    }

    static void usual() {
        computes(2);
    }

    static void elsewhere() {
        computes(300);
    }

    static void handle(int call) {
        if (call == 30 || call == 70) {
            rare();
        } else {
            usual();
        }
    }

    static void handles() {
        for (int call = 0; call < 100; call++) {
            handle(call);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = {
            new Thread(SlowSamples::handles, "one"),
            new Thread(SlowSamples::handles, "two"),
            new Thread(SlowSamples::elsewhere, "three"),
        };
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}

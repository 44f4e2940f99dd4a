import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Random;

/**
 * Four methods with about 50, 30, 15 and 5 % of the CPU time. Prints what the thread's CPU clock
 * says: nanoseconds of each, then of all of main. With "few", each call takes milliseconds; with
 * "many", a millionth of a second or less.
 */
public class CallShares {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    // The loops are in the methods themselves: these are to be the methods that burn time.

    static long half(long n, int steps) {
        long v = n;
        for (int i = 0; i < steps; i++) {
            v = (v ^ (v >>> 29)) * 6364136223846793005L + 1442695040888963407L;
        }
        return v;
    }

    static long third(long n, int steps) {
        long v = n;
        for (int i = 0; i < steps; i++) {
            v = (v ^ (v >>> 29)) * 6364136223846793005L + 1442695040888963407L;
        }
        return v;
    }

    static long seventh(long n, int steps) {
        long v = n;
        for (int i = 0; i < steps; i++) {
            v = (v ^ (v >>> 29)) * 6364136223846793005L + 1442695040888963407L;
        }
        return v;
    }

    static long rest(long n, int steps) {
        long v = n;
        for (int i = 0; i < steps; i++) {
            v = (v ^ (v >>> 29)) * 6364136223846793005L + 1442695040888963407L;
        }
        return v;
    }

    static long round(int method, int calls, int steps) {
        long v = 0;
        switch (method) {
            case 0:
                for (int i = 0; i < calls; i++) {
                    v += half(i, steps);
                }
                return v;
            case 1:
                for (int i = 0; i < calls; i++) {
                    v += third(i, steps);
                }
                return v;
            case 2:
                for (int i = 0; i < calls; i++) {
                    v += seventh(i, steps);
                }
                return v;
            default:
                for (int i = 0; i < calls; i++) {
                    v += rest(i, steps);
                }
                return v;
        }
    }

    public static void main(String[] args) {
        long start = CLOCK.getCurrentThreadCpuTime();
        boolean few = args[0].equals("few");
        int[] shares = {50, 30, 15, 5};
        long[] nanos = new long[shares.length];
        Random random = new Random(42);
        for (int i = 0; i < 20; i++) {
            for (int method = 0; method < shares.length; method++) {
                // No two rounds take the same time, lest they keep step with a timer.
                int size = shares[method] * (100 + random.nextInt(100));
                long before = CLOCK.getCurrentThreadCpuTime();
                sink += few ? round(method, 1, size * 1500) : round(method, size * 10, 150);
                nanos[method] += CLOCK.getCurrentThreadCpuTime() - before;
            }
        }
        System.out.printf("half=%d third=%d seventh=%d rest=%d%n", nanos[0], nanos[1], nanos[2], nanos[3]);
        System.out.printf("main=%d%n", CLOCK.getCurrentThreadCpuTime() - start);
    }
}

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Burns CPU: three quarters of the time in hot(), one quarter in warm(), on each of the threads
 * "spinner-0", "spinner-1", ....
 *
 * Arguments: seconds (default 2), threads (default 1).
 *
 * What is exact: per spinner its CPU time as the JVM's own clock says it, and how much of it went
 * into each method, since the clock is read where they begin and end. Printed in seconds:
 * "spinner-0.hot=...", "spinner-0.warm=...", and the sums over all Java threads, the main thread
 * included: "hot=...", "warm=...", "cpu=...".
 */
public class Spin {
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    static volatile double sink;

    static void hot(long end) {
        while (System.nanoTime() < end) sink = Math.sin(sink + 1);
    }

    static void warm(long end) {
        while (System.nanoTime() < end) sink = Math.cos(sink + 1);
    }

    static class Spinner extends Thread {
        final int rounds;
        long hotNanos;
        long warmNanos;
        long allNanos;

        Spinner(int number, int rounds) {
            super("spinner-" + number);
            this.rounds = rounds;
        }

        @Override
        public void run() {
            long before = CLOCK.getCurrentThreadCpuTime();
            for (int i = 0; i < rounds; i++) {
                hot(System.nanoTime() + 75_000_000L);
                long between = CLOCK.getCurrentThreadCpuTime();
                warm(System.nanoTime() + 25_000_000L);
                long after = CLOCK.getCurrentThreadCpuTime();
                hotNanos += between - before;
                warmNanos += after - between;
                before = after;
            }
            allNanos = CLOCK.getCurrentThreadCpuTime();
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = args.length > 0 ? Integer.parseInt(args[0]) : 2;
        Spinner[] spinners = new Spinner[args.length > 1 ? Integer.parseInt(args[1]) : 1];
        for (int i = 0; i < spinners.length; i++) {
            spinners[i] = new Spinner(i, seconds * 10);
            spinners[i].start();
        }
        long hot = 0;
        long warm = 0;
        long all = 0;
        for (Spinner spinner : spinners) {
            spinner.join();
            print(spinner.getName() + ".hot", spinner.hotNanos);
            print(spinner.getName() + ".warm", spinner.warmNanos);
            hot += spinner.hotNanos;
            warm += spinner.warmNanos;
            all += spinner.allNanos;
        }
        print("hot", hot);
        print("warm", warm);
        print("cpu", all + CLOCK.getCurrentThreadCpuTime());
    }

    private static void print(String name, long nanos) {
        System.out.println(name + "=" + nanos / 1e9);
    }
}

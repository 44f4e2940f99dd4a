/**
 * Burns CPU: three quarters of the time in hot(), one quarter in warm(), on each of the threads
 * "spinner-0", "spinner-1", ....
 *
 * Arguments: CPU seconds of each thread (default 2), threads (default 1).
 *
 * What is exact: per spinner its CPU time as the JVM's own clock says it, and how much of it went
 * into each method, since the clock is read where they begin and end. Printed in seconds:
 * "spinner-0.hot=...", "spinner-0.warm=...", their sums "hot=..." and "warm=...", and "cpu=...", all
 * CPU time of the spinners and of the main thread since main() began.
 */
public class Spin {
    // A round lasts no whole number of milliseconds: a profiler that looks at the start of every
    // tenth would otherwise always see the same moments of it.
    static final long WARM = 25_566_667;
    static final long HOT = 3 * WARM;

    static volatile double sink;

    static void hot(long end) {
        while (System.nanoTime() < end) sink = Math.sin(sink + 1);
    }

    static void warm(long end) {
        while (System.nanoTime() < end) sink = Math.cos(sink + 1);
    }

    static class Spinner extends Thread {
        final long limit;
        long hotNanos;
        long warmNanos;
        long allNanos;

        Spinner(int number, long limit) {
            super("spinner-" + number);
            this.limit = limit;
        }

        @Override
        public void run() {
            long before = Cpu.now();
            do {
                hot(System.nanoTime() + HOT);
                long between = Cpu.now();
                warm(System.nanoTime() + WARM);
                long after = Cpu.now();
                hotNanos += between - before;
                warmNanos += after - between;
                before = after;
            } while (before < limit);
            allNanos = Cpu.now();
        }
    }

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 2;
        Spinner[] spinners = new Spinner[args.length > 1 ? Integer.parseInt(args[1]) : 1];
        long before = Cpu.now();
        for (int i = 0; i < spinners.length; i++) {
            spinners[i] = new Spinner(i, (long) (seconds * 1e9));
            spinners[i].start();
        }
        long hot = 0;
        long warm = 0;
        long all = 0;
        for (Spinner spinner : spinners) {
            spinner.join();
            Cpu.print(spinner.getName() + ".hot", spinner.hotNanos);
            Cpu.print(spinner.getName() + ".warm", spinner.warmNanos);
            hot += spinner.hotNanos;
            warm += spinner.warmNanos;
            all += spinner.allNanos;
        }
        Cpu.print("hot", hot);
        Cpu.print("warm", warm);
        Cpu.print("cpu", all + Cpu.now() - before);
    }
}

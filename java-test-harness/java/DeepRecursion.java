/**
 * Deep stacks. Arguments: "spin SECONDS DEPTH": burns so much CPU time in bottom(), called
 * through DEPTH frames of down(). "overflow SECONDS THREADS": each thread overflows its stack again and again in
 * endless(), and catches the error. Exact: the depth; "overflows=", how many there were.
 */
public class DeepRecursion {
    static volatile long sink;

    static void down(int depth, long nanos) {
        if (depth > 1) down(depth - 1, nanos);
        else bottom(nanos);
        sink++;
    }

    static void bottom(long nanos) {
        long end = Cpu.now() + nanos;
        while (Cpu.now() < end) for (int i = 0; i < 1_000_000; i++) sink++;
    }

    static int endless(int depth) {
        return endless(depth + 1) + 1;
    }

    static long overflow(long end) {
        long overflows = 0;
        while (System.nanoTime() < end) {
            try {
                endless(0);
            } catch (StackOverflowError expected) {
                overflows++;
            }
        }
        return overflows;
    }

    public static void main(String[] args) throws Exception {
        long nanos = (long) (Double.parseDouble(args[1]) * 1e9);
        long end = System.nanoTime() + nanos;
        int number = Integer.parseInt(args[2]);
        if (args[0].equals("spin")) {
            // The main thread's stack may be too small.
            Thread deep = new Thread(null, () -> down(number, nanos), "deep", 1L << 30);
            deep.start();
            deep.join();
            return;
        }
        long[] overflows = new long[number];
        Thread[] threads = new Thread[number];
        for (int i = 0; i < number; i++) {
            int index = i;
            threads[i] = new Thread(() -> overflows[index] = overflow(end), "overflow-" + i);
            threads[i].start();
        }
        long sum = 0;
        for (int i = 0; i < number; i++) {
            threads[i].join();
            sum += overflows[i];
        }
        System.out.println("overflows=" + sum);
    }
}

import java.util.concurrent.atomic.AtomicLong;

/**
 * Starts and ends threads without pause; each does a little work in work() and ends.
 *
 * Arguments: seconds (default 2), threads alive at a time (default 32). Prints "ready" first. Exact: "threads=", how many
 * were started, and "cpu=", the CPU seconds they all used, by the JVM's clock.
 */
public class ManyThreads {
    static final AtomicLong nanos = new AtomicLong();

    static volatile long sink;

    static void work() {
        for (int i = 0; i < 100_000; i++) sink += i;
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + (args.length > 0 ? Long.parseLong(args[0]) : 2) * 1_000_000_000L;
        Thread[] threads = new Thread[args.length > 1 ? Integer.parseInt(args[1]) : 32];
        long started = 0;
        System.out.println("ready");
        while (System.nanoTime() < end) {
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(() -> {
                    work();
                    nanos.addAndGet(Cpu.now());
                }, "short-" + started++);
                threads[i].start();
            }
            for (Thread thread : threads) thread.join();
        }
        System.out.println("threads=" + started);
        Cpu.print("cpu", nanos.get());
    }
}

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Threads that allocate, each class in one method only, until the file "end" appears. Arguments: the
 * number of threads. Prints "ready" when all run.
 */
public class Busy {
    static class First { long a; }
    static class Second { Object b; First c; }
    static class Third { byte d; }

    static final AtomicReferenceArray<Object> kept = new AtomicReferenceArray<>(30_000);
    static volatile boolean ended;
    /** Milliseconds between the rounds of a thread, so that the machine is not overwhelmed. */
    static long pause;

    static void first(int at) { kept.set(at, new First()); }

    static void second(int at) { kept.set(at, new Second()); }

    static void third(int at) { kept.set(at, new Third[at % 100]); }

    static void work(int seed) {
        int at = seed;
        while (!ended) {
            for (int i = 0; i < 20; i++) {
                at = (at * 1_103_515_245 + 12_345) & Integer.MAX_VALUE;
                int place = (at >>> 8) % 10_000;
                first(place);
                second(10_000 + place);
                third(20_000 + place);
            }
            try {
                Thread.sleep(pause);
            } catch (InterruptedException stop) {
                return;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        pause = Math.max(1, Integer.parseInt(args[0]) / 10);
        Thread[] threads = new Thread[Integer.parseInt(args[0])];
        for (int i = 0; i < threads.length; i++) {
            int seed = i;
            threads[i] = new Thread(null, () -> work(seed), "busy-" + i, 256 << 10);
            threads[i].start();
        }
        System.out.println("ready");
        java.io.File end = new java.io.File("end");
        while (!end.exists()) Thread.sleep(20);
        ended = true;
        for (Thread thread : threads) thread.join();
        System.out.println("ended");
    }
}

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/**
 * Deep virtual threads, from JDK 21 on (called by reflection, for the sources are compiled for 11).
 *
 * Arguments: SECONDS COUNT DEPTH. COUNT virtual threads call outer(), which calls itself through down() DEPTH levels
 * deep, leave their carrier there, and call work() on each level on the way back, while garbage is made. So most of
 * their frames are in the heap while they work.
 */
public class DeepVirtual {
    static volatile long sink;
    static volatile Object garbage;

    static void work() {
        for (int i = 0; i < 20_000; i++) sink += i;
    }

    static void down(int levels) throws InterruptedException {
        if (levels == 0) {
            Thread.sleep(1);
            garbage = new byte[100_000];
        } else {
            down(levels - 1);
        }
        work();
    }

    static void outer(long end, int depth) {
        try {
            while (System.nanoTime() < end) down(depth);
        } catch (InterruptedException nobodyDoesThat) {
            throw new IllegalStateException(nobodyDoesThat);
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        int count = Integer.parseInt(args[1]);
        int depth = Integer.parseInt(args[2]);
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            threads.add((Thread) start.invoke(null, (Runnable) () -> outer(end, depth)));
        }
        for (Thread thread : threads) thread.join();
    }
}

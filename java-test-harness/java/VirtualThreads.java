import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Virtual threads, from JDK 21 on (called by reflection, for the sources are compiled for 11).
 *
 * Arguments: "spin SECONDS COUNT": COUNT virtual threads named "virtual-0", ... burn CPU in spin(),
 * leaving their carrier now and then. "many SECONDS COUNT": COUNT at a time start, work a little,
 * sleep for a millisecond, work again in work(), and end. Exact: "threads=", how many were started;
 * "process=", CPU seconds of all threads, the JVM's own included.
 */
public class VirtualThreads {
    static volatile long sink;

    static void spin(long end) {
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1_000_000; i++) sink += i;
            Thread.yield();
        }
    }

    static void work() {
        for (int i = 0; i < 2_000; i++) sink += i;
    }

    static void workTwice() {
        work();
        try {
            Thread.sleep(1);
        } catch (InterruptedException nobodyDoesThat) {
            throw new IllegalStateException(nobodyDoesThat);
        }
        work();
    }

    static Thread start(String name, Runnable task) throws Exception {
        Class<?> builderType = Class.forName("java.lang.Thread$Builder");
        Method named = builderType.getMethod("name", String.class);
        Object builder = named.invoke(Thread.class.getMethod("ofVirtual").invoke(null), name);
        return (Thread) builderType.getMethod("start", Runnable.class).invoke(builder, task);
    }

    public static void main(String[] args) throws Exception {
        long before = Cpu.ofProcess();
        long end = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;
        int count = Integer.parseInt(args[2]);
        AtomicLong started = new AtomicLong();
        boolean spin = args[0].equals("spin");
        do {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                Runnable task = spin ? () -> spin(end) : () -> workTwice();
                threads.add(start("virtual-" + started.getAndIncrement(), task));
            }
            for (Thread thread : threads) thread.join();
        } while (System.nanoTime() < end);
        System.out.println("threads=" + started);
        Cpu.print("process", Cpu.ofProcess() - before);
    }
}

import java.util.ArrayList;
import java.util.List;

/**
 * All strains of a JVM at once: allocation, classes that are loaded, redefined and unloaded, threads that start and end,
 * stacks that overflow, and, from JDK 21 on, 2,000 virtual threads at a time. Needs the Java agent Redefiner.
 *
 * Argument: seconds. Exits with status 1 if one of them fails.
 */
public class Together {
    interface Program {
        void run() throws Exception;
    }

    static volatile boolean failed;

    static Thread start(String name, Program program) {
        Thread thread = new Thread(() -> {
            try {
                program.run();
            } catch (Throwable error) {
                failed = true;
                error.printStackTrace();
            }
        }, name);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        String seconds = args[0];
        List<Thread> strains = new ArrayList<>();
        strains.add(start("allocation", () -> AllocPressure.main(new String[] {seconds, "2"})));
        strains.add(start("classes", () -> ClassChurn.main(new String[] {seconds})));
        strains.add(start("threads", () -> ManyThreads.main(new String[] {seconds, "16"})));
        strains.add(start("overflow", () -> DeepRecursion.main(new String[] {"overflow", seconds, "1"})));
        if (Runtime.version().feature() >= 21) {
            strains.add(start("virtual", () -> VirtualThreads.main(new String[] {"many", seconds, "2000"})));
        }
        for (Thread strain : strains) strain.join();
        if (failed) System.exit(1);
    }
}

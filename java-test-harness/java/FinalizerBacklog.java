import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * 2,000 objects whose finalize method does not return, with 1,000 bytes each, and a map with weak keys whose values refer
 * to their keys; then a dump into a file.
 */
public class FinalizerBacklog {
    static class Connection {
        final byte[] buffer = new byte[1000];

        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            try {
                Thread.sleep(1_000_000);
            } catch (InterruptedException end) {
                throw new IllegalStateException(end);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 2000; i++) new Connection();
        boolean waits = false;
        for (int i = 0; i < 1000 && !waits; i++) {
            System.gc();
            Thread.sleep(10);
            for (Thread thread : all()) {
                StackTraceElement[] stack = thread.getStackTrace();
                for (StackTraceElement frame : stack) waits |= frame.getMethodName().equals("finalize");
            }
        }
        System.out.println(waits);
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(args[0], true);
        Runtime.getRuntime().halt(0);
    }

    static List<Thread> all() {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) group = group.getParent();
        Thread[] threads = new Thread[100];
        int count = group.enumerate(threads);
        List<Thread> found = new ArrayList<>();
        for (int i = 0; i < count; i++) found.add(threads[i]);
        return found;
    }
}

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.List;

/**
 * Calls System.gc(), and makes garbage of all ages and sizes for the given number of milliseconds (default
 * 500), and on a busy machine until there were ten collections, or for ten seconds. Then prints how often and
 * how long each bean says that it collected: "bean=NAME|COUNT|MILLISECONDS", once nothing has been collected
 * for a while, what this thread has allocated ("allocated=BYTES"), and then "kept=NUMBER". With a second
 * argument it waits until the file of that name appears in the current folder, or for a minute.
 */
public class GcBeans {
    static volatile Object sink;

    static String beans() {
        StringBuilder text = new StringBuilder();
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            text.append("bean=").append(bean.getName()).append('|').append(bean.getCollectionCount());
            text.append('|').append(bean.getCollectionTime()).append('\n');
        }
        return text.toString();
    }

    static boolean isEnough(long end) {
        long since = System.nanoTime() - end;
        if (since < 0) return false;
        long count = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            count += Math.max(0, bean.getCollectionCount());
        }
        return count >= 10 || since > 10_000_000_000L;
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + (args.length > 0 ? Long.parseLong(args[0]) : 500) * 1_000_000L;
        ArrayDeque<byte[]> kept = new ArrayDeque<>();
        int random = 17;
        System.gc();
        while (!isEnough(end)) {
            for (int i = 0; i < 1000; i++) {
                random = random * 1_103_515_245 + 12_345;
                byte[] bytes = new byte[(random >>> 18) & 8191];
                sink = bytes;
                if ((random & 0x1000) == 0) kept.add(bytes);
                // Some 12 MB of middle age.
                if (kept.size() > 3000) kept.poll();
            }
            // Large for every collector.
            if ((random & 0x30000) == 0) sink = new byte[3 << 20];
        }
        // Its classes are loaded before the beans are read: that may take a collection.
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        threads.getThreadAllocatedBytes(thread);
        // Ends what is under way, and makes room enough for the rest of the program.
        System.gc();
        String before = "";
        String now = beans();
        while (!now.equals(before)) {
            before = now;
            Thread.sleep(200);
            now = beans();
        }
        System.out.print(now);
        // The first concatenation loads hundreds of classes (JEP 280), which may take a collection.
        System.out.print("allocated=");
        System.out.println(threads.getThreadAllocatedBytes(thread));
        System.out.print("kept=");
        System.out.println(kept.size());
        System.out.flush();
        long limit = System.nanoTime() + 60_000_000_000L;
        while (args.length > 1 && System.nanoTime() < limit && !new java.io.File(args[1]).exists()) Thread.sleep(10);
    }
}

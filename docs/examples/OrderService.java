package acme;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/**
 * A service of four workers, in threads of the platform or in virtual ones. The first argument chooses what is wrong with it:
 * slow, leak, lock, garbage or hang; the second, "virtual", its threads.
 */
public class OrderService {
    static final Map<String, byte[]> RECENT = new ConcurrentHashMap<>();
    static final Object ORDERS = new Object();
    static final Object STOCK = new Object();
    static final AtomicLong NUMBERS = new AtomicLong();
    static volatile long found;

    public static void main(String[] arguments) throws Exception {
        String fault = arguments[0];
        ThreadFactory factory = arguments.length > 1 ? virtualThreads() : OrderService::platformThread;
        for (int i = 0; i < 4; i++) {
            int number = i;
            Thread worker = factory.newThread(() -> work(fault, number));
            worker.setName("worker-" + i);
            worker.start();
        }
        Thread.sleep(Long.MAX_VALUE);
    }

    static Thread platformThread(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }

    /** {@code Thread.ofVirtual().factory()}, which compilers before JDK 21 do not know. */
    static ThreadFactory virtualThreads() throws ReflectiveOperationException {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        return (ThreadFactory) type.getMethod("factory").invoke(builder);
    }

    static void work(String fault, int number) {
        while (true) {
            String order = "order-" + NUMBERS.incrementAndGet() + "-new";
            switch (fault) {
                case "slow": parse(order); break;
                case "leak": remember(order); break;
                case "lock": audit(order); break;
                case "garbage": format(order); break;
                default: if (number % 2 == 0) ship(); else restock();
            }
            pause(1);
        }
    }

    static void parse(String order) {
        for (int i = 0; i < 300; i++) {
            if (Pattern.compile("([a-z]+)-(\\d+)-([a-z]+)").matcher(order).matches()) found++;
        }
    }

    static void remember(String order) {
        RECENT.put(order, new byte[2000]);
    }

    static void audit(String order) {
        synchronized (ORDERS) {
            pause(3);
        }
    }

    static void format(String order) {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) lines.add(order + ':' + i);
        found += lines.size();
    }

    static void ship() {
        synchronized (ORDERS) {
            pause(50);
            synchronized (STOCK) {
                found++;
            }
        }
    }

    static void restock() {
        synchronized (STOCK) {
            pause(50);
            synchronized (ORDERS) {
                found++;
            }
        }
    }

    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}

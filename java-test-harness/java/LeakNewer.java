import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Heaps of {@link LeakCorpus} that need newer features of the JDK. */
final class LeakNewer {
    private LeakNewer() {}

    /** Defined as a hidden class. */
    public static final class Script implements Runnable {
        static final List<byte[]> RESULTS = new ArrayList<>();

        @Override
        public void run() {
            for (int i = 0; i < 2000; i++) RESULTS.add(new byte[4000]);
        }
    }

    static final class Engine {
        static final List<Runnable> SCRIPTS = new ArrayList<>();
    }

    private static byte[] bytesOf(String name) throws Exception {
        try (InputStream in = LeakNewer.class.getResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }

    private static Class<?> hidden(String name) throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        Class<?> option = Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption");
        Object defined = MethodHandles.Lookup.class
            .getMethod("defineHiddenClass", byte[].class, boolean.class, Array.newInstance(option, 0).getClass())
            .invoke(lookup, bytesOf(name), true, Array.newInstance(option, 0));
        return ((MethodHandles.Lookup) defined).lookupClass();
    }

    @LeakCorpus.Answer(
        says = {"LeakNewer$Script", "RESULTS", "java.util.ArrayList with 2,000 elements", "2,000 objects of class byte[]"},
        since = 17)
    static void staticsOfAHiddenClass(LeakCorpus.Dump dump) throws Exception {
        Runnable script = (Runnable) hidden("LeakNewer$Script").getConstructor().newInstance();
        script.run();
        Engine.SCRIPTS.add(script);
    }

    /** One of many hidden classes, each with its own data. */
    public static final class Rule implements Runnable {
        static final byte[] TABLE = new byte[60_000];

        @Override
        public void run() {
            TABLE[0]++;
        }
    }

    @LeakCorpus.Answer(
        says = {"LeakNewer$Engine.SCRIPTS", "150", "LeakNewer$Rule"},
        since = 17)
    static void manyHiddenClasses(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 150; i++) {
            Runnable rule = (Runnable) hidden("LeakNewer$Rule").getConstructor().newInstance();
            rule.run();
            Engine.SCRIPTS.add(rule);
        }
    }

    static final ThreadLocal<Map<Integer, byte[]>> REQUEST = ThreadLocal.withInitial(HashMap::new);

    private static void handle(CountDownLatch ready) {
        for (int i = 0; i < 20; i++) REQUEST.get().put(i, new byte[4000]);
        ready.countDown();
        LockSupport.park();
    }

    @LeakCorpus.Answer(
        says = {"100 values of ThreadLocals of class java.util.HashMap", "static field LeakNewer.REQUEST"},
        tells = "ThreadLocal.remove()",
        since = 25)
    static void threadLocalsOfVirtualThreads(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch ready = new CountDownLatch(100);
        for (int i = 0; i < 100; i++) {
            Runnable task = () -> handle(ready);
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        ready.await();
        Thread.sleep(200);
    }

    /** A cache whose bound is kept. */
    static final class Bounded extends java.util.LinkedHashMap<Integer, byte[]> {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
            return size() > 10;
        }
    }

    static final Map<String, Bounded> BY_TENANT = new ConcurrentHashMap<>();

    @LeakCorpus.Answer(healthy = true)
    static void boundedByTenant(LeakCorpus.Dump dump) {
        for (int i = 0; i < 4; i++) {
            Bounded cache = BY_TENANT.computeIfAbsent("tenant " + i, it -> new Bounded());
            for (int j = 0; j < 500; j++) cache.put(j, new byte[2000]);
        }
    }

    @LeakCorpus.Answer(healthy = true)
    static void finishedWork(LeakCorpus.Dump dump) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> {
                Map<Integer, byte[]> all = new HashMap<>();
                for (int j = 0; j < 1000; j++) all.put(j, new byte[1000]);
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
    }
}

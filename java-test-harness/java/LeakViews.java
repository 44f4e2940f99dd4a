import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Stack;
import java.util.TreeMap;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.stream.Stream;

/**
 * Heaps of {@link LeakCorpus} whose collections are seen through iterators, views and streams, are old or unchangeable, or
 * in which the JDK holds what belongs to the program.
 */
final class LeakViews {
    private LeakViews() {}

    static final class Order {
        final byte[] lines = new byte[1500];
    }

    private static List<Order> orders(int count) {
        List<Order> orders = new ArrayList<>();
        for (int i = 0; i < count; i++) orders.add(new Order());
        return orders;
    }

    static Iterator<Order> cursor;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.cursor", "java.util.ArrayList with 4,000 elements",
            "4,000 objects of class LeakViews$Order"},
        shared = true)
    static void iteratorOfAList(LeakCorpus.Dump dump) {
        cursor = orders(4000).iterator();
    }

    static Stream<Order> stream;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.stream", "java.util.ArrayList with 4,000 elements",
            "4,000 objects of class LeakViews$Order"},
        shared = true)
    static void streamThatNeverEnds(LeakCorpus.Dump dump) {
        stream = orders(4000).stream().filter(order -> order.lines[0] == 0).sorted();
    }

    static Set<String> names;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.names", "java.util.HashMap$KeySet with 4,000 elements",
            "4,000 objects of class LeakViews$Order"},
        shared = true)
    static void keysOfAMap(LeakCorpus.Dump dump) {
        Map<String, Order> orders = new HashMap<>();
        for (int i = 0; i < 4000; i++) orders.put("order " + i, new Order());
        names = orders.keySet();
    }

    static List<Order> copied;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.copied", "java.util.ImmutableCollections$ListN with 4,000 elements",
            "4,000 objects of class LeakViews$Order"},
        holder = "LeakViews.copied",
        shared = true)
    static void listOfCopies(LeakCorpus.Dump dump) {
        copied = List.copyOf(orders(4000));
    }

    static Map<Integer, Order> snapshot;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.snapshot", "java.util.ImmutableCollections$MapN with 4,000 entries",
            "4,000 objects of class LeakViews$Order"},
        holder = "LeakViews.snapshot",
        shared = true)
    static void mapOfCopies(LeakCorpus.Dump dump) {
        Map<Integer, Order> orders = new HashMap<>();
        for (int i = 0; i < 4000; i++) orders.put(i, new Order());
        snapshot = Map.copyOf(orders);
    }

    static Hashtable<String, Order> table;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.table", "java.util.Hashtable with 4,000 entries",
            "4,000 objects of class LeakViews$Order"},
        holder = "LeakViews.table",
        shared = true)
    static void hashtable(LeakCorpus.Dump dump) {
        table = new Hashtable<>();
        for (int i = 0; i < 4000; i++) table.put("order " + i, new Order());
    }

    static final class Frames extends Stack<Vector<Order>> {
        private static final long serialVersionUID = 1;
    }

    static Frames frames;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.frames", "one LeakViews$Frames with 100 elements",
            "100 objects of class java.util.Vector, which hold 4,000 objects of class LeakViews$Order"},
        holder = "LeakViews.frames",
        shared = true)
    static void stackOfVectors(LeakCorpus.Dump dump) {
        frames = new Frames();
        for (int i = 0; i < 100; i++) frames.push(new Vector<>(orders(40)));
    }

    static Collection<Order> guarded;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.guarded", "3,000 objects of class LeakViews$Order"},
        shared = true)
    static void viewOfAView(LeakCorpus.Dump dump) {
        TreeMap<Integer, Order> orders = new TreeMap<>();
        for (int i = 0; i < 3000; i++) orders.put(i, new Order());
        guarded = Collections.unmodifiableCollection(orders.descendingMap().values());
    }

    static Throwable failure;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.failure", "java.util.ArrayList with 6,000 elements",
            "6,000 objects of class java.lang.IllegalArgumentException"},
        tells = "java.lang.Throwable.suppressedExceptions",
        shared = true)
    static void suppressedFailures(LeakCorpus.Dump dump) {
        failure = new IllegalStateException("some failed");
        for (int i = 0; i < 6000; i++) failure.addSuppressed(new IllegalArgumentException("order " + i + " failed"));
    }

    static final class Metadata {
        final byte[] columns = new byte[20_000];
    }

    static ClassValue<Metadata> metadata;

    @LeakCorpus.Answer(
        observes = {"held by values of ClassValues, most of class LeakViews$Metadata", "no garbage"},
        healthy = true,
        shared = true)
    static void valuesOfClasses(LeakCorpus.Dump dump) throws Exception {
        metadata = new ClassValue<>() {
            @Override
            protected Metadata computeValue(Class<?> type) {
                return new Metadata();
            }
        };
        Class<?> type = Object.class;
        for (int i = 0; i < 250; i++) {
            type = i % 16 == 0 ? BASES[i / 16] : java.lang.reflect.Array.newInstance(type, 0).getClass();
            metadata.get(type);
        }
    }

    private static final Class<?>[] BASES = {
        String.class, Integer.class, Long.class, Short.class, Byte.class, Character.class, Boolean.class, Float.class,
        Double.class, Thread.class, Number.class, Iterable.class, Comparable.class, Runnable.class, Math.class, System.class,
    };

    static final class Entity {
        final String name;
        final byte[] data = new byte[1000];

        Entity(String name) {
            this.name = name;
        }
    }

    static Map<String, Set<Entity>> groups;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.groups", "java.util.concurrent.ConcurrentHashMap with 30 entries",
            "6,000 objects of class LeakViews$Entity"},
        holder = "LeakViews.groups",
        shared = true)
    static void setsByName(LeakCorpus.Dump dump) {
        groups = new ConcurrentHashMap<>();
        for (int i = 0; i < 6000; i++) {
            groups.computeIfAbsent("group " + i % 30, it -> ConcurrentHashMap.newKeySet()).add(new Entity("entity " + i));
        }
    }

    static final class City {
        final byte[] plan = new byte[1500];
    }

    static Map<City, Set<City>> roads;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.roads", "java.util.HashMap with 3,000 entries"},
        tells = "3,000 objects of class LeakViews$City",
        holder = "LeakViews.roads",
        shared = true)
    static void graphInAMap(LeakCorpus.Dump dump) {
        roads = new HashMap<>();
        City[] cities = new City[3000];
        for (int i = 0; i < cities.length; i++) {
            cities[i] = new City();
            roads.put(cities[i], new HashSet<>());
        }
        for (int i = 0; i < cities.length; i++) {
            for (int j = 1; j < 4; j++) roads.get(cities[i]).add(cities[(i * 7 + j) % cities.length]);
        }
    }

    static Function<Integer, Integer> memo;

    private static <K, V> Function<K, V> memoized(Function<K, V> function) {
        Map<K, V> known = new HashMap<>();
        return key -> known.computeIfAbsent(key, function);
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakViews.memo keeps", "java.util.HashMap with 60,000 entries"},
        shared = true)
    static void memoizedFunction(LeakCorpus.Dump dump) {
        memo = memoized(i -> i * i + 1000);
        for (int i = 0; i < 60_000; i++) memo.apply(i + 1000);
    }

    static Supplier<byte[]> report;

    @LeakCorpus.Answer(
        says = {"The static field LeakViews.report keeps 6.0 MB", "one byte[] of 6,000,000 elements"},
        shared = true)
    static void arrayInALambda(LeakCorpus.Dump dump) {
        byte[] image = new byte[6_000_000];
        report = () -> image;
    }

    static final class Evicted extends WeakReference<Object> {
        final byte[] value = new byte[1500];

        Evicted(Object key, ReferenceQueue<Object> queue) {
            super(key, queue);
        }
    }

    static ReferenceQueue<Object> evicted;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.evicted", "4,000 objects of class LeakViews$Evicted"},
        tells = "no thread has the queue on its stack")
    static void queueThatNothingPolls(LeakCorpus.Dump dump) throws Exception {
        evicted = new ReferenceQueue<>();
        Set<Evicted> all = new HashSet<>();
        for (int i = 0; i < 4000; i++) all.add(new Evicted(new Object(), evicted));
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        all.clear();
    }

    static ScheduledThreadPoolExecutor scheduler;

    @LeakCorpus.Answer(
        says = {"static field LeakViews.scheduler", "DelayedWorkQueue with 40,000 elements",
            "40,000 objects of class java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask"})
    static void tasksThatWereCancelled(LeakCorpus.Dump dump) throws Exception {
        scheduler = new ScheduledThreadPoolExecutor(1);
        for (int i = 0; i < 40_000; i++) {
            ScheduledFuture<?> task = scheduler.schedule(() -> {}, 1, TimeUnit.DAYS);
            task.cancel(false);
        }
    }

    static final class CustomLevel extends Level {
        private static final long serialVersionUID = 1;
        final byte[] data = new byte[10_000];

        CustomLevel(String name, int value) {
            super(name, value);
        }
    }

    @LeakCorpus.Answer(
        says = {"600 objects of class LeakViews$CustomLevel", "java.lang.ClassLoader.classLoaderValueMap"})
    static void customLevels(LeakCorpus.Dump dump) {
        for (int i = 0; i < 600; i++) new CustomLevel("LEVEL " + i, 100_000 + i);
    }

    private static void run(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void receive(CountDownLatch ready) {
        byte[] body = new byte[8_000_000];
        ready.countDown();
        LockSupport.park();
        body[0]++;
    }

    @LeakCorpus.Answer(
        says = {"byte[] of 8,000,000 elements", "local variable in LeakViews.receive", "\"receiver-1\""})
    static void bodyOfARequest(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch ready = new CountDownLatch(1);
        run("receiver-1", () -> receive(ready));
        ready.await();
        Thread.sleep(100);
    }

    static final class Batch {
        final Map<Integer, Order> rows = new HashMap<>();
    }

    private static void load(Batch batch, LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 4000; i++) batch.rows.put(i, new Order());
        dump.write();
        batch.rows.clear();
    }

    @LeakCorpus.Answer(
        says = {"field LeakViews$Batch.rows", "java.util.HashMap with 4,000 entries", "local variable in LeakViews.load",
            "main"})
    static void batchOfACaller(LeakCorpus.Dump dump) throws Exception {
        Batch batch = new Batch();
        load(batch, dump);
    }

    static final class Consumer implements Runnable {
        private final List<Order> pending = Collections.synchronizedList(new ArrayList<>());

        @Override
        public void run() {
            List<Order> orders = pending;
            for (int i = 0; i < 4000; i++) orders.add(new Order());
            LockSupport.park();
            orders.clear();
        }
    }

    @LeakCorpus.Answer(
        says = {"field LeakViews$Consumer.pending", "4,000 elements", "4,000 objects of class LeakViews$Order", "\"consumer\""})
    static void listOfARunnable(LeakCorpus.Dump dump) throws Exception {
        run("consumer", new Consumer());
        Thread.sleep(200);
    }

    @LeakCorpus.Answer(
        says = {"threads \"crawler-*\"", "6 threads", "LeakViews$Consumer.run"},
        threads = "crawler-")
    static void listsOfRunnables(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 6; i++) run("crawler-" + i, new Consumer());
        Thread.sleep(300);
    }

    static final ThreadLocal<StringBuilder> BUFFER = ThreadLocal.withInitial(StringBuilder::new);

    @LeakCorpus.Answer(
        says = {"static field LeakViews.BUFFER", "java.lang.StringBuilder", "ThreadLocal"},
        tells = "main")
    static void builderOfAThread(LeakCorpus.Dump dump) {
        StringBuilder buffer = BUFFER.get();
        while (buffer.length() < 6_000_000) buffer.append("line of a log that grew once and never shrinks\n");
        buffer.setLength(0);
    }
}

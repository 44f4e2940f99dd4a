import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Heaps of {@link LeakCorpus} in the shapes of containers and of the libraries in them: tenants, meters, buses, sessions, pools
 * of connections, plug-ins. Their answers were written before the first report on them.
 */
final class LeakContainers {
    private LeakContainers() {}

    static final class Item {
        final byte[] text = new byte[1500];
    }

    /** A cache of one tenant. */
    static final class TenantCache {
        private final ConcurrentHashMap<String, Item> items = new ConcurrentHashMap<>();
    }

    static final class Tenant {
        final String name;
        final TenantCache cache = new TenantCache();

        Tenant(String name) {
            this.name = name;
        }
    }

    static final class TenantRegistry {
        private final Map<String, Tenant> byName = new ConcurrentHashMap<>();
    }

    static TenantRegistry tenants;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$TenantRegistry.byName", "20 objects of class LeakContainers$Tenant",
            "3,000 objects of class LeakContainers$Item"},
        tells = "LeakContainers.tenants",
        holder = "LeakContainers.tenants.byName",
        shared = true)
    static void cachesByTenant(LeakCorpus.Dump dump) {
        tenants = new TenantRegistry();
        for (int i = 0; i < 20; i++) {
            Tenant tenant = new Tenant("tenant " + i);
            tenants.byName.put(tenant.name, tenant);
            for (int j = 0; j < 150; j++) tenant.cache.items.put("item " + j, new Item());
        }
    }

    static final class Tag {
        final String key;
        final String value;

        Tag(String key, String value) {
            this.key = key;
            this.value = value;
        }
    }

    /** The name of a meter with its tags. */
    static final class Id {
        final String name;
        final Tag[] tags;

        Id(String name, Tag... tags) {
            this.name = name;
            this.tags = tags;
        }
    }

    static final class Counter {
        final Id id;
        final LongAdder count = new LongAdder();

        Counter(Id id) {
            this.id = id;
        }
    }

    static final class MeterRegistry {
        private final Map<Id, Counter> meterMap = new ConcurrentHashMap<>();

        void count(String name, String user) {
            meterMap.computeIfAbsent(new Id(name, new Tag("user", user), new Tag("uri", "/orders/" + user)), Counter::new).count.increment();
        }
    }

    static MeterRegistry meters;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$MeterRegistry.meterMap", "java.util.concurrent.ConcurrentHashMap with 8,000 entries",
            "8,000 objects of class LeakContainers$Id"},
        tells = "LeakContainers.meters",
        holder = "LeakContainers.meters.meterMap",
        shared = true)
    static void metersByUser(LeakCorpus.Dump dump) {
        meters = new MeterRegistry();
        for (int i = 0; i < 8000; i++) meters.count("http.requests", "user-" + i);
    }

    static final class Subscriber {
        final Bus bus;
        final Object target;
        final String method;

        Subscriber(Bus bus, Object target, String method) {
            this.bus = bus;
            this.target = target;
            this.method = method;
        }
    }

    static final class Bus {
        private final Map<Class<?>, CopyOnWriteArraySet<Subscriber>> subscribers = new ConcurrentHashMap<>();

        void register(Class<?> event, Object target) {
            subscribers.computeIfAbsent(event, it -> new CopyOnWriteArraySet<>()).add(new Subscriber(this, target, "onEvent"));
        }
    }

    static final class OrderView {
        final int[] cells = new int[700];
    }

    static Bus bus;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$Bus.subscribers", "1,500 objects of class LeakContainers$Subscriber"},
        tells = "LeakContainers.bus",
        shared = true)
    static void subscribersOfABus(LeakCorpus.Dump dump) {
        bus = new Bus();
        for (int i = 0; i < 1500; i++) bus.register(i % 2 == 0 ? String.class : Integer.class, new OrderView());
    }

    static final class WebSession {
        final Manager manager;
        final String id;
        final Map<String, Object> attributes = new ConcurrentHashMap<>();
        final Facade facade = new Facade(this);

        WebSession(Manager manager, String id) {
            this.manager = manager;
            this.id = id;
        }
    }

    static final class Facade {
        final WebSession session;

        Facade(WebSession session) {
            this.session = session;
        }
    }

    static final class Manager {
        final Engine engine;
        final Map<String, WebSession> sessions = new ConcurrentHashMap<>();

        Manager(Engine engine) {
            this.engine = engine;
        }
    }

    /** Runs in a thread, which is all that holds it. */
    static final class Engine implements Runnable {
        final Manager manager = new Manager(this);

        @Override
        public void run() {
            while (true) LockSupport.park(this);
        }
    }

    static final class Cart {
        final List<Item> items = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"field LeakContainers$Manager.sessions", "java.util.concurrent.ConcurrentHashMap with 800 entries",
            "800 objects of class LeakContainers$WebSession"},
        tells = "container-background")
    static void sessionsThatNeverExpire(LeakCorpus.Dump dump) throws Exception {
        Engine engine = new Engine();
        for (int i = 0; i < 800; i++) {
            WebSession session = new WebSession(engine.manager, "session-" + i);
            Cart cart = new Cart();
            for (int j = 0; j < 3; j++) cart.items.add(new Item());
            session.attributes.put("cart", cart);
            session.attributes.put("user", "user-" + i);
            engine.manager.sessions.put(session.id, session);
        }
        Thread thread = new Thread(engine, "container-background");
        thread.setDaemon(true);
        thread.start();
        Thread.sleep(200);
    }

    static final class ProxyStatement {
        final PoolEntry entry;
        final byte[] plan = new byte[1500];

        ProxyStatement(PoolEntry entry) {
            this.entry = entry;
        }
    }

    /** A list as pools of connections have it. */
    static final class FastList {
        private Object[] elementData = new Object[32];
        private int size;

        void add(Object element) {
            if (size == elementData.length) elementData = java.util.Arrays.copyOf(elementData, 2 * size);
            elementData[size++] = element;
        }
    }

    static final class PoolEntry {
        final byte[] buffer = new byte[8192];
        final FastList openStatements = new FastList();
    }

    static final class ConnectionPool {
        final CopyOnWriteArrayList<PoolEntry> sharedList = new CopyOnWriteArrayList<>();
    }

    static ConnectionPool connections;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$PoolEntry.openStatements", "6 objects of class LeakContainers$FastList",
            "3,000 objects of class LeakContainers$ProxyStatement"},
        tells = "LeakContainers.connections",
        shared = true)
    static void statementsOfPooledConnections(LeakCorpus.Dump dump) {
        connections = new ConnectionPool();
        for (int i = 0; i < 6; i++) {
            PoolEntry entry = new PoolEntry();
            for (int j = 0; j < 500; j++) entry.openStatements.add(new ProxyStatement(entry));
            connections.sharedList.add(entry);
        }
    }

    static final class Encoders {
        final Map<Thread, ByteBuffer> byThread = new ConcurrentHashMap<>();

        void encode() {
            byThread.computeIfAbsent(Thread.currentThread(), it -> ByteBuffer.allocate(30_000)).clear();
        }
    }

    static Encoders encoders;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$Encoders.byThread", "java.util.concurrent.ConcurrentHashMap with 150 entries",
            "150 objects of class java.nio.HeapByteBuffer"},
        tells = "LeakContainers.encoders",
        holder = "LeakContainers.encoders.byThread")
    static void buffersOfThreadsThatEnded(LeakCorpus.Dump dump) throws Exception {
        encoders = new Encoders();
        for (int i = 0; i < 150; i++) {
            Thread thread = new Thread(encoders::encode, "encoder-" + i);
            thread.start();
            thread.join();
        }
    }

    /** The code of a plug-in, which each of its loaders defines. */
    public static final class PluginCode {
        static final byte[] TABLE = new byte[150_000];
    }

    static final class PluginHandle {
        final ClassLoader loader;
        final Object instance;

        PluginHandle(ClassLoader loader) throws Exception {
            this.loader = loader;
            instance = Class.forName("LeakContainers$PluginCode", true, loader).getDeclaredConstructor().newInstance();
        }
    }

    static final class PluginManager {
        final Map<String, PluginHandle> active = new HashMap<>();
        final List<PluginHandle> retired = new ArrayList<>();
    }

    static PluginManager plugins;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$PluginManager.retired", "java.util.ArrayList with 30 elements",
            "30 objects of class LeakContainers$PluginHandle"},
        tells = "class loaders",
        holder = "LeakContainers.plugins.retired")
    static void versionsOfAPlugIn(LeakCorpus.Dump dump) throws Exception {
        plugins = new PluginManager();
        URL here = LeakContainers.class.getProtectionDomain().getCodeSource().getLocation();
        for (int i = 0; i <= 30; i++) {
            PluginHandle old = plugins.active.put("plug-in", new PluginHandle(new URLClassLoader(new URL[] {here}, null)));
            if (old != null) plugins.retired.add(old);
        }
    }

    /** A task that schedules the next one, which refers to it. */
    static final class Poll implements Runnable {
        final Poll previous;
        final byte[] answer = new byte[1500];

        Poll(Poll previous) {
            this.previous = previous;
        }

        @Override
        public void run() {}
    }

    static ScheduledExecutorService scheduler;

    @LeakCorpus.Answer(
        says = {"static field LeakContainers.scheduler", "3,000 objects of class LeakContainers$Poll"})
    static void tasksThatRescheduleThemselves(LeakCorpus.Dump dump) {
        scheduler = Executors.newSingleThreadScheduledExecutor();
        Poll poll = null;
        for (int i = 0; i < 3000; i++) poll = new Poll(poll);
        scheduler.schedule(poll, 1, TimeUnit.DAYS);
    }

    static final class QueueEntry {
        final String key;
        final CompletableFuture<Item> future = new CompletableFuture<>();
        final Object context = new Item();

        QueueEntry(String key) {
            this.key = key;
        }
    }

    /** Collects keys for one query, which nothing dispatches. */
    static final class DataLoader {
        final List<QueueEntry> queue = new ArrayList<>();
        final Map<String, CompletableFuture<Item>> cache = new HashMap<>();

        void load(String key) {
            QueueEntry entry = new QueueEntry(key);
            queue.add(entry);
            cache.put(key, entry.future);
        }
    }

    static DataLoader orders;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$DataLoader.queue", "java.util.ArrayList with 3,000 elements",
            "3,000 objects of class LeakContainers$QueueEntry"},
        tells = "LeakContainers.orders",
        holder = "LeakContainers.orders.queue",
        shared = true)
    static void keysThatNothingLoads(LeakCorpus.Dump dump) {
        orders = new DataLoader();
        for (int i = 0; i < 3000; i++) orders.load("order " + i);
    }

    static final class Profile {
        final String user;
        final long[] scores = new long[200];

        Profile(String user) {
            this.user = user;
        }
    }

    /** A value that is computed when it is first asked for, as Kotlin has it. */
    static final class Lazy {
        private Supplier<Profile> initializer;
        private volatile Object value;
        private final Object lock = this;

        Lazy(Supplier<Profile> initializer) {
            this.initializer = initializer;
        }

        Profile value() {
            synchronized (lock) {
                if (value == null) {
                    value = initializer.get();
                    initializer = null;
                }
                return (Profile) value;
            }
        }
    }

    static final class User {
        final String name;
        final Lazy profile;

        User(String name) {
            this.name = name;
            profile = new Lazy(() -> new Profile(name));
        }
    }

    /** An object of Kotlin: one instance, and static fields. */
    static final class Repository {
        static final Repository INSTANCE = new Repository();
        private static final Map<String, User> users = new LinkedHashMap<>();

        int find(String name) {
            return users.computeIfAbsent(name, User::new).profile.value().scores.length;
        }
    }

    @LeakCorpus.Answer(
        says = {"static field LeakContainers$Repository.users", "java.util.LinkedHashMap with 2,500 entries",
            "2,500 objects of class LeakContainers$User"},
        holder = "LeakContainers$Repository.users")
    static void usersOfASingleton(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2500; i++) Repository.INSTANCE.find("user " + i);
    }

    static final class Segment {
        final ByteBuffer memory = ByteBuffer.allocateDirect(500_000);
        final int[] index = new int[12_000];
    }

    static final class OffHeapTable {
        final Map<Integer, Segment> segments = new HashMap<>();
    }

    static OffHeapTable table;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$OffHeapTable.segments", "java.util.HashMap with 60 entries",
            "60 objects of class LeakContainers$Segment"},
        tells = "60 direct buffers below it hold 30.0 MB outside of the heap")
    static void segmentsOutsideOfTheHeap(LeakCorpus.Dump dump) {
        table = new OffHeapTable();
        for (int i = 0; i < 60; i++) table.segments.put(i, new Segment());
    }

    /** Texts that are equal are one: a table with open addressing. */
    static final class Interner {
        private String[] table = new String[64];
        private int count;

        String intern(String text) {
            if (4 * count > 3 * table.length) {
                String[] old = table;
                table = new String[2 * old.length];
                for (String one : old) {
                    if (one != null) table[place(one)] = one;
                }
            }
            int at = place(text);
            if (table[at] == null) {
                table[at] = text;
                count++;
            }
            return table[at];
        }

        private int place(String text) {
            int at = text.hashCode() & (table.length - 1);
            while (table[at] != null && !table[at].equals(text)) at = (at + 1) & (table.length - 1);
            return at;
        }
    }

    static Interner names;

    @LeakCorpus.Answer(
        says = {"static field LeakContainers.names", "one LeakContainers$Interner with 40,000 elements",
            "40,000 objects of class java.lang.String"},
        holder = "LeakContainers.names",
        shared = true)
    static void textsOfAnInterner(LeakCorpus.Dump dump) {
        names = new Interner();
        for (int i = 0; i < 40_000; i++) names.intern("a name that was read from a document, number " + i);
    }

    /** A key that equals only itself. */
    static final class Query {
        final String text;

        Query(String text) {
            this.text = text;
        }
    }

    static final class ResultCache {
        final Map<Query, Item> results = new LinkedHashMap<Query, Item>(16, 0.75f, true) {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean removeEldestEntry(Map.Entry<Query, Item> eldest) {
                return size() > 100_000;
            }
        };
    }

    static ResultCache results;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$ResultCache.results", "with 3,000 entries", "3,000 objects of class LeakContainers$Item"},
        tells = "LeakContainers.results",
        holder = "LeakContainers.results.results",
        shared = true)
    static void keysWithoutEquals(LeakCorpus.Dump dump) {
        results = new ResultCache();
        for (int i = 0; i < 3000; i++) results.results.put(new Query("select " + i % 10), new Item());
    }

    enum Priority { HIGH, NORMAL, LOW }

    static final class Job {
        final Item item = new Item();
    }

    static final class Dispatcher {
        final EnumMap<Priority, Deque<Job>> lanes = new EnumMap<>(Priority.class);
    }

    static Dispatcher dispatcher;

    @LeakCorpus.Answer(
        says = {"field LeakContainers$Dispatcher.lanes", "java.util.ArrayDeque with 3,000 elements",
            "3,000 objects of class LeakContainers$Job"},
        tells = "LeakContainers.dispatcher",
        shared = true)
    static void laneThatStarves(LeakCorpus.Dump dump) {
        dispatcher = new Dispatcher();
        for (Priority priority : Priority.values()) dispatcher.lanes.put(priority, new ArrayDeque<>());
        for (int i = 0; i < 3000; i++) dispatcher.lanes.get(Priority.LOW).add(new Job());
    }

    /** A set of numbers as compressed bitmaps have it. */
    static final class Bitmap {
        private char[] keys = new char[4];
        private Object[] containers = new Object[4];
        private int size;

        void add(int number) {
            int key = number >>> 16;
            if (size == 0 || keys[size - 1] != key) {
                if (size == keys.length) {
                    keys = java.util.Arrays.copyOf(keys, 2 * size);
                    containers = java.util.Arrays.copyOf(containers, 2 * size);
                }
                keys[size] = (char) key;
                containers[size++] = new BitContainer();
            }
            ((BitContainer) containers[size - 1]).words[(number & 0xffff) >>> 6] |= 1L << number;
        }
    }

    static final class BitContainer {
        final long[] words = new long[1024];
    }

    static Map<String, Bitmap> visitors;

    @LeakCorpus.Answer(
        says = {"static field LeakContainers.visitors", "java.util.HashMap with 50 entries",
            "50 objects of class LeakContainers$Bitmap", "1,000 objects of class LeakContainers$BitContainer"},
        holder = "LeakContainers.visitors",
        shared = true)
    static void bitmapsByPage(LeakCorpus.Dump dump) {
        visitors = new HashMap<>();
        for (int i = 0; i < 50; i++) {
            Bitmap bitmap = new Bitmap();
            for (int j = 0; j < 20; j++) bitmap.add(j << 16 | i);
            visitors.put("/page/" + i, bitmap);
        }
    }
}

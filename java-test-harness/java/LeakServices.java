import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.lang.ref.WeakReference;

/**
 * Heaps of {@link LeakCorpus} in the shapes of services: containers of beans, caches, repositories, listeners. All are in
 * static fields of this class, so that one program can build them one after the other.
 */
final class LeakServices {
    private LeakServices() {}

    static final class Order {
        final byte[] lines = new byte[1500];
    }

    static final class Price {
        final long[] history = new long[150];
    }

    static class Bean {
        final BeanFactory factory;

        Bean(BeanFactory factory) {
            this.factory = factory;
        }
    }

    static final class PriceService extends Bean {
        private final Map<String, Map<String, Price>> byRegion = new ConcurrentHashMap<>();

        PriceService(BeanFactory factory) {
            super(factory);
        }
    }

    static final class BeanFactory {
        private final Map<String, Object> singletonObjects = new ConcurrentHashMap<>(256);
        private final Map<String, Class<?>> types = new HashMap<>();

        void add(Object bean, String name) {
            singletonObjects.put(name, bean);
            types.put(name, bean.getClass());
        }
    }

    static final class Application {
        final BeanFactory factory = new BeanFactory();
    }

    static Application application;

    @LeakCorpus.Answer(
        says = {"field LeakServices$PriceService.byRegion", "java.util.concurrent.ConcurrentHashMap with 50 entries",
            "which hold 4,000 objects of class LeakServices$Price"},
        tells = "LeakServices.application",
        shared = true)
    static void mapsOfABean(LeakCorpus.Dump dump) {
        application = new Application();
        BeanFactory factory = application.factory;
        for (int i = 0; i < 40; i++) factory.add(new Bean(factory), "bean" + i);
        PriceService prices = new PriceService(factory);
        factory.add(prices, "prices");
        for (int i = 0; i < 4000; i++) {
            prices.byRegion.computeIfAbsent("region " + i % 50, it -> new ConcurrentHashMap<>()).put("item " + i, new Price());
        }
    }

    static Map<String, List<byte[]>> uploads;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.uploads", "java.util.HashMap with 40 entries",
            "40 objects of class java.util.ArrayList, which hold 4,000 objects of class byte[]"},
        holder = "LeakServices.uploads",
        shared = true)
    static void listsOfBytes(LeakCorpus.Dump dump) {
        uploads = new HashMap<>();
        for (int i = 0; i < 4000; i++) uploads.computeIfAbsent("user" + i % 40, it -> new ArrayList<>()).add(new byte[1500]);
    }

    static final class RecentOrders extends LinkedHashMap<Long, Order> {
        private static final long serialVersionUID = 1;

        RecentOrders() {
            super(16, 0.75f, true);
        }
    }

    static final class OrderService {
        final RecentOrders recent = new RecentOrders();
    }

    static OrderService orders;

    @LeakCorpus.Answer(
        says = {"field LeakServices$OrderService.recent", "one LeakServices$RecentOrders with 4,000 entries",
            "4,000 objects of class LeakServices$Order"},
        tells = "LeakServices.orders",
        holder = "LeakServices.orders.recent",
        shared = true)
    static void recentWithoutEldest(LeakCorpus.Dump dump) {
        orders = new OrderService();
        for (long i = 0; i < 4000; i++) orders.recent.put(i, new Order());
    }

    static final class Page {
        final String url;
        final byte[] body = new byte[3000];

        Page(String url) {
            this.url = url;
        }
    }

    static final class PageLoader {
        private final ConcurrentHashMap<String, CompletableFuture<Page>> inFlight = new ConcurrentHashMap<>();

        void load(String url) {
            inFlight.computeIfAbsent(url, it -> CompletableFuture.completedFuture(new Page(it)));
        }
    }

    static PageLoader loader;

    @LeakCorpus.Answer(
        says = {"field LeakServices$PageLoader.inFlight", "java.util.concurrent.ConcurrentHashMap with 2,000 entries",
            "2,000 objects of class java.util.concurrent.CompletableFuture", "LeakServices$Page"},
        tells = "LeakServices.loader",
        holder = "LeakServices.loader.inFlight",
        shared = true)
    static void futuresThatAreDone(LeakCorpus.Dump dump) {
        loader = new PageLoader();
        for (int i = 0; i < 2000; i++) loader.load("/page/" + i);
    }

    interface Listener {
        void changed();
    }

    static final class Panel implements Listener {
        final int[] pixels = new int[1000];

        @Override
        public void changed() {
            pixels[0]++;
        }

        void show(String text) {
            pixels[0] = text.length();
        }
    }

    static final class Subscription {
        final Listener listener;
        final String topic;

        Subscription(Listener listener, String topic) {
            this.listener = listener;
            this.topic = topic;
        }
    }

    /** Keys are weak, and values refer to their referents. */
    static final class WeakBus {
        final Map<WeakReference<Listener>, Subscription> subscriptions = new HashMap<>();
    }

    static WeakBus bus;

    @LeakCorpus.Answer(
        says = {"field LeakServices$WeakBus.subscriptions", "java.util.HashMap with 1,500 entries",
            "1,500 objects of class LeakServices$Subscription"},
        tells = "LeakServices.bus",
        holder = "LeakServices.bus.subscriptions",
        shared = true)
    static void subscriptionsBesideWeakKeys(LeakCorpus.Dump dump) {
        bus = new WeakBus();
        for (int i = 0; i < 1500; i++) {
            Panel panel = new Panel();
            bus.subscriptions.put(new WeakReference<>(panel), new Subscription(panel, "topic " + i % 10));
        }
    }

    /** A cache as libraries build them: segments with tables of chained entries. */
    static final class SegmentedCache {
        final Segment[] segments = new Segment[4];

        SegmentedCache() {
            for (int i = 0; i < segments.length; i++) segments[i] = new Segment(this);
        }

        void put(Object key, Object value) {
            segments[key.hashCode() & 3].put(key, value);
        }
    }

    static final class Segment {
        final SegmentedCache cache;
        final AtomicReferenceArray<CacheEntry> table = new AtomicReferenceArray<>(1024);

        Segment(SegmentedCache cache) {
            this.cache = cache;
        }

        void put(Object key, Object value) {
            int at = key.hashCode() >>> 2 & 1023;
            table.set(at, new CacheEntry(key, value, table.get(at)));
        }
    }

    static final class CacheEntry {
        final Object key;
        volatile Object value;
        final CacheEntry next;

        CacheEntry(Object key, Object value, CacheEntry next) {
            this.key = key;
            this.value = value;
            this.next = next;
        }
    }

    static SegmentedCache cache;

    @LeakCorpus.Answer(
        says = {"field LeakServices$Segment.table", "4 objects of class java.util.concurrent.atomic.AtomicReferenceArray",
            "4,000 objects of class LeakServices$CacheEntry", "LeakServices$Order"},
        tells = {"LeakServices.cache", "LeakServices$SegmentedCache.segments"},
        shared = true)
    static void segmentsOfACache(LeakCorpus.Dump dump) {
        cache = new SegmentedCache();
        for (int i = 0; i < 4000; i++) cache.put(i, new Order());
    }

    static final class Hub {
        private final List<Consumer<String>> listeners = new CopyOnWriteArrayList<>();
    }

    static Hub hub;

    @LeakCorpus.Answer(
        says = {"field LeakServices$Hub.listeners", "java.util.concurrent.CopyOnWriteArrayList with 1,000 elements",
            "1,000 objects of class LeakServices$$Lambda", "which hold objects of class LeakServices$Panel"},
        tells = "LeakServices.hub",
        never = "0x0",
        holder = "LeakServices.hub.listeners",
        shared = true)
    static void methodsOfPanels(LeakCorpus.Dump dump) {
        hub = new Hub();
        for (int i = 0; i < 1000; i++) {
            Panel panel = new Panel();
            hub.listeners.add(panel::show);
        }
    }

    static final class Job implements Comparable<Job> {
        final int priority;
        final byte[] payload = new byte[1500];

        Job(int priority) {
            this.priority = priority;
        }

        @Override
        public int compareTo(Job other) {
            return Integer.compare(priority, other.priority);
        }
    }

    static final class Planner {
        final PriorityQueue<Job> jobs = new PriorityQueue<>();
    }

    static Planner planner;

    @LeakCorpus.Answer(
        says = {"field LeakServices$Planner.jobs", "java.util.PriorityQueue with 4,000 elements",
            "4,000 objects of class LeakServices$Job"},
        tells = "LeakServices.planner",
        holder = "LeakServices.planner.jobs",
        shared = true)
    static void jobsByPriority(LeakCorpus.Dump dump) {
        planner = new Planner();
        for (int i = 0; i < 4000; i++) planner.jobs.add(new Job(i * 7919 % 4000));
    }

    static Map<Integer, BitSet> visited;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.visited", "java.util.HashMap with 1,000 entries",
            "1,000 objects of class java.util.BitSet"},
        holder = "LeakServices.visited",
        shared = true)
    static void bitsByUser(LeakCorpus.Dump dump) {
        visited = new HashMap<>();
        for (int i = 0; i < 1000; i++) {
            BitSet pages = new BitSet();
            pages.set(40_000);
            visited.put(i, pages);
        }
    }

    static final class Tick implements Comparable<Tick> {
        final long time;
        final byte[] message = new byte[1000];

        Tick(long time) {
            this.time = time;
        }

        @Override
        public int compareTo(Tick other) {
            return Long.compare(time, other.time);
        }
    }

    static ConcurrentSkipListSet<Tick> ticks;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.ticks", "java.util.concurrent.ConcurrentSkipListSet with 5,000 elements",
            "5,000 objects of class LeakServices$Tick"},
        holder = "LeakServices.ticks",
        shared = true)
    static void sortedTicks(LeakCorpus.Dump dump) {
        ticks = new ConcurrentSkipListSet<>();
        for (int i = 0; i < 5000; i++) ticks.add(new Tick(i));
    }

    static class Document {
        final byte[] text = new byte[100_000];

        class Section {
            class Edit implements Runnable {
                @Override
                public void run() {
                    text[0]++;
                }
            }

            Edit edit() {
                return new Edit();
            }
        }
    }

    static List<Runnable> undo;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.undo", "java.util.ArrayList with 60 elements",
            "60 objects of class LeakServices$Document$Section$Edit"},
        tells = "LeakServices$Document",
        holder = "LeakServices.undo",
        shared = true)
    static void outerOfOuter(LeakCorpus.Dump dump) {
        undo = new ArrayList<>();
        for (int i = 0; i < 60; i++) undo.add(new Document().new Section().edit());
    }

    abstract static class Repository<K> {
        protected final Map<K, Order> rows = new HashMap<>();
    }

    static final class Users extends Repository<Integer> {}

    static final class Carts extends Repository<Integer> {}

    static final class Payments extends Repository<Integer> {}

    static final class Stock extends Repository<Integer> {}

    static final class Returns extends Repository<Integer> {}

    static Users users;
    static Carts carts;
    static Payments payments;
    static Stock stock;
    static Returns returns;

    @LeakCorpus.Answer(
        says = {"field LeakServices$Repository.rows", "java.util.HashMap with 1,040 entries",
            "1,040 objects of class LeakServices$Order"},
        tells = "LeakServices.returns",
        holder = "LeakServices.returns.rows",
        shared = true)
    static void severalRepositories(LeakCorpus.Dump dump) {
        users = new Users();
        carts = new Carts();
        payments = new Payments();
        stock = new Stock();
        returns = new Returns();
        List<Repository<Integer>> all = Arrays.asList(users, carts, payments, stock, returns);
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 1000 + 10 * i; j++) all.get(i).rows.put(j, new Order());
        }
    }

    static Object[] slots;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.slots", "java.util.ArrayList with 4,000 elements",
            "4,000 objects of class LeakServices$Order"},
        shared = true)
    static void listInAnArray(LeakCorpus.Dump dump) {
        slots = new Object[8];
        Arrays.setAll(slots, i -> new ArrayList<>());
        @SuppressWarnings("unchecked")
        List<Order> orders = (List<Order>) slots[5];
        for (int i = 0; i < 4000; i++) orders.add(new Order());
    }

    static Order[][] grid;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.grid", "one LeakServices$Order[][] of 50 elements",
            "50 objects of class LeakServices$Order[], which hold 4,000 objects of class LeakServices$Order"},
        holder = "LeakServices.grid",
        shared = true)
    static void arraysOfOrders(LeakCorpus.Dump dump) {
        grid = new Order[50][80];
        for (Order[] row : grid) Arrays.setAll(row, i -> new Order());
    }

    /** A cache as interviews ask for it: a map for the keys, and a list in the order of use. */
    static final class LruCache {
        final Map<Integer, Node> index = new HashMap<>();
        final Node head = new Node(-1);
        final Node tail = new Node(-2);

        LruCache() {
            head.next = tail;
            tail.previous = head;
        }

        void put(int key) {
            Node node = new Node(key);
            index.put(key, node);
            node.next = head.next;
            node.previous = head;
            head.next.previous = node;
            head.next = node;
        }
    }

    static final class Node {
        final int key;
        final byte[] value = new byte[1000];
        Node next;
        Node previous;

        Node(int key) {
            this.key = key;
        }
    }

    static LruCache lru;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.lru", "one LeakServices$LruCache", "objects of class LeakServices$Node"},
        holder = "LeakServices.lru",
        shared = true)
    static void mapBesideAList(LeakCorpus.Dump dump) {
        lru = new LruCache();
        for (int i = 0; i < 5000; i++) lru.put(i);
    }

    static final class Quad {
        Quad northWest, northEast, southWest, southEast;
        final List<double[]> points = new ArrayList<>(4);

        void grow(int depth) {
            points.add(new double[100]);
            if (depth == 0) return;
            northWest = new Quad();
            northEast = new Quad();
            southWest = new Quad();
            southEast = new Quad();
            for (Quad quad : Arrays.asList(northWest, northEast, southWest, southEast)) quad.grow(depth - 1);
        }
    }

    static Quad map;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.map", "one LeakServices$Quad", "5,461 objects of class LeakServices$Quad"},
        holder = "LeakServices.map",
        shared = true)
    static void quadTree(LeakCorpus.Dump dump) {
        map = new Quad();
        map.grow(6);
    }

    static ConcurrentHashMap<String, String> canonical;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.canonical", "java.util.concurrent.ConcurrentHashMap with 40,000 entries",
            "40,000 objects of class java.lang.String"},
        holder = "LeakServices.canonical",
        shared = true)
    static void canonicalTexts(LeakCorpus.Dump dump) {
        canonical = new ConcurrentHashMap<>();
        for (int i = 0; i < 40_000; i++) canonical.computeIfAbsent("name of customer " + i, it -> it);
    }

    static final class Index {
        final Map<String, Order> byName = new HashMap<>();
        final Map<Integer, Order> byNumber = new HashMap<>();
        final List<Order> all = new ArrayList<>();
    }

    static Index index;

    @LeakCorpus.Answer(
        says = {"static field LeakServices.index", "one LeakServices$Index", "4,000 objects of class LeakServices$Order"},
        holder = "LeakServices.index",
        shared = true)
    static void severalIndexes(LeakCorpus.Dump dump) {
        index = new Index();
        for (int i = 0; i < 4000; i++) {
            Order order = new Order();
            index.byName.put("order " + i, order);
            index.byNumber.put(i, order);
            index.all.add(order);
        }
    }

    static final class Shards {
        final List<Map<Integer, Order>> shards = new ArrayList<>();

        Shards() {
            for (int i = 0; i < 4; i++) shards.add(new HashMap<>());
        }
    }

    static Shards shards;

    @LeakCorpus.Answer(
        says = {"field LeakServices$Shards.shards", "one java.util.ArrayList with 4 elements",
            "4 objects of class java.util.HashMap, which hold 4,000 objects of class LeakServices$Order"},
        tells = "LeakServices.shards",
        holder = "LeakServices.shards.shards",
        shared = true)
    static void shardsOfAMap(LeakCorpus.Dump dump) {
        shards = new Shards();
        for (int i = 0; i < 4000; i++) shards.shards.get(i % 4).put(i, new Order());
    }

    /** Several collections of one object, each with data of its own. */
    static final class Statistics {
        final Map<Integer, Order> perUser = new HashMap<>();
        final Map<Integer, Order> perPage = new ConcurrentHashMap<>();
        final List<Order> raw = new ArrayList<>();
        final java.util.Deque<Order> recent = new java.util.ArrayDeque<>();
    }

    static Statistics statistics;

    @LeakCorpus.Answer(
        says = {"field LeakServices$Statistics.perUser", "java.util.HashMap with 1,200 entries",
            "1,200 objects of class LeakServices$Order"},
        tells = "LeakServices.statistics",
        holder = "LeakServices.statistics.perUser",
        shared = true)
    static void collectionsOfAnObject(LeakCorpus.Dump dump) {
        statistics = new Statistics();
        for (int i = 0; i < 1000; i++) {
            statistics.perPage.put(i, new Order());
            statistics.raw.add(new Order());
            statistics.recent.add(new Order());
        }
        for (int i = 0; i < 1200; i++) statistics.perUser.put(i, new Order());
    }

    static final class Property {
        private Object helper;

        void addListener(Listener listener) {
            if (helper == null) helper = new Helper();
            ((Helper) helper).add(listener);
        }
    }

    static final class Helper {
        private Listener[] changeListeners = new Listener[16];
        private int size;

        void add(Listener listener) {
            if (size == changeListeners.length) changeListeners = Arrays.copyOf(changeListeners, 2 * size);
            changeListeners[size++] = listener;
        }
    }

    static Property title;

    @LeakCorpus.Answer(
        says = {"field LeakServices$Property.helper", "one LeakServices$Helper with 1,500 elements",
            "1,500 objects of class LeakServices$Panel"},
        tells = "LeakServices.title",
        shared = true)
    static void listenersOfAProperty(LeakCorpus.Dump dump) {
        title = new Property();
        for (int i = 0; i < 1500; i++) title.addListener(new Panel());
    }

    /** A queue that is its own array. */
    static final class ArrayQueue extends AtomicReferenceArray<Object> {
        private static final long serialVersionUID = 1;

        ArrayQueue() {
            super(1 << 13);
        }
    }

    static final class Sink {
        final ArrayQueue queue = new ArrayQueue();
    }

    static Sink sink;

    @LeakCorpus.Answer(
        says = {"field LeakServices$Sink.queue", "one LeakServices$ArrayQueue", "4,000 objects of class LeakServices$Order"},
        tells = "LeakServices.sink",
        holder = "LeakServices.sink.queue",
        shared = true)
    static void arrayThatIsAQueue(LeakCorpus.Dump dump) {
        sink = new Sink();
        for (int i = 0; i < 4000; i++) sink.queue.set(i, new Order());
    }

    /** A unit of work of an object-relational mapper. */
    static final class PersistenceContext {
        final Map<String, Order> entitiesByKey = new HashMap<>();
        final IdentityHashMap<Order, Object[]> entries = new IdentityHashMap<>();

        void persist(int number) {
            Order order = new Order();
            entitiesByKey.put("Order#" + number, order);
            entries.put(order, new Object[] {number, new byte[100]});
        }
    }

    static final class EntityManager {
        final PersistenceContext context = new PersistenceContext();
    }

    static EntityManager entities;

    @LeakCorpus.Answer(
        says = {"field LeakServices$EntityManager.context", "one LeakServices$PersistenceContext",
            "4,000 objects of class LeakServices$Order"},
        tells = "LeakServices.entities",
        holder = "LeakServices.entities.context",
        shared = true)
    static void persistenceContext(LeakCorpus.Dump dump) {
        entities = new EntityManager();
        for (int i = 0; i < 4000; i++) entities.context.persist(i);
    }

    abstract static class JsonNode {}

    static final class ObjectNode extends JsonNode {
        final Map<String, JsonNode> children = new LinkedHashMap<>();
    }

    static final class ArrayNode extends JsonNode {
        final List<JsonNode> children = new ArrayList<>();
    }

    static final class TextNode extends JsonNode {
        final String text;

        TextNode(String text) {
            this.text = text;
        }
    }

    static JsonNode json;

    @LeakCorpus.Answer(
        says = {"field LeakServices$ObjectNode.children", "one java.util.LinkedHashMap with 200 entries",
            "200 objects of class LeakServices$ArrayNode, which hold 10,000 objects of class LeakServices$ObjectNode"},
        tells = {"LeakServices.json"},
        holder = "LeakServices.json.children",
        shared = true)
    static void treeOfJson(LeakCorpus.Dump dump) {
        ObjectNode root = new ObjectNode();
        for (int i = 0; i < 200; i++) {
            ArrayNode rows = new ArrayNode();
            for (int j = 0; j < 50; j++) {
                ObjectNode row = new ObjectNode();
                row.children.put("id", new TextNode("row " + i + " " + j));
                row.children.put("name", new TextNode("name of the row " + i + " " + j));
                rows.children.add(row);
            }
            root.children.put("table " + i, rows);
        }
        json = root;
    }
}

import java.io.ByteArrayOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Proxy;
import java.security.MessageDigest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;

/** Heaps of {@link LeakCorpus} as frameworks and structures of a program's own build them. */
final class LeakPrograms {
    private LeakPrograms() {}

    static final class Order {
        final byte[] text = new byte[1500];
    }

    /** A page of a B-tree: keys, values and the pages below. */
    static final class Page {
        final long[] keys = new long[16];
        final Object[] values = new Object[16];
        final Page[] below = new Page[17];
        int used;
    }

    static final class BTree {
        Page root = new Page();

        void fill(Page page, int depth) {
            for (int i = 0; i < 16; i++) page.values[i] = new Order();
            for (int i = 0; depth > 0 && i < 17; i++) fill(page.below[i] = new Page(), depth - 1);
        }
    }

    static BTree index;

    @LeakCorpus.Answer(
        says = {"LeakPrograms$BTree.root", "LeakPrograms.index", "LeakPrograms$Page", "LeakPrograms$Order"},
        holder = "LeakPrograms.index.root", shared = true)
    static void treeOfPages(LeakCorpus.Dump dump) {
        index = new BTree();
        index.fill(index.root, 2);
    }

    /** A node of a skip list, as tall as it is. */
    static final class Tower {
        final Tower[] next;
        final Order value;

        Tower(int height, Order value) {
            this.next = new Tower[height];
            this.value = value;
        }
    }

    static final class SkipList {
        final Tower head = new Tower(12, null);

        void addFirst(int height, Order value) {
            Tower tower = new Tower(height, value);
            for (int i = 0; i < height; i++) {
                tower.next[i] = head.next[i];
                head.next[i] = tower;
            }
        }
    }

    static SkipList ticks;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.ticks", "one LeakPrograms$SkipList", "LeakPrograms$Tower", "4,000 objects of class LeakPrograms$Order"},
        shared = true)
    static void towersOfASkipList(LeakCorpus.Dump dump) {
        ticks = new SkipList();
        for (int i = 0; i < 4000; i++) ticks.addFirst(1 + Integer.numberOfTrailingZeros(i | 1 << 11), new Order());
    }

    /** Open addressing with two arrays side by side. */
    static final class IntMap {
        int[] keys = new int[8192];
        Object[] values = new Object[8192];

        void put(int key, Object value) {
            int at = key * 31 & 8191;
            while (values[at] != null) at = at + 1 & 8191;
            keys[at] = key;
            values[at] = value;
        }
    }

    static final class Streams {
        final IntMap active = new IntMap();
    }

    static Streams connection;

    @LeakCorpus.Answer(
        says = {"The field LeakPrograms$IntMap.values", "4,000 objects of class LeakPrograms$Order", "LeakPrograms.connection"},
        holder = "LeakPrograms.connection.active.values", shared = true)
    static void streamsByNumber(LeakCorpus.Dump dump) {
        connection = new Streams();
        for (int i = 0; i < 4000; i++) connection.active.put(i, new Order());
    }

    static final class Node {
        final int key;
        final Order value = new Order();
        Node before, after;

        Node(int key) {
            this.key = key;
        }
    }

    /** A map beside a list of its nodes, with two nodes at the ends. */
    static final class Lru {
        final Map<Integer, Node> nodes = new HashMap<>();
        final Node first = new Node(-1);
        final Node last = new Node(-2);

        Lru() {
            first.after = last;
            last.before = first;
        }

        void put(int key) {
            Node node = new Node(key);
            nodes.put(key, node);
            node.before = first;
            node.after = first.after;
            first.after.before = node;
            first.after = node;
        }
    }

    static Lru lru;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.lru", "one LeakPrograms$Lru", "objects of class LeakPrograms$Node"},
        holder = "LeakPrograms.lru", shared = true)
    static void mapBesideItsNodes(LeakCorpus.Dump dump) {
        lru = new Lru();
        for (int i = 0; i < 4000; i++) lru.put(i);
    }

    static final class Cell {
        final Order order = new Order();
        final Cell below;

        Cell(Cell below) {
            this.below = below;
        }
    }

    static AtomicReference<Cell> top;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.top", "objects of class LeakPrograms$Cell", "4,000 objects of class LeakPrograms$Order"},
        holder = "LeakPrograms.top", shared = true)
    static void stackWithoutLocks(LeakCorpus.Dump dump) {
        top = new AtomicReference<>();
        for (int i = 0; i < 4000; i++) top.set(new Cell(top.get()));
    }

    /** A node of a map that shares what did not change: a bitmap, and keys, values and nodes in one array. */
    static final class BitmapNode {
        final int bitmap;
        final Object[] content;

        BitmapNode(int depth) {
            bitmap = -1;
            content = new Object[16];
            for (int i = 0; i < 16; i++) content[i] = depth > 0 ? new BitmapNode(depth - 1) : new Order();
        }
    }

    static final class Persistent {
        final BitmapNode root = new BitmapNode(2);
    }

    static Persistent state;

    @LeakCorpus.Answer(
        says = {"LeakPrograms$Persistent.root", "LeakPrograms.state", "LeakPrograms$BitmapNode", "LeakPrograms$Order"},
        holder = "LeakPrograms.state.root", shared = true)
    static void nodesOfAPersistentMap(LeakCorpus.Dump dump) {
        state = new Persistent();
    }

    /** What a channel has still to send. */
    static final class Entry {
        final Order message = new Order();
        Entry next;
    }

    static final class Outbound {
        Entry unflushed;
        Entry tail;

        void write() {
            Entry entry = new Entry();
            if (tail == null) unflushed = entry;
            else tail.next = entry;
            tail = entry;
        }
    }

    static final class Channel {
        final Outbound outbound = new Outbound();
    }

    static Map<String, Channel> channels;

    @LeakCorpus.Answer(
        says = {"one LeakPrograms$Outbound", "4,000 objects of class LeakPrograms$Entry", "LeakPrograms$Order", "LeakPrograms.channels"},
        shared = true)
    static void slowClient(LeakCorpus.Dump dump) {
        channels = new ConcurrentHashMap<>();
        for (int i = 0; i < 20; i++) channels.put("client-" + i, new Channel());
        for (int i = 0; i < 4000; i++) channels.get("client-7").outbound.write();
    }

    static final class Batch {
        final byte[] records = new byte[16_000];
    }

    static final class Accumulator {
        final Map<String, Deque<Batch>> batches = new ConcurrentHashMap<>();
    }

    static Accumulator producer;

    @LeakCorpus.Answer(
        says = {"The field LeakPrograms$Accumulator.batches", "java.util.concurrent.ConcurrentHashMap with 6 entries", "objects of class LeakPrograms$Batch", "LeakPrograms.producer"},
        holder = "LeakPrograms.producer.batches", shared = true)
    static void batchesOfTopics(LeakCorpus.Dump dump) {
        producer = new Accumulator();
        for (int i = 0; i < 500; i++) {
            producer.batches.computeIfAbsent("orders-" + i % 6, it -> new ArrayDeque<>()).add(new Batch());
        }
    }

    static Map<String, ReentrantLock> locks;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.locks", "ConcurrentHashMap with 40,000 entries", "java.util.concurrent.locks.ReentrantLock"},
        holder = "LeakPrograms.locks", shared = true)
    static void locksByKey(LeakCorpus.Dump dump) {
        locks = new ConcurrentHashMap<>();
        for (int i = 0; i < 40_000; i++) locks.computeIfAbsent("k" + i, it -> new ReentrantLock()).lock();
    }

    static final class Pooled {
        final byte[] buffer = new byte[4000];
    }

    static final class Pool {
        final Map<Object, Pooled> all = new ConcurrentHashMap<>();
        final LinkedBlockingDeque<Pooled> idle = new LinkedBlockingDeque<>();
    }

    static Pool pool;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.pool", "one LeakPrograms$Pool", "2,000 objects of class LeakPrograms$Pooled"},
        holder = "LeakPrograms.pool", shared = true)
    static void idleAndAll(LeakCorpus.Dump dump) {
        pool = new Pool();
        for (int i = 0; i < 2000; i++) {
            Pooled pooled = new Pooled();
            pool.all.put(i, pooled);
            pool.idle.add(pooled);
        }
    }

    static final class Factory {
        final Map<String, Object> singletons = new ConcurrentHashMap<>();
        final Map<String, Runnable> disposables = new LinkedHashMap<>();
    }

    static final class Adapter implements Runnable {
        final Object bean;

        Adapter(Object bean) {
            this.bean = bean;
        }

        @Override
        public void run() {}
    }

    static Factory factory;

    @LeakCorpus.Answer(
        says = {"The field LeakPrograms$Factory.disposables", "java.util.LinkedHashMap with 4,000 entries", "LeakPrograms$Adapter", "LeakPrograms$Order", "LeakPrograms.factory"},
        holder = "LeakPrograms.factory.disposables", shared = true)
    static void disposablesOfAFactory(LeakCorpus.Dump dump) {
        factory = new Factory();
        for (int i = 0; i < 80; i++) factory.singletons.put("bean" + i, new Order());
        for (int i = 0; i < 4000; i++) factory.disposables.put("prototype" + i, new Adapter(new Order()));
    }

    static final class Span {
        final Span parent;
        final Collection<Span> children = new ArrayList<>();
        final byte[] attributes = new byte[600];

        Span(Span parent) {
            this.parent = parent;
            if (parent != null) parent.children.add(this);
        }
    }

    static Map<String, Span> unfinished;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.unfinished", "300 entries", "objects of class LeakPrograms$Span"},
        holder = "LeakPrograms.unfinished", shared = true)
    static void spansWithParents(LeakCorpus.Dump dump) {
        unfinished = new ConcurrentHashMap<>();
        for (int i = 0; i < 300; i++) {
            Span root = new Span(null);
            for (int j = 0; j < 20; j++) new Span(new Span(root));
            unfinished.put("trace-" + i, root);
        }
    }

    static AtomicLongArray bloom;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.bloom", "java.util.concurrent.atomic.AtomicLongArray", "1,000,000"},
        holder = "LeakPrograms.bloom", shared = true)
    static void bitsThatAreAtomic(LeakCorpus.Dump dump) {
        bloom = new AtomicLongArray(1_000_000);
    }

    static AtomicReferenceArray<Deque<Order>> stripes;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.stripes", "java.util.concurrent.atomic.AtomicReferenceArray", "16 objects of class java.util.ArrayDeque", "LeakPrograms$Order"},
        holder = "LeakPrograms.stripes", shared = true)
    static void stripesOfQueues(LeakCorpus.Dump dump) {
        stripes = new AtomicReferenceArray<>(16);
        for (int i = 0; i < 16; i++) stripes.set(i, new ArrayDeque<>());
        for (int i = 0; i < 4000; i++) stripes.get(i % 16).add(new Order());
    }

    static final class Histogram {
        final long[] counts = new long[300];
        long total;
    }

    static final class Meters {
        private static final Meters GLOBAL = new Meters();
        final Map<List<String>, Histogram> byTags = new ConcurrentHashMap<>();
    }

    @LeakCorpus.Answer(
        says = {"The field LeakPrograms$Meters.byTags", "ConcurrentHashMap with 2,500 entries", "2,500 objects of class LeakPrograms$Histogram", "LeakPrograms$Meters.GLOBAL"},
        holder = "LeakPrograms$Meters.GLOBAL.byTags")
    static void histogramsByTags(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2500; i++) {
            List<String> tags = new ArrayList<>();
            tags.add("uri");
            tags.add("/orders/" + i);
            Meters.GLOBAL.byTags.put(tags, new Histogram());
        }
    }

    static List<GZIPOutputStream> unclosed;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.unclosed", "java.util.ArrayList with 200 elements", "200 objects of class java.util.zip.GZIPOutputStream"},
        holder = "LeakPrograms.unclosed", shared = true)
    static void streamsThatCompress(LeakCorpus.Dump dump) throws Exception {
        unclosed = new ArrayList<>();
        for (int i = 0; i < 200; i++) unclosed.add(new GZIPOutputStream(new ByteArrayOutputStream(30_000), 1000));
    }

    static Set<Scanner> scanners;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.scanners", "java.util.LinkedHashSet with 1,500 elements", "1,500 objects of class java.util.Scanner"},
        holder = "LeakPrograms.scanners", shared = true)
    static void scannersOfTexts(LeakCorpus.Dump dump) {
        scanners = new LinkedHashSet<>();
        for (int i = 0; i < 1500; i++) {
            Scanner scanner = new Scanner("line " + i + "\nanother line");
            scanner.nextLine();
            scanners.add(scanner);
        }
    }

    static Map<String, MessageDigest> digests;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.digests", "java.util.HashMap with 10,000 entries", "10,000 objects of class java.security.MessageDigest"},
        holder = "LeakPrograms.digests", shared = true)
    static void digestsByUser(LeakCorpus.Dump dump) throws Exception {
        digests = new HashMap<>();
        for (int i = 0; i < 10_000; i++) {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update((byte) i);
            digests.put("user" + i, digest);
        }
    }

    static PrintWriter transcript;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.transcript", "java.lang.StringBuffer"}, shared = true)
    static void transcriptOfAWriter(LeakCorpus.Dump dump) {
        transcript = new PrintWriter(new StringWriter());
        for (int i = 0; i < 200_000; i++) transcript.println("SELECT * FROM orders WHERE id = " + i);
    }

    static LinkedTransferQueue<Order> transfers;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.transfers", "java.util.concurrent.LinkedTransferQueue with 4,000 elements", "4,000 objects of class LeakPrograms$Order"},
        holder = "LeakPrograms.transfers", shared = true)
    static void transferQueue(LeakCorpus.Dump dump) {
        transfers = new LinkedTransferQueue<>();
        for (int i = 0; i < 4000; i++) transfers.put(new Order());
    }

    static CopyOnWriteArraySet<Runnable> callbacks;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.callbacks", "java.util.concurrent.CopyOnWriteArraySet with 1,000 elements", "LeakPrograms$Adapter", "LeakPrograms$Order"},
        holder = "LeakPrograms.callbacks", shared = true)
    static void setOfCallbacks(LeakCorpus.Dump dump) {
        callbacks = new CopyOnWriteArraySet<>();
        for (int i = 0; i < 1000; i++) callbacks.add(new Adapter(new Order[] {new Order(), new Order(), new Order()}));
    }

    /** Its map is a class of its own, which refers to the form. */
    static final class Form {
        final int[] pixels = new int[1000];

        Map<String, String> texts() {
            return new HashMap<String, String>() {
                private static final long serialVersionUID = 1;

                {
                    put("title", "Order");
                    put("width", String.valueOf(pixels.length));
                }
            };
        }
    }

    static List<Map<String, String>> texts;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.texts", "java.util.ArrayList with 2,000 elements", "2,000 objects of class LeakPrograms$Form$1", "LeakPrograms$Form"},
        holder = "LeakPrograms.texts", shared = true)
    static void mapsOfAnonymousClasses(LeakCorpus.Dump dump) {
        texts = new ArrayList<>();
        for (int i = 0; i < 2000; i++) texts.add(new Form().texts());
    }

    static List<Supplier<?>> proxies;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.proxies", "java.util.ArrayList with 4,000 elements", "4,000 objects of class", "$Proxy", "LeakPrograms$Order"},
        holder = "LeakPrograms.proxies", shared = true)
    static void proxiesOfCalls(LeakCorpus.Dump dump) {
        proxies = new ArrayList<>();
        for (int i = 0; i < 4000; i++) {
            Order order = new Order();
            proxies.add((Supplier<?>) Proxy.newProxyInstance(LeakPrograms.class.getClassLoader(),
                new Class<?>[] {Supplier.class}, (proxy, method, args) -> order.text));
        }
    }

    private static void descend(int depth, LeakCorpus.Dump dump) throws Exception {
        byte[] page = new byte[4000];
        if (depth == 0) dump.write();
        else descend(depth - 1, dump);
        page[0]++;
    }

    @LeakCorpus.Answer(says = {"\"main\"", "local variable", "LeakPrograms.descend", "byte[]"})
    static void framesOfARecursion(LeakCorpus.Dump dump) throws Exception {
        descend(1500, dump);
    }

    static List<ThreadLocal<byte[]>> contexts;

    @LeakCorpus.Answer(says = {"\"main\"", "ThreadLocalMap with", "2,000 objects of class byte[]"})
    static void manyThreadLocalsOfOneThread(LeakCorpus.Dump dump) {
        contexts = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            ThreadLocal<byte[]> context = new ThreadLocal<>();
            context.set(new byte[4000]);
            contexts.add(context);
        }
    }

    @LeakCorpus.Answer(
        says = {"The threads \"supplier-*\"", "40 threads"}, tells = "LeakPrograms", threads = "supplier-")
    static void suppliersThatWait(LeakCorpus.Dump dump) throws Exception {
        SynchronousQueue<byte[]> queue = new SynchronousQueue<>();
        CountDownLatch ready = new CountDownLatch(40);
        for (int i = 0; i < 40; i++) {
            new Thread(() -> {
                byte[] page = new byte[200_000];
                ready.countDown();
                try {
                    queue.put(page);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }, "supplier-" + i).start();
        }
        ready.await();
        Thread.sleep(300);
    }

    @LeakCorpus.Answer(says = {"java.net.CookieHandler.cookieHandler", "java.net.HttpCookie"})
    static void cookiesOfTheJdk(LeakCorpus.Dump dump) throws Exception {
        java.net.CookieManager manager = new java.net.CookieManager();
        java.net.CookieHandler.setDefault(manager);
        for (int i = 0; i < 3000; i++) {
            java.net.HttpCookie cookie = new java.net.HttpCookie("session" + i, String.format("%01000d", i));
            manager.getCookieStore().add(new java.net.URI("http://host" + i % 50 + ".example/"), cookie);
        }
    }

    static org.w3c.dom.Document document;

    @LeakCorpus.Answer(
        says = {"The static field LeakPrograms.document", "objects of class com.sun.org.apache.xerces.internal.dom.ElementImpl"},
        shared = true)
    static void documentOfXml(LeakCorpus.Dump dump) throws Exception {
        document = javax.xml.parsers.DocumentBuilderFactory.newInstance().newDocumentBuilder().newDocument();
        org.w3c.dom.Element orders = document.createElement("orders");
        document.appendChild(orders);
        for (int i = 0; i < 10_000; i++) {
            org.w3c.dom.Element order = document.createElement("order");
            order.setAttribute("id", "order " + i);
            order.appendChild(document.createTextNode(String.format("%0200d", i)));
            orders.appendChild(order);
        }
    }

    /** A set of numbers in parts, each sorted in an array. */
    static final class Container {
        char[] content = new char[1000];
    }

    static final class Numbers {
        char[] high = new char[3000];
        Container[] low = new Container[3000];

        Numbers() {
            for (int i = 0; i < 3000; i++) low[i] = new Container();
        }
    }

    static Map<String, Numbers> segments;

    @LeakCorpus.Answer(
        says = {"The field LeakPrograms$Numbers.low", "2 objects", "6,000 objects of class LeakPrograms$Container", "LeakPrograms.segments"},
        shared = true)
    static void numbersBySegment(LeakCorpus.Dump dump) {
        segments = new HashMap<>();
        segments.put("buyers", new Numbers());
        segments.put("visitors", new Numbers());
    }

    /** A bounded cache is full, and stays as large as it is. */
    static final class Recent extends LinkedHashMap<Integer, byte[]> {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
            return size() > 100;
        }
    }

    static Recent recent;

    @LeakCorpus.Answer(healthy = true, shared = true)
    static void serviceWithABoundedCache(LeakCorpus.Dump dump) {
        recent = new Recent();
        for (int i = 0; i < 3000; i++) recent.put(i, new byte[500]);
    }

    static java.util.concurrent.ArrayBlockingQueue<byte[]> bounded;

    @LeakCorpus.Answer(healthy = true, shared = true)
    static void fullQueueThatIsBounded(LeakCorpus.Dump dump) {
        bounded = new java.util.concurrent.ArrayBlockingQueue<>(1000);
        while (bounded.offer(new byte[50])) continue;
    }

    static Map<String, Map<String, String>> configuration;

    @LeakCorpus.Answer(healthy = true, shared = true)
    static void configurationOfTheStart(LeakCorpus.Dump dump) {
        configuration = new HashMap<>();
        for (int i = 0; i < 20; i++) {
            Map<String, String> section = new HashMap<>();
            for (int j = 0; j < 15; j++) section.put("key" + j, "value " + j + " of " + i);
            configuration.put("section" + i, section);
        }
    }

    static List<java.util.regex.Pattern> rules;

    @LeakCorpus.Answer(healthy = true, shared = true)
    static void compiledRules(LeakCorpus.Dump dump) {
        rules = new ArrayList<>();
        for (int i = 0; i < 60; i++) rules.add(java.util.regex.Pattern.compile("rule" + i + "-([a-z]+)\\d{3,5}"));
    }

    @LeakCorpus.Answer(healthy = true)
    static void loadedFramework(LeakCorpus.Dump dump) throws Exception {
        javax.management.MBeanServer server = java.lang.management.ManagementFactory.getPlatformMBeanServer();
        for (javax.management.ObjectName name : server.queryNames(null, null)) server.getMBeanInfo(name);
        java.util.logging.Logger.getLogger("start").fine("loaded");
        javax.xml.parsers.SAXParserFactory.newInstance().newSAXParser();
        java.util.concurrent.ForkJoinPool.commonPool().submit(() -> {}).get();
        java.security.Security.getAlgorithms("Cipher").forEach(String::length);
    }
}

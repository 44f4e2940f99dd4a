import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicReference;

/** Heaps of {@link LeakCorpus} whose data structures are the program's own, or are wrapped. */
final class LeakShapes {
    private LeakShapes() {}

    static final class Order {
        final byte[] lines = new byte[2000];
    }

    /** A ring that is far too long. */
    static final class Ring {
        final Order[] slots;
        int next;

        Ring(int length) {
            slots = new Order[length];
        }

        void add(Order order) {
            slots[next++ % slots.length] = order;
        }
    }

    static final class Telemetry {
        private static final Telemetry INSTANCE = new Telemetry();
        final Ring ring = new Ring(1 << 14);
    }

    @LeakCorpus.Answer(
        says = {"LeakShapes$Telemetry.ring", "one LeakShapes$Ring with 4,000 elements", "4,000 objects of class LeakShapes$Order"},
        tells = "LeakShapes$Telemetry.INSTANCE")
    static void ringBuffer(LeakCorpus.Dump dump) {
        for (int i = 0; i < 4000; i++) Telemetry.INSTANCE.ring.add(new Order());
    }

    /** A node of a graph whose edges go both ways. */
    static final class Station {
        final List<Station> neighbours = new ArrayList<>();
        final byte[] timetable = new byte[500];

        void connect(Station other) {
            neighbours.add(other);
            other.neighbours.add(this);
        }
    }

    static Station center;

    @LeakCorpus.Answer(
        says = {"LeakShapes.center", "LeakShapes$Station", "10,000 objects of class LeakShapes$Station"},
        never = "one java.util.ArrayList",
        holder = "LeakShapes.center")
    static void cyclicGraph(LeakCorpus.Dump dump) {
        Station[] all = new Station[10_000];
        for (int i = 0; i < all.length; i++) {
            all[i] = new Station();
            if (i > 0) all[i].connect(all[(i - 1) / 3]);
            if (i > 10) all[i].connect(all[i - 7]);
        }
        center = all[0];
    }

    /** A queue of blocks, the program's own. */
    static final class BlockQueue {
        static final int SIZE = 64;
        Object[] first = new Object[SIZE + 1];
        Object[] last = first;
        int at;

        void add(Object element) {
            if (at == SIZE) {
                Object[] next = new Object[SIZE + 1];
                last[SIZE] = next;
                last = next;
                at = 0;
            }
            last[at++] = element;
        }
    }

    static final class Pipeline {
        final BlockQueue inbox = new BlockQueue();
    }

    static Pipeline pipeline;

    @LeakCorpus.Answer(
        says = {"LeakShapes$BlockQueue", "5,000 objects of class LeakShapes$Order"},
        tells = {"LeakShapes.pipeline", "LeakShapes$Pipeline.inbox"})
    static void queueOfBlocks(LeakCorpus.Dump dump) {
        pipeline = new Pipeline();
        for (int i = 0; i < 5000; i++) pipeline.inbox.add(new Order());
    }

    /** Blocks in objects, each with an array of its own. */
    static final class Block {
        final Order[] orders = new Order[32];
        Block next;
    }

    static final class Journal {
        Block first;
        int size;

        void add(Order order) {
            if (size++ % 32 == 0) {
                Block block = new Block();
                block.next = first;
                first = block;
            }
            first.orders[(size - 1) % 32] = order;
        }
    }

    static Journal journal;

    @LeakCorpus.Answer(
        says = {"LeakShapes.journal", "LeakShapes$Journal", "5,000 objects of class LeakShapes$Order"},
        holder = "LeakShapes.journal")
    static void listOfBlocks(LeakCorpus.Dump dump) {
        journal = new Journal();
        for (int i = 0; i < 5000; i++) journal.add(new Order());
    }

    static final class Audit {
        private static final List<Order> ENTRIES = Collections.synchronizedList(new ArrayList<>());
        static final List<Order> VIEW = Collections.unmodifiableList(ENTRIES);
    }

    @LeakCorpus.Answer(
        says = {"LeakShapes$Audit.ENTRIES", "3,000 elements", "3,000 objects of class LeakShapes$Order"})
    static void viewBesideItsList(LeakCorpus.Dump dump) {
        for (int i = 0; i < 3000; i++) Audit.ENTRIES.add(new Order());
        Audit.VIEW.size();
    }

    enum Currency {
        EUR,
        USD,
        JPY
    }

    /** An enum whose constant has a map of its own. */
    enum Registry {
        LOCAL,
        GLOBAL;

        private final Map<Currency, Set<Order>> orders = new EnumMap<>(Currency.class);

        void add(Currency currency, Order order) {
            orders.computeIfAbsent(currency, it -> new HashSet<>()).add(order);
        }
    }

    @LeakCorpus.Answer(
        says = {"LeakShapes$Registry.orders", "3 objects of class java.util.HashSet", "4,000 objects of class LeakShapes$Order"},
        tells = "LeakShapes$Registry.GLOBAL")
    static void enumMapOfASingleton(LeakCorpus.Dump dump) {
        for (int i = 0; i < 4000; i++) Registry.GLOBAL.add(Currency.values()[i % 3], new Order());
    }

    static final class BloomFilter {
        final BitSet bits = new BitSet();
    }

    static BloomFilter seen;

    @LeakCorpus.Answer(
        says = {"LeakShapes$BloomFilter.bits", "java.util.BitSet"},
        tells = "LeakShapes.seen",
        holder = "LeakShapes.seen.bits")
    static void bitSet(LeakCorpus.Dump dump) {
        seen = new BloomFilter();
        for (int i = 0; i < 80_000_000; i += 1000) seen.bits.set(i);
    }

    static final class BufferPool {
        final byte[][] free = new byte[64][];
        int size;

        void release(byte[] buffer) {
            free[size++] = buffer;
        }
    }

    static final BufferPool BUFFERS = new BufferPool();

    @LeakCorpus.Answer(
        says = {"LeakShapes.BUFFERS", "one LeakShapes$BufferPool with 60 elements", "60 objects of class byte[]"},
        holder = "LeakShapes.BUFFERS")
    static void poolOfBuffers(LeakCorpus.Dump dump) {
        for (int i = 0; i < 60; i++) BUFFERS.release(new byte[150_000]);
    }

    /** Tokens that each keep the whole document. */
    static final class Document {
        final char[] text = new char[100_000];
        final List<Token> tokens = new ArrayList<>();
    }

    static final class Token {
        final Document document;
        final int start;

        Token(Document document, int start) {
            this.document = document;
            this.start = start;
        }
    }

    static final class Index {
        final Map<String, Token> titles = new HashMap<>();
    }

    static Index index;

    @LeakCorpus.Answer(
        says = {"LeakShapes$Index.titles", "java.util.HashMap with 50 entries", "LeakShapes$Token"},
        tells = "LeakShapes.index",
        holder = "LeakShapes.index.titles")
    static void tokensThatKeepDocuments(LeakCorpus.Dump dump) {
        index = new Index();
        for (int i = 0; i < 50; i++) index.titles.put("title " + i, new Token(new Document(), i));
    }

    static final class Rule {
        final String name;
        final int[] weights = new int[500];

        Rule(String name) {
            this.name = name;
        }
    }

    /** Two leaks of one size. */
    static final class Pricing {
        static final Map<String, Rule> RULES = new ConcurrentHashMap<>();
    }

    static final class Discounts {
        static final List<Rule> ALL = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"LeakShapes$", "3,000 objects of class LeakShapes$Rule"},
        never = "and 3,000")
    static void twoEqualLeaks(LeakCorpus.Dump dump) {
        for (int i = 0; i < 3000; i++) Pricing.RULES.put("rule " + i, new Rule("r" + i));
        for (int i = 0; i < 3000; i++) Discounts.ALL.add(new Rule("d" + i));
    }

    static final class Undo {
        final ConcurrentLinkedDeque<Runnable> steps = new ConcurrentLinkedDeque<>();
    }

    static final class Editor {
        final Undo undo = new Undo();

        void type(Order order) {
            undo.steps.push(() -> order.lines[0]++);
        }
    }

    static Editor editor;

    @LeakCorpus.Answer(
        says = {"LeakShapes$Undo.steps", "java.util.concurrent.ConcurrentLinkedDeque with 4,000 elements",
            "4,000 objects of class LeakShapes$Editor$$Lambda"},
        tells = "LeakShapes.editor",
        holder = "LeakShapes.editor.undo.steps")
    static void undoSteps(LeakCorpus.Dump dump) {
        editor = new Editor();
        for (int i = 0; i < 4000; i++) editor.type(new Order());
    }

    static final AtomicReference<List<Order>> LATEST = new AtomicReference<>(new ArrayList<>());

    @LeakCorpus.Answer(
        says = {"LeakShapes.LATEST", "3,000 objects of class LeakShapes$Order"})
    static void listInAReference(LeakCorpus.Dump dump) {
        List<Order> all = new ArrayList<>();
        for (int i = 0; i < 3000; i++) all.add(new Order());
        LATEST.set(new ArrayList<>(all));
    }

    static final class StringTable {
        static final List<String> LINES = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"LeakShapes$StringTable.LINES", "java.util.ArrayList with 40,000 elements", "objects of class java.lang.String"},
        holder = "LeakShapes$StringTable.LINES")
    static void lines(LeakCorpus.Dump dump) {
        for (int i = 0; i < 40_000; i++) StringTable.LINES.add("2026-01-01 INFO request " + i + " of a customer");
    }

    /** A subclass whose field is declared above it. */
    abstract static class Cache<V> {
        protected final Map<Integer, V> entries = new HashMap<>();
    }

    static final class OrderCache extends Cache<Order> {
        static final OrderCache INSTANCE = new OrderCache();
    }

    @LeakCorpus.Answer(
        says = {"LeakShapes$Cache.entries", "java.util.HashMap with 3,000 entries", "3,000 objects of class LeakShapes$Order"},
        tells = "LeakShapes$OrderCache.INSTANCE",
        holder = "LeakShapes$OrderCache.INSTANCE.entries")
    static void fieldOfASuperClass(LeakCorpus.Dump dump) {
        for (int i = 0; i < 3000; i++) OrderCache.INSTANCE.entries.put(i, new Order());
    }

    static final class Tree {
        final Map<String, Tree> children = new HashMap<>();
        final byte[] page = new byte[300];
    }

    static Tree site;

    @LeakCorpus.Answer(
        says = {"LeakShapes.site", "LeakShapes$Tree", "objects of class LeakShapes$Tree"},
        never = "one java.util.HashMap",
        holder = "LeakShapes.site")
    static void treeOfMaps(LeakCorpus.Dump dump) {
        site = new Tree();
        for (int i = 0; i < 10_000; i++) {
            Tree at = site;
            for (int rest = i; rest > 0; rest /= 12) at = at.children.computeIfAbsent("p" + rest % 12, it -> new Tree());
        }
    }

    static final ArrayDeque<Object[]> SNAPSHOTS = new ArrayDeque<>();

    @LeakCorpus.Answer(
        says = {"LeakShapes.SNAPSHOTS", "java.util.ArrayDeque with 20 elements", "LeakShapes$Order"},
        holder = "LeakShapes.SNAPSHOTS")
    static void arraysOfObjects(LeakCorpus.Dump dump) {
        for (int i = 0; i < 20; i++) {
            Object[] snapshot = new Object[200];
            Arrays.setAll(snapshot, it -> new Order());
            SNAPSHOTS.add(snapshot);
        }
    }
}

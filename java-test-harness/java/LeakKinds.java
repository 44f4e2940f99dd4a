import java.beans.PropertyChangeListener;
import java.beans.PropertyChangeSupport;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.logging.MemoryHandler;
import java.util.logging.StreamHandler;

/** Heaps of {@link LeakCorpus} whose holders are of unusual kinds: enumerations, interfaces, captures, arrays, trees. */
final class LeakKinds {
    private LeakKinds() {}

    interface Listener {
        void changed();
    }

    static final class View {
        final int[] pixels = new int[2000];
    }

    enum Events {
        INSTANCE;

        final List<Listener> listeners = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 1,000 elements", "field LeakKinds$Events.INSTANCE"},
        tells = {"LeakKinds$Events.listeners", "1,000 objects of class LeakKinds$$Lambda"},
        never = "$VALUES")
    static void listenersOfAnEnum(LeakCorpus.Dump dump) {
        for (int i = 0; i < 1000; i++) {
            View view = new View();
            Events.INSTANCE.listeners.add(() -> view.pixels[0]++);
        }
    }

    static final class Order {
        final byte[] lines = new byte[2000];
    }

    /** An editor whose action for the end of the program refers to it. */
    static final class Editor {
        final Map<Integer, Order> undo = new HashMap<>();

        Runnable onExit() {
            return new Runnable() {
                @Override
                public void run() {
                    undo.clear();
                }
            };
        }
    }

    static Runnable onExit;

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 3,000 entries", "field LeakKinds.onExit"},
        tells = {"this$0", "LeakKinds$Editor.undo", "3,000 objects of class LeakKinds$Order"})
    static void outerInstance(LeakCorpus.Dump dump) {
        Editor editor = new Editor();
        for (int i = 0; i < 3000; i++) editor.undo.put(i, new Order());
        onExit = editor.onExit();
    }

    static Supplier<Integer> length;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 3,000 elements", "field LeakKinds.length"},
        tells = {"3,000 objects of class LeakKinds$Order"})
    static void captureOfALambda(LeakCorpus.Dump dump) {
        List<Order> orders = new ArrayList<>();
        for (int i = 0; i < 3000; i++) orders.add(new Order());
        length = orders::size;
    }

    static final class Slice {
        final byte[] base;
        final int start;

        Slice(byte[] base, int start) {
            this.base = base;
            this.start = start;
        }
    }

    static List<Slice> headers;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 2,000 elements", "field LeakKinds.headers"},
        tells = "20 objects of class byte[]",
        holder = "LeakKinds.headers")
    static void slicesOfSharedArrays(LeakCorpus.Dump dump) {
        headers = new ArrayList<>();
        byte[] base = null;
        for (int i = 0; i < 2000; i++) {
            if (i % 100 == 0) base = new byte[400_000];
            headers.add(new Slice(base, i % 100));
        }
    }

    enum State {
        OPEN,
        PAID,
        SENT
    }

    static Map<State, List<Order>> byState;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 3,000 elements", "field LeakKinds.byState"},
        tells = {"3,000 objects of class LeakKinds$Order"})
    static void listOfAnEnumMap(LeakCorpus.Dump dump) {
        byState = new EnumMap<>(State.class);
        for (State state : State.values()) byState.put(state, new ArrayList<>());
        for (int i = 0; i < 3000; i++) byState.get(State.SENT).add(new Order());
    }

    static long[][] matrix;

    @LeakCorpus.Answer(
        says = {"one long[][] of 1,000 elements", "field LeakKinds.matrix"},
        tells = "1,000 objects of class long[]",
        holder = "LeakKinds.matrix")
    static void matrix(LeakCorpus.Dump dump) {
        matrix = new long[1000][1000];
    }

    static Object cube;

    @LeakCorpus.Answer(
        says = {"5 objects of class double[][]", "field LeakKinds.cube"})
    static void cube(LeakCorpus.Dump dump) {
        cube = Array.newInstance(double.class, 5, 200, 1000);
    }

    static Map<String, WeakReference<Order>> stale;

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.ConcurrentHashMap with 60,000 entries", "field LeakKinds.stale"},
        tells = "java.lang.ref.WeakReference",
        holder = "LeakKinds.stale")
    static void weakValuesThatAreGone(LeakCorpus.Dump dump) {
        stale = new ConcurrentHashMap<>();
        for (int i = 0; i < 60_000; i++) stale.put("order " + i, new WeakReference<>(new Order()));
    }

    static final Logger LOGGER = Logger.getLogger("leak.kinds");

    @LeakCorpus.Answer(
        says = {"java.util.logging.MemoryHandler with a java.util.logging.LogRecord[] of 10,000 elements", "field LeakKinds.LOGGER"},
        tells = {"java.util.logging.Logger", "objects of class java.util.logging.LogRecord"})
    static void bufferOfRecords(LeakCorpus.Dump dump) {
        LOGGER.setUseParentHandlers(false);
        LOGGER.addHandler(new MemoryHandler(new StreamHandler(), 10_000, Level.OFF));
        for (int i = 0; i < 10_000; i++) LOGGER.log(Level.INFO, "order", new Object[] {new byte[500]});
    }

    /** A field of an interface is static. */
    interface Store {
        Map<Long, Order> ORDERS = new ConcurrentHashMap<>();
    }

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.ConcurrentHashMap with 3,000 entries", "field LeakKinds$Store.ORDERS"},
        tells = "3,000 objects of class LeakKinds$Order",
        holder = "LeakKinds$Store.ORDERS")
    static void fieldOfAnInterface(LeakCorpus.Dump dump) {
        for (long i = 0; i < 3000; i++) Store.ORDERS.put(i, new Order());
    }

    static Map<Integer, Map<Integer, Map<Integer, Order>>> orders;

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 20 entries", "field LeakKinds.orders"},
        tells = "which hold 4,000 objects of class LeakKinds$Order",
        holder = "LeakKinds.orders")
    static void mapsOfMapsOfMaps(LeakCorpus.Dump dump) {
        orders = new HashMap<>();
        for (int i = 0; i < 4000; i++) {
            orders.computeIfAbsent(i % 20, it -> new HashMap<>())
                .computeIfAbsent(i % 400, it -> new HashMap<>())
                .put(i, new Order());
        }
    }

    static OutputStream out;

    static final class Nowhere extends OutputStream {
        @Override
        public void write(int b) {}

        @Override
        public void write(byte[] bytes, int from, int length) {}
    }

    static final class Message implements java.io.Serializable {
        private static final long serialVersionUID = 1;
        final byte[] text = new byte[400];
    }

    @LeakCorpus.Answer(
        says = {"java.io.ObjectOutputStream$HandleTable with a java.lang.Object[]", "field LeakKinds.out"},
        tells = "java.io.ObjectOutputStream.handles")
    static void handlesOfAStream(LeakCorpus.Dump dump) throws Exception {
        ObjectOutputStream stream = new ObjectOutputStream(new Nowhere());
        out = stream;
        for (int i = 0; i < 10_000; i++) stream.writeObject(new Message());
    }

    @LeakCorpus.Answer(
        says = {"java.io.ByteArrayOutputStream with a byte[] of", "field LeakKinds.out"})
    static void bytesOfAStream(LeakCorpus.Dump dump) throws Exception {
        out = new ByteArrayOutputStream();
        for (int i = 0; i < 10_000; i++) out.write(new byte[500]);
    }

    static List<Throwable> failures;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 8,000 elements", "field LeakKinds.failures"},
        tells = "8,000 objects of class java.lang.IllegalStateException",
        holder = "LeakKinds.failures")
    static void exceptions(LeakCorpus.Dump dump) {
        failures = new ArrayList<>();
        for (int i = 0; i < 8000; i++) failures.add(new IllegalStateException("failure " + i));
    }

    /** A model whose views listen to it. */
    static final class Model {
        final PropertyChangeSupport changes = new PropertyChangeSupport(this);
    }

    static Model model;

    @LeakCorpus.Answer(
        says = {"field LeakKinds.model"},
        tells = "1,000 objects of class LeakKinds$$Lambda")
    static void listenersOfAModel(LeakCorpus.Dump dump) {
        model = new Model();
        for (int i = 0; i < 1000; i++) {
            View view = new View();
            PropertyChangeListener listener = event -> view.pixels[0]++;
            model.changes.addPropertyChangeListener(listener);
        }
    }

    /** A vector of 32 branches for each node. */
    static final class Vector {
        final int depth;
        Node root;
        int size;

        Vector(int depth) {
            this.depth = depth;
            root = new Node();
        }

        void add(Object element) {
            Node node = root;
            for (int level = depth; level > 0; level--) {
                int at = size >> (5 * level) & 31;
                if (node.array[at] == null) node.array[at] = new Node();
                node = (Node) node.array[at];
            }
            node.array[size++ & 31] = element;
        }
    }

    static final class Node {
        final Object[] array = new Object[32];
    }

    static Vector history;

    @LeakCorpus.Answer(
        says = {"one LeakKinds$Node, ", "field LeakKinds.history"},
        tells = "3,000 objects of class LeakKinds$Order",
        holder = "LeakKinds.history.root")
    static void persistentVector(LeakCorpus.Dump dump) {
        history = new Vector(3);
        for (int i = 0; i < 3000; i++) history.add(new Order());
    }

    /** A tree of letters. */
    static final class Trie {
        final Map<Character, Trie> next = new HashMap<>();
        byte[] value;

        void add(String word) {
            Trie at = this;
            for (char c : word.toCharArray()) at = at.next.computeIfAbsent(c, it -> new Trie());
            at.value = new byte[200];
        }
    }

    static Trie dictionary;

    @LeakCorpus.Answer(
        says = {"one LeakKinds$Trie, filled with 26,691 objects of class LeakKinds$Trie", "field LeakKinds.dictionary"},
        holder = "LeakKinds.dictionary")
    static void trie(LeakCorpus.Dump dump) {
        dictionary = new Trie();
        for (int i = 0; i < 8000; i++) dictionary.add("customer/" + Integer.toString(i * 7919, 26));
    }

    static org.w3c.dom.Document document;

    @LeakCorpus.Answer(
        says = {"com.sun.org.apache.xerces.internal.dom", "field LeakKinds.document", "filled with 10,001 objects"})
    static void document(LeakCorpus.Dump dump) throws Exception {
        StringBuilder text = new StringBuilder("<orders>");
        for (int i = 0; i < 10_000; i++) text.append("<order number='" + i + "'>text of " + i + "</order>");
        text.append("</orders>");
        InputStream in = new ByteArrayInputStream(text.toString().getBytes("UTF-8"));
        document = javax.xml.parsers.DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(in);
        document.getElementsByTagName("order").item(9_999);
        int children = 0;
        for (org.w3c.dom.Node at = document.getDocumentElement().getFirstChild(); at != null; at = at.getNextSibling()) {
            children += at.getFirstChild().getNodeValue().length();
        }
    }

    static List<StringBuilder> builders;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 200 elements", "field LeakKinds.builders"},
        tells = "200 objects of class java.lang.StringBuilder",
        holder = "LeakKinds.builders")
    static void builders(LeakCorpus.Dump dump) {
        builders = new ArrayList<>();
        for (int i = 0; i < 200; i++) builders.add(new StringBuilder(50_000).append("short"));
    }

    static Map<Long, Long> counts;

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 100,000 entries", "field LeakKinds.counts"},
        tells = "objects of class java.lang.Long",
        holder = "LeakKinds.counts")
    static void boxes(LeakCorpus.Dump dump) {
        counts = new HashMap<>();
        for (long i = 1000; i < 101_000; i++) counts.put(i, i * 3);
    }

    static final class Expiry implements Delayed {
        final byte[] entry = new byte[400];

        @Override
        public long getDelay(TimeUnit unit) {
            return 1;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }

    static DelayQueue<Expiry> expiries;

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.DelayQueue with 20,000 elements", "field LeakKinds.expiries"},
        tells = "20,000 objects of class LeakKinds$Expiry",
        holder = "LeakKinds.expiries")
    static void delayed(LeakCorpus.Dump dump) {
        expiries = new DelayQueue<>();
        for (int i = 0; i < 20_000; i++) expiries.add(new Expiry());
    }

    /** A hash table of the program's own, which keeps keys and values in arrays side by side. */
    static final class OpenMap {
        Object[] keys = new Object[1 << 14];
        Object[] values = new Object[1 << 14];

        void put(int at, Object key, Object value) {
            keys[at] = key;
            values[at] = value;
        }
    }

    static OpenMap open;

    @LeakCorpus.Answer(
        says = {"one LeakKinds$OpenMap, filled with 10,000 objects of class LeakKinds$Order", "static field LeakKinds.open"},
        never = "java.lang.Object[]",
        holder = "LeakKinds.open")
    static void ownMap(LeakCorpus.Dump dump) {
        open = new OpenMap();
        for (int i = 0; i < 10_000; i++) open.put(i, "key " + i, new Order());
    }

    /** A thread that finds its variables by index. */
    static final class FastThread extends Thread {
        final Object[] variables = new Object[16];

        FastThread(int number) {
            super("io-" + number);
            setDaemon(true);
        }

        @Override
        public void run() {
            Set<byte[]> buffers = new HashSet<>();
            for (int i = 0; i < 100; i++) buffers.add(new byte[4000]);
            variables[3] = buffers;
            buffers = null;
            LockSupport.park();
        }
    }

    @LeakCorpus.Answer(
        says = {"The threads \"io-*\"", "20 threads of class LeakKinds$FastThread", "field LeakKinds$FastThread.variables"},
        threads = "io-")
    static void fastThreadLocals(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 20; i++) new FastThread(i).start();
        Thread.sleep(300);
    }

    @LeakCorpus.Answer(
        says = {"The threads \"app-worker-*\"", "20 threads", "field java.lang.Thread.contextClassLoader"},
        threads = "app-worker-")
    static void loadersOfThreads(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 20; i++) {
            LeakLives.PluginLoader loader = new LeakLives.PluginLoader();
            Object plugin = loader.plugin();
            Thread thread = new Thread(LockSupport::park, "app-worker-" + i);
            thread.setContextClassLoader(loader);
            thread.setDaemon(true);
            thread.start();
            plugin.hashCode();
        }
        Thread.sleep(200);
    }

    static final InheritableThreadLocal<List<Order>> INHERITED = new InheritableThreadLocal<>();

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 3,000 elements", "in a ThreadLocal", "static field LeakKinds.INHERITED"},
        tells = "ThreadLocal.remove()")
    static void inherited(LeakCorpus.Dump dump) throws Exception {
        List<Order> all = new ArrayList<>();
        for (int i = 0; i < 3000; i++) all.add(new Order());
        INHERITED.set(all);
        for (int i = 0; i < 5; i++) {
            Thread thread = new Thread(LockSupport::park, "child-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        INHERITED.remove();
        all = null;
        Thread.sleep(200);
    }
}

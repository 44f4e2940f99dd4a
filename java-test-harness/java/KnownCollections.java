import java.awt.RenderingHints;
import java.lang.management.ManagementFactory;
import java.util.*;
import java.util.concurrent.*;
import java.util.jar.Attributes;

/**
 * Dumps its own heap to the file that its argument names, with collections of nearly all kinds of
 * the JDK alive, each held by a Known that says how many elements it has.
 */
public class KnownCollections {
    /** A collection and the number of its elements; -1 if no dump tells it. */
    static final class Known {
        final String what;
        final int size;
        final Object collection;

        Known(String what, int size, Object collection) {
            this.what = what;
            this.size = size;
            this.collection = collection;
        }
    }

    enum Few { A, B, C, D, E, F, G }

    static final List<Known> all = new ArrayList<>();

    static <E> void known(String what, Collection<E> collection) {
        all.add(new Known(what, collection.size(), collection));
    }

    static <K, V> void known(String what, Map<K, V> map) {
        all.add(new Known(what, map.size(), map));
        views(what, map);
    }

    static <K, V> void views(String what, Map<K, V> map) {
        all.add(new Known(what + ".keySet", map.size(), map.keySet()));
        all.add(new Known(what + ".values", map.size(), map.values()));
        all.add(new Known(what + ".entrySet", map.size(), map.entrySet()));
    }

    /** Elements are of a class without natural kin, and none is in a cache of the JDK. */
    static List<String> elements(int count) {
        List<String> list = new ArrayList<>();
        for (int i = 0; i < count; i++) list.add("element " + i);
        return list;
    }

    static Map<String, Integer> entries(int count) {
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < count; i++) map.put("key " + i, 1000 + i);
        return map;
    }

    static <C extends Collection<String>> C filled(C collection, int count) {
        collection.addAll(elements(count));
        return collection;
    }

    static <M extends Map<String, Integer>> M filled(M map, int count) {
        map.putAll(entries(count));
        return map;
    }

    static void lists() {
        known("ArrayList", filled(new ArrayList<>(), 5));
        known("LinkedList", filled(new LinkedList<>(), 6));
        known("Vector", filled(new Vector<>(), 7));
        known("Stack", filled(new Stack<>(), 8));
        known("CopyOnWriteArrayList", filled(new CopyOnWriteArrayList<>(), 9));
        known("asList", Arrays.asList("a", "b", "c"));
        known("subList", filled(new ArrayList<>(), 9).subList(2, 6));
        known("subList of subList", filled(new ArrayList<>(), 9).subList(2, 8).subList(1, 3));
        known("subList of LinkedList", filled(new LinkedList<>(), 9).subList(2, 6));
        known("subList of Vector", filled(new Vector<>(), 9).subList(2, 5));
        known("subList of asList", Arrays.asList("a", "b", "c").subList(1, 3));
        known("subList of CopyOnWriteArrayList", filled(new CopyOnWriteArrayList<>(), 9).subList(3, 5));
        known("subList of List.of", List.of("a", "b", "c", "d").subList(1, 4));
        known("List.of 0", List.of());
        known("List.of 1", List.of("a"));
        known("List.of 2", List.of("a", "b"));
        known("List.of 3", List.of("a", "b", "c"));
        known("emptyList", Collections.emptyList());
        known("singletonList", Collections.singletonList(null));
        known("nCopies", Collections.nCopies(1234, "copy"));
    }

    static void queues() throws Exception {
        ArrayDeque<String> ring = filled(new ArrayDeque<>(8), 7);
        for (int i = 0; i < 5; i++) ring.add(ring.remove() + "'");
        known("ArrayDeque", ring);
        known("PriorityQueue", filled(new PriorityQueue<>(), 5));
        known("PriorityBlockingQueue", filled(new PriorityBlockingQueue<>(), 6));
        known("ArrayBlockingQueue", filled(new ArrayBlockingQueue<>(20), 7));
        known("LinkedBlockingQueue", filled(new LinkedBlockingQueue<>(), 8));
        known("LinkedBlockingDeque", filled(new LinkedBlockingDeque<>(), 9));
        known("DelayQueue", new DelayQueue<>());
        known("SynchronousQueue", new SynchronousQueue<String>());
        known("asLifoQueue", filled(Collections.asLifoQueue(new ArrayDeque<>()), 4));
        known("ConcurrentLinkedQueue, empty", new ConcurrentLinkedQueue<String>());
        ConcurrentLinkedQueue<String> queue = filled(new ConcurrentLinkedQueue<>(), 20);
        for (int i = 0; i < 7; i++) queue.remove();
        queue.remove("element 12");
        known("ConcurrentLinkedQueue", queue);
        ConcurrentLinkedDeque<String> deque = filled(new ConcurrentLinkedDeque<>(), 20);
        for (int i = 0; i < 5; i++) deque.addFirst("first " + i);
        deque.removeLast();
        deque.remove("element 3");
        known("ConcurrentLinkedDeque", deque);
        known("ConcurrentLinkedDeque, empty", new ConcurrentLinkedDeque<String>());
        LinkedTransferQueue<String> transfer = filled(new LinkedTransferQueue<>(), 20);
        for (int i = 0; i < 6; i++) transfer.remove();
        transfer.remove("element 11");
        known("LinkedTransferQueue", transfer);
        LinkedTransferQueue<String> waited = new LinkedTransferQueue<>();
        Thread taker = new Thread(() -> {
            try {
                waited.take();
            } catch (InterruptedException e) {
                // The end.
            }
        });
        taker.setDaemon(true);
        taker.start();
        while (taker.getState() != Thread.State.WAITING) Thread.sleep(1);
        known("LinkedTransferQueue with a taker", waited);
        ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(1);
        for (int i = 0; i < 3; i++) pool.schedule(() -> {}, 1, TimeUnit.DAYS);
        known("DelayedWorkQueue", pool.getQueue());
    }

    static void maps() throws Exception {
        Properties properties = new Properties();
        for (int i = 0; i < 17; i++) properties.setProperty("name " + i, "value");
        known("Properties", properties);
        known("Properties, empty", new Properties());
        known("HashMap", filled(new HashMap<>(), 20));
        known("LinkedHashMap", filled(new LinkedHashMap<>(), 21));
        known("Hashtable", filled(new Hashtable<>(), 22));
        known("IdentityHashMap", filled(new IdentityHashMap<>(), 23));
        known("TreeMap", filled(new TreeMap<>(), 24));
        known("descendingMap", filled(new TreeMap<>(), 14).descendingMap());
        SortedMap<String, Integer> head = filled(new TreeMap<>(), 14).headMap("key 3");
        all.add(new Known("headMap", -1, head));
        known("EnumMap", new EnumMap<>(Map.of(Few.B, "b", Few.D, "d", Few.G, "g")));
        Map<Object, Integer> weak = new WeakHashMap<>();
        for (Few few : Few.values()) weak.put(few, 1);
        known("WeakHashMap", weak);
        known("ConcurrentHashMap", filled(new ConcurrentHashMap<>(), 25));
        ConcurrentHashMap<Integer, Integer> contended = new ConcurrentHashMap<>();
        Thread[] threads = new Thread[8];
        for (int t = 0; t < threads.length; t++) {
            int first = 20_000 * t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 20_000; i++) contended.put(first + i, i);
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        known("ConcurrentHashMap, contended", contended);
        known("newKeySet", filled(ConcurrentHashMap.<String>newKeySet(), 11));
        ConcurrentSkipListMap<String, Integer> skip = filled(new ConcurrentSkipListMap<>(), 300);
        for (int i = 0; i < 50; i++) skip.remove("key " + i);
        known("ConcurrentSkipListMap", skip);
        known("ConcurrentSkipListMap, empty", new ConcurrentSkipListMap<String, Integer>());
        all.add(new Known("skip headMap", -1, skip.headMap("key 3")));
        known("Map.of 0", Map.of());
        known("Map.of 1", Map.of("a", 1));
        known("Map.of 3", Map.of("a", 1, "b", 2, "c", 3));
        known("emptyMap", Collections.emptyMap());
        known("singletonMap", Collections.singletonMap("a", null));
        Attributes attributes = new Attributes();
        attributes.putValue("One", "1");
        attributes.putValue("Two", "2");
        known("Attributes", attributes);
        Map<RenderingHints.Key, Object> hints = new HashMap<>();
        hints.put(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        known("RenderingHints", new RenderingHints(hints));
        javax.script.SimpleBindings bindings = new javax.script.SimpleBindings();
        bindings.put("x", 1);
        bindings.put("y", 2);
        bindings.put("z", 3);
        known("SimpleBindings", bindings);
    }

    static void sets() {
        known("HashSet", filled(new HashSet<>(), 5));
        known("LinkedHashSet", filled(new LinkedHashSet<>(), 6));
        known("TreeSet", filled(new TreeSet<>(), 7));
        known("descendingSet", filled(new TreeSet<>(), 7).descendingSet());
        known("ConcurrentSkipListSet", filled(new ConcurrentSkipListSet<>(), 8));
        known("CopyOnWriteArraySet", filled(new CopyOnWriteArraySet<>(), 9));
        known("EnumSet", EnumSet.of(Few.A, Few.C, Few.F));
        known("EnumSet, empty", EnumSet.noneOf(Few.class));
        EnumSet<Character.UnicodeScript> many = EnumSet.allOf(Character.UnicodeScript.class);
        many.remove(Character.UnicodeScript.LATIN);
        known("EnumSet of many", many);
        known("Set.of 1", Set.of("a"));
        known("Set.of 2", Set.of("a", "b"));
        known("Set.of 3", Set.of("a", "b", "c"));
        known("emptySet", Collections.emptySet());
        known("singleton", Collections.singleton("a"));
        Set<String> ofMap = Collections.newSetFromMap(new IdentityHashMap<>());
        known("newSetFromMap", filled(ofMap, 10));
    }

    static void wrappers() {
        known("unmodifiableList", Collections.unmodifiableList(elements(3)));
        known("unmodifiableSet", Collections.unmodifiableSet(new HashSet<>(elements(4))));
        known("unmodifiableMap", Collections.unmodifiableMap(entries(5)));
        known("synchronizedList", Collections.synchronizedList(elements(6)));
        known("synchronizedMap", Collections.synchronizedMap(entries(7)));
        known("checkedList", Collections.checkedList(elements(8), String.class));
        known("checkedSet", Collections.checkedSet(new HashSet<>(elements(9)), String.class));
        known("checkedMap", Collections.checkedMap(entries(10), String.class, Integer.class));
        known("checkedSortedMap", Collections.checkedSortedMap(new TreeMap<>(entries(11)), String.class, Integer.class));
        known("checkedQueue", Collections.checkedQueue(new ArrayDeque<>(elements(12)), String.class));
        known("synchronized unmodifiable checked",
                Collections.synchronizedCollection(Collections.unmodifiableCollection(
                        Collections.checkedCollection(new ConcurrentSkipListSet<>(elements(13)), String.class))));
        java.beans.beancontext.BeanContextSupport context = new java.beans.beancontext.BeanContextSupport();
        for (int i = 0; i < 4; i++) context.add("child " + i);
        all.add(new Known("BeanContextSupport", context.size(), context));
        all.add(new Known("own", -1, new AbstractCollection<String>() {
            @Override public Iterator<String> iterator() { return Collections.emptyIterator(); }
            @Override public int size() { return 0; }
        }));
    }

    public static void main(String[] args) throws Exception {
        lists();
        queues();
        maps();
        sets();
        wrappers();
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
                .dumpHeap(args[0], true);
        System.out.println(all.size() + " collections");
        System.exit(0);
    }
}

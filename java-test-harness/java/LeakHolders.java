import java.lang.ref.SoftReference;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Heaps of {@link LeakCorpus} in which a field of the program holds too much. */
final class LeakHolders {
    private LeakHolders() {}

    static final class Session {
        final byte[] data = new byte[4000];
    }

    static Map<String, Session> sessions;

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 2,000 entries", "static field LeakHolders.sessions"},
        tells = "2,000 objects of class LeakHolders$Session",
        holder = "LeakHolders.sessions")
    static void map(LeakCorpus.Dump dump) {
        sessions = new HashMap<>();
        for (int i = 0; i < 2000; i++) sessions.put("session " + i, new Session());
    }

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.ConcurrentHashMap with 2,000 entries", "field LeakHolders.sessions"},
        tells = "LeakHolders$Session",
        holder = "LeakHolders.sessions")
    static void concurrentMap(LeakCorpus.Dump dump) {
        sessions = new ConcurrentHashMap<>();
        for (int i = 0; i < 2000; i++) sessions.put("session " + i, new Session());
    }

    @LeakCorpus.Answer(
        says = {"SynchronizedMap with 2,000 entries", "field LeakHolders.sessions"},
        tells = "LeakHolders$Session",
        holder = "LeakHolders.sessions")
    static void synchronizedMap(LeakCorpus.Dump dump) {
        sessions = Collections.synchronizedMap(new HashMap<>());
        for (int i = 0; i < 2000; i++) sessions.put("session " + i, new Session());
    }

    interface Listener {
        void changed();
    }

    static final class EventBus {
        final List<Listener> listeners = new CopyOnWriteArrayList<>();
    }

    static final class Window {
        final int[] pixels = new int[2000];

        /** Refers to its window, which is all that it keeps alive. */
        final class Redraw implements Listener {
            @Override
            public void changed() {
                pixels[0]++;
            }
        }
    }

    static EventBus bus;

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.CopyOnWriteArrayList with 1,000 elements", "field LeakHolders.bus"},
        tells = {"LeakHolders$EventBus.listeners", "1,000 objects of class LeakHolders$Window$Redraw"},
        holder = "LeakHolders.bus.listeners")
    static void innerListeners(LeakCorpus.Dump dump) {
        bus = new EventBus();
        for (int i = 0; i < 1000; i++) {
            Window window = new Window();
            bus.listeners.add(window.new Redraw());
        }
    }

    static final class Key {
        final String name;
        final long[] hashes = new long[8];

        Key(int number) {
            name = "key " + number;
        }
    }

    static Map<Key, byte[]> pictures;

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 3,000 entries", "field LeakHolders.pictures"},
        tells = "3,000 objects of class byte[]",
        never = "objects of class LeakHolders$Key",
        holder = "LeakHolders.pictures")
    static void bytesBesideKeys(LeakCorpus.Dump dump) {
        pictures = new HashMap<>();
        for (int i = 0; i < 3000; i++) pictures.put(new Key(i), new byte[3000]);
    }

    static final class Event {
        final long[] values = new long[10];
    }

    static Map<String, List<Event>> eventsByUser;

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 500 entries", "field LeakHolders.eventsByUser"},
        tells = {"java.util.ArrayList", "LeakHolders$Event"},
        holder = "LeakHolders.eventsByUser")
    static void listsInAMap(LeakCorpus.Dump dump) {
        eventsByUser = new HashMap<>();
        for (int i = 0; i < 500; i++) {
            List<Event> events = new ArrayList<>();
            for (int j = 0; j < 150; j++) events.add(new Event());
            eventsByUser.put("user " + i, events);
        }
    }

    static Set<String> texts;

    @LeakCorpus.Answer(
        says = {"java.util.HashSet with 60,000 elements", "field LeakHolders.texts"},
        tells = "60,000 objects of class java.lang.String",
        holder = "LeakHolders.texts")
    static void internedTexts(LeakCorpus.Dump dump) {
        texts = new HashSet<>();
        for (int i = 0; i < 60_000; i++) texts.add(("a text that is interned, number " + i).intern());
    }

    static final class Lru extends LinkedHashMap<Integer, Session> {
        private static final long serialVersionUID = 1;

        Lru() {
            super(16, 0.75f, true);
        }
    }

    static final class Pages {
        final Lru recent = new Lru();
    }

    static Pages pages;

    @LeakCorpus.Answer(
        says = {"LeakHolders$Lru with 2,000 entries", "field LeakHolders.pages"},
        tells = {"LeakHolders$Pages.recent", "LeakHolders$Session"},
        holder = "LeakHolders.pages.recent")
    static void lruWithoutBound(LeakCorpus.Dump dump) {
        pages = new Pages();
        for (int i = 0; i < 2000; i++) pages.recent.put(i, new Session());
    }

    static final class Owner {
        Object held;
    }

    static Map<Owner, Object[]> extras;

    @LeakCorpus.Answer(
        says = {"java.util.WeakHashMap with 2,000 entries", "field LeakHolders.extras"},
        holder = "LeakHolders.extras")
    static void weakKeysThatTheirValuesHold(LeakCorpus.Dump dump) {
        extras = new WeakHashMap<>();
        for (int i = 0; i < 2000; i++) {
            Owner owner = new Owner();
            extras.put(owner, new Object[] {owner, new byte[4000]});
        }
    }

    static Map<Object, Session> byIdentity;

    @LeakCorpus.Answer(
        says = {"java.util.IdentityHashMap with 2,000 entries", "field LeakHolders.byIdentity"},
        tells = "LeakHolders$Session",
        holder = "LeakHolders.byIdentity")
    static void identityMap(LeakCorpus.Dump dump) {
        byIdentity = new IdentityHashMap<>();
        for (int i = 0; i < 2000; i++) byIdentity.put(new Object(), new Session());
    }

    static ArrayDeque<Session> recent;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayDeque with 2,000 elements", "field LeakHolders.recent"},
        tells = "2,000 objects of class LeakHolders$Session",
        holder = "LeakHolders.recent")
    static void deque(LeakCorpus.Dump dump) {
        recent = new ArrayDeque<>();
        for (int i = 0; i < 2000; i++) recent.add(new Session());
    }

    static Map<String, SoftReference<Session>> soft;

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 2,000 entries", "field LeakHolders.soft"},
        tells = {"java.lang.ref.SoftReference", "objects of class LeakHolders$Session"},
        holder = "LeakHolders.soft")
    static void softCache(LeakCorpus.Dump dump) {
        soft = new HashMap<>();
        for (int i = 0; i < 2000; i++) soft.put("page " + i, new SoftReference<>(new Session()));
    }

    static List<Session> inOrder;
    static Map<Integer, Session> byNumber;

    @LeakCorpus.Answer(
        says = "Class LeakHolders keeps",
        tells = "2,000 objects of class LeakHolders$Session",
        never = "one java.util",
        holder = "LeakHolders")
    static void twoCollectionsOfOneClass(LeakCorpus.Dump dump) {
        inOrder = new ArrayList<>();
        byNumber = new HashMap<>();
        for (int i = 0; i < 2000; i++) {
            Session session = new Session();
            inOrder.add(session);
            byNumber.put(i, session);
        }
    }

    static final class Registry {
        final List<Session> inOrder = new ArrayList<>();
        final Map<Integer, Session> byNumber = new HashMap<>();
    }

    static Registry registry;

    @LeakCorpus.Answer(
        says = {": one LeakHolders$Registry, ", "field LeakHolders.registry"},
        tells = "2,000 objects of class LeakHolders$Session",
        holder = "LeakHolders.registry")
    static void twoCollectionsOfOneObject(LeakCorpus.Dump dump) {
        registry = new Registry();
        for (int i = 0; i < 2000; i++) {
            Session session = new Session();
            registry.inOrder.add(session);
            registry.byNumber.put(i, session);
        }
    }

    /** Has the sessions of another class as well. */
    static final class Index {
        static Map<Integer, Session> sessions;
    }

    @LeakCorpus.Answer(
        says = {"2,000 objects of class LeakHolders$Session", "The static field LeakHolders.", "which others hold as well"},
        never = "one java.util")
    static void collectionsOfTwoClasses(LeakCorpus.Dump dump) {
        inOrder = new ArrayList<>();
        Index.sessions = new HashMap<>();
        for (int i = 0; i < 2000; i++) {
            Session session = new Session();
            inOrder.add(session);
            Index.sessions.put(i, session);
        }
    }

    static List<String> words;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 60,000 elements", "local variable in LeakHolders.localList"},
        tells = "objects of class java.lang.String")
    static void localList(LeakCorpus.Dump dump) throws Exception {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 60_000; i++) lines.add("line " + i + " of a file that is read as a whole");
        dump.write();
        words = lines.subList(0, 1);
    }

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 60,000 elements", "field LeakHolders.words"},
        never = "local variable",
        holder = "LeakHolders.words")
    static void fieldBesideALocal(LeakCorpus.Dump dump) throws Exception {
        List<String> lines = new ArrayList<>();
        words = lines;
        for (int i = 0; i < 60_000; i++) lines.add("line " + i + " of a file that is read as a whole");
        dump.write();
        lines.clear();
    }

    static Object guava;

    @LeakCorpus.Answer(
        says = {"LocalCache$LocalManualCache with 2,000 entries", "field LeakHolders.guava"},
        tells = "2,000 objects of class LeakHolders$Session",
        never = "one java.util",
        library = "guava.jar",
        holder = "LeakHolders.guava")
    static void cacheOfGuava(LeakCorpus.Dump dump) throws Exception {
        Class<?> builder = Class.forName("com.google.common.cache.CacheBuilder");
        guava = builder.getMethod("build").invoke(builder.getMethod("newBuilder").invoke(null));
        Class<?> cache = Class.forName("com.google.common.cache.Cache");
        Method put = cache.getMethod("put", Object.class, Object.class);
        for (int i = 0; i < 2000; i++) put.invoke(guava, "session " + i, new Session());
    }

    static StringBuilder log;

    @LeakCorpus.Answer(says = {"one java.lang.StringBuilder with a byte[] of", "field LeakHolders.log"}, since = 11)
    static void oneText(LeakCorpus.Dump dump) {
        log = new StringBuilder();
        for (int i = 0; i < 400_000; i++) log.append("a line that is added\n");
    }

    static List<String> slices;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 60,000 elements", "field LeakHolders.slices"},
        tells = {"java.util.ArrayList$SubList.root", "objects of class java.lang.String"},
        holder = "LeakHolders.slices.root", since = 11)
    static void sliceOfAList(LeakCorpus.Dump dump) {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < 60_000; i++) all.add("element " + i + " of a list that is long forgotten");
        slices = all.subList(0, 10);
    }
}

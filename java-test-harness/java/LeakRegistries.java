import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Observable;
import java.util.Properties;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.logging.Logger;

/** Heaps of {@link LeakCorpus} in which something was registered, or waits, and is never taken out. */
final class LeakRegistries {
    private LeakRegistries() {}

    static final class Session {
        final byte[] data = new byte[2000];
    }

    /** Listeners by type of event. */
    static final class EventBus {
        private final Map<Class<?>, Set<Consumer<Object>>> handlers = new ConcurrentHashMap<>();

        void subscribe(Class<?> type, Consumer<Object> handler) {
            handlers.computeIfAbsent(type, it -> new CopyOnWriteArraySet<>()).add(handler);
        }
    }

    static final EventBus BUS = new EventBus();

    @LeakCorpus.Answer(
        says = {"LeakRegistries$EventBus.handlers", "1,500 objects of class LeakRegistries$$Lambda"},
        tells = "LeakRegistries.BUS")
    static void eventBus(LeakCorpus.Dump dump) {
        for (int i = 0; i < 1500; i++) {
            Session session = new Session();
            BUS.subscribe(String.class, event -> session.data[0]++);
        }
    }

    static final class SessionStore {
        private final Map<String, Map<String, Object>> attributes = new ConcurrentHashMap<>();
    }

    static final class WebApp {
        final SessionStore store = new SessionStore();
    }

    static WebApp app;

    @LeakCorpus.Answer(
        says = {"LeakRegistries$SessionStore.attributes", "java.util.concurrent.ConcurrentHashMap with 1,000 entries",
            "LeakRegistries$Session"},
        tells = "LeakRegistries.app",
        holder = "LeakRegistries.app.store.attributes")
    static void attributesOfSessions(LeakCorpus.Dump dump) {
        app = new WebApp();
        for (int i = 0; i < 1000; i++) {
            Map<String, Object> attributes = new HashMap<>();
            attributes.put("user", "user " + i);
            attributes.put("cart", new Session());
            attributes.put("history", new Session());
            app.store.attributes.put("session-" + i, attributes);
        }
    }

    static final class Page {
        final int[] pixels = new int[1000];
    }

    static Map<String, WeakReference<Page>> pages;

    @LeakCorpus.Answer(
        says = {"LeakRegistries.pages", "java.util.HashMap with 50,000 entries", "java.lang.ref.WeakReference"},
        tells = "cleared",
        never = "filled with 50,000 objects of class java.lang.String",
        holder = "LeakRegistries.pages")
    static void clearedReferences(LeakCorpus.Dump dump) {
        pages = new HashMap<>();
        for (int i = 0; i < 50_000; i++) pages.put("/page/" + i + "/of/the/site", new WeakReference<>(new Page()));
    }

    static final Map<Integer, SoftReference<Page>> IMAGES = new ConcurrentHashMap<>();

    @LeakCorpus.Answer(
        says = {"LeakRegistries.IMAGES", "java.util.concurrent.ConcurrentHashMap with 2,000 entries"},
        tells = {"java.lang.ref.SoftReference", "objects of class LeakRegistries$Page", "soft references"})
    static void softImages(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2000; i++) IMAGES.put(i, new SoftReference<>(new Page()));
    }

    static final class Handle extends PhantomReference<Object> {
        final byte[] resource = new byte[2000];

        Handle(Object referent, ReferenceQueue<Object> queue) {
            super(referent, queue);
        }
    }

    /**
     * Collects, and waits until all references whose referents are gone are in their queues: the thread that puts them
     * there takes the references of one collection after those of the one before.
     */
    private static void enqueueReferences() throws Exception {
        System.gc();
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        Reference<Object> last = new PhantomReference<>(new Object(), queue);
        do System.gc(); while (queue.remove(20) != last);
    }

    static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
    static final Set<Reference<?>> HANDLES = Collections.synchronizedSet(new HashSet<>());

    @LeakCorpus.Answer(
        says = {"LeakRegistries", "HANDLES", "3,000 objects of class LeakRegistries$Handle whose referents are gone",
            "which hold 3,000 objects of class byte[], and wait in the queue of the static field LeakRegistries.QUEUE"},
        tells = "no thread has the queue on its stack")
    static void phantomsThatNothingPolls(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 3000; i++) HANDLES.add(new Handle(new Object(), QUEUE));
        enqueueReferences();
    }

    static final Cleaner CLEANER = Cleaner.create();
    static final List<Object> OPEN = new ArrayList<>();

    static final class State implements Runnable {
        final byte[] data = new byte[2000];

        @Override
        public void run() {}
    }

    static final class Resource {
        final State state = new State();

        Resource() {
            CLEANER.register(this, state);
        }
    }

    @LeakCorpus.Answer(
        says = {"LeakRegistries.CLEANER", "objects of class jdk.internal.ref.CleanerImpl$PhantomCleanableRef",
            "which hold 3,000 objects of class LeakRegistries$State, and wait in a queue for the thread \"Cleaner-0\""},
        tells = "is in LeakRegistries.lambda$cleanerBacklog$")
    static void cleanerBacklog(LeakCorpus.Dump dump) throws Exception {
        Semaphore never = new Semaphore(0);
        CountDownLatch hasBegun = new CountDownLatch(1);
        CLEANER.register(new Object(), () -> {
            hasBegun.countDown();
            never.acquireUninterruptibly();
        });
        do System.gc(); while (!hasBegun.await(10, TimeUnit.MILLISECONDS));
        for (int i = 0; i < 3000; i++) new Resource();
        enqueueReferences();
    }

    static final class Plugin extends Thread {
        final Map<String, byte[]> cache = new HashMap<>();

        Plugin() {
            super("plugin-exit");
            for (int i = 0; i < 2000; i++) cache.put("k" + i, new byte[2000]);
        }
    }

    @LeakCorpus.Answer(
        says = {"LeakRegistries$Plugin.cache", "java.util.HashMap with 2,000 entries"},
        tells = "java.lang.ApplicationShutdownHooks")
    static void shutdownHook(LeakCorpus.Dump dump) {
        Runtime.getRuntime().addShutdownHook(new Plugin());
    }

    /** A driver of a deployment. */
    static final class MyDriver implements Driver {
        final Map<String, byte[]> statements = new HashMap<>();

        @Override
        public java.sql.Connection connect(String url, Properties info) {
            return null;
        }

        @Override
        public boolean acceptsURL(String url) {
            return false;
        }

        @Override
        public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) {
            return new DriverPropertyInfo[0];
        }

        @Override
        public int getMajorVersion() {
            return 1;
        }

        @Override
        public int getMinorVersion() {
            return 0;
        }

        @Override
        public boolean jdbcCompliant() {
            return false;
        }

        @Override
        public Logger getParentLogger() {
            return null;
        }
    }

    @LeakCorpus.Answer(
        says = {"LeakRegistries$MyDriver.statements", "java.util.HashMap with 2,000 entries"},
        tells = "java.sql.DriverManager.registeredDrivers")
    static void registeredDriver(LeakCorpus.Dump dump) throws Exception {
        MyDriver driver = new MyDriver();
        for (int i = 0; i < 2000; i++) driver.statements.put("select " + i, new byte[2000]);
        DriverManager.registerDriver(driver);
    }

    static final class Metrics {
        static final ThreadLocal<Map<String, byte[]>> PER_THREAD = ThreadLocal.withInitial(HashMap::new);
    }

    @LeakCorpus.Answer(
        says = {"LeakRegistries$Metrics.PER_THREAD", "java.util.HashMap"},
        tells = "ThreadLocal.remove()")
    static void initialValuesOfThreads(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 10; i++) {
            Thread thread = new Thread(() -> {
                for (int j = 0; j < 200; j++) Metrics.PER_THREAD.get().put("m" + j, new byte[2000]);
                LockSupport.park();
            }, "metrics-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(500);
    }

    static final class Rpc {
        final Map<Long, CompletableFuture<Session>> calls = new ConcurrentHashMap<>();
        final IdentityHashMap<Object, Session> bySocket = new IdentityHashMap<>();
    }

    static Rpc rpc;

    @LeakCorpus.Answer(
        says = {"LeakRegistries$Rpc.calls", "java.util.concurrent.ConcurrentHashMap with 3,000 entries",
            "java.util.concurrent.CompletableFuture"},
        tells = "LeakRegistries.rpc",
        holder = "LeakRegistries.rpc.calls")
    static void callsWithoutAnswer(LeakCorpus.Dump dump) {
        rpc = new Rpc();
        for (long i = 0; i < 3000; i++) {
            Session session = new Session();
            CompletableFuture<Session> call = new CompletableFuture<>();
            call.whenComplete((it, error) -> session.data[0]++);
            rpc.calls.put(i, call);
        }
    }

    static final class Stock extends java.util.HashMap<String, Integer> {
        private static final long serialVersionUID = 1;
        final transient List<Consumer<Stock>> observers = new ArrayList<>();
    }

    static final class Views {
        static final Stock STOCK = new Stock();
    }

    @LeakCorpus.Answer(
        says = {"LeakRegistries$Stock.observers", "java.util.ArrayList with 2,000 elements", "LeakRegistries$$Lambda"},
        tells = "LeakRegistries$Views.STOCK",
        holder = "LeakRegistries$Views.STOCK.observers")
    static void observersOfAMap(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2000; i++) {
            Page page = new Page();
            Views.STOCK.observers.add(stock -> page.pixels[0] = stock.size());
        }
    }

    static final class Deployments {
        static final List<ClassLoader> OLD = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"LeakRegistries$Deployments.OLD", "java.util.ArrayList with 40 elements", "40 objects of class java.net.URLClassLoader"},
        holder = "LeakRegistries$Deployments.OLD")
    static void loadersOfDeployments(LeakCorpus.Dump dump) throws Exception {
        URL here = LeakRegistries.class.getProtectionDomain().getCodeSource().getLocation();
        for (int i = 0; i < 40; i++) {
            URLClassLoader loader = new URLClassLoader(new URL[] {here}, null);
            Class.forName("LeakLives$Plugin", true, loader).getDeclaredConstructor().newInstance();
            Deployments.OLD.add(loader);
        }
    }

    static final class Direct {
        static final List<ByteBuffer> POOL = new ArrayList<>();
    }

    static final Map<Object, String> NAMES = new WeakHashMap<>();
    static final List<Object> KEYS = new ArrayList<>();

    @LeakCorpus.Answer(
        says = {"LeakRegistries.KEYS", "java.util.ArrayList with 3,000 elements", "3,000 objects of class LeakRegistries$Session"},
        never = "WeakHashMap with")
    static void keysOfAWeakMapHeldElsewhere(LeakCorpus.Dump dump) {
        for (int i = 0; i < 3000; i++) {
            Session session = new Session();
            NAMES.put(session, "n");
            KEYS.add(session);
        }
    }

    static final class Job implements Runnable {
        final Session session = new Session();

        @Override
        public void run() {}
    }

    static final class Scheduler {
        private final ExecutorService workers = Executors.newSingleThreadExecutor();
    }

    static final Scheduler SCHEDULER = new Scheduler();

    @LeakCorpus.Answer(
        says = {"LeakRegistries$Scheduler.workers", "java.util.concurrent.LinkedBlockingQueue with 4,000 elements", "LeakRegistries$Job"},
        tells = "LeakRegistries.SCHEDULER")
    static void backlogOfOneWorker(LeakCorpus.Dump dump) throws Exception {
        Semaphore never = new Semaphore(0);
        SCHEDULER.workers.execute(never::acquireUninterruptibly);
        for (int i = 0; i < 4000; i++) SCHEDULER.workers.execute(new Job());
        TimeUnit.MILLISECONDS.sleep(100);
    }

    @SuppressWarnings("deprecation")
    static final class Model extends Observable {}

    static final Model MODEL = new Model();

    @LeakCorpus.Answer(
        says = {"LeakRegistries.MODEL", "java.util.Vector with 2,000 elements"},
        tells = "LeakRegistries$$Lambda")
    @SuppressWarnings("deprecation")
    static void observersOfTheJdk(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2000; i++) {
            Page page = new Page();
            MODEL.addObserver((model, change) -> page.pixels[0]++);
        }
    }
}

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.AbstractMap;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Heaps of {@link LeakCorpus} that store one kind of data in the ways of different authors. */
final class LeakStores {
    private LeakStores() {}

    static final class Order {
        final byte[] lines = new byte[1500];
    }

    static int[] counts;

    @LeakCorpus.Answer(
        says = {"static field LeakStores.counts", "one int[] of 1,500,000 elements", "6.0 MB"},
        holder = "LeakStores.counts",
        shared = true)
    static void oneArray(LeakCorpus.Dump dump) {
        counts = new int[1_500_000];
    }

    static final class Image {
        final int[] pixels = new int[1_500_000];
        final String name = "image";
    }

    static final class Screen {
        Image background = new Image();
    }

    static Screen screen;

    @LeakCorpus.Answer(
        says = {"field LeakStores$Image.pixels", "one int[] of 1,500,000 elements"},
        tells = {"LeakStores.screen", "LeakStores$Screen.background"},
        holder = "LeakStores.screen.background.pixels",
        shared = true)
    static void pixelsOfAnImage(LeakCorpus.Dump dump) {
        screen = new Screen();
    }

    static final class Cached implements InvocationHandler {
        private final Map<Integer, Order> answers = new HashMap<>();

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            return answers.computeIfAbsent(answers.size(), it -> new Order());
        }
    }

    static Callable<Object> service;

    @LeakCorpus.Answer(
        says = {"field LeakStores$Cached.answers", "java.util.HashMap with 4,000 entries", "4,000 objects of class LeakStores$Order"},
        tells = "LeakStores.service",
        shared = true)
    static void handlerOfAProxy(LeakCorpus.Dump dump) throws Exception {
        @SuppressWarnings("unchecked")
        Callable<Object> proxy = (Callable<Object>) Proxy.newProxyInstance(
            LeakStores.class.getClassLoader(), new Class<?>[] {Callable.class}, new Cached());
        service = proxy;
        for (int i = 0; i < 4000; i++) proxy.call();
    }

    static final class Request {
        final byte[] body = new byte[1500];
    }

    static Map<Request, Integer> attempts;

    @LeakCorpus.Answer(
        says = {"static field LeakStores.attempts", "java.util.HashMap with 4,000 entries", "4,000 objects of class LeakStores$Request"},
        never = "4,000 objects of class java.lang.Integer,",
        holder = "LeakStores.attempts",
        shared = true)
    static void keysThatAreLarge(LeakCorpus.Dump dump) {
        attempts = new HashMap<>();
        for (int i = 0; i < 4000; i++) attempts.put(new Request(), i + 1000);
    }

    static final class Box<T> {
        final T value;

        Box(T value) {
            this.value = value;
        }
    }

    static final class Settings {
        final Box<Box<Box<List<Order>>>> nested = new Box<>(new Box<>(new Box<>(new ArrayList<>())));
    }

    static Settings settings;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 4,000 elements", "4,000 objects of class LeakStores$Order", "field LeakStores."},
        tells = {"LeakStores.settings"},
        holder = "LeakStores.settings.nested.value.value.value",
        shared = true)
    static void boxesInBoxes(LeakCorpus.Dump dump) {
        settings = new Settings();
        for (int i = 0; i < 4000; i++) settings.nested.value.value.value.add(new Order());
    }

    static final class ById {
        static Map<Integer, Order> orders;
    }

    static final class ByName {
        static Map<String, Order> orders;
    }

    @LeakCorpus.Answer(
        says = {"4,000 objects of class LeakStores$Order", ".orders"})
    static void ordersOfTwoMaps(LeakCorpus.Dump dump) {
        ById.orders = new HashMap<>();
        ByName.orders = new HashMap<>();
        for (int i = 0; i < 4000; i++) {
            Order order = new Order();
            ById.orders.put(i, order);
            ByName.orders.put("order " + i, order);
        }
    }

    static Map<String, AtomicLong> metrics;

    @LeakCorpus.Answer(
        says = {"static field LeakStores.metrics", "java.util.concurrent.ConcurrentHashMap with 30,000 entries",
            "30,000 objects of class java.lang.String"},
        holder = "LeakStores.metrics",
        shared = true)
    static void metricsByUser(LeakCorpus.Dump dump) {
        metrics = new ConcurrentHashMap<>();
        for (int i = 0; i < 30_000; i++) {
            metrics.computeIfAbsent("http_requests{user=\"" + i + "\",path=\"/orders/" + i + "\"}", it -> new AtomicLong()).incrementAndGet();
        }
    }

    static List<ByteBuffer> frames;

    @LeakCorpus.Answer(
        says = {"static field LeakStores.frames", "java.util.ArrayList with 4,000 elements",
            "4,000 objects of class java.nio.HeapByteBuffer"},
        holder = "LeakStores.frames",
        shared = true)
    static void buffersOnTheHeap(LeakCorpus.Dump dump) {
        frames = new ArrayList<>();
        for (int i = 0; i < 4000; i++) frames.add(ByteBuffer.allocate(1500));
    }

    static List<Map.Entry<String, Order>> history;

    @LeakCorpus.Answer(
        says = {"static field LeakStores.history", "java.util.ArrayList with 4,000 elements",
            "4,000 objects of class java.util.AbstractMap$SimpleEntry", "LeakStores$Order"},
        holder = "LeakStores.history",
        shared = true)
    static void entriesInAList(LeakCorpus.Dump dump) {
        history = new ArrayList<>();
        for (int i = 0; i < 4000; i++) history.add(new AbstractMap.SimpleEntry<>("order " + i, new Order()));
    }

    static List<Runnable> listeners;

    private static Runnable listener(byte[] data) {
        return new Runnable() {
            @Override
            public void run() {
                data[0]++;
            }
        };
    }

    @LeakCorpus.Answer(
        says = {"static field LeakStores.listeners", "java.util.ArrayList with 1,000 elements", "1,000 objects of class LeakStores$1"},
        holder = "LeakStores.listeners",
        shared = true)
    static void anonymousListeners(LeakCorpus.Dump dump) {
        listeners = new ArrayList<>();
        for (int i = 0; i < 1000; i++) listeners.add(listener(new byte[6000]));
    }

    static final class Errors implements Thread.UncaughtExceptionHandler {
        final Deque<Order> failed = new ArrayDeque<>();

        @Override
        public void uncaughtException(Thread thread, Throwable failure) {
            failed.add(new Order());
        }
    }

    @LeakCorpus.Answer(
        says = {"field LeakStores$Errors.failed", "java.util.ArrayDeque with 4,000 elements", "4,000 objects of class LeakStores$Order"},
        tells = "java.lang.Thread.defaultUncaughtExceptionHandler")
    static void handlerOfFailures(LeakCorpus.Dump dump) {
        Errors errors = new Errors();
        Thread.setDefaultUncaughtExceptionHandler(errors);
        for (int i = 0; i < 4000; i++) errors.uncaughtException(null, null);
    }

    @LeakCorpus.Answer(
        says = {"java.io.ByteArrayOutputStream with a byte[]", "static field java.lang.System.out"})
    static void capturedOutput(LeakCorpus.Dump dump) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(all));
        for (int i = 0; i < 6000; i++) {
            all.write(new byte[1000], 0, 1000);
        }
        if (all.size() == 0) System.setOut(before);
    }

    static final class Mail {
        final byte[] templates = new byte[900_000];
    }

    static final class Search {
        final byte[] words = new byte[1_100_000];
    }

    static final class Geo {
        final byte[] places = new byte[1_000_000];
    }

    static final class Tax {
        final byte[] rates = new byte[800_000];
    }

    static final class Fonts {
        final byte[] glyphs = new byte[950_000];
    }

    static final class Registry {
        final Map<Class<?>, Object> services = new HashMap<>();

        void add(Object service) {
            services.put(service.getClass(), service);
        }
    }

    static Registry registry;

    @LeakCorpus.Answer(
        says = {"field LeakStores$Search.words", "one byte[] of 1,100,000 elements"},
        tells = "LeakStores.registry",
        never = "1 object",
        shared = true)
    static void registryOfServices(LeakCorpus.Dump dump) {
        registry = new Registry();
        registry.add(new Mail());
        registry.add(new Search());
        registry.add(new Geo());
        registry.add(new Tax());
        registry.add(new Fonts());
    }

    abstract static class Chain {
        abstract int size();
    }

    static final class Nil extends Chain {
        static final Nil NIL = new Nil();

        @Override
        int size() {
            return 0;
        }
    }

    static final class Cons extends Chain {
        final Object head;
        final Chain tail;

        Cons(Object head, Chain tail) {
            this.head = head;
            this.tail = tail;
        }

        @Override
        int size() {
            return 1 + tail.size();
        }
    }

    static Chain events;

    @LeakCorpus.Answer(
        says = {"static field LeakStores.events", "one LeakStores$Cons", "4,000 objects of class LeakStores$Cons",
            "4,000 objects of class LeakStores$Order"},
        holder = "LeakStores.events",
        shared = true)
    static void chainOfEvents(LeakCorpus.Dump dump) {
        Chain all = Nil.NIL;
        for (int i = 0; i < 4000; i++) all = new Cons(new Order(), all);
        events = all;
    }

    static final class Console {
        final List<String> lines = new ArrayList<>();
    }

    static Console console;

    @LeakCorpus.Answer(
        says = {"field LeakStores$Console.lines", "java.util.ArrayList with 40,000 elements", "40,000 objects of class java.lang.String"},
        tells = "LeakStores.console",
        holder = "LeakStores.console.lines",
        shared = true)
    static void linesOfAConsole(LeakCorpus.Dump dump) {
        console = new Console();
        for (int i = 0; i < 40_000; i++) console.lines.add("request " + i + " of user " + i % 100 + " took " + i + " ms");
    }

    static Map<String, Object> config;

    @LeakCorpus.Answer(
        says = {"static field LeakStores.config", "one java.util.LinkedHashMap with 100 entries"},
        holder = "LeakStores.config",
        shared = true)
    static void parsedJson(LeakCorpus.Dump dump) {
        config = new LinkedHashMap<>();
        for (int i = 0; i < 100; i++) {
            List<Object> rows = new ArrayList<>();
            for (int j = 0; j < 60; j++) {
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("id", i * 1000L + j);
                row.put("name", "name " + i + " " + j);
                row.put("tags", new ArrayList<>(Arrays.asList("a" + i, "b" + j)));
                rows.add(row);
            }
            config.put("table" + i, rows);
        }
    }

    static List<List<Double>> vectors;

    @LeakCorpus.Answer(
        says = {"static field LeakStores.vectors", "java.util.ArrayList with 300 elements",
            "300 objects of class java.util.ArrayList, which hold 150,000 objects of class java.lang.Double"},
        holder = "LeakStores.vectors",
        shared = true)
    static void listsOfNumbers(LeakCorpus.Dump dump) {
        vectors = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            List<Double> vector = new ArrayList<>();
            for (int j = 0; j < 500; j++) vector.add(i + j / 500.0);
            vectors.add(vector);
        }
    }

    static final class Machine {
        final ConcurrentHashMap<Long, AtomicReference<Order>> states = new ConcurrentHashMap<>();
    }

    static Machine machine;

    @LeakCorpus.Answer(
        says = {"field LeakStores$Machine.states", "java.util.concurrent.ConcurrentHashMap with 4,000 entries",
            "4,000 objects of class java.util.concurrent.atomic.AtomicReference", "LeakStores$Order"},
        tells = "LeakStores.machine",
        holder = "LeakStores.machine.states",
        shared = true)
    static void statesByNumber(LeakCorpus.Dump dump) {
        machine = new Machine();
        for (long i = 0; i < 4000; i++) machine.states.put(i, new AtomicReference<>(new Order()));
    }

    static final class Timed<T> {
        final T value;
        final Instant until;

        Timed(T value, Instant until) {
            this.value = value;
            this.until = until;
        }
    }

    static final class TokenStore {
        private final Map<String, Timed<byte[]>> tokens = new ConcurrentHashMap<>();
    }

    static TokenStore tokens;

    @LeakCorpus.Answer(
        says = {"field LeakStores$TokenStore.tokens", "java.util.concurrent.ConcurrentHashMap with 5,000 entries",
            "5,000 objects of class LeakStores$Timed"},
        tells = "LeakStores.tokens",
        holder = "LeakStores.tokens.tokens",
        shared = true)
    static void tokensThatExpired(LeakCorpus.Dump dump) {
        tokens = new TokenStore();
        for (int i = 0; i < 5000; i++) tokens.tokens.put("token " + i, new Timed<>(new byte[800], Instant.now()));
    }

    static final class Event {
        final byte[] payload = new byte[400];
    }

    static final class Account {
        final String owner;
        final List<Event> uncommitted = new ArrayList<>();

        Account(String owner) {
            this.owner = owner;
        }
    }

    static final class Accounts {
        private final Map<String, Account> byOwner = new HashMap<>();
    }

    static Accounts accounts;

    @LeakCorpus.Answer(
        says = {"field LeakStores$Accounts.byOwner", "java.util.HashMap with 300 entries", "300 objects of class LeakStores$Account"},
        tells = {"LeakStores.accounts", "12,000 objects of class LeakStores$Event"},
        holder = "LeakStores.accounts.byOwner",
        shared = true)
    static void eventsOfAccounts(LeakCorpus.Dump dump) {
        accounts = new Accounts();
        for (int i = 0; i < 12_000; i++) {
            accounts.byOwner.computeIfAbsent("owner " + i % 300, Account::new).uncommitted.add(new Event());
        }
    }
}

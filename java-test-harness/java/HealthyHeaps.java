import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Heaps of {@link LeakCorpus} that have no leak. */
final class HealthyHeaps {
    private HealthyHeaps() {}

    @LeakCorpus.Answer(healthy = true)
    static void nothing(LeakCorpus.Dump dump) {}

    @LeakCorpus.Answer(healthy = true)
    static void idlePool(LeakCorpus.Dump dump) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(30);
        for (int i = 0; i < 30; i++) pool.submit(() -> {}).get();
    }

    static final class Bounded extends LinkedHashMap<Integer, byte[]> {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
            return size() > 20;
        }
    }

    static final class Part {
        final List<String> names = new ArrayList<>();
        final Map<Integer, int[]> values = new HashMap<>();
        final Bounded recent = new Bounded();

        Part() {
            for (int i = 0; i < 1000; i++) {
                names.add("name " + i);
                values.put(i, new int[20]);
                recent.put(i, new byte[2000]);
            }
        }
    }

    static Part a, b, c, d, e, f, g, h, i, j, k, l;

    @LeakCorpus.Answer(healthy = true)
    static void manyParts(LeakCorpus.Dump dump) {
        a = new Part();
        b = new Part();
        c = new Part();
        d = new Part();
        e = new Part();
        f = new Part();
        g = new Part();
        h = new Part();
        i = new Part();
        j = new Part();
        k = new Part();
        l = new Part();
    }

    @LeakCorpus.Answer(healthy = true)
    static void garbage(LeakCorpus.Dump dump) {
        for (int n = 0; n < 1000; n++) new Part().names.clear();
    }

    static Map<Integer, byte[]> small;

    @LeakCorpus.Answer(healthy = true)
    static void smallCache(LeakCorpus.Dump dump) {
        small = new Bounded();
        for (int n = 0; n < 1000; n++) small.put(n, new byte[1000]);
    }

    @LeakCorpus.Answer(healthy = true)
    static void boundedCache(LeakCorpus.Dump dump) {
        small = new Bounded();
        for (int n = 0; n < 1000; n++) small.put(n, new byte[12_000]);
    }

    @LeakCorpus.Answer(healthy = true)
    static void texts(LeakCorpus.Dump dump) throws Exception {
        // Classes, resources and formats that a program of any size has used.
        for (int n = 0; n < 200; n++) String.format("%d %s %5.3f %tF", n, "text", 1.5 * n, 86_400_000L * n);
        java.util.regex.Pattern.compile("[a-z]+(\\d+|\\s)*").matcher("a1").matches();
        java.time.ZonedDateTime.now().toString();
        java.security.MessageDigest.getInstance("SHA-256").digest();
        javax.xml.parsers.DocumentBuilderFactory.newInstance().newDocumentBuilder();
        java.net.http.HttpClient.newHttpClient();
    }

    @LeakCorpus.Answer(healthy = true)
    static void manyClasses(LeakCorpus.Dump dump) throws Exception {
        // The classes of the JDK, which a large program has as many of.
        java.nio.file.FileSystem modules = java.nio.file.FileSystems.getFileSystem(java.net.URI.create("jrt:/"));
        java.nio.file.Path base = modules.getPath("/modules/java.base/java");
        List<String> names = new ArrayList<>();
        try (java.util.stream.Stream<java.nio.file.Path> files = java.nio.file.Files.walk(base)) {
            files.map(Object::toString).filter(it -> it.endsWith(".class")).forEach(names::add);
        }
        for (String name : names) {
            String type = name.substring("/modules/java.base/".length(), name.length() - ".class".length());
            Class.forName(type.replace('/', '.'), false, null).getMethods();
        }
    }

    static ExecutorService workers;

    /** Apart from the cases, as some runtimes lack the module. */
    private static final class Web {
        static void serve() throws Exception {
            com.sun.net.httpserver.HttpServer server = com.sun.net.httpserver.HttpServer.create(
                new java.net.InetSocketAddress(java.net.InetAddress.getLoopbackAddress(), 0), 0);
            workers = Executors.newFixedThreadPool(8);
            server.setExecutor(workers);
            server.createContext("/", exchange -> {
                byte[] answer = new byte[2000];
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
                exchange.close();
            });
            server.start();
            java.net.URL url = new java.net.URL("http://127.0.0.1:" + server.getAddress().getPort() + "/orders");
            for (int n = 0; n < 40; n++) {
                try (java.io.InputStream in = url.openStream()) {
                    in.readAllBytes();
                }
            }
        }
    }

    @LeakCorpus.Answer(healthy = true)
    static void webServer(LeakCorpus.Dump dump) throws Exception {
        if (ModuleLayer.boot().findModule("jdk.httpserver").isPresent()) Web.serve();
    }

    static final class Service {
        final Map<String, List<String>> configuration = new HashMap<>();
        final java.util.concurrent.BlockingQueue<byte[]> queue = new java.util.concurrent.ArrayBlockingQueue<>(64);
        final Map<Integer, byte[]> recent = new Bounded();

        Service(int number) {
            for (int n = 0; n < 50; n++) {
                configuration.put("service." + number + ".key" + n, new ArrayList<>(List.of("value " + n, "default")));
                queue.offer(new byte[400]);
                recent.put(n, new byte[1000]);
            }
        }
    }

    static final List<Service> SERVICES = new ArrayList<>();

    @LeakCorpus.Answer(healthy = true)
    static void services(LeakCorpus.Dump dump) {
        for (int n = 0; n < 8; n++) SERVICES.add(new Service(n));
    }

    static final ThreadLocal<byte[]> SCRATCH = ThreadLocal.withInitial(() -> new byte[8192]);

    @LeakCorpus.Answer(healthy = true)
    static void scratchOfThreads(LeakCorpus.Dump dump) throws Exception {
        workers = Executors.newFixedThreadPool(16);
        List<java.util.concurrent.Future<?>> all = new ArrayList<>();
        for (int n = 0; n < 200; n++) all.add(workers.submit(() -> SCRATCH.get()[0]++));
        for (java.util.concurrent.Future<?> one : all) one.get();
    }

    static Map<String, java.lang.ref.SoftReference<byte[]>> thumbnails;

    @LeakCorpus.Answer(healthy = true)
    static void fewThumbnails(LeakCorpus.Dump dump) {
        thumbnails = new HashMap<>();
        for (int n = 0; n < 100; n++) thumbnails.put("image " + n, new java.lang.ref.SoftReference<>(new byte[4000]));
    }

    static final List<java.util.logging.Logger> LOGGERS = new ArrayList<>();

    @LeakCorpus.Answer(healthy = true)
    static void registriesOfALargeProgram(LeakCorpus.Dump dump) throws Exception {
        for (int n = 0; n < 600; n++) LOGGERS.add(java.util.logging.Logger.getLogger("com.example.part" + n % 30 + ".Class" + n));
        javax.management.MBeanServer beans = java.lang.management.ManagementFactory.getPlatformMBeanServer();
        for (int n = 0; n < 40; n++) {
            beans.registerMBean(
                new javax.management.StandardMBean((Runnable) () -> {}, Runnable.class),
                new javax.management.ObjectName("com.example:type=Logging,number=" + n));
        }
        for (int n = 0; n < 60; n++) new java.io.File("/tmp/example-" + n + ".lock").deleteOnExit();
        for (int n = 0; n < 300; n++) System.setProperty("com.example.setting" + n, "value " + n);
    }

    static java.util.concurrent.BlockingQueue<byte[]> buffers;

    @LeakCorpus.Answer(healthy = true)
    static void poolOfBuffersThatIsBounded(LeakCorpus.Dump dump) {
        buffers = new java.util.concurrent.ArrayBlockingQueue<>(24);
        while (buffers.offer(new byte[16_384])) {}
    }

    static final List<ExecutorService> POOLS = new ArrayList<>();

    @LeakCorpus.Answer(healthy = true)
    static void severalIdlePools(LeakCorpus.Dump dump) throws Exception {
        for (int n = 0; n < 6; n++) {
            POOLS.add(Executors.newFixedThreadPool(4));
            java.util.concurrent.ScheduledExecutorService scheduled = Executors.newSingleThreadScheduledExecutor();
            POOLS.add(scheduled);
            scheduled.schedule(() -> {}, 1, java.util.concurrent.TimeUnit.DAYS);
            for (int m = 0; m < 8; m++) POOLS.get(2 * n).submit(() -> SCRATCH.get()[0]++).get();
            new java.util.Timer("timer of part " + n, true);
        }
    }

    /** A table with few entries, of which each part of the program has one. */
    static final class Settings {
        final Object[] keys = new Object[512];
        final Object[] values = new Object[512];
        int size;

        void put(String key, Object value) {
            keys[size] = key;
            values[size++] = value;
        }
    }

    static final Map<String, Settings> SETTINGS = new HashMap<>();

    @LeakCorpus.Answer(healthy = true)
    static void settingsOfParts(LeakCorpus.Dump dump) {
        for (int n = 0; n < 10; n++) {
            Settings settings = new Settings();
            for (int m = 0; m < 100; m++) settings.put("part" + n + ".key" + m, "a value that is set, number " + m);
            SETTINGS.put("part" + n, settings);
        }
    }
}

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.FileHandler;
import java.util.logging.Logger;

/** Programs with one known fault each, and healthy ones. Arguments: the program, and how long it runs in milliseconds. */
public class RecordingCorpus {
    static volatile long sink;
    static long end;
    static long length;

    static boolean goesOn() {
        return System.nanoTime() < end;
    }

    static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static long compute(int rounds) {
        long x = 1;
        for (int i = 0; i < rounds; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            x ^= x >>> 17;
        }
        return x;
    }

    interface Work {
        void run() throws Exception;
    }

    static void threads(int count, Work work) throws Exception {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                try {
                    work.run();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }, "worker-" + i);
            thread.start();
            all.add(thread);
        }
        for (Thread thread : all) {
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        length = Long.parseLong(args[1]) * 1_000_000;
        end = System.nanoTime() + length;
        switch (args[0]) {
            case "burst": Burst.run(); break;
            case "monitor": Monitor.run(); break;
            case "lock": Lock.run(); break;
            case "full-heap": FullHeap.run(); break;
            case "allocation": Allocation.run(); break;
            case "boxing": Boxing.run(); break;
            case "system-gc": SystemGc.run(); break;
            case "safepoints": Safepoints.run(); break;
            case "equal-hashes": EqualHashes.run(); break;
            case "equal-strings": EqualStrings.run(); break;
            case "throws": Throws.run(); break;
            case "parses": Parses.run(); break;
            case "deoptimizes": Deoptimizes.run(); break;
            case "loads": Loads.run(); break;
            case "proxies": Proxies.run(); break;
            case "pool-waits-for-itself": PoolWaits.run(); break;
            case "pool-sleeps": PoolSleeps.run(); break;
            case "pins": Pins.run(); break;
            case "finalizes": Finalizes.run(); break;
            case "logs": Logs.run(); break;
            case "prints": Prints.run(); break;
            case "slow-socket": SlowSocket.run(); break;
            case "slow-file": SlowFile.run(); break;
            case "new-threads": NewThreads.run(); break;
            case "nearly-full": NearlyFull.run(); break;
            case "large-arrays": LargeArrays.run(); break;
            case "asserts": Asserts.run(); break;
            case "splits": Splits.run(); break;
            case "matches": Matches.run(); break;
            case "formats": Formats.run(); break;
            case "reflects": Reflects.run(); break;
            case "healthy-searches": Searches.run(); break;
            case "shared-map": SharedMap.run(); break;
            case "streams": Streams.run(); break;
            case "missing-classes": MissingClasses.run(); break;
            case "direct-buffers": DirectBuffers.run(); break;
            case "healthy-cache": HealthyCache.run(); break;
            case "healthy-streams": HealthyStreams.run(); break;
            case "healthy-files": HealthyFiles.run(); break;
            case "healthy-futures": HealthyFutures.run(); break;
            case "healthy-computes": threads(1, HealthyComputes::work); break;
            case "healthy-waits": HealthyWaits.run(); break;
            case "healthy-maps": HealthyMaps.run(); break;
            case "healthy-pool": HealthyPool.run(); break;
            case "healthy-service": HealthyService.run(); break;
            default: throw new IllegalArgumentException(args[0]);
        }
    }

    /** CPU for a third of the time. */
    static class Burst {
        static void render() {
            long x = sink;
            for (int i = 0; i < 100_000; i++) {
                x = x * 31 + i;
            }
            sink = x;
        }

        static void run() {
            long third = length / 3;
            long from = end - 2 * third;
            while (System.nanoTime() < from) {
                sleep(10);
            }
            while (System.nanoTime() < from + third) {
                render();
            }
            while (goesOn()) {
                sleep(10);
            }
        }
    }

    static class Monitor {
        static final Object LOCK = new StringBuilder();

        static void add() {
            synchronized (LOCK) {
                sleep(15);
            }
        }

        static void run() throws Exception {
            threads(6, () -> {
                while (goesOn()) {
                    add();
                }
            });
        }
    }

    static class Lock {
        static final ReentrantLock LOCK = new ReentrantLock(true);

        static void update() {
            LOCK.lock();
            try {
                sleep(15);
            } finally {
                LOCK.unlock();
            }
        }

        static void run() throws Exception {
            threads(6, () -> {
                while (goesOn()) {
                    update();
                }
            });
        }
    }

    /** Needs -Xmx48m. */
    static class FullHeap {
        static final ArrayDeque<byte[]> CACHE = new ArrayDeque<>();

        static void fill() {
            CACHE.add(new byte[10_000]);
        }

        static void run() {
            long limit = Runtime.getRuntime().maxMemory() * 78 / 100 / 10_016;
            while (goesOn()) {
                fill();
                if (CACHE.size() > limit) {
                    CACHE.poll();
                }
            }
        }
    }

    static class Allocation {
        static void copy() {
            byte[] bytes = new byte[64 << 10];
            sink += bytes.length + bytes[7];
        }

        static void run() {
            while (goesOn()) {
                copy();
            }
        }
    }

    static class Boxing {
        static final Long[] SUMS = new Long[1 << 10];

        static void sum(int at) {
            for (int i = 0; i < 1000; i++) {
                SUMS[(at + i) & 1023] = (long) at * i + 1000;
            }
        }

        static void run() {
            int at = 0;
            while (goesOn()) {
                sum(at++);
            }
        }
    }

    static class SystemGc {
        static void flush() {
            System.gc();
        }

        static void run() {
            while (goesOn()) {
                flush();
                sleep(30);
            }
        }
    }

    /** Needs -XX:+UseParallelGC, whose counted loops have no safepoint. */
    static class Safepoints {
        static int scan(int[] values) {
            int found = 0;
            for (int i = 0; i < values.length; i++) {
                found += (values[i] * 31 + i) % 7 == 3 ? 1 : values[i] / (found | 1);
            }
            return found;
        }

        static void run() throws Exception {
            int[] small = new int[1000];
            for (int i = 0; i < 20_000; i++) {
                sink += scan(small);
            }
            int[] large = new int[60_000_000];
            Thread asks = new Thread(() -> {
                while (goesOn()) {
                    sleep(20);
                    sink += ManagementFactory.getThreadMXBean().dumpAllThreads(true, true).length;
                }
            }, "asks");
            asks.start();
            while (goesOn()) {
                sink += scan(large);
            }
        }
    }

    static class EqualHashes {
        static class Point {
            final int x;
            final int y;

            Point(int x, int y) {
                this.x = x;
                this.y = y;
            }

            @Override
            public int hashCode() {
                return 17;
            }

            @Override
            public boolean equals(Object other) {
                return other instanceof Point && ((Point) other).x == x && ((Point) other).y == y;
            }
        }

        static void index(Map<Point, Integer> map, int i) {
            map.put(new Point(i % 3000, 1), i);
        }

        static void run() {
            Map<Point, Integer> map = new HashMap<>();
            for (int i = 0; goesOn(); i++) {
                index(map, i);
            }
        }
    }

    static class EqualStrings {
        static Integer find(Map<String, Integer> map, String key) {
            return map.get(key);
        }

        static void run() {
            List<String> keys = new ArrayList<>();
            keys.add("");
            for (int round = 0; round < 12; round++) {
                List<String> longer = new ArrayList<>();
                for (String key : keys) {
                    longer.add(key + "Aa");
                    longer.add(key + "BB");
                }
                keys = longer;
            }
            Map<String, Integer> map = new HashMap<>();
            for (String key : keys) {
                map.put(key, 1);
            }
            String[] asked = new String[keys.size()];
            for (int i = 0; i < asked.length; i++) {
                asked[i] = new String(keys.get(i).toCharArray());
            }
            for (int i = 0; goesOn(); i = (i + 1) % asked.length) {
                sink += find(map, asked[i]);
            }
        }
    }

    static class Throws {
        static void check(int i) {
            if (i >= 0) {
                throw new IllegalArgumentException("no " + i);
            }
        }

        static void run() {
            for (int i = 0; goesOn(); i = (i + 1) & 0xffff) {
                try {
                    check(i);
                } catch (IllegalArgumentException e) {
                    sink += e.getMessage().length();
                }
            }
        }
    }

    static class Parses {
        static int parse(String text) {
            try {
                return Integer.parseInt(text);
            } catch (NumberFormatException e) {
                return -1;
            }
        }

        static void run() {
            while (goesOn()) {
                sink += parse("n/a");
            }
        }
    }

    /** Needs -XX:-OmitStackTraceInFastThrow. */
    static class Deoptimizes {
        static int at(int[] values, int i) {
            try {
                return values[i];
            } catch (ArrayIndexOutOfBoundsException e) {
                return 0;
            }
        }

        static void run() {
            int[] values = new int[100];
            for (int i = 0; goesOn(); i = (i + 1) % 200) {
                sink += at(values, i);
            }
        }
    }

    static class Loads {
        static void load(URL[] urls) throws Exception {
            try (URLClassLoader loader = new URLClassLoader(urls, null)) {
                sink += loader.loadClass("RecordingCorpus$EqualHashes$Point").getName().length();
                sink += loader.loadClass("RecordingCorpus$Work").getName().length();
            }
        }

        static void run() throws Exception {
            URL[] urls = {RecordingCorpus.class.getProtectionDomain().getCodeSource().getLocation()};
            while (goesOn()) {
                load(urls);
            }
        }
    }

    static class Proxies {
        static void proxy() {
            ClassLoader loader = new ClassLoader(RecordingCorpus.class.getClassLoader()) { };
            Object made = Proxy.newProxyInstance(loader, new Class<?>[] {Runnable.class}, (self, method, args) -> null);
            ((Runnable) made).run();
        }

        static void run() {
            while (goesOn()) {
                proxy();
            }
        }
    }

    /** Tasks of a pool wait for tasks of the same pool. */
    static class PoolWaits {
        static int total(ExecutorService pool) throws Exception {
            Future<Integer> part = pool.submit(() -> 1);
            try {
                return part.get(200, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                return 0;
            }
        }

        static void run() throws Exception {
            ExecutorService pool = Executors.newFixedThreadPool(4);
            List<Future<Integer>> all = new ArrayList<>();
            for (long i = 0; i < 4 * length / 200_000_000; i++) {
                Callable<Integer> task = () -> total(pool);
                all.add(pool.submit(task));
            }
            while (goesOn()) {
                sleep(50);
            }
            pool.shutdownNow();
        }
    }

    static class PoolSleeps {
        static Void poll() throws InterruptedException {
            Thread.sleep(100);
            return null;
        }

        static void run() throws Exception {
            ExecutorService pool = Executors.newFixedThreadPool(3);
            for (int i = 0; i < 300; i++) {
                pool.submit(PoolSleeps::poll);
            }
            while (goesOn()) {
                sleep(50);
            }
            pool.shutdownNow();
        }
    }

    /** Needs virtual threads that a monitor pins: JDK 21 to 23. */
    static class Pins {
        static void query(Object lock) {
            while (goesOn()) {
                synchronized (lock) {
                    try {
                        Thread.sleep(50);
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }
        }

        static void run() throws Exception {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            for (int i = 0; i < 4; i++) {
                Object lock = new Object();
                start.invoke(null, (Runnable) () -> query(lock));
            }
            while (goesOn()) {
                sleep(50);
            }
        }
    }

    static class Finalizes {
        static class Handle {
            long value = sink;

            @Override
            @SuppressWarnings({"deprecation", "removal"})
            protected void finalize() {
                sink += value;
            }
        }

        static void open() {
            sink += new Handle().value;
        }

        static void run() {
            while (goesOn()) {
                for (int i = 0; i < 1000; i++) {
                    open();
                }
                sleep(1);
            }
        }
    }

    static class Logs {
        static final Logger LOG = Logger.getLogger("corpus");

        static void serve(int i) {
            LOG.info("request " + i);
            sink += compute(200);
        }

        static void run() throws Exception {
            File file = File.createTempFile("corpus", ".log");
            LOG.setUseParentHandlers(false);
            LOG.addHandler(new FileHandler(file.getPath()));
            for (int i = 0; goesOn(); i++) {
                serve(i);
            }
            file.delete();
        }
    }

    static class Prints {
        static void trace(int i) {
            System.out.println("item " + i);
        }

        static void run() throws Exception {
            System.setOut(new PrintStream(new FileOutputStream("/dev/null"), true));
            for (int i = 0; goesOn(); i++) {
                trace(i);
            }
        }
    }

    static class SlowSocket {
        static int ask(Socket socket) throws Exception {
            OutputStream out = socket.getOutputStream();
            out.write(1);
            return socket.getInputStream().read();
        }

        static void run() throws Exception {
            try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
                Thread answers = new Thread(() -> {
                    try (Socket socket = server.accept()) {
                        InputStream in = socket.getInputStream();
                        while (in.read() >= 0) {
                            sleep(100);
                            socket.getOutputStream().write(1);
                        }
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }, "answers");
                answers.setDaemon(true);
                answers.start();
                try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                    while (goesOn()) {
                        sink += ask(socket);
                    }
                }
            }
        }
    }

    /** Reads a pipe, as slow as a disk that is broken. */
    static class SlowFile {
        static int readBlock(FileInputStream in) throws Exception {
            return in.read(new byte[100]);
        }

        static void run() throws Exception {
            File pipe = File.createTempFile("corpus", ".pipe");
            pipe.delete();
            new ProcessBuilder("mkfifo", pipe.getPath()).inheritIO().start().waitFor();
            Thread writes = new Thread(() -> {
                try (FileOutputStream out = new FileOutputStream(pipe)) {
                    while (goesOn()) {
                        sleep(100);
                        out.write(1);
                    }
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }, "writes");
            writes.start();
            try (FileInputStream in = new FileInputStream(pipe)) {
                while (readBlock(in) >= 0) {
                    sink++;
                }
            }
            pipe.delete();
        }
    }

    static class NewThreads {
        static void handle() throws Exception {
            Thread thread = new Thread(() -> sink++);
            thread.start();
            thread.join();
        }

        static void run() throws Exception {
            while (goesOn()) {
                handle();
            }
        }
    }

    /** Needs -Xmx64m: keeps most of the heap, and allocates so little that collections are short. */
    static class NearlyFull {
        static final List<byte[]> KEPT = new ArrayList<>();

        static void load() {
            for (int i = 0; i < 40; i++) {
                byte[] bytes = new byte[5_000];
                sink += bytes[3];
            }
        }

        static void run() {
            long blocks = Runtime.getRuntime().maxMemory() * 80 / 100 / 10_016;
            for (long i = 0; i < blocks; i++) {
                KEPT.add(new byte[10_000]);
            }
            while (goesOn()) {
                load();
                sleep(10);
            }
        }
    }

    /** Needs -Xmx256m, so that regions of G1 have 1 MB. */
    static class LargeArrays {
        static final ArrayDeque<byte[]> LAST = new ArrayDeque<>();

        static byte[] image() {
            return new byte[3_000_000];
        }

        static void run() {
            while (goesOn()) {
                LAST.add(image());
                if (LAST.size() > 30) {
                    LAST.poll();
                }
                sleep(2);
            }
        }
    }

    static class Asserts {
        static void check(int i) {
            if (i % 2 == 0) {
                throw new AssertionError("even: " + i);
            }
        }

        static void run() {
            for (int i = 0; goesOn(); i++) {
                try {
                    check(i);
                } catch (AssertionError e) {
                    sink++;
                }
                sleep(5);
            }
        }
    }

    static class Splits {
        static final String TEXT = String.join(";", java.util.Collections.nCopies(2_000, "column"));

        static void words() {
            for (String word : TEXT.split(";")) {
                sink += word.length();
            }
        }

        static void run() throws Exception {
            threads(2, () -> {
                while (goesOn()) {
                    words();
                }
            });
        }
    }

    /** A pattern for each text. */
    static class Matches {
        static boolean isAddress(String text) {
            return text.matches("[a-z0-9.]+@[a-z]+(\\.[a-z]+)+");
        }

        static void run() {
            for (int i = 0; goesOn(); i++) {
                sink += isAddress("joe" + i % 100 + "@acme.com") ? 1 : 0;
            }
        }
    }

    /** A format for each date. */
    static class Formats {
        static String day(long millis) {
            return new java.text.SimpleDateFormat("yyyy-MM-dd HH:mm").format(new java.util.Date(millis));
        }

        static void run() {
            for (int i = 0; goesOn(); i++) {
                sink += day(i * 1_000_000L).length();
            }
        }
    }

    /** A look-up for each value. */
    static class Reflects {
        public int first, second, third, fourth, fifth, sixth, seventh, eighth;

        static int read(Object row, String name) throws Exception {
            return row.getClass().getField(name).getInt(row);
        }

        static void run() throws Exception {
            Reflects row = new Reflects();
            while (goesOn()) {
                sink += read(row, "first") + read(row, "eighth");
            }
        }
    }

    /** Patterns and formats that are kept. */
    static class Searches {
        static final java.util.regex.Pattern ADDRESS = java.util.regex.Pattern.compile("[a-z0-9.]+@[a-z]+(\\.[a-z]+)+");
        static final java.time.format.DateTimeFormatter DAY = java.time.format.DateTimeFormatter.ofPattern("yyyy-MM-dd");

        static void run() {
            java.util.regex.Matcher matcher = ADDRESS.matcher("");
            String[] texts = {"joe@acme.com", "none", "joe.of.acme@shop.acme.com"};
            for (int i = 0; goesOn(); i++) {
                sink += matcher.reset(texts[i % 3]).matches() ? 1 : 0;
                if (i % 10_000 == 0) {
                    sink += DAY.format(java.time.LocalDate.ofEpochDay(i % 10_000)).length();
                }
            }
        }
    }

    /** The lock is that of a class of the JDK. */
    static class SharedMap {
        static final Map<Integer, Long> COUNTS = java.util.Collections.synchronizedMap(new HashMap<>());

        static void count(int i) {
            COUNTS.compute(i % 10, (key, value) -> {
                sleep(25);
                return value == null ? 1 : value + 1;
            });
        }

        static void run() throws Exception {
            threads(6, () -> {
                for (int i = 0; goesOn(); i++) {
                    count(i);
                }
            });
        }
    }

    static class Streams {
        static final List<Integer> PRICES = new ArrayList<>();

        static void total() {
            sink += PRICES.stream().map(price -> price * 31 + 1000).reduce(0, Integer::sum);
        }

        static void run() throws Exception {
            for (int i = 0; i < 10_000; i++) {
                PRICES.add(i * 1000);
            }
            threads(2, () -> {
                while (goesOn()) {
                    total();
                }
            });
        }
    }

    static class MissingClasses {
        static void find(int i) {
            try {
                Class.forName("com.acme.plugin.Missing" + i % 50);
            } catch (ClassNotFoundException e) {
                sink++;
            }
        }

        static void run() {
            for (int i = 0; goesOn(); i++) {
                find(i);
            }
        }
    }

    /** Needs -XX:MaxDirectMemorySize=16m: buffers that are not freed until the JDK asks for a collection. */
    static class DirectBuffers {
        static void send() {
            java.nio.ByteBuffer buffer = java.nio.ByteBuffer.allocateDirect(4 << 20);
            sink += buffer.get(5);
        }

        static void run() {
            while (goesOn()) {
                send();
            }
        }
    }

    /** Needs -Xmx256m: keeps a part of the heap. */
    static class HealthyCache {
        static final ArrayDeque<byte[]> CACHE = new ArrayDeque<>();

        static void run() {
            while (goesOn()) {
                for (int i = 0; i < 10; i++) {
                    CACHE.add(new byte[10_000]);
                }
                while (CACHE.size() > 2_000) {
                    CACHE.poll();
                }
                sink += compute(20_000);
                sleep(10);
            }
        }
    }

    static class HealthyStreams {
        static void run() {
            while (goesOn()) {
                sink += java.util.stream.IntStream.range(0, 1_000).filter(it -> it % 3 == 0).mapToObj(it -> "a" + it)
                        .mapToInt(String::length).sum();
                sink += compute(400_000);
            }
        }
    }

    static class HealthyFiles {
        static void run() throws Exception {
            File file = File.createTempFile("healthy", ".txt");
            while (goesOn()) {
                java.nio.file.Files.write(file.toPath(), new byte[200_000]);
                sink += java.nio.file.Files.readAllBytes(file.toPath()).length + compute(300_000);
                sleep(5);
            }
            file.delete();
        }
    }

    static class HealthyFutures {
        static void run() throws Exception {
            ExecutorService pool = Executors.newFixedThreadPool(3);
            while (goesOn()) {
                sink += java.util.concurrent.CompletableFuture.supplyAsync(() -> compute(50_000), pool)
                        .thenCombine(java.util.concurrent.CompletableFuture.supplyAsync(() -> compute(50_000), pool), Long::sum)
                        .get();
            }
            pool.shutdown();
        }
    }

    static class HealthyComputes {
        static void work() {
            while (goesOn()) {
                sink += compute(100_000);
            }
        }
    }

    static class HealthyWaits {
        static void run() {
            while (goesOn()) {
                sink += compute(1000);
                sleep(20);
            }
        }
    }

    static class HealthyMaps {
        static void run() {
            Map<String, Integer> map = new HashMap<>();
            String[] keys = new String[10_000];
            for (int i = 0; i < keys.length; i++) {
                keys[i] = "order-" + i;
                map.put(keys[i], i);
            }
            for (int i = 0; goesOn(); i = (i + 7919) % keys.length) {
                sink += map.get(keys[i]) + compute(50);
            }
        }
    }

    /** A pool whose threads mostly wait for work. */
    static class HealthyPool {
        static void run() throws Exception {
            ScheduledExecutorService pool = Executors.newScheduledThreadPool(3);
            for (int i = 0; i < 3; i++) {
                pool.scheduleAtFixedRate(() -> sink += compute(200_000), 5, 10, TimeUnit.MILLISECONDS);
            }
            while (goesOn()) {
                sleep(50);
            }
            pool.shutdownNow();
        }
    }

    /** Threads with some allocation, short locks, a few exceptions, a client and a server. */
    static class HealthyService {
        static final Map<Integer, String> ORDERS = new HashMap<>();

        static void order(int i) {
            synchronized (ORDERS) {
                ORDERS.put(i % 1000, "order " + i);
            }
            if (i % 500 == 0) {
                try {
                    Integer.parseInt("x");
                } catch (NumberFormatException e) {
                    sink++;
                }
            }
            sink += compute(20_000);
        }

        static void run() throws Exception {
            try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
                Thread answers = new Thread(() -> {
                    try (Socket socket = server.accept()) {
                        InputStream in = socket.getInputStream();
                        while (in.read() >= 0) {
                            socket.getOutputStream().write(1);
                        }
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }, "answers");
                answers.setDaemon(true);
                answers.start();
                try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                    for (int i = 0; goesOn(); i++) {
                        socket.getOutputStream().write(1);
                        sink += socket.getInputStream().read();
                        order(i);
                    }
                }
            }
        }
    }
}

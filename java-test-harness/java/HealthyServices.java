import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Heaps of {@link LeakCorpus} of services that have what they need, and no leak. */
final class HealthyServices {
    private HealthyServices() {}

    static final class Statement {
        final String sql;
        final byte[] plan = new byte[500];

        Statement(String sql) {
            this.sql = sql;
        }
    }

    static final class Connection {
        final byte[] input = new byte[16_384];
        final byte[] output = new byte[16_384];
        final Map<String, Statement> prepared = new LinkedHashMap<>();
    }

    static final class Pool {
        final List<Connection> all = new ArrayList<>();
        final Deque<Connection> idle = new ArrayDeque<>();
    }

    static final class Session {
        final String id;
        final Map<String, Object> attributes = new ConcurrentHashMap<>();

        Session(String id) {
            this.id = id;
        }
    }

    static Pool pool;
    static Map<String, Session> sessions;
    static Map<String, AtomicLong> meters;
    static Map<String, String> settings;
    static Object[] ring;

    @LeakCorpus.Answer(healthy = true)
    static void poolOfConnections(LeakCorpus.Dump dump) {
        pool = new Pool();
        for (int i = 0; i < 10; i++) {
            Connection connection = new Connection();
            for (int j = 0; j < 20; j++) connection.prepared.put("select " + j, new Statement("select " + j));
            pool.all.add(connection);
            pool.idle.add(connection);
        }
    }

    @LeakCorpus.Answer(healthy = true)
    static void sessionsOfAnHour(LeakCorpus.Dump dump) {
        sessions = new ConcurrentHashMap<>();
        for (int i = 0; i < 5000; i++) {
            Session session = new Session("session-" + i);
            session.attributes.put("cart", new byte[2000]);
            session.attributes.put("user", "user-" + i);
            sessions.put(session.id, session);
            sessions.remove("session-" + (i - 150));
        }
    }

    @LeakCorpus.Answer(healthy = true)
    static void serviceOfManyParts(LeakCorpus.Dump dump) throws Exception {
        poolOfConnections(dump);
        sessionsOfAnHour(dump);
        meters = new ConcurrentHashMap<>();
        for (int i = 0; i < 800; i++) meters.put("http.requests{uri=/orders/" + i % 40 + ",status=" + i % 20 + "}", new AtomicLong());
        settings = new TreeMap<>();
        for (int i = 0; i < 1000; i++) settings.put("service.part" + i % 20 + ".setting" + i, "value " + i);
        ring = new Object[1024];
        Arrays.setAll(ring, i -> new byte[200]);
    }

    static ScheduledExecutorService scheduler;
    static List<ByteBuffer> buffers;

    @LeakCorpus.Answer(healthy = true)
    static void timersAndPeriodicTasks(LeakCorpus.Dump dump) throws Exception {
        scheduler = Executors.newScheduledThreadPool(4);
        Map<Integer, byte[]> last = new HashMap<>();
        for (int i = 0; i < 30; i++) {
            int number = i;
            scheduler.scheduleAtFixedRate(() -> {
                synchronized (last) {
                    last.put(number, new byte[2000]);
                }
            }, 0, 1, TimeUnit.HOURS);
        }
        ForkJoinPool.commonPool().submit(() -> Arrays.asList(3, 1, 2).parallelStream().sorted().count()).get();
        buffers = new ArrayList<>();
        for (int i = 0; i < 16; i++) buffers.add(ByteBuffer.allocateDirect(65_536));
        Thread.sleep(300);
    }

    private static void work(CountDownLatch ready, CountDownLatch never) {
        byte[] buffer = new byte[48_000];
        StringBuilder line = new StringBuilder("line");
        ready.countDown();
        try {
            never.await();
        } catch (InterruptedException e) {
            buffer[0]++;
            line.append(buffer[0]);
        }
    }

    @LeakCorpus.Answer(healthy = true)
    static void workersThatAreBusy(LeakCorpus.Dump dump) throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(8);
        CountDownLatch ready = new CountDownLatch(8);
        CountDownLatch never = new CountDownLatch(1);
        for (int i = 0; i < 8; i++) workers.execute(() -> work(ready, never));
        ready.await();
        Thread.sleep(100);
        dump.write();
    }

    static final class Module {
        final Map<String, byte[]> cache = new HashMap<>();
        final List<String> names = new ArrayList<>();

        Module(int number) {
            for (int i = 0; i < 200; i++) {
                cache.put("key " + i, new byte[3000 + 100 * number]);
                names.add("name of module " + number + ", number " + i);
            }
        }
    }

    /** A dozen modules, each in a class of its own, and none stands out. */
    static final class Modules {
        static final Module A = new Module(0);
        static final Module B = new Module(1);
        static final Module C = new Module(2);
        static final Module D = new Module(3);
    }

    static final class MoreModules {
        static final Module E = new Module(4);
        static final Module F = new Module(5);
        static final Module G = new Module(6);
        static final Module H = new Module(7);
    }

    static final class OtherModules {
        static final Module I = new Module(0);
        static final Module J = new Module(1);
        static final Module K = new Module(2);
        static final Module L = new Module(3);
    }

    @LeakCorpus.Answer(healthy = true)
    static void modulesOfOneSize(LeakCorpus.Dump dump) {
        Modules.A.names.size();
        MoreModules.E.names.size();
        OtherModules.I.names.size();
    }
}

import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import javax.management.ObjectName;

/** Heaps of {@link LeakCorpus} in which the JDK holds what the program has registered, and loaders. */
final class LeakLives {
    private LeakLives() {}

    /** Loads its own copy of the plugin. */
    static final class PluginLoader extends ClassLoader {
        PluginLoader() {
            super(LeakLives.class.getClassLoader());
        }

        Object plugin() throws Exception {
            try (InputStream in = LeakLives.class.getResourceAsStream("LeakLives$Plugin.class")) {
                byte[] bytes = new byte[in.available()];
                new java.io.DataInputStream(in).readFully(bytes);
                Class<?> plugin = defineClass("LeakLives$Plugin", bytes, 0, bytes.length);
                return plugin.getConstructor().newInstance();
            }
        }
    }

    /** A class with much static data. */
    public static class Plugin implements Runnable {
        static final byte[] CONFIGURATION = new byte[100_000];

        @Override
        public void run() {
            CONFIGURATION[0]++;
        }
    }

    static Map<String, Object> hooks;

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 80 entries", "field LeakLives.hooks"},
        tells = {"80 class loaders", "LeakLives$PluginLoader"},
        holder = "LeakLives.hooks")
    static void loaders(LeakCorpus.Dump dump) throws Exception {
        hooks = new HashMap<>();
        for (int i = 0; i < 80; i++) hooks.put("deployment " + i, new PluginLoader().plugin());
    }

    static final class Cleanup extends Thread {
        final byte[] data = new byte[80_000];
    }

    @LeakCorpus.Answer(
        says = {"java.util.IdentityHashMap with", "shutdown hooks (java.lang.ApplicationShutdownHooks.hooks)"},
        tells = "100 objects of class LeakLives$Cleanup")
    static void shutdownHooks(LeakCorpus.Dump dump) {
        for (int i = 0; i < 100; i++) Runtime.getRuntime().addShutdownHook(new Cleanup());
    }

    /** The interface of a bean. */
    public interface StatisticsMBean {
        int getSize();
    }

    /** A bean that is never unregistered. */
    public static final class Statistics implements StatisticsMBean {
        final byte[] data = new byte[80_000];

        @Override
        public int getSize() {
            return data.length;
        }
    }

    @LeakCorpus.Answer(
        says = {"with 100 entries", "java.lang.management.ManagementFactory"},
        tells = {"LeakLives$Statistics"})
    static void beans(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 100; i++) {
            ObjectName name = new ObjectName("leak:type=Statistics,number=" + i);
            ManagementFactory.getPlatformMBeanServer().registerMBean(new Statistics(), name);
        }
    }

    static final class Recent extends Handler {
        final byte[] buffer = new byte[80_000];

        @Override
        public void publish(LogRecord record) {}

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    static final Logger LOGGER = Logger.getLogger("leak");

    @LeakCorpus.Answer(
        says = {"CopyOnWriteArrayList with 100 elements", "LeakLives.LOGGER"},
        tells = "100 objects of class LeakLives$Recent")
    static void handlers(LeakCorpus.Dump dump) {
        for (int i = 0; i < 100; i++) LOGGER.addHandler(new Recent());
    }

    static List<ByteBuffer> heads;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 100 elements", "field LeakLives.heads"},
        tells = "100 objects of class java.nio.HeapByteBuffer",
        holder = "LeakLives.heads")
    static void slicesOfBuffers(LeakCorpus.Dump dump) {
        heads = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            ByteBuffer whole = ByteBuffer.allocate(80_000);
            whole.limit(8);
            heads.add(whole.slice());
        }
    }

    static List<Object> proxies;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 1,500 elements", "field LeakLives.proxies"},
        tells = {"1,500 objects of class", "$Proxy*"},
        holder = "LeakLives.proxies")
    static void generatedClasses(LeakCorpus.Dump dump) {
        proxies = new ArrayList<>();
        for (int i = 0; i < 1500; i++) {
            ClassLoader loader = new ClassLoader(LeakLives.class.getClassLoader()) {};
            Class<?>[] interfaces = {Runnable.class};
            proxies.add(Proxy.newProxyInstance(loader, interfaces, (proxy, method, args) -> null));
        }
    }

    static final class Request {
        final byte[] body = new byte[8000];
        final Request parent;

        Request(Request parent) {
            this.parent = parent;
        }
    }

    static Object current;

    @LeakCorpus.Answer(
        says = {"one LeakLives$Request, filled with 1,000", "field LeakLives.current"},
        tells = "1,000 objects of class LeakLives$Request",
        holder = "LeakLives.current")
    static void parents(LeakCorpus.Dump dump) {
        Request last = null;
        for (int i = 0; i < 1000; i++) last = new Request(last);
        current = last;
    }

    @LeakCorpus.Answer(
        says = {"one LeakLives$Request[] of 1,000 elements", "field LeakLives.current"},
        tells = "1,000 objects of class LeakLives$Request",
        holder = "LeakLives.current")
    static void array(LeakCorpus.Dump dump) {
        Request[] all = new Request[1000];
        for (int i = 0; i < all.length; i++) all[i] = new Request(null);
        current = all;
    }
}

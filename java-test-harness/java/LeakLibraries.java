import java.lang.reflect.Method;
import java.util.concurrent.Executor;

/** Heaps of {@link LeakCorpus} in which a collection of a library holds all. Their answers were written before the first report. */
final class LeakLibraries {
    private LeakLibraries() {}

    static final class Session {
        final byte[] data = new byte[2000];
    }

    private static Object made(String type, String method, Object... args) throws Exception {
        return called(Class.forName(type), null, method, args);
    }

    private static Object called(Class<?> type, Object on, String method, Object... args) throws Exception {
        for (Method it : type.getMethods()) {
            if (it.getName().equals(method) && it.getParameterCount() == args.length) return it.invoke(on, args);
        }
        throw new NoSuchMethodException(method);
    }

    static Object multimap;

    @LeakCorpus.Answer(
        says = {"static field LeakLibraries.multimap", "com.google.common.collect.ArrayListMultimap",
            "50 objects of class java.util.ArrayList, which hold 3,000 objects of class LeakLibraries$Session"},
        library = "guava.jar",
        holder = "LeakLibraries.multimap")
    static void multimapOfGuava(LeakCorpus.Dump dump) throws Exception {
        multimap = made("com.google.common.collect.ArrayListMultimap", "create");
        Class<?> type = Class.forName("com.google.common.collect.Multimap");
        for (int i = 0; i < 3000; i++) called(type, multimap, "put", "user " + i % 50, new Session());
    }

    static Object byName;

    @LeakCorpus.Answer(
        says = {"static field LeakLibraries.byName", "com.google.common.collect.HashBiMap with 3,000",
            "3,000 objects of class LeakLibraries$Session"},
        library = "guava.jar",
        holder = "LeakLibraries.byName")
    static void biMapOfGuava(LeakCorpus.Dump dump) throws Exception {
        byName = made("com.google.common.collect.HashBiMap", "create");
        Class<?> type = Class.forName("com.google.common.collect.BiMap");
        for (int i = 0; i < 3000; i++) called(type, byName, "put", "user " + i, new Session());
    }

    static Object future;

    @LeakCorpus.Answer(
        says = {"static field LeakLibraries.future", "com.google.common.util.concurrent.SettableFuture",
            "3,000 objects of class com.google.common.util.concurrent.AbstractFuture$Listener", "LeakLibraries$Session"},
        library = "guava.jar",
        holder = "LeakLibraries.future")
    static void listenersOfAFutureOfGuava(LeakCorpus.Dump dump) throws Exception {
        future = made("com.google.common.util.concurrent.SettableFuture", "create");
        Class<?> type = Class.forName("com.google.common.util.concurrent.ListenableFuture");
        Executor executor = Runnable::run;
        for (int i = 0; i < 3000; i++) {
            Session session = new Session();
            Runnable listener = () -> session.data[0]++;
            called(type, future, "addListener", listener, executor);
        }
    }

    static Object table;

    @LeakCorpus.Answer(
        says = {"static field LeakLibraries.table", "com.google.common.collect.HashBasedTable", "LeakLibraries$Session"},
        library = "guava.jar",
        holder = "LeakLibraries.table")
    static void tableOfGuava(LeakCorpus.Dump dump) throws Exception {
        table = made("com.google.common.collect.HashBasedTable", "create");
        Class<?> type = Class.forName("com.google.common.collect.Table");
        for (int i = 0; i < 3000; i++) called(type, table, "put", "row " + i % 60, "column " + i / 60, new Session());
    }

    static Object texts;

    @LeakCorpus.Answer(
        says = {"static field LeakLibraries.texts", "com.google.common.collect", "30,000 objects of class java.lang.String"},
        library = "guava.jar",
        holder = "LeakLibraries.texts")
    static void internerOfGuava(LeakCorpus.Dump dump) throws Exception {
        texts = made("com.google.common.collect.Interners", "newStrongInterner");
        Class<?> type = Class.forName("com.google.common.collect.Interner");
        for (int i = 0; i < 30_000; i++) called(type, texts, "intern", "a name that was read from a document, number " + i);
    }

    static Object recent;

    @LeakCorpus.Answer(
        says = {"static field LeakLibraries.recent", "org.apache.commons.collections.map.LRUMap with 3,000",
            "3,000 objects of class LeakLibraries$Session"},
        library = "commons-collections3.jar",
        holder = "LeakLibraries.recent")
    static void lruMapOfCommons(LeakCorpus.Dump dump) throws Exception {
        recent = Class.forName("org.apache.commons.collections.map.LRUMap").getConstructor(int.class).newInstance(20_000);
        Class<?> type = Class.forName("java.util.Map");
        for (int i = 0; i < 3000; i++) called(type, recent, "put", "user " + i, new Session());
    }

    static Object multi;

    @LeakCorpus.Answer(
        says = {"static field LeakLibraries.multi", "org.apache.commons.collections.map.MultiValueMap",
            "50 objects of class java.util.ArrayList, which hold 3,000 objects of class LeakLibraries$Session"},
        library = "commons-collections3.jar",
        holder = "LeakLibraries.multi")
    static void multiValueMapOfCommons(LeakCorpus.Dump dump) throws Exception {
        multi = Class.forName("org.apache.commons.collections.map.MultiValueMap").getConstructor().newInstance();
        Class<?> type = Class.forName("java.util.Map");
        for (int i = 0; i < 3000; i++) called(type, multi, "put", "user " + i % 50, new Session());
    }
}

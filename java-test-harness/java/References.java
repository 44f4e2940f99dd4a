import java.lang.management.ManagementFactory;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Sessions in a WeakHashMap whose values refer to their keys, 2 MB, and a cache of soft references with 3 MB; then a dump
 * into a file.
 */
public class References {
    static class Key {}

    static class Session {
        final byte[] data = new byte[10_000];
        Key owner;
    }

    static final Map<Key, Session> SESSIONS = new WeakHashMap<>();
    static SoftReference<List<byte[]>> cache;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 200; i++) {
            Session session = new Session();
            session.owner = new Key();
            SESSIONS.put(session.owner, session);
        }
        List<byte[]> list = new ArrayList<>();
        for (int i = 0; i < 300; i++) list.add(new byte[10_000]);
        cache = new SoftReference<>(list);
        list = null;
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(args[0], true);
    }
}

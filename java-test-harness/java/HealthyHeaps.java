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
}

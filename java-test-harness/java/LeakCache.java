import java.util.LinkedHashMap;
import java.util.Map;

/** A service with a cache that only grows. */
public class LeakCache {
    static final class Result {
        final long[] values = new long[500];
    }

    static final class ResultCache {
        private final Map<Integer, Result> results = new LinkedHashMap<>();

        Result get(int key) {
            return results.computeIfAbsent(key, k -> new Result());
        }
    }

    static final class Service {
        final ResultCache cache = new ResultCache();
    }

    static Service service = new Service();

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 4000; i++) {
            service.cache.get(i);
        }
        HeapDump.write(args[0]);
    }
}

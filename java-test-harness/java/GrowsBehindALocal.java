import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes a dump, doubles the entries of a map in a static field, and writes another from a method that has the map in a local
 * variable. The arguments are the files and the number of entries.
 */
public class GrowsBehindALocal {
    static final class Holder {
        final Map<Integer, long[]> entries = new HashMap<>();
    }

    static final List<Holder> HOLDERS = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[2]);
        HOLDERS.add(new Holder());
        fill(count);
        HeapDump.write(arguments[0]);
        fill(2 * count);
        dumpWith(arguments[1], HOLDERS.get(0).entries);
    }

    static void fill(int count) {
        Map<Integer, long[]> entries = HOLDERS.get(0).entries;
        for (int i = entries.size(); i < count; i++) entries.put(i, new long[10]);
    }

    static void dumpWith(String file, Map<Integer, long[]> local) throws Exception {
        HeapDump.write(file);
        System.out.println(local.size());
    }
}

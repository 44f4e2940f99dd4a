import java.util.ArrayList;
import java.util.List;

/** Keeps memory until there is none, in a thread of its own; the VM writes a dump with -XX:+HeapDumpOnOutOfMemoryError. */
public class RunsOut {
    static final List<long[]> ROWS = new ArrayList<>();

    static void load() {
        while (true) ROWS.add(new long[100_000]);
    }

    public static void main(String[] args) throws Exception {
        Thread loader = new Thread(RunsOut::load, "report-loader");
        loader.start();
        loader.join();
    }
}

import java.util.concurrent.LinkedBlockingQueue;

/** A queue whose worker is too slow, and half as much in arrays of another field of the same class. */
public class LeakQueue {
    static final class Task {
        final byte[] payload = new byte[84];
    }

    static final LinkedBlockingQueue<Task> tasks = new LinkedBlockingQueue<>();
    static final long[][] buffers = new long[100][];

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 100_000; i++) tasks.add(new Task());
        for (int i = 0; i < 100; i++) buffers[i] = new long[10_000];
        HeapDump.write(args[0]);
    }
}

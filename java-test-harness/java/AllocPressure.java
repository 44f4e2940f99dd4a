/**
 * Keeps the garbage collector busy: threads "allocator-0", ... fill and refill a working set with
 * arrays and linked objects of all sizes. Arguments: seconds (default 2), threads (default 2).
 * Exact: nothing; prints "objects=", how many were allocated at least.
 */
public class AllocPressure {
    static class Node {
        final Node next;
        final byte[] payload;

        Node(Node next, byte[] payload) {
            this.next = next;
            this.payload = payload;
        }
    }

    static volatile Object escape;

    static long allocate(long end, int seed) {
        Node[] kept = new Node[4096];
        long objects = 0;
        int random = seed;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1000; i++) {
                random = random * 1_103_515_245 + 12_345;
                int slot = (random >>> 8) & 4095;
                Node next = kept[slot];
                // Chains of at most four, so that the working set stays below some 100 MB.
                if (next != null && next.next != null && next.next.next != null) next = null;
                kept[slot] = new Node(next, new byte[(random >>> 20) & 4095]);
                escape = Integer.toString(random);
                objects += 4;
            }
        }
        return objects;
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + (args.length > 0 ? Long.parseLong(args[0]) : 2) * 1_000_000_000L;
        Thread[] threads = new Thread[args.length > 1 ? Integer.parseInt(args[1]) : 2];
        long[] objects = new long[threads.length];
        for (int i = 0; i < threads.length; i++) {
            int index = i;
            threads[i] = new Thread(() -> objects[index] = allocate(end, index + 1), "allocator-" + i);
            threads[i].start();
        }
        long sum = 0;
        for (int i = 0; i < threads.length; i++) {
            threads[i].join();
            sum += objects[i];
        }
        System.out.println("objects=" + sum);
    }
}

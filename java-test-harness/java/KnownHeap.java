import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Dumps its own heap to the file that its argument names, with threads of known states and strings
 * of known contents alive: 1,000 strings "known duplicate" with an array each, 100 more that share
 * the array of one, 50 strings of six Greek letters, one string of 5,000 characters; the threads
 * "known sleeper", "known waiter", "known parker" (a daemon), "known blocked", and "known runner", in
 * whose method hold() an array of 1,234 bytes and the string "known local" are local variables.
 */
public class KnownHeap {
    static final Object lock = new Object();
    static final CountDownLatch running = new CountDownLatch(1);
    static volatile boolean end;
    static volatile long sink;

    static void hold(byte[] local, String text) {
        running.countDown();
        while (!end) sink++;
        if (local.length + text.length() == 0) throw new IllegalStateException();
    }

    static Thread start(String name, boolean daemon, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(daemon);
        thread.start();
        return thread;
    }

    static void await(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state) Thread.sleep(1);
    }

    static void sleep() {
        try {
            Thread.sleep(60_000);
        } catch (InterruptedException e) {
            // The end.
        }
    }

    static void waitForLock() {
        Object own = new Object();
        synchronized (own) {
            try {
                own.wait();
            } catch (InterruptedException e) {
                // The end.
            }
        }
    }

    static void block() {
        synchronized (lock) {
            sink++;
        }
    }

    public static void main(String[] args) throws Exception {
        Object[] kept = new Object[1151];
        for (int i = 0; i < 1000; i++) kept[i] = new String("known duplicate".toCharArray());
        for (int i = 1000; i < 1100; i++) kept[i] = new String((String) kept[0]);
        for (int i = 1100; i < 1150; i++) {
            kept[i] = new String(new char[] {'\u03b1', '\u03b2', '\u03b3', '\u03b4', '\u03b5', '\u03b6'});
        }
        char[] many = new char[5000];
        java.util.Arrays.fill(many, 'q');
        kept[1150] = new String(many);
        Thread sleeper = start("known sleeper", false, KnownHeap::sleep);
        Thread waiter = start("known waiter", false, KnownHeap::waitForLock);
        Thread parker = start("known parker", true, () -> {
            while (!end) LockSupport.park();
        });
        Thread runner = start("known runner", false, () -> hold(new byte[1234], new String("known local")));
        running.await();
        synchronized (lock) {
            Thread blocked = start("known blocked", false, KnownHeap::block);
            await(sleeper, Thread.State.TIMED_WAITING);
            await(waiter, Thread.State.WAITING);
            await(parker, Thread.State.WAITING);
            await(blocked, Thread.State.BLOCKED);
            ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
                    .dumpHeap(args[0], true);
        }
        end = true;
        sleeper.interrupt();
        waiter.interrupt();
        LockSupport.unpark(parker);
        if (kept[0] == null) throw new IllegalStateException();
    }
}

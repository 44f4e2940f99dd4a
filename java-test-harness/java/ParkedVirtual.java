import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * 50 virtual threads that are parked with 100,000 bytes each in a local variable; then a dump into a file. Without a file "parked"
 * is printed, and the threads stay for a minute.
 */
public class ParkedVirtual {
    static byte sum;

    static void park(CountDownLatch ready) {
        byte[] local = new byte[100_000];
        ready.countDown();
        while (sum >= 0) LockSupport.park();
        sum = local[1];
    }

    public static void main(String[] args) throws Exception {
        // Compiled for releases without them.
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        CountDownLatch ready = new CountDownLatch(50);
        Thread[] threads = new Thread[50];
        for (int i = 0; i < 50; i++) threads[i] = (Thread) start.invoke(null, (Runnable) () -> park(ready));
        ready.await();
        for (Thread thread : threads) while (thread.getState() != Thread.State.WAITING) Thread.sleep(1);
        if (args.length == 0) {
            System.out.println("parked");
            Thread.sleep(60_000);
            return;
        }
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(args[0], true);
        Runtime.getRuntime().halt(0);
    }
}

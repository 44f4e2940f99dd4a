import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that are parked, and nothing else. Arguments: threads (default 2000), seconds (default
 * 20). Prints "ready" when all of them are parked.
 */
public class Parked {
    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 2000;
        int seconds = args.length > 1 ? Integer.parseInt(args[1]) : 20;
        CountDownLatch begun = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                begun.countDown();
                while (true) LockSupport.park();
            }, "parked-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        begun.await();
        System.out.println("ready");
        Thread.sleep(seconds * 1000L);
    }
}

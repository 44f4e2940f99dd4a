import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A pool whose threads keep what a task has left in a ThreadLocal. */
public class LeakThreadLocal {
    static final class RequestContext {
        final byte[] buffer = new byte[2_000_000];
    }

    static final ThreadLocal<RequestContext> CONTEXT = new ThreadLocal<>();

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        CountDownLatch done = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) {
            pool.execute(() -> {
                CONTEXT.set(new RequestContext());
                done.countDown();
                try {
                    done.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
        done.await();
        HeapDump.write(args[0]);
        pool.shutdownNow();
    }
}

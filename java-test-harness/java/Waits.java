import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits in all ways that are not for a lock, 50 ms each: methods of this class are in no table of contention. A condition is
 * signalled while its lock is taken, so that the thread has to wait for that as well. Prints "done".
 */
public class Waits {
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Condition CONDITION = LOCK.newCondition();
    static final Object MONITOR = new Object();

    static void condition() throws Exception {
        LOCK.lock();
        try {
            CONDITION.await(50, TimeUnit.MILLISECONDS);
        } finally {
            LOCK.unlock();
        }
    }

    static void signalled() throws Exception {
        Thread waiter = new Thread(() -> {
            LOCK.lock();
            try {
                CONDITION.awaitUninterruptibly();
            } finally {
                LOCK.unlock();
            }
        });
        waiter.start();
        while (waiter.getState() != Thread.State.WAITING) Thread.sleep(1);
        Thread.sleep(50);
        LOCK.lock();
        try {
            CONDITION.signalAll();
            Thread.sleep(50);
        } finally {
            LOCK.unlock();
        }
        waiter.join();
    }

    static void objectWait() throws Exception {
        synchronized (MONITOR) {
            MONITOR.wait(50);
        }
    }

    static void queues() throws Exception {
        new LinkedBlockingQueue<String>().poll(50, TimeUnit.MILLISECONDS);
        new ArrayBlockingQueue<String>(1).poll(50, TimeUnit.MILLISECONDS);
        new SynchronousQueue<String>().poll(50, TimeUnit.MILLISECONDS);
        new SynchronousQueue<String>(true).offer("", 50, TimeUnit.MILLISECONDS);
    }

    static void futures() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<?> future = pool.submit(() -> sleep(50));
        future.get();
        CompletableFuture.runAsync(() -> sleep(50), pool).get();
        sleep(50);
        pool.submit(() -> sleep(50));
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
    }

    static void idlePools() throws Exception {
        ThreadPoolExecutor cached = new ThreadPoolExecutor(
                0, 4, 50, TimeUnit.MILLISECONDS, new SynchronousQueue<>());
        cached.submit(() -> sleep(1)).get();
        Executors.newScheduledThreadPool(1, Waits::daemon).schedule(() -> sleep(1), 50, TimeUnit.MILLISECONDS).get();
        ForkJoinPool forkJoin = new ForkJoinPool(2);
        forkJoin.submit(() -> sleep(10)).get();
        sleep(100);
        forkJoin.shutdown();
        cached.shutdown();
        cached.awaitTermination(1, TimeUnit.MINUTES);
    }

    static Thread daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }

    static void sleep(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException nobodyDoesThat) {
            throw new IllegalStateException(nobodyDoesThat);
        }
    }

    public static void main(String[] args) throws Exception {
        condition();
        signalled();
        objectWait();
        queues();
        futures();
        idlePools();
        LockSupport.parkNanos(50_000_000);
        LockSupport.parkNanos(MONITOR, 50_000_000);
        Thread.sleep(50);
        System.out.println("done");
    }
}

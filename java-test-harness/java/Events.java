import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.Phaser;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.AbstractQueuedLongSynchronizer;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;

/**
 * One thread waits again and again for something that another one does, each time until it is seen to wait and then
 * 20 ms: no contention.
 *
 * Argument: how often. Each kind of waiting is in a method of its own. A further argument "virtual" lets a virtual
 * thread do the waiting (from JDK 21 on). Prints "done".
 */
public class Events {
    /** A latch of the program's own. */
    static final class Latch extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1;

        @Override
        protected int tryAcquireShared(int ignored) {
            return isOpen() ? 1 : -1;
        }

        private boolean isOpen() {
            return getState() == 1;
        }

        @Override
        protected boolean tryReleaseShared(int ignored) {
            setState(1);
            return true;
        }
    }

    /** A latch that takes the place of the others one by one. */
    static final class ExclusiveLatch extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean tryAcquire(int ignored) {
            return getState() != 0;
        }

        @Override
        protected boolean tryRelease(int ignored) {
            setState(1);
            return true;
        }
    }

    static final class LongLatch extends AbstractQueuedLongSynchronizer {
        private static final long serialVersionUID = 1;

        @Override
        protected long tryAcquireShared(long ignored) {
            return getState() != 0 ? 1 : -1;
        }

        @Override
        protected boolean tryReleaseShared(long ignored) {
            return compareAndSetState(0, 1);
        }
    }

    /** As Scala's: threads park for a latch that is made for each wait. */
    static final class Promise {
        static final class CompletionLatch extends AbstractQueuedSynchronizer implements Runnable {
            private static final long serialVersionUID = 1;
            private Object result;

            @Override
            protected int tryAcquireShared(int ignored) {
                return getState() != 0 ? 1 : -1;
            }

            @Override
            protected boolean tryReleaseShared(int ignored) {
                setState(1);
                return true;
            }

            @Override
            public void run() {
                result = "done";
                releaseShared(1);
            }
        }

        private volatile Runnable callback;

        Object await() throws InterruptedException {
            CompletionLatch latch = new CompletionLatch();
            callback = latch;
            latch.acquireSharedInterruptibly(1);
            return latch.result;
        }

        void complete() {
            callback.run();
        }
    }

    interface Action {
        void run() throws Exception;
    }

    static volatile CountDownLatch countDownLatch;
    static volatile Latch latch;
    static volatile ExclusiveLatch exclusiveLatch;
    static volatile LongLatch longLatch;
    static volatile Promise promise;
    static volatile CompletableFuture<String> completableFuture;
    static volatile FutureTask<String> futureTask;
    static final Phaser PHASER = new Phaser(2);
    static final CyclicBarrier BARRIER = new CyclicBarrier(2);
    static final Exchanger<String> EXCHANGER = new Exchanger<>();
    static final SynchronousQueue<String> SYNCHRONOUS = new SynchronousQueue<>();
    static final LinkedTransferQueue<String> TRANSFER = new LinkedTransferQueue<>();

    static void countDownLatch() throws Exception {
        countDownLatch.await();
    }

    static void latch() {
        latch.acquireShared(1);
    }

    static void timedLatch() throws Exception {
        latch.tryAcquireSharedNanos(1, TimeUnit.MINUTES.toNanos(1));
    }

    static void exclusiveLatch() throws Exception {
        exclusiveLatch.acquireInterruptibly(1);
    }

    static void longLatch() {
        longLatch.acquireShared(1);
    }

    static void promise() throws Exception {
        promise.await();
    }

    static void completableFuture() throws Exception {
        completableFuture.get();
    }

    static void futureTask() throws Exception {
        futureTask.get();
    }

    static void phaser() {
        PHASER.arriveAndAwaitAdvance();
    }

    static void cyclicBarrier() throws Exception {
        BARRIER.await();
    }

    static void exchanger() throws Exception {
        EXCHANGER.exchange("");
    }

    static void synchronousQueue() throws Exception {
        SYNCHRONOUS.take();
    }

    static void linkedTransferQueue() throws Exception {
        TRANSFER.take();
    }

    static void run(int count, boolean virtual, Action before, Action await, Action release) throws Exception {
        for (int i = 0; i < count; i++) {
            before.run();
            Runnable waiter = () -> {
                try {
                    await.run();
                } catch (Exception impossible) {
                    throw new IllegalStateException(impossible);
                }
            };
            Thread thread = virtual ? VirtualThreads.start("waiter", waiter) : new Thread(waiter, "waiter");
            if (!virtual) thread.start();
            while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
                Thread.yield();
            }
            Thread.sleep(20);
            release.run();
            while (thread.isAlive()) Thread.yield();
        }
    }

    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[0]);
        boolean v = args.length > 1;
        Action nothing = () -> { };
        run(n, v, () -> countDownLatch = new CountDownLatch(1), () -> countDownLatch(), () -> countDownLatch.countDown());
        run(n, v, () -> latch = new Latch(), () -> latch(), () -> latch.releaseShared(1));
        run(n, v, () -> latch = new Latch(), () -> timedLatch(), () -> latch.releaseShared(1));
        run(n, v, () -> exclusiveLatch = new ExclusiveLatch(), () -> exclusiveLatch(), () -> exclusiveLatch.release(1));
        run(n, v, () -> longLatch = new LongLatch(), () -> longLatch(), () -> longLatch.releaseShared(1));
        run(n, v, () -> promise = new Promise(), () -> promise(), () -> promise.complete());
        run(n, v, () -> completableFuture = new CompletableFuture<>(), () -> completableFuture(),
                () -> completableFuture.complete(""));
        run(n, v, () -> futureTask = new FutureTask<>(() -> ""), () -> futureTask(), () -> futureTask.run());
        run(n, v, nothing, () -> phaser(), () -> PHASER.arrive());
        run(n, v, nothing, () -> cyclicBarrier(), () -> BARRIER.await());
        run(n, v, nothing, () -> exchanger(), () -> EXCHANGER.exchange(""));
        run(n, v, nothing, () -> synchronousQueue(), () -> SYNCHRONOUS.put(""));
        run(n, v, nothing, () -> linkedTransferQueue(), () -> TRANSFER.put(""));
        System.out.println("done");
    }
}

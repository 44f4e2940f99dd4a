import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.AbstractQueuedLongSynchronizer;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * One thread waits again and again for a lock that another one has, each time until it is seen to wait and then 10 ms.
 *
 * Argument: how often. Each kind of lock is taken in a method of its own, and prints
 * "KIND COUNT LEAST MOST": how often, for how many nanoseconds it was seen to wait in that method, and how many it
 * was in there. A further
 * argument "virtual" lets a virtual thread do the waiting (from JDK 21 on).
 */
public class Contention {
    /** Something that one thread can have at a time. */
    interface Kind {
        void take() throws Exception;

        void give() throws Exception;
    }

    /** A lock of the program's own. */
    static final class Mutex extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean tryAcquire(int one) {
            return compareAndSetState(0, 1);
        }

        @Override
        protected boolean tryRelease(int one) {
            setState(0);
            return true;
        }
    }

    /** A lock with a state of 64 bits that knows its owner and nothing else. */
    static final class LongMutex extends AbstractQueuedLongSynchronizer {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean tryAcquire(long one) {
            if (getState() != 0) return false;
            return swap();
        }

        private boolean swap() {
            if (!compareAndSetState(0, 1)) return false;
            setExclusiveOwnerThread(Thread.currentThread());
            return true;
        }

        @Override
        protected boolean tryRelease(long one) {
            setExclusiveOwnerThread(null);
            setState(0);
            return true;
        }
    }

    /** Permits of the program's own, taken in a method of the class above. */
    abstract static class Permits extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1;

        final int take(int count) {
            while (true) {
                int free = getState(), left = free - count;
                if (left < 0 || compareAndSetState(free, left)) return left;
            }
        }

        @Override
        protected boolean tryReleaseShared(int count) {
            while (true) {
                int free = getState();
                if (compareAndSetState(free, free + count)) return true;
            }
        }
    }

    static final class Pool extends Permits {
        private static final long serialVersionUID = 1;

        Pool() {
            setState(1);
        }

        @Override
        protected int tryAcquireShared(int count) {
            return take(count);
        }
    }

    static final Object OBJECT = new Object();
    static final ReentrantLock REENTRANT = new ReentrantLock();
    static final ReentrantLock FAIR = new ReentrantLock(true);
    static final ReentrantReadWriteLock READ_WRITE = new ReentrantReadWriteLock();
    static final StampedLock STAMPED = new StampedLock();
    static final Semaphore SEMAPHORE = new Semaphore(1);
    static final Mutex MUTEX = new Mutex();
    static final Semaphore FAIR_SEMAPHORE = new Semaphore(1, true);
    static final LongMutex LONG_MUTEX = new LongMutex();
    static final Pool POOL = new Pool();

    /** How often the owner has its lock, the waiter waits for it, and has had it. */
    static volatile int owned, wanted, had;

    static long seen, waited;

    static void monitor() {
        synchronized (OBJECT) {
            waited += System.nanoTime();
        }
    }

    static void reentrant() {
        REENTRANT.lock();
    }

    static void interruptibly() throws Exception {
        REENTRANT.lockInterruptibly();
    }

    static void timed() throws Exception {
        REENTRANT.tryLock(1, TimeUnit.MINUTES);
    }

    static void fair() {
        FAIR.lock();
    }

    static void read() {
        READ_WRITE.readLock().lock();
    }

    static void write() {
        READ_WRITE.writeLock().lock();
    }

    static void stampedRead() {
        STAMPED.unlockRead(STAMPED.readLock());
    }

    static void stampedWrite() {
        STAMPED.unlockWrite(STAMPED.writeLock());
    }

    static void semaphore() throws Exception {
        SEMAPHORE.acquire();
    }

    static void mutex() {
        MUTEX.acquire(1);
    }

    static void fairSemaphore() throws Exception {
        FAIR_SEMAPHORE.acquire();
    }

    static void longMutex() {
        LONG_MUTEX.acquire(1);
    }

    static void permits() {
        POOL.acquireShared(1);
    }

    /** An action of the owner: to have the lock, or to have it no more. */
    interface Action {
        void run() throws Exception;
    }

    static void nothing() {}

    static void run(String name, int count, boolean virtual, Action own, Action disown, Kind kind)
            throws Exception {
        owned = wanted = had = 0;
        seen = waited = 0;
        Runnable waiter = () -> {
            try {
                for (int i = 1; i <= count; i++) {
                    while (owned < i) Thread.yield();
                    wanted = i;
                    waited -= System.nanoTime();
                    kind.take();
                    // The monitor is given back in take, so its time ends in there.
                    if (!name.equals("monitor")) waited += System.nanoTime();
                    kind.give();
                    had = i;
                }
            } catch (Exception impossible) {
                throw new IllegalStateException(impossible);
            }
        };
        Thread thread = virtual ? VirtualThreads.start("waiter", waiter) : new Thread(waiter, "waiter");
        if (!virtual) thread.start();
        for (int i = 1; i <= count; i++) {
            if (name.equals("monitor")) {
                synchronized (OBJECT) {
                    awaitWaiter(thread, i);
                }
            } else {
                own.run();
                awaitWaiter(thread, i);
                disown.run();
            }
            while (had < i) Thread.yield();
        }
        while (thread.isAlive()) Thread.yield();
        System.out.println(name + " " + count + " " + seen + " " + waited);
    }

    /** Lets the waiter wait, and stays 10 ms in that. */
    static void awaitWaiter(Thread thread, int i) throws Exception {
        owned = i;
        while (wanted < i || thread.getState() == Thread.State.RUNNABLE) Thread.yield();
        seen -= System.nanoTime();
        Thread.sleep(10);
        seen += System.nanoTime();
    }

    static Kind kind(Action take, Action give) {
        return new Kind() {
            @Override
            public void take() throws Exception {
                take.run();
            }

            @Override
            public void give() throws Exception {
                give.run();
            }
        };
    }

    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[0]);
        boolean v = args.length > 1;
        run("monitor", n, v, null, null, kind(() -> monitor(), () -> nothing()));
        Action lock = () -> REENTRANT.lock(), unlock = () -> REENTRANT.unlock();
        run("reentrant", n, v, lock, unlock, kind(() -> reentrant(), unlock));
        run("interruptibly", n, v, lock, unlock, kind(() -> interruptibly(), unlock));
        run("timed", n, v, lock, unlock, kind(() -> timed(), unlock));
        run("fair", n, v, () -> FAIR.lock(), () -> FAIR.unlock(), kind(() -> fair(), () -> FAIR.unlock()));
        Action readUnlock = () -> READ_WRITE.readLock().unlock();
        Action writeUnlock = () -> READ_WRITE.writeLock().unlock();
        run("read", n, v, () -> READ_WRITE.writeLock().lock(), writeUnlock, kind(() -> read(), readUnlock));
        run("write", n, v, () -> READ_WRITE.readLock().lock(), readUnlock, kind(() -> write(), writeUnlock));
        Action stampedOwn = () -> STAMPED.writeLock(), stampedGive = () -> STAMPED.tryUnlockWrite();
        run("stampedRead", n, v, stampedOwn, stampedGive, kind(() -> stampedRead(), () -> nothing()));
        run("stampedWrite", n, v, stampedOwn, stampedGive, kind(() -> stampedWrite(), () -> nothing()));
        Action release = () -> SEMAPHORE.release();
        run("semaphore", n, v, () -> SEMAPHORE.acquire(), release, kind(() -> semaphore(), release));
        Action free = () -> MUTEX.release(1);
        run("mutex", n, v, () -> MUTEX.acquire(1), free, kind(() -> mutex(), free));
        Action fairRelease = () -> FAIR_SEMAPHORE.release();
        run("fairSemaphore", n, v, () -> FAIR_SEMAPHORE.acquire(), fairRelease, kind(() -> fairSemaphore(), fairRelease));
        Action longFree = () -> LONG_MUTEX.release(1);
        run("longMutex", n, v, () -> LONG_MUTEX.acquire(1), longFree, kind(() -> longMutex(), longFree));
        Action giveBack = () -> POOL.releaseShared(1);
        run("permits", n, v, () -> POOL.acquireShared(1), giveBack, kind(() -> permits(), giveBack));
    }
}

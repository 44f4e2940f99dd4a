package java.lang;

import java.util.concurrent.locks.AbstractQueuedLongSynchronizer;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.StampedLock;

/**
 * What rewritten methods of java.util.concurrent.locks call. Defined into java.base by the agent;
 * its native methods are in the agent's module monitors.
 *
 * <p>No method of it is on the stack while a thread is parked: a virtual thread could not leave its
 * carrier.
 */
public final class HprofLocks {
    /** The number of methods that note what the current thread parks for, or that it does not. */
    static final long BLOCKER = 0;

    private HprofLocks() {}

    /** Called first in a method: keeps its number. */
    public static long enter(int method) {
        return method;
    }

    /** Called before a return, with what enter returned. */
    public static void exit(long method) {
        Thread thread = Thread.currentThread();
        if (method != BLOCKER) {
            acquired(thread);
            return;
        }
        Object blocker = LockSupport.getBlocker(thread);
        if (blocker == null) {
            unparked(thread);
        } else if (blocker instanceof AbstractQueuedSynchronizer
                || blocker instanceof AbstractQueuedLongSynchronizer
                || blocker instanceof StampedLock) {
            acquiring(thread, blocker);
        } else {
            parking(thread, blocker);
        }
    }

    /** Called first in an exception handler. */
    public static void repair(long entered, int method) {}

    /** Not called. */
    public static void count(int method) {}

    /**
     * Lets the VM prepare {@link Started} while two methods of this class are running: the agent
     * then registers the native methods. Without callers from java.base, the VM prints a warning.
     */
    public static void start() {
        prepare();
    }

    private static void prepare() {
        Started.start();
    }

    /** See {@link #start}. */
    static final class Started {
        private Started() {}

        static void start() {}
    }

    /** The thread, the current one, parks until it has what it wants of a synchronizer. */
    private static native void acquiring(Thread thread, Object synchronizer);

    /** The thread parks for something else. */
    private static native void parking(Thread thread, Object blocker);

    /** The thread runs again. */
    private static native void unparked(Thread thread);

    /** The thread tries no more to have something of a synchronizer. */
    private static native void acquired(Thread thread);
}

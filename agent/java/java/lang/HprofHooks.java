package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * What rewritten methods call. Defined into java.base by the agent; its native methods, and the
 * layout of the memory it reads, are in the agent's module call_times.
 *
 * <p>A node stands for the last methods called, innermost first. It has two words: the address of
 * its table of following nodes with, in the upper 16 bits, the mask for that table's indexes; and
 * the number of its innermost method with, in the upper 32 bits, the place of the node's counter in
 * the state of each thread. The first word of that state is the address of the thread's node.
 */
public final class HprofHooks {
    private static final Unsafe MEMORY = Unsafe.getUnsafe();

    /** State of a virtual thread, which uses that of its carrier. */
    private static final long VIRTUAL = -1;

    private static final int COUNTER = 8;
    private static final long ADDRESS = (1L << 48) - 1;

    private HprofHooks() {}

    /** Called first in a method: counts the call, and returns the caller's node. */
    public static long enter(int method) {
        Thread thread = Thread.currentThread();
        long state = thread.hprofState;
        if (state <= 0) {
            return enterElsewhere(thread, method);
        }
        long caller = MEMORY.getLong(state);
        long table = MEMORY.getLong(caller);
        long node = MEMORY.getLong((table & ADDRESS) + (((table >>> 48) & method) << 3));
        long counter = MEMORY.getLong(node + COUNTER);
        if ((int) counter != method) {
            node = find(caller, method);
            counter = MEMORY.getLong(node + COUNTER);
        }
        MEMORY.putLong(state, node);
        counter = state + (counter >>> 32);
        MEMORY.putLong(counter, MEMORY.getLong(counter) + 1);
        return caller;
    }

    /** Called before a return, with what enter returned. */
    public static void exit(long caller) {
        Thread thread = Thread.currentThread();
        long state = thread.hprofState;
        if (state > 0) {
            MEMORY.putLong(state, caller);
        } else {
            moveElsewhere(thread, caller);
        }
    }

    /** Called first in an exception handler. */
    public static void repair(long caller, int method) {
        exit(next(caller, method));
    }

    /** Called by methods that call nothing themselves. */
    public static void count(int method) {
        exit(enter(method));
    }

    private static long next(long node, int method) {
        long table = MEMORY.getLong(node);
        long following = MEMORY.getLong((table & ADDRESS) + (((table >>> 48) & method) << 3));
        boolean found = (int) MEMORY.getLong(following + COUNTER) == method;
        return found ? following : find(node, method);
    }

    /** A thread's first call, or a virtual thread. */
    private static long enterElsewhere(Thread thread, int method) {
        if (thread.hprofState == 0) {
            thread.hprofState = attach(thread);
        }
        if (thread.hprofState > 0) {
            return enter(method);
        }
        long caller = thread.hprofNode;
        if (caller == 0) {
            caller = root();
        }
        long node = next(caller, method);
        long state = carrierState();
        thread.hprofNode = node;
        MEMORY.putLong(state, node);
        long counter = state + (MEMORY.getLong(node + COUNTER) >>> 32);
        MEMORY.putLong(counter, MEMORY.getLong(counter) + 1);
        return caller;
    }

    private static void moveElsewhere(Thread thread, long node) {
        if (thread.hprofState == VIRTUAL) {
            thread.hprofNode = node;
            MEMORY.putLong(carrierState(), node);
        }
    }

    private static long carrierState() {
        Thread carrier = Thread.currentCarrierThread();
        if (carrier.hprofState == 0) {
            carrier.hprofState = attach(carrier);
        }
        return carrier.hprofState;
    }

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

    /** The state for a thread: that of the current thread of the system, or VIRTUAL. */
    private static native long attach(Thread thread);

    /** The node of a thread that has called nothing. */
    private static native long root();

    /** The node after another one, found or made. */
    private static native long find(long node, int method);
}

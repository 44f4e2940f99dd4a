package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * What rewritten methods call. Defined into java.base by the agent; its native methods, and the
 * layout of the memory it reads, are in the agent's module call_times.
 *
 * <p>A node stands for the last methods called, innermost first: the int number of its innermost
 * method; the int distance of its counter from the start of a thread's state; the address of a
 * table of further following nodes with, in the low five bits, the logarithm of its size; eight
 * following nodes, by the low bits of their methods' numbers. The state of a thread: the address of
 * its node, 56 bytes of others, then the counters, longs.
 */
public final class HprofHooks {
    private static final Unsafe MEMORY = Unsafe.getUnsafe();

    /** State of a virtual thread, which uses that of its carrier. */
    private static final long VIRTUAL = -1;

    private static final int METHOD = 0;
    private static final int COUNTER = 4;
    private static final int FURTHER = 8;
    private static final int FOLLOWING = 16;
    private static final int SLOT_BITS = 3;

    private HprofHooks() {}

    /** Called first in a method: counts the call, and returns the caller's node. */
    public static long enter(int method) {
        Thread thread = Thread.currentThread();
        long state = thread.hprofState;
        if (state <= 0) {
            return enterElsewhere(thread, method);
        }
        long caller = MEMORY.getLong(state);
        long node = next(caller, method);
        MEMORY.putLong(state, node);
        long count = state + MEMORY.getInt(node + COUNTER);
        MEMORY.putLong(count, MEMORY.getLong(count) + 1);
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
        int slot = method & ((1 << SLOT_BITS) - 1);
        long following = MEMORY.getLong(node + (FOLLOWING + (slot << 3)));
        return MEMORY.getInt(following + METHOD) == method ? following : further(node, method);
    }

    private static long further(long node, int method) {
        long table = MEMORY.getLong(node + FURTHER);
        int slot = method & ((1 << (int) table) - 1);
        long following = MEMORY.getLong((table & -32) + ((long) slot << 3));
        return MEMORY.getInt(following + METHOD) == method ? following : find(node, method);
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
        long count = state + MEMORY.getInt(node + COUNTER);
        MEMORY.putLong(count, MEMORY.getLong(count) + 1);
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

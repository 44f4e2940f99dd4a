package java.lang;

import static java.lang.HprofVariant.LATE;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * What rewritten methods call. Defined into java.base by the agent; its native methods, and the
 * layout of the memory it reads, are in the agent's module call_times.
 *
 * <p>A node stands for the last methods called, innermost first. It is a long: the distance of its
 * counter from the start of a thread's state. At 8 times this from {@link #FOLLOWERS} are eight
 * entries of following nodes, by the low bits of their methods' numbers. An entry has the number of
 * the following node's method in its lower half, the node in its upper half. At twice the node
 * from {@link #RESTS} is the address of a table of further entries with, in the low five bits, the
 * logarithm of its size.
 *
 * <p>The state of a thread: its node; the time of the last event; the distance from
 * the counter of a node to its sum of nanoseconds; what reading the clock takes; the end of the
 * stack of calls in progress, and that of its memory; 16 bytes of others; then the counters, longs.
 *
 * <p>Where a thread's state is depends on the variant: in a field of the thread, which the agent adds
 * when the VM loads that class; or, in a VM that was up before, in a table of all threads.
 */
public final class HprofHooks {
    private static final Unsafe MEMORY = Unsafe.getUnsafe();

    /** State of a virtual thread, which uses that of its carrier. */
    private static final long VIRTUAL = -1;

    /** Addresses, which the agent writes into this class file in place of these constants. */
    private static final long FOLLOWERS = 0x666f_6c6c_6f77_6572L;

    private static final long RESTS = 0x7265_7374_7265_7374L;

    /** The low bits of a method's number that choose an entry of the node. */
    private static final int SLOTS = 7;

    private static final int LAST_EVENT = 8;
    private static final int TO_NANOS = 16;
    private static final int CLOCK_COST = 24;
    private static final int TOP = 32;
    private static final int LIMIT = 40;

    /** A call in progress: the caller's node, its own node, and when it began. */
    private static final int CALL_BYTES = 24;

    /** Returned for a call that the stack of calls had no room for. */
    private static final long NO_CALL = -2;

    /**
     * Late: the states of threads, in open addressing by the address of the VM's own thread, which
     * the thread object has. An entry is that address, 0 in a free one, and the state's. The first
     * entry is that of virtual threads, whose address is 0; none other is ever put there.
     */
    private static final long TABLE = LATE ? newTable() : 0;

    private static final int TABLE_BITS = 16;
    private static final int ENTRY_BITS = 4;
    private static final int ENTRY_BYTES = 1 << ENTRY_BITS;
    private static final long TABLE_BYTES = (long) ENTRY_BYTES << TABLE_BITS;

    /** Multiplying with it spreads addresses over the high bits. */
    private static final long SPREAD = 0x9e3779b97f4a7c15L;

    /** Late: where a thread object has the address of the VM's own thread. */
    private static final long VM_THREAD =
            LATE ? MEMORY.objectFieldOffset(Thread.class, "eetop") : 0;

    /**
     * Whether each thread that has entered a method has a state until its end: it is not in the
     * table, which is emptied, and there are no virtual threads, as which a thread may leave a
     * method that it has entered as itself. A check in exit that never fails costs a tenth of the
     * time of short methods: what the compilers keep for its other side takes registers.
     */
    private static final boolean KEEPS_STATE = !LATE && !hasVirtualThreads();

    private HprofHooks() {}

    private static boolean hasVirtualThreads() {
        try {
            Class.forName("java.lang.VirtualThread", false, null);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /**
     * Called first in a method: counts the call, and returns the caller's node. It is copied into
     * every method, so it has a single call for all rare cases: compilers assume that a call changes
     * everything, and that it throws.
     */
    public static long enter(int method) {
        Thread thread = Thread.currentThread();
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (state > 0) {
            long caller = MEMORY.getLong(state);
            long entry = inside(caller, method);
            if ((int) entry == method) {
                // The counter comes first: its load waits for the stores before it, which C2 of
                // JDK 11 keeps in order.
                long node = entry >>> 32;
                MEMORY.putLong(state + node, MEMORY.getLong(state + node) + 1);
                MEMORY.putLong(state, node);
                return caller;
            }
        }
        return enterSlowly(thread, method);
    }

    /** For a thread without a state, and for a following node that is not in its caller's. */
    @DontInline
    private static long enterSlowly(Thread thread, int method) {
        if (!attached(thread)) {
            return enterVirtual(thread, method);
        }
        long state = LATE ? stateOf(thread) : thread.hprofState;
        long caller = MEMORY.getLong(state);
        long node = next(caller, method);
        MEMORY.putLong(state + node, MEMORY.getLong(state + node) + 1);
        MEMORY.putLong(state, node);
        return caller;
    }

    /** Called before a return, with what enter returned. */
    public static void exit(long caller) {
        Thread thread = Thread.currentThread();
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (KEEPS_STATE || state > 0) {
            MEMORY.putLong(state, caller);
        } else {
            moveVirtual(thread, caller);
        }
    }

    /** Called first in an exception handler. */
    public static void repair(long caller, int method) {
        exit(next(caller, method));
    }

    /** Called by short methods that call nothing, instead of the others. */
    public static void count(int method) {
        Thread thread = Thread.currentThread();
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (state > 0) {
            long entry = inside(MEMORY.getLong(state), method);
            if ((int) entry == method) {
                long count = state + (entry >>> 32);
                MEMORY.putLong(count, MEMORY.getLong(count) + 1);
                return;
            }
        }
        countSlowly(thread, method);
    }

    @DontInline
    private static void countSlowly(Thread thread, int method) {
        long caller = enterSlowly(thread, method);
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (state > 0) {
            MEMORY.putLong(state, caller);
        } else {
            moveVirtual(thread, caller);
        }
    }

    /** As enter, and books the time since the last event to the caller. */
    public static long enterClocked(int method) {
        Thread thread = Thread.currentThread();
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (state > 0) {
            long caller = MEMORY.getLong(state);
            long entry = inside(caller, method);
            if ((int) entry == method) {
                long node = entry >>> 32;
                MEMORY.putLong(state + node, MEMORY.getLong(state + node) + 1);
                book(state, caller, node);
                return caller;
            }
        }
        return enterClockedSlowly(thread, method);
    }

    @DontInline
    private static long enterClockedSlowly(Thread thread, int method) {
        if (!attached(thread)) {
            return enterVirtual(thread, method);
        }
        long state = LATE ? stateOf(thread) : thread.hprofState;
        long caller = MEMORY.getLong(state);
        long node = next(caller, method);
        MEMORY.putLong(state + node, MEMORY.getLong(state + node) + 1);
        book(state, caller, node);
        return caller;
    }

    /** As exit, and books the time since the last event to the method. */
    public static void exitClocked(long caller) {
        Thread thread = Thread.currentThread();
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (state > 0) {
            book(state, MEMORY.getLong(state), caller);
        } else {
            moveVirtual(thread, caller);
        }
    }

    /** As repair; the time since the last event is that of the methods that were left. */
    public static void repairClocked(long caller, int method) {
        exitClocked(next(caller, method));
    }

    private static void book(long state, long node, long following) {
        long now = System.nanoTime();
        long time = now - MEMORY.getLong(state + LAST_EVENT) - MEMORY.getLong(state + CLOCK_COST);
        long sum = state + node + MEMORY.getLong(state + TO_NANOS);
        MEMORY.putLong(sum, MEMORY.getLong(sum) + time);
        MEMORY.putLong(state + LAST_EVENT, now);
        MEMORY.putLong(state, following);
    }

    /** As enter, but begins a call that all time until its end is booked to; returns its place. */
    public static long enterCall(int method) {
        Thread thread = Thread.currentThread();
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (state <= 0) {
            return attached(thread) ? enterCall(method) : enterVirtual(thread, method);
        }
        long caller = MEMORY.getLong(state);
        long node = next(caller, method);
        long count = state + node;
        MEMORY.putLong(count, MEMORY.getLong(count) + 1);
        long call = MEMORY.getLong(state + TOP);
        if (call == MEMORY.getLong(state + LIMIT)) {
            return NO_CALL;
        }
        MEMORY.putLong(state + TOP, call + CALL_BYTES);
        MEMORY.putLong(call, caller);
        MEMORY.putLong(call + 8, node);
        MEMORY.putLong(state, node);
        MEMORY.putLong(call + 16, System.nanoTime());
        return call;
    }

    /** Ends a call, and those in it that ended by an exception. */
    public static void exitCall(long call) {
        Thread thread = Thread.currentThread();
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (state <= 0) {
            moveVirtual(thread, call);
        } else if (call != NO_CALL) {
            endCalls(state, call);
            MEMORY.putLong(state, MEMORY.getLong(call));
        }
    }

    /** Ends the calls in this one, which ended by an exception. */
    public static void repairCall(long call, int method) {
        Thread thread = Thread.currentThread();
        long state = LATE ? stateOf(thread) : thread.hprofState;
        if (state <= 0) {
            moveVirtual(thread, next(call, method));
        } else if (call != NO_CALL) {
            endCalls(state, call + CALL_BYTES);
            MEMORY.putLong(state, MEMORY.getLong(call + 8));
        }
    }

    private static void endCalls(long state, long first) {
        long now = System.nanoTime();
        long call = MEMORY.getLong(state + TOP);
        while (call > first) {
            call -= CALL_BYTES;
            long node = MEMORY.getLong(call + 8);
            long sum = state + node + MEMORY.getLong(state + TO_NANOS);
            MEMORY.putLong(sum, MEMORY.getLong(sum) + now - MEMORY.getLong(call + 16));
        }
        MEMORY.putLong(state + TOP, first);
    }

    private static long next(long node, int method) {
        long entry = inside(node, method);
        return ((int) entry == method ? entry : further(node, method)) >>> 32;
    }

    /** The entry of a node where that of the method would be. */
    private static long inside(long node, int method) {
        return MEMORY.getLong(FOLLOWERS + (node << 3) + ((method & SLOTS) << 3));
    }

    /**
     * Looks the entry of a following node up that is not in the node itself. Out of line: copied into every
     * method by the compilers, it would leave less room for the inlining of the methods
     * themselves.
     */
    @DontInline
    private static long further(long node, int method) {
        long table = MEMORY.getLong(RESTS + (node << 1));
        long place = (table & -32) + ((long) (method & ((1 << (int) table) - 1)) << 3);
        long entry = MEMORY.getLong(place);
        if ((int) entry != method) {
            entry = MEMORY.getLong(place ^ 8);
        }
        return (int) entry == method ? entry : find(node, method) << 32;
    }

    /** Whether the thread has a state, possibly since now; otherwise it is virtual. */
    private static boolean attached(Thread thread) {
        if (LATE) {
            if (stateOf(thread) == 0) {
                attach(thread);
            }
            return stateOf(thread) > 0;
        }
        if (thread.hprofState == 0) {
            thread.hprofState = attach(thread);
        }
        return thread.hprofState > 0;
    }

    /** Late, a virtual thread goes on from where its carrier is: it has no place for a node. */
    private static long enterVirtual(Thread thread, int method) {
        long state = carrierState();
        long caller = LATE ? MEMORY.getLong(state) : thread.hprofNode;
        if (!LATE && caller == 0) {
            caller = root();
        }
        long node = next(caller, method);
        if (!LATE) {
            thread.hprofNode = node;
        }
        MEMORY.putLong(state, node);
        long count = state + node;
        MEMORY.putLong(count, MEMORY.getLong(count) + 1);
        return caller;
    }

    private static void moveVirtual(Thread thread, long node) {
        if (LATE) {
            if (stateOf(thread) == VIRTUAL) {
                MEMORY.putLong(carrierState(), node);
            }
        } else if (thread.hprofState == VIRTUAL) {
            thread.hprofNode = node;
            MEMORY.putLong(carrierState(), node);
        }
    }

    /**
     * Out of line: a compiler takes the carrier for the same all through a method, but a virtual
     * thread may go on with another one after each call.
     */
    @DontInline
    private static long carrierState() {
        Thread carrier = Thread.currentCarrierThread();
        if (LATE) {
            long state = stateOf(carrier);
            return state > 0 ? state : attach(carrier);
        }
        if (carrier.hprofState == 0) {
            carrier.hprofState = attach(carrier);
        }
        return carrier.hprofState;
    }

    /** Late: the state of a thread, 0 if it has none yet, VIRTUAL if it is virtual. */
    private static long stateOf(Thread thread) {
        long key = MEMORY.getLong(thread, VM_THREAD);
        long entry = TABLE + (key * SPREAD >>> 64 - TABLE_BITS << ENTRY_BITS);
        return MEMORY.getLong(entry) == key ? MEMORY.getLong(entry + 8) : displaced(key, entry);
    }

    /** Late: looks behind an entry that another thread has. */
    @DontInline
    private static long displaced(long key, long entry) {
        long found;
        do {
            entry += ENTRY_BYTES;
            if (entry == TABLE + TABLE_BYTES) {
                entry = TABLE + ENTRY_BYTES;
            }
            found = MEMORY.getLong(entry);
            if (found == key) {
                return MEMORY.getLong(entry + 8);
            }
        } while (found != 0);
        return 0;
    }

    private static long newTable() {
        long table = MEMORY.allocateMemory(TABLE_BYTES);
        MEMORY.setMemory(table, TABLE_BYTES, (byte) 0);
        return table;
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

    /**
     * The state for a thread: that of the current thread of the system, or VIRTUAL. Late, it is put
     * into the table.
     */
    private static native long attach(Thread thread);

    /** The node of a thread that has called nothing. */
    private static native long root();

    /** The node after another one, found or made. */
    private static native long find(long node, int method);
}

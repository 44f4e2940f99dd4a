package java.lang;

import static java.lang.HprofVariant.FIELDS;
import static java.lang.HprofVariant.HOLDER;

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
 * <p>The address of a thread's state is where the thread had the size of its stack, which nobody reads
 * once it runs: in Thread itself or, since JDK 19, in its holder. There it is negative, so a size that
 * somebody has asked for is not taken for it. The way through the holder costs a quarter of the time
 * of short methods, so an agent that sees the VM load Thread gives it a field instead. A virtual thread
 * uses the state of its carrier. Its node is in another field; or it gets a holder, for the node.
 */
public final class HprofHooks {
    private static final Unsafe MEMORY = Unsafe.getUnsafe();

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

    /** Where a thread has its holder. */
    private static final long IN_THREAD =
            HOLDER && !FIELDS ? MEMORY.objectFieldOffset(Thread.class, "holder") : 0;

    /** Where the holder, or the thread, has the address of the state. */
    private static final long STATE =
            FIELDS
                    ? 0
                    : HOLDER
                            ? MEMORY.objectFieldOffset(Thread.FieldHolder.class, "stackSize")
                            : HprofThreads.STACK_SIZE;

    /** Memory begins behind this: it is above what a thread has that is no address. */
    private static final long NO_STATE = 0xffff;

    /** In the class file the agent defines, 1 if what follows is so, or 0. */
    private static final long KEEPS = 0x6b65_6570_732d_6974L;

    /**
     * Whether each thread that has entered a method has a state until its end: no thread may leave a
     * method that it has entered as a virtual one, and the agent stays. A check in exit that never
     * fails costs a tenth of the time of short methods: what the compilers keep for its other side takes
     * registers.
     */
    private static final boolean KEEPS_STATE = !HOLDER && Long.bitCount(KEEPS) == 1;

    private HprofHooks() {}

    /**
     * Called first in a method: counts the call, and returns the caller's node. It is copied into
     * every method, so it has a single call for all rare cases: compilers assume that a call changes
     * everything, and that it throws.
     */
    public static long enter(int method) {
        Thread thread = Thread.currentThread();
        long state = stateOf(thread);
        if (state > NO_STATE) {
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
        if (isVirtual(thread)) {
            return enterVirtual(thread, method);
        }
        long state = attached(thread);
        long caller = MEMORY.getLong(state);
        long node = next(caller, method);
        MEMORY.putLong(state + node, MEMORY.getLong(state + node) + 1);
        MEMORY.putLong(state, node);
        return caller;
    }

    /** Called before a return, with what enter returned. */
    public static void exit(long caller) {
        Thread thread = Thread.currentThread();
        long state = stateOf(thread);
        if (KEEPS_STATE || state > NO_STATE) {
            MEMORY.putLong(state, caller);
        } else {
            leave(thread, caller);
        }
    }

    /** Called first in an exception handler. */
    public static void repair(long caller, int method) {
        exit(next(caller, method));
    }

    /** Called by short methods that call nothing, instead of the others. */
    public static void count(int method) {
        Thread thread = Thread.currentThread();
        long state = stateOf(thread);
        if (state > NO_STATE) {
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
        long state = stateOf(thread);
        if (state > NO_STATE) {
            MEMORY.putLong(state, caller);
        } else {
            leave(thread, caller);
        }
    }

    /** As enter, and books the time since the last event to the caller. */
    public static long enterClocked(int method) {
        Thread thread = Thread.currentThread();
        long state = stateOf(thread);
        if (state > NO_STATE) {
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
        if (isVirtual(thread)) {
            return enterVirtual(thread, method);
        }
        long state = attached(thread);
        long caller = MEMORY.getLong(state);
        long node = next(caller, method);
        MEMORY.putLong(state + node, MEMORY.getLong(state + node) + 1);
        book(state, caller, node);
        return caller;
    }

    /** As exit, and books the time since the last event to the method. */
    public static void exitClocked(long caller) {
        Thread thread = Thread.currentThread();
        long state = stateOf(thread);
        if (state > NO_STATE) {
            book(state, MEMORY.getLong(state), caller);
        } else {
            leave(thread, caller);
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
        long state = stateOf(thread);
        if (state <= NO_STATE) {
            if (isVirtual(thread)) {
                return enterVirtual(thread, method);
            }
            state = attached(thread);
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
        long state = stateOf(thread);
        if (state <= NO_STATE && (isVirtual(thread) || (state = unplaced(thread)) == 0)) {
            leave(thread, call);
        } else if (call != NO_CALL) {
            endCalls(state, call);
            MEMORY.putLong(state, MEMORY.getLong(call));
        }
    }

    /** Ends the calls in this one, which ended by an exception. */
    public static void repairCall(long call, int method) {
        Thread thread = Thread.currentThread();
        long state = stateOf(thread);
        if (state <= NO_STATE && (isVirtual(thread) || (state = unplaced(thread)) == 0)) {
            leave(thread, next(call, method));
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

    /** The state of a thread; up to NO_STATE if it has none. */
    private static long stateOf(Thread thread) {
        if (FIELDS) {
            return thread.hprofState;
        }
        if (!HOLDER) {
            return -MEMORY.getLong(thread, STATE);
        }
        Thread.FieldHolder holder = holderOf(thread);
        return holder == null ? 0 : -holder.stackSize;
    }

    /** Null in a thread that is being attached, and in a virtual one that has called nothing. */
    private static Thread.FieldHolder holderOf(Thread thread) {
        return (Thread.FieldHolder) MEMORY.getReference(thread, IN_THREAD);
    }

    /** Whether a thread has a carrier, whose state it uses. Others that are called virtual are bound. */
    private static boolean isVirtual(Thread thread) {
        return HOLDER && thread instanceof VirtualThread;
    }

    /** The state of a thread that is not virtual, possibly since now. */
    private static long attached(Thread thread) {
        long state = stateOf(thread);
        if (state <= NO_STATE) {
            state = attach();
            if (FIELDS) {
                thread.hprofState = state;
                return state;
            }
            Object place = HOLDER ? holderOf(thread) : thread;
            if (place != null) {
                MEMORY.putLong(place, STATE, -state);
            }
        }
        return state;
    }

    private static long enterVirtual(Thread thread, int method) {
        long state = carrierState();
        long caller = nodeOf(thread);
        if (caller <= 0) {
            caller = root();
        }
        long node = next(caller, method);
        setNode(thread, node);
        MEMORY.putLong(state, node);
        long count = state + node;
        MEMORY.putLong(count, MEMORY.getLong(count) + 1);
        return caller;
    }

    /** The node of a virtual thread, 0 or less if it has none yet. */
    private static long nodeOf(Thread thread) {
        if (FIELDS) {
            return thread.hprofNode;
        }
        Thread.FieldHolder holder = holderOf(thread);
        return holder == null ? 0 : holder.stackSize;
    }

    private static void setNode(Thread thread, long node) {
        if (FIELDS) {
            thread.hprofNode = node;
            return;
        }
        Thread.FieldHolder holder = holderOf(thread);
        if (holder == null) {
            holder = newHolder(thread);
        }
        if (holder != null) {
            MEMORY.putLong(holder, STATE, node);
        }
    }

    /** Without its constructor, which has hooks. Null when there is no memory. */
    private static Thread.FieldHolder newHolder(Thread thread) {
        try {
            Object holder = MEMORY.allocateInstance(Thread.FieldHolder.class);
            MEMORY.putReference(thread, IN_THREAD, holder);
            return (Thread.FieldHolder) holder;
        } catch (InstantiationException | OutOfMemoryError e) {
            return null;
        }
    }

    /** The state of a thread that is not virtual and has no place for it yet; otherwise 0. */
    private static long unplaced(Thread thread) {
        return HOLDER && !FIELDS && holderOf(thread) == null ? attach() : 0;
    }

    /**
     * Sets the node of a thread that has no state in its place. One that has entered its methods
     * before the agent was detached has none.
     */
    @DontInline
    private static void leave(Thread thread, long node) {
        if (isVirtual(thread)) {
            setNode(thread, node);
            MEMORY.putLong(carrierState(), node);
        } else {
            long state = unplaced(thread);
            if (state != 0) {
                MEMORY.putLong(state, node);
            }
        }
    }

    /**
     * Out of line: a compiler takes the carrier for the same all through a method, but a virtual
     * thread may go on with another one after each call.
     */
    @DontInline
    private static long carrierState() {
        return attached(Thread.currentCarrierThread());
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

    /** The state of the system's current thread, possibly since now. */
    private static native long attach();

    /** The node of a thread that has called nothing. */
    private static native long root();

    /** The node after another one, found or made. */
    private static native long find(long node, int method);
}

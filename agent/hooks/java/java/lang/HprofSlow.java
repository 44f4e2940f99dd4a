package java.lang;

import static java.lang.HprofVariant.EIGHT;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * What methods of slow= call. Defined into java.base by the agent; its native methods, and the layout of the memory that it
 * reads and writes, are in the agent's module slow_calls.
 *
 * <p>A thread has a record while it is in a call: its id, the calls in progress, outermost first, and its CPU time when the
 * clock was read last. A virtual thread has one of its own, which it keeps while it is not mounted. A method has a block with
 * its counters.
 *
 * <p>Two calls of System.nanoTime are most of the cost. The CPU clock needs a system call, so it is read if that was not done
 * within the last {@link #CPU_AGE}; until then, the thread is taken to have run.
 */
public final class HprofSlow {
    private static final Unsafe MEMORY = Unsafe.getUnsafe();

    /** Addresses, which the agent writes into this class file in place of these constants. */
    private static final long RECORDS = 0x7265_636f_7264_7361L;

    private static final long METHODS = 0x6d65_7468_6f64_7361L;

    /** In a record: the id of its thread, or 0. */
    private static final int RECORD_BYTES = 512;

    private static final int RECORD_SHIFT = 9;
    private static final int RECORDS_LOG = 17;
    /** The records in which that of a thread may be. */
    private static final int PLACES = 8;

    private static final long SPREAD = 0x9e37_79b9_7f4a_7c15L;

    /** The bytes of the calls in progress. */
    private static final int USED = 8;

    private static final int LAST_WALL = 16;
    private static final int LAST_CPU = 24;
    /** What the CPU time of a virtual thread is more than that of its carrier. */
    private static final int MORE_CPU = 32;

    /** The request that the thread works for: the ids of its trace and span. */
    private static final int TRACE_HIGH = 40;

    private static final int TRACE_LOW = 48;
    private static final int SPAN = 56;
    /** When that began or ended; odd until it has ended. */
    private static final int SET = 64;

    /** A call in progress: the block of its method, when it began, and the CPU time then. */
    private static final int CALLS = 72;

    private static final int CALL_BYTES = 24;
    private static final int BEGAN = 8;
    private static final int CPU = 16;
    private static final int MOST_USED = (RECORD_BYTES - CALLS) / CALL_BYTES * CALL_BYTES;

    /** In the block of a method: calls that take as long are slow. */
    private static final int THRESHOLD = 0;

    /** Longer calls are among the slowest. */
    private static final int FLOOR = 8;

    private static final int RECURSIVE = 16;
    /** Calls that were not timed, as there was no room. */
    private static final int LOST = 24;
    /** Which calls are timed: those in which the count of calls has none of these bits. */
    private static final int SKIPPED = 32;

    /** Not 0 for a span. */
    private static final int IS_SPAN = 56;
    /** Spans that ended in another thread than they began in. */
    private static final int MOVED = 64;

    /** Threads count in one of four places. */
    private static final int STRIPES = 128;

    private static final int STRIPE_BITS = 3;
    private static final int WALL_SUM = 0;
    private static final int CPU_SUM = 8;
    private static final int SEEN = 16;
    private static final int COUNTERS = 64;

    /** Logarithm of the counters for each power of two. */
    private static final int PRECISION = 10;

    /** Logarithm of the longest time that has a counter of its own. */
    private static final int LONGEST = 42;

    private static final int COUNTER_COUNT = (LONGEST - PRECISION + 1) << PRECISION;
    private static final int STRIPE_BYTES = COUNTERS + COUNTER_COUNT * 8;

    /** Behind the blocks of methods: the number of the run, or 0. */
    private static final int RUN = 8000;

    /** Nanoseconds. */
    private static final long CPU_AGE = 50_000;

    /** Where a thread has its id. */
    private static final long TID = threadId();

    private HprofSlow() {}

    private static long threadId() {
        if (!EIGHT) {
            return MEMORY.objectFieldOffset(Thread.class, "tid");
        }
        try {
            return MEMORY.objectFieldOffset(Thread.class.getDeclaredField("tid"));
        } catch (NoSuchFieldException e) {
            throw new NoSuchFieldError("tid");
        }
    }

    /** Called first in a method: returns the place of the call, or 0 if it is not timed. */
    public static long enter(int method) {
        long block = MEMORY.getLong(METHODS + ((long) method << 3));
        if (block == 0) {
            return 0;
        }
        long record = record();
        if (record == 0) {
            MEMORY.getAndAddLong(null, block + LOST, 1);
            return 0;
        }
        long used = MEMORY.getLong(record + USED);
        long call = record + CALLS + used;
        for (long other = record + CALLS; other < call; other += CALL_BYTES) {
            if (MEMORY.getLong(other) == block) {
                MEMORY.getAndAddLong(null, block + RECURSIVE, 1);
                return 0;
            }
        }
        long skipped = MEMORY.getLong(block + SKIPPED);
        if (skipped != 0 && isSkipped(stripe(block, record), skipped)) {
            return 0;
        }
        if (used == MOST_USED) {
            leave(record, call);
            used = MEMORY.getLong(record + USED);
            if (used == MOST_USED) {
                MEMORY.getAndAddLong(null, block + LOST, 1);
                return 0;
            }
            call = record + CALLS + used;
        }
        long now = System.nanoTime();
        long age = now - MEMORY.getLong(record + LAST_WALL);
        if (age < 0 || age > CPU_AGE) {
            now = readCpu(record);
            age = 0;
        }
        MEMORY.putLong(call, block);
        MEMORY.putLong(call + BEGAN, now);
        MEMORY.putLong(call + CPU, MEMORY.getLong(record + LAST_CPU) + age);
        MEMORY.putLong(record + USED, used + CALL_BYTES);
        return call;
    }

    /** Called before a return, and where an exception leaves the method, with what enter returned. */
    public static void exit(long call) {
        if (call == 0) {
            return;
        }
        long block = MEMORY.getLong(call);
        long record = call & -RECORD_BYTES;
        if (block == 0) {
            // The run in which it began is over. Or it has ended, and then the hook has thrown.
            leave(record, call);
            return;
        }
        end(block, record, call, call);
    }

    /** A call ends; the place at `left` and those behind it are free. */
    private static void end(long block, long record, long call, long left) {
        long now = System.nanoTime();
        long age = now - MEMORY.getLong(record + LAST_WALL);
        if (age < 0 || age > CPU_AGE) {
            readCpu(record);
            age = 0;
        }
        long began = MEMORY.getLong(call + BEGAN);
        long wall = now - began;
        long cpu = MEMORY.getLong(record + LAST_CPU) + age - MEMORY.getLong(call + CPU);
        cpu = cpu < 0 ? 0 : cpu > wall ? wall : cpu;
        MEMORY.putLong(call, 0);
        leave(record, left);
        long stripe = stripe(block, record);
        MEMORY.getAndAddLong(null, stripe + WALL_SUM, wall);
        MEMORY.getAndAddLong(null, stripe + CPU_SUM, cpu);
        MEMORY.getAndAddLong(null, stripe + COUNTERS + (counter(wall) << 3), 1);
        if (wall >= MEMORY.getLong(block + THRESHOLD) || wall > MEMORY.getLong(block + FLOOR)) {
            ended(block, began, wall, cpu);
        }
    }

    /** Frees the place of a call, those behind it, and places before it whose spans have ended. */
    private static void leave(long record, long call) {
        while (call > record + CALLS && MEMORY.getLong(call - CALL_BYTES) == 0) {
            call -= CALL_BYTES;
        }
        if (call - record - CALLS < MEMORY.getLong(record + USED)) {
            MEMORY.putLong(record + USED, call - record - CALLS);
        }
    }

    /** The number of the run that times calls, 0 for none. */
    static long run() {
        // The compiler would add two constants up.
        long methods = METHODS;
        return MEMORY.getLong(methods + RUN);
    }

    static long blockOf(long call) {
        return MEMORY.getLong(call);
    }

    static long beganOf(long call) {
        return MEMORY.getLong(call + BEGAN);
    }

    /** Ends a span, with what its place had when it began, in the run of that time. */
    static void exitSpan(long call, long block, long began, long run) {
        long record = call & -RECORD_BYTES;
        boolean isHere = MEMORY.getLong(call) == block && MEMORY.getLong(call + BEGAN) == began;
        if (isHere && MEMORY.getLong(record) == MEMORY.getLong(Thread.currentThread(), TID)) {
            long end = record + CALLS + MEMORY.getLong(record + USED);
            // Spans in it were not closed, or will be; methods in it will return.
            end(block, record, call, hasMethod(call + CALL_BYTES, end) ? end : call);
            return;
        }
        if (isHere) {
            // The thread that began it frees the place.
            MEMORY.putLong(call, 0);
        }
        if (run == run()) {
            endElsewhere(block, began);
        }
    }

    private static boolean hasMethod(long call, long end) {
        for (; call < end; call += CALL_BYTES) {
            long block = MEMORY.getLong(call);
            if (block != 0 && MEMORY.getLong(block + IS_SPAN) == 0) {
                return true;
            }
        }
        return false;
    }

    /** A span ends in another thread than it began in, or after a span around it. Its CPU time is not known. */
    private static void endElsewhere(long block, long began) {
        long wall = System.nanoTime() - began;
        MEMORY.getAndAddLong(null, block + MOVED, 1);
        MEMORY.getAndAddLong(null, block + STRIPES + WALL_SUM, wall);
        MEMORY.getAndAddLong(null, block + STRIPES + COUNTERS + (counter(wall) << 3), 1);
        if (wall >= MEMORY.getLong(block + THRESHOLD) || wall > MEMORY.getLong(block + FLOOR)) {
            ended(block, began, wall, -1);
        }
    }

    /** The current thread works for this request; zeros for none. */
    static void context(long traceHigh, long traceLow, long span) {
        long record = record();
        if (record == 0) {
            return;
        }
        long now = System.nanoTime();
        if ((traceHigh | traceLow) == 0) {
            // The ids stay: of a call that ends later, it was a part.
            if ((MEMORY.getLong(record + SET) & 1) != 0) {
                MEMORY.putLong(record + SET, now & -2);
            }
            return;
        }
        MEMORY.putLong(record + TRACE_HIGH, traceHigh);
        MEMORY.putLong(record + TRACE_LOW, traceLow);
        MEMORY.putLong(record + SPAN, span);
        MEMORY.putLong(record + SET, now | 1);
    }

    /** Not called. */
    public static void repair(long call, int method) {}

    /** Not called. */
    public static void count(int method) {}

    /** The record of the current thread, possibly since now; 0 if there is no room. */
    private static long record() {
        long tid = MEMORY.getLong(Thread.currentThread(), TID);
        long record = RECORDS + (tid * SPREAD >>> (64 - RECORDS_LOG) << RECORD_SHIFT);
        return MEMORY.getLong(record) == tid ? record : another(record, tid);
    }

    /** Where a thread counts. */
    private static long stripe(long block, long record) {
        return block + STRIPES + (record >>> RECORD_SHIFT & STRIPE_BITS) * STRIPE_BYTES;
    }

    /** The number of the counter of a time. */
    private static long counter(long wall) {
        if (wall >>> (PRECISION + 1) == 0) {
            return wall;
        }
        int bits = 64 - Long.numberOfLeadingZeros(wall);
        if (bits > LONGEST) {
            return COUNTER_COUNT - 1;
        }
        int shift = bits - PRECISION - 1;
        return ((long) shift << PRECISION) + (wall >>> shift);
    }

    /** Counts a call of a method of which not all are timed. Returns whether it is one of the others. */
    private static boolean isSkipped(long stripe, long skipped) {
        long seen = MEMORY.getLong(stripe + SEEN);
        MEMORY.putLong(stripe + SEEN, seen + 1);
        return (seen & skipped) != 0;
    }

    /** Reads the CPU clock. Returns when. */
    @DontInline
    private static long readCpu(long record) {
        long cpu = cpu();
        long now = System.nanoTime();
        MEMORY.putLong(record + LAST_CPU, cpu + MEMORY.getLong(record + MORE_CPU));
        MEMORY.putLong(record + LAST_WALL, now);
        return now;
    }

    /** The record of a thread that is not in its first place, possibly since now; 0 if there is no room. */
    @DontInline
    private static long another(long first, long tid) {
        for (int place = 1; place < PLACES; place++) {
            long record = first + ((long) place << RECORD_SHIFT);
            if (MEMORY.getLong(record) == tid) {
                return record;
            }
        }
        return claim(first, tid);
    }

    /**
     * Lets the VM prepare {@link Started} while two methods of this class are running: the agent
     * then registers the native methods. Without callers from java.base, the VM prints a warning.
     */
    public static void start() {
        prepare();
        // Once before the first hook, which must not be what loads or links anything. The record is one that no thread has.
        long record = RECORDS;
        record += (long) PLACES + (1L << RECORDS_LOG) << RECORD_SHIFT;
        readCpu(record);
    }

    private static void prepare() {
        Started.start();
    }

    /** See {@link #start}. */
    static final class Started {
        private Started() {}

        static void start() {}
    }

    /** The CPU time of the system's current thread, in nanoseconds. */
    private static native long cpu();

    /** Takes a record for a thread. */
    private static native long claim(long first, long tid);

    /** The number of spans of a name; negative if they are not timed. */
    static native int span(String name);

    /** Takes note of a long call that has ended. CPU time is negative where it is not known. */
    private static native void ended(long block, long began, long wall, long cpu);
}

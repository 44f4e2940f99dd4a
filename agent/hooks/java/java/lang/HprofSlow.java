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

    /** A call in progress: the block of its method, when it began, and the CPU time then. */
    private static final int CALLS = 48;

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

    /** Threads count in one of four places. */
    private static final int STRIPES = 64;

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
        long tid = MEMORY.getLong(Thread.currentThread(), TID);
        long record = RECORDS + (tid * SPREAD >>> (64 - RECORDS_LOG) << RECORD_SHIFT);
        if (MEMORY.getLong(record) != tid) {
            record = another(record, tid);
            if (record == 0) {
                MEMORY.getAndAddLong(null, block + LOST, 1);
                return 0;
            }
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
            MEMORY.getAndAddLong(null, block + LOST, 1);
            return 0;
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
            MEMORY.putLong(record + USED, call - record - CALLS);
            return;
        }
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
        MEMORY.putLong(record + USED, call - record - CALLS);
        long stripe = stripe(block, record);
        MEMORY.getAndAddLong(null, stripe + WALL_SUM, wall);
        MEMORY.getAndAddLong(null, stripe + CPU_SUM, cpu);
        MEMORY.getAndAddLong(null, stripe + COUNTERS + (counter(wall) << 3), 1);
        if (wall >= MEMORY.getLong(block + THRESHOLD) || wall > MEMORY.getLong(block + FLOOR)) {
            ended(block, began, wall, cpu);
        }
    }

    /** Not called. */
    public static void repair(long call, int method) {}

    /** Not called. */
    public static void count(int method) {}

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

    /** Takes note of a long call that has ended. */
    private static native void ended(long block, long began, long wall, long cpu);
}

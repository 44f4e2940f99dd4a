package java.lang;

import sun.misc.Unsafe;

/**
 * Called by StampedLock, Exchanger and ForkJoinPool of JDK 8: they note by themselves what a thread parks for. Later ones call
 * LockSupport.
 */
public final class HprofLocks$Notes {
    private HprofLocks$Notes() {}

    /** Called in place of the method of Unsafe. */
    public static void putObject(Unsafe memory, Object object, long offset, Object value) {
        memory.putObject(object, offset, value);
        HprofLocks.exit(HprofLocks.BLOCKER);
    }
}

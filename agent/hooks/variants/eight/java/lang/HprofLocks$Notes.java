package java.lang;

import sun.misc.Unsafe;

/**
 * What StampedLock, Exchanger and ForkJoinPool of JDK 8 call: they note what a thread parks for by themselves, where later
 * ones call LockSupport.
 */
public final class HprofLocks$Notes {
    private HprofLocks$Notes() {}

    /** Called in place of the method of Unsafe. */
    public static void putObject(Unsafe memory, Object object, long offset, Object value) {
        memory.putObject(object, offset, value);
        HprofLocks.exit(HprofLocks.BLOCKER);
    }
}

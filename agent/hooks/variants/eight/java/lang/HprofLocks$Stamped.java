package java.lang;

import sun.misc.Unsafe;

/**
 * What StampedLock of JDK 8 calls: it notes what a thread parks for by itself, where later ones call LockSupport.
 */
public final class HprofLocks$Stamped {
    private HprofLocks$Stamped() {}

    /** Called in place of the method of Unsafe. */
    public static void putObject(Unsafe memory, Object object, long offset, Object value) {
        memory.putObject(object, offset, value);
        HprofLocks.exit(HprofLocks.BLOCKER);
    }
}

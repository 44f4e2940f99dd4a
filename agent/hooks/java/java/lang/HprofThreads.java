package java.lang;

import static java.lang.HprofVariant.EIGHT;

import jdk.internal.misc.Unsafe;

/**
 * Keeps the state of HprofHooks in threads while they are made. Defined into java.base by the agent
 * where Thread itself has the field with the size of its stack.
 *
 * <p>A thread that attaches itself runs the constructor of its own object, which sets that field, while
 * methods that have hooks are running.
 */
public final class HprofThreads {
    private static final Unsafe MEMORY = Unsafe.getUnsafe();

    /** Where a thread has the size of its stack. */
    static final long STACK_SIZE = stackSize();

    private HprofThreads() {}

    private static long stackSize() {
        if (!EIGHT) {
            return MEMORY.objectFieldOffset(Thread.class, "stackSize");
        }
        try {
            return MEMORY.objectFieldOffset(Thread.class.getDeclaredField("stackSize"));
        } catch (NoSuchFieldException e) {
            throw new NoSuchFieldError("stackSize");
        }
    }

    /**
     * Called by the constructor of Thread, as the agent rewrites it, where it sets the field. For the
     * VM, what is less than 0 is no size either.
     */
    public static void setStackSize(Thread thread, long size) {
        if (thread != Thread.currentThread()) {
            MEMORY.putLong(thread, STACK_SIZE, size < 0 ? 0 : size);
        }
    }
}

package java.lang;

/**
 * Stands for the JDK's Thread while the hook classes are compiled; it is not part of the library. The
 * fields of these names are private there.
 */
public class Thread {
    /** Added by the agent if it sees the VM load that class. */
    long hprofState;

    /** Added with the other one. */
    long hprofNode;

    public static native Thread currentThread();

    /** Since JDK 19; called for virtual threads only. */
    static native Thread currentCarrierThread();

    /** Since JDK 19. */
    static class FieldHolder {
        /** Final there: written as memory only. */
        long stackSize;
    }
}

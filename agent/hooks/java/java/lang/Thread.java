package java.lang;

/**
 * Stands for the JDK's Thread while HprofHooks is compiled; it is not part of the library. The two
 * fields are those the agent adds when the VM loads that class, if it is there before.
 */
public class Thread {
    long hprofState;
    long hprofNode;

    public static native Thread currentThread();

    /** Since JDK 19; called for virtual threads only. */
    static native Thread currentCarrierThread();
}

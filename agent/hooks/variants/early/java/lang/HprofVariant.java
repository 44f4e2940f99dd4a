package java.lang;

/** Which variant of HprofHooks is compiled; the compiler leaves out what the other one needs. */
final class HprofVariant {
    /** Whether the VM was up before the agent came, so that Thread can have no fields of ours. */
    static final boolean LATE = false;

    private HprofVariant() {}
}

package java.lang;

/** Which variant of HprofHooks is compiled; the compiler leaves out what the other one needs. */
final class HprofVariant {
    /** Whether Thread has what the VM reads of it in another object, as since JDK 19. */
    static final boolean HOLDER = false;

    private HprofVariant() {}
}

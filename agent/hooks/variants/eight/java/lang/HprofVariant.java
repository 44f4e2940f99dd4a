package java.lang;

/** Which variant of HprofHooks is compiled; the compiler leaves out what the others need. */
final class HprofVariant {
    /** Whether Thread has fields of ours. */
    static final boolean FIELDS = false;

    /** Whether Thread has what the VM reads of it in another object, as since JDK 19. */
    static final boolean HOLDER = false;

    /** Whether the JDK is JDK 8, whose Unsafe knows fields by reflection only. */
    static final boolean EIGHT = true;

    private HprofVariant() {}
}

package java.lang;

/** Hooks that do nothing, for verifying rewritten classes. Patched into java.base. */
public final class HprofHooks {
    private HprofHooks() {}

    public static long enter(int method) {
        return method;
    }

    public static void exit(long entered) {}

    public static void repair(long entered, int method) {}

    public static void count(int method) {}
}

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Spans of hprof-rs, for a program to copy: it needs no library, and does nothing where no agent times spans.
 *
 * <pre>
 * try (Spans.Span span = Spans.start("checkout")) {
 *     ...
 * }
 * </pre>
 */
public final class Spans {
    /** A part of the program's work that is timed. */
    public interface Span extends AutoCloseable {
        /** Ends it. */
        @Override
        void close();
    }

    private static final Span NONE = () -> {};
    private static final long LOOK_AGAIN = 1_000_000_000L;

    private static volatile MethodHandle start;
    private static volatile MethodHandle context;
    private static volatile long nextLook = System.nanoTime();

    private Spans() {}

    /** Begins a span in the current thread, which is to end it. Names are few: without ids and numbers. */
    public static Span start(String name) {
        if (!isThere()) {
            return NONE;
        }
        try {
            AutoCloseable span = (AutoCloseable) start.invokeExact(name);
            return () -> end(span);
        } catch (Throwable e) {
            return NONE;
        }
    }

    /** The current thread works for this request from now on: the two halves of its trace's id, and its span's id; 0 for none. */
    public static void request(long traceHigh, long traceLow, long span) {
        if (!isThere()) {
            return;
        }
        try {
            context.invokeExact(traceHigh, traceLow, span);
        } catch (Throwable e) {
            // A profiler is no reason to fail.
        }
    }

    private static void end(AutoCloseable span) {
        try {
            span.close();
        } catch (Exception e) {
            // It throws none.
        }
    }

    /** An agent with spans=y or slow= is there, or was. One that comes later is found within a second. */
    static boolean isThere() {
        return start != null || look();
    }

    private static boolean look() {
        long now = System.nanoTime();
        if (now - nextLook < 0) {
            return false;
        }
        nextLook = now + LOOK_AGAIN;
        try {
            Class<?> type = Class.forName("java.lang.HprofSpan", true, null);
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            MethodType ofContext = MethodType.methodType(void.class, long.class, long.class, long.class);
            context = lookup.findStatic(type, "context", ofContext);
            MethodHandle found = lookup.findStatic(type, "start", MethodType.methodType(type, String.class));
            start = found.asType(MethodType.methodType(AutoCloseable.class, String.class));
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }
}

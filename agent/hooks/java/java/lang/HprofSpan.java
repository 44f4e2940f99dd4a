package java.lang;

import java.util.concurrent.ConcurrentHashMap;

/**
 * A part of a program's work that the program names, timed as a call of slow= is. Defined into java.base by the agent in runs
 * with slow= or spans=y, so that a program needs no library: it finds this class by its name and calls it by reflection or
 * through method handles.
 *
 * <p>A span belongs to the thread that begins it, and is to be closed in that thread: a span that another thread closes has its
 * time and no CPU time. While a span is open, others of its name in the same thread are part of it.
 */
public final class HprofSpan implements AutoCloseable {
    private static final HprofSpan NONE = new HprofSpan(0, 0, 0, 0);

    /** Names that are found here, at most; others are asked of the agent each time. */
    private static final int MOST_NAMES = 10_000;

    /** The numbers of names. A negative one is that of the run which does not time such spans. */
    private static final ConcurrentHashMap<String, Integer> NUMBERS = new ConcurrentHashMap<>();

    private long call;
    private final long block;
    private final long began;
    private final long run;

    private HprofSpan(long call, long block, long began, long run) {
        this.call = call;
        this.block = block;
        this.began = began;
        this.run = run;
    }

    /** Begins a span in the current thread. Names are few: without ids or numbers that differ from span to span. */
    public static HprofSpan start(String name) {
        long run = HprofSlow.run();
        if (run == 0 || name == null) {
            return NONE;
        }
        Integer known = NUMBERS.get(name);
        int number = known == null ? 0 : known;
        if (known == null || number < 0 && number != -run) {
            number = ask(name, run);
        }
        if (number < 0) {
            return NONE;
        }
        long call = HprofSlow.enter(number);
        return call == 0 ? NONE : new HprofSpan(call, HprofSlow.blockOf(call), HprofSlow.beganOf(call), run);
    }

    /** Ends it. Later calls do nothing. */
    @Override
    public void close() {
        long ended = call;
        if (ended != 0) {
            call = 0;
            HprofSlow.exitSpan(ended, block, began, run);
        }
    }

    /**
     * Names the request that the current thread works for from now on, by the ids of its trace (two halves) and of its span, as
     * OpenTelemetry has them; zeros for none. The slowest calls show it.
     */
    public static void context(long traceHigh, long traceLow, long span) {
        if (HprofSlow.run() != 0) {
            HprofSlow.context(traceHigh, traceLow, span);
        }
    }

    private static int ask(String name, long run) {
        int number = HprofSlow.span(name);
        if (number < 0) {
            number = (int) -run;
        }
        if (NUMBERS.size() < MOST_NAMES) {
            NUMBERS.put(name, number);
        }
        return number;
    }
}

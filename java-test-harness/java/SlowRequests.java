import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.ThreadLocalContextStorage;

/**
 * Six calls of handle, by a program that knows nothing of the agent: for no request, for the request A, for B within it, for A
 * again, in a context without a span, and for no request. Another thread works for B all the while, and calls nothing. With the
 * argument "many", 40 calls of waits before, 2 ms each, of which every second one is for a request of its own, from 1 on.
 */
@SuppressWarnings("try")
public class SlowRequests {
    static final Context A = context("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    static final Context B = context("000000000000000000000000000000ab", "ffffffffffffffff");
    static volatile long sink;

    static Context context(String trace, String span) {
        return Context.with(Span.of(trace, span));
    }

    static Scope attach(Context context) {
        return ThreadLocalContextStorage.INSTANCE.attach(context);
    }

    static void handle() {
        sink++;
    }

    static void waits() throws InterruptedException {
        Thread.sleep(2);
    }

    static void many() throws InterruptedException {
        for (int number = 1; number <= 20; number++) {
            try (Scope scope = attach(context(String.format("%032x", number), String.format("%016x", 1000 + number)))) {
                waits();
            }
            waits();
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            many();
        }
        Thread other = new Thread(() -> {
            try (Scope b = attach(B)) {
                sink++;
            }
        });
        other.start();
        other.join();
        handle();
        try (Scope a = attach(A)) {
            handle();
            try (Scope b = attach(B)) {
                handle();
            }
            handle();
        }
        try (Scope none = attach(Context.with("no span"))) {
            handle();
        }
        handle();
    }
}

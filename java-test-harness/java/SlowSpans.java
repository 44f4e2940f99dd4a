import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Spans of known numbers and times, by the class Spans. Three threads "worker-0" to "worker-2" have 200 spans "handle" each: number
 * 50 of worker-1 waits for 120 ms and works for a request with a known trace. Then main has the others. With the argument
 * "virtual", 1,000 virtual threads have a span each. Prints whether the agent's class is there.
 */
@SuppressWarnings("try")
public class SlowSpans {
    static volatile long sink;

    static void handle(int worker, int number) throws InterruptedException {
        try (Spans.Span span = Spans.start("handle")) {
            if (worker == 1 && number == 50) {
                Spans.request(0x4bf92f3577b34da6L, 0xa3ce929d0e0e4736L, 0x00f067aa0ba902b7L);
                Thread.sleep(120);
                Spans.request(0, 0, 0);
            }
            sink += number;
        }
    }

    static void recursive(int depth) {
        try (Spans.Span span = Spans.start("recursive")) {
            sink++;
            if (depth > 0) {
                recursive(depth - 1);
            }
        }
    }

    static void fails() {
        try (Spans.Span span = Spans.start("fails")) {
            throw new IllegalStateException("in a span");
        } catch (IllegalStateException e) {
            sink++;
        }
    }

    /** Ends a span of its caller, then calls a timed method. */
    static void inner(Spans.Span around) {
        around.close();
        for (int i = 0; i < 3; i++) {
            leaf();
        }
    }

    static void leaf() {
        try (Spans.Span span = Spans.start("in leaf")) {
            sink++;
        }
    }

    static void startAll(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static void workers() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int worker = i;
            threads.add(new Thread(() -> {
                try {
                    for (int number = 0; number < 200; number++) {
                        handle(worker, number);
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }, "worker-" + worker));
        }
        startAll(threads);
    }

    /** Begun in this thread, ended in another one: 30 more than a thread has room for at a time. */
    static void moved() throws InterruptedException {
        for (int i = 0; i < 50; i++) {
            Spans.Span span = Spans.start("moved");
            startAll(only(new Thread(span::close)));
        }
    }

    static List<Thread> only(Thread thread) {
        List<Thread> threads = new ArrayList<>();
        threads.add(thread);
        return threads;
    }

    static void crossed() {
        for (int i = 0; i < 20; i++) {
            Spans.Span first = Spans.start("first");
            Spans.Span second = Spans.start("second");
            first.close();
            second.close();
        }
    }

    static void forgotten() {
        for (int i = 0; i < 30; i++) {
            try (Spans.Span outer = Spans.start("outer")) {
                Spans.start("forgotten");
            }
        }
        Spans.start("forgotten").close();
    }

    static void virtual() throws Exception {
        int count = 1000;
        CountDownLatch done = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            Runnable body = () -> {
                try (Spans.Span span = Spans.start("virtual")) {
                    Thread.sleep(2);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                done.countDown();
            };
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        }
        done.await();
    }

    public static void main(String[] args) throws Exception {
        boolean isThere;
        try {
            Class.forName("java.lang.HprofSpan");
            isThere = true;
        } catch (ClassNotFoundException e) {
            isThere = false;
        }
        if (isThere && !Spans.isThere()) {
            // It may have looked a moment ago.
            Thread.sleep(1100);
        }
        System.out.println("spans " + isThere + " " + Spans.isThere());
        workers();
        for (int i = 0; i < 5; i++) {
            recursive(2);
        }
        for (int i = 0; i < 40; i++) {
            fails();
        }
        Spans.Span twice = Spans.start("twice");
        twice.close();
        twice.close();
        Spans.start("odd\n\"name\", with {all}").close();
        moved();
        crossed();
        forgotten();
        inner(Spans.start("around"));
        if (args.length > 0 && args[0].equals("virtual")) {
            virtual();
        }
        System.out.println("done");
    }
}

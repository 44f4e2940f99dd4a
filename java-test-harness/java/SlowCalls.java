import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Calls of known times. Three threads "worker-0" to "worker-2" call Api.handle 200 times each: call 50 of worker-1 waits for 120
 * ms, call 150 of worker-2 computes for 60 ms of CPU time, all others do next to nothing. Then main calls the other methods. With
 * an argument, waits before that until its file is there, once "ready" is printed.
 */
public class SlowCalls {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    /** Has no code. */
    interface Service {
        int serve(int n);
    }

    static class Api implements Service {
        void handle(int worker, int call) {
            if (worker == 1 && call == 50) {
                waits(120);
            } else if (worker == 2 && call == 150) {
                computes(60);
            } else {
                sink += call;
            }
        }

        static void waits(int millis) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        static void computes(int millis) {
            long end = THREADS.getCurrentThreadCpuTime() + millis * 1_000_000L;
            while (THREADS.getCurrentThreadCpuTime() < end) {
                for (int i = 0; i < 1000; i++) {
                    sink += i;
                }
            }
        }

        /** No handler of it catches what it throws. */
        static void fails(int n) {
            try {
                if (n % 2 == 0) {
                    throw new IllegalStateException("even");
                }
                throw new UnsupportedOperationException("odd");
            } catch (UnsupportedOperationException e) {
                sink++;
            }
        }

        int recursive(int depth) {
            return depth == 0 ? 0 : 1 + recursive(depth - 1);
        }

        synchronized double locked(long a, double b, String text, int[] numbers) {
            double sum = a + b;
            synchronized (text) {
                for (int number : numbers) {
                    switch (number) {
                        case 0:
                            sum += 1;
                            break;
                        case 7:
                            throw new IllegalArgumentException(text);
                        default:
                            sum += number;
                    }
                }
            }
            return sum;
        }

        int overloaded(int n) {
            return n;
        }

        String overloaded(String s) {
            return s;
        }

        public int serve(int n) {
            return n;
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            new Api().serve(0);
            System.out.println("ready");
            while (!new java.io.File(args[0]).exists()) {
                Thread.sleep(5);
            }
        }
        Api api = new Api();
        Thread[] workers = new Thread[3];
        for (int w = 0; w < workers.length; w++) {
            int worker = w;
            workers[w] = new Thread(() -> {
                for (int call = 0; call < 200; call++) {
                    api.handle(worker, call);
                }
            }, "worker-" + w);
            workers[w].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        int caught = 0;
        for (int n = 0; n < 40; n++) {
            try {
                Api.fails(n);
            } catch (IllegalStateException e) {
                caught++;
            }
        }
        for (int n = 0; n < 30; n++) {
            caught += api.recursive(9) - 9;
        }
        for (int n = 0; n < 10; n++) {
            try {
                sink += (long) api.locked(n, 0.5, "lock", new int[] {0, 3, n});
            } catch (IllegalArgumentException e) {
                caught++;
            }
        }
        for (int n = 0; n < 5; n++) {
            caught += api.overloaded(n) - n;
            api.overloaded("text");
            api.serve(n);
        }
        System.out.println("caught " + caught);
    }
}

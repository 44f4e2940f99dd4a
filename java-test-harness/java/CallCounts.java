import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Calls of known numbers, by every way there is. With "virtual", by 10,000 virtual threads too. */
public class CallCounts {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static void thrower(int frames) {
        if (frames == 0) {
            throw new IllegalStateException();
        }
        thrower(frames - 1);
    }

    static void caught() {}

    static void finished() {}

    /** 100 exceptions through ten frames each. */
    static void exceptions() {
        for (int i = 0; i < 100; i++) {
            try {
                thrower(9);
            } catch (IllegalStateException e) {
                caught();
            } finally {
                finished();
            }
        }
    }

    static int endless(int depth) {
        return endless(depth + 1) + 1;
    }

    static void overflowed() {}

    static void overflows() {
        for (int i = 0; i < 20; i++) {
            try {
                endless(0);
            } catch (StackOverflowError e) {
                overflowed();
            }
        }
    }

    static class Refusing {
        Refusing(boolean refuse) {
            if (refuse) {
                throw new IllegalArgumentException();
            }
        }
    }

    static class Derived extends Refusing {
        Derived() {
            super(argument());
        }

        static boolean argument() {
            return true;
        }
    }

    static void constructors() {
        for (int i = 0; i < 50; i++) {
            try {
                new Derived();
            } catch (IllegalArgumentException e) {
                caught();
            }
        }
    }

    static synchronized void locked(int depth) {
        if (depth == 0) {
            throw new IllegalStateException();
        }
        locked(depth - 1);
    }

    static void locks() {
        for (int i = 0; i < 30; i++) {
            try {
                locked(5);
            } catch (IllegalStateException e) {
                caught();
            }
        }
    }

    public static int reflected(int x) {
        return x;
    }

    static void reflection() throws Exception {
        Method method = CallCounts.class.getMethod("reflected", int.class);
        for (int i = 0; i < 3000; i++) {
            method.invoke(null, i);
        }
    }

    static void fromLambda(int x) {}

    static void lambdas() {
        for (int i = 0; i < 100; i++) {
            Arrays.asList(1, 2, 3).forEach(x -> fromLambda(x));
        }
    }

    static void inThread() {
        for (int i = 0; i < 1000; i++) {
            leaf();
        }
    }

    static void leaf() {}

    static void threads() throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            threads.add(new Thread(CallCounts::inThread));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static void inSizedThread() {
        leafOfSized();
    }

    static void leafOfSized() {}

    /** Threads whose creator wants stacks of some size, or of what is no size. */
    static void sizes() throws Exception {
        for (long size : new long[] {1 << 20, 300_000, -5, -(5L << 40)}) {
            for (int i = 0; i < 5; i++) {
                Thread thread = new Thread(null, CallCounts::inSizedThread, "sized", size);
                thread.start();
                thread.join();
            }
        }
    }

    static void dying(int frames) {
        if (frames == 0) {
            throw new IllegalStateException();
        }
        dying(frames - 1);
    }

    static void handled() {}

    static void deaths() throws Exception {
        for (int i = 0; i < 20; i++) {
            Thread thread = new Thread(() -> dying(4));
            thread.setUncaughtExceptionHandler((which, why) -> handled());
            thread.start();
            thread.join();
        }
    }

    static void inVirtualThread() {
        for (int i = 0; i < 10; i++) {
            virtualLeaf();
            if (i == 5) {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }
    }

    static void virtualLeaf() {}

    static void virtualThreads() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 10000; i++) {
            threads.add((Thread) start.invoke(null, (Runnable) CallCounts::inVirtualThread));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(fib(15));
        exceptions();
        overflows();
        constructors();
        locks();
        reflection();
        lambdas();
        threads();
        sizes();
        deaths();
        if (Arrays.asList(args).contains("virtual")) {
            virtualThreads();
        }
        System.out.println("done");
    }
}

package test;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

/** Runs through all kinds of code, and prints what came of it. */
public final class Behaviour {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    /** The branch back goes to the first instruction. */
    static int loopToStart(int n) {
        while (true) {
            if (n > 100) return n;
            n += n + 1;
        }
    }

    static void thrower(int depth) {
        if (depth == 0) throw new IllegalStateException("deep");
        thrower(depth - 1);
    }

    static String catcher(long unused, double alsoUnused, String text) {
        String result = text;
        for (int round = 0; round < 3; round++) {
            try {
                thrower(10);
                result += "never";
            } catch (IllegalStateException | IllegalArgumentException problem) {
                String message = problem.getMessage();
                result += message;
            } finally {
                result += round;
            }
        }
        return result;
    }

    static int finallyReturns() {
        try {
            thrower(1);
            return 1;
        } catch (RuntimeException problem) {
            return 2;
        } finally {
            fib(1);
        }
    }

    static Object lock = new Object();
    static int deepest;

    /** javac's handler for the monitor is in its own range. */
    static void overflow(int depth) {
        synchronized (lock) {
            deepest = depth;
            overflow(depth + 1);
        }
    }

    static void overflowFinally(int depth) {
        try {
            deepest = depth;
            overflowFinally(depth + 1);
        } finally {
            deepest--;
        }
    }

    static int overflows() {
        int caught = 0;
        for (int round = 0; round < 20; round++) {
            try {
                if (round % 2 == 0) overflow(0);
                else overflowFinally(0);
            } catch (StackOverflowError expected) {
                caught++;
            }
            if (Thread.holdsLock(lock)) caught += 1000;
        }
        return caught;
    }

    static class Base {
        final int value;

        Base(int value) {
            if (value < 0) throw new IllegalArgumentException("negative");
            this.value = value;
        }
    }

    static class Derived extends Base {
        final String name;

        Derived(String name, int value, long more) {
            super(name == null ? value + 1 : name.length() > 3 ? fib(value) : loopToStart(value));
            this.name = more > 5 ? name : "few";
        }

        @Override
        public String toString() {
            return name + value;
        }
    }

    static String switches(int key, String text) {
        StringBuilder out = new StringBuilder();
        switch (key) {
            case 1: out.append("one");
            case 2: out.append("two"); break;
            case 3: return "three";
            default: out.append("other");
        }
        switch (text) {
            case "alpha": return out + "A";
            case "beta": out.append("B"); break;
            case "gamma": throw new IllegalArgumentException(out.toString());
        }
        for (int at = 0; at < 3; at++) {
            switch (at * 1000) {
                case 0: continue;
                case 1000: out.append(at);
            }
            long wide = at * 7L;
            double wider = wide / 2.0;
            if (wider > 3) out.append(wider);
        }
        return out.toString();
    }

    static int lambdas() {
        List<IntSupplier> all = new ArrayList<>();
        for (int at = 0; at < 5; at++) {
            int value = at;
            all.add(() -> value * 2);
        }
        int sum = 0;
        for (IntSupplier each : all) sum += each.getAsInt();
        return sum;
    }

    static int manyLocals(int a, long b, Object c, float d, double[] e) {
        int result = a;
        if (b > 0) {
            long x = b * 2;
            Object y = c;
            if (y != null) {
                double z = e[0];
                result += (int) (x + z);
            }
            String s = "s" + x;
            if (s.length() > 1) result++;
        }
        float f = d;
        while (f > 1) {
            int inner = (int) f;
            f /= 2;
            result += inner;
        }
        return result;
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(fib(15));
        System.out.println(loopToStart(3));
        System.out.println(catcher(1, 2, "start"));
        System.out.println(finallyReturns());
        System.out.println(overflows());
        System.out.println(new Derived("name", 10, 6) + " " + new Derived("x", 10, 1));
        try {
            System.out.println(new Derived(null, -5, 1));
        } catch (IllegalArgumentException expected) {
            System.out.println(expected.getMessage());
        }
        for (String text : List.of("alpha", "beta", "gamma", "delta")) {
            for (int key = 1; key < 5; key++) {
                try {
                    System.out.println(switches(key, text));
                } catch (IllegalArgumentException expected) {
                    System.out.println("thrown " + expected.getMessage());
                }
            }
        }
        System.out.println(lambdas());
        System.out.println(manyLocals(1, 2, "", 9.5f, new double[] {3}));
        System.out.println(Huge.run(arguments.length + 1));
        for (String name : new String[] {"test.Subroutine"}) {
            System.out.println(Class.forName(name).getMethod("run", int.class).invoke(null, 7));
        }
        Class<?> hooks = Class.forName("test.Hooks");
        hooks.getMethod("report").invoke(null);
    }
}

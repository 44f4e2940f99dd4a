import java.io.InputStream;
import java.lang.reflect.Array;
import java.lang.reflect.Method;

/**
 * Loads classes of different names one after the other, makes arrays of them at one place, lets them make arrays in methods of their
 * own, and lets go of them.
 *
 * Argument: the pause before and after classes are unloaded, in ms (default 300).
 */
public class ReusedClasses {
    static class K0 {
        static void fill(int count) {
            for (int i = 0; i < count; i++) {
                sink = new int[1];
            }
        }
    }

    static class K1 {
        static void fill(int count) {
            for (int i = 0; i < count; i++) {
                sink = new int[1];
            }
        }
    }

    static class K2 {
        static void fill(int count) {
            for (int i = 0; i < count; i++) {
                sink = new int[1];
            }
        }
    }

    static class K3 {
        static void fill(int count) {
            for (int i = 0; i < count; i++) {
                sink = new int[1];
            }
        }
    }

    static final int CLASSES = 4;
    static final int ROUNDS = 16;
    public static volatile Object sink;

    /** Defines the classes anew. */
    static class Loader extends ClassLoader {
        Loader() {
            super(ReusedClasses.class.getClassLoader());
        }

        Class<?> define(String name) throws Exception {
            try (InputStream in = ReusedClasses.class.getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            }
        }
    }

    static void allocate(Class<?> of, int count) {
        for (int i = 0; i < count; i++) {
            sink = Array.newInstance(of, i % 7);
        }
    }

    public static void main(String[] args) throws Exception {
        long pause = args.length > 0 ? Long.parseLong(args[0]) : 300;
        for (int round = 0; round < ROUNDS; round++) {
            // One class of one loader at a time, so that the next one may have its memory.
            int number = round % CLASSES;
            Class<?> of = new Loader().define("ReusedClasses$K" + number);
            allocate(of, 1000 * (number + 1));
            Method fill = of.getDeclaredMethod("fill", int.class);
            fill.setAccessible(true);
            fill.invoke(null, 100 * (number + 1));
            of = null;
            fill = null;
            sink = null;
            // The agent looks names up a few times a second; afterwards there are none.
            Thread.sleep(pause);
            System.gc();
            // The JVM tells of unloaded classes a moment later, on a thread of its own.
            Thread.sleep(pause);
        }
        for (int number = 0; number < CLASSES; number++) {
            int allocated = ROUNDS / CLASSES * 1000 * (number + 1);
            System.out.println("site ReusedClasses$K" + number + "[] ReusedClasses.allocate " + allocated + " 0");
            System.out.println("site int[] ReusedClasses$K" + number + ".fill " + allocated / 10 + " 0");
        }
    }
}

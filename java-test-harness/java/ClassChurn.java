import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.management.ManagementFactory;

/**
 * Loads the class Payload in one new class loader after the other, runs code of it, and drops the
 * loader, so that classes are unloaded while samples in them are fresh. With the Java agent
 * Redefiner it also redefines a class in use. Two threads do it.
 *
 * Argument: seconds (default 2). Exact: "classes=" loaded so, "redefinitions=", "unloaded=" (by the
 * JVM's count, all classes).
 */
public class ClassChurn {
    /** Loaded anew in every loader; its work() is what samples should land in. */
    public static class Payload implements Runnable {
        static volatile long sink;

        @Override
        public void run() {
            work(20_000);
        }

        static void work(int rounds) {
            for (int i = 0; i < rounds; i++) sink += i;
        }
    }

    /** Redefined while it runs. */
    static class Redefined {
        static volatile long sink;

        static void work() {
            for (int i = 0; i < 20_000; i++) sink += i;
        }
    }

    static class Loader extends ClassLoader {
        Loader() {
            super("churn", ClassChurn.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(Payload.class.getName(), bytes, 0, bytes.length);
        }
    }

    static byte[] bytes(Class<?> type) throws Exception {
        try (InputStream in = ClassChurn.class.getResourceAsStream("/" + type.getName() + ".class")) {
            return in.readAllBytes();
        }
    }

    static long load(long end) throws Exception {
        byte[] payload = bytes(Payload.class);
        long classes = 0;
        while (System.nanoTime() < end) {
            Class<?> type = new Loader().define(payload);
            ((Runnable) type.getDeclaredConstructor().newInstance()).run();
            if (++classes % 500 == 0) System.gc();
        }
        return classes;
    }

    static long redefine(long end) throws Exception {
        long redefinitions = 0;
        ClassDefinition same = new ClassDefinition(Redefined.class, bytes(Redefined.class));
        while (System.nanoTime() < end) {
            Redefined.work();
            if (Redefiner.instrumentation == null) continue;
            Redefiner.instrumentation.redefineClasses(same);
            redefinitions++;
        }
        return redefinitions;
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + (args.length > 0 ? Long.parseLong(args[0]) : 2) * 1_000_000_000L;
        long[] classes = new long[1];
        Thread loading = new Thread(() -> {
            try {
                classes[0] = load(end);
            } catch (Exception failed) {
                failed.printStackTrace();
                System.exit(1);
            }
        }, "loading");
        loading.start();
        System.out.println("redefinitions=" + redefine(end));
        loading.join();
        System.out.println("classes=" + classes[0]);
        System.gc();
        System.out.println("unloaded=" + ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
    }
}

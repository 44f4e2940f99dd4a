import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.concurrent.CountDownLatch;

/**
 * Methods that the VM or native code calls, and threads that die, all of known numbers. Prints how
 * often the VM asked the class loader, and whether threads could be stopped.
 */
public class NativeCallers {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static void thrower() {
        throw new IllegalStateException();
    }

    static void catcher() {
        for (int i = 0; i < 10; i++) {
            try {
                thrower();
            } catch (IllegalStateException e) {
                continue;
            }
        }
    }

    static class Initialized {
        static final int VALUE = initialized();

        static int initialized() {
            return 7;
        }
    }

    public static class Made {
        public Made() {}
    }

    public static void failing() {
        throw new IllegalArgumentException();
    }

    static void wrapped() {}

    /** More calls than the JDK makes through native code before it compiles the access. */
    static void reflection() throws Exception {
        Method failing = NativeCallers.class.getMethod("failing");
        for (int i = 0; i < 40; i++) {
            Made.class.getConstructor().newInstance();
            try {
                failing.invoke(null);
            } catch (InvocationTargetException e) {
                wrapped();
            }
        }
    }

    static int privileged() {
        return 1;
    }

    @SuppressWarnings("removal")
    static void privileges() {
        for (int i = 0; i < 25; i++) {
            AccessController.doPrivileged((PrivilegedAction<Integer>) NativeCallers::privileged);
        }
    }

    static class Dying extends Thread {
        @Override
        public void run() {
            thrown(9);
        }

        static void thrown(int frames) {
            if (frames == 0) {
                throw new IllegalStateException();
            }
            thrown(frames - 1);
        }
    }

    static class Handler implements Thread.UncaughtExceptionHandler {
        @Override
        public void uncaughtException(Thread thread, Throwable why) {
            NativeCallers.handled();
        }
    }

    static void handled() {}

    static void deaths() throws Exception {
        for (int i = 0; i < 20; i++) {
            Thread thread = new Dying();
            thread.setUncaughtExceptionHandler(new Handler());
            thread.start();
            thread.join();
        }
    }

    static volatile boolean never;

    static void spinning(CountDownLatch begun) {
        begun.countDown();
        while (!never) {
            // Until it is stopped.
        }
    }

    static void mourned() {}

    static void stopped(CountDownLatch begun) {
        try {
            spinning(begun);
        } catch (ThreadDeath e) {
            mourned();
        }
    }

    /** Whether this JDK stops threads. */
    static boolean stops() throws Exception {
        Method stop;
        try {
            stop = Thread.class.getMethod("stop");
        } catch (NoSuchMethodException e) {
            return false;
        }
        for (int i = 0; i < 10; i++) {
            CountDownLatch begun = new CountDownLatch(1);
            Thread thread = new Thread(() -> stopped(begun));
            thread.setDaemon(true);
            thread.start();
            begun.await();
            // It may still be in countDown.
            Thread.sleep(5);
            try {
                stop.invoke(thread);
            } catch (InvocationTargetException e) {
                never = true;
                thread.join();
                never = false;
                return false;
            }
            thread.join();
        }
        return true;
    }

    public static class Base {
        public Base() {}
    }

    static class Dependent extends Base {
        static final Object OTHER = new Made();
    }

    static class Loader extends ClassLoader {
        static int asked;

        Loader() {
            super(NativeCallers.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            asked++;
            if (!name.equals("NativeCallers$Dependent")) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = getParent().getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static void atExit() {}

    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(NativeCallers::atExit));
        fib(15);
        catcher();
        if (Initialized.VALUE != 7) {
            throw new AssertionError();
        }
        reflection();
        privileges();
        deaths();
        System.out.println("stops=" + (stops() ? 1 : 0));
        Class.forName("NativeCallers$Dependent", true, new Loader());
        System.out.println("asked=" + Loader.asked);
    }
}

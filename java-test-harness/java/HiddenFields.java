import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/**
 * Holds objects whose size the fields in a dump do not tell: of classes with fields that only the VM knows, of classes
 * with contended fields, and the stacks of parked virtual threads where there are any. Prints "ready", waits for the
 * file "end" in the current folder, and ends.
 */
public class HiddenFields {
    static final List<Object> held = new ArrayList<>();
    static final String[] classes = {
        "java.lang.InternalError",
        "java.lang.LiveStackFrameInfo",
        "java.lang.StackFrameInfo",
        "java.lang.Thread",
        "java.lang.VirtualThread",
        "java.lang.invoke.ConstantCallSite",
        "java.lang.invoke.MemberName",
        "java.lang.invoke.MethodHandleNatives$CallSiteContext",
        "java.lang.invoke.MutableCallSite",
        "java.lang.invoke.ResolvedMethodName",
        "java.lang.invoke.VolatileCallSite",
        "java.util.TimerThread",
        "java.util.concurrent.ConcurrentHashMap$CounterCell",
        "java.util.concurrent.Exchanger$Node",
        "java.util.concurrent.Exchanger$Slot",
        "java.util.concurrent.ForkJoinPool",
        "java.util.concurrent.ForkJoinPool$WorkQueue",
        "java.util.concurrent.ForkJoinWorkerThread",
        "java.util.concurrent.SubmissionPublisher$BufferedSubscription",
        "java.util.concurrent.atomic.Striped64$Cell",
    };

    static void park(int depth) {
        if (depth > 0) {
            park(depth - 1);
            return;
        }
        try {
            Thread.sleep(600_000);
        } catch (InterruptedException e) {
            // The program ends.
        }
    }

    public static void main(String[] args) throws Exception {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Object unsafe = field.get(null);
        Method allocate = type.getMethod("allocateInstance", Class.class);
        for (String name : classes) {
            try {
                Class<?> known = Class.forName(name);
                for (int i = 0; i < 3; i++) held.add(allocate.invoke(unsafe, known));
            } catch (ClassNotFoundException e) {
                // Of another release.
            }
        }
        try {
            for (int i = 0; i < 20; i++) {
                int depth = 10 * i;
                Runnable parks = () -> park(depth);
                Object thread = Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, parks);
                held.add(thread);
            }
        } catch (NoSuchMethodException | java.lang.reflect.InvocationTargetException e) {
            // There are none.
        }
        Thread.sleep(300);
        System.out.println("ready");
        java.io.File end = new java.io.File("end");
        while (!end.exists()) Thread.sleep(20);
        Runtime.getRuntime().halt(0);
    }
}

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.util.Optional;

/**
 * Has the thread "blocker" block signals by the C library's pthread_sigmask, as native libraries do on their threads
 * (JEP 454, by reflection: JDK 22 or later), and burn CPU time in spin().
 *
 * Arguments: CPU seconds, the numbers of the signals. Prints the thread's CPU seconds after that: "cpu=...".
 */
public class BlocksSignals {
    static final int SIG_BLOCK = 0;
    static volatile long sink;

    static void spin(long limit) {
        while (Cpu.now() < limit) {
            for (int i = 0; i < 10_000; i++) sink += i ^ sink;
        }
    }

    static Class<?> foreign(String name) throws Exception {
        return Class.forName("java.lang.foreign." + name);
    }

    /** A function of the C library that returns an int. */
    static MethodHandle function(String name, String... parameters) throws Exception {
        Class<?> linkers = foreign("Linker");
        Object linker = linkers.getMethod("nativeLinker").invoke(null);
        Object lookup = linkers.getMethod("defaultLookup").invoke(linker);
        Object layouts = Array.newInstance(foreign("MemoryLayout"), parameters.length);
        for (int i = 0; i < parameters.length; i++) {
            Array.set(layouts, i, foreign("ValueLayout").getField(parameters[i]).get(null));
        }
        Object result = foreign("ValueLayout").getField("JAVA_INT").get(null);
        Object type = foreign("FunctionDescriptor")
            .getMethod("of", foreign("MemoryLayout"), layouts.getClass())
            .invoke(null, result, layouts);
        Optional<?> found =
            (Optional<?>) foreign("SymbolLookup").getMethod("find", String.class).invoke(lookup, name);
        Object none = Array.newInstance(foreign("Linker$Option"), 0);
        return (MethodHandle) linkers
            .getMethod("downcallHandle", foreign("MemorySegment"), foreign("FunctionDescriptor"), none.getClass())
            .invoke(linker, found.get(), type, none);
    }

    static void block(String[] signals) throws Throwable {
        Object arena = foreign("Arena").getMethod("global").invoke(null);
        Object set = foreign("Arena").getMethod("allocate", long.class, long.class).invoke(arena, 128L, 8L);
        Object none = foreign("MemorySegment").getField("NULL").get(null);
        MethodHandle add = function("sigaddset", "ADDRESS", "JAVA_INT");
        for (String signal : signals) add.invokeWithArguments(set, Integer.parseInt(signal));
        function("pthread_sigmask", "JAVA_INT", "ADDRESS", "ADDRESS").invokeWithArguments(SIG_BLOCK, set, none);
    }

    public static void main(String[] args) throws Exception {
        long limit = (long) (Double.parseDouble(args[0]) * 1e9);
        Thread blocker = new Thread(() -> {
            try {
                block(java.util.Arrays.copyOfRange(args, 1, args.length));
            } catch (Throwable failure) {
                throw new IllegalStateException(failure);
            }
            long before = Cpu.now();
            spin(before + limit);
            Cpu.print("cpu", Cpu.now() - before);
        }, "blocker");
        blocker.start();
        blocker.join();
    }
}

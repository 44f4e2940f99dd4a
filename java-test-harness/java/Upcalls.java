import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.util.Optional;

/**
 * Has the C library's qsort compare numbers by a Java method that takes CPU time, in calls from {@code sort} (JEP 454, by
 * reflection: JDK 22 or later), for the given number of milliseconds. Prints "compared".
 */
public class Upcalls {
    static volatile long sink;

    static int compare(Object left, Object right) {
        long mixed = sink | 1;
        for (int i = 0; i < 2000; i++) {
            mixed ^= mixed << 13;
            mixed ^= mixed >>> 7;
            mixed ^= mixed << 17;
        }
        sink = mixed;
        return 0;
    }

    static void sort(MethodHandle qsort, Object numbers, Object compare) throws Throwable {
        qsort.invokeWithArguments(numbers, 500L, 4L, compare);
    }

    static Class<?> foreign(String name) throws Exception {
        return Class.forName("java.lang.foreign." + name);
    }

    static Object layouts(Object... layouts) throws Exception {
        Object array = Array.newInstance(foreign("MemoryLayout"), layouts.length);
        for (int i = 0; i < layouts.length; i++) Array.set(array, i, layouts[i]);
        return array;
    }

    public static void main(String[] args) throws Throwable {
        Class<?> linkers = foreign("Linker"), layout = foreign("MemoryLayout"), segment = foreign("MemorySegment");
        Class<?> arenas = foreign("Arena"), descriptor = foreign("FunctionDescriptor");
        Object linker = linkers.getMethod("nativeLinker").invoke(null);
        Object lookup = linkers.getMethod("defaultLookup").invoke(linker);
        Object address = foreign("ValueLayout").getField("ADDRESS").get(null);
        Object number = foreign("ValueLayout").getField("JAVA_LONG").get(null);
        Object result = foreign("ValueLayout").getField("JAVA_INT").get(null);
        Class<?> many = Array.newInstance(layout, 0).getClass();
        Object sorts = descriptor.getMethod("ofVoid", many).invoke(null, layouts(address, number, number, address));
        Object compares = descriptor.getMethod("of", layout, many).invoke(null, result, layouts(address, address));
        Object none = Array.newInstance(foreign("Linker$Option"), 0);
        Optional<?> found = (Optional<?>) foreign("SymbolLookup").getMethod("find", String.class).invoke(lookup, "qsort");
        MethodHandle qsort = (MethodHandle) linkers
            .getMethod("downcallHandle", segment, descriptor, none.getClass())
            .invoke(linker, found.get(), sorts, none);
        MethodHandle compare = MethodHandles.lookup()
            .findStatic(Upcalls.class, "compare", MethodType.methodType(int.class, Object.class, Object.class))
            .asType(MethodType.methodType(int.class, segment, segment));
        Object arena = arenas.getMethod("global").invoke(null);
        Object stub = linkers
            .getMethod("upcallStub", MethodHandle.class, descriptor, arenas, none.getClass())
            .invoke(linker, compare, compares, arena, none);
        Object numbers = arenas.getMethod("allocate", long.class, long.class).invoke(arena, 2000L, 4L);
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000L;
        while (System.nanoTime() < end) sort(qsort, numbers, stub);
        System.out.println("compared");
    }
}

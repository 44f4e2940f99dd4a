import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

/**
 * Every way to allocate, each in a method of its own, with exact counts.
 *
 * Prints a line "site CLASS METHOD ALLOCATED LIVE" for what must be found of CLASS in traces with
 * METHOD; a "*" at the end of CLASS stands for any rest. "METHOD innermost" and "METHOD in INNERMOST"
 * are for classes of which the VM makes objects of its own at any time: names of classes that
 * compilers load, and all string constants of the class of a method that is to be compiled
 * (CompileBroker::compile_method). INNERMOST names the methods that the objects are made in, with
 * "|" between them. Argument "wait": prints "ready" at the end and waits for a byte on standard
 * input.
 */
public class Allocations {
    static class Plain { int a; long b; }
    static class Small { }
    static class Copied implements Cloneable {
        int[] state = { 1, 2 };
        Copied copy() throws CloneNotSupportedException { return (Copied) clone(); }
    }
    static class Made { public Made() { } }
    static class Handled { public Handled() { } }
    static class Threaded { int n; }
    static class Virtual { int n; }
    static class Problem extends Exception { private static final long serialVersionUID = 1; }
    static class Item { }
    enum Colour { RED, GREEN }

    /** Each object goes here first, so that none is optimised away. */
    static volatile Object sink;
    static final List<Object> kept = new ArrayList<>(1 << 16);
    static volatile int[] none;

    static void expect(String type, String method, int allocated, int live) {
        System.out.println("site " + type + " Allocations." + method + " " + allocated + " " + live);
    }

    static void use(Object object, boolean keep) {
        sink = object;
        if (keep) synchronized (kept) { kept.add(object); }
    }

    static void plain() {
        for (int i = 0; i < 20_000; i++) use(new Plain(), i % 4 == 0);
        for (int i = 0; i < 1_000; i++) use(new Small(), i % 2 == 0);
    }

    static void primitiveArrays() {
        for (int i = 0; i < 1_000; i++) {
            boolean keep = i % 10 == 0;
            use(new boolean[i], keep); use(new byte[i], keep); use(new char[i], keep);
            use(new short[i], keep); use(new int[i], keep); use(new long[i], keep);
            use(new float[i], keep); use(new double[i], keep);
        }
    }

    static void objectArrays() {
        for (int i = 0; i < 1_000; i++) {
            use(new Item[i % 5], i % 2 == 0);
            use(new Item[2][], i % 4 == 0);
        }
    }

    static void matrices() {
        for (int i = 0; i < 500; i++) use(new int[4][5], i % 5 == 0);
        for (int i = 0; i < 500; i++) use(new Colour[2][3][1], i % 5 == 0);
    }

    static void big() {
        for (int i = 0; i < 16; i++) use(new long[1 << 18], i % 8 == 0);
    }

    static void clones() throws Exception {
        Copied one = new Copied();
        use(one, true);
        short[] array = { 1, 2, 3 };
        for (int i = 0; i < 1_000; i++) {
            use(one.copy(), i % 2 == 0);
            use(array.clone(), i % 4 == 0);
        }
    }

    static void values() {
        for (int i = 0; i < 1_000; i++) use(Colour.values(), i % 2 == 0);
    }

    static void reflection(Constructor<Made> constructor) throws Exception {
        for (int i = 0; i < 1_000; i++) {
            use(constructor.newInstance(), i % 2 == 0);
            use(Array.newInstance(Made.class, 3), i % 4 == 0);
            use(Array.newInstance(Made.class, 2, 2), i % 4 == 0);
        }
    }

    static void handles(MethodHandle handle) throws Throwable {
        for (int i = 0; i < 1_000; i++) use((Handled) handle.invokeExact(), i % 2 == 0);
    }

    static Integer box(int i) { return i; }

    static void boxes() {
        for (int i = 0; i < 1_000; i++) use(box(1_000 + i), i % 2 == 0);
    }

    static String concatenate(int i) { return "a" + i + "b"; }

    static void strings() {
        for (int i = 0; i < 1_000; i++) use(concatenate(i), i % 2 == 0);
    }

    static IntSupplier lambda(int i) { return () -> i; }

    static void lambdas() {
        for (int i = 0; i < 1_000; i++) use(lambda(i), i % 2 == 0);
    }

    static Object list(Object... items) { return items; }

    static void varargs() {
        for (int i = 0; i < 1_000; i++) use(list("a", "b"), i % 2 == 0);
    }

    static void problems() {
        for (int i = 0; i < 1_000; i++) {
            try {
                throw new Problem();
            } catch (Problem problem) {
                use(problem, i % 2 == 0);
            }
        }
    }

    /** The VM itself makes these, as long as the method is interpreted. */
    static void vmProblems() {
        for (int i = 0; i < 10; i++) {
            try {
                none[0] = 1;
            } catch (NullPointerException problem) {
                use(problem, i % 2 == 0);
            }
        }
    }

    static void inThread() {
        for (int i = 0; i < 5_000; i++) use(new Threaded(), i % 10 == 0);
    }

    static void threads() throws Exception {
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) threads[i] = new Thread(() -> inThread(), "allocating-" + i);
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
    }

    static void inVirtualThread() {
        for (int i = 0; i < 50; i++) {
            use(new Virtual(), i % 10 == 0);
            if (i == 25) Thread.yield();
        }
    }

    /** Returns whether there are any. */
    static boolean virtualThreads() throws Exception {
        try {
            Class.forName("java.lang.Thread$Builder");
        } catch (ClassNotFoundException before21) {
            return false;
        }
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 100; i++) threads.add(VirtualThreads.start("virtual-" + i, () -> inVirtualThread()));
        for (Thread thread : threads) thread.join();
        return true;
    }

    static void expectations(boolean virtual) {
        expect("Allocations$Plain", "plain", 20_000, 5_000);
        expect("Allocations$Small", "plain", 1_000, 500);
        for (String type : "boolean byte char short int long float double".split(" "))
            expect(type + "[]", "primitiveArrays innermost", 1_000, 100);
        expect("Allocations$Item[]", "objectArrays", 1_000, 500);
        expect("Allocations$Item[][]", "objectArrays", 1_000, 250);
        expect("int[][]", "matrices", 500, 100);
        expect("int[]", "matrices", 2_000, 400);
        expect("Allocations$Colour[][][]", "matrices", 500, 100);
        expect("Allocations$Colour[][]", "matrices", 1_000, 200);
        expect("Allocations$Colour[]", "matrices", 3_000, 600);
        expect("long[]", "big", 16, 2);
        expect("Allocations$Copied", "clones", 1_001, 501);
        expect("short[]", "clones", 1_001, 250);
        expect("Allocations$Colour[]", "values", 1_000, 500);
        expect("Allocations$Made", "reflection", 1_000, 500);
        expect("Allocations$Made[]", "reflection", 3_000, 750);
        expect("Allocations$Made[][]", "reflection", 1_000, 250);
        expect("Allocations$Handled", "handles", 1_000, 500);
        expect("java.lang.Integer", "boxes", 1_000, 500);
        expect("java.lang.String", "strings in java.lang.StringConcatHelper.newString"
            + "|java.lang.StringConcatHelper$Concat1.concat|java.lang.StringBuilder.toString", 1_000, 500);
        expect("Allocations$$Lambda*", "lambdas", 1_000, 500);
        expect("java.lang.Object[]", "varargs", 1_000, 500);
        expect("Allocations$Problem", "problems", 1_000, 500);
        expect("java.lang.NullPointerException", "vmProblems", 10, 5);
        expect("Allocations$Threaded", "inThread", 40_000, 4_000);
        if (virtual) expect("Allocations$Virtual", "inVirtualThread", 5_000, 500);
    }

    public static void main(String[] args) throws Throwable {
        // Loaded and linked before it counts.
        for (Class<?> nested : Allocations.class.getDeclaredClasses())
            Class.forName(nested.getName());
        // A method handle is compiled anew when it was called some hundred times.
        for (int i = 0; i < 1_000; i++) use(concatenate(i), false);
        use(lambda(1), false);
        plain();
        primitiveArrays();
        objectArrays();
        matrices();
        big();
        clones();
        values();
        reflection(Made.class.getConstructor());
        handles(MethodHandles.lookup()
            .findConstructor(Handled.class, MethodType.methodType(void.class)));
        boxes();
        strings();
        lambdas();
        varargs();
        problems();
        vmProblems();
        threads();
        boolean virtual = virtualThreads();
        expectations(virtual);
        sink = null;
        if (args.length > 0 && args[0].equals("wait")) {
            System.out.println("ready");
            System.out.flush();
            System.in.read();
        }
    }
}

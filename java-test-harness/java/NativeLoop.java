import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Allocates and frees native memory in a loop, on one thread: by zlib ("zlib ROUNDS"), with an Inflater and a Deflater that
 * are made and ended in each round, or by Unsafe ("calls ROUNDS"), with a block of 64 bytes. Or takes a free lock of the VM
 * ("locks ROUNDS"): that of the thread's own permit to go on. Prints the nanoseconds of CPU time
 * that a round takes, those of the first fifth left out.
 */
public class NativeLoop {
    static volatile long sink;

    static void zlib(byte[] input, byte[] output) throws Exception {
        Deflater deflater = new Deflater();
        deflater.setInput(input);
        deflater.finish();
        int length = deflater.deflate(output);
        deflater.end();
        Inflater inflater = new Inflater();
        inflater.setInput(output, 0, length);
        sink = inflater.inflate(input);
        inflater.end();
    }

    static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    static void zlib(int rounds) throws Exception {
        byte[] input = new byte[1000];
        byte[] output = new byte[2000];
        for (int i = 0; i < rounds; i++) {
            zlib(input, output);
        }
    }

    static MethodHandle of(Object unsafe, String name, Class<?> result) throws Exception {
        MethodType type = MethodType.methodType(result, long.class);
        return MethodHandles.lookup().findVirtual(unsafe.getClass(), name, type).bindTo(unsafe);
    }

    /** The memory functions of Unsafe, which the compiler sees through. */
    static class Memory {
        static final MethodHandle ALLOCATE;
        static final MethodHandle FREE;

        static {
            try {
                Class<?> type = Class.forName("sun.misc.Unsafe");
                Field field = type.getDeclaredField("theUnsafe");
                field.setAccessible(true);
                Object unsafe = field.get(null);
                ALLOCATE = of(unsafe, "allocateMemory", long.class);
                FREE = of(unsafe, "freeMemory", void.class);
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }
    }

    static void calls(int rounds) throws Throwable {
        for (int i = 0; i < rounds; i++) {
            long block = (long) Memory.ALLOCATE.invokeExact(64L);
            sink = block;
            Memory.FREE.invokeExact(block);
        }
    }

    static void locks(int rounds) {
        Thread thread = Thread.currentThread();
        for (int i = 0; i < rounds; i++) {
            LockSupport.unpark(thread);
        }
    }

    static void run(String kind, int rounds) throws Throwable {
        if (kind.equals("zlib")) {
            zlib(rounds);
        } else if (kind.equals("locks")) {
            locks(rounds);
        } else {
            calls(rounds);
        }
    }

    public static void main(String[] args) throws Throwable {
        int rounds = Integer.parseInt(args[1]);
        run(args[0], rounds / 5);
        int measured = rounds - rounds / 5;
        long before = cpu();
        run(args[0], measured);
        System.out.println("nanos=" + (double) (cpu() - before) / measured);
    }
}

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Inflater;

/**
 * Allocates known amounts of native memory, by threads at the same time: blocks that are kept, blocks that grow and are
 * freed (by Unsafe, where this JDK has it), direct buffers that are kept and others that are dropped, and inflaters that
 * are not closed. Prints for each method its bytes and calls.
 */
public class NativeAllocations {
    static final List<Object> HELD = new ArrayList<>();
    static Object unsafe;
    static Method allocate;
    static Method reallocate;
    static Method free;
    static volatile long sink;

    static boolean findUnsafe() {
        try {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            unsafe = field.get(null);
            allocate = type.getMethod("allocateMemory", long.class);
            reallocate = type.getMethod("reallocateMemory", long.class, long.class);
            free = type.getMethod("freeMemory", long.class);
            free.invoke(unsafe, allocate.invoke(unsafe, 8L));
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }

    static long leaks(long size) throws ReflectiveOperationException {
        return (Long) allocate.invoke(unsafe, size);
    }

    static long passes(long size) throws ReflectiveOperationException {
        return (Long) allocate.invoke(unsafe, size);
    }

    static long grows(long address, long size) throws ReflectiveOperationException {
        return (Long) reallocate.invoke(unsafe, address, size);
    }

    static void works(int rounds) {
        try {
            for (int round = 0; round < rounds; round++) {
                sink = leaks(10_000);
                free.invoke(unsafe, grows(passes(20_000), 30_000));
            }
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static void holdsBuffers(int count, int size) {
        for (int i = 0; i < count; i++) {
            HELD.add(ByteBuffer.allocateDirect(size));
        }
    }

    static void dropsBuffers(int count, int size) {
        for (int i = 0; i < count; i++) {
            sink = ByteBuffer.allocateDirect(size).capacity();
        }
    }

    static void keepsOpen(int count) {
        for (int i = 0; i < count; i++) {
            HELD.add(new Inflater());
        }
    }

    static long directBytes() {
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            if (pool.getName().equals("direct")) {
                return pool.getMemoryUsed();
            }
        }
        throw new AssertionError();
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        int rounds = Integer.parseInt(args[1]);
        long before = directBytes();
        holdsBuffers(100, 1_000_000);
        dropsBuffers(400, 200_000);
        keepsOpen(2_000);
        if (findUnsafe()) {
            Thread[] all = new Thread[threads];
            for (int i = 0; i < threads; i++) {
                all[i] = new Thread(() -> works(rounds));
                all[i].start();
            }
            for (Thread thread : all) {
                thread.join();
            }
            long calls = (long) threads * rounds;
            System.out.println("leaks " + calls * 10_000 + " " + calls + " held");
            System.out.println("passes " + calls * 20_000 + " " + calls + " freed");
            System.out.println("grows " + calls * 30_000 + " " + calls + " freed");
        }
        System.out.println("holdsBuffers 100000000 100 held");
        System.out.println("dropsBuffers 80000000 400 freed");
        // The JVM frees what is dropped some time after a collection.
        while (directBytes() > before + 100_000_000) {
            System.gc();
            Thread.sleep(5);
        }
        if (args.length > 2) {
            // Time to attach.
            Thread.sleep(Integer.parseInt(args[2]));
        }
    }
}

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Direct buffers with slices and duplicates, and one that was freed; then a dump into a file. */
public class DirectBuffers {
    static final List<Object> KEPT = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        for (int size = 1; size <= 10; size++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(size * 100_000);
            KEPT.add(buffer);
            KEPT.add(buffer.slice());
            KEPT.add(buffer.duplicate());
            KEPT.add(buffer.asReadOnlyBuffer());
            KEPT.add(buffer.asIntBuffer());
        }
        ByteBuffer freed = ByteBuffer.allocateDirect(7_777_777);
        KEPT.add(freed);
        free(freed);
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            if (pool.getName().equals("direct")) {
                System.out.println(pool.getCount() + " " + pool.getTotalCapacity());
            }
        }
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(args[0], true);
    }

    private static void free(ByteBuffer buffer) throws Exception {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field only = unsafe.getDeclaredField("theUnsafe");
        only.setAccessible(true);
        unsafe.getMethod("invokeCleaner", ByteBuffer.class).invoke(only.get(null), buffer);
    }
}

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;

/** Writes a dump of the live heap. */
final class HeapDump {
    static void write(String file) throws Exception {
        Class<HotSpotDiagnosticMXBean> bean = HotSpotDiagnosticMXBean.class;
        ManagementFactory.getPlatformMXBean(bean).dumpHeap(file, true);
    }
}

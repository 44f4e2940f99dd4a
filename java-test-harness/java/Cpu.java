import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** The JVM's own CPU clock of threads, in nanoseconds: the truth that profiles are measured by. */
final class Cpu {
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    private Cpu() {}

    /** CPU time of the current thread so far. */
    static long now() {
        return CLOCK.getCurrentThreadCpuTime();
    }

    /** CPU time of a live thread so far. */
    static long of(Thread thread) {
        return CLOCK.getThreadCpuTime(thread.getId());
    }

    /** CPU time of the whole process so far: all threads, those of the JVM included. */
    static long ofProcess() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    /** Prints a line "name=seconds". */
    static void print(String name, long nanos) {
        System.out.println(name + "=" + nanos / 1e9);
    }
}

import java.lang.instrument.ClassDefinition;
import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;

/** Redefines a class of the JDK while a thread is in a method of it, then writes a dump into a file. Needs Redefiner. */
public class RedefinedDump {
    public static void main(String[] args) throws Exception {
        Thread parked = new Thread(() -> {
            while (true) LockSupport.park();
        });
        parked.setDaemon(true);
        parked.start();
        while (parked.getState() != Thread.State.WAITING) Thread.sleep(1);
        byte[] bytes;
        try (java.io.InputStream in = LockSupport.class.getResourceAsStream("LockSupport.class")) {
            bytes = in.readAllBytes();
        }
        for (int i = 0; i < 2; i++) {
            Redefiner.instrumentation.redefineClasses(new ClassDefinition(LockSupport.class, bytes));
        }
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(args[0], true);
    }
}

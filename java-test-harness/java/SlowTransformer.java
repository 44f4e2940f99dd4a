import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * A Java agent and a program, which calls counted a thousand times, each of which makes an instance and an array. The agent's
 * transformer takes half a second for each class that is retransformed.
 */
public class SlowTransformer implements ClassFileTransformer {
    static volatile Object sink;

    public static void premain(String options, Instrumentation instrumentation) {
        instrumentation.addTransformer(new SlowTransformer(), true);
    }

    public static void main(String[] args) {
        for (int i = 0; i < 1000; i++) counted();
        System.out.println("done");
    }

    private static void counted() {
        sink = new SlowTransformer();
        sink = new int[3];
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
        try {
            if (type != null) Thread.sleep(500);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return null;
    }
}

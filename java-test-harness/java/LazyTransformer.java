import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * A Java agent and a program. The agent's transformer looks at the classes of the application with classes of its own,
 * which are loaded when they are first needed, as in agents that carry a library for class files.
 */
public class LazyTransformer {
    public static void premain(String options, Instrumentation instrumentation) {
        instrumentation.addTransformer(new Transformer());
    }

    public static void main(String[] args) {
        for (int i = 0; i < 1000; i++) counted();
        System.out.println("done");
    }

    private static void counted() { }

    static class Transformer implements ClassFileTransformer {
        @Override
        public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
            if (loader != null) for (int i = 0; i < 8; i++) use(i);
            return null;
        }

        private static Base use(int i) {
            switch (i) {
                case 0: return new K0();
                case 1: return new K1();
                case 2: return new K2();
                case 3: return new K3();
                case 4: return new K4();
                case 5: return new K5();
                case 6: return new K6();
                case 7: return new K7();
                default: return null;
            }
        }
    }

    static class Base { Base next() { return null; } }
    static class K0 extends Base { @Override Base next() { return new L0(); } }
    static class L0 extends Base { }
    static class K1 extends Base { @Override Base next() { return new L1(); } }
    static class L1 extends Base { }
    static class K2 extends Base { @Override Base next() { return new L2(); } }
    static class L2 extends Base { }
    static class K3 extends Base { @Override Base next() { return new L3(); } }
    static class L3 extends Base { }
    static class K4 extends Base { @Override Base next() { return new L4(); } }
    static class L4 extends Base { }
    static class K5 extends Base { @Override Base next() { return new L5(); } }
    static class L5 extends Base { }
    static class K6 extends Base { @Override Base next() { return new L6(); } }
    static class L6 extends Base { }
    static class K7 extends Base { @Override Base next() { return new L7(); } }
    static class L7 extends Base { }
}

import java.lang.reflect.Method;

/** Loads an agent into another JVM: the process, the path of its library, and its options. */
public class LoadAgent {
    public static void main(String[] args) throws Exception {
        // By reflection: these classes are of no release that all programs here are compiled for.
        Class<?> type = Class.forName("com.sun.tools.attach.VirtualMachine");
        Object vm = type.getMethod("attach", String.class).invoke(null, args[0]);
        Method load = type.getMethod("loadAgentPath", String.class, String.class);
        load.invoke(vm, args[1], args[2]);
        type.getMethod("detach").invoke(vm);
    }
}

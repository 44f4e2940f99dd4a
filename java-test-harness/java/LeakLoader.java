import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/** An application that is loaded again and again; one object of each keeps its loader alive. */
public class LeakLoader {
    /** Loads its own copy of the plugin. */
    static final class PluginLoader extends ClassLoader {
        PluginLoader() {
            super(LeakLoader.class.getClassLoader());
        }

        Class<?> plugin() throws Exception {
            try (InputStream in = LeakLoader.class.getResourceAsStream("LeakLoader$Plugin.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass("LeakLoader$Plugin", bytes, 0, bytes.length);
            }
        }
    }

    /** A class with much static data. */
    public static class Plugin implements Runnable {
        static final byte[] CONFIGURATION = new byte[100_000];

        @Override
        public void run() {
            CONFIGURATION[0]++;
        }
    }

    static final List<Runnable> HOOKS = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 100; i++) {
            Class<?> plugin = new PluginLoader().plugin();
            Runnable hook = (Runnable) plugin.getConstructor().newInstance();
            hook.run();
            HOOKS.add(hook);
        }
        HeapDump.write(args[0]);
    }
}

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/**
 * Heaps with known answers. The arguments are a case and the file for its dump, and further ones that follow; without
 * arguments the cases are listed, each with its answer beside it.
 */
public class LeakCorpus {
    /** What a report must say about a heap. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.METHOD)
    @interface Answer {
        /** Words of the first sentence on the first suspect. */
        String[] says() default {};

        /** Words of the other sentences on it. */
        String[] tells() default {};

        /** Words that none of these may have. */
        String[] never() default {};

        /** Words of what the report observes beside suspects. */
        String[] observes() default {};

        /** The static field, or a field of its object, whose object keeps what the suspect keeps. */
        String holder() default "";

        /** The start of the names of the threads that keep it. */
        String threads() default "";

        /** True if no suspect may be named. */
        boolean healthy() default false;

        /** The first JDK that can run the case. */
        int since() default 8;

        /** The last JDK whose heap is as the answer has it. */
        int until() default Integer.MAX_VALUE;

        /** A library that the case needs, as Debian names its file. */
        String library() default "";

        /** True if all of it is in static fields of its class, so that other cases can run after it. */
        boolean shared() default false;
    }

    /** The dump of a case: written by the case itself while its local variables live, or after it. */
    static final class Dump {
        private final String file;
        private boolean isWritten;

        Dump(String file) {
            this.file = file;
        }

        void write() throws Exception {
            if (!isWritten) {
                isWritten = true;
                HeapDump.write(file);
            }
        }
    }

    /** The classes with the cases. Those that need something newer than the JDK that runs are not there. */
    private static final String[] FAMILIES = {
        "LeakHolders", "LeakNodes", "LeakThreads", "LeakLives", "LeakFlows", "LeakKinds", "LeakShapes",
        "LeakRegistries", "LeakNewer", "LeakCaches", "LeakTasks", "LeakServices", "LeakViews", "LeakStores",
        "LeakPrograms", "LeakMaps", "LeakJdk", "LeakPools", "LeakContainers", "LeakOperators", "LeakLibraries",
        "HealthyHeaps", "HealthyServices",
    };

    private static Class<?> family(String name) {
        try {
            return Class.forName(name, false, LeakCorpus.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 0) {
            for (String name : FAMILIES) {
                Class<?> family = family(name);
                if (family == null) continue;
                for (Method method : family.getDeclaredMethods()) print(family, method);
            }
            return;
        }
        for (int i = 0; i < args.length; i += 2) run(args[i], new Dump(args[i + 1]), i > 0);
        // Threads of a case wait for ever.
        Runtime.getRuntime().halt(0);
    }

    private static void run(String name, Dump dump, boolean isAfterAnother) throws Exception {
        int dot = name.indexOf('.');
        Class<?> family = family(name.substring(0, dot));
        if (isAfterAnother) clear(family);
        family.getDeclaredMethod(name.substring(dot + 1), Dump.class).invoke(null, dump);
        dump.write();
    }

    private static void clear(Class<?> family) throws Exception {
        for (Field field : family.getDeclaredFields()) {
            boolean isOfACase = Modifier.isStatic(field.getModifiers()) && !Modifier.isFinal(field.getModifiers());
            if (isOfACase && !field.getType().isPrimitive()) field.set(null, null);
        }
    }

    private static int feature() {
        String version = System.getProperty("java.specification.version");
        return Integer.parseInt(version.startsWith("1.") ? version.substring(2) : version);
    }

    private static void print(Class<?> family, Method method) {
        Answer answer = method.getAnnotation(Answer.class);
        if (answer == null || answer.until() < feature()) return;
        StringBuilder line = new StringBuilder(family.getName() + "." + method.getName());
        for (String word : answer.says()) {
            line.append("\tsays=").append(word);
        }
        for (String word : answer.tells()) {
            line.append("\ttells=").append(word);
        }
        for (String word : answer.never()) {
            line.append("\tnever=").append(word);
        }
        for (String word : answer.observes()) {
            line.append("\tobserves=").append(word);
        }
        line.append("\tholder=").append(answer.holder());
        line.append("\tthreads=").append(answer.threads());
        line.append("\thealthy=").append(answer.healthy());
        line.append("\tsince=").append(answer.since());
        line.append("\tlibrary=").append(answer.library());
        line.append("\tshared=").append(answer.shared());
        System.out.println(line);
    }
}

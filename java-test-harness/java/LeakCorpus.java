import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Method;

/**
 * Heaps with known answers. The arguments are a case and the file for its dump; without arguments
 * the cases are listed, each with its answer beside it.
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

        /** The static field, or a field of its object, whose object keeps what the suspect keeps. */
        String holder() default "";

        /** The start of the names of the threads that keep it. */
        String threads() default "";

        /** True if no suspect may be named. */
        boolean healthy() default false;

        /** The first JDK that can run the case. */
        int since() default 11;

        /** A library that the case needs, as Debian names its file. */
        String library() default "";
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

    private static final Class<?>[] FAMILIES = {
        LeakHolders.class, LeakNodes.class, LeakThreads.class, LeakLives.class, LeakFlows.class, LeakKinds.class,
        LeakShapes.class, LeakRegistries.class, LeakNewer.class, LeakCaches.class, LeakTasks.class, HealthyHeaps.class,
    };

    public static void main(String[] args) throws Exception {
        for (Class<?> family : FAMILIES) {
            for (Method method : family.getDeclaredMethods()) {
                Answer answer = method.getAnnotation(Answer.class);
                String name = family.getName() + "." + method.getName();
                if (answer == null) {
                    continue;
                }
                if (args.length == 0) {
                    print(name, answer);
                } else if (args[0].equals(name)) {
                    Dump dump = new Dump(args[1]);
                    method.invoke(null, dump);
                    dump.write();
                    // Threads of a case wait for ever.
                    Runtime.getRuntime().halt(0);
                }
            }
        }
    }

    private static void print(String name, Answer answer) {
        StringBuilder line = new StringBuilder(name);
        for (String word : answer.says()) {
            line.append("\tsays=").append(word);
        }
        for (String word : answer.tells()) {
            line.append("\ttells=").append(word);
        }
        for (String word : answer.never()) {
            line.append("\tnever=").append(word);
        }
        line.append("\tholder=").append(answer.holder());
        line.append("\tthreads=").append(answer.threads());
        line.append("\thealthy=").append(answer.healthy());
        line.append("\tsince=").append(answer.since());
        line.append("\tlibrary=").append(answer.library());
        System.out.println(line);
    }
}

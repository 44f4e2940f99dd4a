package hprof.junit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Records a test method, or all of a class together, and writes a page with a flame graph.
 *
 * <pre>{@code
 * @Profile
 * @Test
 * void parsesTheLargeFile() { ... }
 * }</pre>
 *
 * The command {@code hprof-rs} loads its agent into the JVM of the tests, and takes it out again. It is looked for
 * in the system property {@code hprof.command}, the variable {@code HPROF_RS} and on {@code PATH}. Where it is
 * missing or cannot record, the test runs all the same, and standard error has a line with the reason.
 */
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(ProfileExtension.class)
public @interface Profile {
    /** What is recorded. */
    enum Mode {
        /** CPU samples. */
        CPU("--cpu"),
        /** All threads on the wall clock, waiting ones too. */
        WALL("--wall"),
        /** Allocations. */
        ALLOC("--alloc"),
        /** Contended locks. */
        LOCK("--lock");

        final String flag;

        Mode(String flag) {
            this.flag = flag;
        }
    }

    /** What is recorded; several modes are in one page. */
    Mode[] value() default Mode.CPU;

    /** More options of the agent, such as {@code depth=200}. A short test needs a short interval, in milliseconds. */
    String options() default "interval=1";

    /** The ending of the file: {@code html}, {@code svg}, {@code collapsed}, {@code pb.gz} and what else `record` writes. */
    String format() default "html";
}

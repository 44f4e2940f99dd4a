import java.lang.instrument.Instrumentation;

/** A Java agent that does nothing but keep the means to redefine classes. */
public class Redefiner {
    static volatile Instrumentation instrumentation;

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
    }
}

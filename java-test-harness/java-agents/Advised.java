import static net.bytebuddy.matcher.ElementMatchers.any;
import static net.bytebuddy.matcher.ElementMatchers.named;

import java.lang.instrument.Instrumentation;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;

/** A Java agent as people make them with Byte Buddy: it looks at every class, and adds code to the methods of one. */
public class Advised {
    public static void premain(String options, Instrumentation instrumentation) {
        new AgentBuilder.Default()
                .disableClassFormatChanges()
                .with(AgentBuilder.RedefinitionStrategy.RETRANSFORMATION)
                .type(named("LazyTransformer"))
                .transform((builder, type, loader, module, domain) ->
                        builder.visit(Advice.to(OnEnter.class).on(any())))
                .installOn(instrumentation);
    }

    static class OnEnter {
        @Advice.OnMethodEnter
        static void enter() { }
    }
}

package java.lang;

import java.lang.reflect.Method;

/**
 * Learns which request a thread works for from OpenTelemetry's API. Defined into java.base by the agent in runs with slow= or
 * spans=y. The API keeps the context of a thread in a ThreadLocal; where it sets that, rewritten code calls this class.
 *
 * <p>The value of a class of contexts are the methods that lead to the ids: Span.fromContext, getSpanContext, getTraceId and
 * getSpanId. They live as long as that class, of whichever loader.
 */
public final class HprofContexts extends ClassValue<Method[]> {
    private static final HprofContexts METHODS = new HprofContexts();

    private static final String CONTEXT = "io.opentelemetry.context.Context";
    private static final String SPAN = "io.opentelemetry.api.trace.Span";

    /** Called in place of {@code storage.set(context)}. */
    public static void set(ThreadLocal<Object> storage, Object context) {
        storage.set(context);
        if (HprofSlow.run() != 0) {
            try {
                tell(context);
            } catch (Throwable ignored) {
                // Another layout of the API, or no memory: the program goes on, and the request before it is over.
                HprofSlow.context(0, 0, 0);
            }
        }
    }

    private static void tell(Object context) throws ReflectiveOperationException {
        Method[] methods = context == null ? null : METHODS.get(context.getClass());
        if (methods == null) {
            HprofSlow.context(0, 0, 0);
            return;
        }
        Object ids = methods[1].invoke(methods[0].invoke(null, context));
        String trace = (String) methods[2].invoke(ids);
        String span = (String) methods[3].invoke(ids);
        HprofSlow.context(number(trace, 0), number(trace, 16), number(span, 0));
    }

    /** The number that 16 hexadecimal digits are; 0 if they are none. */
    private static long number(String text, int from) {
        if (text.length() < from + 16) {
            return 0;
        }
        long number = 0;
        for (int i = from; i < from + 16; i++) {
            int digit = Character.digit(text.charAt(i), 16);
            if (digit < 0) {
                return 0;
            }
            number = number << 4 | digit;
        }
        return number;
    }

    /** Programs have the API under its own name; OpenTelemetry's Java agent has it within a package of its own. */
    @Override
    protected Method[] computeValue(Class<?> type) {
        Class<?> api = api(type);
        if (api == null) {
            return null;
        }
        String name = api.getName();
        String around = name.substring(0, name.length() - CONTEXT.length());
        try {
            Class<?> span = Class.forName(around + SPAN, false, api.getClassLoader());
            Method ids = span.getMethod("getSpanContext");
            Class<?> context = ids.getReturnType();
            return new Method[] {
                span.getMethod("fromContext", api), ids, context.getMethod("getTraceId"), context.getMethod("getSpanId"),
            };
        } catch (ReflectiveOperationException | LinkageError e) {
            return null;
        }
    }

    /** The interface of contexts that a class has, null if it has none. */
    private static Class<?> api(Class<?> type) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            for (Class<?> face : at.getInterfaces()) {
                String name = face.getName();
                if (name.equals(CONTEXT) || name.endsWith("." + CONTEXT)) {
                    return face;
                }
                Class<?> above = api(face);
                if (above != null) {
                    return above;
                }
            }
        }
        return null;
    }
}

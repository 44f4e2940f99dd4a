package io.opentelemetry.context;

/** As much of OpenTelemetry's context as the agent looks at: what a thread works for. This one holds a span and nothing else. */
public interface Context {
    Object value();

    static Context with(Object value) {
        return new SpanOnly(value);
    }
}

package io.opentelemetry.context;

/** A context, of a class that is not public, as OpenTelemetry's. */
final class SpanOnly implements Context {
    private final Object value;

    SpanOnly(Object value) {
        this.value = value;
    }

    @Override
    public Object value() {
        return value;
    }
}

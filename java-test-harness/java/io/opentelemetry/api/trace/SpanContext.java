package io.opentelemetry.api.trace;

/** The ids of a span. */
public interface SpanContext {
    String getTraceId();

    String getSpanId();
}

package io.opentelemetry.context;

/** The time in which a context is that of a thread. */
public interface Scope extends AutoCloseable {
    @Override
    void close();
}

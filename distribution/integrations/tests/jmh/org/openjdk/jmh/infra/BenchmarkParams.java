package org.openjdk.jmh.infra;

/** Stands in for JMH's, which Debian does not have. */
public class BenchmarkParams {
    private final String id;

    public BenchmarkParams(String id) {
        this.id = id;
    }

    public String id() {
        return id;
    }
}

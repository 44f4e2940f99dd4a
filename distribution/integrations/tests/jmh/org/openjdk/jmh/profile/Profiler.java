package org.openjdk.jmh.profile;

/** Stands in for JMH's, which Debian does not have. */
public interface Profiler {
    String getDescription();
}

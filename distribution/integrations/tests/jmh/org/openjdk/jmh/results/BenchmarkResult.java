package org.openjdk.jmh.results;

/** Stands in for JMH's, which Debian does not have. */
public class BenchmarkResult {}

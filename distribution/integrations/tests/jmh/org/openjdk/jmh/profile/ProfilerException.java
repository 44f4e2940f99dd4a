package org.openjdk.jmh.profile;

/** Stands in for JMH's, which Debian does not have. */
public class ProfilerException extends Exception {
    private static final long serialVersionUID = 1;

    public ProfilerException(String message) {
        super(message);
    }
}

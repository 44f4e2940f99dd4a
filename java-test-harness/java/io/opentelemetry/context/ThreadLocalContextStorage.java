package io.opentelemetry.context;

/** Keeps the context of a thread as OpenTelemetry's class of this name does: by calls of ThreadLocal.set here and in the scope. */
public enum ThreadLocalContextStorage {
    INSTANCE;

    private static final ThreadLocal<Context> CURRENT = new ThreadLocal<>();

    public Scope attach(Context context) {
        Context before = CURRENT.get();
        CURRENT.set(context);
        return new ScopeImpl(before);
    }

    private final class ScopeImpl implements Scope {
        private final Context before;

        ScopeImpl(Context before) {
            this.before = before;
        }

        @Override
        public void close() {
            CURRENT.set(before);
        }
    }
}

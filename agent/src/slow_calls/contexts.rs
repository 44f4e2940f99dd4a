//! Requests by OpenTelemetry's API: its storage of contexts tells the hooks which request a thread works for.
//!
//! The API keeps the context of the current thread in a `ThreadLocal`, which two classes set: the storage when a context becomes the
//! current one, and the scope when it ends (`ThreadLocalContextStorage` of opentelemetry-java, package `io.opentelemetry.context`).
//! Programs have these classes themselves; OpenTelemetry's Java agent has them in a package of its own.

use hprof_instrument::{Member, call_for_calls};

/// The classes of the API that set the context of a thread.
const STORAGES: [&[u8]; 2] = [
    b"io/opentelemetry/context/ThreadLocalContextStorage",
    b"io/opentelemetry/context/ThreadLocalContextStorage$ScopeImpl",
];

const SET: Member<'static> = Member {
    class: b"java/lang/ThreadLocal",
    name: b"set",
    descriptor: b"(Ljava/lang/Object;)V",
};
/// In `agent/hooks/`.
const SET_AND_TELL: Member<'static> = Member {
    class: b"java/lang/HprofContexts",
    name: b"set",
    descriptor: b"(Ljava/lang/ThreadLocal;Ljava/lang/Object;)V",
};

/// Returns true if a class, by its name with slashes, sets the context of a thread.
pub(super) fn is_storage(class: &[u8]) -> bool {
    STORAGES.iter().any(|storage| {
        let around = class.strip_suffix(*storage);
        around.is_some_and(|around| around.is_empty() || around.ends_with(b"/"))
    })
}

/// A class that tells the hooks of each context; `None` if it sets none, or cannot be changed.
pub(super) fn with_calls(name: &[u8], class_file: &[u8]) -> Option<Vec<u8>> {
    if !is_storage(name) {
        return None;
    }
    call_for_calls(class_file, &SET, &SET_AND_TELL).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storages_are_those_of_the_api_in_any_package() {
        for (class, expected) in [
            ("io/opentelemetry/context/ThreadLocalContextStorage", true),
            (
                "io/opentelemetry/context/ThreadLocalContextStorage$ScopeImpl",
                true,
            ),
            (
                "io/opentelemetry/javaagent/shaded/io/opentelemetry/context/ThreadLocalContextStorage",
                true,
            ),
            (
                "audio/opentelemetry/context/ThreadLocalContextStorage",
                false,
            ),
            ("io/opentelemetry/context/ContextStorage", false),
            ("java/lang/ThreadLocal", false),
        ] {
            assert_eq!(is_storage(class.as_bytes()), expected, "{class}");
        }
    }
}

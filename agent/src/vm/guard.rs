//! The wall between Rust and the VM: a panic must never unwind into C++ frames,
//! and must never end the program under profile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

static PANICS: AtomicU32 = AtomicU32::new(0);

/// Runs the body of a callback. A panic is counted, reported once on stderr and
/// turned into `otherwise`.
pub fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(payload) => {
            if PANICS.fetch_add(1, Ordering::Relaxed) == 0 {
                let text = payload
                    .downcast_ref::<&str>()
                    .map(|s| (*s).to_owned())
                    .or_else(|| payload.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                crate::report::error(&format!("internal error, this event is left out: {text}"));
            }
            otherwise
        }
    }
}

/// How many panics were stopped so far.
pub fn panics() -> u32 {
    PANICS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_other_value_and_is_counted() {
        let before = panics();
        assert_eq!(guard(7, || panic!("inside")), 7);
        assert_eq!(panics(), before + 1);
        assert_eq!(guard(7, || 8), 8);
    }
}

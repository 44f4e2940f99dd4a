//! The wall between Rust and the VM: a panic must never unwind into C++ frames,
//! and must never end the program under profile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

static PANICS: AtomicU32 = AtomicU32::new(0);

/// Where the first panic's message goes.
static REPORT: OnceLock<fn(&str)> = OnceLock::new();

/// Names the function that gets the message of the first panic that [`guard()`] stops. Only the first
/// call counts. Without one the panic is counted and nothing is said.
pub fn report_panics_to(report: fn(&str)) {
    let _ = REPORT.set(report);
}

/// Runs the body of a callback. A panic is counted, reported once
/// ([`report_panics_to`]) and turned into `otherwise`.
pub fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(payload) => {
            let first = PANICS.fetch_add(1, Ordering::Relaxed) == 0;
            if let Some(report) = REPORT.get().filter(|_| first) {
                let text = payload
                    .downcast_ref::<&str>()
                    .map(|s| (*s).to_owned())
                    .or_else(|| payload.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                report(&text);
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
        assert!(panics() > before);
        assert_eq!(guard(7, || 8), 8);
    }
}

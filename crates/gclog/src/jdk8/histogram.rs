//! Histograms of classes within full collections (`-XX:+PrintClassHistogramBeforeFullGC`, `AfterFullGC`):
//!
//! ```text
//!  num     #instances         #bytes  class name
//! ----------------------------------------------
//!    1:       1460472      136653088  [C
//! Total      16227637     1059670840
//! ```

use crate::numbers;

/// True for the lines of such a table. Its rows begin with a number, and names of arrays have brackets.
pub(super) fn is_row(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    if let Some((_, rest)) = numbers::whole(text)
        && let Some(rest) = rest.strip_prefix(b":")
    {
        return numbers_follow(rest);
    }
    match text.strip_prefix(b"Total ") {
        Some(rest) => numbers_follow(rest),
        None => {
            text.starts_with(b"num ") && memchr::memmem::find(text, b"#instances").is_some()
                || text.len() >= 20 && text.iter().all(|byte| *byte == b'-')
        }
    }
}

/// True if two whole numbers come first.
fn numbers_follow(text: &[u8]) -> bool {
    let mut words = text
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    let mut is_number = || {
        words
            .next()
            .is_some_and(|word| word.iter().all(u8::is_ascii_digit))
    };
    is_number() && is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_no_other_lines() {
        for row in [
            " num     #instances         #bytes  class name",
            "----------------------------------------------",
            "   1:       1460472      136653088  [C",
            "27722:             1             16  com.example.Some",
            "Total      16227637     1059670840",
        ] {
            assert!(is_row(row.as_bytes()), "{row}");
        }
        for other in [
            "",
            "1.5: [GC (Allocation Failure) 1K->1K(2K), 0.1 secs]",
            "Total time for which application threads were stopped: 0.1 seconds",
            "- age   1:    3150832 bytes,    3150832 total",
            "17: [GC 1K->1K(2K), 0.1 secs]",
            "1: 2",
            "----",
        ] {
            assert!(!is_row(other.as_bytes()), "{other}");
        }
    }
}

//! `nativelock=`: the shortest wait for a native lock that counts.

use std::time::Duration;

/// The units of a time, with their nanoseconds. Those that end like others come first.
const UNITS: [(&str, u64); 4] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

/// The rule for values of `nativelock=`.
pub const RULE: &str = "y, n or a time, such as 100us";

/// The shortest wait that counts: zero for `y`, `None` for `n`.
///
/// # Errors
/// [`RULE`]: the text is none of these.
pub fn native_lock(text: &str) -> Result<Option<Duration>, &'static str> {
    match text {
        "y" => return Ok(Some(Duration::ZERO)),
        "n" => return Ok(None),
        _ => {}
    }
    let with_unit = |&(unit, nanos): &(&str, u64)| Some((text.strip_suffix(unit)?, nanos));
    let (number, unit) = UNITS.iter().find_map(with_unit).ok_or(RULE)?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let number: Option<u64> = is_number.then(|| number.parse().ok()).flatten();
    let nanos = number.and_then(|number| number.checked_mul(unit));
    nanos
        .map(|nanos| Some(Duration::from_nanos(nanos)))
        .ok_or(RULE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_have_units() {
        for (text, nanos) in [
            ("y", 0),
            ("0s", 0),
            ("250ns", 250),
            ("100us", 100_000),
            ("2ms", 2_000_000),
            ("1s", 1_000_000_000),
        ] {
            let expected = Ok(Some(Duration::from_nanos(nanos)));
            assert_eq!(native_lock(text), expected, "{text}");
        }
        assert_eq!(native_lock("n"), Ok(None));
        for text in [
            "",
            "1",
            "us",
            "-1us",
            "+1us",
            "1.5ms",
            "1 ms",
            "yes",
            "99999999999999999999s",
            "99999999999s",
        ] {
            assert_eq!(native_lock(text), Err(RULE), "{text}");
        }
    }
}

//! The labels of a dump: their form, and the date that is taken by default.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// The most bytes of a label: its folder's name must fit a file system when it is escaped.
const MAX_LABEL: usize = 80;

/// Reads a label.
pub fn label(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > MAX_LABEL {
        return Err(format!("a name of 1 to {MAX_LABEL} bytes is expected"));
    }
    if text.chars().any(char::is_control) {
        return Err("a name without control characters is expected".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads a day.
pub fn date(text: &str) -> Result<String, String> {
    let date: Date = text
        .parse()
        .map_err(|_| "a day such as 2026-11-22 is expected".to_owned())?;
    Ok(date.to_string())
}

/// The time of a file in milliseconds since 1970-01-01 UTC: now, if it has none.
pub fn file_millis(path: &Path) -> u64 {
    let written = fs::metadata(path).and_then(|facts| facts.modified());
    let time = written.unwrap_or_else(|_| SystemTime::now());
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// The day of a time in UTC.
pub fn day_of(millis: u64) -> String {
    let time = Timestamp::from_millisecond(i64::try_from(millis).unwrap_or_default());
    let time = time.unwrap_or(Timestamp::UNIX_EPOCH);
    TimeZone::UTC.to_datetime(time).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_days_have_a_form() {
        assert_eq!(label("shop/eu west=1"), Ok("shop/eu west=1".to_owned()));
        assert!(label("").is_err());
        assert!(label("a\nb").is_err());
        assert!(label(&"x".repeat(81)).is_err());
        assert_eq!(date("2026-11-22"), Ok("2026-11-22".to_owned()));
        assert!(date("22.11.2026").is_err());
        assert_eq!(day_of(1_763_769_600_000), "2025-11-22");
    }
}

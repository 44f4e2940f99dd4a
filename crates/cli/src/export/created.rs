//! When a profile was made, for formats that state it.

use std::time::{SystemTime, UNIX_EPOCH};

use hprof_analysis::contents::Contents;
use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// The form of times in text profiles, which is that of ctime(3).
const CTIME: &str = "%a %b %e %H:%M:%S %Y";

/// Milliseconds since 1970-01-01 UTC: as the file states it, or when the file was last changed, or now, as no profile
/// is of 1970.
pub fn millis(contents: &Contents, modified: Option<SystemTime>) -> u64 {
    let stated = contents.created_millis.filter(|&millis| millis > 0);
    let stated = stated.or_else(|| of_ctime(contents.created_text.as_deref()?));
    stated.unwrap_or_else(|| {
        let time = modified.unwrap_or_else(SystemTime::now);
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// That time as text profiles have it.
pub fn ctime(contents: &Contents, modified: Option<SystemTime>) -> String {
    contents.created_text.clone().unwrap_or_else(|| {
        let millis = i64::try_from(millis(contents, modified)).unwrap_or(i64::MAX);
        let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
        let local = time.to_zoned(TimeZone::system());
        local.strftime(CTIME).to_string()
    })
}

fn of_ctime(text: &str) -> Option<u64> {
    let parsed = strtime::parse(CTIME, text).ok()?.to_datetime().ok()?;
    let local = parsed.to_zoned(TimeZone::system()).ok()?;
    u64::try_from(local.timestamp().as_millisecond()).ok()
}

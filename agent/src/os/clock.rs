//! The wall clock, in the forms that HPROF prints.

use std::mem::MaybeUninit;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment, broken down into local time.
#[derive(Clone, Copy)]
pub struct LocalTime {
    time: libc::tm,
    millis: u64,
}

impl LocalTime {
    /// The present moment.
    pub fn now() -> Self {
        Self::at(SystemTime::now())
    }

    /// A moment in nanoseconds since 1970 UTC.
    pub fn of_nanos(nanos: i64) -> Self {
        Self::at(UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
    }

    /// A moment; those before 1970 are taken for its begin.
    pub fn at(moment: SystemTime) -> Self {
        let since_epoch = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = since_epoch.as_secs() as libc::time_t;
        let mut time = MaybeUninit::<libc::tm>::zeroed();
        // SAFETY: both pointers are to locals; a tm of zero bytes is valid if the
        // call fails.
        let time = unsafe {
            libc::localtime_r(&seconds, time.as_mut_ptr());
            time.assume_init()
        };
        Self {
            time,
            millis: u64::try_from(since_epoch.as_millis()).unwrap_or(0),
        }
    }

    /// To a millisecond: `2004-02-06 13:13:42.007`.
    pub fn precise(self) -> String {
        let t = &self.time;
        format!(
            "{}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}",
            1900 + t.tm_year,
            t.tm_mon + 1,
            t.tm_mday,
            t.tm_hour,
            t.tm_min,
            t.tm_sec,
            self.millis % 1000
        )
    }

    /// Milliseconds since 1970 UTC.
    pub fn unix_millis(self) -> u64 {
        self.millis
    }

    /// The form of RFC 3339, with the distance from UTC: `2026-11-29T11:14:00+01:00`.
    pub fn rfc3339(self) -> String {
        let t = &self.time;
        let (sign, minutes) = match t.tm_gmtoff / 60 {
            minutes if minutes < 0 => ('-', -minutes),
            minutes => ('+', minutes),
        };
        format!(
            "{}-{:02}-{:02}T{:02}:{:02}:{:02}{sign}{:02}:{:02}",
            1900 + t.tm_year,
            t.tm_mon + 1,
            t.tm_mday,
            t.tm_hour,
            t.tm_min,
            t.tm_sec,
            minutes / 60,
            minutes % 60
        )
    }

    /// The form of C's `ctime`, without its line feed: `Fri Feb  6 13:13:42 2004`.
    pub fn ctime(self) -> String {
        const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
        const MONTHS: [&str; 12] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        let name = |names: &[&'static str], index: i32| {
            usize::try_from(index)
                .ok()
                .and_then(|i| names.get(i).copied())
                .unwrap_or("???")
        };
        let t = &self.time;
        format!(
            "{} {} {:2} {:02}:{:02}:{:02} {}",
            name(&DAYS, t.tm_wday),
            name(&MONTHS, t.tm_mon),
            t.tm_mday,
            t.tm_hour,
            t.tm_min,
            t.tm_sec,
            1900 + t.tm_year
        )
    }
}

// SAFETY: the only pointer in a tm is to the name of its time zone, which is
// never read here.
unsafe impl Send for LocalTime {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_form_of_ctime() {
        // SAFETY: a tm of zero bytes is valid.
        let mut time: libc::tm = unsafe { MaybeUninit::zeroed().assume_init() };
        (time.tm_year, time.tm_mon, time.tm_mday, time.tm_wday) = (104, 1, 6, 5);
        (time.tm_hour, time.tm_min, time.tm_sec) = (13, 13, 42);
        let moment = LocalTime { time, millis: 0 };
        assert_eq!(moment.ctime(), "Fri Feb  6 13:13:42 2004");
        assert_eq!(moment.rfc3339(), "2004-02-06T13:13:42+00:00");
        time.tm_gmtoff = -9000;
        let moment = LocalTime { time, millis: 0 };
        assert_eq!(moment.rfc3339(), "2004-02-06T13:13:42-02:30");
    }
}

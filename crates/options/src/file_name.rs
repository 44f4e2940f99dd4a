//! The names of output files.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::settings::Format;

/// When the process started, in local time. Shown as `YYYYMMDD-HHMMSS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StartTime {
    /// Year of the Gregorian calendar.
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 60, because of leap seconds.
    pub second: u8,
}

impl StartTime {
    /// `time` in the local time zone; the epoch's first second if the C library
    /// cannot say.
    #[must_use]
    pub fn local(time: SystemTime) -> Self {
        let seconds = time
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let seconds = libc::time_t::try_from(seconds).unwrap_or_default();
        // SAFETY: `tm` is a C structure of numbers and a pointer, for which all
        // bits zero is a valid value.
        let mut broken_down: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers come from live local variables, and
        // `localtime_r` keeps neither.
        let known = unsafe { !libc::localtime_r(&seconds, &mut broken_down).is_null() };
        if !known {
            return StartTime {
                year: 1970,
                month: 1,
                day: 1,
                ..StartTime::default()
            };
        }
        // The C library keeps all of these in the ranges of the fields.
        StartTime {
            year: broken_down.tm_year.saturating_add(1900),
            month: broken_down.tm_mon as u8 + 1,
            day: broken_down.tm_mday as u8,
            hour: broken_down.tm_hour as u8,
            minute: broken_down.tm_min as u8,
            second: broken_down.tm_sec as u8,
        }
    }
}

impl fmt::Display for StartTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StartTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        write!(
            f,
            "{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}"
        )
    }
}

/// Replaces `%p` by the process id, `%t` by the start time and `%%` by a
/// percent sign. A `%` before anything else stays as it is.
///
/// ```
/// use hprof_options::{StartTime, expand_file_name};
///
/// let start = StartTime { year: 2026, month: 2, day: 6, hour: 13, minute: 13, second: 42 };
/// assert_eq!(expand_file_name("app-%p-%t.txt", 9128, start), "app-9128-20260206-131342.txt");
/// assert_eq!(expand_file_name("100%%, %d, %", 9128, start), "100%, %d, %");
/// ```
#[must_use]
pub fn expand_file_name(pattern: &str, pid: u32, start: StartTime) -> String {
    let mut name = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        name.push_str(before);
        let (replacement, used) = match after.as_bytes().first() {
            Some(b'p') => (pid.to_string(), 1),
            Some(b't') => (start.to_string(), 1),
            Some(b'%') => ("%".to_owned(), 1),
            _ => ("%".to_owned(), 0),
        };
        name.push_str(&replacement);
        rest = &after[used..];
    }
    name.push_str(rest);
    name
}

/// The name `force=n` takes when `path` exists already.
///
/// Binary files get the process id after their name. Text files keep a suffix
/// that starts with `.txt` in any case of letters, otherwise they get one:
/// `foo.txt` becomes `foo.9128.txt`, `foo` becomes `foo.9128.txt` too.
#[must_use]
pub fn unique_name(path: &Path, pid: u32, format: Format) -> PathBuf {
    let (stem, suffix) = match format {
        Format::Binary => (path.to_owned(), OsString::new()),
        Format::Text => split_text_suffix(path),
    };
    let mut name = stem.into_os_string();
    name.push(format!(".{pid}"));
    name.push(suffix);
    name.into()
}

/// Splits the suffix off a text file's name. Only the last component of the
/// path counts, so that a dot in a directory's name is not mistaken for it.
fn split_text_suffix(path: &Path) -> (PathBuf, OsString) {
    let is_text = |suffix: &OsStr| {
        let suffix = suffix.to_string_lossy();
        suffix
            .get(..3)
            .is_some_and(|start| start.eq_ignore_ascii_case("txt"))
    };
    match (path.file_stem(), path.extension()) {
        (Some(stem), Some(extension)) if is_text(extension) => {
            let mut suffix = OsString::from(".");
            suffix.push(extension);
            (path.with_file_name(stem), suffix)
        }
        // For a name like ".txt" the standard library knows no extension.
        (Some(name), None) if starts_with_dot_txt(name) => {
            let directory = path.parent().unwrap_or(Path::new(""));
            (directory.join(""), name.to_owned())
        }
        _ => (path.to_owned(), OsString::from(".txt")),
    }
}

fn starts_with_dot_txt(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case(".txt"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: StartTime = StartTime {
        year: 2026,
        month: 2,
        day: 6,
        hour: 3,
        minute: 4,
        second: 5,
    };

    #[test]
    fn placeholders_are_replaced_and_others_stay() {
        for (pattern, name) in [
            ("java.hprof.txt", "java.hprof.txt"),
            ("%p", "77"),
            ("a%p%p.%t", "a7777.20260206-030405"),
            ("%%p", "%p"),
            ("%%%p", "%77"),
            ("%", "%"),
            ("%P%x%", "%P%x%"),
            ("%\u{e9}", "%\u{e9}"),
            ("", ""),
        ] {
            assert_eq!(expand_file_name(pattern, 77, START), name, "{pattern}");
        }
    }

    #[test]
    fn unique_text_names_keep_a_txt_suffix() {
        for (path, name) in [
            ("foo.TXT", "foo.9230.TXT"),
            ("a.txtx", "a.9230.txtx"),
            ("foo", "foo.9230.txt"),
            ("foo.log", "foo.log.9230.txt"),
            ("java.hprof.txt", "java.hprof.9230.txt"),
            ("java.hprof.txt.TMP", "java.hprof.txt.TMP.9230.txt"),
            ("foo.tx", "foo.tx.9230.txt"),
            ("foo.t\u{e9}xt", "foo.t\u{e9}xt.9230.txt"),
            (".txt", ".9230.txt"),
            ("d/.txt", "d/.9230.txt"),
            ("/d.txt/foo", "/d.txt/foo.9230.txt"),
            ("d/foo.txt", "d/foo.9230.txt"),
            ("./foo.txt", "./foo.9230.txt"),
            ("foo.", "foo..9230.txt"),
        ] {
            assert_eq!(
                unique_name(Path::new(path), 9230, Format::Text),
                Path::new(name),
                "{path}"
            );
        }
    }

    #[test]
    fn unique_binary_names_end_in_the_pid() {
        for (path, name) in [
            ("java.hprof", "java.hprof.9330"),
            ("d/a.txt", "d/a.txt.9330"),
        ] {
            let unique = unique_name(Path::new(path), 9330, Format::Binary);
            assert_eq!(unique, Path::new(name));
        }
    }

    #[test]
    fn local_time_of_the_epoch_is_near_new_year_1970() {
        let time = StartTime::local(UNIX_EPOCH);
        let shown = time.to_string();
        assert!(
            shown.starts_with("19700101-") || shown.starts_with("19691231-"),
            "{shown}"
        );
        assert_eq!(shown.len(), 15);
    }

    proptest! {
        #[test]
        fn names_without_percent_signs_stay(pattern in "[^%]*") {
            prop_assert_eq!(expand_file_name(&pattern, 1, START), pattern);
        }

        #[test]
        fn doubled_percent_signs_keep_any_text(text in "\\PC*") {
            prop_assert_eq!(expand_file_name(&text.replace('%', "%%"), 1, START), text);
        }

        #[test]
        fn unique_names_differ_and_stay_in_their_directory(name in "[^/\0]+", text: bool) {
            let path = Path::new("d").join(&name);
            let format = if text { Format::Text } else { Format::Binary };
            let unique = unique_name(&path, 1, format);
            prop_assert_ne!(&unique, &path);
            if name != ".." && name != "." {
                prop_assert_eq!(unique.parent(), Some(Path::new("d")));
            }
        }
    }
}

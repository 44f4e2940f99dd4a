//! Times and names of files, as users write them.

use std::path::PathBuf;
use std::time::Duration;

use hprof_server::live::JvmFacts;
use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// A name from the program's: letters, digits, `.`, `_` and `-` only.
pub fn default_name(facts: &JvmFacts) -> PathBuf {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = facts.name.rsplit('/').next().unwrap_or_default();
    let archive = [".jar", ".war"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    let name = archive
        .or_else(|| name.rsplit('.').next())
        .unwrap_or_default();
    let name: String = name.chars().filter(|&c| good(c)).take(60).collect();
    let name = match name.trim_start_matches(['-', '.']) {
        "" => "profile",
        name => name,
    };
    PathBuf::from(format!("{name}-{}.html", facts.pid))
}

/// The name of a file of which there is one for each time: `%t` becomes the time in UTC, `%p` the process.
pub fn of_window(pattern: &str, pid: u32, now: Timestamp) -> String {
    let time = strtime::format("%Y%m%d-%H%M%S", &now.to_zoned(TimeZone::UTC));
    pattern
        .replace("%t", &time.unwrap_or_default())
        .replace("%p", &pid.to_string())
}

/// A time: seconds, or a number with s, m or h.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong =
        || "a time is a number of seconds, or a number with s, m or h: 30, 90s, 5m, 1h".to_owned();
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, text.as_bytes().last().copied()),
        None => (text, None),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        Some(b'm') => number.checked_mul(60),
        Some(b'h') => number.checked_mul(3600),
        _ => Some(number),
    };
    match seconds {
        Some(seconds @ 1..=604_800) => Ok(Duration::from_secs(seconds)),
        _ => Err("a time is from 1 second to a week".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use hprof_server::live::Pid;

    use super::*;

    #[test]
    fn times_are_seconds_minutes_hours() {
        let seconds = |text: &str| duration(text).map(|it| it.as_secs());
        assert_eq!(seconds("30"), Ok(30));
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("5m"), Ok(300));
        assert_eq!(seconds("2h"), Ok(7200));
        for text in [
            "",
            "0",
            "s",
            "1d",
            "-1",
            "1.5",
            "99999999999999999999",
            "1000h",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_window_has_a_file_of_its_own() {
        let now = Timestamp::from_second(1_795_000_000).unwrap();
        let name = of_window("a-%p-%t.html", 42, now);
        assert_eq!(name, "a-42-20261118-110640.html");
    }

    fn named(name: &str) -> String {
        let facts = JvmFacts {
            pid: Pid(42),
            began: 0,
            name: name.to_owned(),
            version: None,
            user: String::new(),
            uptime: None,
            resident: 0,
            refusal: None,
            apart: None,
            has_agent: false,
            in_container: false,
        };
        default_name(&facts).display().to_string()
    }

    #[test]
    fn the_name_of_a_program_becomes_one_of_a_file() {
        assert_eq!(named("com.acme.Main"), "Main-42.html");
        assert_eq!(named("../../x y/../-rf"), "rf-42.html");
        assert_eq!(named("/opt/app.jar"), "app-42.html");
        assert_eq!(named(""), "profile-42.html");
    }
}

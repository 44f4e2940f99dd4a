//! Signals by name, and which of them a profiler may take.

/// Signals with numbers below the real-time signals, and why they are not ours
/// to take; `None` if they are.
static SIGNALS: &[(&str, i32, Option<&str>)] = &[
    ("PROF", libc::SIGPROF, None),
    ("VTALRM", libc::SIGVTALRM, None),
    ("ALRM", libc::SIGALRM, None),
    ("USR1", libc::SIGUSR1, None),
    ("IO", libc::SIGIO, None),
    ("URG", libc::SIGURG, None),
    ("WINCH", libc::SIGWINCH, None),
    ("XCPU", libc::SIGXCPU, None),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    ("STKFLT", libc::SIGSTKFLT, None),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    ("PWR", libc::SIGPWR, None),
    ("HUP", libc::SIGHUP, Some(SHUTDOWN)),
    ("INT", libc::SIGINT, Some(SHUTDOWN)),
    ("TERM", libc::SIGTERM, Some(SHUTDOWN)),
    (
        "QUIT",
        libc::SIGQUIT,
        Some("the JVM dumps threads and profiles on it"),
    ),
    ("ILL", libc::SIGILL, Some(ERRORS)),
    ("TRAP", libc::SIGTRAP, Some(ERRORS)),
    ("ABRT", libc::SIGABRT, Some(ERRORS)),
    ("BUS", libc::SIGBUS, Some(ERRORS)),
    ("FPE", libc::SIGFPE, Some(ERRORS)),
    ("SEGV", libc::SIGSEGV, Some(ERRORS)),
    ("SYS", libc::SIGSYS, Some(ERRORS)),
    ("PIPE", libc::SIGPIPE, Some(ERRORS)),
    ("XFSZ", libc::SIGXFSZ, Some(ERRORS)),
    ("KILL", libc::SIGKILL, Some(UNCATCHABLE)),
    ("STOP", libc::SIGSTOP, Some(UNCATCHABLE)),
    (
        "USR2",
        libc::SIGUSR2,
        Some("the JVM suspends threads with it"),
    ),
    (
        "CHLD",
        libc::SIGCHLD,
        Some("it reports the end of child processes"),
    ),
    ("TSTP", libc::SIGTSTP, Some(JOB_CONTROL)),
    ("TTIN", libc::SIGTTIN, Some(JOB_CONTROL)),
    ("TTOU", libc::SIGTTOU, Some(JOB_CONTROL)),
    ("CONT", libc::SIGCONT, Some(JOB_CONTROL)),
];

const SHUTDOWN: &str = "the JVM shuts down on it";
const ERRORS: &str = "the JVM handles errors with it";
const UNCATCHABLE: &str = "it cannot be caught";
const JOB_CONTROL: &str = "shells control jobs with it";

/// The number of a signal given by name, with or without `SIG`, or by number. Real-time signals have the names that
/// shells give them, such as `RTMIN+3` and `RTMAX-1`.
///
/// # Errors
///
/// Why it cannot be used.
pub(super) fn number(text: &str) -> Result<i32, String> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let by_number = text
        .parse::<i32>()
        .ok()
        .filter(|_| text.starts_with(|c| c != '+'));
    let by_number = by_number.or_else(|| real_time(name));
    let known = SIGNALS
        .iter()
        .find(|&&(known, number, _)| known == name || Some(number) == by_number);
    match (known, by_number) {
        (Some(&(_, number, None)), _) => Ok(number),
        (Some((name, _, Some(reason))), _) => Err(format!("SIG{name} is taken: {reason}")),
        (None, Some(number)) if is_real_time(number) => Ok(number),
        (None, Some(number)) => Err(format!("there is no signal {number} to use")),
        (None, None) => {
            let upper = name.to_ascii_uppercase();
            let upper = upper.strip_prefix("SIG").unwrap_or(&upper);
            Err(
                match SIGNALS
                    .iter()
                    .find(|&&(known, _, reason)| known == upper && reason.is_none())
                {
                    Some((known, ..)) => format!("did you mean signal=SIG{known}?"),
                    None => format!("'{text}' is not, write for instance signal=SIGPROF"),
                },
            )
        }
    }
}

/// The number of a real-time signal by its name.
fn real_time(name: &str) -> Option<i32> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
        let steps = |text: &str, sign: char| match text.strip_prefix(sign) {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse::<u8>().ok().map(i32::from)
            }
            Some(_) => None,
            None => text.is_empty().then_some(0),
        };
        if let Some(rest) = name.strip_prefix("RTMIN") {
            return Some(first + steps(rest, '+')?);
        }
        Some(last - steps(name.strip_prefix("RTMAX")?, '-')?)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = name;
        None
    }
}

/// Returns whether this is a real-time signal the C library does not keep for itself.
fn is_real_time(number: i32) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(&number)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = number;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_numbers_mean_the_same() {
        for text in [
            "SIGPROF".to_owned(),
            "PROF".to_owned(),
            libc::SIGPROF.to_string(),
        ] {
            assert_eq!(number(&text), Ok(libc::SIGPROF), "{text}");
        }
    }

    #[test]
    fn signals_of_the_jvm_are_refused_with_the_reason() {
        for text in ["SEGV", "SIGQUIT", "9", "STOP", "SIGUSR2", "15"] {
            let reason = number(text).expect_err(text);
            assert!(
                reason.starts_with("SIG") && reason.contains(" is taken: "),
                "{reason}"
            );
        }
    }

    #[test]
    fn others_get_advice() {
        for text in ["prof", "sigprof", "SIGprof"] {
            assert_eq!(
                number(text),
                Err("did you mean signal=SIGPROF?".to_owned()),
                "{text}"
            );
        }
        for text in [
            "0",
            "-1",
            "33",
            "65",
            "4096",
            "99999999999",
            "",
            "SIG",
            "BOGUS",
            "+27",
            "2 7",
        ] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn real_time_signals_go_by_number() {
        assert_eq!(number("40"), Ok(40));
        assert_eq!(number("64"), Ok(64));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn real_time_signals_go_by_name() {
        let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
        for (text, expected) in [
            ("RTMIN", first),
            ("SIGRTMIN+12", first + 12),
            ("RTMAX-0", last),
            ("SIGRTMAX-3", last - 3),
        ] {
            assert_eq!(number(text), Ok(expected), "{text}");
        }
        for text in [
            "RTMIN-1", "RTMIN+99", "RTMAX+1", "RTMIN+", "RTMIN+1x", "RTMAX-99", "RTMIN+-1",
        ] {
            assert!(number(text).is_err(), "{text}");
        }
        assert_eq!(number("STKFLT"), Ok(16));
        assert_eq!(number("SIGPWR"), Ok(libc::SIGPWR));
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = number(&text);
        }
    }
}

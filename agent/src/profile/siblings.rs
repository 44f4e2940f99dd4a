//! Several JVMs with the same options: a script or build tool that `hprof-rs run` has started passes them on
//! to each. One must not replace the profile of another, and a mere `java -version` needs none.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::options::parse::RUN_BEGAN;
use crate::vm::Jvmti;

/// When the command began that has started this JVM with others; `None` if it has started this one alone.
pub(super) fn began() -> Option<SystemTime> {
    parse(&std::env::var(RUN_BEGAN).ok()?)
}

fn parse(text: &str) -> Option<SystemTime> {
    let nanos: u64 = text.parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))
}

/// Returns true if this JVM runs a program: the `java` launcher sets this property unless it only prints
/// something, as with `-version` (`SetJavaCommandLineProp`, java.c). Other launchers set no such property,
/// and have a program.
pub(super) fn runs_a_program(jvmti: &Jvmti) -> bool {
    let is_java = || {
        let launcher = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        launcher.file_name() == Some(Path::new("java").as_os_str())
    };
    jvmti.system_property(c"sun.java.command").is_some() || !is_java()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_begin_is_read_in_nanoseconds() {
        let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        assert_eq!(parse("1000000000"), Some(second));
        for text in ["", "-1", "1.5", "18446744073709551616"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

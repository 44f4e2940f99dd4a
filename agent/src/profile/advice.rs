//! The advice that `hprof-rs run` has the agent print at the end of a program: where the profile is,
//! and which command shows it. The command itself has ended, as the JVM has replaced it.

use std::path::{Path, PathBuf};

use crate::options::parse::RUN_FROM;
use crate::options::{Modes, Picture, Settings};

/// Where the user is, if the command has started this JVM and messages are wanted.
pub(super) fn wanted(settings: &Settings) -> Option<PathBuf> {
    let folder = std::env::var_os(RUN_FROM).map(PathBuf::from);
    folder.filter(|folder| settings.verbose && folder.is_absolute())
}

/// A line about a JVM that has left no file; `jvm` names it.
pub(super) fn no_data(jvm: &str) -> String {
    format!("hprof-rs: {jvm} ended without a sample, so it leaves no profile\n")
}

/// A line about a file in which all modes have counted nothing, for a person in the folder `from`.
pub(super) fn nothing(file: &Path, from: &Path) -> String {
    let shown = file.strip_prefix(from).unwrap_or(file);
    let shown = word(&shown.to_string_lossy());
    format!("hprof-rs: {shown} has no counts, for the reason above\n")
}

/// Two lines about the file, for a person in the folder `from`. `jvm` names the JVM, if there are others.
pub(super) fn lines(file: &Path, settings: &Settings, from: &Path, jvm: Option<&str>) -> String {
    let shown = file.strip_prefix(from).unwrap_or(file);
    let shown = word(&shown.to_string_lossy());
    let next = match settings.picture {
        Some(Picture::Html | Picture::Svg) => "open it in a browser".to_owned(),
        Some(Picture::Collapsed) => "flame graph tools read it".to_owned(),
        Some(Picture::Pprof) => format!("look at it with: go tool pprof -http=: {shown}"),
        Some(Picture::Speedscope) => "open it at https://www.speedscope.app".to_owned(),
        None => match command(&settings.modes) {
            Some(command) => format!("look at it with: hprof-rs {command} {shown}"),
            None => format!("look at it with: less {shown}"),
        },
    };
    let of = jvm.map_or_else(String::new, |jvm| format!(" of {jvm}"));
    format!("hprof-rs: the profile{of} is in {shown}\nhprof-rs: {next}\n")
}

/// The command that shows a profile of these modes best; no command reads `cpu=old`.
fn command(modes: &Modes) -> Option<&'static str> {
    let cpu = modes.cpu_samples || modes.cpu_times;
    match (
        modes.heap_dump,
        modes.heap_sites || modes.native,
        cpu,
        modes.monitor || modes.native_lock,
    ) {
        (false, false, false, false) => None,
        (true, false, false, false) => Some("leaks"),
        (false, true, false, false) => Some("sites"),
        (false, false, true, _) | (false, false, false, true) => Some("samples"),
        _ => Some("summary"),
    }
}

/// A word for a shell.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    match text.chars().all(is_plain) && !text.starts_with('-') {
        true => text.to_owned(),
        // Nothing that a terminal would obey.
        false => format!(
            "'{}'",
            text.replace(char::is_control, "?").replace('\'', r"'\''")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Process, Start, StartTime, load};

    fn said(options: &str, file: &str) -> String {
        let process = Process {
            pid: 1,
            start: StartTime::default(),
        };
        let Ok(Start::Profile(settings)) = load(options, None, &process) else {
            panic!("{options}")
        };
        lines(Path::new(file), &settings, Path::new("/home/me"), None)
    }

    #[test]
    fn the_next_command_fits_the_profile() {
        for (options, file, next) in [
            (
                "cpu=samples",
                "/home/me/java.hprof.txt",
                "hprof-rs samples java.hprof.txt",
            ),
            (
                "cpu=times,monitor=y",
                "/tmp/a b.txt",
                "hprof-rs samples '/tmp/a b.txt'",
            ),
            ("heap=sites", "/home/me/d/s.txt", "hprof-rs sites d/s.txt"),
            (
                "heap=dump,format=b",
                "/home/me/a.hprof",
                "hprof-rs leaks a.hprof",
            ),
            ("heap=all", "/home/me/a.txt", "hprof-rs summary a.txt"),
            ("monitor=y", "/home/me/a.txt", "hprof-rs samples a.txt"),
            ("cpu=old", "/home/me/it's", r"less 'it'\''s'"),
            (
                "cpu=samples,file=a.html",
                "/home/me/a.html",
                "open it in a browser",
            ),
            (
                "cpu=samples,file=a.pb.gz",
                "/x/a.pb.gz",
                "go tool pprof -http=: /x/a.pb.gz",
            ),
        ] {
            let text = said(options, file);
            let [place, advice] = text.lines().collect::<Vec<_>>()[..] else {
                panic!("{text}")
            };
            assert!(place.starts_with("hprof-rs: the profile is in "), "{place}");
            assert!(advice.ends_with(next), "{advice}");
        }
    }
}

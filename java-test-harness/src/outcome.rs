//! The results of a JVM run.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::{BinaryProfile, TextProfile};

/// Resources a process used, from the kernel's accounting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, all threads.
    pub user: Duration,
    /// CPU time in the kernel, all threads.
    pub system: Duration,
    /// Largest resident set, in bytes.
    pub max_resident: u64,
}

impl Usage {
    /// User and system CPU time.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// How a JVM ended, what it printed, and the files it left in its folder.
///
/// When a test panics, all of that is printed on standard error, where the test framework shows it
/// with the failed test: for each outcome that is alive, and for the last few that have been dropped
/// by the same thread, since a test often looks at a profile alone.
#[derive(Debug)]
pub struct Outcome {
    /// The command line, quoted for a shell.
    pub command: String,
    /// The exit status, unless a signal ended the JVM.
    pub status: Option<i32>,
    /// The signal that ended the JVM.
    pub signal: Option<i32>,
    /// True if the JVM was killed for exceeding its time limit.
    pub timed_out: bool,
    /// All of standard output.
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
    /// From start to end.
    pub wall: Duration,
    /// CPU time and memory.
    pub usage: Usage,
    /// The process id it had.
    pub pid: u32,
    /// Removed with the outcome.
    pub(crate) folder: TempDir,
}

impl Outcome {
    /// The JVM's working folder, which lives as long as this outcome.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file in the JVM's working folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The names of all files in the JVM's working folder, sorted.
    pub fn files(&self) -> Vec<String> {
        files_in(self.folder())
    }

    /// The content of a file in the JVM's working folder.
    ///
    /// # Panics
    ///
    /// When it is not there.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A text profile, by file name.
    ///
    /// # Panics
    ///
    /// When it is not there or is not well-formed.
    pub fn text_profile(&self, name: &str) -> TextProfile {
        let text = String::from_utf8(self.bytes(name)).unwrap_or_else(|error| panic!("{error}"));
        TextProfile::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A binary profile, by file name.
    ///
    /// # Panics
    ///
    /// When it is not there, is not well-formed, or refers to something it does not hold.
    pub fn binary_profile(&self, name: &str) -> BinaryProfile {
        let parsed = BinaryProfile::parse(&self.bytes(name));
        parsed.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The profile under its default name, `java.hprof.txt`.
    ///
    /// # Panics
    ///
    /// When it is not there or is not well-formed.
    pub fn profile(&self) -> TextProfile {
        self.text_profile("java.hprof.txt")
    }

    /// Checks that the program ended by itself with the given status.
    ///
    /// # Panics
    ///
    /// When it did not.
    pub fn expect_status(self, status: i32) -> Outcome {
        assert!(!self.timed_out, "did not end within its time limit");
        assert_eq!(
            (self.status, self.signal),
            (Some(status), None),
            "exit status and signal"
        );
        self
    }

    /// The number that the program printed as a word `name=number`; the last one counts.
    ///
    /// # Panics
    ///
    /// When there is no such word, or what stands behind the name is no number.
    pub fn printed(&self, name: &str) -> f64 {
        let mut values = self
            .stdout
            .split_whitespace()
            .rev()
            .filter_map(|word| word.split_once('='));
        let found = values.find(|(found, _)| *found == name);
        let (_, value) = found.unwrap_or_else(|| panic!("the program printed no {name}="));
        value
            .parse()
            .unwrap_or_else(|error| panic!("{name}={value}: {error}"))
    }

    /// All that is known about the run, for a person.
    pub fn report(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "=== {}", self.command);
        let how = match (self.status, self.signal) {
            _ if self.timed_out => "killed at its time limit".to_owned(),
            (Some(status), _) => format!("exit status {status}"),
            (None, signal) => format!("ended by signal {}", signal.unwrap_or(0)),
        };
        let _ = writeln!(
            text,
            "--- {how}, after {:.2?}, CPU {:.2?}",
            self.wall,
            self.usage.cpu()
        );
        let _ = writeln!(text, "--- stdout\n{}", excerpt(&self.stdout));
        let _ = writeln!(text, "--- stderr\n{}", excerpt(&self.stderr));
        for name in self.files() {
            let (bytes, length) = head_of(&self.path(&name));
            let _ = writeln!(text, "--- file {name}, {length} bytes");
            let _ = match std::str::from_utf8(&bytes) {
                Ok(content) => writeln!(text, "{}", excerpt(content)),
                Err(_) => writeln!(text, "{:02x?}", &bytes[..bytes.len().min(128)]),
            };
        }
        text
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.report());
        } else {
            keep(self.report());
        }
    }
}

thread_local! {
    /// Reports of the outcomes dropped last by this thread.
    static DROPPED: RefCell<VecDeque<String>> = const { RefCell::new(VecDeque::new()) };
}

fn keep(report: String) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            before(info);
            DROPPED.with_borrow_mut(|reports| {
                reports.drain(..).for_each(|report| eprintln!("{report}"));
            });
        }));
    });
    // At the end of a thread the list may be gone already; then no test will read it.
    let _ = DROPPED.try_with(|reports| {
        let mut reports = reports.borrow_mut();
        reports.push_back(report);
        if reports.len() > 2 {
            reports.pop_front();
        }
    });
}

/// Forgets the outcomes of a test that has passed.
pub(crate) fn forget_dropped() {
    DROPPED.with_borrow_mut(VecDeque::clear);
}

pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut names: Vec<String> = files
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The content of a file, of a large one only the beginning, and its length.
fn head_of(path: &Path) -> (Vec<u8>, u64) {
    const MAX_BYTES: u64 = 1 << 20;
    let Ok(file) = fs::File::open(path) else {
        return Default::default();
    };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    // Unreadable bytes are not shown.
    let _ = file.take(MAX_BYTES).read_to_end(&mut bytes);
    (bytes, length)
}

/// The text, without its middle when it is long.
fn excerpt(text: &str) -> String {
    const HEAD: usize = 120;
    const TAIL: usize = 60;
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= HEAD + TAIL {
        return lines.join("\n");
    }
    let (head, tail) = (&lines[..HEAD], &lines[lines.len() - TAIL..]);
    let left_out = lines.len() - HEAD - TAIL;
    format!(
        "{}\n[… {left_out} lines …]\n{}",
        head.join("\n"),
        tail.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_keep_both_ends() {
        let long: String = (0..1000).map(|number| format!("{number}\n")).collect();
        let short = excerpt(&long);
        assert!(short.starts_with("0\n1\n") && short.ends_with("\n998\n999"));
        assert!(short.contains("[… 820 lines …]"));
        assert_eq!(excerpt("a\nb\n"), "a\nb");
    }
}

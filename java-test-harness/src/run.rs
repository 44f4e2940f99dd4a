//! Starts a program on a JVM.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::outcome::files_in;
use crate::process::Process;
use crate::{Jdk, Outcome, Signal, agent_library, classes_for};

/// Variables through which a user's environment would change the JVM under test.
const FOREIGN_VARIABLES: [&str; 4] = [
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_HPROF_OPTIONS",
];

/// A JVM to be started: the JDK, its arguments, the program. See the crate's example.
#[derive(Debug)]
pub struct Run {
    jdk: &'static Jdk,
    java_home: PathBuf,
    class_path: PathBuf,
    jvm_arguments: Vec<OsString>,
    main: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    closed: Vec<u8>,
    time_limit: Duration,
    blocked: Vec<i32>,
    folder: TempDir,
}

impl Run {
    /// A JVM of this JDK, with a folder of its own to run in, a heap of 512 MiB, and a time limit
    /// of two minutes.
    ///
    /// # Panics
    ///
    /// When no temporary folder can be made.
    pub fn new(jdk: &'static Jdk) -> Run {
        let folder = tempfile::Builder::new().prefix("hprof-rs-test.").tempdir();
        // The last one has another name in JDK 8.
        let no_core = match jdk.feature() {
            ..=8 => "-XX:-CreateMinidumpOnCrash",
            _ => "-XX:-CreateCoredumpOnCrash",
        };
        let fixed = ["-Xmx512m", "-XX:ErrorFile=hs_err.log", no_core];
        Run {
            jdk,
            java_home: jdk.home().to_owned(),
            class_path: classes_for(jdk).to_owned(),
            jvm_arguments: fixed.map(OsString::from).to_vec(),
            main: Vec::new(),
            variables: Vec::new(),
            closed: Vec::new(),
            time_limit: Duration::from_secs(300),
            blocked: Vec::new(),
            folder: folder.unwrap_or_else(|error| panic!("no temporary folder: {error}")),
        }
    }

    /// Loads the agent under test with these options (possibly none).
    pub fn agent(self, options: &str) -> Run {
        let mut argument = OsString::from("-agentpath:");
        argument.push(agent_library());
        if !options.is_empty() {
            argument.push("=");
            argument.push(options);
        }
        self.jvm_arg(argument)
    }

    /// Runs on another home of the same JDK, such as a copy.
    pub fn home(mut self, home: &Path) -> Run {
        self.java_home = home.to_owned();
        self
    }

    /// Takes the classes from this folder rather than from [`classes`](crate::classes).
    pub fn class_path(mut self, folder: &Path) -> Run {
        self.class_path = folder.to_owned();
        self
    }

    /// Adds an argument for the JVM.
    pub fn jvm_arg(mut self, argument: impl Into<OsString>) -> Run {
        self.jvm_arguments.push(argument.into());
        self
    }

    /// Adds arguments for the JVM.
    pub fn jvm_args<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Run {
        self.jvm_arguments
            .extend(arguments.into_iter().map(Into::into));
        self
    }

    /// The program to run: one of the harness's own.
    pub fn class(mut self, name: &str) -> Run {
        self.main = vec![name.into()];
        self
    }

    /// The program to run: the main class of a module, as `MODULE/CLASS`.
    pub fn module(mut self, name: &str) -> Run {
        self.main = vec!["-m".into(), name.into()];
        self
    }

    /// Arguments for the program.
    pub fn args<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Run {
        self.main.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable. The JVM gets the test's own ones, less those that add options.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Run {
        self.variables
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Starts the JVM with these descriptors closed, as a daemon may.
    pub fn closed(mut self, descriptors: &[u8]) -> Run {
        self.closed = descriptors.to_vec();
        self
    }

    /// Puts a file into the JVM's folder before it starts.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Run {
        let path = self.path(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self
    }

    /// A path in the JVM's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the JVM with these signals blocked, as some launchers do.
    pub fn blocking(mut self, signals: impl IntoIterator<Item = i32>) -> Run {
        self.blocked = signals.into_iter().collect();
        self
    }

    /// How long the JVM may run before it is killed.
    pub fn time_limit(mut self, limit: Duration) -> Run {
        self.time_limit = limit;
        self
    }

    /// Runs the program to its end.
    ///
    /// A JVM that exceeds its time limit is asked for a thread dump, which then stands in `stdout`,
    /// and is killed with all its children.
    pub fn run(self) -> Outcome {
        self.start().finish()
    }

    /// Starts the program.
    ///
    /// # Panics
    ///
    /// When the JVM cannot be started.
    pub fn start(self) -> Running {
        let program = self.java_home.join("bin/java");
        let mut java = match self.closed.is_empty() {
            true => Command::new(program),
            // The shell closes them, and is replaced by the JVM.
            false => {
                let closed = self.closed.iter().map(|number| format!(" {number}>&-"));
                let script = format!("exec \"$0\" \"$@\"{}", closed.collect::<String>());
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(script).arg(program);
                shell
            }
        };
        java.args(&self.jvm_arguments)
            .arg("-cp")
            .arg(&self.class_path)
            .args(&self.main);
        java.current_dir(self.folder.path());
        for name in FOREIGN_VARIABLES {
            java.env_remove(name);
        }
        java.envs(self.variables);
        if !self.blocked.is_empty() {
            block(&mut java, self.blocked);
        }
        let command = shell_line(&java);
        let process = Process::start(&mut java);
        let deadline = process.started() + self.time_limit;
        Running {
            jdk: self.jdk,
            command,
            process,
            deadline,
            folder: Some(self.folder),
        }
    }
}

/// Has the process begin with these signals blocked.
fn block(command: &mut Command, signals: Vec<i32>) {
    let block = move || {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is a local, and zero bytes are the empty set.
        unsafe {
            for &signal in &signals {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: system calls and nothing else between fork and exec.
    unsafe { command.pre_exec(block) };
}

/// A running JVM. Dropping it kills it.
pub struct Running {
    jdk: &'static Jdk,
    command: String,
    process: Process,
    deadline: Instant,
    /// Handed to the [`Outcome`].
    folder: Option<TempDir>,
}

impl Running {
    /// The JVM's process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The JDK that it is of.
    pub(crate) fn jdk(&self) -> &'static Jdk {
        self.jdk
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        self.process.stdout().text()
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        self.process.stderr().text()
    }

    /// A path in the JVM's folder.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// The names of all files in the JVM's folder, sorted.
    pub fn files(&self) -> Vec<String> {
        files_in(self.folder())
    }

    fn folder(&self) -> &Path {
        self.folder
            .as_ref()
            .expect("the folder is there until the end")
            .path()
    }

    /// Waits until something has happened.
    ///
    /// # Panics
    ///
    /// When the JVM ends or reaches its time limit before.
    pub fn wait_until(&self, what: &str, happened: impl Fn(&Running) -> bool) {
        loop {
            // Asked in this order, for the last words of a JVM are read after its end.
            let ended = self.process.has_ended();
            if happened(self) {
                return;
            }
            assert!(!ended, "the JVM ended before {what}");
            assert!(
                Instant::now() < self.deadline,
                "time limit reached before {what}"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for a line on standard output that starts with this text.
    ///
    /// # Panics
    ///
    /// When the JVM ends or reaches its time limit before.
    pub fn wait_for_line(&self, start: &str) {
        self.wait_until(&format!("the line \"{start}\""), |running| {
            running.stdout().lines().any(|line| line.starts_with(start))
        });
    }

    /// Sends the JVM a signal, unless it has ended.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Runs this JDK's `jcmd` on the JVM and returns what it said.
    ///
    /// # Panics
    ///
    /// When the command fails.
    pub fn jcmd(&self, arguments: &[&str]) -> String {
        let mut jcmd = Command::new(self.jdk.tool("jcmd"));
        jcmd.arg(self.pid().to_string()).args(arguments);
        let done = jcmd
            .output()
            .unwrap_or_else(|error| panic!("{jcmd:?}: {error}"));
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{jcmd:?} failed:\n{text}{error}");
        text
    }

    /// Waits for the end; kills the JVM at its time limit, as [`Run::run`] does.
    pub fn finish(mut self) -> Outcome {
        self.end()
    }

    fn end(&mut self) -> Outcome {
        let mut end = self.process.wait_until(self.deadline);
        let timed_out = end.is_none();
        if timed_out {
            self.process.signal(Signal::Quit);
            end = self
                .process
                .wait_until(Instant::now() + Duration::from_secs(2));
            self.process.signal_group(Signal::Kill);
        }
        let end = end.or_else(|| {
            self.process
                .wait_until(Instant::now() + Duration::from_secs(60))
        });
        let end = end.expect("SIGKILL ends every process");
        self.process.drain();
        // A JVM that was killed leaves the socket of its attach listener to the next of its number.
        let _ = fs::remove_file(format!("/tmp/.java_pid{}", self.process.pid()));
        Outcome {
            command: self.command.clone(),
            status: end.status,
            signal: end.signal,
            timed_out,
            stdout: self.process.stdout().text(),
            stderr: self.process.stderr().text(),
            wall: end.wall,
            usage: end.usage,
            pid: self.process.pid(),
            folder: self.folder.take().expect("a JVM ends once"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.folder.is_some() {
            self.process.signal_group(Signal::Kill);
            // The outcome reports itself when a failed test is why we are here.
            drop(self.end());
        }
    }
}

/// The command as one could type it.
fn shell_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| {
        let word = word.to_string_lossy();
        let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_lines_can_be_typed() {
        let mut command = Command::new("/bin/java");
        command.args(["-Xmx1m", "a b", "it's", ""]);
        assert_eq!(shell_line(&command), r"/bin/java -Xmx1m 'a b' 'it'\''s' ''");
    }
}

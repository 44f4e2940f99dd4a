//! The JVMs of this machine, in containers too, as far as `/proc` shows them.

pub mod command_line;
pub mod perf_data;
pub mod pick;
pub mod process;
pub mod root;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use perf_data::PerfData;
use process::{Libraries, Pid, Status, user_name};
use root::Root;

/// How old a process is by when a launcher has loaded its VM.
const LAUNCHED: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);
/// A longer file `release` is none.
const MAX_RELEASE: u64 = 64 << 10;

/// Says whether our agent is in a JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentState {
    /// Its library is not loaded.
    Absent,
    /// Its library is loaded.
    Loaded,
    /// Not for us to see: the JVM belongs to another user, or has rights that we lack.
    Unknown,
}

/// A JVM.
#[derive(Debug)]
pub struct Jvm {
    /// The process.
    pub pid: Pid,
    /// The kernel's facts about the process.
    pub status: Status,
    /// The user it runs as.
    pub user: String,
    /// The main class, module or JAR file.
    pub main: String,
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// The version of its JDK, such as `17.0.15`.
    pub version: Option<String>,
    /// Its libraries, if we may see them.
    pub libraries: Option<Libraries>,
    /// True if it has a file system or process ids of its own. `None` if that cannot be seen.
    pub in_container: Option<bool>,
    /// Its performance counters. Users switch them off, and other users cannot read them.
    perf: Option<PerfData>,
    words: Vec<String>,
}

/// All JVMs that can be told as such.
///
/// # Errors
/// If `/proc` is not there.
pub fn all() -> io::Result<Vec<Jvm>> {
    let found = Pid::all()?
        .into_iter()
        .filter_map(|pid| Jvm::of(pid).ok().flatten());
    Ok(found.collect())
}

impl Jvm {
    /// The JVM that is this process; `None` if it is none, or has ended.
    ///
    /// # Errors
    /// `NotFound` if there is no such process.
    pub fn of(pid: Pid) -> io::Result<Option<Self>> {
        let status = pid.status()?;
        let words = pid.command_line()?;
        if words.is_empty() || status.is_zombie {
            return Ok(None);
        }
        let libraries = pid.libraries().ok();
        let perf_file = perf_file(pid, &status);
        let is_jvm = match &libraries {
            Some(libraries) => libraries.hotspot.is_some() || libraries.openj9,
            // Of another user's process only the name and the counters' file can be seen.
            None => {
                let name = Path::new(&words[0]).file_name();
                let keeps_counters = |file| !is_left_by_another(file, pid);
                name.is_some_and(|name| name == "java")
                    || perf_file.as_ref().is_some_and(keeps_counters)
            }
        };
        if !is_jvm {
            return Ok(None);
        }
        // A killed JVM has left the file, and its process id may have been reused by
        // one that keeps no counters.
        let is_left = libraries
            .as_ref()
            .is_some_and(|found| found.counters.is_none());
        let perf_file = perf_file.filter(|_| !is_left);
        let perf = perf_file.and_then(|file| PerfData::read(file).ok());
        let perf_text = |name| perf.as_ref().and_then(|perf: &PerfData| perf.text(name));
        // The VM joins its arguments with spaces, so the kernel's list is better where the process
        // is a launcher with the program in its arguments.
        let program = command_line::program(&words);
        let (main, arguments) = match (perf_text("sun.rt.javaCommand"), program.split_first()) {
            (Some(command), first) => {
                let main = command.split(' ').next().unwrap_or(command);
                match first {
                    Some((word, rest)) if word == main => (main.to_owned(), rest.to_vec()),
                    _ => {
                        let rest = command.split(' ').skip(1).map(str::to_owned);
                        (main.to_owned(), rest.collect())
                    }
                }
            }
            (None, Some((main, rest))) => (main.clone(), rest.to_vec()),
            (None, None) => (words[0].clone(), words[1..].to_vec()),
        };
        let version = perf_text("java.property.java.version").map(str::to_owned);
        let version = version.or_else(|| {
            let library = libraries.as_ref()?.hotspot.as_ref()?;
            release_of(pid, library)
        });
        let in_container = match status.inner_pid == pid.0 {
            false => Some(true),
            true => pid.sees_our_files().ok().map(|same| !same),
        };
        Ok(Some(Self {
            user: user_name(status.uid),
            pid,
            status,
            main,
            arguments,
            version,
            libraries,
            in_container,
            perf,
            words,
        }))
    }

    /// The JVM that this process is, as [`Jvm::of`] has it. A young process may be a launcher that has not loaded
    /// its VM yet: it is waited for, up to the age of [`LAUNCHED`].
    ///
    /// # Errors
    /// `NotFound` if there is no such process.
    pub fn started(pid: Pid) -> io::Result<Option<Self>> {
        let deadline = Instant::now() + LAUNCHED;
        loop {
            let jvm = Self::of(pid)?;
            let is_young = || pid.age().is_ok_and(|age| age < LAUNCHED.as_secs_f64());
            let has_ended = || pid.status().is_ok_and(|status| status.is_zombie);
            if jvm.is_some() || Instant::now() >= deadline || !is_young() || has_ended() {
                return Ok(jvm);
            }
            thread::sleep(PAUSE);
        }
    }

    /// A performance counter that is a number.
    pub fn counter(&self, name: &str) -> Option<i64> {
        self.perf.as_ref()?.number(name)
    }

    /// A performance counter that is text.
    pub fn counter_text(&self, name: &str) -> Option<&str> {
        self.perf.as_ref()?.text(name)
    }

    /// Finds out whether our agent is in it.
    pub fn agent(&self) -> AgentState {
        match &self.libraries {
            None => AgentState::Unknown,
            Some(Libraries { agent: None, .. }) => AgentState::Absent,
            Some(_) => AgentState::Loaded,
        }
    }

    /// The feature release of its JDK, such as 17.
    pub fn feature(&self) -> Option<u32> {
        let version = self.version.as_deref()?;
        let version = version.strip_prefix("1.").unwrap_or(version);
        let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }

    /// Returns true if it refuses all attaching (`-XX:+DisableAttachMechanism`).
    pub fn refuses_attach(&self) -> bool {
        let capabilities = self
            .perf
            .as_ref()
            .and_then(|perf| perf.text("sun.rt.jvmCapabilities"));
        // The first sign says whether the VM can be attached to (HotSpot, statSampler.cpp).
        capabilities.is_some_and(|signs| signs.starts_with('0'))
            || self.flag("DisableAttachMechanism") == Some(true)
    }

    /// The state of a flag of the VM as its command line and environment set it.
    pub fn flag(&self, name: &str) -> Option<bool> {
        let vm_arguments = self
            .perf
            .as_ref()
            .and_then(|perf| perf.text("java.rt.vmArgs"));
        match vm_arguments {
            Some(words) => command_line::has_flag(words.split(' '), name),
            None => command_line::has_flag(self.words.iter().map(String::as_str), name),
        }
    }

    /// The main class without its packages, or the name of the JAR file.
    pub fn short_name(&self) -> &str {
        if self.main.ends_with(".jar") || self.main.ends_with(".java") {
            return self.main.rsplit('/').next().unwrap_or(&self.main);
        }
        let class = self.main.rsplit('/').next().unwrap_or(&self.main);
        class.rsplit('.').next().unwrap_or(class)
    }
}

/// The counters' file of a JVM: its name is the id that the process has for itself. Files of dead
/// processes may bear the number of a live one of another user, and anybody can put something there.
fn perf_file(pid: Pid, status: &Status) -> Option<File> {
    let root = Root::of(pid)
        .or_else(|error| Root::assumed(pid, status).ok_or(error))
        .ok()?;
    let tmp = root.folder(Path::new("/tmp")).ok()?;
    let names = fs::read_dir(root::way(&tmp))
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut folders = names.filter(|name| name.to_string_lossy().starts_with("hsperfdata_"));
    folders.find_map(|folder| {
        let path = Path::new("/tmp")
            .join(folder)
            .join(status.inner_pid.to_string());
        root.file(&path, Some(status.uid)).ok()
    })
}

/// The start of a process and the times of files come from different clocks.
const CLOCKS_APART: f64 = 2.0;

/// Returns true if a file was written last before the process began: a killed JVM whose number has been given again has left it.
fn is_left_by_another(file: &File, pid: Pid) -> bool {
    let written = file.metadata().and_then(|facts| facts.modified());
    let since = written.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
    match (since, pid.age()) {
        (Ok(since), Ok(age)) => since.as_secs_f64() > age + CLOCKS_APART,
        _ => false,
    }
}

/// `JAVA_VERSION` in the file `release` of the JDK that holds a `lib/server/libjvm.so`, or in JDK 8 a
/// `jre/lib/amd64/server/libjvm.so`.
fn release_of(pid: Pid, library: &Path) -> Option<String> {
    let root = Root::of(pid).ok()?;
    let homes = library.ancestors().skip(3).take(3);
    let file = homes.map(|home| home.join("release")).find_map(|path| {
        let path = pid.inner_path(&path);
        root.file(&path, None).ok()
    })?;
    let mut text = String::new();
    file.take(MAX_RELEASE).read_to_string(&mut text).ok()?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(version.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counters_that_are_older_than_the_process_are_those_of_another() {
        let file = tempfile::tempfile().unwrap();
        let own = Pid(std::process::id());
        assert!(!is_left_by_another(&file, own));
        let before = SystemTime::now() - Duration::from_secs(3600 * 24 * 365 * 20);
        file.set_modified(before).unwrap();
        assert!(is_left_by_another(&file, own));
    }
}

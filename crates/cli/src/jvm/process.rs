//! The kernel's facts about a process (`proc(5)`).

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Longer command lines are cut.
const MAX_COMMAND_LINE: u64 = 1 << 20;

/// The process id in this process's namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub u32);

/// The fields of `/proc/PID/status` that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The effective user id, as this process sees it.
    pub uid: u32,
    /// The effective group id.
    pub gid: u32,
    /// The process id as the process itself sees it: another one in a container.
    pub inner_pid: u32,
    /// True if the process catches SIGQUIT. Any other would be killed by it.
    pub catches_quit: bool,
    /// True if it has ended and waits to be reaped.
    pub is_zombie: bool,
    /// True if a signal has stopped it; under a tracer it stops and goes on all the time.
    pub is_stopped: bool,
}

/// Libraries that tell what a process is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Libraries {
    /// HotSpot.
    pub hotspot: Option<PathBuf>,
    /// Eclipse OpenJ9.
    pub openj9: bool,
    /// The agent, under the path by which it was loaded.
    pub agent: Option<PathBuf>,
    /// True if the agent's file has been deleted or replaced since.
    pub agent_is_deleted: bool,
    /// HotSpot's file of performance counters.
    pub counters: Option<PathBuf>,
}

impl Pid {
    /// All processes, in ascending order.
    ///
    /// # Errors
    /// If `/proc` is not there.
    pub fn all() -> io::Result<Vec<Self>> {
        let names =
            fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut pids: Vec<Self> = names
            .filter_map(|name| name.parse().ok().map(Self))
            .collect();
        pids.sort_unstable();
        Ok(pids)
    }

    /// A file below `/proc/PID`.
    pub fn path(self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.0.to_string()).join(name)
    }

    /// Its status.
    ///
    /// # Errors
    /// `NotFound` if there is no such process.
    pub fn status(self) -> io::Result<Status> {
        let text = fs::read_to_string(self.path("status"))?;
        parse_status(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// When it began, in clock ticks since the start of the system: tells it from a later process
    /// of that number.
    ///
    /// # Errors
    /// `NotFound` if there is no such process.
    pub fn began(self) -> io::Result<u64> {
        let text = fs::read_to_string(self.path("stat"))?;
        parse_began(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Seconds since it began.
    ///
    /// # Errors
    /// `NotFound` if there is no such process.
    pub fn age(self) -> io::Result<f64> {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let began = self.began()? as f64 / ticks as f64;
        let up = uptime().ok_or(io::ErrorKind::InvalidData)?;
        Ok((up - began).max(0.0))
    }

    /// The memory that it occupies, in bytes.
    ///
    /// # Errors
    /// `NotFound` if there is no such process.
    pub fn resident(self) -> io::Result<u64> {
        let text = fs::read_to_string(self.path("statm"))?;
        let pages = text.split_ascii_whitespace().nth(1);
        let pages: Option<u64> = pages.and_then(|pages| pages.parse().ok());
        let bytes = pages.map(|pages| pages * rustix::param::page_size() as u64);
        bytes.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Its arguments; empty for threads of the kernel.
    ///
    /// # Errors
    /// `NotFound` if there is no such process.
    pub fn command_line(self) -> io::Result<Vec<String>> {
        let mut bytes = Vec::new();
        File::open(self.path("cmdline"))?
            .take(MAX_COMMAND_LINE)
            .read_to_end(&mut bytes)?;
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let words = bytes.split(|&byte| byte == 0);
        Ok(words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect())
    }

    /// The libraries in it.
    ///
    /// # Errors
    /// `PermissionDenied` for processes of other users.
    pub fn libraries(self) -> io::Result<Libraries> {
        parse_maps(BufReader::new(File::open(self.path("maps"))?))
    }

    /// A path that `/proc` shows, as the process itself has it. The kernel shows paths from our own root folder,
    /// so those of a process in a chroot begin with its root.
    pub fn inner_path(self, path: &Path) -> PathBuf {
        let inside = fs::read_link(self.path("root")).ok().and_then(|root| {
            path.strip_prefix(root)
                .ok()
                .map(|rest| Path::new("/").join(rest))
        });
        inside.unwrap_or_else(|| path.to_owned())
    }

    /// Returns true if its root folder is one in ours, as with chroot. False if that cannot be seen.
    pub fn is_chrooted(self) -> bool {
        fs::read_link(self.path("root")).is_ok_and(|root| root != Path::new("/"))
    }

    /// Returns true if its root folder and mounts are those of this process, so that paths mean the same.
    ///
    /// # Errors
    /// `PermissionDenied` for processes of other users.
    pub fn sees_our_files(self) -> io::Result<bool> {
        let same_mounts =
            fs::read_link(self.path("ns/mnt"))? == fs::read_link("/proc/self/ns/mnt")?;
        let (root, ours) = (fs::metadata(self.path("root/."))?, fs::metadata("/")?);
        let same_root = (root.dev(), root.ino()) == (ours.dev(), ours.ino());
        // A second mount of the same folder may have others mounted below.
        Ok(same_mounts && same_root && !self.is_chrooted())
    }
}

fn parse_status(text: &str) -> Option<Status> {
    let field = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim)
    };
    // Real, effective, saved and file system id.
    let second = |name| field(name)?.split_whitespace().nth(1)?.parse().ok();
    // From the outermost namespace to the innermost. Kernels before 4.1 lack it.
    let inner_pid = field("NSpid").or(field("Pid"))?.split_whitespace().last()?;
    let caught = u64::from_str_radix(field("SigCgt")?, 16).ok()?;
    Some(Status {
        uid: second("Uid")?,
        gid: second("Gid")?,
        inner_pid: inner_pid.parse().ok()?,
        // Signal 3 is bit 2.
        catches_quit: caught & (1 << 2) != 0,
        is_zombie: field("State")?.starts_with(['Z', 'X']),
        is_stopped: field("State")?.starts_with('T'),
    })
}

/// Field 22 of `/proc/PID/stat`. The name of the process is in brackets, and may hold anything.
fn parse_began(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// For how many seconds the system has run.
pub fn uptime() -> Option<f64> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// The libraries in a list with the form of `/proc/PID/maps`.
///
/// # Errors
/// Errors of the reader.
pub fn parse_maps(maps: impl BufRead) -> io::Result<Libraries> {
    let mut found = Libraries::default();
    for line in maps.split(b'\n') {
        let line = line?;
        // A path is the only field that holds a slash, but for devices such as 08:01.
        let Some(at) = line.iter().position(|&byte| byte == b'/') else {
            continue;
        };
        let path = String::from_utf8_lossy(&line[at..]);
        let (path, is_deleted) = match path.strip_suffix(" (deleted)") {
            Some(path) => (path, true),
            None => (&*path, false),
        };
        match path.rsplit('/').next().unwrap_or_default() {
            "libjvm.so" if found.hotspot.is_none() => found.hotspot = Some(path.into()),
            "libhprof_rs.so" if found.agent.is_none() => {
                found.agent = Some(path.into());
                found.agent_is_deleted = is_deleted;
            }
            name if name.starts_with("libj9vm") => found.openj9 = true,
            _ if path.contains("/hsperfdata_") && !is_deleted => found.counters = Some(path.into()),
            _ => {}
        }
    }
    Ok(found)
}

/// The name of a user of this machine; the number if it has none.
pub fn user_name(uid: u32) -> String {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    found.unwrap_or_else(|| uid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_start_of_a_process_is_found_behind_any_name() {
        let fields: Vec<String> = (4..=52).map(|number: u32| number.to_string()).collect();
        let text = format!("17 (a) b (c) S {}", fields.join(" "));
        assert_eq!(parse_began(&text), Some(22));
        assert_eq!(parse_began("17 (java S"), None);
        let (began, up) = (Pid(std::process::id()).began().unwrap(), uptime().unwrap());
        let ticks = rustix::param::clock_ticks_per_second();
        assert!(began / ticks <= up as u64, "{began} {up}");
    }

    #[test]
    fn the_status_of_a_process_in_a_container() {
        let text = "Name:\tjava\nState:\tS (sleeping)\nPid:\t4711\nNSpid:\t4711\t12\t1\n\
                    Uid:\t0\t1000\t0\t0\nGid:\t0\t1001\t0\t0\nSigCgt:\t2000000181005ccf\n";
        let status = parse_status(text).unwrap();
        assert_eq!((status.uid, status.gid, status.inner_pid), (1000, 1001, 1));
        assert!(status.catches_quit && !status.is_zombie);
        let text = text.replace("5ccf", "5cc3").replace("S (sl", "Z (z");
        let status = parse_status(&text).unwrap();
        assert!(!status.catches_quit && status.is_zombie && !status.is_stopped);
        for (state, is_stopped) in [("T (stopped)", true), ("t (tracing stop)", false)] {
            let status = parse_status(&text.replace("Z (zeeping)", state)).unwrap();
            assert_eq!(status.is_stopped, is_stopped, "{state}");
        }
    }

    #[test]
    fn libraries_are_told_by_their_file_names() {
        let maps = "\
7f0000000000-7f0000001000 r-xp 00000000 08:01 42   /opt/a b/libjvm.so\n\
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\
7f0000000000-7f0000001000 r-xp 00000000 08:01 42   /x/libhprof_rs.so (deleted)\n\
7f0000000000-7f0000001000 r--p 00000000 08:01 42   [vdso]\n\
7f0000000000-7f0000008000 rw-s 00000000 08:01 42   /tmp/hsperfdata_me/42\n";
        let found = parse_maps(maps.as_bytes()).unwrap();
        assert_eq!(found.hotspot, Some("/opt/a b/libjvm.so".into()));
        assert_eq!(found.agent, Some("/x/libhprof_rs.so".into()));
        assert!(found.agent_is_deleted && !found.openj9);
        assert_eq!(found.counters, Some("/tmp/hsperfdata_me/42".into()));
    }

    #[test]
    fn this_process_is_described() {
        let pid = Pid(std::process::id());
        let status = pid.status().unwrap();
        assert_eq!(status.inner_pid, pid.0);
        assert_eq!(status.uid, rustix::process::geteuid().as_raw());
        assert!(pid.sees_our_files().unwrap());
        assert!(Pid::all().unwrap().contains(&pid));
        assert!(!pid.command_line().unwrap().is_empty());
        assert_eq!(pid.libraries().unwrap(), Libraries::default());
    }

    #[test]
    fn users_have_names_or_numbers() {
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(4_000_000_001), "4000000001");
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(Uid|Gid|NSpid|SigCgt|State|:|\t|[0-9a-f]{1,20}|\n| )*") {
            let _ = parse_status(&text);
        }
    }
}

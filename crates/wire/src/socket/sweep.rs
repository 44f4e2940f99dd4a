//! Removal of what killed JVMs have left.

use std::fs::{self, File, Metadata};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, unlinkat};

use super::{BASES, PREFIX, folders_in, lock, open_folder, socket_in};
use crate::local::{Node, Users};

/// A younger socket or folder stays: its JVM may be about to listen.
const MIN_AGE: Duration = Duration::from_secs(60);
/// More entries of one folder are left to the next sweep.
const MAX_LOOKS: usize = 10_000;

/// Removes the control sockets of this user whose JVMs have been killed, and the folders that are empty
/// then. Returns the number of sockets.
///
/// A socket goes if no process of this PID namespace has its number, the kernel refuses a
/// connection, as no process listens, and it is a minute old: between `bind` and `listen` a live one
/// is refused as well. The folder is locked meanwhile, so an agent that starts cannot put
/// its socket in the place of the one that is looked at. Whatever cannot be judged stays.
pub fn sweep() -> usize {
    BASES
        .iter()
        .map(|base| sweep_in(Path::new(base), MIN_AGE))
        .sum()
}

pub(super) fn sweep_in(base: &Path, min_age: Duration) -> usize {
    let own = rustix::process::geteuid().as_raw();
    let Ok(base) = open_folder(base, 0) else {
        return 0;
    };
    let fixed = format!("{PREFIX}{own}");
    let mut removed = 0;
    for (name, folder) in folders_in(&base, own) {
        let Some(_lock) = lock(&folder, Duration::ZERO) else {
            continue;
        };
        let gone = sweep_folder(&folder, min_age);
        removed += gone;
        // That of one JVM alone; only an empty one goes.
        if name != fixed && (gone > 0 || folder.metadata().is_ok_and(|it| is_old(&it, min_age))) {
            let _ = unlinkat(&base, &name, AtFlags::REMOVEDIR);
        }
    }
    removed
}

/// Sweeps a folder that is locked. No links are followed: the folder is held open, and names are looked up in it.
fn sweep_folder(folder: &File, min_age: Duration) -> usize {
    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let names = fs::read_dir(&path).into_iter().flatten().take(MAX_LOOKS);
    let mut removed = 0;
    for entry in names.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let number = name
            .strip_prefix("pid")
            .and_then(|it| it.parse::<u32>().ok());
        if number.is_some_and(|pid| !is_process(pid))
            && let Ok(node) = socket_in(folder, &name)
            && is_dead(&node, min_age)
            && unlinkat(folder, &name, AtFlags::empty()).is_ok()
        {
            removed += 1;
        }
    }
    removed
}

fn is_process(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Returns whether no process listens, and none is about to.
fn is_dead(node: &Node, min_age: Duration) -> bool {
    let refused = || node.connect(Users::own(), Instant::now());
    is_old(node.metadata(), min_age) && refused().is_err_and(|error| error.is_absent())
}

fn is_old(found: &Metadata, min_age: Duration) -> bool {
    let age = found
        .modified()
        .map(|made| made.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age >= min_age)
}

#[cfg(test)]
mod tests {
    use std::fs::DirBuilder;
    use std::os::unix::fs::DirBuilderExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// No process has such a number.
    const ABOVE_ALL: u32 = (1 << 22) + 1;

    fn folder(base: &Path, end: &str) -> PathBuf {
        let own = rustix::process::geteuid().as_raw();
        let folder = base.join(format!("{PREFIX}{own}{end}"));
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = names
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_sockets_of_the_dead_go() {
        let base = tempfile::tempdir().unwrap();
        let (shared, own) = (folder(base.path(), ""), folder(base.path(), ".12ab"));
        let _live = UnixListener::bind(shared.join(format!("pid{ABOVE_ALL}"))).unwrap();
        for dead in [
            shared.join(format!("pid{}", ABOVE_ALL + 1)),
            // About to listen, for all that is known.
            shared.join(format!("pid{}", std::process::id())),
            own.join(format!("pid{}", ABOVE_ALL + 1)),
        ] {
            drop(UnixListener::bind(dead).unwrap());
        }
        fs::write(shared.join(format!("pid{}", ABOVE_ALL + 2)), "no socket").unwrap();
        let before = names(&shared);
        assert_eq!(sweep_in(base.path(), MIN_AGE), 0, "all are young");
        assert_eq!(names(&shared), before);
        assert_eq!(sweep_in(base.path(), Duration::ZERO), 2);
        let mut left = before;
        left.retain(|name| *name != format!("pid{}", ABOVE_ALL + 1));
        assert_eq!(names(&shared), left);
        assert!(!own.exists() && shared.exists());
    }

    #[test]
    fn a_folder_in_which_an_agent_starts_is_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let shared = folder(base.path(), "");
        drop(UnixListener::bind(shared.join(format!("pid{ABOVE_ALL}"))).unwrap());
        let starting = lock(&File::open(&shared).unwrap(), Duration::ZERO).unwrap();
        assert_eq!(sweep_in(base.path(), Duration::ZERO), 0);
        drop(starting);
        assert_eq!(sweep_in(base.path(), Duration::ZERO), 1);
    }

    #[test]
    fn folders_of_others_and_links_are_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let open = folder(base.path(), ".open");
        let own = rustix::process::geteuid().as_raw();
        std::os::unix::fs::symlink(elsewhere.path(), base.path().join(format!("{PREFIX}{own}")))
            .unwrap();
        for folder in [&*open, elsewhere.path()] {
            drop(UnixListener::bind(folder.join(format!("pid{ABOVE_ALL}"))).unwrap());
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&open, mode).unwrap();
        assert_eq!(sweep_in(base.path(), Duration::ZERO), 0);
    }
}

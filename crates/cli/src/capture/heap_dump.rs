//! A heap dump of a running JVM, by HotSpot's attach protocol (`dumpheap`, since JDK 6).
//!
//! The JVM writes the file, with its own rights and by a path that means something to it: below
//! the root folder of its container. Its writer creates it with `O_EXCL` and mode 0600. As soon as
//! it is complete the file is opened here and loses its name, so nothing is left of it however
//! this command ends.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::fs::{AtFlags, unlinkat};

use super::Interrupt;
use super::meter::Meter;
use crate::attach::{self, Limits, Request, Target};
use crate::jvm::process::Pid;
use crate::render::screen::printable;

/// The words of a JVM that has written a dump (`attachListener.cpp`).
const CREATED: &str = "Heap dump file created";

/// How long an interrupted command waits for the file that it is to remove.
const FAREWELL: Duration = Duration::from_secs(5);
/// The pause between two looks for it.
const PAUSE: Duration = Duration::from_millis(20);

/// The heap dump that is wanted of a JVM.
#[derive(Debug, Clone)]
pub struct DumpWish {
    /// The process.
    pub pid: Pid,
    /// True: the JVM collects garbage first, and leaves unreached objects out.
    pub is_live: bool,
    /// The folder for the file, as the JVM sees it.
    pub folder: PathBuf,
    /// How long the JVM may take.
    pub limit: Duration,
}

/// Has a JVM write a heap dump; gives the file, which has no name any more, and the JVM's name.
///
/// # Errors
/// If the JVM cannot be asked, or could not write the file.
pub fn dump(wish: &DumpWish, interrupt: &Interrupt) -> anyhow::Result<(File, String)> {
    let target = Target::find(wish.pid)?;
    let name = file_name(wish.pid);
    let path = wish.folder.join(&name);
    let shown = path.to_str().context("--dump-folder is no UTF-8")?;
    if !path.is_absolute() {
        bail!("--dump-folder takes an absolute path, as the JVM sees it");
    }
    let folder = target.root.folder(&wish.folder).with_context(|| {
        format!(
            "--dump-folder {}: process {} has no such folder",
            wish.folder.display(),
            wish.pid.0
        )
    })?;
    let is_over = Arc::new(AtomicBool::new(false));
    let unfinished = Unfinished {
        dump: Name {
            folder: folder.try_clone()?,
            name: name.clone(),
        },
        requests: requests(&target),
        shown: printable(shown),
        is_over: Arc::clone(&is_over),
    };
    let _leftover = interrupt.removes(move || unfinished.remove());
    // Whatever happens, the name goes; the file stays as long as it is open.
    let written = Removed(Name { folder, name });
    let meter = Meter::begin("dumping", 0);
    let request = Request::HeapDump {
        file: shown,
        live: wish.is_live,
    };
    let limits = Limits {
        connect: Duration::from_secs(10),
        answer: wish.limit,
    };
    let answer = attach::ask(&target, &request, limits);
    is_over.store(true, Ordering::Relaxed);
    let answer = answer?;
    drop(meter);
    if answer.status != 0 || !answer.text.contains(CREATED) {
        bail!(
            "the JVM of process {} could not write a dump to {shown}: {} (--dump-folder names \
             another folder, as the JVM sees it)",
            wish.pid.0,
            attach::said(&answer)
        );
    }
    let uid = target.status().uid;
    let file = target.root.file(&path, Some(uid)).with_context(|| {
        format!(
            "the JVM of process {} says that it has written {shown}, and that cannot be opened",
            wish.pid.0
        )
    })?;
    drop(written);
    Ok((file, printable(target.jvm.short_name())))
}

/// A name that no other file has. To guess it gains an attacker nothing: the JVM replaces no file, and only
/// a plain file of its user is opened.
fn file_name(pid: Pid) -> String {
    let number = RandomState::new().hash_one(pid);
    format!(".hprof-rs-{}-{number:016x}.hprof", pid.0)
}

/// The files that ask a JVM to listen, which `attach` makes in one of two folders.
fn requests(target: &Target) -> Vec<Name> {
    let tmp = target.root.folder(Path::new("/tmp")).ok();
    let current = target.current.as_ref().and_then(|it| it.try_clone().ok());
    let name = format!(".attach_pid{}", target.status().inner_pid);
    let at = |folder| Name {
        folder,
        name: name.clone(),
    };
    tmp.into_iter().chain(current).map(at).collect()
}

/// A name in a folder.
struct Name {
    folder: OwnedFd,
    name: String,
}

impl Name {
    /// Removes what has the name; false if nothing has it, or it stays.
    fn remove(&self) -> bool {
        unlinkat(&self.folder, Path::new(&self.name), AtFlags::empty()).is_ok()
    }
}

/// A file of the JVM, which goes when this is dropped.
struct Removed(Name);

impl Drop for Removed {
    fn drop(&mut self) {
        // It may not be there.
        self.0.remove();
    }
}

/// The remains of an interrupted dump.
struct Unfinished {
    dump: Name,
    requests: Vec<Name>,
    shown: String,
    is_over: Arc<AtomicBool>,
}

impl Unfinished {
    /// Removes it; gives what to say about it. The JVM may not have begun the file.
    fn remove(&self) -> String {
        for request in &self.requests {
            request.remove();
        }
        let began = Instant::now();
        loop {
            // Before the name is looked at, so that nothing is made in between.
            let is_over = self.is_over.load(Ordering::Relaxed);
            if self.dump.remove() || is_over {
                return "removed the JVM's dump".to_owned();
            }
            if began.elapsed() > FAREWELL {
                return format!(
                    "the JVM has not begun its dump; if it does later, remove {}",
                    self.shown
                );
            }
            sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let (one, two) = (file_name(Pid(7)), file_name(Pid(7)));
        assert_ne!(one, two);
        assert!(one.starts_with(".hprof-rs-7-"));
    }

    #[test]
    fn a_file_of_the_jvm_goes_with_its_guard() {
        let scene = tempfile::tempdir().unwrap();
        let path = scene.path().join("x");
        std::fs::write(&path, "dump").unwrap();
        let folder = std::fs::File::open(scene.path()).unwrap().into();
        let name = "x".to_owned();
        drop(Removed(Name { folder, name }));
        assert!(!path.exists());
    }
}

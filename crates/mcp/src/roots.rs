//! The files that an assistant may read: those below the folders that the user has named.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use serde::Serialize;

use crate::call::Refusal;

/// Folders below folders that are listed.
const DEPTH: usize = 6;
/// Entries of folders that are looked at for a list.
const ENTRIES: usize = 20_000;
/// Files of a list.
pub const FILES: usize = 200;
/// The bytes at the head of a file that tell its kind.
const HEAD: usize = 8192;

/// A folder that may be read, or one file of it.
#[derive(Debug)]
struct Root {
    /// The folder as the user named it, and without links.
    shown: [PathBuf; 2],
    folder: OwnedFd,
    only: Option<OsString>,
}

/// Everything that may be read.
#[derive(Debug, Default)]
pub struct Roots(Vec<Root>);

/// An open file.
#[derive(Debug)]
pub struct Found {
    /// Its path for people.
    pub name: String,
    /// The file, which is a plain one.
    pub file: File,
}

/// A line of a list of files.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// The path that tools take.
    pub file: String,
    /// The kind, as far as its first bytes tell.
    pub kind: &'static str,
    /// Its length.
    pub bytes: u64,
    /// Seconds since 1970-01-01 UTC.
    pub modified: u64,
}

/// Files below the roots.
#[derive(Debug, Default)]
pub struct Listing {
    /// The files, the newest first.
    pub files: Vec<Listed>,
    /// True if there are more.
    pub is_cut: bool,
}

impl Roots {
    /// Opens folders and files that the user names.
    ///
    /// # Errors
    /// If one is not there, or is neither a folder nor a plain file.
    pub fn new(paths: &[PathBuf]) -> io::Result<Self> {
        let explain = |path: &Path, error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let root = |path: &PathBuf| -> io::Result<Root> {
            let path = std::path::absolute(path)?;
            let about = std::fs::metadata(&path)?;
            let (folder, only) = match (about.is_dir(), path.file_name()) {
                (true, _) => (path.clone(), None),
                (false, Some(name)) if about.is_file() => {
                    let folder = path.parent().unwrap_or(Path::new("/"));
                    (folder.to_owned(), Some(name.to_owned()))
                }
                _ => return Err(io::Error::other("neither a folder nor a plain file")),
            };
            let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
            Ok(Root {
                folder: openat(CWD, &folder, flags, Mode::empty())?,
                shown: [std::fs::canonicalize(&folder)?, folder],
                only,
            })
        };
        let open = |path| root(path).map_err(|error| explain(path, error));
        Ok(Self(paths.iter().map(open).collect::<io::Result<_>>()?))
    }

    /// Opens a file that an assistant names: a path below a root, or relative to one.
    ///
    /// # Errors
    /// If it leads elsewhere, is not there, or is no plain file.
    pub fn find(&self, asked: &str) -> Result<Found, Refusal> {
        let path = Path::new(asked);
        let is_plain = |path: &Path| {
            let mut parts = path.components().peekable();
            parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        let mut refusal = self.outside(asked);
        for root in &self.0 {
            let mut ways = root
                .shown
                .iter()
                .filter_map(|shown| path.strip_prefix(shown).ok());
            let below = match path.is_absolute() {
                true => ways.next(),
                false => Some(path),
            };
            let Some(below) = below.filter(|below| is_plain(below)) else {
                continue;
            };
            if root
                .only
                .as_ref()
                .is_some_and(|only| Path::new(only) != below)
            {
                continue;
            }
            match root.open(below) {
                Ok(file) => {
                    let name = root.shown[0].join(below).to_string_lossy().into_owned();
                    return Ok(Found { name, file });
                }
                Err(Errno::NOENT | Errno::NOTDIR) => {
                    refusal = Refusal::Wrong(format!(
                        "there is no file {asked}; list_files shows those that are there"
                    ));
                }
                Err(Errno::ISDIR) => {
                    return Err(Refusal::Wrong(format!(
                        "{asked} is a folder, a pipe or a device; name a plain file"
                    )));
                }
                Err(Errno::XDEV | Errno::LOOP) => return Err(self.outside(asked)),
                Err(error) => {
                    return Err(Refusal::Wrong(format!("{asked} cannot be opened: {error}")));
                }
            }
        }
        Err(refusal)
    }

    fn outside(&self, asked: &str) -> Refusal {
        let shown = self.0.iter().map(|root| {
            let path = root
                .only
                .as_ref()
                .map_or_else(|| root.shown[0].clone(), |only| root.shown[0].join(only));
            path.display().to_string()
        });
        let shown: Vec<String> = shown.take(5).collect();
        Refusal::Wrong(format!(
            "{asked} is not among the files that may be read: those of {}, without `..` and without \
             links that lead out. The user can name others: `hprof-rs mcp FOLDER...`",
            shown.join(", ")
        ))
    }

    /// Files below the roots that look like dumps, profiles or logs.
    pub fn list(&self) -> Listing {
        let mut walk = Walk::default();
        for root in &self.0 {
            match &root.only {
                Some(only) => walk.look(root, Path::new(only)),
                None => walk.folder(root, Path::new(""), 0),
            }
        }
        let mut files = walk.files;
        files.sort_by(|a, b| b.modified.cmp(&a.modified).then(a.file.cmp(&b.file)));
        files.dedup_by(|a, b| a.file == b.file);
        let is_cut = walk.entries >= ENTRIES || files.len() > FILES;
        files.truncate(FILES);
        Listing { files, is_cut }
    }
}

impl Root {
    /// Opens a plain file below; the kernel itself sees to it that no link on the way leads out.
    fn open(&self, below: &Path) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.openat(below, flags)?);
        match file.metadata() {
            Ok(about) if about.is_file() => Ok(file),
            _ => Err(Errno::ISDIR),
        }
    }

    fn openat(&self, below: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        openat2(&self.folder, below, flags, Mode::empty(), resolve)
    }
}

/// A walk over folders, with an end.
#[derive(Debug, Default)]
struct Walk {
    files: Vec<Listed>,
    entries: usize,
}

impl Walk {
    fn folder(&mut self, root: &Root, below: &Path, depth: usize) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let here = if below.as_os_str().is_empty() {
            Path::new(".")
        } else {
            below
        };
        let opened = root.openat(here, flags);
        let Ok(entries) = opened.and_then(Dir::new) else {
            return;
        };
        for entry in entries.flatten() {
            if self.entries >= ENTRIES {
                return;
            }
            self.entries += 1;
            let name = entry.file_name().to_bytes();
            if name.starts_with(b".") {
                continue;
            }
            use std::os::unix::ffi::OsStrExt;
            let path = below.join(std::ffi::OsStr::from_bytes(name));
            match entry.file_type() {
                FileType::Directory if depth < DEPTH => self.folder(root, &path, depth + 1),
                FileType::RegularFile => self.look(root, &path),
                _ => {}
            }
        }
    }

    fn look(&mut self, root: &Root, path: &Path) {
        let Ok(file) = root.open(path) else {
            return;
        };
        let Ok(about) = file.metadata() else {
            return;
        };
        if let Some(kind) = kind(&file, path) {
            self.files.push(Listed {
                file: root.shown[0].join(path).to_string_lossy().into_owned(),
                kind,
                bytes: about.len(),
                modified: u64::try_from(about.mtime()).unwrap_or_default(),
            });
        }
    }
}

/// The kind of a file by its first bytes; of compressed ones by the name.
fn kind(file: &File, path: &Path) -> Option<&'static str> {
    let mut head = [0; HEAD];
    let length = file.read_at(&mut head, 0).ok()?;
    let head = head.get(..length)?;
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let has = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
    let is_packed = [
        &b"\x1f\x8b"[..],
        b"\x28\xb5\x2f\xfd",
        b"PK\x03\x04",
        b"\xfd7zXZ",
        b"BZh",
    ];
    if head.starts_with(b"JAVA PROFILE") {
        Some("heap dump or profile (HPROF)")
    } else if head.starts_with(b"FLR\0") {
        Some("recording (JFR)")
    } else if is_packed.iter().any(|magic| head.starts_with(magic)) {
        let parts = ["hprof", "heap", "dump", "jfr", "prof", "gc", "pb"];
        parts
            .iter()
            .any(|part| name.contains(part))
            .then_some("compressed dump, profile or log")
    } else if has(b"Full thread dump") || has(b"\"threadDump\"") {
        Some("thread dump")
    } else if has(b"[gc") || has(b"GC(0)") || has(b"[GC ") || has(b"Using G1") {
        Some("garbage collection log")
    } else {
        let known = [
            ".collapsed",
            ".folded",
            ".speedscope.json",
            ".pprof",
            ".otlp",
        ];
        known
            .iter()
            .any(|ending| name.ends_with(ending))
            .then_some("profile")
    }
}

impl Found {
    /// Opens the file once more.
    ///
    /// # Errors
    /// If too many files are open.
    pub fn again(&self) -> io::Result<Self> {
        Ok(Self {
            name: self.name.clone(),
            file: self.file.try_clone()?,
        })
    }

    /// A name for the analysis of this file as it is now: another file, and one that was written to,
    /// have other ones.
    pub fn key(&self) -> io::Result<String> {
        let about = self.file.metadata()?;
        let modified = about
            .modified()?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(format!(
            "{:x}-{:x}-{:x}-{:x}",
            about.dev(),
            about.ino(),
            about.len(),
            modified.as_nanos()
        ))
    }

    /// A path by which this process and those that it starts reach this very file, whatever has become
    /// of its name.
    pub fn link(&self) -> PathBuf {
        let process = rustix::process::getpid().as_raw_nonzero();
        PathBuf::from(format!("/proc/{process}/fd/{}", self.file.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_plain_files_below_a_root_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("in"), place.path().join("out"));
        for folder in [&inside, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("a.hprof"), b"JAVA PROFILE 1.0.2\0").unwrap();
        }
        symlink(outside.join("a.hprof"), inside.join("absolute")).unwrap();
        symlink("../out/a.hprof", inside.join("relative")).unwrap();
        symlink("a.hprof", inside.join("own")).unwrap();
        symlink("/proc/self/fd/0", inside.join("magic")).unwrap();
        std::fs::create_dir(inside.join("folder")).unwrap();
        let roots = Roots::new(std::slice::from_ref(&inside)).unwrap();
        let full = |name: &str| inside.join(name).display().to_string();
        for name in ["a.hprof", "own", &full("a.hprof")] {
            assert!(roots.find(name).is_ok(), "{name}");
        }
        let elsewhere = outside.join("a.hprof").display().to_string();
        for (name, why) in [
            ("", "not among"),
            ("../out/a.hprof", "not among"),
            ("folder/../a.hprof", "not among"),
            (&elsewhere, "not among"),
            ("/etc/passwd", "not among"),
            ("absolute", "not among"),
            ("relative", "not among"),
            ("magic", "not among"),
            ("missing", "there is no file"),
            ("a.hprof/x", "there is no file"),
            ("folder", "plain file"),
            ("a\0b", "cannot be opened"),
        ] {
            let refusal = roots.find(name).unwrap_err().to_string();
            assert!(refusal.contains(why), "{name}: {refusal}");
        }
        let listed = roots.list();
        assert_eq!(listed.files.len(), 1, "{listed:?}");
        let only = Roots::new(&[inside.join("a.hprof")]).unwrap();
        assert!(only.find("a.hprof").is_ok());
        assert!(only.find("own").is_err());
    }
}

//! Files of this machine that a request or the command line names.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use http::StatusCode;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::{digest, of_disk};
use crate::catalogue::Dump;
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::PartId;

impl AppState {
    /// Adds a file below an allowed root. Blocks until it is read.
    ///
    /// # Errors
    /// If the path leads elsewhere, or to no plain file.
    pub fn add_below_roots(&self, path: &Path, name: Option<&str>) -> Result<Dump, Problem> {
        let roots = &self.config().allowed_roots;
        let found = roots.iter().find_map(|root| {
            let below = path.strip_prefix(root).ok()?;
            let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
            below.components().all(is_plain).then_some((root, below))
        });
        let Some((root, below)) = found else {
            return Err(forbidden());
        };
        // The kernel itself sees to it that no link on the way leads out.
        let open = || {
            let directory = OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = rustix::fs::open(root, directory, Mode::empty())?;
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            openat2(&root, below, flags, Mode::empty(), resolve)
        };
        let file: OwnedFd = open().map_err(|error| match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => {
                Problem::not_found(format!("there is no file {}", path.display()))
            }
            _ => forbidden(),
        })?;
        self.add_file(File::from(file), path, name)
    }

    /// Adds a file that the command line names. Blocks until it is read.
    ///
    /// # Errors
    /// If it is no plain file, or no dump.
    pub fn add_path(&self, path: &Path) -> Result<Dump, Problem> {
        self.add_file(plain_file(path)?, path, None)
    }

    /// Adds a file of the server's own under another name. Blocks until it is read.
    ///
    /// # Errors
    /// If it is no plain file, or no dump.
    pub fn add_named(&self, path: &Path, name: &str) -> Result<Dump, Problem> {
        self.add_file(plain_file(path)?, path, Some(name))
    }

    fn add_file(&self, mut file: File, path: &Path, name: Option<&str>) -> Result<Dump, Problem> {
        let about = file.metadata().map_err(Problem::internal)?;
        if !about.is_file() {
            return Err(Problem::bad_request(format!(
                "{} is no plain file",
                path.display()
            )));
        }
        let digested = digest(&mut file, self.config().recognise)?;
        file.seek(SeekFrom::Start(0)).map_err(Problem::internal)?;
        let part = PartId::new().map_err(Problem::internal)?;
        let adopted = self.store().adopt(&file, &part);
        let after = file.metadata().map_err(Problem::internal)?;
        let stamp = |it: &fs::Metadata| (it.len(), it.mtime(), it.mtime_nsec());
        let is_same = stamp(&about) == stamp(&after) && digested.length == about.len();
        let last = path.file_name().map(|it| it.to_string_lossy());
        let name = name.or(last.as_deref()).unwrap_or("dump");
        let added = match adopted {
            Err(error) => Err(of_disk(&error)),
            Ok(()) if !is_same => Err(Problem::conflict(format!(
                "{} changed while it was read; add it when it is complete",
                path.display()
            ))),
            Ok(()) => self.admit(&part, name, digested),
        };
        if added.is_err() {
            self.store().delete_part(&part).map_err(Problem::internal)?;
        }
        added
    }
}

fn plain_file(path: &Path) -> Result<File, Problem> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty());
    let file = file.map_err(|error| {
        Problem::not_found(format!("{} cannot be opened: {error}", path.display()))
    })?;
    Ok(File::from(file))
}

fn forbidden() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "outside-roots",
        "Not below an allowed folder",
        "give the full path of a file below a folder that `serve --allow-root` names, without `..` \
         and without links that lead out of it",
    )
}

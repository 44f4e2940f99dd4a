//! The store in a folder of this machine.
//!
//! `parts/PART` are uploads under way, `dumps/DUMP` are dumps, `analyses/DUMP/` is what was made of
//! one, `attempts/DUMP.N/` what is being made. Files get their last name by a rename, so a name
//! stands for something complete.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, linkat};

use super::{FILE_TIME, Local, PartId, Store, set_time};
use crate::ids::{ContentHash, DumpId};

/// Files below one folder, which only its user may enter.
pub struct FolderStore(PathBuf);

impl FolderStore {
    /// The store in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// If nothing can be made there.
    pub fn open(folder: &Path) -> io::Result<Self> {
        for name in ["parts", "dumps", "analyses", "attempts"] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder.join(name))?;
        }
        Ok(Self(folder.to_owned()))
    }

    /// The file of a part.
    pub(super) fn part(&self, part: &PartId) -> PathBuf {
        self.0.join("parts").join(part.as_str())
    }

    /// The folder of an attempt.
    pub(super) fn attempt(&self, dump: &DumpId, attempt: u32) -> PathBuf {
        self.0.join("attempts").join(format!("{dump}.{attempt}"))
    }

    fn file(&self, dump: &DumpId) -> PathBuf {
        self.0.join("dumps").join(dump.as_str())
    }

    fn finished(&self, dump: &DumpId) -> PathBuf {
        self.0.join("analyses").join(dump.as_str())
    }

    /// The entries of a folder whose names have the right form.
    fn names<T>(&self, folder: &str, parse: impl Fn(&str) -> Option<T>) -> io::Result<Vec<T>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.0.join(folder))? {
            found.extend(entry?.file_name().to_str().and_then(&parse));
        }
        Ok(found)
    }
}

/// Turns "it is not there" into nothing.
fn if_there(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes the last rename in a folder survive a crash of the machine.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent()
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn occupied(path: &Path) -> u64 {
    let Ok(about) = fs::symlink_metadata(path) else {
        return 0;
    };
    let below = match about.is_dir() {
        true => fs::read_dir(path).map_or(0, |entries| {
            entries.flatten().map(|entry| occupied(&entry.path())).sum()
        }),
        false => 0,
    };
    about.blocks() * 512 + below
}

impl Store for FolderStore {
    fn create_part(&self, part: &PartId) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(self.part(part))
    }

    fn open_part(&self, part: &PartId) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .append(true)
            .open(self.part(part))
    }

    fn adopt(&self, file: &File, part: &PartId) -> io::Result<()> {
        // The open file, whatever its name leads to by now.
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        let to = self.part(part);
        if linkat(CWD, &name, CWD, &to, AtFlags::SYMLINK_FOLLOW).is_ok() {
            return Ok(());
        }
        let mut copy = self.create_part(part)?;
        let mut from = file.try_clone()?;
        io::copy(&mut from, &mut copy)?;
        copy.sync_data()
    }

    fn delete_part(&self, part: &PartId) -> io::Result<()> {
        if_there(fs::remove_file(self.part(part)))
    }

    fn parts(&self) -> io::Result<Vec<PartId>> {
        self.names("parts", |name| name.parse().ok())
    }

    fn publish(&self, part: &PartId, dump: &DumpId, _: &ContentHash) -> io::Result<()> {
        let to = self.file(dump);
        if to.exists() {
            return Ok(());
        }
        let from = self.part(part);
        // A file that has another link keeps its time.
        if fs::metadata(&from)?.nlink() == 1 {
            set_time(&from, FILE_TIME)?;
        }
        match fs::hard_link(&from, &to) {
            Ok(()) => {}
            // Another process or thread was faster with equal bytes.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(_) => fs::rename(from, &to)?,
        }
        sync_folder_of(&to)
    }

    fn dump(&self, dump: &DumpId) -> io::Result<Local> {
        let file = self.file(dump);
        file.metadata()?;
        Ok(file.into())
    }

    fn dumps(&self) -> io::Result<Vec<DumpId>> {
        self.names("dumps", |name| name.parse().ok())
    }

    fn delete(&self, dump: &DumpId) -> io::Result<()> {
        if_there(fs::remove_file(self.file(dump)))?;
        if_there(fs::remove_dir_all(self.finished(dump)))
    }

    fn begin_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<PathBuf> {
        self.abandon_analysis(dump, attempt)?;
        let folder = self.attempt(dump, attempt);
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(folder)
    }

    fn publish_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<()> {
        let to = self.finished(dump);
        if_there(fs::remove_dir_all(&to))?;
        fs::rename(self.attempt(dump, attempt), &to)?;
        sync_folder_of(&to)
    }

    fn abandon_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<()> {
        if_there(fs::remove_dir_all(self.attempt(dump, attempt)))
    }

    fn analysis(&self, dump: &DumpId) -> io::Result<Option<Local>> {
        let folder = self.finished(dump);
        Ok(folder.is_dir().then(|| folder.into()))
    }

    fn analysis_file(&self, dump: &DumpId, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.finished(dump).join(name);
        match fs::metadata(&path) {
            Ok(about) if about.len() <= most => fs::read(&path).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn abandon_all(&self) -> io::Result<()> {
        for name in self.names("attempts", |name| Some(name.to_owned()))? {
            if_there(fs::remove_dir_all(self.0.join("attempts").join(name)))?;
        }
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let about = rustix::fs::statvfs(&self.0)?;
        Ok(about.f_bavail * about.f_frsize)
    }

    fn occupied(&self) -> io::Result<HashMap<DumpId, u64>> {
        let bytes = |dump: &DumpId| occupied(&self.file(dump)) + occupied(&self.finished(dump));
        let dumps = self.dumps()?;
        Ok(dumps
            .into_iter()
            .map(|dump| (dump.clone(), bytes(&dump)))
            .collect())
    }
}

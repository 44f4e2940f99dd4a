//! Objects on their way to files, with their checksums.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use object_store::path::Path as ObjectPath;
use sha2::{Digest, Sha256};

use super::Remote;
use super::manifest::FileEntry;
use crate::ids::ContentHash;
use crate::store::{Fault, set_time};

/// How often bytes are fetched again that are others than was announced.
const MAX_TRIES: u32 = 3;

/// Fetches an object into a new file, and compares its SHA-256.
pub(super) fn file(
    remote: &Remote,
    from: &ObjectPath,
    about: &FileEntry,
    to: &Path,
) -> io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(to)?;
        let mut hasher = Sha256::new();
        remote.fetch(from, about.bytes, |bytes| {
            hasher.update(bytes);
            file.write_all(bytes)
        })?;
        let hash = ContentHash::of_bytes(hasher.finalize().into());
        if hash.as_str() == about.sha256 {
            file.sync_data()?;
            return set_time(to, about.modified_nanos);
        }
        tracing::warn!(name = about.name, tries, "other bytes came than were sent");
        if tries == MAX_TRIES {
            return Err(Fault::Damaged(format!(
                "the bytes of {} in the storage have another SHA-256 than was announced: they were \
                 damaged on the way, or the sender announced a wrong one; delete the dump, then send \
                 it again",
                about.name
            ))
            .into());
        }
    }
}

/// Fetches the files of an analysis into a new folder.
pub(super) fn folder(
    remote: &Remote,
    from: impl Fn(&str) -> ObjectPath,
    files: &[FileEntry],
    to: &Path,
) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    for about in files {
        file(remote, &from(&about.name), about, &to.join(&about.name))?;
    }
    Ok(())
}

/// The files of a folder with their checksums, by name.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<FileEntry>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if !about.is_file() {
            continue;
        }
        let modified = about.modified()?.duration_since(UNIX_EPOCH);
        let mut file = File::open(entry.path())?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 256 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                length => hasher.update(buffer.get(..length).unwrap_or_default()),
            }
        }
        found.push(FileEntry {
            name: entry.file_name().to_string_lossy().into_owned(),
            bytes: about.len(),
            sha256: ContentHash::of_bytes(hasher.finalize().into())
                .as_str()
                .to_owned(),
            modified_nanos: modified.map_or(0, |time| time.as_nanos() as u64),
        });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

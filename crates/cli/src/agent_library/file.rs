//! The library's file: checked in full, replaced as a whole.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::folder::User;

/// Returns true if a file is `content` and can be changed by `user` alone. Whatever else
/// is found there, a link, a pipe, half a file, is not.
///
/// # Errors
/// When what is there can neither be read nor seen to be missing.
pub fn holds(path: &Path, content: &[u8], user: User) -> io::Result<bool> {
    // A link is not followed, and opening a pipe does not wait for its writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Ok(false);
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    let is_ours = found.is_file() && found.uid() == user.0 && found.mode() & 0o022 == 0;
    if !is_ours || found.len() != content.len() as u64 {
        return Ok(false);
    }
    let mut read = Vec::with_capacity(content.len());
    file.read_to_end(&mut read)?;
    Ok(read == content)
}

/// Writes `content` under a temporary name beside `path` and renames it, so that
/// no process ever loads a part of it, and a JVM that has the old file keeps it.
///
/// # Errors
/// The system's error; no file remains then.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".libhprof_rs-")
        .tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file()
        .set_permissions(Permissions::from_mode(mode))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

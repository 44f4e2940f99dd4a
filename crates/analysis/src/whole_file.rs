//! Files that appear under their name when they are complete.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

/// A file that has no name until it is published, so that a writer who is killed leaves nothing.
///
/// Where the file system has no files without a name, it has a temporary one, which is removed
/// when this is dropped.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    temporary: Option<tempfile::TempPath>,
}

impl WholeFile {
    /// A new file in the folder in which `path` is to appear, with these rights less what the
    /// user's mask takes away.
    ///
    /// # Errors
    /// Errors of the folder, in words about `path`.
    pub fn for_path(path: &Path, mode: u32) -> io::Result<Self> {
        let folder = folder_of(path);
        Self::new_in(folder, mode).map_err(|error| explained(folder, error))
    }

    fn new_in(folder: &Path, mode: u32) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        // Without /proc a file cannot get a name later.
        if Path::new("/proc/self/fd").exists()
            && let Ok(file) = open(folder, flags, Mode::from_raw_mode(mode))
        {
            let file = file.into();
            return Ok(Self {
                file,
                temporary: None,
            });
        }
        let mut builder = tempfile::Builder::new();
        let rights = std::os::unix::fs::PermissionsExt::from_mode(mode);
        builder.prefix(".hprof-rs-").permissions(rights);
        let (file, path) = builder.tempfile_in(folder)?.into_parts();
        let temporary = Some(path);
        Ok(Self { file, temporary })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The file, to be written to.
    pub fn file_mut(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file its name, in the place of any file that has it.
    ///
    /// # Errors
    /// Errors of the folder.
    pub fn publish(self, path: &Path) -> io::Result<()> {
        if let Some(temporary) = self.temporary {
            return temporary.persist(path).map_err(|error| error.error);
        }
        // As open(2) describes for O_TMPFILE.
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        // A link cannot replace a file, but a rename can.
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".{}.tmp", std::process::id()));
        linkat(CWD, own, CWD, &new, AtFlags::SYMLINK_FOLLOW)?;
        fs::rename(&new, path).inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })
    }
}

/// The folder that holds a file.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Says of the folder what is wrong with it, where the system's words would mislead.
fn explained(folder: &Path, error: io::Error) -> io::Error {
    let shown = match folder == Path::new(".") {
        true => std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        false => folder.to_owned(),
    };
    let shown = shown.display();
    let words = match (error.kind(), fs::metadata(folder)) {
        (io::ErrorKind::NotFound, Ok(found)) if found.is_dir() => {
            // As /proc answers.
            format!("no file can be created in {shown}; choose another folder")
        }
        (io::ErrorKind::NotFound, _) => {
            format!("there is no folder {shown}; create it or choose another one")
        }
        (io::ErrorKind::NotADirectory, _) => format!("{shown} is not a folder"),
        (io::ErrorKind::PermissionDenied, _) => {
            format!("no right to create files in {shown}")
        }
        // tempfile puts its own name in front of what the system says.
        (kind, _) => match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code).to_string(),
            None => kind.to_string(),
        },
    };
    io::Error::new(error.kind(), words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_appears_when_it_is_whole_and_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "before").unwrap();
        let mut whole = WholeFile::for_path(&path, 0o600).unwrap();
        whole.file_mut().write_all(b"after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before");
        drop(WholeFile::for_path(&path, 0o600).unwrap());
        whole.publish(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn errors_name_the_folder_that_was_asked_for() {
        let error = WholeFile::for_path(Path::new("/nonexist/x"), 0o600).unwrap_err();
        assert!(
            error.to_string().contains("no folder /nonexist;"),
            "{error}"
        );
        let error = WholeFile::for_path(Path::new("/proc/x"), 0o600).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("no file can be created in /proc"),
            "{error}"
        );
    }
}

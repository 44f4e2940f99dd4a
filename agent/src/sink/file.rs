//! The profile in a file: written under a temporary name beside the final one,
//! and renamed when the first dump is complete, so that whoever finds the final
//! name finds a whole profile, and an earlier profile lives until then.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why the file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The file cannot be created.
    #[error("can't create profile file: {path}: {reason}")]
    Create {
        /// The file as the user named it.
        path: String,
        /// What is wrong, and what to change.
        reason: String,
    },
}

/// A file that is being written.
pub struct FileSink {
    file: File,
    path: PathBuf,
    temporary: Option<PathBuf>,
    keep_existing: bool,
    rename_to: Box<dyn Fn(&Path) -> PathBuf + Send>,
}

impl FileSink {
    /// Creates the temporary file for `path`. With `keep_existing` (`force=n`) a
    /// file of the final name is never replaced: `another` tells the name to use
    /// instead of one that exists.
    ///
    /// # Errors
    /// When the folder is missing or not writable, or `path` is a folder.
    pub fn create(
        path: &Path,
        keep_existing: bool,
        another: impl Fn(&Path) -> PathBuf + Send + 'static,
    ) -> Result<Self, SinkError> {
        let fail = |reason: String| SinkError::Create {
            path: path.display().to_string(),
            reason,
        };
        let rename_to: Box<dyn Fn(&Path) -> PathBuf + Send> = Box::new(another);
        let mut path = path.to_owned();
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => {
                return Err(fail("it is a folder; name a file in it".to_owned()));
            }
            // A pipe or device cannot be renamed over; it is written to as it is.
            Ok(found) if !found.is_file() => {
                let file = OpenOptions::new()
                    .write(true)
                    .open(&path)
                    .map_err(|e| fail(hint(&e)))?;
                let kind = found.file_type();
                debug_assert!(kind.is_char_device() || kind.is_fifo() || kind.is_block_device());
                return Ok(Self {
                    file,
                    path,
                    temporary: None,
                    keep_existing,
                    rename_to,
                });
            }
            Ok(_) if keep_existing => path = rename_to(&path),
            _ => {}
        }
        let (file, temporary) = create_temporary(&path).map_err(|e| fail(hint(&e)))?;
        Ok(Self {
            file,
            path,
            temporary: Some(temporary),
            keep_existing,
            rename_to,
        })
    }

    /// The name that the finished file has.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a file, not a pipe or a device.
    pub fn is_regular(&self) -> bool {
        self.temporary.is_some() || self.path.is_file()
    }

    /// Where the bytes are at this moment.
    pub fn current_path(&self) -> &Path {
        self.temporary.as_deref().unwrap_or(&self.path)
    }

    /// Begins a new file that will replace the present one, if that has its final name already.
    /// What cannot be renamed goes on as it is.
    ///
    /// # Errors
    /// What the file system says.
    pub fn renew(&mut self) -> io::Result<()> {
        let is_file = fs::metadata(&self.path).is_ok_and(|found| found.is_file());
        if self.temporary.is_none() && is_file {
            (self.file, self.temporary) = {
                let (file, temporary) = create_temporary(&self.path)?;
                (file, Some(temporary))
            };
            // The file of that name is the one that this sink has written.
            self.keep_existing = false;
        }
        Ok(())
    }

    /// Gives the file its final name, unless it has it already.
    ///
    /// # Errors
    /// What the file system says; the bytes then stay under [`Self::current_path`].
    pub fn commit(&mut self) -> io::Result<()> {
        let Some(temporary) = &self.temporary else {
            return Ok(());
        };
        if self.keep_existing {
            match fs::hard_link(temporary, &self.path) {
                Ok(()) => {
                    let _ = fs::remove_file(temporary);
                    self.temporary = None;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.path = (self.rename_to)(&self.path);
                }
                // No hard links on this file system: the name was free a moment ago.
                Err(_) if !self.path.exists() => {}
                Err(error) => return Err(error),
            }
        }
        fs::rename(temporary, &self.path)?;
        self.temporary = None;
        Ok(())
    }

    /// Removes the file if it never got its final name.
    pub fn discard(self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

impl Write for FileSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates a new file beside `path`, never opening one that exists.
fn create_temporary(path: &Path) -> io::Result<(File, PathBuf)> {
    let pid = std::process::id();
    let mut last = None;
    for attempt in 0..100 {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(
            ".{pid}{}.tmp",
            if attempt == 0 {
                String::new()
            } else {
                format!("-{attempt}")
            }
        ));
        let temporary = PathBuf::from(name);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&temporary)
        {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}

fn hint(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder; create it or change file=".to_owned(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("{error}; choose a writable place with file=")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(path: &Path) -> PathBuf {
        path.with_extension("other")
    }

    #[test]
    fn the_final_name_appears_at_the_commit_and_an_older_file_lives_until_then() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.txt");
        fs::write(&path, "old").unwrap();
        let mut sink = FileSink::create(&path, false, same).unwrap();
        sink.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        sink.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        sink.write_all(b" more").unwrap();
        sink.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new more");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_existing_file_is_kept_with_force_n() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.txt");
        fs::write(&path, "old").unwrap();
        let mut sink = FileSink::create(&path, true, same).unwrap();
        assert_eq!(sink.path(), dir.path().join("p.other"));
        sink.write_all(b"new").unwrap();
        sink.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(
            fs::read_to_string(dir.path().join("p.other")).unwrap(),
            "new"
        );
    }

    #[test]
    fn a_file_that_appears_during_the_run_is_kept_with_force_n() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.txt");
        let mut sink = FileSink::create(&path, true, same).unwrap();
        fs::write(&path, "someone else's").unwrap();
        sink.write_all(b"new").unwrap();
        sink.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "someone else's");
        assert_eq!(
            fs::read_to_string(dir.path().join("p.other")).unwrap(),
            "new"
        );
    }

    #[test]
    fn a_renewed_file_replaces_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.html");
        let mut sink = FileSink::create(&path, true, same).unwrap();
        for content in ["first", "second"] {
            sink.renew().unwrap();
            sink.write_all(content.as_bytes()).unwrap();
            sink.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_folder_or_a_missing_one_is_an_error_that_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let text = |path: &Path| {
            FileSink::create(path, false, same)
                .err()
                .unwrap()
                .to_string()
        };
        assert!(text(dir.path()).contains("it is a folder"));
        let missing = dir.path().join("no/such/p.txt");
        assert!(
            text(&missing)
                .starts_with(&format!("can't create profile file: {}", missing.display()))
        );
        assert!(text(&missing).contains("no such folder"));
    }

    #[test]
    fn a_device_is_written_to_as_it_is() {
        let mut sink = FileSink::create(Path::new("/dev/null"), false, same).unwrap();
        sink.write_all(b"x").unwrap();
        sink.commit().unwrap();
    }
}

//! The profile in a file: written under a temporary name beside the final one,
//! and renamed when the first dump is complete, so that a reader who finds the final
//! name finds a whole profile, and an earlier profile lives until then. A symbolic
//! link of that name is replaced like a file; what it points to stays as it is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::body::{self, Body};
use super::packed::Packed;
use super::sparse::Sparse;
use super::special::Special;
use super::temporary;
use crate::options::Packing;
use crate::os::holes;

/// The destination of the bytes.
enum Out {
    File(File),
    Packed(Box<Packed>),
    Sparse(Sparse),
    Special(Special),
}

/// Why the file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The file cannot be created.
    #[error("can't create profile file: {path}: {reason}")]
    Create {
        /// The file as the user named it.
        path: String,
        /// The error, and the change that helps.
        reason: String,
    },
}

/// The treatment of an existing file of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// A file is kept, and another name taken (`force=n`).
    Keep,
    /// A file is replaced.
    Replace,
    /// A file is replaced, unless it was written after this moment: then it is kept, and another name taken.
    KeepSince(SystemTime),
    /// A FIFO or device is written to as well, as the user has written `force=y`.
    Force,
}

/// A file that is being written.
pub struct FileSink {
    out: Out,
    path: PathBuf,
    temporary: Option<PathBuf>,
    keep_existing: bool,
    keep_since: Option<SystemTime>,
    rename_to: Box<dyn Fn(&Path) -> PathBuf + Send>,
}

impl FileSink {
    /// Creates the temporary file for `path`. `another` tells the name to use instead of that of a
    /// file that is kept.
    ///
    /// # Errors
    /// When the folder is missing or not writable, or `path` is something else than a file.
    pub fn create(
        path: &Path,
        existing: Existing,
        another: impl Fn(&Path) -> PathBuf + Send + 'static,
    ) -> Result<Self, SinkError> {
        let fail = |reason: String| SinkError::Create {
            path: path.display().to_string(),
            reason,
        };
        let rename_to: Box<dyn Fn(&Path) -> PathBuf + Send> = Box::new(another);
        let keep_existing = existing == Existing::Keep;
        let keep_since = match existing {
            Existing::KeepSince(moment) => Some(moment),
            Existing::Keep | Existing::Replace | Existing::Force => None,
        };
        let mut path = path.to_owned();
        let mut special = None;
        if let Some(number) = Special::descriptor(&path) {
            special = Some(Special::of_descriptor(number).map_err(|e| fail(e.to_string()))?);
        } else {
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() => {
                    return Err(fail("it is a folder; name a file in it".to_owned()));
                }
                // It cannot be renamed over. What counts is what has the name, not what a link
                // there leads to.
                Ok(found) if !found.is_file() => {
                    let found =
                        fs::symlink_metadata(&path).map_err(|e| fail(temporary::hint(&e)))?;
                    let forced = existing == Existing::Force;
                    special = Some(Special::open(&path, &found, forced).map_err(fail)?);
                }
                Ok(_) if keep_existing => path = rename_to(&path),
                _ => {}
            }
        }
        let (out, temporary) = match special {
            Some(special) => (Out::Special(special), None),
            None => {
                let (file, temporary) =
                    temporary::create(&path).map_err(|e| fail(temporary::hint_of(&path, &e)))?;
                (Out::File(file), Some(temporary))
            }
        };
        Ok(Self {
            out,
            path,
            temporary,
            keep_existing,
            keep_since,
            rename_to,
        })
    }

    /// Compresses what is written from now on. A pipe or a device takes plain bytes.
    #[must_use]
    pub fn packed(mut self, packing: Option<Packing>) -> Self {
        self.out = match (self.out, packing) {
            (Out::File(file), Some(packing)) => Out::Packed(Box::new(Packed::new(file, packing))),
            (out, _) => out,
        };
        self
    }

    /// Leaves holes where zeros are written from now on, unless the file is compressed or no file.
    #[must_use]
    pub fn sparse(mut self) -> Self {
        self.out = match self.out {
            Out::File(file) => Out::Sparse(Sparse::new(file)),
            out => out,
        };
        self
    }

    /// Writes what waits for compression, and a hole at the end, so that the file can be read.
    ///
    /// # Errors
    /// The file system's error.
    pub fn finish(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Packed(packed) => packed.finish(),
            Out::Sparse(sparse) => sparse.finish(),
            Out::File(_) | Out::Special(_) => Ok(()),
        }
    }

    /// The name that the finished file has.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if it is a file, not a pipe or a device.
    pub fn is_regular(&self) -> bool {
        !matches!(self.out, Out::Special(_))
    }

    /// The plain file, while it has no final name: only then another can take its place.
    fn replaceable(&self) -> Option<(&File, &Path)> {
        let temporary = self.temporary.as_deref()?;
        match &self.out {
            Out::File(file) => Some((file, temporary)),
            Out::Sparse(sparse) => Some((sparse.file(), temporary)),
            Out::Packed(_) | Out::Special(_) => None,
        }
    }

    /// How many bytes the file has, if [`Self::adopt`] can be asked for.
    pub fn adopts(&self) -> Option<u64> {
        let (file, _) = self.replaceable()?;
        file.metadata().ok().map(|found| found.len())
    }

    /// The file of `body` takes the place of this one, with all that this one has in front of the body.
    /// The next byte comes behind the body.
    ///
    /// # Errors
    /// When there is no room in front of the body, or the file system refuses. Nothing has changed then.
    pub fn adopt(&mut self, body: &Body<'_>) -> io::Result<()> {
        let Some((file, temporary)) = self.replaceable() else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let new = body.lead_in(file)?;
        match temporary::link(body.path, &self.path) {
            Ok(linked) => {
                let _ = fs::remove_file(temporary);
                self.temporary = Some(linked);
            }
            // No hard links on this file system.
            Err(_) => fs::rename(body.path, temporary)?,
        }
        self.out = match &self.out {
            Out::Sparse(_) => Out::Sparse(Sparse::at_end(new, body.end)),
            _ => Out::File(new),
        };
        Ok(())
    }

    /// Has the disk keep space for as many more bytes.
    ///
    /// # Errors
    /// When the disk is full, or another file cannot take this one's place.
    pub fn reserve(&mut self, more: u64) -> io::Result<()> {
        let (file, _) = self.replaceable().ok_or(io::ErrorKind::Unsupported)?;
        let length = file.metadata()?.len();
        holes::reserve(file, length..length + more)
    }

    /// Gives back the space that was kept and is behind the end.
    ///
    /// # Errors
    /// The file system's.
    pub fn release(&mut self) -> io::Result<()> {
        let (file, _) = self.replaceable().ok_or(io::ErrorKind::Unsupported)?;
        file.set_len(file.metadata()?.len())
    }

    /// Appends a body as it is. Returns where its first byte is.
    ///
    /// # Errors
    /// The file system's.
    pub fn append(&mut self, body: &Body<'_>) -> io::Result<u64> {
        let at = self.adopts().ok_or(io::ErrorKind::Unsupported)?;
        body::copy(body, self)?;
        Ok(at)
    }

    /// Another handle for the plain file.
    ///
    /// # Errors
    /// The system's.
    pub fn handle(&self) -> io::Result<File> {
        let (file, _) = self.replaceable().ok_or(io::ErrorKind::Unsupported)?;
        file.try_clone()
    }

    /// Returns true if it is a file, under its final name.
    pub fn is_finished(&self) -> bool {
        self.is_regular() && self.temporary.is_none()
    }

    /// Returns true if it is a file that does not have its final name now.
    pub fn is_temporary(&self) -> bool {
        self.is_regular() && self.temporary.is_some()
    }

    /// Where the bytes are at this moment.
    pub fn current_path(&self) -> &Path {
        self.temporary.as_deref().unwrap_or(&self.path)
    }

    /// Begins a new file that will replace the present one, if that has its final name already.
    /// A file that cannot be renamed stays as it is.
    ///
    /// # Errors
    /// The file system's error.
    pub fn renew(&mut self) -> io::Result<()> {
        if self.temporary.is_none() && self.is_regular() {
            let (file, temporary) = temporary::create(&self.path)?;
            (self.out, self.temporary) = (Out::File(file), Some(temporary));
            // The file of that name is the one that this sink has written.
            (self.keep_existing, self.keep_since) = (false, None);
        }
        Ok(())
    }

    /// Gives the file its final name, unless it has it already.
    ///
    /// # Errors
    /// The file system's error; the bytes then stay under [`Self::current_path`].
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
        if let Some(moment) = self.keep_since
            && !temporary::replace_older(temporary, &self.path, moment)?
        {
            self.path = (self.rename_to)(&self.path);
            fs::rename(temporary, &self.path)?;
        } else if self.keep_since.is_none() {
            fs::rename(temporary, &self.path)?;
        }
        self.temporary = None;
        Ok(())
    }

    /// Removes the file if it has no bytes and never got its final name. Returns the final
    /// name then.
    pub fn discard_empty(&self) -> Option<&Path> {
        let temporary = self.temporary.as_deref()?;
        let is_empty = fs::symlink_metadata(temporary).is_ok_and(|found| found.len() == 0);
        (is_empty && fs::remove_file(temporary).is_ok()).then_some(&*self.path)
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
        match &mut self.out {
            Out::File(file) => file.write(bytes),
            Out::Packed(packed) => packed.write(bytes),
            Out::Sparse(sparse) => sparse.write(bytes),
            Out::Special(special) => special.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Output that is no regular file: standard output, a FIFO, a device.
//!
//! A name can lead to such a thing without the user's knowledge, where others may create names. A FIFO
//! without a reader would stop the JVM, a block device would lose its contents. So only names that
//! can mean nothing else are taken, and others where `force=y` is written. Every wait has a limit.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::poll;
use crate::os::descriptors;

/// Something to write to as it is.
pub(super) struct Special {
    file: File,
    stall: Duration,
}

/// How long a reader may stall before the profile is given up.
const STALL: Duration = Duration::from_secs(30);
/// How long a FIFO may be without a reader when the JVM starts.
const READER: Duration = Duration::from_secs(10);
/// How often a writer that waits looks at the clock.
const LOOK: Duration = Duration::from_millis(250);
/// The number of bytes that a writable pipe accepts without waiting (`PIPE_BUF`).
const PIECE: usize = libc::PIPE_BUF;

impl Special {
    /// The descriptor that `path` names, if its name can mean nothing else: `-`, `/dev/stdout`,
    /// `/dev/stderr`, `/dev/fd/N`, `/proc/self/fd/N`.
    pub(super) fn descriptor(path: &Path) -> Option<RawFd> {
        let path = path.to_str()?;
        match path {
            "-" | "/dev/stdout" => return Some(1),
            "/dev/stderr" => return Some(2),
            _ => {}
        }
        let number = path
            .strip_prefix("/dev/fd/")
            .or_else(|| path.strip_prefix("/proc/self/fd/"))?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|_| is_number)
    }

    /// Writes to a descriptor of the process.
    ///
    /// # Errors
    /// When it is not open.
    pub(super) fn of_descriptor(number: RawFd) -> io::Result<Self> {
        if !descriptors::is_writable(number) {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        // SAFETY: it is open now, and copied at once.
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        let copy = File::from(borrowed.try_clone_to_owned()?);
        // A handle of its own may be told not to wait, which others that write there do not notice.
        // A file is not opened again: what is written has to follow what others write.
        let is_file = copy.metadata()?.is_file();
        let again = || {
            let path = format!("/proc/self/fd/{number}");
            let mut options = OpenOptions::new();
            options
                .write(true)
                .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
            options.open(path).ok()
        };
        let file = (!is_file).then(again).flatten().unwrap_or(copy);
        Ok(Self::new(file))
    }

    /// Opens what `found` describes, which is neither a regular file nor a folder. `forced` tells
    /// that the user has written `force=y`.
    ///
    /// # Errors
    /// Why not, and what to change.
    pub(super) fn open(path: &Path, found: &Metadata, forced: bool) -> Result<Self, String> {
        let kind = found.file_type();
        if kind.is_symlink() {
            return Err("it is a link to something that is no file; name that itself".to_owned());
        }
        if is_null(found) {
            return open_now(path, found)
                .map(Self::new)
                .map_err(|e| e.to_string());
        }
        let what = if kind.is_fifo() {
            "a FIFO"
        } else if kind.is_char_device() {
            "a device"
        } else if kind.is_block_device() {
            return Err("it is a disk or another block device; name a file".to_owned());
        } else {
            return Err("it is no file; name a file with file=, or use net=unix:/path".to_owned());
        };
        if !forced {
            return Err(format!(
                "it is {what}; name a file, or add force=y to write to {what}"
            ));
        }
        let started = Instant::now();
        loop {
            match open_now(path, found) {
                Ok(file) => return Ok(Self::new(file)),
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) && kind.is_fifo() => {
                    if started.elapsed() > READER {
                        return Err(format!(
                            "no process has opened this FIFO for reading in {} s; start its reader first",
                            READER.as_secs()
                        ));
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn new(file: File) -> Self {
        Self { file, stall: STALL }
    }
}

/// Opens it without waiting, and makes sure that it is still the same.
fn open_now(path: &Path, found: &Metadata) -> io::Result<File> {
    descriptors::occupy_standard();
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path)?;
    let now = file.metadata()?;
    match (now.dev(), now.ino()) == (found.dev(), found.ino()) {
        true => Ok(file),
        false => Err(io::Error::other("it was exchanged while it was opened")),
    }
}

/// `/dev/null`, by whatever name: nothing can be lost there.
fn is_null(found: &Metadata) -> bool {
    found.file_type().is_char_device() && found.rdev() == libc::makedev(1, 3)
}

impl Write for Special {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(PIECE)];
        let started = Instant::now();
        loop {
            // Not all descriptors can be told not to wait, so none is written to unasked.
            let ready = poll(self.file.as_fd(), libc::POLLOUT, LOOK);
            let written = match ready {
                Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
                Ok(_) => self.file.write(bytes),
                Err(error) => Err(error),
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if started.elapsed() > self.stall {
                        return Err(io::Error::new(
                            io::ErrorKind::TimedOut,
                            format!("nothing was read from it for {} s", self.stall.as_secs()),
                        ));
                    }
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn fifo(folder: &tempfile::TempDir) -> std::path::PathBuf {
        let path = folder.path().join("fifo");
        let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        path
    }

    fn found(path: &Path) -> Metadata {
        std::fs::symlink_metadata(path).unwrap()
    }

    #[test]
    fn names_of_descriptors_are_known() {
        for (name, number) in [
            ("-", Some(1)),
            ("/dev/stdout", Some(1)),
            ("/dev/stderr", Some(2)),
            ("/dev/fd/7", Some(7)),
            ("/proc/self/fd/12", Some(12)),
            ("/dev/fd/", None),
            ("/dev/fd/+1", None),
            ("/dev/fd/1/2", None),
            ("/dev/fd/99999999999", None),
            ("/dev/null", None),
            ("stdout", None),
        ] {
            assert_eq!(Special::descriptor(Path::new(name)), number, "{name}");
        }
        assert!(Special::of_descriptor(9999).is_err());
    }

    #[test]
    fn a_fifo_is_written_to_on_demand_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(&folder);
        let refused = Special::open(&path, &found(&path), false).err().unwrap();
        assert!(refused.contains("it is a FIFO; name a file"), "{refused}");
        let reader = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut text = String::new();
                File::open(path).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        // Waits for its reader.
        let mut special = Special::open(&path, &found(&path), true).ok().unwrap();
        special.write_all(&[b'x'; 100_000]).unwrap();
        drop(special);
        assert_eq!(reader.join().unwrap().len(), 100_000);
    }

    #[test]
    fn a_fifo_whose_reader_stops_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(&folder);
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let reader = options.open(&path).unwrap();
        let mut special = Special::open(&path, &found(&path), true).ok().unwrap();
        special.stall = Duration::from_millis(300);
        let error = special.write_all(&[0; 1 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(reader);
    }

    #[test]
    fn links_and_sockets_are_refused_even_on_demand() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(fifo(&folder), &link).unwrap();
        let refused = Special::open(&link, &found(&link), true).err().unwrap();
        assert!(refused.contains("it is a link to something"), "{refused}");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let refused = Special::open(&socket, &found(&socket), true).err().unwrap();
        assert!(refused.contains("net=unix:/path"), "{refused}");
    }
}

//! Requests that wait on the disk, as memory has no room for them: a file for each, in a folder that goes with the command.

use std::fs;
use std::io;
use std::path::PathBuf;

use hprof_server::{TemporaryFolder, temporary_folder};

use super::parcels::Parcel;

/// The bytes of all files. Above it the oldest requests are given up.
const ROOM: u64 = 256 << 20;

/// A request that waits.
pub struct Waiting {
    /// The request; its body is empty if that is on the disk.
    pub parcel: Parcel,
    /// The bytes of its body.
    pub length: u64,
    /// Where its body is.
    file: Option<PathBuf>,
}

impl Waiting {
    /// One whose body is in memory.
    pub fn memory(parcel: Parcel) -> Self {
        let length = parcel.body.len() as u64;
        Self {
            parcel,
            length,
            file: None,
        }
    }

    /// The bytes that it has in memory.
    pub fn in_memory(&self) -> u64 {
        if self.file.is_some() { 0 } else { self.length }
    }

    /// Its body, if that is on the disk.
    ///
    /// # Errors
    /// If the file is gone or is not as it was written.
    pub fn body(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let body = fs::read(file)?;
        match body.len() as u64 == self.length {
            true => Ok(Some(body)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The folder of such requests, made when the first comes.
#[derive(Default)]
pub struct Spool {
    folder: Option<TemporaryFolder>,
    next: u64,
    bytes: u64,
}

impl Spool {
    /// Puts the body of a request on the disk.
    ///
    /// # Errors
    /// If there is no room.
    pub fn put(&mut self, mut parcel: Parcel) -> io::Result<Waiting> {
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => temporary_folder("")?,
        };
        let file = folder.path().join(format!("{}.request", self.next));
        self.folder = Some(folder);
        let body = std::mem::take(&mut parcel.body);
        if let Err(error) = fs::write(&file, &body) {
            // Half a body is worth nothing.
            let _ = fs::remove_file(&file);
            return Err(error);
        }
        self.next += 1;
        let length = body.len() as u64;
        self.bytes += length;
        Ok(Waiting {
            parcel,
            length,
            file: Some(file),
        })
    }

    /// Returns true if there is more than is meant to be.
    pub fn is_full(&self) -> bool {
        self.bytes > ROOM
    }

    /// Removes the file of a request that waits no more.
    pub fn leave(&mut self, gone: &Waiting) {
        if let Some(file) = &gone.file {
            self.bytes -= gone.length;
            // The folder goes with the command in any case.
            let _ = fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcel(body: &[u8]) -> Parcel {
        Parcel {
            path: "/".to_owned(),
            content_type: "text/plain",
            encoding: None,
            body: body.to_vec(),
        }
    }

    #[test]
    fn bodies_wait_on_the_disk_and_leave_it() {
        let mut spool = Spool::default();
        let (one, two) = (spool.put(parcel(b"one")), spool.put(parcel(b"second")));
        let (one, two) = (one.expect("room"), two.expect("room"));
        assert_eq!((one.in_memory(), two.length, spool.bytes), (0, 6, 9));
        assert_eq!(one.body().expect("a file").as_deref(), Some(&b"one"[..]));
        spool.leave(&one);
        assert_eq!(spool.bytes, 6);
        assert!(one.body().is_err());
        assert_eq!(two.body().expect("a file").as_deref(), Some(&b"second"[..]));
        assert!(
            Waiting::memory(parcel(b"x"))
                .body()
                .expect("none")
                .is_none()
        );
    }
}

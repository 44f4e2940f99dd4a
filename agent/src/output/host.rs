//! The file of a profile as a place for bytes that are in another file already.

use std::fs::File;
use std::io;

use super::target::SharedSink;
use crate::sink::{Body, FileSink, Sink};

/// The file of a profile. Who uses it has the writer flush first.
pub struct Host(SharedSink);

impl Host {
    pub(super) fn new(sink: &SharedSink) -> Self {
        Self(sink.clone())
    }

    fn with<R>(&self, use_file: impl FnOnce(&mut FileSink) -> io::Result<R>) -> io::Result<R> {
        match &mut *self.0.0.lock() {
            Some(Sink::File(file)) => use_file(file),
            Some(Sink::Net(_) | Sink::Push(_)) | None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// How many bytes the file has, `None` if it takes no body.
    pub fn length(&self) -> Option<u64> {
        self.with(|file| Ok(file.adopts())).ok().flatten()
    }

    /// Has the disk keep space for as many more bytes of the file, so that names can be written where objects
    /// fill the disk. Where that cannot be, they take what is left then.
    pub fn reserve(&self, more: u64) {
        let _ = self.with(|file| file.reserve(more));
    }

    /// Gives back the space that was kept and not used.
    pub fn release(&self) {
        let _ = self.with(|file| file.release());
    }

    /// Puts a body behind all that was written: the body's file takes the place of the profile's, or the
    /// body is copied if that cannot be. Returns by how many bytes the body is farther from the start of the
    /// file.
    ///
    /// # Errors
    /// When the profile cannot be written.
    pub fn take(&self, body: &Body<'_>) -> io::Result<i64> {
        self.with(|file| {
            if file.adopt(body).is_ok() {
                return Ok(0);
            }
            let at = file.append(body)?;
            Ok(at.cast_signed() - body.start.cast_signed())
        })
    }

    /// Another handle for the file.
    ///
    /// # Errors
    /// The system's.
    pub fn handle(&self) -> io::Result<File> {
        self.with(|file| file.handle())
    }
}

//! The destination of a profile: a writer over a shared sink, a picture, or profiles for a receiver.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use hprof_format::binary::BinaryWriter;
use hprof_format::text::TextWriter;
use hprof_format::writer::ProfileWriter;
use parking_lot::Mutex;

use super::picture::PictureRecorder;
use crate::options::{Format, Picture};
use crate::sink::{FileSink, Sink};

const BUFFER: usize = 64 << 10;

/// The destination of the profile.
pub(super) enum Target {
    /// Bytes go to the sink as they come.
    Stream(Box<dyn ProfileWriter + Send>),
    /// The sink gets a new picture with each dump.
    Picture(Picture, Box<PictureRecorder>),
    /// A receiver gets what came since the last dump.
    Push(Box<PictureRecorder>),
}

impl Target {
    pub(super) fn writer(&mut self) -> &mut (dyn ProfileWriter + Send) {
        match self {
            Self::Stream(writer) => &mut **writer,
            Self::Picture(_, recorder) | Self::Push(recorder) => &mut **recorder,
        }
    }

    /// A writer in this format over `sink`.
    pub(super) fn stream(format: Format, sink: Sink) -> (Self, SharedSink) {
        let sink = SharedSink(Arc::new(Mutex::new(Some(sink))));
        let buffered = BufWriter::with_capacity(BUFFER, sink.clone());
        let writer: Box<dyn ProfileWriter + Send> = match format {
            Format::Text => Box::new(TextWriter::new(buffered)),
            Format::Binary => Box::new(BinaryWriter::new(buffered)),
        };
        (Self::Stream(writer), sink)
    }

    /// If it is a picture, puts it with all that was written so far into a file of its own. A receiver gets what came
    /// since the last time.
    pub(super) fn draw(&mut self, sink: &SharedSink) -> io::Result<()> {
        let (picture, recorder) = match self {
            Self::Stream(_) => return Ok(()),
            Self::Picture(picture, recorder) => (picture, recorder),
            Self::Push(recorder) => {
                return match &mut *sink.0.lock() {
                    Some(Sink::Push(push)) => recorder.push(push),
                    _ => Ok(()),
                };
            }
        };
        // The options allow pictures for files only.
        let Some(Sink::File(file)) = &mut *sink.0.lock() else {
            return Ok(());
        };
        draw(recorder, *picture, file)
    }
}

fn draw(recorder: &mut PictureRecorder, picture: Picture, file: &mut FileSink) -> io::Result<()> {
    file.renew()?;
    let path = file.path().to_owned();
    let mut out = BufWriter::with_capacity(BUFFER, file);
    recorder.draw(picture, Path::new(&path), &mut out)?;
    out.flush()
}

/// The sink, shared with the writer. It is taken out when it fails, so that what the writer still
/// has in its buffer goes nowhere.
#[derive(Clone)]
pub(super) struct SharedSink(pub(super) Arc<Mutex<Option<Sink>>>);

impl SharedSink {
    pub(super) fn take(&self) -> Option<Sink> {
        self.0.lock().take()
    }

    /// Writes what the file lacks so that it can be read.
    pub(super) fn finish(&self) -> io::Result<()> {
        match &mut *self.0.lock() {
            Some(Sink::File(file)) => file.finish(),
            Some(Sink::Net(_) | Sink::Push(_)) | None => Ok(()),
        }
    }
}

impl Write for SharedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock() {
            Some(sink) => sink.write(bytes),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().as_mut().map_or(Ok(()), Write::flush)
    }
}

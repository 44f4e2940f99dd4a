//! The profile's writer over its sink. The first error ends the writing, with
//! one line that says so; the program runs on.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use hprof_format::binary::BinaryWriter;
use hprof_format::text::TextWriter;
use hprof_format::writer::ProfileWriter;
use parking_lot::Mutex;

use crate::options::Format;
use crate::options::{Picture, Settings};
use crate::picture::Recorder;
use crate::report;
use crate::sink::FileSink;

/// Where the profile is written.
pub(super) struct Output {
    target: Target,
    sink: SharedSink,
    created: Instant,
    failed: bool,
    flushed: Instant,
}

/// What takes the profile.
enum Target {
    /// Bytes go to the sink as they come.
    Stream(Box<dyn ProfileWriter + Send>),
    /// The sink gets a new picture with each dump.
    Picture(Picture, Box<Recorder>),
}

impl Target {
    fn writer(&mut self) -> &mut (dyn ProfileWriter + Send) {
        match self {
            Self::Stream(writer) => &mut **writer,
            Self::Picture(_, recorder) => &mut **recorder,
        }
    }
}

/// How long a record may stay in the buffer while nothing is dumped.
const FLUSH_EVERY: std::time::Duration = std::time::Duration::from_secs(1);
const BUFFER: usize = 64 << 10;

impl Output {
    /// A profile in the format that is asked for, which goes to `sink`.
    pub(super) fn new(settings: &Settings, sink: FileSink) -> Self {
        let sink = SharedSink(Arc::new(Mutex::new(sink)));
        let buffered = BufWriter::with_capacity(BUFFER, sink.clone());
        let target = match (settings.picture, settings.format) {
            (Some(picture), _) => {
                Target::Picture(picture, Box::new(Recorder::new(settings.thread)))
            }
            (None, Format::Text) => Target::Stream(Box::new(TextWriter::new(buffered))),
            (None, Format::Binary) => Target::Stream(Box::new(BinaryWriter::new(buffered))),
        };
        let now = Instant::now();
        Self {
            target,
            sink,
            created: now,
            failed: false,
            flushed: now,
        }
    }

    /// A name that nobody uses, in a folder for large files that are needed for a while.
    pub(super) fn scratch_path(&self) -> PathBuf {
        let sink = self.sink.0.lock();
        if sink.path().is_file() || sink.current_path() != sink.path() {
            sink.path().to_owned()
        } else {
            std::env::temp_dir().join("hprof-rs")
        }
    }

    /// Writes something, unless writing has failed before.
    pub(super) fn write(
        &mut self,
        body: impl FnOnce(&mut (dyn ProfileWriter + Send)) -> io::Result<()>,
    ) {
        if self.failed {
            return;
        }
        let writer = self.target.writer();
        writer.set_time(u64::try_from(self.created.elapsed().as_micros()).unwrap_or(0));
        if let Err(error) = body(writer) {
            self.fail(&error);
        }
    }

    /// Flushes what has been waiting for a while.
    pub(super) fn tick(&mut self) {
        if self.flushed.elapsed() > FLUSH_EVERY {
            self.flushed = Instant::now();
            self.write(|writer| writer.flush());
        }
    }

    /// Flushes, and gives the file its final name. True when all went well; a
    /// profile that could not be written to its end keeps its temporary name.
    pub(super) fn commit(&mut self) -> bool {
        self.write(|writer| writer.flush());
        if self.failed {
            return false;
        }
        if let Err(error) = self.draw() {
            self.fail(&error);
            return false;
        }
        let mut sink = self.sink.0.lock();
        let committed = sink.commit();
        if let Err(error) = &committed {
            report::error(&format!(
                "cannot rename {} to {}: {error}; the profile stays under the first name",
                sink.current_path().display(),
                sink.path().display()
            ));
        }
        committed.is_ok()
    }

    /// Puts the picture of all that was written so far into a file of its own.
    fn draw(&mut self) -> io::Result<()> {
        let Target::Picture(picture, recorder) = &mut self.target else {
            return Ok(());
        };
        let mut sink = self.sink.0.lock();
        sink.renew()?;
        let path = sink.path().to_owned();
        let mut out = BufWriter::with_capacity(BUFFER, &mut *sink);
        recorder.draw(*picture, &path, &mut out)?;
        out.flush()
    }

    /// Drops the profile before anything was written.
    pub(super) fn discard(self) {
        drop(self.target);
        if let Some(sink) = Arc::into_inner(self.sink.0) {
            sink.into_inner().discard();
        }
    }

    fn fail(&mut self, error: &io::Error) {
        self.failed = true;
        report::error(&format!(
            "cannot write the profile: {error}; what was written before is in {}, \
             nothing more follows",
            self.sink.0.lock().current_path().display()
        ));
    }
}

#[derive(Clone)]
struct SharedSink(Arc<Mutex<FileSink>>);

impl Write for SharedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().flush()
    }
}

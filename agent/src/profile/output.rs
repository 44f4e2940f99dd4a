//! The profile's writer over its sink.
//!
//! A file whose writing fails ends the writing, with one line that says so; the program runs on. A
//! connection that fails is replaced by a file, or by a new connection. Each is a whole profile of
//! its own, so a dump that was under way is written again from its start.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_format::binary::BinaryWriter;
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{Header, Settings, ThreadStart};
use hprof_format::text::TextWriter;
use hprof_format::writer::ProfileWriter;
use parking_lot::Mutex;

use crate::clock::LocalTime;
use crate::options::{Format, Picture, Settings as RunSettings, unique_name};
use crate::picture::Recorder;
use crate::report;
use crate::sink::{FileSink, NetSink, Sink};
use crate::vm::ThreadInfo;

/// Where the profile is written.
pub(super) struct Output {
    format: Format,
    target: Target,
    sink: SharedSink,
    created: Instant,
    failed: bool,
    flushed: Instant,
    dump: DumpState,
    /// What every profile of this run starts with.
    begin: Option<Box<Begin>>,
    /// The threads that live.
    threads: BTreeMap<ThreadSerial, ThreadInfo>,
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

/// How far a dump is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DumpState {
    None,
    Open,
    /// The output is another one than when it began.
    Interrupted,
}

/// How a dump ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DumpEnd {
    /// All is written.
    Written,
    /// There is a new output, which lacks it.
    Again,
    /// It cannot be written.
    Failed,
}

/// The start of a profile.
#[derive(Clone)]
pub(super) struct Begin {
    pub(super) started: LocalTime,
    pub(super) settings: Settings,
    /// A line about program and agent.
    pub(super) identity: String,
}

/// How long a record may stay in the buffer while nothing is dumped.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
const BUFFER: usize = 64 << 10;

impl Output {
    /// A profile in the format that is asked for, which goes to `sink`.
    pub(super) fn new(settings: &RunSettings, sink: Sink) -> Self {
        let format = settings.format;
        let (mut target, sink) = stream(format, sink);
        if let Some(picture) = settings.picture {
            target = Target::Picture(picture, Box::new(Recorder::new(settings.thread)));
        }
        let now = Instant::now();
        Self {
            format,
            target,
            sink,
            created: now,
            failed: false,
            flushed: now,
            dump: DumpState::None,
            begin: None,
            threads: BTreeMap::new(),
        }
    }

    /// A name that nobody uses, in a folder for large files that are needed for a while.
    pub(super) fn scratch_path(&self) -> PathBuf {
        match &*self.sink.0.lock() {
            Some(Sink::File(file)) if file.is_regular() => file.path().to_owned(),
            _ => std::env::temp_dir().join("hprof-rs"),
        }
    }

    /// Writes the start.
    pub(super) fn begin(&mut self, begin: Begin) {
        self.write(|writer| begin.write(writer));
        self.begin = Some(Box::new(begin));
    }

    /// Tells that a thread started.
    pub(super) fn thread_start(&mut self, serial: ThreadSerial, info: ThreadInfo) {
        self.write(|writer| write_thread(writer, serial, &info));
        self.threads.insert(serial, info);
    }

    /// Tells that a thread ended.
    pub(super) fn thread_end(&mut self, serial: ThreadSerial) {
        self.threads.remove(&serial);
        self.write(|writer| writer.thread_end(serial));
    }

    /// Writes something, unless writing has failed before.
    pub(super) fn write(
        &mut self,
        body: impl FnOnce(&mut (dyn ProfileWriter + Send)) -> io::Result<()>,
    ) {
        if self.failed || self.dump == DumpState::Interrupted {
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

    /// A dump begins: what is written up to [`Self::end_dump`] belongs together.
    pub(super) fn begin_dump(&mut self) {
        self.dump = DumpState::Open;
    }

    /// The dump is complete. If the output failed in the meantime, its successor wants all of it.
    pub(super) fn end_dump(&mut self) -> DumpEnd {
        let committed = self.commit();
        let state = std::mem::replace(&mut self.dump, DumpState::None);
        match state {
            DumpState::Interrupted => DumpEnd::Again,
            _ if committed => DumpEnd::Written,
            _ => DumpEnd::Failed,
        }
    }

    /// Flushes, and gives a file its final name; a front-end must have got all. True when all went
    /// well; a file that could not be written to its end keeps its temporary name.
    pub(super) fn commit(&mut self) -> bool {
        self.write(|writer| writer.flush());
        if self.failed {
            return false;
        }
        if let Err(error) = self.draw() {
            self.fail(&error);
            return false;
        }
        let committed = match &mut *self.sink.0.lock() {
            Some(Sink::File(file)) => {
                let committed = file.commit();
                if let Err(error) = &committed {
                    report::error(&format!(
                        "cannot rename {} to {}: {error}; the profile stays under the first name",
                        file.current_path().display(),
                        file.path().display()
                    ));
                }
                return committed.is_ok();
            }
            Some(Sink::Net(net)) => net.confirm(),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        if let Err(error) = &committed {
            self.fail(error);
        }
        committed.is_ok()
    }

    /// Puts the picture of all that was written so far into a file of its own.
    fn draw(&mut self) -> io::Result<()> {
        let Target::Picture(picture, recorder) = &mut self.target else {
            return Ok(());
        };
        // The options allow pictures for files only.
        let Some(Sink::File(file)) = &mut *self.sink.0.lock() else {
            return Ok(());
        };
        file.renew()?;
        let path = file.path().to_owned();
        let mut out = BufWriter::with_capacity(BUFFER, file);
        recorder.draw(*picture, &path, &mut out)?;
        out.flush()
    }

    /// The whole profile's file under its final name, if it is one; no picture is.
    pub(super) fn finished_file(&self) -> Option<PathBuf> {
        if matches!(self.target, Target::Picture(..)) {
            return None;
        }
        let sink = self.sink.0.lock();
        let Some(Sink::File(file)) = &*sink else {
            return None;
        };
        let path = file.path();
        let whole = !self.failed && file.current_path() == path && path.is_file();
        whole.then(|| path.to_owned())
    }

    /// The last word: the front-end sees the end of the stream.
    pub(super) fn close(&mut self) {
        if let Some(Sink::Net(net)) = &*self.sink.0.lock() {
            net.close();
        }
    }

    /// Drops the profile before anything was written.
    pub(super) fn discard(self) {
        if let Some(Sink::File(file)) = self.sink.take() {
            file.discard();
        }
    }

    fn fail(&mut self, error: &io::Error) {
        let Some(sink) = self.sink.take() else {
            self.failed = true;
            return;
        };
        match sink {
            Sink::File(file) => {
                self.failed = true;
                report::error(&format!(
                    "cannot write the profile: {error}; what was written before is in {}, \
                     nothing more follows",
                    file.current_path().display()
                ));
            }
            Sink::Net(net) => self.fall_back(&net, error),
        }
    }

    /// The front-end is gone: all that follows goes to a file.
    fn fall_back(&mut self, net: &NetSink, error: &io::Error) {
        net.abort();
        match fallback_file(self.format) {
            Ok(file) => {
                report::note(&format!(
                    "the front-end at {} is lost ({error}); what it did not get, and what \
                     follows, goes to {}",
                    net.endpoint(),
                    absolute(file.path()).display()
                ));
                self.replace(Sink::File(file));
            }
            Err(reason) => {
                self.failed = true;
                report::error(&format!(
                    "the front-end at {} is lost ({error}), and there is no file to go on with: \
                     {reason}; nothing more is written",
                    net.endpoint()
                ));
            }
        }
    }

    /// Goes on with a new profile.
    fn replace(&mut self, sink: Sink) {
        (self.target, self.sink) = stream(self.format, sink);
        if self.dump == DumpState::Open {
            self.dump = DumpState::Interrupted;
        }
        let begin = self.begin.clone();
        let writer = self.target.writer();
        let written = begin.map_or(Ok(()), |begin| begin.write(writer));
        let written = written.and_then(|()| {
            let mut threads = self.threads.iter();
            threads.try_for_each(|(&serial, info)| write_thread(writer, serial, info))
        });
        if let Err(error) = written {
            self.fail(&error);
        }
    }
}

impl Begin {
    fn write(&self, writer: &mut dyn ProfileWriter) -> io::Result<()> {
        let created_ctime = self.started.ctime();
        writer.begin(&Header {
            created_millis: self.started.unix_millis(),
            created_ctime: &created_ctime,
            settings: self.settings,
        })?;
        writer.mark(&self.identity)
    }
}

fn write_thread(
    writer: &mut dyn ProfileWriter,
    serial: ThreadSerial,
    info: &ThreadInfo,
) -> io::Result<()> {
    writer.thread_start(&ThreadStart {
        object: thread_object(serial),
        serial,
        name: &info.name,
        group: &info.group,
        parent_group: &info.parent_group,
        trace: TraceSerial::SYSTEM,
    })
}

/// The object id in a thread's START THREAD record.
pub(super) fn thread_object(serial: ThreadSerial) -> ObjectId {
    let number = u64::from(serial.get() - ThreadSerial::BASE);
    // Objects of a VM lie at multiples of eight: no heap dump has this id.
    ObjectId::new(ObjectId::BASE + 8 * number)
}

/// A new file in the current folder, or in that for temporary files. Never one that exists.
fn fallback_file(format: Format) -> Result<FileSink, String> {
    let pid = std::process::id();
    let name = unique_name(format.default_file_name().as_ref(), pid, format);
    let another = move |path: &std::path::Path| unique_name(path, pid, format);
    let here = FileSink::create(&name, true, another);
    here.or_else(|_| FileSink::create(&std::env::temp_dir().join(&name), true, another))
        .map_err(|error| error.to_string())
}

fn absolute(path: &std::path::Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn stream(format: Format, sink: Sink) -> (Target, SharedSink) {
    let sink = SharedSink(Arc::new(Mutex::new(Some(sink))));
    let buffered = BufWriter::with_capacity(BUFFER, sink.clone());
    let writer: Box<dyn ProfileWriter + Send> = match format {
        Format::Text => Box::new(TextWriter::new(buffered)),
        Format::Binary => Box::new(BinaryWriter::new(buffered)),
    };
    (Target::Stream(writer), sink)
}

/// The sink, shared with the writer. It is taken out when it fails, so that what the writer still
/// has in its buffer goes nowhere.
#[derive(Clone)]
struct SharedSink(Arc<Mutex<Option<Sink>>>);

impl SharedSink {
    fn take(&self) -> Option<Sink> {
        self.0.lock().take()
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

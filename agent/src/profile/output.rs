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

use crate::options::{Format, Picture, Settings as RunSettings, unique_name};
use crate::os::clock::LocalTime;
use crate::picture::Recorder;
use crate::report;
use crate::sink::{Endpoint, Existing, FileSink, NetSink, NetSource, Sink};
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
    /// The threads that live, and those whose end the front-end may not have got.
    threads: BTreeMap<ThreadSerial, ThreadInfo>,
    ended: Vec<ThreadSerial>,
    /// The front-end that was lost.
    lost: Option<Endpoint>,
    /// The file that took its place, while there is a front-end again.
    parked: Option<Parked>,
    /// The connection has taken a dump.
    proven: bool,
    /// The output has a dump.
    dumped: bool,
    /// The output has nothing that is worth a final name: its only dump failed.
    is_stub: bool,
    /// How many outputs came before this one.
    generation: u32,
}

/// A file to go on with when a front-end is lost again.
struct Parked {
    target: Target,
    sink: SharedSink,
    /// The last thread that it knows.
    last_thread: Option<ThreadSerial>,
    dumped: bool,
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
            ended: Vec::new(),
            dumped: false,
            is_stub: false,
            generation: 0,
            lost: None,
            parked: None,
            proven: true,
        }
    }

    /// Another number for each new output, which knows nothing of what the one before has.
    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    /// What the front-end says.
    pub(super) fn source(&self) -> Option<NetSource> {
        match &*self.sink.0.lock() {
            Some(Sink::Net(net)) => net.source().ok(),
            _ => None,
        }
    }

    /// The front-end that was lost since the last call, if it is worth to look for it.
    pub(super) fn take_lost(&mut self) -> Option<Endpoint> {
        self.lost.take()
    }

    /// Goes on with the front-end that is there again; the file rests.
    pub(super) fn reconnect(&mut self, sink: NetSink) -> Option<NetSource> {
        if self.failed || self.dump != DumpState::None {
            return None;
        }
        if self.dumped {
            self.commit();
        }
        let source = sink.source().ok()?;
        report::note(&format!(
            "the front-end at {} is there again; the profile goes on there",
            sink.endpoint()
        ));
        let (target, shared) = stream(self.format, Sink::Net(sink));
        self.parked = Some(Parked {
            target: std::mem::replace(&mut self.target, target),
            sink: std::mem::replace(&mut self.sink, shared),
            last_thread: self.threads.keys().next_back().copied(),
            dumped: std::mem::replace(&mut self.dumped, false),
        });
        self.proven = false;
        self.start_over();
        Some(source)
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
        self.ended.push(serial);
        self.write(|writer| writer.thread_end(serial));
    }

    /// All that was written is where it should be: who has ended is of no interest any more.
    fn forget_ended(&mut self) {
        for serial in self.ended.drain(..) {
            self.threads.remove(&serial);
        }
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

    /// How long there has been a profile.
    pub(super) fn age(&self) -> Duration {
        self.created.elapsed()
    }

    /// Flushes what has been waiting for a while.
    pub(super) fn tick(&mut self) {
        if self.flushed.elapsed() > FLUSH_EVERY {
            self.flushed = Instant::now();
            self.write(|writer| writer.flush());
            let confirmed = match &*self.sink.0.lock() {
                Some(Sink::Net(net)) => net.is_confirmed(),
                Some(Sink::File(_)) => true,
                None => false,
            };
            if confirmed {
                self.forget_ended();
            }
        }
    }

    /// A dump begins: what is written up to [`Self::end_dump`] belongs together.
    pub(super) fn begin_dump(&mut self) {
        self.dump = DumpState::Open;
    }

    /// The dump is complete. If the output failed in the meantime, its successor wants all of it.
    /// `has_content` tells that the dump has a part that did not fail.
    pub(super) fn end_dump(&mut self, has_content: bool) -> DumpEnd {
        self.is_stub = !has_content && !self.dumped;
        let committed = self.commit();
        let state = std::mem::replace(&mut self.dump, DumpState::None);
        match state {
            DumpState::Interrupted => DumpEnd::Again,
            _ if committed && has_content => {
                (self.proven, self.dumped) = (true, true);
                DumpEnd::Written
            }
            _ => DumpEnd::Failed,
        }
    }

    /// A reply to a command is complete. What is lost with the front-end that wanted it is not
    /// missed, so nobody waits for it to arrive.
    pub(super) fn end_reply(&mut self) -> DumpEnd {
        self.write(|writer| writer.flush());
        match std::mem::replace(&mut self.dump, DumpState::None) {
            DumpState::Interrupted => DumpEnd::Again,
            _ if self.failed => DumpEnd::Failed,
            _ => DumpEnd::Written,
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
            Some(Sink::File(file)) if self.is_stub && file.is_regular() => return false,
            Some(Sink::File(file)) => {
                let committed = file.commit();
                if let Err(error) = &committed {
                    report::error(&format!(
                        "cannot rename {} to {}: {error}; the profile stays under the first name",
                        file.current_path().display(),
                        file.path().display()
                    ));
                }
                self.ended.drain(..).for_each(|serial| {
                    self.threads.remove(&serial);
                });
                return committed.is_ok();
            }
            Some(Sink::Net(net)) => net.confirm(),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        match &committed {
            Ok(()) => self.forget_ended(),
            Err(error) => self.fail(error),
        }
        committed.is_ok()
    }

    /// Where the profile goes, as text.
    pub(super) fn place(&self) -> String {
        match &*self.sink.0.lock() {
            Some(Sink::File(file)) if !file.is_regular() => file.path().display().to_string(),
            Some(Sink::File(file)) => absolute(file.path()).display().to_string(),
            Some(Sink::Net(net)) => net.endpoint().to_string(),
            None => "nowhere, writing has failed".to_owned(),
        }
    }

    /// Where the bytes are at this moment, as text.
    pub(super) fn present_place(&self) -> String {
        let file = match &*self.sink.0.lock() {
            Some(Sink::File(file)) if file.is_regular() => Some(absolute(file.current_path())),
            _ => None,
        };
        file.map_or_else(|| self.place(), |file| file.display().to_string())
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

    /// The file that a person looks at in the end, picture or profile.
    pub(super) fn last_file(&self) -> Option<PathBuf> {
        match &*self.sink.0.lock() {
            Some(Sink::File(file)) if !self.failed && file.is_finished() => {
                Some(absolute(file.path()))
            }
            _ => None,
        }
    }

    /// The last word: the front-end sees the end of the stream.
    pub(super) fn close(&mut self) {
        if let Some(parked) = self.parked.take_if(|parked| !parked.dumped)
            && let Some(Sink::File(file)) = parked.sink.take()
        {
            file.discard();
        }
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
        // One that takes connections, but no profiles, is not our front-end.
        self.lost = self.proven.then(|| net.endpoint().clone());
        if self.dump == DumpState::Open {
            self.dump = DumpState::Interrupted;
        }
        if let Some(parked) = self.parked.take() {
            report::note(&format!(
                "the front-end at {} is lost again ({error}); the profile goes on in the file",
                net.endpoint()
            ));
            self.unpark(parked);
            return;
        }
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

    /// Goes on with the file, which lacks the threads that have started meanwhile.
    fn unpark(&mut self, parked: Parked) {
        (self.target, self.sink) = (parked.target, parked.sink);
        self.dumped = parked.dumped;
        self.generation += 1;
        let new = |serial: &ThreadSerial| parked.last_thread.is_none_or(|last| *serial > last);
        let mut threads = self.threads.iter().filter(|(serial, _)| new(serial));
        let writer = self.target.writer();
        let written = threads.try_for_each(|(&serial, info)| write_thread(writer, serial, info));
        if let Err(error) = written {
            self.fail(&error);
        }
    }

    /// Goes on with a new file.
    fn replace(&mut self, sink: Sink) {
        (self.target, self.sink) = stream(self.format, sink);
        self.start_over();
    }

    /// Writes what every profile begins with.
    fn start_over(&mut self) {
        self.generation += 1;
        let begin = self.begin.clone();
        let writer = self.target.writer();
        let written = begin.map_or(Ok(()), |begin| begin.write(writer));
        let written = written.and_then(|()| {
            let mut threads = self.threads.iter();
            threads.try_for_each(|(&serial, info)| write_thread(writer, serial, info))?;
            let mut ended = self.ended.iter();
            ended.try_for_each(|&serial| writer.thread_end(serial))
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
    let here = FileSink::create(&name, Existing::Keep, another);
    here.or_else(|_| FileSink::create(&std::env::temp_dir().join(&name), Existing::Keep, another))
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

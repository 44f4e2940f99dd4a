//! The profile's writer over its sink.
//!
//! A file whose writing fails ends the writing, with one line that says so; the program continues. A
//! connection that fails is replaced by a file, or by a new connection. Each is a whole profile of
//! its own, so a dump that was under way is written again from its start.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hprof_format::ids::ThreadSerial;
use hprof_format::writer::ProfileWriter;

use super::failover::Parked;
use super::held::{Ended, HeldThread, HeldThreads};
use super::host::Host;
use super::picture::PictureRecorder;
use super::records::{Begin, Record, write_thread};
use super::target::{SharedSink, Target};
use crate::names::class_signature;
use crate::options::{Destination, Format, Lost, Settings};
use crate::os::timer::process_cpu_nanos;
use crate::report;
use crate::sink::{Endpoint, NetSource, Sink};
use crate::vm::ThreadInfo;

/// Where the profile is written.
pub struct Output {
    pub(super) format: Format,
    pub(super) target: Target,
    pub(super) sink: SharedSink,
    pub(super) created: Instant,
    /// The CPU time of the process then, in nanoseconds.
    created_cpu: u64,
    pub(super) failed: bool,
    pub(super) flushed: Instant,
    pub(super) dump: DumpState,
    /// The head of every profile of this run.
    pub(super) begin: Option<Box<Begin>>,
    /// The threads that live, and those whose end the front-end may not have got.
    pub(super) threads: BTreeMap<ThreadSerial, ThreadInfo>,
    pub(super) ended: Vec<ThreadSerial>,
    /// The policy for a lost front-end: the run continues in a file, or ends.
    pub(super) on_loss: Lost,
    /// The front-end was lost, and the run is to end.
    pub(super) abandoned: bool,
    /// The front-end that was lost.
    pub(super) lost: Option<Endpoint>,
    /// The file that took its place, while there is a front-end again.
    pub(super) parked: Option<Parked>,
    /// The connection has taken a dump.
    pub(super) proven: bool,
    /// The output has a dump.
    pub(super) dumped: bool,
    /// The output has nothing that is worth a final name: its only dump failed.
    pub(super) is_stub: bool,
    /// How many outputs came before this one.
    pub(super) generation: u32,
    /// The format of the old `prof` has tables and nothing else.
    is_bare: bool,
    /// Remarks on the tables of the dump that is open.
    pub(super) remarks: Vec<String>,
    /// Texts for programs that wait as the remarks do.
    pub(super) marks: Vec<String>,
    /// There will be a heap dump, which has the objects of threads.
    holds: bool,
    /// Threads that wait for it.
    pub(super) held: HeldThreads,
}

/// How far a dump is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DumpState {
    None,
    Open,
    /// The output is another one than when it began.
    Interrupted,
}

/// How a dump ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DumpEnd {
    /// All is written.
    Written,
    /// There is a new output, which lacks it.
    Again,
    /// It cannot be written.
    Failed,
}

/// How long a record may stay in the buffer while nothing is dumped.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

impl Output {
    /// A profile in the format that is asked for, which goes to `sink`.
    pub fn new(settings: &Settings, sink: Sink) -> Self {
        let format = settings.format;
        let (mut target, sink) = Target::stream(format, sink);
        if let Some(picture) = settings.picture {
            target = Target::Picture(picture, Box::new(PictureRecorder::new(settings.thread)));
        }
        if matches!(settings.destination, Destination::Push { .. }) {
            target = Target::Push(Box::new(PictureRecorder::new(settings.thread)));
        }
        let now = Instant::now();
        Self {
            format,
            target,
            sink,
            created: now,
            created_cpu: process_cpu_nanos(),
            failed: false,
            flushed: now,
            dump: DumpState::None,
            begin: None,
            threads: BTreeMap::new(),
            ended: Vec::new(),
            dumped: false,
            is_stub: false,
            generation: 0,
            on_loss: settings.lost,
            abandoned: false,
            lost: None,
            parked: None,
            proven: true,
            is_bare: settings.modes.cpu_old,
            remarks: Vec::new(),
            marks: Vec::new(),
            holds: settings.modes.heap_dump,
            held: HeldThreads::default(),
        }
    }

    /// Another number for each new output, which knows nothing of what the one before has.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The front-end's message.
    pub fn source(&self) -> Option<NetSource> {
        match &*self.sink.0.lock() {
            Some(Sink::Net(net)) => net.source().ok(),
            _ => None,
        }
    }

    /// The front-end that was lost since the last call, if it is worth to look for it.
    pub fn take_lost(&mut self) -> Option<Endpoint> {
        self.lost.take()
    }

    /// Returns true if the front-end was lost since the last call, and with it the reason to record.
    pub fn take_abandoned(&mut self) -> bool {
        std::mem::take(&mut self.abandoned)
    }

    /// An unused name, in a folder for large files that are needed for a while.
    pub fn scratch_path(&self) -> PathBuf {
        match &*self.sink.0.lock() {
            Some(Sink::File(file)) if file.is_regular() => file.path().to_owned(),
            _ => std::env::temp_dir().join("hprof-rs"),
        }
    }

    /// The file of the profile, if that is one which another file may replace.
    pub fn host(&self) -> Option<Host> {
        let is_stream = matches!(self.target, Target::Stream(_));
        let host = Host::new(&self.sink);
        host.length().filter(|_| is_stream).map(|_| host)
    }

    /// Writes the start.
    pub fn begin(&mut self, begin: Begin) {
        if self.is_bare {
            return;
        }
        self.write(|writer| begin.write(writer));
        self.begin = Some(Box::new(begin));
    }

    /// Writes what has happened in the program.
    pub fn record(&mut self, record: Record) {
        match record {
            Record::ThreadStart { .. } | Record::ThreadName { .. } | Record::ThreadEnd { .. }
                if self.is_bare => {}
            Record::ThreadStart { serial, info } => {
                if self.holds_threads() {
                    self.held.start(serial, info.clone());
                } else {
                    self.write(|writer| write_thread(writer, serial, &info));
                }
                self.threads.insert(serial, info);
            }
            Record::ThreadName { serial, name } => {
                let known = self.threads.get_mut(&serial);
                if let Some(info) = known.filter(|info| info.name != name) {
                    info.name = name;
                    let info = info.clone();
                    // Readers take the last record of a thread.
                    self.write(|writer| write_thread(writer, serial, &info));
                }
            }
            Record::ThreadEnd { serial } => {
                self.ended.push(serial);
                self.hold_end(serial);
            }
            Record::Wait(wait) => {
                let (class, thread) = (class_signature(wait.class), ThreadSerial::new(wait.thread));
                self.write(|writer| writer.wait(&class, wait.millis, thread));
            }
            Record::Waited(wait) => {
                let (class, thread) = (class_signature(wait.class), ThreadSerial::new(wait.thread));
                self.write(|writer| writer.waited(&class, wait.millis, thread));
            }
        }
    }

    /// Returns true if threads wait for the ids of their objects. A front-end sees them as they come.
    pub(super) fn holds_threads(&self) -> bool {
        let is_file = matches!(&*self.sink.0.lock(), Some(Sink::File(file)) if file.is_regular());
        self.holds && is_file && matches!(self.target, Target::Stream(_))
    }

    /// Writes the end of a thread, or keeps it with its start.
    fn hold_end(&mut self, serial: ThreadSerial) {
        match self.held.end(serial) {
            Ended::Shown => self.write(|writer| writer.thread_end(serial)),
            Ended::Held => {}
            Ended::Instead(serial, thread) => {
                self.write(|writer| write_held(writer, serial, &thread));
            }
        }
    }

    /// The threads that wait, for a heap dump to write. It gives those back that it has not.
    pub fn take_held_threads(&mut self) -> HeldThreads {
        std::mem::take(&mut self.held)
    }

    /// Gives threads back.
    pub fn put_held_threads(&mut self, threads: HeldThreads) {
        self.held = threads;
    }

    /// Writes the threads that have waited for a heap dump and are not in it.
    pub(super) fn write_held_threads(&mut self) {
        // The dump comes once more, to the output that they wait in.
        if self.dump == DumpState::Interrupted {
            return;
        }
        let threads = self.held.take_all();
        self.write(|writer| {
            let mut threads = threads.iter();
            threads.try_for_each(|(&serial, thread)| write_held(writer, serial, thread))
        });
    }

    /// All that was written is where it should be: who has ended is of no interest any more.
    fn forget_ended(&mut self) {
        for serial in self.ended.drain(..) {
            self.threads.remove(&serial);
        }
    }

    /// Writes something, unless writing has failed before.
    pub fn write(&mut self, body: impl FnOnce(&mut (dyn ProfileWriter + Send)) -> io::Result<()>) {
        if self.failed || self.dump == DumpState::Interrupted {
            return;
        }
        let writer = self.target.writer();
        writer.set_time(u64::try_from(self.created.elapsed().as_micros()).unwrap_or(0));
        if let Err(error) = body(writer) {
            self.fail(&error);
        }
    }

    /// Adds a remark for people. Within a dump it waits for the end of the last table: readers of old take lines between
    /// tables for frames.
    pub fn remark(&mut self, text: impl Into<String>) {
        if self.dump == DumpState::None {
            let text = text.into();
            self.write(|writer| writer.comment(&text));
        } else {
            self.remarks.push(text.into());
        }
    }

    /// Adds a text for programs, as [`Self::remark`] does within a dump.
    pub fn mark_after_tables(&mut self, text: String) {
        self.marks.push(text);
    }

    /// Returns whether what is written leaves this process's memory for a front-end.
    pub fn is_stream(&self) -> bool {
        matches!(&*self.sink.0.lock(), Some(Sink::Net(_)))
    }

    /// Writes the remarks that have waited for the end of the tables.
    fn write_remarks(&mut self) {
        let marks = std::mem::take(&mut self.marks);
        self.write(|writer| marks.iter().try_for_each(|text| writer.mark(text)));
        let remarks = std::mem::take(&mut self.remarks);
        self.write(|writer| remarks.iter().try_for_each(|line| writer.comment(line)));
    }

    /// How long there has been a profile.
    pub fn age(&self) -> Duration {
        self.created.elapsed()
    }

    /// The CPU time that the process has used since [`Self::age`] began.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(process_cpu_nanos().saturating_sub(self.created_cpu))
    }

    /// Flushes what has been waiting for a while.
    pub fn tick(&mut self) {
        if self.flushed.elapsed() > FLUSH_EVERY {
            self.flushed = Instant::now();
            self.write(|writer| writer.flush());
            let confirmed = match &*self.sink.0.lock() {
                Some(Sink::Net(net)) => net.is_confirmed(),
                Some(Sink::File(_) | Sink::Push(_)) => true,
                None => false,
            };
            if confirmed {
                self.forget_ended();
            }
        }
    }

    /// A dump begins: what is written up to [`Self::end_dump`] belongs together.
    pub fn begin_dump(&mut self) {
        self.remarks.clear();
        self.marks.clear();
        self.dump = DumpState::Open;
    }

    /// The dump is complete. If the output failed in the meantime, its successor wants all of it.
    /// `has_content` tells that the dump has a part that did not fail.
    pub fn end_dump(&mut self, has_content: bool) -> DumpEnd {
        self.write_remarks();
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
    /// missed, so no caller waits for it to arrive.
    pub fn end_reply(&mut self) -> DumpEnd {
        self.write_remarks();
        self.write(|writer| writer.flush());
        match std::mem::replace(&mut self.dump, DumpState::None) {
            DumpState::Interrupted => DumpEnd::Again,
            _ if self.failed => DumpEnd::Failed,
            _ => DumpEnd::Written,
        }
    }

    /// Flushes, and gives a file its final name; a front-end must have got all. True when all went
    /// well; a file that could not be written to its end keeps its temporary name.
    pub fn commit(&mut self) -> bool {
        self.write_held_threads();
        self.write(|writer| writer.flush());
        if self.failed {
            return false;
        }
        let finished = self.sink.finish();
        if let Err(error) = finished.and_then(|()| self.target.draw(&self.sink)) {
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
            Some(Sink::Push(_)) => Ok(()),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        match &committed {
            Ok(()) => self.forget_ended(),
            Err(error) => self.fail(error),
        }
        committed.is_ok()
    }

    /// Where the profile goes, as text.
    pub fn place(&self) -> String {
        match &*self.sink.0.lock() {
            Some(Sink::File(file)) if !file.is_regular() => file.path().display().to_string(),
            Some(Sink::File(file)) => absolute(file.path()).display().to_string(),
            Some(Sink::Net(net)) => net.endpoint().to_string(),
            Some(Sink::Push(push)) => push.place(),
            None => "an output that could not be written".to_owned(),
        }
    }

    /// Where the bytes are at this moment, as text.
    pub fn present_place(&self) -> String {
        let file = match &*self.sink.0.lock() {
            Some(Sink::File(file)) if file.is_regular() => Some(absolute(file.current_path())),
            _ => None,
        };
        file.map_or_else(|| self.place(), |file| file.display().to_string())
    }

    /// The whole profile's file under its final name, if it is one; no picture is.
    pub fn finished_file(&self) -> Option<PathBuf> {
        if !matches!(self.target, Target::Stream(_)) {
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
    pub fn last_file(&self) -> Option<PathBuf> {
        match &*self.sink.0.lock() {
            Some(Sink::File(file)) if !self.failed && file.is_finished() => {
                Some(absolute(file.path()))
            }
            _ => None,
        }
    }

    /// The last word: the front-end sees the end of the stream.
    pub fn close(&mut self) {
        if let Some(parked) = self.parked.take_if(|parked| !parked.dumped)
            && let Some(Sink::File(file)) = parked.sink.take()
        {
            file.discard();
        }
        match &mut *self.sink.0.lock() {
            Some(Sink::Net(net)) => net.close(),
            Some(Sink::Push(push)) => push.close(),
            _ => {}
        }
    }

    /// Returns true if it is time for the next profile of a receiver.
    pub fn is_push_due(&self) -> bool {
        !self.failed && matches!(&*self.sink.0.lock(), Some(Sink::Push(push)) if push.is_due())
    }

    /// Removes the profile's file if it has no dump and never got its final name, and writes nothing more.
    /// Returns whether it has done so.
    pub fn forget(&mut self) -> bool {
        let dumped = self.dumped;
        let mut sink = self.sink.0.lock();
        match sink.take_if(|it| matches!(it, Sink::File(file) if !dumped && file.is_temporary())) {
            Some(Sink::File(file)) => {
                file.discard();
                self.failed = true;
                true
            }
            _ => false,
        }
    }

    /// Drops the profile before anything was written.
    pub fn discard(self) {
        if let Some(Sink::File(file)) = self.sink.take() {
            file.discard();
        }
    }
}

pub(super) fn write_held(
    writer: &mut dyn ProfileWriter,
    serial: ThreadSerial,
    thread: &HeldThread,
) -> io::Result<()> {
    write_thread(writer, serial, &thread.info)?;
    match thread.has_ended {
        true => writer.thread_end(serial),
        false => Ok(()),
    }
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

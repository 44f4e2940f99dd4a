//! Fail-over of the output: a lost front-end is replaced by a file, or by itself
//! when it reconnects. Each is a complete profile.

use std::io;

use hprof_format::ids::ThreadSerial;

use super::held::{Ended, HeldThreads};
use super::records::write_thread;
use super::target::{SharedSink, Target};
use super::writer::{DumpState, Output, absolute, write_held};
use crate::options::{Format, Lost, unique_name};
use crate::report;
use crate::sink::{Existing, FileSink, NetSink, NetSource, Sink};

/// A file for when the front-end is lost again.
pub(super) struct Parked {
    pub(super) target: Target,
    pub(super) sink: SharedSink,
    /// The last thread that it knows.
    last_thread: Option<ThreadSerial>,
    pub(super) dumped: bool,
}

impl Output {
    /// Continues at the reconnected front-end; the file pauses.
    pub fn reconnect(&mut self, sink: NetSink) -> Option<NetSource> {
        if self.failed || self.dump != DumpState::None {
            return None;
        }
        self.write_held_threads();
        if self.dumped {
            self.commit();
        }
        let source = sink.source().ok()?;
        report::note(&format!(
            "the front-end at {} is connected again; the profile continues there",
            sink.endpoint()
        ));
        let (target, shared) = Target::stream(self.format, Sink::Net(sink));
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

    pub(super) fn fail(&mut self, error: &io::Error) {
        let Some(sink) = self.sink.take() else {
            self.failed = true;
            return;
        };
        match sink {
            Sink::File(file) => {
                self.failed = true;
                if let Some(path) = file.discard_empty() {
                    report::error(&format!(
                        "cannot write the profile: {error}; nothing was written to {}",
                        path.display()
                    ));
                    return;
                }
                report::error(&format!(
                    "cannot write the profile: {error}; what was written before is in {}, \
                     nothing more follows",
                    file.current_path().display()
                ));
            }
            Sink::Net(net) => self.fall_back(&net, error),
            Sink::Push(push) => {
                self.failed = true;
                report::error(&format!(
                    "cannot make a profile for {}: {error}; nothing more is sent",
                    push.place()
                ));
            }
        }
    }

    /// The front-end is lost: all further output goes to a file.
    fn fall_back(&mut self, net: &NetSink, error: &io::Error) {
        net.abort();
        if self.on_loss == Lost::Detach {
            // A run that has to stay to the end of the VM stays without an output.
            report::note(&format!(
                "the front-end at {} is lost ({error}), and nothing more is written",
                net.endpoint()
            ));
            self.failed = true;
            self.abandoned = true;
            return;
        }
        // One that takes connections, but no profiles, is not our front-end.
        self.lost = self.proven.then(|| net.endpoint().clone());
        if self.dump == DumpState::Open {
            self.dump = DumpState::Interrupted;
        }
        if let Some(parked) = self.parked.take() {
            report::note(&format!(
                "the front-end at {} is lost again ({error}); the profile continues in the file",
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
                    "the front-end at {} is lost ({error}), and there is no file to continue in: \
                     {reason}; nothing more is written",
                    net.endpoint()
                ));
            }
        }
    }

    /// Continues in the file, which lacks the threads that have started meanwhile.
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

    /// Continues in a new file.
    fn replace(&mut self, sink: Sink) {
        (self.target, self.sink) = Target::stream(self.format, sink);
        self.start_over();
    }

    /// Writes what every profile begins with.
    fn start_over(&mut self) {
        self.generation += 1;
        let begin = self.begin.clone();
        self.held = HeldThreads::default();
        let holds = self.holds_threads();
        let writer = self.target.writer();
        let written = begin.map_or(Ok(()), |begin| begin.write(writer));
        // Not by `Self::write`, which leaves out what belongs to an interrupted dump.
        let written = written.and_then(|()| {
            if holds {
                let threads = self.threads.iter();
                threads.for_each(|(&serial, info)| self.held.start(serial, info.clone()));
                return self
                    .ended
                    .iter()
                    .try_for_each(|&serial| match self.held.end(serial) {
                        Ended::Instead(serial, thread) => write_held(writer, serial, &thread),
                        Ended::Shown | Ended::Held => Ok(()),
                    });
            }
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

/// A new file in the current folder, or in that for temporary files. Never one that exists.
fn fallback_file(format: Format) -> Result<FileSink, String> {
    let pid = std::process::id();
    let name = unique_name(format.default_file_name().as_ref(), pid, format);
    let another = move |path: &std::path::Path| unique_name(path, pid, format);
    let here = FileSink::create(&name, Existing::Keep, another);
    here.or_else(|_| FileSink::create(&std::env::temp_dir().join(&name), Existing::Keep, another))
        .map_err(|error| error.to_string())
}

//! The state of the profile thread: the tables, the output, and the recorders.

use std::time::{Duration, Instant};

use hprof_format::model::Settings as FileSettings;

use super::identity;
use super::recorders::Recorders;
use crate::names::{HiddenNames, Names};
use crate::options::Settings;
use crate::os::clock::LocalTime;
use crate::output::{Begin, Output};
use crate::recording::{Context, Inbox, Message, Run};
use crate::report;
use crate::vm::Vm;

/// The profile thread's own.
pub(super) struct ProfileThread {
    pub(super) run: &'static Run,
    pub(super) output: Output,
    pub(super) recorders: Recorders,
    pub(super) figures: Figures,
    names: Names,
    inbox: Inbox,
    started: LocalTime,
}

/// The figures of the run.
pub(super) struct Figures {
    /// Frames of traces to come.
    pub(super) depth: u32,
    /// How many commands were refused.
    pub(super) refused: u32,
    /// How many dumps were written.
    pub(super) dumps: u32,
    /// When the run began.
    pub(super) began: Instant,
}

/// Bytes for methods and traces together; see [`Names::new`].
const TABLE_MEMORY: usize = 16 << 20;
/// Bytes for them with heap=sites, which has many more traces.
const HEAP_TABLE_MEMORY: usize = 64 << 20;
/// Bytes for them when calls are counted: their traces are made for a dump only, and
/// only of the paths that its table shows.
const CALLS_TABLE_MEMORY: usize = 256 << 20;

fn table_memory(settings: &Settings) -> usize {
    if settings.modes.counts_calls() {
        CALLS_TABLE_MEMORY
    } else if settings.modes.heap_sites {
        HEAP_TABLE_MEMORY
    } else {
        TABLE_MEMORY
    }
}

impl ProfileThread {
    pub(super) fn new(
        run: &'static Run,
        inbox: Inbox,
        output: Output,
        recorders: Recorders,
    ) -> Self {
        let settings = &run.settings;
        let hidden = HiddenNames::of(settings.format);
        Self {
            run,
            output,
            recorders,
            figures: Figures {
                depth: settings.depth,
                refused: 0,
                dumps: 0,
                began: Instant::now(),
            },
            names: Names::new(hidden, settings.lineno, table_memory(settings)),
            inbox,
            started: LocalTime::now(),
        }
    }

    /// Forgets the profile: the VM ended before it was up.
    pub(super) fn discard(self) {
        self.output.discard();
    }

    /// The recorders, and their context on the current thread.
    pub(super) fn split<'a>(&'a mut self, vm: Vm<'a>) -> (Context<'a>, &'a mut Recorders) {
        let (cx, recorders, _) = self.split_all(vm);
        (cx, recorders)
    }

    /// As [`Self::split`], with the figures of the run.
    pub(super) fn split_all<'a>(
        &'a mut self,
        vm: Vm<'a>,
    ) -> (Context<'a>, &'a mut Recorders, &'a mut Figures) {
        let cx = Context {
            vm,
            run: self.run,
            names: &mut self.names,
            output: &mut self.output,
            inbox: &mut self.inbox,
        };
        (cx, &mut self.recorders, &mut self.figures)
    }

    /// The next message, for which it waits this long. Records that were sent before it are written then.
    ///
    /// # Errors
    /// There is none, or will never be any.
    pub(super) fn next_message(
        &mut self,
        wait: Duration,
    ) -> Result<Message, crossbeam_channel::RecvTimeoutError> {
        let message = self.inbox.next(wait);
        self.inbox.write_records(&mut self.output);
        message
    }

    /// How many methods had no names any more when they were looked up.
    pub(super) fn unknown_methods(&self) -> u64 {
        self.names.unknown_methods()
    }

    /// Does what is due by time, between messages.
    pub(super) fn refresh(&mut self) {
        self.names.refresh();
        self.output.tick();
    }

    /// Writes the start of the profile.
    pub(super) fn begin(&mut self) {
        let settings = &self.run.settings;
        self.output.begin(Begin {
            started: self.started,
            settings: FileSettings {
                allocation_traces: settings.modes.tracks_objects(),
                cpu_sampling: settings.modes.cpu_samples,
                depth: settings.depth,
            },
            identity: identity::of(self.run).to_string(),
        });
    }

    /// `logflags=2`: what the tables hold, in figures.
    pub(super) fn tell_tables(&self, when: &str) {
        if self.run.settings.tells_tables() {
            let (names, threads) = (&self.names, self.run.threads.threads_seen());
            report::note(&format!("tables at the {when}: {names} threads={threads}"));
        }
    }
}

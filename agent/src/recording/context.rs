//! The context of recorders.

use hprof_format::rank::RankedCpuTable;

use super::inbox::Inbox;
use super::left_out;
use super::run::Run;
use crate::names::Names;
use crate::options::Settings;
use crate::os::clock::LocalTime;
use crate::output::Output;
use crate::report;
use crate::vm::{self, Vm};

/// The VM, the run, the tables and the output, for one call of a recorder.
pub struct Context<'a> {
    /// The VM as the current thread sees it.
    pub vm: Vm<'a>,
    /// The run.
    pub run: &'static Run,
    /// The tables of names.
    pub names: &'a mut Names,
    /// Where the profile is written.
    pub output: &'a mut Output,
    /// Messages that wait.
    pub inbox: &'a mut Inbox,
}

impl Context<'_> {
    /// The user's settings.
    pub fn settings(&self) -> &'static Settings {
        &self.run.settings
    }

    /// Says on standard error what is dumped now, unless the user wants no messages.
    pub fn announce(&self, part: &str) {
        if self.run.settings.verbose {
            report::raw(part);
        }
    }

    /// Writes remarks for readers of the profile.
    pub fn comment(&mut self, lines: &[String]) {
        self.output
            .write(|writer| lines.iter().try_for_each(|line| writer.comment(line)));
    }

    /// Writes a table of CPU use with its traces.
    pub fn write_cpu_table(&mut self, table: &RankedCpuTable) {
        let names = &*self.names;
        self.output.write(|writer| {
            names.write_traces(writer, table.traces())?;
            writer.cpu_table(table, &LocalTime::now().ctime(), &|trace| {
                names.innermost(trace)
            })?;
            writer.comment(&left_out::of_cpu(table))
        });
    }

    /// A remark with counters that concern all modes.
    pub fn general_remark(&self) -> String {
        format!(
            "hprof-rs: traces={} traces_cut={} unknown_methods={} lost_thread_records={} \
             internal_errors={}",
            self.names.traces.count(),
            self.names.traces.cut(),
            self.names.unknown_methods(),
            self.run.threads.lost_records(),
            vm::panics(),
        )
    }
}

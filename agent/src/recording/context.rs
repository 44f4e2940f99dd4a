//! The context of recorders.

use hprof_format::model::CpuKind;
use hprof_format::rank::RankedCpuTable;
use hprof_format::text::TextUncounted;

use super::inbox::Inbox;
use super::left_out;
use super::run::Run;
use crate::names::Names;
use crate::options::{Format, Settings};
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
        lines.iter().for_each(|line| self.output.remark(line));
    }

    /// Writes a table of CPU use with its traces.
    pub fn write_cpu_table(&mut self, table: RankedCpuTable) {
        let settings = self.settings();
        let is_text = settings.format == Format::Text && settings.picture.is_none();
        // With a depth of 0 no stack was wanted, so none is missing.
        let table = &match is_text && settings.depth > 0 {
            true => table.with_traces(|trace| self.names.with_a_frame(trace)),
            false => table,
        };
        let names = &*self.names;
        self.output.write(|writer| {
            names.write_traces(writer, table.traces())?;
            writer.cpu_table(table, &LocalTime::now().ctime(), &|trace| {
                names.innermost(trace)
            })
        });
        if is_text && table.kind() == CpuKind::Times {
            for row in table
                .rows()
                .iter()
                .map(|it| it.row)
                .filter(|it| it.count == 0)
            {
                let (trace, micros) = (row.trace, row.cost / 1000);
                self.output.remark(TextUncounted { trace, micros }.remark());
            }
        }
        self.output.remark(left_out::of_cpu(table));
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

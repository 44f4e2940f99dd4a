//! Writes monitors as text.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use super::escape::Name;
use super::{TextWriter, round_to_millis};
use crate::ids::ThreadSerial;
use crate::model::{Monitor, MonitorDump};
use crate::rank::RankedMonitorTable;
use crate::writer::MonitorWriter;

impl<W: Write> MonitorWriter for TextWriter<W> {
    fn wait(
        &mut self,
        signature: &str,
        timeout_millis: u64,
        thread: ThreadSerial,
    ) -> io::Result<()> {
        let signature = Name(signature);
        self.write(|s| {
            writeln!(
                s,
                "WAIT: MONITOR {signature}, timeout={timeout_millis}, thread {thread}"
            )
        })
    }

    fn waited(&mut self, signature: &str, millis: u64, thread: ThreadSerial) -> io::Result<()> {
        let signature = Name(signature);
        self.write(|s| {
            writeln!(
                s,
                "WAITED: MONITOR {signature}, time_waited={millis}, thread {thread}"
            )
        })
    }

    fn monitor_dump(&mut self, dump: &MonitorDump<'_>) -> io::Result<()> {
        self.write(|s| {
            s.push_str("MONITOR DUMP BEGIN\n");
            for thread in dump.threads {
                let (serial, trace, status) = (thread.serial, thread.trace, thread.status);
                writeln!(s, "    THREAD {serial}, trace {trace}, status: {status}")?;
            }
            dump.monitors
                .iter()
                .try_for_each(|monitor| monitor_lines(s, monitor))?;
            s.write_str("MONITOR DUMP END\n")
        })
    }

    fn monitor_table(&mut self, table: &RankedMonitorTable<'_>, ctime: &str) -> io::Result<()> {
        let (title, column) = match table.is_native() {
            true => ("NATIVE LOCKS", "function"),
            false => ("MONITOR TIME", "monitor"),
        };
        let (total, ctime) = (round_to_millis(table.total_nanos()), Name(ctime.trim_end()));
        self.write(|s| {
            writeln!(s, "{title} BEGIN (total = {total} ms) {ctime}")?;
            if !table.rows().is_empty() {
                writeln!(s, "rank   self  accum   count trace {column}")?;
            }
            for ranked in table.rows() {
                writeln!(
                    s,
                    "{:4} {:5.2}% {:5.2}% {:7} {:5} {} {}",
                    ranked.rank,
                    ranked.self_percent,
                    ranked.accum_percent,
                    ranked.row.count,
                    ranked.row.trace.get(),
                    Name(ranked.row.class_name),
                    ranked.row.lock.label()
                )?;
            }
            writeln!(s, "{title} END")
        })
    }
}

fn monitor_lines(s: &mut String, monitor: &Monitor<'_>) -> fmt::Result {
    write!(s, "    MONITOR {}", Name(monitor.signature))?;
    match monitor.owner {
        Some((thread, entries)) => {
            write!(s, "\n\towner: thread {thread}, entry count: {entries}\n")?;
        }
        None => s.push_str(" unowned\n"),
    }
    thread_list(s, "waiting to enter", monitor.entering)?;
    thread_list(s, "waiting to be notified", monitor.waiting)
}

fn thread_list(s: &mut String, title: &str, threads: &[ThreadSerial]) -> fmt::Result {
    write!(s, "\t{title}:")?;
    for (index, thread) in threads.iter().enumerate() {
        write!(s, "{} thread {thread}", if index == 0 { "" } else { "," })?;
    }
    s.write_char('\n')
}

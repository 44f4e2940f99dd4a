//! Reads the text format, of this crate's writer and of the JDK's agent.

mod items;
mod lines;

pub use items::{
    TextCpuRow, TextCpuTable, TextFrame, TextHeapDump, TextItem, TextMethod, TextMonitor,
    TextMonitorDump, TextMonitorRow, TextMonitorTable, TextMonitorThread, TextOldCpuRow, TextRank,
    TextSiteRow, TextSiteTable, TextTable, TextThread, TextTrace, TextUncounted, TextWait,
};

use super::writer::NO_STACK_LINE;
use crate::model::{CpuKind, SiteOrder};

/// Walks over the pieces of a text profile. Lines outside of sections that it does not
/// know, such as the explanation at the top, are skipped.
///
/// Text of the JDK's agent is in modified UTF-8: decode it with
/// [`mutf8::decode`](crate::binary::mutf8::decode).
///
/// ```
/// use hprof_format::text::{TextItem, TextReader};
///
/// let text = "TRACE 300001:\n\tA.b(A.java:7)\nTHREAD END (id = 200001)\n";
/// let items: Vec<TextItem> = TextReader::new(text).collect();
/// let TextItem::Trace(trace) = &items[0] else { panic!() };
/// assert_eq!(trace.frames[0].name.method, "b");
/// assert!(matches!(items[1], TextItem::ThreadEnd(thread) if thread.get() == 200001));
/// ```
#[derive(Debug, Clone)]
pub struct TextReader<'a> {
    rest: &'a str,
}

impl<'a> TextReader<'a> {
    /// Reads a profile.
    pub fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// The next line without its end, which stays unread.
    fn peek(&self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let line = self.rest.split('\n').next().unwrap_or(self.rest);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    fn skip_line(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
    }

    fn line(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.skip_line();
        Some(line)
    }

    fn item(&mut self, line: &'a str) -> Option<TextItem<'a>> {
        // In the order of how often they come.
        if line.starts_with("TRACE ") {
            lines::trace_title(line).map(|title| TextItem::Trace(self.trace(title)))
        } else if let Some(rest) = line.strip_prefix("THREAD ") {
            if rest.starts_with("START") {
                lines::thread_start(line).map(TextItem::ThreadStart)
            } else {
                lines::thread_end(line).map(TextItem::ThreadEnd)
            }
        } else if let Some(remark) = line.strip_prefix("# ") {
            let uncounted = lines::uncounted(remark).map(TextItem::Uncounted);
            Some(uncounted.unwrap_or(TextItem::Comment(remark)))
        } else if line.starts_with("WAIT: ") {
            lines::wait(line, "WAIT: MONITOR ", ", timeout=").map(TextItem::Wait)
        } else if line.starts_with("WAITED: ") {
            lines::wait(line, "WAITED: MONITOR ", ", time_waited=").map(TextItem::Waited)
        } else if let Some(created) = line.strip_prefix("JAVA PROFILE ") {
            created
                .split_once(", created ")
                .map(|(_, ctime)| TextItem::Created(ctime))
        } else {
            self.section(line)
        }
    }

    fn section(&mut self, title: &'a str) -> Option<TextItem<'a>> {
        if let Some(rest) = title.strip_prefix("CPU SAMPLES BEGIN (total = ") {
            self.cpu(rest, CpuKind::Samples, "CPU SAMPLES END")
        } else if let Some(rest) = title.strip_prefix("CPU TIME (ms) BEGIN (total = ") {
            self.cpu(rest, CpuKind::Times, "CPU TIME (ms) END")
        } else if let Some(rest) = title.strip_prefix("SITES BEGIN (ordered by ") {
            self.sites(rest, false, "SITES END")
        } else if let Some(rest) = title.strip_prefix("NATIVE SITES BEGIN (ordered by ") {
            self.sites(rest, true, "NATIVE SITES END")
        } else if let Some(rest) = title.strip_prefix("MONITOR TIME BEGIN (total = ") {
            self.monitors(rest, false, "MONITOR TIME END")
        } else if let Some(rest) = title.strip_prefix("NATIVE LOCKS BEGIN (total = ") {
            self.monitors(rest, true, "NATIVE LOCKS END")
        } else if title == "MONITOR DUMP BEGIN" {
            Some(TextItem::MonitorDump(self.monitor_dump()))
        } else if let Some(rest) = title.strip_prefix("HEAP DUMP BEGIN (") {
            self.heap_dump(rest).map(TextItem::HeapDump)
        } else if title == "count callee caller time" {
            Some(TextItem::OldCpu(self.old_cpu()))
        } else {
            None
        }
    }

    fn monitors(
        &mut self,
        rest: &'a str,
        is_native: bool,
        end: &'static str,
    ) -> Option<TextItem<'a>> {
        let (total, ctime) = rest.split_once(" ms) ")?;
        let total_millis = total.parse().ok()?;
        let table = self.table(ctime, end, lines::monitor_row);
        Some(TextItem::MonitorTime(TextMonitorTable {
            is_native,
            total_millis,
            table,
        }))
    }

    fn sites(&mut self, rest: &'a str, is_native: bool, end: &'static str) -> Option<TextItem<'a>> {
        let (order, ctime) = rest.split_once(") ")?;
        let order = match order {
            "allocated bytes" => SiteOrder::AllocatedBytes,
            _ => SiteOrder::LiveBytes,
        };
        let table = self.table(ctime, end, lines::site_row);
        Some(TextItem::Sites(TextSiteTable {
            is_native,
            order,
            table,
        }))
    }

    fn trace(&mut self, mut trace: TextTrace<'a>) -> TextTrace<'a> {
        while let Some(line) = self.peek().filter(|line| line.starts_with('\t')) {
            self.skip_line();
            if line == NO_STACK_LINE {
                continue;
            }
            match lines::frame(line) {
                Some(frame) => trace.frames.push(frame),
                None => trace.bad_lines += usize::from(line != "\t<empty>"),
            }
        }
        trace
    }

    fn cpu(&mut self, title: &'a str, kind: CpuKind, end: &str) -> Option<TextItem<'a>> {
        let (total, ctime) = title.split_once(") ")?;
        let total = total.parse().ok()?;
        let table = self.table(ctime, end, lines::cpu_row);
        Some(TextItem::Cpu(TextCpuTable { kind, total, table }))
    }

    /// The rows up to the end of a table, or to the next section where that is missing.
    fn table<R>(
        &mut self,
        ctime: &'a str,
        end: &str,
        row: impl Fn(&'a str) -> Option<R>,
    ) -> TextTable<'a, R> {
        let mut table = TextTable {
            ctime,
            rows: Vec::new(),
            bad_lines: 0,
            is_complete: false,
        };
        while let Some(line) = self.peek() {
            if line != end && is_title(line) {
                break;
            }
            self.skip_line();
            if line == end {
                table.is_complete = true;
                break;
            }
            match row(line) {
                Some(row) => table.rows.push(row),
                None => table.bad_lines += usize::from(!is_column_head(line)),
            }
        }
        table
    }

    /// A table without an end: it ends where no row follows.
    fn old_cpu(&mut self) -> TextTable<'a, TextOldCpuRow<'a>> {
        let mut table = TextTable {
            ctime: "",
            rows: Vec::new(),
            bad_lines: 0,
            is_complete: true,
        };
        while let Some(row) = self.peek().and_then(lines::old_cpu_row) {
            self.skip_line();
            table.rows.push(row);
        }
        table
    }

    fn heap_dump(&mut self, title: &'a str) -> Option<TextHeapDump<'a>> {
        let (objects, rest) = title.split_once(" objects, ")?;
        let (bytes, ctime) = rest.split_once(" bytes) ")?;
        let (objects, bytes) = (objects.parse().ok()?, bytes.parse().ok()?);
        let start = self.rest;
        let mut length = start.len();
        let mut is_complete = false;
        while let Some(line) = self.peek() {
            if line == "HEAP DUMP END" {
                length = start.len() - self.rest.len();
                self.skip_line();
                is_complete = true;
                break;
            }
            self.skip_line();
        }
        Some(TextHeapDump {
            ctime,
            objects,
            bytes,
            body: &start[..length],
            is_complete,
        })
    }

    fn monitor_dump(&mut self) -> TextMonitorDump<'a> {
        let mut dump = TextMonitorDump::default();
        while let Some(line) = self.peek() {
            if line != "MONITOR DUMP END" && is_title(line) {
                break;
            }
            self.skip_line();
            if line == "MONITOR DUMP END" {
                dump.is_complete = true;
                break;
            } else if let Some(thread) = lines::monitor_thread(line) {
                dump.threads.push(thread);
            } else if let Some(signature) = lines::monitor_title(line) {
                let (entering, waiting) = (Vec::new(), Vec::new());
                dump.monitors.push(TextMonitor {
                    signature,
                    owner: None,
                    entering,
                    waiting,
                });
            } else if !dump
                .monitors
                .last_mut()
                .is_some_and(|last| monitor_line(last, line))
            {
                dump.bad_lines += 1;
            }
        }
        dump
    }
}

impl<'a> Iterator for TextReader<'a> {
    type Item = TextItem<'a>;

    fn next(&mut self) -> Option<TextItem<'a>> {
        loop {
            let line = self.line()?;
            if let Some(item) = self.item(line) {
                return Some(item);
            }
        }
    }
}

impl std::iter::FusedIterator for TextReader<'_> {}

/// Adds what a line tells to a monitor; false if it tells nothing.
fn monitor_line(monitor: &mut TextMonitor<'_>, line: &str) -> bool {
    if let Some(owner) = lines::monitor_owner(line) {
        monitor.owner = Some(owner);
    } else if let Some(threads) = lines::thread_list(line, "waiting to enter") {
        monitor.entering = threads;
    } else if let Some(threads) = lines::thread_list(line, "waiting to be notified") {
        monitor.waiting = threads;
    } else {
        return false;
    }
    true
}

/// True if a line begins or ends a section, so that it is no row of a table.
fn is_title(line: &str) -> bool {
    let starts = [
        "TRACE ",
        "THREAD ",
        "CPU ",
        "SITES ",
        "MONITOR ",
        "HEAP DUMP ",
        "WAIT",
    ];
    starts.iter().any(|start| line.starts_with(start))
}

fn is_column_head(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("rank ") || line.starts_with("percent ")
}

//! Reads a text profile line by line, and refuses what is not well-formed.

use super::{CpuTable, MonitorDump, Row, TextProfile, ThreadStart, Trace, UsedMonitor};
use crate::text_heap::TextHeap;
use crate::text_sites::{self, SiteTable};

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) enum State {
    #[default]
    Header,
    Prelude,
    Records,
    /// Inside the TRACE of this serial.
    Trace(u32),
    /// After CPU SAMPLES BEGIN.
    TableHead,
    Table,
    /// Inside a heap dump.
    Heap,
    /// After CPU TIME (ms) BEGIN.
    TimesHead,
    Times,
    /// After MONITOR TIME BEGIN.
    ContentionHead,
    Contention,
    /// Inside a monitor dump.
    MonitorDump,
    /// After SITES BEGIN: the number of the next line of column heads.
    SitesHead(usize),
    Sites,
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) state: State,
}

impl Reader {
    pub(super) fn line(&mut self, profile: &mut TextProfile, line: &str) -> Result<(), String> {
        match self.state {
            State::Header => {
                let known = line.starts_with("JAVA PROFILE 1.0.1, created ");
                known.then_some(()).ok_or("no header")?;
                profile.header = line.to_owned();
                self.state = State::Prelude;
                Ok(())
            }
            State::Prelude => {
                if line == "--------" {
                    self.state = State::Records;
                }
                Ok(())
            }
            State::Trace(serial) => match line.strip_prefix('\t') {
                Some(frame) => add_frame(profile, serial, frame),
                None => self.record(profile, line),
            },
            State::Records => self.record(profile, line),
            State::Heap if line == "HEAP DUMP END" => {
                self.state = State::Records;
                Ok(())
            }
            State::Heap => profile.heaps.last_mut().ok_or("no heap")?.line(line),
            State::SitesHead(at) => {
                let head = text_sites::HEADS.get(at).copied();
                (head == Some(line))
                    .then_some(())
                    .ok_or("not the column heads")?;
                self.state = match at {
                    0 => State::SitesHead(1),
                    _ => State::Sites,
                };
                Ok(())
            }
            State::Sites if line.strip_prefix("NATIVE ").unwrap_or(line) == "SITES END" => {
                self.state = State::Records;
                Ok(())
            }
            State::Sites => {
                let row = text_sites::parse_row(line).ok_or("not a row")?;
                if !profile.traces.contains_key(&row.trace) {
                    return Err("the trace has not been written".to_owned());
                }
                let table = profile.site_tables.last_mut().ok_or("no table")?;
                table.rows.push(row);
                Ok(())
            }
            State::TableHead if line == "rank   self  accum   count trace method" => {
                self.state = State::Table;
                Ok(())
            }
            State::TableHead if line == "CPU SAMPLES END" => {
                self.state = State::Records;
                Ok(())
            }
            State::TableHead => Err("neither column heads nor the end".to_owned()),
            State::Table if line == "CPU SAMPLES END" => {
                self.state = State::Records;
                check_table(profile)
            }
            State::Table => {
                let row = parse_cpu_row(profile, line)?;
                profile.tables.last_mut().ok_or("no table")?.rows.push(row);
                Ok(())
            }
            State::ContentionHead
                if ["monitor", "function"].contains(
                    &line
                        .strip_prefix("rank   self  accum   count trace ")
                        .unwrap_or_default(),
                ) =>
            {
                self.state = State::Contention;
                Ok(())
            }
            State::ContentionHead | State::Contention
                if line == "MONITOR TIME END" || line == "NATIVE LOCKS END" =>
            {
                self.state = State::Records;
                check_times(&profile.contention)
            }
            State::Contention => {
                let mut row = parse_row(line).ok_or("not a row")?;
                let (class, kind) = row.method.rsplit_once(' ').ok_or("no kind")?;
                row.is_native = kind == "(native)";
                row.is_synchronizer = match kind {
                    "(Java)" | "(native)" => false,
                    "(juc)" => true,
                    _ => return Err("an unknown kind".to_owned()),
                };
                row.method = class.to_owned();
                if !profile.traces.contains_key(&row.trace) {
                    return Err("the trace has not been written".to_owned());
                }
                profile
                    .contention
                    .last_mut()
                    .ok_or("no table")?
                    .rows
                    .push(row);
                Ok(())
            }
            State::MonitorDump if line == "MONITOR DUMP END" => {
                self.state = State::Records;
                Ok(())
            }
            State::MonitorDump => {
                let dump = profile.monitor_dumps.last_mut().ok_or("no dump")?;
                parse_monitor_line(dump, line).ok_or("not a line of a monitor dump")?;
                match dump.threads.last() {
                    Some((_, trace, _)) if !profile.traces.contains_key(trace) => {
                        Err("the trace has not been written".to_owned())
                    }
                    _ => Ok(()),
                }
            }
            State::TimesHead if line == "rank   self  accum   count trace method" => {
                self.state = State::Times;
                Ok(())
            }
            State::TimesHead | State::Times if line == "CPU TIME (ms) END" => {
                self.state = State::Records;
                check_times(&profile.times)
            }
            State::TimesHead | State::ContentionHead => {
                Err("neither column heads nor the end".to_owned())
            }
            State::Times => {
                let row = parse_cpu_row(profile, line)?;
                profile.times.last_mut().ok_or("no table")?.rows.push(row);
                Ok(())
            }
        }
    }

    fn record(&mut self, profile: &mut TextProfile, line: &str) -> Result<(), String> {
        let from = std::mem::replace(&mut self.state, State::Records);
        if let Some(rest) = line.strip_prefix("THREAD START (") {
            profile
                .threads
                .push(parse_thread_start(rest).ok_or("malformed")?);
        } else if let Some(rest) = line.strip_prefix("THREAD END (id = ") {
            let serial = rest
                .strip_suffix(')')
                .and_then(|serial| serial.parse().ok());
            profile.ended_threads.push(serial.ok_or("malformed")?);
        } else if let Some(rest) = line.strip_prefix("TRACE ") {
            let (serial, trace) = parse_trace_head(rest).ok_or("malformed")?;
            if profile.traces.insert(serial, trace).is_some() {
                return Err("the trace has been written before".to_owned());
            }
            self.state = State::Trace(serial);
        } else if let Some(rest) = line.strip_prefix("CPU SAMPLES BEGIN (total = ") {
            let (total, _date) = rest.split_once(") ").ok_or("malformed")?;
            let total = total.parse().map_err(|_| "the total is no number")?;
            profile.tables.push(CpuTable {
                total,
                rows: Vec::new(),
            });
            self.state = State::TableHead;
        } else if let Some(rest) = line.strip_prefix("HEAP DUMP BEGIN (") {
            let (totals, _date) = rest.split_once(") ").ok_or("malformed")?;
            profile
                .heaps
                .push(TextHeap::begin(totals).ok_or("malformed")?);
            self.state = State::Heap;
        } else if let Some(rest) = line.strip_prefix("CPU TIME (ms) BEGIN (total = ") {
            let (total, _date) = rest.split_once(") ").ok_or("malformed")?;
            let total = total.parse().map_err(|_| "the total is no number")?;
            profile.times.push(CpuTable {
                total,
                rows: Vec::new(),
            });
            self.state = State::TimesHead;
        } else if let Some(rest) = line
            .strip_prefix("MONITOR TIME BEGIN (total = ")
            .or_else(|| line.strip_prefix("NATIVE LOCKS BEGIN (total = "))
        {
            let (total, _date) = rest.split_once(" ms) ").ok_or("malformed")?;
            let total = total.parse().map_err(|_| "the total is no number")?;
            profile.contention.push(CpuTable {
                total,
                rows: Vec::new(),
            });
            self.state = State::ContentionHead;
        } else if line == "MONITOR DUMP BEGIN" {
            profile.monitor_dumps.push(MonitorDump::default());
            self.state = State::MonitorDump;
        } else if let Some(wait) = parse_wait(line) {
            profile.waits.push(wait);
        } else if let Some(rest) = line
            .strip_prefix("NATIVE ")
            .unwrap_or(line)
            .strip_prefix("SITES BEGIN (ordered by ")
        {
            let is_allocated = rest.starts_with("allocated bytes) ");
            let known = is_allocated || rest.starts_with("live bytes) ");
            known.then_some(()).ok_or("unknown order")?;
            profile.site_tables.push(SiteTable {
                by_allocated: is_allocated,
                rows: Vec::new(),
            });
            self.state = State::SitesHead(0);
        } else if let Some(comment) = line.strip_prefix('#') {
            // Some readers take every line up to the table for a frame of the last trace. Traces that a
            // front-end asks for have no table.
            let answers = [
                "# hprof-rs reply: ",
                "# hprof-rs settings: ",
                "# hprof-rs: heap summary: ",
            ];
            let is_answer = answers.iter().any(|start| line.starts_with(start));
            if matches!(from, State::Trace(_)) && !is_answer {
                return Err("comment between a trace and its table".to_owned());
            }
            profile.comments.push(comment.trim().to_owned());
        } else if !line.is_empty() {
            return Err("unknown".to_owned());
        }
        Ok(())
    }
}

fn add_frame(profile: &mut TextProfile, serial: u32, frame: &str) -> Result<(), String> {
    if frame == "<empty>" {
        return Ok(());
    }
    let place = frame
        .strip_suffix(')')
        .and_then(|frame| frame.split_once('('));
    let (method, place) = place.ok_or("a frame without a place")?;
    let (_, line) = place.rsplit_once(':').ok_or("a frame without a line")?;
    let number = line.parse::<u32>().is_ok();
    if !method.contains('.') || !(number || line == "Unknown line") {
        return Err("a malformed frame".to_owned());
    }
    profile
        .traces
        .entry(serial)
        .or_default()
        .frames
        .push(frame.to_owned());
    Ok(())
}

/// Percentages, ranks and order follow from the counts.
fn check_table(profile: &TextProfile) -> Result<(), String> {
    let table = profile.table();
    let (mut rank, mut sum, mut before) = (0, 0, u64::MAX);
    for row in &table.rows {
        rank += 1;
        sum += row.count;
        let percent = |count: u64| 100.0 * count as f64 / table.total as f64;
        let right = row.rank == rank
            && row.count <= before
            && (row.self_percent - percent(row.count)).abs() < 0.0051
            && (row.accumulated_percent - percent(sum)).abs() < 0.0051;
        right
            .then_some(())
            .ok_or_else(|| format!("row {row:?} does not follow from the counts"))?;
        before = row.count;
    }
    (sum <= table.total)
        .then_some(())
        .ok_or_else(|| "more samples than the total".to_owned())
}

/// Ranks count up, shares go down and add up to no more than all.
fn check_times(tables: &[CpuTable]) -> Result<(), String> {
    let rows = tables.last().map_or(&[][..], |table| &table.rows);
    let (mut rank, mut before) = (0, f64::INFINITY);
    for row in rows {
        rank += 1;
        let right = row.rank == rank
            && row.self_percent <= before
            && row.accumulated_percent < 100.0051
            && row.accumulated_percent > row.self_percent - 0.0101;
        right
            .then_some(())
            .ok_or_else(|| format!("row {row:?} is out of order"))?;
        before = row.self_percent;
    }
    Ok(())
}

/// `obj=5, id = 200001, name="main", group="main")`
fn parse_thread_start(text: &str) -> Option<ThreadStart> {
    let (object, rest) = text.strip_prefix("obj=")?.split_once(", id = ")?;
    let (serial, rest) = rest.split_once(", name=\"")?;
    let (name, group) = rest.strip_suffix("\")")?.rsplit_once("\", group=\"")?;
    Some(ThreadStart {
        object: u64::from_str_radix(object, 16).ok()?,
        serial: serial.parse().ok()?,
        name: name.to_owned(),
        group: group.to_owned(),
    })
}

/// `300001:` or `300001: (thread=200001)`, possibly followed by the phase.
fn parse_trace_head(text: &str) -> Option<(u32, Trace)> {
    let (serial, rest) = text.split_once(':')?;
    let mut thread = None;
    if let Some((number, _)) = rest
        .strip_prefix(" (thread=")
        .and_then(|it| it.split_once(')'))
    {
        thread = Some(number.parse().ok()?);
    }
    Some((
        serial.parse().ok()?,
        Trace {
            thread,
            frames: Vec::new(),
        },
    ))
}

/// `WAIT: MONITOR Ljava/lang/Object;, timeout=50, thread 200001`, and the same with `WAITED` and
/// `time_waited`.
fn parse_wait(line: &str) -> Option<(String, u64, u32)> {
    let (rest, time) = match line.strip_prefix("WAIT: MONITOR ") {
        Some(rest) => (rest, ", timeout="),
        None => (line.strip_prefix("WAITED: MONITOR ")?, ", time_waited="),
    };
    let (signature, rest) = rest.split_once(time)?;
    let (millis, serial) = rest.split_once(", thread ")?;
    Some((
        signature.to_owned(),
        millis.parse().ok()?,
        serial.parse().ok()?,
    ))
}

fn parse_monitor_line(dump: &mut MonitorDump, line: &str) -> Option<()> {
    if let Some(rest) = line.strip_prefix("    THREAD ") {
        let (serial, rest) = rest.split_once(", trace ")?;
        let (trace, status) = rest.split_once(", status: ")?;
        dump.threads
            .push((serial.parse().ok()?, trace.parse().ok()?, status.to_owned()));
        return Some(());
    }
    if let Some(name) = line.strip_prefix("    MONITOR ") {
        let signature = name.strip_suffix(" unowned").unwrap_or(name).to_owned();
        dump.monitors.push(UsedMonitor {
            signature,
            ..UsedMonitor::default()
        });
        return Some(());
    }
    let monitor = dump.monitors.last_mut()?;
    let threads = |list: &str| -> Option<Vec<u32>> {
        let items = list.split(',').filter(|item| !item.is_empty());
        items
            .map(|item| item.strip_prefix(" thread ")?.parse().ok())
            .collect()
    };
    if let Some(rest) = line.strip_prefix("\towner: thread ") {
        let (serial, entries) = rest.split_once(", entry count: ")?;
        monitor.owner = Some((serial.parse().ok()?, entries.parse().ok()?));
    } else if let Some(list) = line.strip_prefix("\twaiting to enter:") {
        monitor.entering = threads(list)?;
    } else {
        monitor.waiting = threads(line.strip_prefix("\twaiting to be notified:")?)?;
    }
    Some(())
}

/// A row of CPU SAMPLES or CPU TIME, which must suit readers of the JDK's agent: it counts something, and its last column is the
/// innermost method of a trace that was written, without blanks.
fn parse_cpu_row(profile: &TextProfile, line: &str) -> Result<Row, String> {
    let row = parse_row(line).ok_or("not a row")?;
    let trace = profile.traces.get(&row.trace);
    let trace = trace.ok_or("the trace has not been written")?;
    let method = trace.methods().first().map(|it| it.replace(' ', "_"));
    match method {
        _ if row.count == 0 => Err("a row that counts nothing".to_owned()),
        Some(method) if method != row.method => Err("not the innermost method".to_owned()),
        None if row.method != "<empty trace>" => Err("not an empty trace".to_owned()),
        _ => Ok(row),
    }
}

fn parse_row(line: &str) -> Option<Row> {
    let mut fields = line.split_whitespace();
    Some(Row {
        rank: fields.next()?.parse().ok()?,
        self_percent: fields.next()?.strip_suffix('%')?.parse().ok()?,
        accumulated_percent: fields.next()?.strip_suffix('%')?.parse().ok()?,
        count: fields.next()?.parse().ok()?,
        trace: fields.next()?.parse().ok()?,
        method: fields.collect::<Vec<_>>().join(" "),
        is_synchronizer: false,
        is_native: false,
    })
}

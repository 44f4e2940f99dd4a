//! Writes the text format.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::PRELUDE;
use super::escape::{Column, Name, Quoted, Remark};
use super::slow;
use crate::ids::{ThreadSerial, TraceSerial};
use crate::model::{
    CpuKind, Frame, Header, Line, OldCpuRow, Settings, SignedMethod, SlowRow, ThreadStart, Trace,
};
use crate::rank::RankedCpuTable;
use crate::serial_set::SerialSet;
use crate::writer::{InnermostMethod, ProfileWriter};

const NANOS_PER_MILLI: u64 = 1_000_000;

/// The one frame of CPU time without a stack: readers of the JDK's agent look for a frame in each trace that a table of CPU use
/// refers to. [`TextReader`](super::TextReader) takes it for no frame.
pub const NO_STACK: &str = "[no_stack]";
pub(super) const NO_STACK_LINE: &str = "\t.[no_stack](<Unknown Source>:Unknown line)";

/// Writes a profile as text. Each call ends in one `write_all` of whole lines.
#[derive(Debug)]
pub struct TextWriter<W> {
    out: W,
    traces: SerialSet,
    lines: String,
    bytes: Vec<u8>,
}

impl<W: Write> TextWriter<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self {
            out,
            traces: SerialSet::default(),
            lines: String::new(),
            bytes: Vec::new(),
        }
    }

    /// The underlying writer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Gives the underlying writer back.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// As [`Self::write`], for lines that come by the million. They must be UTF-8.
    pub(super) fn write_bytes(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.bytes.clear();
        fill(&mut self.bytes);
        self.out.write_all(&self.bytes)
    }

    /// Collects lines and writes them in one piece.
    pub(super) fn write(
        &mut self,
        fill: impl FnOnce(&mut String) -> std::fmt::Result,
    ) -> io::Result<()> {
        self.lines.clear();
        fill(&mut self.lines).map_err(io::Error::other)?;
        self.out.write_all(self.lines.as_bytes())
    }
}

impl<W: Write> ProfileWriter for TextWriter<W> {
    fn begin(&mut self, header: &Header<'_>) -> io::Result<()> {
        self.write(|s| {
            // The text format never went beyond version 1.0.1, and tools match this line whole.
            writeln!(
                s,
                "JAVA PROFILE 1.0.1, created {}",
                Name(header.created_ctime.trim_end())
            )?;
            write!(s, "\n{PRELUDE}\n--------\n\n")
        })
    }

    fn set_time(&mut self, _micros_since_creation: u64) {}

    fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        self.write(|s| {
            writeln!(
                s,
                "THREAD START (obj={:x}, id = {}, name=\"{}\", group=\"{}\")",
                thread.object,
                thread.serial,
                Quoted(thread.name),
                Quoted(thread.group)
            )
        })
    }

    fn thread_end(&mut self, thread: ThreadSerial) -> io::Result<()> {
        self.write(|s| writeln!(s, "THREAD END (id = {thread})"))
    }

    fn trace(&mut self, trace: &Trace<'_>) -> io::Result<()> {
        if !self.traces.insert(trace.serial.get()) {
            return Ok(());
        }
        self.write(|s| {
            write!(s, "TRACE {}:", trace.serial)?;
            if let Some(thread) = trace.thread {
                write!(s, " (thread={thread})")?;
            }
            s.push('\n');
            if trace.frames.is_empty() {
                s.push_str("\t<empty>\n");
            }
            trace
                .frames
                .iter()
                .try_for_each(|frame| frame_line(s, frame))
        })
    }

    fn has_trace(&self, serial: TraceSerial) -> bool {
        self.traces.contains(serial.get())
    }

    fn cpu_table(
        &mut self,
        table: &RankedCpuTable,
        ctime: &str,
        innermost: InnermostMethod<'_>,
    ) -> io::Result<()> {
        let (title, total) = match table.kind() {
            CpuKind::Samples => ("CPU SAMPLES", table.total()),
            CpuKind::Times => ("CPU TIME (ms)", round_to_millis(table.total())),
        };
        self.write(|s| {
            writeln!(
                s,
                "{title} BEGIN (total = {total}) {}",
                Name(ctime.trim_end())
            )?;
            let rows = table.rows().iter().filter(|ranked| ranked.row.count > 0);
            let mut rows = rows.peekable();
            if rows.peek().is_some() {
                s.push_str("rank   self  accum   count trace method\n");
            }
            let mut accum_percent = 0.0;
            for (rank, ranked) in (1..).zip(rows) {
                accum_percent += ranked.self_percent;
                write!(
                    s,
                    "{:4} {:5.2}% {:5.2}% {:7} {:5} ",
                    rank,
                    ranked.self_percent,
                    accum_percent,
                    ranked.row.count,
                    ranked.row.trace.get()
                )?;
                match innermost(ranked.row.trace) {
                    Some(name) => {
                        let (class, method) = (Column(name.class_name), Column(name.method));
                        writeln!(s, "{class}.{method}")?;
                    }
                    None => s.push_str("<empty trace>\n"),
                }
            }
            writeln!(s, "{title} END")
        })
    }

    fn old_cpu_table(&mut self, rows: &[OldCpuRow<'_>]) -> io::Result<()> {
        let mut rows: Vec<&OldCpuRow<'_>> = rows.iter().filter(|row| row.count > 0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        self.write(|s| {
            s.push_str("count callee caller time\n");
            rows.iter().try_for_each(|row| {
                write!(s, "{} ", row.count)?;
                signed_method(s, row.callee, "<unknown callee>")?;
                s.push(' ');
                signed_method(s, row.caller, "<unknown caller>")?;
                writeln!(s, " {}", round_to_millis(row.nanos))
            })
        })
    }

    fn slow_table(&mut self, rows: &[SlowRow<'_>], ctime: &str) -> io::Result<()> {
        self.write(|s| slow::table(s, rows, ctime.trim_end()))
    }

    fn comment(&mut self, text: &str) -> io::Result<()> {
        self.write(|s| {
            text.lines()
                .try_for_each(|line| writeln!(s, "# {}", Remark(line)))
        })
    }

    fn mark(&mut self, text: &str) -> io::Result<()> {
        self.comment(text)
    }

    fn settings(&mut self, settings: &Settings) -> io::Result<()> {
        let on = |on: bool| if on { "on" } else { "off" };
        self.comment(&format!(
            "hprof-rs settings: alloc_traces={} cpu_sampling={} depth={}",
            on(settings.allocation_traces),
            on(settings.cpu_sampling),
            settings.depth
        ))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn frame_line(s: &mut String, frame: &Frame<'_>) -> std::fmt::Result {
    let source = frame
        .source_file
        .filter(|name| !name.is_empty())
        .unwrap_or("<Unknown Source>");
    let method = if frame.method.is_empty() {
        "<Unknown Method>"
    } else {
        frame.method
    };
    write!(
        s,
        "\t{}.{}({}:",
        Name(frame.class_name),
        Name(method),
        Name(source)
    )?;
    match frame.line {
        Line::Number(line @ 1..) => writeln!(s, "{line})"),
        // The JDK's agent wrote native methods so too, and readers take any other word for a number.
        Line::Number(0) | Line::Unknown | Line::Native => writeln!(s, "Unknown line)"),
    }
}

fn signed_method(
    s: &mut String,
    method: Option<SignedMethod<'_>>,
    unknown: &str,
) -> std::fmt::Result {
    match method {
        Some(SignedMethod {
            class_name,
            method,
            signature,
        }) => {
            write!(
                s,
                "{}.{}{}",
                Name(class_name),
                Name(method),
                Name(signature)
            )
        }
        None => s.write_str(unknown),
    }
}

/// Nanoseconds as milliseconds.
pub(crate) fn round_to_millis(nanos: u64) -> u64 {
    nanos.saturating_add(NANOS_PER_MILLI / 2) / NANOS_PER_MILLI
}

//! Parses single lines of a text profile. Each function is `None` for a line that is no such.

use std::borrow::Cow;
use std::str::FromStr;

use super::items::{
    TextCpuRow, TextFrame, TextMethod, TextMonitorRow, TextMonitorThread, TextOldCpuRow, TextRank,
    TextSiteRow, TextThread, TextTrace, TextUncounted, TextWait, UNCOUNTED,
};
use crate::ids::{ObjectId, ThreadSerial, TraceSerial};
use crate::model::{Line, LockKind};
use crate::text::escape::unescape;
use crate::text::writer::NO_STACK;

/// The text between two marks, and the text after the second.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(start)?.split_once(end)
}

pub fn thread_serial(text: &str) -> Option<ThreadSerial> {
    text.parse().ok().map(ThreadSerial::new)
}

pub fn trace_serial(text: &str) -> Option<TraceSerial> {
    text.parse().ok().map(TraceSerial::new)
}

/// The next field after blanks.
fn column<T: FromStr>(text: &mut &str) -> Option<T> {
    let rest = text.trim_start_matches(' ');
    let (field, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
    *text = rest;
    field.parse().ok()
}

fn percent(text: &mut &str) -> Option<f64> {
    let field: String = column(text)?;
    field.strip_suffix('%')?.parse().ok()
}

fn rank(text: &mut &str) -> Option<TextRank> {
    let (rank, self_percent, accum_percent) = (column(text)?, percent(text)?, percent(text)?);
    Some(TextRank {
        rank,
        self_percent,
        accum_percent,
    })
}

pub fn thread_start(line: &str) -> Option<TextThread<'_>> {
    let (object, rest) = between(line, "THREAD START (obj=", ", id = ")?;
    let (serial, rest) = rest.split_once(", name=\"")?;
    // Names of the JDK's agent may hold quotes as they are; the last match is the right one.
    let (name, group) = rest.strip_suffix("\")")?.rsplit_once("\", group=\"")?;
    Some(TextThread {
        object: ObjectId::new(u64::from_str_radix(object, 16).ok()?),
        serial: thread_serial(serial)?,
        name: unescape(name),
        group: unescape(group),
    })
}

pub fn thread_end(line: &str) -> Option<ThreadSerial> {
    thread_serial(line.strip_prefix("THREAD END (id = ")?.strip_suffix(')')?)
}

/// The title of a trace, which has no frames yet.
pub fn trace_title(line: &str) -> Option<TextTrace<'_>> {
    let (serial, rest) = between(line, "TRACE ", ":")?;
    let thread = between(rest, " (thread=", ")").and_then(|(thread, _)| thread_serial(thread));
    Some(TextTrace {
        serial: trace_serial(serial)?,
        thread,
        frames: Vec::new(),
        bad_lines: 0,
    })
}

/// Class and method. Method names hold no dots (JVM specification 4.2.2), except those of frames that are no method's: these
/// have no class, and name files of native code.
pub fn method(text: &str) -> Option<TextMethod<'_>> {
    let (class_name, method) = match text.strip_prefix('.') {
        Some(label) => ("", label),
        None => text.rsplit_once('.')?,
    };
    Some(TextMethod {
        class_name: unescape(class_name),
        method: unescape(method),
    })
}

pub fn frame(line: &str) -> Option<TextFrame<'_>> {
    let (rest, line) = line
        .strip_prefix('\t')?
        .strip_suffix(')')?
        .rsplit_once(':')?;
    // Names of methods may hold brackets, Kotlin's test cases often do.
    let (name, source) = rest.rsplit_once('(')?;
    let line = match line {
        "Unknown line" | "Compiled method" => Line::Unknown,
        "Native method" => Line::Native,
        number => Line::Number(number.parse().ok()?),
    };
    let source_file = (source != "<Unknown Source>").then(|| unescape(source));
    Some(TextFrame {
        name: method(name)?,
        source_file,
        line,
    })
}

pub fn cpu_row(line: &str) -> Option<TextCpuRow<'_>> {
    let rest = &mut &*line;
    let (rank, count) = (rank(rest)?, column(rest)?);
    let trace = TraceSerial::new(column(rest)?);
    let name = rest.strip_prefix(' ')?;
    let method = if name == "<empty trace>" || name.strip_prefix('.') == Some(NO_STACK) {
        None
    } else {
        Some(method(name)?)
    };
    Some(TextCpuRow {
        rank,
        count,
        trace,
        method,
    })
}

/// A remark such as `hprof-rs: uncounted_trace=300001 ms=1.250`.
pub fn uncounted(remark: &str) -> Option<TextUncounted> {
    let (trace, millis) = between(remark, UNCOUNTED, " ms=")?;
    let (millis, micros) = millis.split_once('.')?;
    let millis: u64 = millis.parse().ok()?;
    let micros: u16 = (micros.len() == 3).then(|| micros.parse().ok())??;
    Some(TextUncounted {
        trace: trace_serial(trace)?,
        micros: millis.checked_mul(1000)?.checked_add(micros.into())?,
    })
}

pub fn old_cpu_row(line: &str) -> Option<TextOldCpuRow<'_>> {
    const UNKNOWN: [&str; 2] = ["<unknown callee>", "<unknown caller>"];
    let (count, rest) = line.split_once(' ')?;
    let (rest, millis) = rest.rsplit_once(' ')?;
    let (callee, caller) = if let Some(caller) = rest.strip_prefix(UNKNOWN[0]) {
        (UNKNOWN[0], caller.strip_prefix(' ')?)
    } else if let Some(callee) = rest.strip_suffix(UNKNOWN[1]) {
        (callee.strip_suffix(' ')?, UNKNOWN[1])
    } else {
        // Names may hold blanks, but hardly after the parameters.
        let parameters = rest.find(')')?;
        let blank = parameters + rest[parameters..].find(' ')?;
        (&rest[..blank], &rest[blank + 1..])
    };
    Some(TextOldCpuRow {
        count: count.parse().ok()?,
        callee,
        caller,
        millis: millis.parse().ok()?,
    })
}

pub fn site_row(line: &str) -> Option<TextSiteRow<'_>> {
    let rest = &mut &*line;
    Some(TextSiteRow {
        rank: rank(rest)?,
        live_bytes: column(rest)?,
        live_objects: column(rest)?,
        allocated_bytes: column(rest)?,
        allocated_objects: column(rest)?,
        trace: TraceSerial::new(column(rest)?),
        class_name: unescape(rest.strip_prefix(' ')?),
    })
}

pub fn monitor_row(line: &str) -> Option<TextMonitorRow<'_>> {
    let (mut rest, label) = line.rsplit_once(' ')?;
    let lock = LockKind::with_label(label)?;
    let rest = &mut rest;
    Some(TextMonitorRow {
        rank: rank(rest)?,
        count: column(rest)?,
        trace: TraceSerial::new(column(rest)?),
        class_name: unescape(rest.strip_prefix(' ')?),
        lock,
    })
}

pub fn monitor_thread(line: &str) -> Option<TextMonitorThread<'_>> {
    let (serial, rest) = between(line, "    THREAD ", ", trace ")?;
    let (trace, status) = rest.split_once(", status: ")?;
    Some(TextMonitorThread {
        serial: thread_serial(serial)?,
        trace: trace_serial(trace)?,
        status,
    })
}

pub fn monitor_owner(line: &str) -> Option<(ThreadSerial, u32)> {
    let (thread, entries) = between(line, "\towner: thread ", ", entry count: ")?;
    Some((thread_serial(thread)?, entries.parse().ok()?))
}

/// A list such as `\twaiting to enter: thread 200001, thread 200002`.
pub fn thread_list(line: &str, title: &str) -> Option<Vec<ThreadSerial>> {
    let list = line
        .strip_prefix('\t')?
        .strip_prefix(title)?
        .strip_prefix(':')?;
    let entries = list
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty());
    entries
        .map(|entry| thread_serial(entry.strip_prefix("thread ")?))
        .collect()
}

/// A line about waiting, with the name of its time.
pub fn wait<'a>(line: &'a str, start: &str, time: &str) -> Option<TextWait<'a>> {
    let (rest, thread) = line.strip_prefix(start)?.rsplit_once(", thread ")?;
    let (signature, millis) = rest.rsplit_once(time)?;
    Some(TextWait {
        signature: unescape(signature),
        millis: millis.parse().ok()?,
        thread: thread_serial(thread)?,
    })
}

/// The name of a monitor and whether it is said to be without owner.
pub fn monitor_title(line: &str) -> Option<Cow<'_, str>> {
    let name = line.strip_prefix("    MONITOR ")?;
    Some(unescape(name.strip_suffix(" unowned").unwrap_or(name)))
}

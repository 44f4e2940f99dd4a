//! `hprof-rs events`: all events of a recording.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hprof_foreign::jfr::any::Type;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::events::{self, Line, Lines, Order, Recording};
use crate::memory::MemoryArgument;
use crate::render::screen::{Align, Style, columns, count, more, print, print_json, printable};

/// List the events of a recording by type, or those of one type with their fields.
///
/// Reads recordings of Flight Recorder (JFR), of async-profiler, and those that `record -o x.jfr` writes, events of
/// applications included.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Events {
    /// The recording, plain or compressed.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// List the events of this type, such as jdk.SocketRead, with their fields and the innermost frame of the stack. A
    /// name without its package is found if it is the only one.
    #[arg(long, value_name = "TYPE")]
    event: Option<String>,

    /// The order of the events of a type.
    #[arg(long, value_enum, default_value_t = Order::Start, requires = "event")]
    sort: Order,

    /// The number of events of a type, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// List also the types that the recording declares and has no event of.
    #[arg(long, conflicts_with = "event")]
    all: bool,

    /// Print JSON: all fields of types, all frames of events, durations in nanoseconds.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    memory: MemoryArgument,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs events recording.jfr                                  types, counts, stacks
  hprof-rs events recording.jfr --event jdk.SocketRead --sort time
  hprof-rs events recording.jfr --event SocketRead --top 0 --json | jq .events[].host";

impl Events {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        self.memory.watch(&self.file.display().to_string());
        let recording = events::open(&self.file)?;
        match &self.event {
            None => self.types(&recording),
            Some(asked) => {
                let (name, of) = recording.of_name(asked)?;
                let most = match self.top {
                    0 => usize::MAX,
                    top => top,
                };
                let lines = recording.lines(name, of, self.sort, most);
                match self.json {
                    true => print_json(&listed_json(&recording, name, of, &lines)),
                    false => print(&listed(name, of, &lines, Style::of_stdout())),
                }
            }
        }
    }

    fn types(&self, recording: &Recording) -> anyhow::Result<ExitCode> {
        let mut types: Vec<(&String, &Type)> = recording.types.iter().collect();
        let all = types.len();
        types.retain(|(_, of)| self.all || of.count > 0);
        types.sort_by_key(|(_, of)| std::cmp::Reverse(of.count));
        if self.json {
            let types: Vec<Value> = types.iter().map(|(name, of)| type_json(name, of)).collect();
            return print_json(&json!({ "file": recording.name(), "types": types }));
        }
        let style = Style::of_stdout();
        let events: u64 = types.iter().map(|(_, of)| of.count).sum();
        let mut text = format!(
            "{}: {} of {} types\n",
            style.bold("Events"),
            count(events),
            count(types.len() as u64)
        );
        let rows: Vec<[String; 4]> = types
            .iter()
            .map(|(name, of)| {
                let stacks = match of.has_stacks {
                    true => count(of.with_stacks),
                    false => "-".to_owned(),
                };
                [count(of.count), stacks, (*name).clone(), of.label.clone()]
            })
            .collect();
        let head = [
            ("events", Align::Right),
            ("with stacks", Align::Right),
            ("type", Align::Left),
            ("label", Align::Left),
        ];
        text.push_str(&columns(style, head, &rows));
        let none = all - types.len();
        if none > 0 {
            let line = format!("{none} more types have no event (--all)");
            let _ = writeln!(text, "{}", style.dim(&line));
        }
        print(&text)
    }
}

fn type_json(name: &str, of: &Type) -> Value {
    let fields: Vec<Value> = of
        .fields
        .iter()
        .map(|field| {
            json!({
                "name": field.name,
                "type": field.of,
                "is_bytes": field.shape == hprof_foreign::jfr::any::Shape::Bytes,
                "is_time": field.shape == hprof_foreign::jfr::any::Shape::Time,
            })
        })
        .collect();
    json!({
        "name": name,
        "label": Some(&of.label).filter(|it| !it.is_empty()),
        "count": of.count,
        "with_stacks": of.with_stacks,
        "fields": fields,
    })
}

fn listed_json(recording: &Recording, name: &str, of: &Type, lines: &Lines) -> Value {
    let events: Vec<Value> = lines
        .lines
        .iter()
        .map(|line| {
            let mut fields = Map::new();
            fields.insert("start".to_owned(), json!(start(line)));
            fields.insert("duration".to_owned(), json!(line.duration));
            for (field, cell) in lines.fields.iter().zip(&line.cells) {
                fields.insert(field.name.clone(), cell.json());
            }
            fields.insert("frames".to_owned(), json!(lines.frames(line)));
            Value::Object(fields)
        })
        .collect();
    json!({
        "file": recording.name(),
        "type": type_json(name, of),
        "rows_left_out": of.count.saturating_sub(events.len() as u64),
        "events": events,
    })
}

/// The start of an event in UTC, as RFC 3339 has it.
fn start(line: &Line) -> String {
    Timestamp::from_nanosecond(i128::from(line.at))
        .map(|at| at.to_string())
        .unwrap_or_default()
}

/// The clock of an event where this machine is.
fn clock(line: &Line) -> String {
    let at = Timestamp::from_nanosecond(i128::from(line.at));
    at.map(|at| {
        let at = at.to_zoned(TimeZone::system());
        at.strftime("%H:%M:%S%.6f").to_string()
    })
    .unwrap_or_default()
}

fn listed(name: &str, of: &Type, lines: &Lines, style: Style) -> String {
    let label = match of.label.as_str() {
        "" => String::new(),
        label => format!(" ({label})"),
    };
    let mut text = format!(
        "{}{}: {} events, {} with stacks\n",
        style.bold(&printable(name)),
        printable(&label),
        count(of.count),
        count(of.with_stacks)
    );
    let rows: Vec<[String; 3]> = lines
        .lines
        .iter()
        .map(|line| {
            let cells = lines.fields.iter().zip(&line.cells);
            let mut fields: Vec<String> = cells
                .map(|(field, cell)| (field, cell.text()))
                .filter(|(_, text)| !text.is_empty())
                .map(|(field, text)| format!("{}={text}", field.name))
                .collect();
            let frame = lines.frames(line).into_iter().next();
            fields.extend(frame.map(|frame| format!("at {frame}")));
            let duration = match line.duration {
                0 => String::new(),
                nanos => format!("{:.3}", nanos as f64 / 1e6),
            };
            [clock(line), duration, fields.join("  ")]
        })
        .collect();
    let head = [
        ("start", Align::Left),
        ("ms", Align::Right),
        ("fields", Align::Left),
    ];
    text.push_str(&columns(style, head, &rows));
    let left_out = of.count.saturating_sub(rows.len() as u64);
    if left_out > 0 {
        let line = more(usize::try_from(left_out).unwrap_or(usize::MAX));
        let _ = writeln!(text, "{}", style.dim(line.trim_end()));
    }
    text
}

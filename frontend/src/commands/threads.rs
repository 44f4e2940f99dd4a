//! `hprof-rs threads`: threads and their stacks.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::contents::{Contents, Thread};
use hprof_analysis::heap::thread_names;
use hprof_analysis::input::Input;
use hprof_format::ids::TraceSerial;
use serde_json::{Value, json};

use crate::open::{self, FileArgument, Opened};
use crate::render::screen::{Style, bytes, plural, print, print_json, printable};
use crate::snapshot::{self, Look};

/// Show the threads of a heap dump or profile, with their stacks.
///
/// Heap dumps of VMs keep thread names in objects; these are looked up in files, not in pipes or
/// compressed files. In profiles the stack is that of the thread's start, if there is one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Threads {
    #[command(flatten)]
    file: FileArgument,

    /// Only threads whose name or stack contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Only a line per thread.
    #[arg(long)]
    names: bool,

    /// Show what each thread keeps alive, and the objects that its stack holds, frame by frame.
    /// Takes longer, as it needs the graph of the heap.
    #[arg(long, conflicts_with_all = ["filter"])]
    retained: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs threads heap.hprof
  hprof-rs threads --filter http-worker heap.hprof
  hprof-rs threads --names java.hprof.txt
  hprof-rs threads --retained heap.hprof";

/// A thread as it is shown.
struct Row<'a> {
    thread: &'a Thread,
    name: Option<String>,
    stack: Vec<String>,
}

impl Threads {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        if self.retained {
            return self.show_retained();
        }
        let opened = self.file.open(true, 0)?;
        open::warn_of_damage(&opened);
        let mut rows = rows(&self, &opened)?;
        if let Some(filter) = &self.filter {
            rows.retain(|row| {
                row.name.as_ref().is_some_and(|name| name.contains(filter))
                    || row.stack.iter().any(|frame| frame.contains(filter))
            });
        }
        if self.json {
            let rows: Vec<Value> = rows.iter().map(as_json).collect();
            return print_json(&json!({"file": opened.name, "threads": rows}));
        }
        let style = Style::of_stdout();
        let mut text = String::new();
        for row in &rows {
            let name = match &row.name {
                Some(name) => format!("\"{}\"", printable(name)),
                None => "<name unknown>".to_owned(),
            };
            text.push_str(&style.bold(&name));
            text.push_str(&format!("  thread {}", row.thread.serial));
            if let Some(group) = row.thread.group.as_ref().filter(|group| !group.is_empty()) {
                text.push_str(&format!(", group {}", printable(group)));
            }
            if row.thread.has_ended {
                text.push_str(", ended");
            }
            text.push('\n');
            if !self.names {
                for frame in &row.stack {
                    text.push_str(&format!("    at {frame}\n"));
                }
                text.push('\n');
            }
        }
        text.push_str(&plural(rows.len() as u64, "thread", "threads"));
        text.push('\n');
        print(&text)
    }
}

impl Threads {
    /// Threads with what they keep alive, those that keep most first.
    fn show_retained(&self) -> anyhow::Result<ExitCode> {
        let snapshot = snapshot::open(&self.file.file, &Look::default())?;
        let threads = snapshot.threads();
        if self.json {
            return print_json(&json!({"file": snapshot.name, "threads": threads}));
        }
        let style = Style::of_stdout();
        let mut text = String::new();
        for thread in &threads {
            let name = thread.name.as_deref().unwrap_or("<name unknown>");
            text.push_str(&style.bold(&format!("\"{}\"", printable(name))));
            text.push_str(&format!("  keeps {}\n", bytes(thread.retained_bytes)));
            if self.names {
                continue;
            }
            let held = |frame: Option<u32>| {
                let locals = thread
                    .locals
                    .iter()
                    .filter(move |local| local.frame == frame);
                locals.map(|local| {
                    format!(
                        "      holds {}, which keeps {}\n",
                        printable(&snapshot.describe(local.object)),
                        bytes(snapshot.retained(local.object))
                    )
                })
            };
            for (frame, method) in (0u32..).zip(&thread.stack) {
                text.push_str(&format!("    at {}\n", printable(method)));
                text.extend(held(Some(frame)));
            }
            text.extend(held(None));
            text.push('\n');
        }
        text.push_str(&plural(threads.len() as u64, "thread", "threads"));
        text.push('\n');
        print(&text)
    }
}

fn rows<'a>(command: &Threads, opened: &'a Opened) -> anyhow::Result<Vec<Row<'a>>> {
    let contents = &opened.contents;
    let is_nameless = contents.threads.iter().any(|thread| thread.name.is_none());
    let mut names = Default::default();
    if is_nameless && opened.file_bytes.is_some() {
        let input = Input::open(&command.file.file)?;
        if let (Some(file), Some(dump)) = (input.mapped(), contents.dumps.last()) {
            names = thread_names(file, contents, dump);
        }
    }
    let rows = contents.threads.iter().map(|thread| Row {
        thread,
        name: thread
            .name
            .clone()
            .or_else(|| names.get(&thread.object).cloned()),
        stack: stack(contents, thread),
    });
    Ok(rows.collect())
}

/// The thread's stack. Dumps of the Serviceability Agent name a dummy trace in the thread's root,
/// so a trace that names the thread goes before that.
fn stack(contents: &Contents, thread: &Thread) -> Vec<String> {
    let own = |serial: TraceSerial| {
        let trace = contents.stacks.trace(serial)?;
        (!trace.frames.is_empty()).then_some(&trace.frames)
    };
    let by_thread = || {
        let is_dump = !contents.dumps.is_empty() && contents.settings.is_none();
        let mut traces = contents.stacks.traces().into_iter().filter(|_| is_dump);
        let found = traces.find(|(_, trace)| trace.thread == Some(thread.serial));
        found.map(|(_, trace)| &trace.frames)
    };
    let frames = thread.trace.and_then(own).or_else(by_thread);
    let frames = frames.into_iter().flatten().map(|&frame| {
        let frame = contents.stacks.frame(frame);
        format!("{} ({})", frame.name(), frame.place())
    });
    frames.collect()
}

fn as_json(row: &Row<'_>) -> Value {
    json!({
        "serial": row.thread.serial.get(),
        "object": format!("{:#x}", row.thread.object),
        "name": row.name,
        "group": row.thread.group,
        "has_ended": row.thread.has_ended,
        "stack": row.stack,
    })
}

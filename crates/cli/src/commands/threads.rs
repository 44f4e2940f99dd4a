//! `hprof-rs threads`: threads, what they do, their stacks and what those hold.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use hprof_analysis::contents::{Contents, Thread};
use hprof_analysis::heap::{HeapFile, Local, ThreadFacts, locals, thread_facts};
use hprof_analysis::locks::{Locks, locks_of_file};
use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::out_of_memory::{OutOfMemory, out_of_memory};
use hprof_analysis::snapshot::Snapshot;
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use serde_json::{Value, json};

use crate::observations::about_threads;
use crate::open::{self, FileArgument};
use crate::render::screen::{Style, bytes, count, plural, print, print_json, printable};
use crate::snapshot::{self, OpenArguments};

/// Show the threads of a heap dump or profile: names, states, stacks, and the objects that the
/// stacks refer to.
///
/// In heap dumps, names and states come from the thread objects. Deadlocks, owners of locks and the thread that ran
/// out of memory come first. In profiles, the stack is that of
/// the thread's start, if the profile has it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Threads {
    #[command(flatten)]
    file: FileArgument,

    /// Show only threads whose name, state or stack contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Show one line per thread.
    #[arg(long)]
    names: bool,

    /// Also show the objects that each frame refers to.
    #[arg(long)]
    locals: bool,

    /// Show how much each thread retains, and the objects that its stack holds, by frame. This
    /// needs the graph of the heap and takes longer.
    #[arg(long, conflicts_with_all = ["filter", "locals", "top"])]
    retained: bool,

    /// The number of threads, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    top: usize,

    /// Print JSON, with the objects that each frame refers to.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs threads heap.hprof
  hprof-rs threads --names heap.hprof                    one line each, and the number of threads by state
  hprof-rs threads --filter BLOCKED heap.hprof
  hprof-rs threads --locals --filter http-worker heap.hprof
  hprof-rs threads --names java.hprof.txt
  hprof-rs threads --retained heap.hprof
  hprof-rs threads 4242                                  of a JVM's heap dump; `stacks 4242` needs none";

/// A thread as it is shown.
struct Row {
    thread: Thread,
    facts: ThreadFacts,
    stack: Vec<String>,
    locals: Vec<Local>,
}

impl Threads {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        if self.retained {
            return self.show_retained();
        }
        // With an index there is no need to read the file. Locals are looked up in it.
        if !self.locals
            && !self.json
            && let Some(snapshot) = self.indexed()
        {
            let mut rows = rows_of_index(&snapshot);
            let about = About {
                error: snapshot.out_of_memory(),
                locks: snapshot.locks(),
            };
            return self.show(&snapshot.name, &mut rows, &about);
        }
        let (opened, input) = self.file.open_mapped()?;
        open::warn_of_damage(&opened);
        let last = opened.contents.dumps.len().checked_sub(1);
        let heap = last.zip(input.mapped());
        let heap = heap.and_then(|(dump, file)| HeapFile::new(file, &opened.contents, dump));
        let mut facts = Facts::default();
        let mut locks = Locks::default();
        if let Some(heap) = &heap {
            let spinner = open::spinner(&opened, "reading threads");
            facts.threads = thread_facts(heap).into_iter().collect();
            locks = locks_of_file(heap, &facts.threads);
            if self.locals || self.json {
                facts.locals = locals(heap).into_iter().collect();
            }
            spinner.finish_and_clear();
        }
        let mut rows = rows_of(&opened.contents, &mut facts);
        let about = About {
            error: named(out_of_memory(&opened.contents), &rows),
            locks,
        };
        self.show(&opened.name, &mut rows, &about)
    }

    /// The dump from its index, if that says all that reading the file would.
    fn indexed(&self) -> Option<Snapshot> {
        let snapshot = snapshot::open_indexed(&self.file.plain.file, &self.file.mapping)?;
        let is_only_one = snapshot.contents().dumps.len() == 1;
        is_only_one.then_some(snapshot)
    }

    fn show(&self, name: &str, rows: &mut Vec<Row>, about: &About) -> anyhow::Result<ExitCode> {
        if let Some(filter) = &self.filter {
            let has = |text: &str| text.contains(filter.as_str());
            rows.retain(|row| {
                row.facts.name.as_deref().is_some_and(has)
                    || row.facts.state.is_some_and(has)
                    || row.stack.iter().any(|frame| has(frame))
            });
        }
        let all = rows.len();
        if self.top > 0 {
            rows.truncate(self.top);
        }
        if self.json {
            let left_out = all - rows.len();
            let rows: Vec<Value> = rows.iter().map(as_json).collect();
            return print_json(&json!({
                "file": name, "rows_left_out": left_out, "threads": rows,
                "out_of_memory": about.error, "locks": about.locks,
            }));
        }
        let style = Style::of_stdout();
        let mut text = head(&about_threads(about.error.as_ref(), &about.locks), style);
        for row in rows.iter() {
            text.push_str(&title(row, style));
            if !self.names {
                text.push_str(&stack_text(row, self.locals, style));
                text.push('\n');
            }
        }
        if all > rows.len() {
            let more = count((all - rows.len()) as u64);
            let note = style.dim(&format!("... {more} more (--top 0 for all)"));
            text.push_str(&format!("{note}\n"));
        }
        text.push_str(&sum(rows));
        print(&text)
    }
}

impl Threads {
    /// Threads with what they keep alive, those that keep most first.
    fn show_retained(&self) -> anyhow::Result<ExitCode> {
        let snapshot = snapshot::open(
            &self.file.plain.file,
            &OpenArguments {
                memory: self.file.plain.memory,
                mapping: self.file.mapping.clone(),
                ..OpenArguments::default()
            },
        )?;
        let threads = snapshot.threads();
        let error = snapshot.out_of_memory();
        let locks = snapshot.locks();
        if self.json {
            return print_json(&json!({
                "file": snapshot.name, "threads": threads,
                "out_of_memory": error, "locks": locks,
            }));
        }
        let style = Style::of_stdout();
        let mut text = head(&about_threads(error.as_ref(), &locks), style);
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

/// Facts about threads together.
struct About {
    error: Option<OutOfMemory>,
    locks: Locks,
}

/// The thread that ran out of memory with the name that its object has.
fn named(error: Option<OutOfMemory>, rows: &[Row]) -> Option<OutOfMemory> {
    let mut error = error?;
    let row = rows
        .iter()
        .find(|row| row.thread.serial.get() == error.serial);
    error.thread = row.and_then(|row| row.facts.name.clone());
    Some(error)
}

/// Lines before the list of threads, with an empty one after them.
fn head(lines: &[String], style: Style) -> String {
    let mut text = String::new();
    for line in lines {
        let line = printable(line);
        text.push_str(&match line.starts_with(' ') {
            true => line,
            false => style.warn(&line),
        });
        text.push('\n');
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    text
}

/// Facts of threads from the objects of a dump.
#[derive(Default)]
struct Facts {
    threads: BTreeMap<ObjectId, ThreadFacts>,
    locals: BTreeMap<ThreadSerial, Vec<Local>>,
}

fn rows_of(contents: &Contents, facts: &mut Facts) -> Vec<Row> {
    let rows = contents.threads.iter().map(|thread| {
        let found = facts.threads.remove(&thread.object).unwrap_or_default();
        Row {
            facts: with_records(found, thread),
            stack: stack(contents, thread),
            locals: facts.locals.remove(&thread.serial).unwrap_or_default(),
            thread: thread.clone(),
        }
    });
    rows.collect()
}

/// The rows without locals.
fn rows_of_index(snapshot: &Snapshot) -> Vec<Row> {
    let threads = snapshot.named_threads().into_iter();
    let row = |(thread, object): (Thread, Option<ObjectNumber>)| {
        let found = object.map(|object| snapshot.thread_facts(object));
        Row {
            facts: with_records(found.unwrap_or_default(), &thread),
            stack: stack(snapshot.contents(), &thread),
            locals: Vec::new(),
            thread,
        }
    };
    threads.map(row).collect()
}

/// Records of the thread's start go before what an object says later.
fn with_records(mut found: ThreadFacts, thread: &Thread) -> ThreadFacts {
    found.name = thread.name.clone().or(found.name);
    found.group = thread.group.clone().or(found.group);
    found
}

fn title(row: &Row, style: Style) -> String {
    let facts = &row.facts;
    let name = match &facts.name {
        Some(name) if name.is_empty() => "<no name>".to_owned(),
        Some(name) => format!("\"{}\"", printable(name)),
        None => "<name unknown>".to_owned(),
    };
    let mut text = style.bold(&name);
    text.push_str(&format!("  thread {}", row.thread.serial));
    if let Some(state) = facts.state {
        text.push_str(&format!(", {}", style.state(state)));
    }
    if facts.is_virtual {
        text.push_str(", virtual");
    } else if facts.is_daemon {
        text.push_str(", daemon");
    }
    if let Some(priority) = facts.priority.filter(|&priority| priority != 5) {
        text.push_str(&format!(", priority {priority}"));
    }
    if let Some(group) = facts.group.as_ref().filter(|group| !group.is_empty()) {
        text.push_str(&format!(", group {}", printable(group)));
    }
    if row.thread.has_ended {
        text.push_str(", ended");
    }
    text.push('\n');
    text
}

fn stack_text(row: &Row, with_locals: bool, style: Style) -> String {
    let mut text = String::new();
    let mut locals = row.locals.iter().filter(|_| with_locals).peekable();
    let mut show = |text: &mut String, upto: Option<u32>| {
        while let Some(local) =
            locals.next_if(|local| upto.is_none() || local.frame.is_some_and(|f| Some(f) <= upto))
        {
            text.push_str(&format!("        {}\n", style.dim(&local_text(local))));
        }
    };
    for (frame, depth) in row.stack.iter().zip(0u32..) {
        text.push_str(&format!("    at {}\n", printable(frame)));
        show(&mut text, Some(depth));
    }
    show(&mut text, None);
    text
}

/// The characters of a string that a line has room for.
const PREVIEW: usize = 60;

fn local_text(local: &Local) -> String {
    let mut text = match local.is_native {
        true => "JNI ".to_owned(),
        false => String::new(),
    };
    text.push_str(&printable(&local.class_name));
    if let Some(length) = local.length {
        text.push_str(&format!(" of {}", count(length)));
    }
    text.push_str(&format!(" @ {:#x}", local.object));
    if let Some(content) = &local.text {
        let shown: String = printable(content).chars().take(PREVIEW).collect();
        let dots = if content.chars().count() > PREVIEW {
            "\u{2026}"
        } else {
            ""
        };
        text.push_str(&format!(" \"{shown}{dots}\""));
    }
    text
}

/// The number of threads, and of those in each state.
fn sum(rows: &[Row]) -> String {
    let mut states: BTreeMap<&str, u64> = BTreeMap::new();
    for state in rows.iter().filter_map(|row| row.facts.state) {
        *states.entry(state).or_default() += 1;
    }
    let virtual_threads = rows.iter().filter(|row| row.facts.is_virtual).count();
    if virtual_threads > 0 {
        states.insert("virtual", virtual_threads as u64);
    }
    let states: Vec<String> = states
        .iter()
        .map(|(s, n)| format!("{} {s}", count(*n)))
        .collect();
    let mut text = plural(rows.len() as u64, "thread", "threads");
    if !states.is_empty() {
        text.push_str(&format!(": {}", states.join(", ")));
    }
    text + "\n"
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
    let frames = frames.into_iter().flat_map(|all| all.iter()).map(|&frame| {
        let frame = contents.stacks.frame(frame);
        format!("{} ({})", frame.name(), frame.place())
    });
    frames.collect()
}

fn as_json(row: &Row) -> Value {
    let locals: Vec<Value> = row
        .locals
        .iter()
        .map(|local| {
            json!({
                "frame": local.frame,
                "object": format!("{:#x}", local.object),
                "class": local.class_name,
                "length": local.length,
                "text": local.text,
                "is_native": local.is_native,
            })
        })
        .collect();
    json!({
        "serial": row.thread.serial.get(),
        "object": format!("{:#x}", row.thread.object),
        "name": row.facts.name,
        "state": row.facts.state,
        "is_daemon": row.facts.is_daemon,
        "is_virtual": row.facts.is_virtual,
        "priority": row.facts.priority,
        "group": row.facts.group,
        "has_ended": row.thread.has_ended,
        "stack": row.stack,
        "locals": locals,
    })
}

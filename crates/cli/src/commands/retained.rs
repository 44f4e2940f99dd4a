//! `hprof-rs retained`: what objects keep alive.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use hprof_analysis::leaks::{ClassShare, classes_in};
use hprof_analysis::retained::{RetainedBy, RetainedRow, freed_without, retained_by};
use serde_json::json;

use crate::render::screen::{
    Align, Style, bytes, columns, count, more, percent, plural, print, print_json, printable,
};
use crate::snapshot::{self, HeapArguments, Target};

/// Show what an object, a class, or every class keeps alive.
///
/// A class keeps alive the memory that would be free without all of its objects. Memory counts once,
/// also where objects are nested, and includes what they only keep alive together. The tables by
/// class, package and loader have the same figures. `≥` marks a lower bound.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Retained {
    #[command(flatten)]
    heap: HeapArguments,

    /// The identifier of an object, or the name of a class; `*` matches any characters.
    #[arg(value_name = "OBJECT|CLASS")]
    target: Option<String>,

    /// The unit of a row.
    #[arg(long, value_enum, default_value_t = By::Class)]
    by: By,

    /// The number of rows, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Print JSON, with exact numbers.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs retained heap.hprof
  hprof-rs retained --by loader heap.hprof
  hprof-rs retained heap.hprof com.example.Session
  hprof-rs retained heap.hprof 0x7ffd00770";

/// The unit of a row.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// Classes of one name.
    Class,
    /// Packages.
    Package,
    /// Class loaders.
    Loader,
    /// Threads.
    Thread,
}

impl Retained {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let snapshot = snapshot::open(&self.heap.file, &self.heap.look)?;
        let style = Style::of_stdout();
        let live = snapshot.dominators().live_bytes();
        let top = if self.top == 0 { usize::MAX } else { self.top };
        let Some(target) = &self.target else {
            let by = match self.by {
                By::Class => RetainedBy::Class,
                By::Package => RetainedBy::Package,
                By::Loader => RetainedBy::Loader,
                By::Thread => RetainedBy::Thread,
            };
            let mut rows = retained_by(&snapshot, by)?;
            let left_out = rows.len().saturating_sub(top);
            rows.truncate(top);
            if self.json {
                return print_json(&json!({
                    "file": snapshot.name,
                    "by": by,
                    "live_bytes": live,
                    "rows": rows,
                    "rows_left_out": left_out,
                }));
            }
            let mut text = table(&rows, by, live, style);
            text.push_str(&more(left_out));
            text.push_str(&style.dim(&snapshot::model(&snapshot)));
            text.push('\n');
            return print(&text);
        };
        let (what, verb, bytes_freed, objects, mut contents) =
            match snapshot::target(&snapshot, target)? {
                Target::Object(object) => {
                    let Some(place) = snapshot.dominators().place(object) else {
                        anyhow::bail!("no root reaches {target}, so it keeps nothing alive");
                    };
                    let end = snapshot.dominators().end(place);
                    (
                        snapshot.describe(object),
                        "keeps",
                        snapshot.dominators().retained(place),
                        snapshot.dominators().span(place),
                        classes_in(&snapshot, place, end),
                    )
                }
                Target::Classes(classes) => {
                    let freed = freed_without(&snapshot, |object| {
                        classes.contains(&snapshot.graph().class_of(object))
                    })?;
                    let what = format!(
                        "{} of {}",
                        plural(freed.members, "object", "objects"),
                        target
                    );
                    let verb = if freed.members == 1 { "keeps" } else { "keep" };
                    (what, verb, freed.bytes, freed.objects, freed.contents)
                }
            };
        let left_out = contents.len().saturating_sub(top);
        contents.truncate(top);
        if self.json {
            return print_json(&json!({
                "file": snapshot.name,
                "target": what,
                "retained_bytes": bytes_freed,
                "retained_objects": objects,
                "live_bytes": live,
                "classes": contents,
                "rows_left_out": left_out,
            }));
        }
        let mut text = format!(
            "{} {verb} alive: {} in {}, {} of the live heap.\n\n",
            printable(&what),
            bytes(bytes_freed),
            plural(objects, "object", "objects"),
            percent(bytes_freed, live)
        );
        text.push_str(&class_table(&contents, bytes_freed, style));
        print(&text)
    }
}

fn table(rows: &[RetainedRow], by: RetainedBy, live: u64, style: Style) -> String {
    let name = match by {
        RetainedBy::Class | RetainedBy::Family => "class",
        RetainedBy::Package => "package",
        RetainedBy::Loader => "loader",
        RetainedBy::Thread => "thread",
    };
    let head = [
        ("share", Align::Right),
        ("retained", Align::Right),
        ("shallow", Align::Right),
        ("objects", Align::Right),
        (name, Align::Left),
    ];
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            [
                percent(row.retained_bytes, live),
                match row.is_exact {
                    true => count(row.retained_bytes),
                    false => format!("\u{2265} {}", count(row.retained_bytes)),
                },
                count(row.shallow_bytes),
                count(row.objects),
                printable(&row.name),
            ]
        })
        .collect();
    columns(style, head, &rows)
}

/// Classes with the bytes of their objects.
pub(super) fn class_table(classes: &[ClassShare], all: u64, style: Style) -> String {
    let head = [
        ("share", Align::Right),
        ("bytes", Align::Right),
        ("objects", Align::Right),
        ("class", Align::Left),
    ];
    let rows: Vec<_> = classes
        .iter()
        .map(|share| {
            [
                percent(share.bytes, all),
                count(share.bytes),
                count(share.objects),
                printable(&share.name),
            ]
        })
        .collect();
    columns(style, head, &rows)
}

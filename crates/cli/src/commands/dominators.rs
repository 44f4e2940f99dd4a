//! `hprof-rs dominators`: the tree of what keeps what alive.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::leaks::{ObjectShare, children_by_class, largest_in};
use hprof_analysis::numbers::Place;
use hprof_analysis::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::render::screen::{
    Align, Style, bytes, columns, count, headless, more, percent, print, print_json, printable,
};
use crate::snapshot::{self, HeapArguments};

/// Show which objects keep most memory alive, and what those keep alive in turn.
///
/// An object dominates another if every path from the roots to that one leads through it: without
/// the first, the second would be free. The retained size of an object is its own size and that of
/// all objects that it dominates. Without OBJECT the command shows the top of the tree.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DominatorsCommand {
    #[command(flatten)]
    heap: HeapArguments,

    /// The identifier of the object at which the tree begins [default: the roots].
    #[arg(value_name = "OBJECT")]
    object: Option<String>,

    /// The number of rows.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// The number of levels to show.
    #[arg(long, value_name = "N", default_value_t = 1)]
    depth: usize,

    /// Sum up by class.
    #[arg(long)]
    by_class: bool,

    /// Print JSON, with exact numbers.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs dominators heap.hprof
  hprof-rs dominators heap.hprof 0x7ffd00770
  hprof-rs dominators --depth 3 --top 5 heap.hprof
  hprof-rs dominators --by-class heap.hprof 0x7ffd00770";

impl DominatorsCommand {
    pub(super) fn execute(mut self) -> anyhow::Result<ExitCode> {
        if self.top == 0 {
            self.top = usize::MAX;
        }
        let snapshot = snapshot::open(&self.heap.file, &self.heap.look)?;
        let live = snapshot.dominators().live_bytes();
        let mut place = None;
        let mut heading = String::new();
        let style = Style::of_stdout();
        if let Some(text) = &self.object {
            let object = snapshot::object(&snapshot, text)?;
            place = snapshot.dominators().place(object);
            let Some(place) = place else {
                anyhow::bail!("no root reaches {text}, so nothing dominates it");
            };
            let mut above = snapshot.dominators().above(place);
            let mut line = vec![place];
            while let Some(next) = above {
                line.push(next);
                above = snapshot.dominators().above(next);
            }
            // Lists make long lines; their ends say enough.
            let shown = line.iter().rev().take(20).chain(line.iter().take(1));
            let mut seen = Vec::new();
            let mut rows = Vec::new();
            for &at in shown {
                if seen.contains(&at) {
                    continue;
                }
                seen.push(at);
                let share = ObjectShare::new(&snapshot, snapshot.dominators().object(at));
                let indent = "  ".repeat(seen.len() - 1);
                let what = printable(&share.description);
                rows.push([
                    bytes(share.retained_bytes),
                    format!("{indent}{what}  {}", style.dim(&share.id)),
                ]);
            }
            heading.push_str(&headless([Align::Right, Align::Left], rows));
            heading.push('\n');
        }
        if self.by_class {
            let mut shares = children_by_class(&snapshot, place, |_| true);
            let left_out = shares.len().saturating_sub(self.top);
            shares.truncate(self.top);
            if self.json {
                return print_json(&json!({
                    "file": snapshot.name,
                    "live_bytes": live,
                    "classes": shares,
                    "rows_left_out": left_out,
                }));
            }
            let head = [
                ("share", Align::Right),
                ("retained", Align::Right),
                ("objects", Align::Right),
                ("class", Align::Left),
            ];
            let rows: Vec<_> = (shares.iter())
                .map(|share| {
                    [
                        percent(share.bytes, live),
                        count(share.bytes),
                        count(share.objects),
                        printable(&share.name),
                    ]
                })
                .collect();
            return print(&(heading + &columns(style, head, &rows) + &more(left_out)));
        }
        if self.json {
            return print_json(&json!({
                "file": snapshot.name,
                "live_bytes": live,
                "live_objects": snapshot.dominators().len(),
                "children": tree(&snapshot, place, self.top, self.depth),
            }));
        }
        let head = [
            ("share", Align::Right),
            ("retained", Align::Right),
            ("shallow", Align::Right),
            ("object", Align::Left),
            ("", Align::Left),
        ];
        let mut rows = Vec::new();
        table(&snapshot, place, self.top, self.depth, 0, &mut rows);
        let children = snapshot
            .dominators()
            .largest_children(place, usize::MAX)
            .len();
        let left_out = children.saturating_sub(self.top);
        let mut text = heading + &columns(style, head, &rows) + &more(left_out);
        text.push_str(&style.dim(&snapshot::model(&snapshot)));
        text.push('\n');
        print(&text)
    }
}

fn table(
    snapshot: &Snapshot,
    place: Option<Place>,
    top: usize,
    depth: usize,
    level: usize,
    rows: &mut Vec<[String; 5]>,
) {
    if level == depth {
        return;
    }
    let live = snapshot.dominators().live_bytes();
    for share in largest_in(snapshot, place, top, |_| true) {
        rows.push([
            percent(share.retained_bytes, live),
            count(share.retained_bytes),
            count(share.shallow_bytes),
            share.id.clone(),
            format!("{}{}", "  ".repeat(level), printable(&share.description)),
        ]);
        let next = snapshot.dominators().place(share.object);
        if next.is_some() {
            table(snapshot, next, top, depth, level + 1, rows);
        }
    }
}

fn tree(snapshot: &Snapshot, place: Option<Place>, top: usize, depth: usize) -> Vec<Value> {
    if depth == 0 {
        return Vec::new();
    }
    let node = |share: ObjectShare| {
        let place = snapshot.dominators().place(share.object);
        let children = match place {
            Some(_) => tree(snapshot, place, top, depth - 1),
            None => Vec::new(),
        };
        json!({"object": share, "children": children})
    };
    largest_in(snapshot, place, top, |_| true)
        .into_iter()
        .map(node)
        .collect()
}

//! `hprof-rs paths`: why objects are alive.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::paths::{MergedNode, Path, PathSearch, ShortestPaths, alternatives, merged};
use serde_json::json;

use super::leaks::path;
use crate::render::screen::{
    Align, Style, count, headless, percent, plural, print, print_json, printable,
};
use crate::snapshot::{self, HeapArguments, Target};

/// Show why an object is alive: the shortest paths to it from garbage-collection roots.
///
/// For a class, the shortest paths to all its objects are merged by the classes on them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Paths {
    #[command(flatten)]
    heap: HeapArguments,

    /// The identifier of an object, such as 0x7ffd00770, or the name of a class; `*` matches any
    /// characters.
    #[arg(value_name = "OBJECT|CLASS")]
    target: String,

    /// The largest number of paths to an object, each through another referrer.
    #[arg(short = 'k', long, value_name = "K", default_value_t = 1)]
    alternatives: usize,

    /// Leave out branches with a smaller share of a class's objects, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    cutoff: f64,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs paths heap.hprof 0x7ffd00770
  hprof-rs paths -k 5 heap.hprof 0x7ffd00770
  hprof-rs paths heap.hprof com.example.Session";

impl Paths {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let snapshot = snapshot::open(&self.heap.file, &self.heap.look)?;
        let target = snapshot::target(&snapshot, &self.target)?;
        let style = Style::of_stdout();
        match target {
            Target::Object(object) => {
                let most = self.alternatives.max(1);
                let found: Vec<Path> = if most == 1 {
                    let shortest = PathSearch::new().to(&snapshot, object)?;
                    shortest
                        .iter()
                        .map(|path| Path::new(&snapshot, path))
                        .collect()
                } else {
                    let paths = ShortestPaths::new(snapshot.graph(), snapshot.store())?;
                    let found = alternatives(&snapshot, &paths, object, most);
                    found
                        .iter()
                        .map(|path| Path::new(&snapshot, path))
                        .collect()
                };
                if self.json {
                    return print_json(&json!({"file": snapshot.name, "paths": found}));
                }
                let mut text = String::new();
                if found.is_empty() {
                    text.push_str("No path from a root leads to it: it is not alive");
                    text.push_str(match snapshot.weak_referrers(object).is_empty() {
                        true => ".\n",
                        false => ", but for references that keep nothing alive.\n",
                    });
                }
                for (index, one) in found.iter().enumerate() {
                    if index > 0 {
                        text.push('\n');
                    }
                    text.push_str(&path(one, "", style));
                }
                print(&text)
            }
            Target::Classes(classes) => {
                let wanted = |object| classes.contains(&snapshot.graph().class_of(object));
                let paths = ShortestPaths::new(snapshot.graph(), snapshot.store())?;
                let nodes = merged(&snapshot, &paths, wanted);
                if self.json {
                    return print_json(&json!({"file": snapshot.name, "merged": nodes}));
                }
                let all: u64 = nodes.iter().map(|node| node.targets).sum();
                let mut rows = Vec::new();
                for node in &nodes {
                    branch(node, all, self.cutoff / 100.0, 0, &mut rows);
                }
                let aligns = [Align::Right, Align::Right, Align::Left];
                let mut text = headless(aligns, rows);
                text.push_str(&format!("{} reached.\n", plural(all, "object", "objects")));
                print(&text)
            }
        }
    }
}

fn branch(node: &MergedNode, all: u64, cutoff: f64, depth: usize, rows: &mut Vec<[String; 3]>) {
    if (node.targets as f64) < cutoff * all as f64 {
        return;
    }
    let repeated = match node.repeated {
        0 => String::new(),
        times => format!(" (and {} more of it in a row)", count(times)),
    };
    let of_them = match node.objects {
        1 => String::new(),
        objects => format!(", {} of them", count(objects)),
    };
    let name = printable(&node.name);
    rows.push([
        percent(node.targets, all),
        count(node.targets),
        format!("{}{name}{repeated}{of_them}", "  ".repeat(depth)),
    ]);
    for child in &node.children {
        branch(child, all, cutoff, depth + 1, rows);
    }
}

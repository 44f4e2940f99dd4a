//! `hprof-rs histogram`: objects by class.

use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use hprof_analysis::heap::{Group, Histogram, Totals, histogram, text_histogram};
use serde_json::json;

use super::summary::layout_line;
use crate::open::{self, DumpArgument, FileArgument};
use crate::render::screen::{
    Align, Style, bytes, columns, count, percent, plural, print, print_json,
};

/// Count the objects of a heap dump by class, package or loader.
///
/// Bytes are shallow: the size of the objects themselves in the VM's heap, with their headers, as in
/// `jcmd PID GC.class_histogram`. Class objects are not counted, since dumps do not record their
/// size.
///
/// A row of text includes all lambdas or hidden classes of one name, as in `diff`, `summary` and
/// `sites`: their numbers and addresses differ from run to run. `--by class` separates them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct HistogramCommand {
    #[command(flatten)]
    file: FileArgument,

    /// The unit of a row. By default, text shows families and JSON shows classes.
    #[arg(long, value_enum)]
    by: Option<By>,

    /// The number of rows, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Show only rows whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    #[command(flatten)]
    dump: DumpArgument,

    /// Print JSON, with exact numbers.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs histogram heap.hprof
  hprof-rs histogram 4242                    of a running JVM, which writes a dump that is not kept
  hprof-rs histogram --by package --top 10 heap.hprof.gz
  hprof-rs histogram --filter com.example. --top 0 heap.hprof
  hprof-rs histogram --json heap.hprof | jq '.rows[0]'";

/// The unit of a row.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// Classes of one name, with the numbers and addresses of lambdas and hidden classes.
    Class,
    /// Classes of one name, without those.
    Family,
    /// Packages.
    Package,
    /// Class loaders.
    Loader,
}

impl HistogramCommand {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let opened = self.file.open(true, 0)?;
        open::warn_of_damage(&opened);
        let by = self.by.unwrap_or(match self.json {
            true => By::Class,
            false => By::Family,
        });
        let group = match by {
            By::Class => Group::Class,
            By::Family => Group::Family,
            By::Package => Group::Package,
            By::Loader => Group::Loader,
        };
        let contents = &opened.contents;
        let mut histogram = match contents.text_dumps.last() {
            Some(last) if contents.dumps.is_empty() => {
                let number = self.dump.dump.map(|number| number as usize - 1);
                let dump = number.map_or(Some(last), |number| contents.text_dumps.get(number));
                text_histogram(dump.context("there is no such heap dump")?, group)
            }
            _ => {
                let dump = open::select_dump(&opened, &self.dump)?;
                histogram(contents, dump, group)
            }
        };
        if let Some(filter) = &self.filter {
            histogram.rows.retain(|row| row.name.contains(filter));
        }
        let matching = histogram.rows.len();
        let rest = match self.top {
            0 => Vec::new(),
            top => histogram.rows.split_off(top.min(matching)),
        };
        if self.json {
            return print_json(&json!({
                "file": opened.name,
                "histogram": histogram,
                "rows_left_out": rest.len(),
            }));
        }
        let mut others = Totals::default();
        for row in &rest {
            others.objects += row.objects;
            others.shallow_bytes += row.shallow_bytes;
        }
        print(&as_text(
            &histogram,
            rest.len(),
            &others,
            Style::of_stdout(),
        ))
    }
}

fn as_text(histogram: &Histogram, rest: usize, others: &Totals, style: Style) -> String {
    let total = histogram.total;
    let line = |bytes: u64, objects: u64, name: String| {
        [
            percent(bytes, total.shallow_bytes),
            count(bytes),
            count(objects),
            name,
        ]
    };
    let mut rows: Vec<_> = histogram
        .rows
        .iter()
        .map(|row| line(row.shallow_bytes, row.objects, row.name.clone()))
        .collect();
    if rest > 0 {
        let name = format!("... {} more (--top 0 for all)", count(rest as u64));
        rows.push(line(others.shallow_bytes, others.objects, name));
    }
    let name = match histogram.group {
        Group::Class | Group::Family => "class",
        Group::Package => "package",
        Group::Loader => "loader",
    };
    let head = [
        ("share", Align::Right),
        ("bytes", Align::Right),
        ("objects", Align::Right),
        (name, Align::Left),
    ];
    let mut text = columns(style, head, &rows);
    let objects = plural(total.objects, "object", "objects");
    text.push_str(&format!(
        "Total: {objects}, {}\n",
        bytes(total.shallow_bytes)
    ));
    text.push_str(&style.dim(&layout_line(histogram)));
    text.push('\n');
    if histogram.without_class > 0 {
        let objects = plural(histogram.without_class, "object", "objects");
        let note = format!("{objects} of classes that are not in the dump: sizes are estimates.");
        text.push_str(&format!("{}\n", style.warn(&note)));
    }
    text
}

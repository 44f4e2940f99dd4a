//! `hprof-rs strings`: strings by content.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use hprof_analysis::heap::{HeapFile, StringGroup, StringReport, strings};
use serde_json::json;

use crate::open::{self, DumpArgument, FileArgument};
use crate::render::screen::{
    Align, Style, bytes, count, cut, percent, plural, print, print_json, printable, whole_columns,
};
use crate::render::table::width;

/// Show the strings of a heap dump by content, with their number and the memory that duplicates
/// waste.
///
/// Equal texts are one row, in any encoding. Waste is the size of all strings of a text and their
/// arrays but one; sharing them (`String.intern`, a map of known values, -XX:+UseStringDeduplication
/// for the arrays) would save it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Strings {
    #[command(flatten)]
    file: FileArgument,

    /// The order of the rows.
    #[arg(long, value_enum, default_value_t = Sort::Waste)]
    sort: Sort,

    /// The number of rows, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Show only strings that contain this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Show only texts that occur at least N times.
    #[arg(long, value_name = "N", default_value_t = 1)]
    least: u64,

    #[command(flatten)]
    dump: DumpArgument,

    /// Exit with status 1 if duplicates waste more than this.
    #[arg(long, value_name = "BYTES")]
    fail_above: Option<u64>,

    /// Print JSON, with more of each text.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs strings heap.hprof
  hprof-rs strings --sort length --top 5 heap.hprof      the longest
  hprof-rs strings --filter password --sort count heap.hprof.gz
  hprof-rs strings --fail-above 10000000 heap.hprof      for scripts: status 1 above 10 MB of waste";

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// The memory that duplicates waste.
    Waste,
    /// The number of strings.
    Count,
    /// The length of the text.
    Length,
}

/// The characters of a text in JSON.
const LONG_PREVIEW: usize = 1000;
/// The length of previews on a screen, more than a line holds.
const PREVIEW: usize = 400;

impl Strings {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let (opened, input) = self.file.open_mapped()?;
        open::warn_of_damage(&opened);
        let number = open::select_dump_number(&opened, &self.dump)?;
        let heap = input
            .mapped()
            .and_then(|file| HeapFile::new(file, &opened.contents, number));
        let Some(heap) = heap else {
            anyhow::bail!(
                "{} holds no binary heap dump: {}",
                opened.name,
                open::shown_by(&opened.contents)
            );
        };
        let spinner = open::spinner(&opened, "reading strings");
        let preview = if self.json { LONG_PREVIEW } else { PREVIEW };
        let mut report = strings(&heap, preview, self.filter.as_deref());
        spinner.finish_and_clear();
        report.groups.retain(|group| group.strings >= self.least);
        match self.sort {
            Sort::Waste => {}
            Sort::Count => report.groups.sort_by_key(|g| std::cmp::Reverse(g.strings)),
            Sort::Length => report.groups.sort_by_key(|g| std::cmp::Reverse(g.length)),
        }
        let all = report.groups.len();
        if self.top > 0 {
            report.groups.truncate(self.top);
        }
        let rest = all - report.groups.len();
        if self.json {
            print_json(&json!({"file": opened.name, "rows_left_out": rest, "strings": report}))?;
        } else {
            print(&as_text(&report, rest, Style::of_stdout()))?;
        }
        let is_too_much = self.fail_above.is_some_and(|limit| report.waste > limit);
        Ok(ExitCode::from(u8::from(is_too_much)))
    }
}

fn as_text(report: &StringReport, rest: usize, style: Style) -> String {
    let strings = plural(report.strings, "string", "strings");
    let mut text = format!(
        "{}: {} in {} arrays, {} different texts\n",
        style.bold(&strings),
        bytes(report.bytes),
        count(report.arrays),
        count(report.contents),
    );
    text.push_str(&format!(
        "{} ({}) wasted on duplicates\n",
        style.bold(&bytes(report.waste)),
        percent(report.waste, report.bytes)
    ));
    text.push_str(&format!(
        "{} Latin-1, {} UTF-16",
        count(report.latin1),
        count(report.utf16)
    ));
    if report.could_be_latin1 > 0 {
        let number = count(report.could_be_latin1);
        text.push_str(&format!(", of which {number} would fit Latin-1"));
    }
    if report.without_value > 0 {
        text.push_str(&format!(
            ", {} without a value",
            count(report.without_value)
        ));
    }
    if report.blank > 0 {
        text.push_str(&format!(
            "\n{} not compared: their contents were stripped from this dump",
            plural(report.blank, "blank string was", "blank strings were")
        ));
    }
    text.push_str("\n\n");
    let rows: Vec<[String; 5]> = report.groups.iter().map(row).collect();
    let head = [
        ("waste", Align::Right),
        ("strings", Align::Right),
        ("arrays", Align::Right),
        ("length", Align::Right),
        ("text", Align::Left),
    ];
    for line in whole_columns(style, head, &rows).lines() {
        text.push_str(&cut(line, usize::from(width())));
        text.push('\n');
    }
    if rest > 0 {
        let note = format!("... {} more (--top 0 for all)", count(rest as u64));
        text.push_str(&format!("{}\n", style.dim(&note)));
    }
    text
}

fn row(group: &StringGroup) -> [String; 5] {
    [
        count(group.waste),
        count(group.strings),
        count(group.arrays),
        count(group.length),
        format!("\"{}\"", printable(&group.text)),
    ]
}

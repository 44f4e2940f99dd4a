//! `hprof-rs android`: leaks of Android programs.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::android::{
    AndroidFacts, BitmapRow, Status, Trace, android_facts, bitmaps, traces,
};
use hprof_analysis::snapshot::Snapshot;
use serde_json::json;

use crate::left_out::kept_alive;
use crate::render::out::tell;
use crate::render::screen::{Style, bytes, count, plural, print, print_json, printable};
use crate::render::table;
use crate::snapshot::{self, HeapArguments};

/// Show why destroyed activities, fragments, views, view models and services are still alive; also
/// heaps, bitmaps, device and program.
///
/// Each step of a path is marked as expected, leaking or unknown. The references marked with `~` may
/// be the cause. Leaks with the same signature have the same cause. Leaks of Android itself are
/// listed separately.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hprof-rs android --mapping mapping.txt heap.hprof")]
pub struct Android {
    #[command(flatten)]
    heap: HeapArguments,

    /// The number of bitmaps to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Android {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let snapshot = snapshot::open(&self.heap.file, &self.heap.look)?;
        let traces = traces(&snapshot)?;
        let mut images = bitmaps(&snapshot);
        let heaps = heaps(&snapshot);
        let facts = android_facts(&snapshot);
        if self.json {
            return print_json(&json!({
                "file": snapshot.name,
                "notes": snapshot::notes(&snapshot),
                "is_partial": snapshot::is_partial(&snapshot),
                "android": facts,
                "leaks": traces,
                "heaps": heaps.iter().map(|(name, objects)| json!({
                    "name": name, "objects": objects,
                })).collect::<Vec<_>>(),
                "bitmaps": images,
            }));
        }
        if !snapshot.contents().is_android() {
            tell!(
                "hprof-rs: {} is no dump of Android, by what it holds",
                snapshot.name
            );
        }
        let style = Style::of_stdout();
        let (own, library): (Vec<&Trace>, Vec<&Trace>) = traces
            .iter()
            .partition(|trace| trace.library_leak.is_none());
        let found = format!(
            "{} of the program, {} of Android itself",
            plural(own.len() as u64, "leak", "leaks"),
            count(library.len() as u64)
        );
        let found = match (snapshot::is_partial(&snapshot), traces.is_empty()) {
            (false, _) => style.bold(&found),
            (true, false) => style.bold(&format!("At least {found}: a part could not be seen")),
            (true, true) => style.warn(
                "Not known whether there are leaks: none is in what could be seen of the dump",
            ),
        };
        let mut text = fact_lines(&facts);
        text.push('\n');
        text.push_str(&found);
        text.push_str("\n\n");
        for trace in own.into_iter().chain(library) {
            text.push_str(&as_text(trace, style));
        }
        let names: Vec<String> = (heaps.iter())
            .map(|(name, objects)| format!("{name} {}", count(*objects)))
            .collect();
        let is_told = snapshot.contents().format.is_android() || names.len() > 1;
        let heaps = match is_told {
            true => names.join(", "),
            false => "not known, as the file does not tell (hprof-conv drops it)".to_owned(),
        };
        text.push_str(&format!("Objects by heap: {heaps}\n"));
        text.push_str(&bitmap_lines(&mut images, self.top));
        print(&text)
    }
}

/// Device and program, as far as the dump records them.
pub(super) fn fact_lines(facts: &AndroidFacts) -> String {
    let lines = facts.lines().into_iter();
    table::facts(lines.map(|(name, value)| (name.to_owned(), printable(&value))))
}

/// Objects by heap.
fn heaps(snapshot: &Snapshot) -> Vec<(String, u64)> {
    let mut sums = std::collections::BTreeMap::new();
    for block in snapshot.graph().blocks() {
        *sums.entry(block.heap).or_insert(0) += block.objects;
    }
    let names = snapshot.graph().heaps();
    let name = |heap: u64| {
        let found = names.iter().find(|known| u64::from(known.0) == heap);
        found.map_or_else(|| "default".to_owned(), |known| known.1.clone())
    };
    let sums = sums.into_iter().filter(|(_, objects)| *objects > 0);
    sums.map(|(heap, objects)| (name(heap), objects)).collect()
}

pub(super) fn as_text(trace: &Trace, style: Style) -> String {
    let last = trace
        .path
        .end()
        .map_or("", |step| step.description.as_str());
    let mut text = style.bold(&format!(
        "{} of {}, {}",
        plural(trace.count, "leak", "leaks"),
        printable(last),
        kept_alive(trace)
    ));
    text.push_str(&format!("\nSignature {}", trace.signature));
    if let Some(leak) = trace.library_leak {
        text.push_str(&format!(", a leak of Android: {leak}"));
    }
    text.push_str(&format!("\n  {}\n", printable(&trace.path.root)));
    for (index, (step, mark)) in trace.path.steps.iter().zip(&trace.marks).enumerate() {
        if step.more > 0 {
            text.push_str(&format!("  \u{2502}  ... {} more\n", count(step.more)));
        }
        if let Some(edge) = &step.edge {
            let edge = printable(edge.to_string().trim_start());
            text.push_str(&format!("  \u{2502}  {edge}\n"));
            if trace.suspects.contains(&index) {
                text.push_str(&format!(
                    "  \u{2502}  {}\n",
                    "~".repeat(edge.chars().count())
                ));
            }
        }
        let status = match mark.status {
            Status::Leaking => "leaking",
            Status::NotLeaking => "not leaking",
            Status::Unknown => "unknown",
        };
        let reason = match mark.reason.as_str() {
            "" => String::new(),
            reason => format!(" ({})", printable(reason)),
        };
        text.push_str(&format!(
            "  \u{251c} {}\n  \u{2502}    {status}{reason}\n",
            printable(&step.description)
        ));
        for label in &mark.labels {
            text.push_str(&format!("  \u{2502}    {}\n", printable(label)));
        }
    }
    text.push('\n');
    text
}

fn bitmap_lines(images: &mut Vec<BitmapRow>, top: usize) -> String {
    let all: u64 = images.iter().map(|row| row.bytes * row.buffers).sum();
    let number: u64 = images.iter().map(|row| row.count).sum();
    let wasted: u64 = (images.iter())
        .map(|row| row.bytes * (row.buffers - 1))
        .sum();
    let estimated: u64 = (images.iter())
        .filter(|row| row.is_estimate)
        .map(|row| row.bytes)
        .sum();
    let mut text = format!(
        "{} of {}, {} of it in equal ones\n",
        plural(number, "bitmap", "bitmaps"),
        bytes(all),
        bytes(wasted)
    );
    if estimated > 0 {
        text.push_str(&format!(
            "  {} of it is an estimate by width and height: the file lacks these pixels\n",
            bytes(estimated)
        ));
    }
    images.truncate(top);
    for row in images {
        let times = match (row.count, row.buffers) {
            (1, _) => String::new(),
            (times, 1) => format!(", {times} times with one buffer"),
            (times, buffers) if times == buffers => format!(", {times} times"),
            (times, buffers) => format!(", {times} times with {buffers} buffers"),
        };
        let about = if row.is_estimate { "about " } else { "" };
        text.push_str(&format!(
            "  {} x {}, {about}{}{times}\n",
            row.width,
            row.height,
            bytes(row.bytes)
        ));
    }
    text
}

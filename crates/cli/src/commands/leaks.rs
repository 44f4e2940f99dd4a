//! `hprof-rs leaks`: what keeps an unexpected part of the heap alive.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::android::traces;
use hprof_analysis::leaks::{ClassShare, LeakOptions, leaks};
use hprof_analysis::observations::observations;
use hprof_analysis::paths::{Line, Path};
use serde_json::json;

use crate::observations::{Said, said};
use crate::render::screen::{
    Align, Style, bytes, count, headless, percent, plural, print, print_json, printable,
};
use crate::snapshot::{self, HeapArguments};
use crate::suspects::{Explained, ExplainedSuspect, nothing};

/// Find leak suspects: what keeps an unexpected part of the heap alive.
///
/// A suspect is an object that alone keeps at least a tenth of the live heap alive, or a class whose
/// objects do so together. The path is the shortest from a garbage-collection root to the place where
/// memory accumulates. The size after `keeps` would be free without that object.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LeaksCommand {
    #[command(flatten)]
    heap: HeapArguments,

    /// The smallest share of the live heap that makes a suspect, in percent.
    /// Without this option it is 10, what keeps less than 1 MiB is one only if that is half of the live heap, and what
    /// keeps less than 512 KiB is none.
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,

    /// The largest number of suspects.
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,

    /// Print JSON, with exact numbers.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs leaks heap.hprof
  hprof-rs leaks --threshold 2 --top 20 heap.hprof
  hprof-rs leaks --json heap.hprof | jq '.leaks.suspects[0].headline'";

impl LeaksCommand {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(
            (self.threshold).is_none_or(|percent| percent > 0.0 && percent <= 100.0),
            "--threshold is a share in percent, above 0 and up to 100"
        );
        let snapshot = snapshot::open(&self.heap.file, &self.heap.look)?;
        let usual = LeakOptions::default();
        let options = LeakOptions {
            threshold: (self.threshold).map_or(usual.threshold, |percent| percent / 100.0),
            most: self.top,
            least: self.threshold.map_or(usual.least, |_| 0),
            small: self.threshold.map_or(usual.small, |_| 0),
        };
        let leaks = Explained::new(leaks(&snapshot, options)?);
        // On Android an object whose life is over says more than one that is large.
        let dead = match snapshot.graph().is_android() {
            true => traces(&snapshot)?,
            false => Vec::new(),
        };
        let observations = said(observations(&snapshot));
        if self.json {
            return print_json(&json!({
                "file": snapshot.name,
                "notes": snapshot::notes(&snapshot),
                "is_partial": snapshot::is_partial(&snapshot),
                "observations": observations,
                "leaks": leaks,
                "dead_objects": dead,
            }));
        }
        let style = Style::of_stdout();
        let mut text = String::new();
        if !dead.is_empty() {
            text.push_str(
                &style.bold("Objects that should be gone (`hprof-rs android` says more)"),
            );
            text.push_str("\n\n");
            for trace in &dead {
                text.push_str(&super::android::as_text(trace, style));
            }
            text.push_str(&style.bold("What keeps most of the heap alive"));
            text.push_str("\n\n");
        }
        if snapshot::is_partial(&snapshot) {
            let line = "A part of the dump could not be seen: this holds for the rest only.";
            text.push_str(&format!("{}\n\n", style.warn(line)));
        }
        for said in &observations {
            text.push_str(&observation(said, style));
        }
        text.push_str(&as_text(&leaks, style));
        text.push_str(&Style::of_stdout().dim(&snapshot::model(&snapshot)));
        text.push('\n');
        print(&text)
    }
}

fn observation(said: &Said, style: Style) -> String {
    let mut text = style.bold(&printable(&said.headline));
    text.push('\n');
    for sentence in &said.sentences {
        text.push_str(&format!("   {}\n", printable(sentence)));
    }
    text.push('\n');
    text
}

fn as_text(leaks: &Explained, style: Style) -> String {
    let mut text = String::new();
    if leaks.suspects.is_empty() {
        text.push_str(&format!("{}\n\n", nothing(leaks.threshold)));
    }
    for (index, suspect) in leaks.suspects.iter().chain(&leaks.largest).enumerate() {
        text.push_str(&one(index + 1, suspect, style));
    }
    if leaks.suspects.is_empty() {
        return text;
    }
    text.push_str(&format!(
        "All else: {} of {} live.\n",
        bytes(leaks.other_bytes),
        bytes(leaks.live_bytes)
    ));
    text
}

fn one(number: usize, explained: &ExplainedSuspect, style: Style) -> String {
    let suspect = &explained.suspect;
    let mut text = style.bold(&format!("{number}. {}", printable(&explained.headline)));
    text.push('\n');
    for sentence in &explained.sentences {
        text.push_str(&format!("   {}\n", printable(sentence)));
    }
    text.push_str("\n   Kept alive by\n");
    text.push_str(&path(&suspect.path, "     ", style));
    if !suspect.children.is_empty() {
        text.push_str("\n   Which keeps alive directly\n");
        let row = |share: &ClassShare| {
            let objects = plural(share.objects, "object", "objects");
            [
                format!("     {}", bytes(share.bytes)),
                percent(share.bytes, suspect.retained_bytes),
                printable(&format!("{objects} of {}", share.name)),
            ]
        };
        let aligns = [Align::Right, Align::Right, Align::Left];
        let rows = suspect.children.iter().take(3).map(row).collect();
        text.push_str(&headless(aligns, rows));
    }
    for site in suspect.sites.iter().take(1) {
        let of = format!("{} of {}", count(site.objects), count(site.of));
        text.push_str(&format!("\n   Allocated at ({of} looked at)\n"));
        for frame in &site.stack {
            text.push_str(&format!("     at {frame}\n"));
        }
    }
    text.push('\n');
    text
}

/// A path, a line for each object; the middle of long ones is left out.
pub(super) fn path(path: &Path, indent: &str, style: Style) -> String {
    const ENDS: usize = 12;
    let mut text = format!("{indent}{}\n", style.dim(&printable(&path.root)));
    for line in path.lines(ENDS) {
        let step = match line {
            Line::Step(step) => step,
            Line::More(left_out) => {
                text.push_str(&format!("{indent}... {} more\n", count(left_out)));
                continue;
            }
        };
        let edge = step.edge.as_ref().map_or(String::new(), |edge| {
            format!("{} \u{2192} ", printable(edge.to_string().trim_start()))
        });
        text.push_str(&format!(
            "{indent}{edge}{}  {}\n",
            printable(&step.description),
            style.dim(&format!("{} keeps {}", step.id, bytes(step.retained_bytes))),
        ));
    }
    text
}

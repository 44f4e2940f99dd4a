//! `hprof-rs diff`: what has changed between two files.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use hprof_analysis::diff::{self, Change};
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::stacks::{Measure, Weights, by_method};
use serde_json::{Value, json};

use crate::open::{self, Opened};
use crate::render::screen::{Align, Style, columns, count, plural, print, print_json, signed};

/// Show what has changed from one heap dump or profile to another.
///
/// Of two heap dumps, the room that the objects of each class take; of two profiles, the self cost
/// of each method. Lambdas and hidden classes of one class count as one, since their names differ
/// from run to run.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// The first file.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// The second file.
    #[arg(value_name = "AFTER")]
    after: PathBuf,

    /// What is compared of profiles: samples, time, calls, allocated-bytes, allocated-objects,
    /// live-bytes, live-objects or contention [default: the first of these that both have].
    #[arg(long, value_name = "MEASURE")]
    measure: Option<Measure>,

    /// The number of rows, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Only rows whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// End with status 1 if the total of the rows has grown by more than this (bytes, samples).
    #[arg(long, value_name = "AMOUNT")]
    fail_above: Option<u64>,

    /// Fail at the first damaged place, instead of reading on behind it.
    #[arg(long)]
    strict: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Exit status:
  0  done
  1  the total has grown by more than --fail-above
  2  the files cannot be compared

Examples:
  hprof-rs diff monday.hprof friday.hprof
  hprof-rs diff --filter com.example. --fail-above 1000000 before.hprof after.hprof
  hprof-rs diff --measure allocated-bytes old.txt new.txt";

/// Two tables, compared.
struct Comparison {
    unit: &'static str,
    row: &'static str,
    has_objects: bool,
    changes: Vec<Change>,
}

impl Diff {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        match self.compare() {
            Ok(comparison) => self.show(comparison),
            Err(error) => {
                eprintln!("hprof-rs: {error:#}");
                Ok(ExitCode::from(2))
            }
        }
    }

    fn compare(&self) -> anyhow::Result<Comparison> {
        let before = open::open(&self.before, true, 0, self.strict)?;
        open::warn_of_damage(&before);
        let after = open::open(&self.after, true, 0, self.strict)?;
        open::warn_of_damage(&after);
        let dumps = (before.contents.dumps.last(), after.contents.dumps.last());
        if let ((Some(old), Some(new)), None) = (dumps, self.measure) {
            let old = histogram(&before.contents, old, Group::Family);
            let new = histogram(&after.contents, new, Group::Family);
            return Ok(Comparison {
                unit: "bytes",
                row: "class",
                has_objects: true,
                changes: diff::histograms(&old, &new),
            });
        }
        let (old, new) = self.weights(&before, &after)?;
        let costs =
            |opened: &Opened, weights: &Weights| by_method(&opened.contents.stacks, weights);
        Ok(Comparison {
            unit: old.measure.unit(),
            row: "method",
            has_objects: false,
            changes: diff::methods(&costs(&before, &old), &costs(&after, &new)),
        })
    }

    fn weights(&self, before: &Opened, after: &Opened) -> anyhow::Result<(Weights, Weights)> {
        let both = |measure| {
            let old = Weights::of(&before.contents, measure)?;
            Some((old, Weights::of(&after.contents, measure)?))
        };
        let found = match self.measure {
            Some(measure) => both(measure),
            None => Measure::ALL.into_iter().find_map(both),
        };
        match found {
            Some(found) => Ok(found),
            None => bail!(
                "{} and {} have nothing in common to compare; `hprof-rs summary` shows what they hold",
                before.name,
                after.name
            ),
        }
    }

    fn show(&self, mut comparison: Comparison) -> anyhow::Result<ExitCode> {
        if let Some(filter) = &self.filter {
            comparison
                .changes
                .retain(|change| change.name.contains(filter.as_str()));
        }
        let changes = &comparison.changes;
        let growth: i128 = changes.iter().map(Change::delta).sum();
        let limit = match self.top {
            0 => changes.len(),
            top => top.min(changes.len()),
        };
        if self.json {
            let rows: Vec<Value> = changes[..limit]
                .iter()
                .map(|change| json!(change))
                .collect();
            print_json(&json!({
                "unit": comparison.unit,
                "growth": i64::try_from(growth).unwrap_or(i64::MAX),
                "rows_left_out": changes.len() - limit,
                "rows": rows,
            }))?;
        } else {
            print(&text(&comparison, growth, limit, Style::of_stdout()))?;
        }
        let is_too_much = self
            .fail_above
            .is_some_and(|limit| growth > i128::from(limit));
        Ok(ExitCode::from(u8::from(is_too_much)))
    }
}

fn text(comparison: &Comparison, growth: i128, limit: usize, style: Style) -> String {
    let changes = &comparison.changes;
    if changes.is_empty() {
        return "No difference.\n".to_owned();
    }
    let shown = &changes[..limit];
    let mut text = if comparison.has_objects {
        let rows: Vec<[String; 5]> = shown
            .iter()
            .map(|change| {
                let objects = i128::from(change.objects_after) - i128::from(change.objects_before);
                [
                    signed(change.delta()),
                    signed(objects),
                    count(change.before),
                    count(change.after),
                    change.name.clone(),
                ]
            })
            .collect();
        let head = [
            ("bytes", Align::Right),
            ("objects", Align::Right),
            ("before", Align::Right),
            ("after", Align::Right),
            (comparison.row, Align::Left),
        ];
        columns(style, head, &rows)
    } else {
        let rows: Vec<[String; 4]> = shown
            .iter()
            .map(|change| {
                [
                    signed(change.delta()),
                    count(change.before),
                    count(change.after),
                    change.name.clone(),
                ]
            })
            .collect();
        let head = [
            (comparison.unit, Align::Right),
            ("before", Align::Right),
            ("after", Align::Right),
            (comparison.row, Align::Left),
        ];
        columns(style, head, &rows)
    };
    let left_out = changes.len() - limit;
    if left_out > 0 {
        let rows = plural(left_out as u64, "change", "changes");
        text.push_str(&style.dim(&format!("... {rows} more (--top 0 for all)\n")));
    }
    text.push_str(&format!("Total: {} {}\n", signed(growth), comparison.unit));
    text
}

//! `hprof-rs diff`: what has changed between two files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::diff::{self, Change};
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::stacks::{Measure, MethodCost, OwnCost, Weights, by_method, by_own};
use hprof_stacks::pictures::flame_graph::Drawing;
use hprof_stacks::pictures::page::Start;
use hprof_stacks::pictures::profile::{Answer, View};
use hprof_stacks::pictures::{collapsed, flame_graph, page};
use hprof_stacks::slow_spans::CallsPart;
use serde_json::{Value, json};

use super::convert::{about, base_name, write_whole};
use crate::export::heap_views;
use crate::mapping::MappingArgument;
use crate::measure::OwnArgument;
use crate::memory::MemoryArgument;
use crate::open::{self, Opened, Times};
use crate::render::foreign;
use crate::render::out::tell;
use crate::render::screen::{Align, Style, columns, count, plural, print, print_json, signed};
use crate::window::{Bound, WindowArgument};
use crate::written;

/// Show what has changed from one heap dump or profile to another.
///
/// For heap dumps it compares the bytes of each class, for profiles the self cost of each method. Lambdas and hidden classes of one class count as one, since their names differ
/// from run to run.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// The first file.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// The second file [default: another part of the first, which --before-from, one of its kind or --slow names].
    #[arg(value_name = "AFTER", required_unless_present_any = PARTS)]
    after: Option<PathBuf>,

    /// Compare samples of one file: those within calls of timed methods that are not slow with those within slow calls, of
    /// profiles with slow=com.acme.Api.handle:200ms; with a text, of methods that have it in their names.
    #[arg(long, value_name = "METHOD", num_args = 0..=1, require_equals = true, default_missing_value = "",
        conflicts_with = "after")]
    slow: Option<String>,

    #[command(flatten)]
    windows: Windows,

    /// The measure to compare in profiles: samples (or cpu), time, calls, live-bytes, live-objects,
    /// allocated-bytes (or alloc), allocated-objects, contention (or lock), native-lock, and of other tools'
    /// files wall, native-samples, waits, native-bytes [default: the first of these that both have].
    #[arg(long, visible_alias = "event", value_name = "MEASURE")]
    measure: Option<Measure>,

    /// The number of rows, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Show only rows whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Exit with status 1 if the total of the rows has grown by more than this (bytes, samples).
    #[arg(long, value_name = "AMOUNT")]
    fail_above: Option<u64>,

    /// Exit with status 1 if any single row has grown by more than this share of its old value,
    /// in percent. New rows exceed every limit, so combine it with --least.
    #[arg(long, value_name = "PERCENT")]
    fail_row_above: Option<f64>,

    /// Show only rows that have changed by at least this amount (bytes, samples).
    #[arg(long, value_name = "AMOUNT", default_value_t = 0)]
    least: u64,

    /// Scale the first profile to the total of the second, for runs of different length.
    #[arg(long)]
    normalize: bool,

    /// Also draw a differential flame graph: red has grown, blue has shrunk. FILE ends in .svg
    /// (stacks of the second file) or .html (stacks of both).
    #[arg(long, value_name = "FILE")]
    flamegraph: Option<PathBuf>,

    /// Fail at the first damaged place instead of continuing after it.
    #[arg(long)]
    strict: bool,

    /// The mapping file of R8 or ProGuard of the first program, for its original names; of both if
    /// there is no other.
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// The mapping file of the second program, if it is another build.
    #[arg(long, value_name = "FILE", requires = "mapping")]
    mapping_after: Option<PathBuf>,

    #[command(flatten)]
    own: OwnArgument,

    #[command(flatten)]
    memory: MemoryArgument,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Exit status:
  0  done
  1  more has grown than --fail-above or --fail-row-above allows
  2  the files cannot be compared

Examples:
  hprof-rs diff monday.hprof friday.hprof
  hprof-rs diff --filter com.example. --fail-above 1000000 before.hprof after.hprof
  hprof-rs diff --measure allocated-bytes old.txt new.txt
  hprof-rs diff --normalize recording.jfr java.hprof.txt
  hprof-rs diff --normalize --flamegraph diff.html monday.txt friday.txt
  hprof-rs diff --least 1000000 --fail-row-above 20 before.hprof after.hprof
  hprof-rs diff --from 14:00 --to 14:05 monday.jfr tuesday.jfr
  hprof-rs diff --before-to +30s --after-from -30s recording.jfr    the start and the end of one file
  hprof-rs diff --slow --normalize --flamegraph slow.html java.hprof.txt    what slow calls do and others do not";

/// The options that name two parts of one file.
const PARTS: [&str; 5] = ["before_from", "before_to", "after_from", "after_to", "slow"];

/// The parts of the time to compare, of files that have times (JFR).
#[derive(Debug, Args)]
struct Windows {
    /// The first file from this time on: a clock time (14:03:10), a date with it, or a distance from the start (+30s)
    /// or the end (-10s).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    before_from: Option<Bound>,

    /// The first file before this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    before_to: Option<Bound>,

    /// The second file from this time on.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    after_from: Option<Bound>,

    /// The second file before this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    after_to: Option<Bound>,

    #[command(flatten)]
    both: WindowArgument,
}

impl Windows {
    /// The part of the first file, or of the second.
    fn of(&self, is_second: bool) -> WindowArgument {
        let (from, to) = match is_second {
            false => (self.before_from, self.before_to),
            true => (self.after_from, self.after_to),
        };
        WindowArgument {
            from: from.or(self.both.from),
            until: to.or(self.both.until),
        }
    }
}

/// Two tables, compared.
struct Comparison {
    unit: &'static str,
    row: &'static str,
    has_objects: bool,
    changes: Vec<Change>,
    /// The program's methods with all of the JDK and libraries that they call.
    own: Vec<Change>,
}

impl Diff {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        match self.compare() {
            Ok(comparison) => self.show(comparison),
            Err(error) => {
                tell!("hprof-rs: {error:#}");
                Ok(ExitCode::from(2))
            }
        }
    }

    fn compare(&self) -> anyhow::Result<Comparison> {
        let second_file = self.after.as_ref().unwrap_or(&self.before);
        if [&self.before, second_file].map(|file| file.as_path()) == [Path::new("-"); 2] {
            bail!("standard input can be one of the two files only");
        }
        let mapping = |file: Option<&PathBuf>| {
            let mapping = file.cloned();
            MappingArgument { mapping }.read()
        };
        let first = mapping(self.mapping.as_ref())?;
        let second = mapping(self.mapping_after.as_ref())?;
        let windows = [self.windows.of(false), self.windows.of(true)];
        let of = |part| self.slow.as_deref().map(|name| (part, name));
        let open = |file: &Path, window: &WindowArgument, calls: CallsPart| {
            let times = Times {
                window: Some(window),
                calls: of(calls),
                are_wanted: false,
                lanes_are_wanted: false,
            };
            open::open_part(file, true, 0, self.strict, self.memory, times)
        };
        let mut before = open(&self.before, &windows[0], CallsPart::Fast)?;
        if let Some(first) = &first {
            before.contents.rename(first);
        }
        open::warn_of_damage(&before);
        let mut after = open(second_file, &windows[1], CallsPart::Slow)?;
        if let Some(second) = second.as_ref().or(first.as_ref()) {
            after.contents.rename(second);
        }
        open::warn_of_damage(&after);
        let dumps = (before.contents.dumps.last(), after.contents.dumps.last());
        if let ((Some(old), Some(new)), None) = (dumps, self.measure) {
            if let Some(path) = &self.flamegraph {
                let [old, _] = heap_views(&before)?;
                let [new, _] = heap_views(&after)?;
                self.draw(path, (&before, &old), (&after, &new))?;
            }
            let old = histogram(&before.contents, old, Group::Family);
            let new = histogram(&after.contents, new, Group::Family);
            return Ok(Comparison {
                unit: "bytes",
                row: "class",
                has_objects: true,
                changes: diff::histograms(&old, &new),
                own: Vec::new(),
            });
        }
        let (mut old, new) = self.weights(&before, &after)?;
        cut_alike(&mut before, &mut after, &old, &new);
        if self.normalize {
            old.scale_to(new.total);
        }
        if let Some(path) = &self.flamegraph {
            let rule = self.own.rule();
            let answer = Answer::of(
                &after.contents.stacks,
                &new,
                rule.as_ref(),
                after.contents.stack_limit(),
            );
            let old = View::of(&before.contents.stacks, &old, false);
            let new = View {
                answer,
                ..View::of(&after.contents.stacks, &new, false)
            };
            self.draw(path, (&before, &old), (&after, &new))?;
        }
        let costs =
            |opened: &Opened, weights: &Weights| by_method(&opened.contents.stacks, weights);
        // The second program's rule holds for both: the first may have done nothing yet.
        let rule = self.own.costs(&after.contents, &new).own;
        let charged = |opened: &Opened, weights: &Weights| -> Vec<MethodCost> {
            let rows = by_own(&opened.contents.stacks, weights, &rule).into_iter();
            let cost = |row: OwnCost| MethodCost {
                name: row.name,
                own: row.cost,
                total: row.cost,
            };
            rows.map(cost).collect()
        };
        let own = match old.measure {
            Measure::Calls => Vec::new(),
            _ => diff::methods(&charged(&before, &old), &charged(&after, &new)),
        };
        Ok(Comparison {
            own,
            unit: old.measure.unit(),
            row: "method",
            has_objects: false,
            changes: diff::methods(&costs(&before, &old), &costs(&after, &new)),
        })
    }

    fn weights(&self, before: &Opened, after: &Opened) -> anyhow::Result<(Weights, Weights)> {
        // A time in which nothing was counted can be compared with another.
        let none = |opened: &Opened, measure| {
            opened.window.map(|_| Weights {
                measure,
                total: 0,
                rows: Vec::new(),
            })
        };
        let both = |measure| {
            let of = |opened: &Opened| Weights::of(&opened.contents, measure);
            match (of(before), of(after)) {
                (None, None) => None,
                (old, new) => Some((
                    old.or_else(|| none(before, measure))?,
                    new.or_else(|| none(after, measure))?,
                )),
            }
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

    /// Draws both sides: the stacks of the second file, and in a page also those of the first, of
    /// which some may be gone.
    fn draw(
        &self,
        path: &Path,
        (before, old): (&Opened, &View),
        (after, new): (&Opened, &View),
    ) -> anyhow::Result<()> {
        let names = (base_name(&before.name), base_name(&after.name));
        let title = format!("{} \u{2192} {}", names.0, names.1);
        let totals = |view: &View| format!("{} {}", count(view.tree.total), view.unit);
        let is_page = match path.extension().and_then(|end| end.to_str()) {
            Some("svg") => false,
            Some("html" | "htm") => true,
            _ => bail!(
                "--flamegraph {}: end the name in .svg or .html",
                path.display()
            ),
        };
        let summary = format!(
            "{}: {} before, {} after",
            new.title,
            totals(old),
            totals(new)
        );
        let text = if is_page {
            let mut about = about(after);
            about.title = match about.facts.contains(&names.1) {
                true => format!("{title}: {}", about.title),
                false => title,
            };
            about.facts.insert(0, summary);
            page::differential(&about, old, new, Start::default())
        } else {
            let drawing = Drawing {
                title,
                subtitle: summary,
                ..Drawing::default()
            };
            let lines = collapsed::differential(&old.tree, &new.tree);
            flame_graph::differential(&lines, &new.unit, &drawing)
                .with_context(|| format!("{}: nothing was counted", after.name))?
        };
        write_whole(path, foreign::markup(&text).as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        written::say(path, "open it in a browser");
        Ok(())
    }

    fn show(&self, mut comparison: Comparison) -> anyhow::Result<ExitCode> {
        let least = u128::from(self.least);
        for changes in [&mut comparison.changes, &mut comparison.own] {
            changes.retain(|change| {
                let filter = self.filter.as_deref();
                filter.is_none_or(|filter| change.name.contains(filter))
                    && change.delta().unsigned_abs() >= least
            });
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
                "own_rows": comparison.own.iter().take(limit).collect::<Vec<_>>(),
            }))?;
        } else {
            print(&text(&comparison, growth, limit, Style::of_stdout()))?;
        }
        let is_too_much = self
            .fail_above
            .is_some_and(|limit| growth > i128::from(limit));
        let has_grown = |change: &Change, percent: f64| {
            change.delta() as f64 > percent / 100.0 * change.before as f64
        };
        let is_row_too_much = self
            .fail_row_above
            .is_some_and(|percent| changes.iter().any(|change| has_grown(change, percent)));
        Ok(ExitCode::from(u8::from(is_too_much || is_row_too_much)))
    }
}

/// Stacks that were cut at different depths are no more different than that.
fn cut_alike(before: &mut Opened, after: &mut Opened, old: &Weights, new: &Weights) {
    let depths = (open::depth(before, old), open::depth(after, new));
    let (Some(old), Some(new)) = depths else {
        return;
    };
    let (less, more, deeper) = match old.limit < new.limit {
        true => (old, new, after),
        false => (new, old, before),
    };
    if less.limit == more.limit || less.cut == 0 {
        return;
    }
    deeper.contents.stacks.cut_to(less.limit);
    tell!(
        "hprof-rs: the stacks of one file have {} frames at most, those of {} up to {}: the \
         innermost {} of both are compared",
        less.limit,
        deeper.name,
        more.limit,
        less.limit
    );
}

/// The program's methods that are shown before all methods.
const OWN_ROWS: usize = 10;

fn methods<'a>(
    unit: &'static str,
    row: &'static str,
    changes: impl IntoIterator<Item = &'a Change>,
    style: Style,
) -> String {
    let cells = |change: &Change| {
        [
            signed(change.delta()),
            count(change.before),
            count(change.after),
            change.name.clone(),
        ]
    };
    let rows: Vec<[String; 4]> = changes.into_iter().map(cells).collect();
    let head = [
        (unit, Align::Right),
        ("before", Align::Right),
        ("after", Align::Right),
        (row, Align::Left),
    ];
    columns(style, head, &rows)
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
        let own = comparison.own.iter().take(OWN_ROWS);
        let own = own.collect::<Vec<_>>();
        let mut tables = String::new();
        if !own.is_empty() {
            let title = "The program's methods, with the JDK and libraries that they call";
            tables.push_str(&format!("{}\n", style.bold(title)));
            tables.push_str(&methods(comparison.unit, comparison.row, own, style));
            tables.push_str(&format!("\n{}\n", style.bold("Each method by itself")));
        }
        tables + &methods(comparison.unit, comparison.row, shown, style)
    };
    let left_out = changes.len() - limit;
    if left_out > 0 {
        let rows = plural(left_out as u64, "change", "changes");
        text.push_str(&style.dim(&format!("... {rows} more (--top 0 for all)\n")));
    }
    text.push_str(&format!("Total: {} {}\n", signed(growth), comparison.unit));
    text
}

//! `hprof-rs samples`: where time, memory or waiting goes.

mod annotate;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::{
    CallTree, Measure, MethodCost, Node, OwnCost, Weights, by_method, by_thread,
};
use hprof_format::ids::{ThreadSerial, TraceSerial};
use serde_json::{Value, json};

use super::cutoff;
use super::summary::monitors;
use crate::by_time;
use crate::calls::CallsArgument;
use crate::export::{old_callees, readable};
use crate::measure::{MeasureArgument, OwnArgument};
use crate::open::{self, FileArgument, Opened, Times};
use crate::render::screen::{
    Align, Style, columns, count, percent, plural, print, print_json, printable, whole_columns,
};
use crate::sources::SourcesArgument;
use crate::window::{NoWindow, WindowArgument};

/// Show where a profile spends CPU time, allocates or waits.
///
/// The mode of the profile determines the measure: CPU samples (cpu=samples), time and calls
/// (cpu=times), allocation (heap=sites), contention (monitor=y).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Samples {
    #[command(flatten)]
    file: FileArgument,

    /// The unit by which costs are summed.
    #[arg(long, value_enum, default_value_t = By::Method)]
    by: By,

    #[command(flatten)]
    measure: MeasureArgument,

    #[command(flatten)]
    window: WindowArgument,

    #[command(flatten)]
    calls: CallsArgument,

    /// The number of rows, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Show only rows whose name contains this text (not for trees).
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    #[command(flatten)]
    own: OwnArgument,

    /// Print the source of a method with the cost of each line. METHOD is its name, or the end of it, such as `PriceParser.parse`.
    #[arg(long, value_name = "METHOD", conflicts_with_all = ["by", "top", "filter", "own", "min"])]
    annotate: Option<String>,

    #[command(flatten)]
    sources: SourcesArgument,

    /// In trees, hide branches below this share of the total, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    min: f64,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs samples java.hprof.txt
  hprof-rs samples --by tree --min 5 java.hprof.txt
  hprof-rs samples --by trace --top 3 java.hprof.txt
  hprof-rs samples --own com.acme --own org.acme java.hprof.txt
  hprof-rs samples --annotate PriceParser.parse java.hprof.txt
                                                  the lines of a method with their costs
  hprof-rs samples --measure live-bytes java.hprof
  hprof-rs samples --by time recording.jfr
  hprof-rs samples --event jdk.SocketRead --measure time recording.jfr
  hprof-rs samples --from 14:03:10 --to 14:03:25 recording.jfr
  hprof-rs samples --from -30s recording.jfr           the last half minute";

/// The unit by which costs are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// By method: its own cost, and its cost with all that it calls.
    Method,
    /// By stack trace, with the traces.
    Trace,
    /// By thread, if the profile was taken with thread=y.
    Thread,
    /// As a tree of calls from the outermost method.
    Tree,
    /// By stretches of time, with the method that cost most in each, of files that have times (JFR).
    Time,
}

/// A stack with what it costs.
struct StackRow<'a> {
    value: u64,
    traces: Vec<TraceSerial>,
    class: Option<&'a str>,
    frames: Vec<String>,
}

impl Samples {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let times = Times {
            window: Some(&self.window),
            calls: self.calls.part(),
            are_wanted: matches!(self.by, By::Method | By::Time) && self.annotate.is_none(),
            lanes_are_wanted: false,
        };
        let opened = self.measure.open(&self.file, false, times)?;
        open::warn_of_damage(&opened);
        let contents = &opened.contents;
        let style = Style::of_stdout();
        let has_stacks = Weights::first_of(contents).is_some();
        if !has_stacks && self.measure.asked().is_none() && !contents.old_cpu.is_empty() {
            return self.old(&opened, style);
        }
        let weights = self.measure.weights(&opened)?;
        if let Some(method) = &self.annotate {
            return annotate::annotate(&opened, &weights, method, &self.sources, self.json);
        }
        let own = self.own.costs(contents, &weights);
        if self.json {
            return print_json(&json!({
                "file": opened.name,
                "event": opened.event,
                "measure": weights.measure,
                "unit": weights.measure.unit(),
                "total": weights.total,
                "own": own.own,
                "own_packages": own.packages(),
                "headline": own.headline,
                "cut_before_own": own.cut,
                "change": by_time::change_json(&opened),
                "own_methods": own.rows.iter().take(self.limit()).collect::<Vec<_>>(),
                "notes": contents.notes,
                "rows": self.json_rows(&opened, &weights)?,
            }));
        }
        let facts = contents.run_facts();
        let mut text = match &opened.event {
            Some(event) => event_title(event, contents, &weights, style),
            None => format!(
                "{}: {} {}\n",
                style.bold(&printable(&facts.title(weights.measure))),
                count(weights.total),
                facts.unit(weights.measure)
            ),
        };
        if let Some(sentence) = &own.headline {
            text.push_str(&format!("{}\n", printable(sentence)));
        }
        if let Some(cut) = own.cut {
            text.push_str(&format!("{}\n", style.warn(&cut.to_string())));
        }
        if self.by == By::Method
            && matches!(weights.measure, Measure::Samples | Measure::Time)
            && let Some(sentence) = by_time::sentence(&opened)
        {
            text.push_str(&format!("{sentence}\n"));
        }
        text.push_str(&match self.by {
            By::Method => self.methods(contents, &weights, &own.rows, style),
            By::Trace => self.traces(contents, &weights, style),
            By::Thread => self.threads(contents, &weights, style),
            By::Tree => self.tree(contents, &weights, style),
            By::Time => by_time::table(&opened, weights.measure, style)
                .ok_or(NoWindow::NoTimes)
                .with_context(|| opened.name.clone())?,
        });
        text.push_str(&below_cutoff(contents, &weights, style));
        text.push_str(&monitors::pointer(contents, style));
        print(&text)
    }

    /// A table of `cpu=old`: pairs of caller and callee, or callees.
    fn old(&self, opened: &Opened, style: Style) -> anyhow::Result<ExitCode> {
        let contents = &opened.contents;
        let mut rows: Vec<(u64, u64, String, String)> = match self.by {
            By::Method => old_callees(contents)
                .into_iter()
                .map(|callee| (callee.millis, callee.calls, callee.name, String::new()))
                .collect(),
            By::Thread => bail!("{} does not tell threads (cpu=old)", opened.name),
            By::Time => return Err(NoWindow::NoTimes).with_context(|| opened.name.clone()),
            By::Trace | By::Tree => contents
                .old_cpu
                .iter()
                .map(|row| {
                    (
                        row.millis,
                        row.count,
                        row.callee.to_string(),
                        row.caller.to_string(),
                    )
                })
                .collect(),
        };
        rows.retain(|(.., callee, caller)| self.matches(callee) || self.matches(caller));
        rows.sort_by_key(|&(millis, calls, ..)| std::cmp::Reverse((millis, calls)));
        let all = rows.len();
        rows.truncate(self.limit());
        if self.json {
            let rows: Vec<Value> = rows
                .iter()
                .map(|(ms, calls, callee, caller)| {
                    let caller = Some(caller).filter(|caller| !caller.is_empty());
                    json!({"ms": ms, "calls": calls, "callee": callee, "caller": caller})
                })
                .collect();
            return print_json(&json!({
                "file": opened.name, "measure": "calls", "rows_left_out": all - rows.len(),
                "rows": rows,
            }));
        }
        let calls: u64 = contents.old_cpu.iter().map(|row| row.count).sum();
        let mut text = format!(
            "{}: {} calls (cpu=old; times are those of methods with all they call)\n",
            style.bold("Calls"),
            count(calls)
        );
        let cells: Vec<[String; 3]> = rows
            .into_iter()
            .map(|(ms, calls, callee, caller)| {
                let method = match caller.as_str() {
                    "" => readable(&callee),
                    caller => format!("{} \u{2192} {}", readable(caller), readable(&callee)),
                };
                [count(ms), count(calls), method]
            })
            .collect();
        let method = match self.by {
            By::Method => "method",
            _ => "caller \u{2192} method",
        };
        let head = [
            ("ms", Align::Right),
            ("calls", Align::Right),
            (method, Align::Left),
        ];
        text.push_str(&columns(style, head, &cells));
        print(&(text + &left_out(all, cells.len(), style)))
    }

    fn limit(&self) -> usize {
        match self.top {
            0 => usize::MAX,
            top => top,
        }
    }

    fn matches(&self, name: &str) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()))
    }

    fn json_rows(&self, opened: &Opened, weights: &Weights) -> anyhow::Result<Value> {
        let contents = &opened.contents;
        Ok(match self.by {
            By::Method => {
                let mut costs = by_method(&contents.stacks, weights);
                costs.retain(|cost| self.matches(&cost.name));
                costs.truncate(self.limit());
                json!(costs)
            }
            By::Thread => {
                let rows = by_thread(&contents.stacks, weights);
                let rows = rows.into_iter().take(self.limit()).map(|(thread, cost)| {
                    let name = thread.and_then(|serial| contents.thread(serial)?.name.clone());
                    json!({"thread": thread.map(|serial| serial.get()), "name": name, "cost": cost})
                });
                rows.collect()
            }
            By::Trace => {
                let rows = self.sorted_traces(contents, weights);
                let rows = rows.into_iter().take(self.limit()).map(|row| {
                    let traces: Vec<u32> = row.traces.iter().map(|trace| trace.get()).collect();
                    json!({
                        "trace": traces.first(), "traces": traces, "cost": row.value, "class": row.class,
                        "frames": row.frames,
                    })
                });
                rows.collect()
            }
            By::Tree => json!(CallTree::new(&contents.stacks, weights).roots),
            By::Time => by_time::table_json(opened, weights.measure)
                .ok_or(NoWindow::NoTimes)
                .with_context(|| opened.name.clone())?,
        })
    }

    /// Methods by what they cost with the libraries that they call, if they are the program's, or by themselves.
    fn methods(
        &self,
        contents: &Contents,
        weights: &Weights,
        own: &[OwnCost],
        style: Style,
    ) -> String {
        let own: HashMap<&str, u64> = own.iter().map(|row| (&*row.name, row.cost)).collect();
        let charged = |cost: &MethodCost| own.get(&*cost.name).copied();
        let mut costs = by_method(&contents.stacks, weights);
        costs.retain(|cost| self.matches(&cost.name));
        costs.sort_by_key(|cost| Reverse(charged(cost).unwrap_or(0).max(cost.own)));
        let all = costs.len();
        let rows: Vec<[String; 6]> = costs
            .into_iter()
            .take(self.limit())
            .map(|cost| {
                [
                    charged(&cost).map_or_else(String::new, |own| percent(own, weights.total)),
                    percent(cost.own, weights.total),
                    count(cost.own),
                    percent(cost.total, weights.total),
                    count(cost.total),
                    cost.name,
                ]
            })
            .collect();
        let head = [
            ("own", Align::Right),
            ("self", Align::Right),
            (weights.measure.unit(), Align::Right),
            ("with calls", Align::Right),
            (weights.measure.unit(), Align::Right),
            ("method", Align::Left),
        ];
        columns(style, head, &rows) + &left_out(all, rows.len(), style)
    }

    /// The stacks that cost most. Traces of several threads with equal stacks are one row.
    fn sorted_traces<'a>(&self, contents: &Contents, weights: &'a Weights) -> Vec<StackRow<'a>> {
        let mut places = HashMap::new();
        let mut rows: Vec<StackRow<'a>> = Vec::new();
        for row in &weights.rows {
            let frames = contents.stacks.frames_of(row.trace);
            let place = *places.entry((frames, &row.class)).or_insert_with(|| {
                let frames = frames.iter().map(|&frame| {
                    let frame = contents.stacks.frame(frame);
                    format!("{} ({})", frame.name(), frame.place())
                });
                rows.push(StackRow {
                    value: 0,
                    traces: Vec::new(),
                    class: row.class.as_deref(),
                    frames: frames.collect(),
                });
                rows.len() - 1
            });
            rows[place].value += row.value;
            if !rows[place].traces.contains(&row.trace) {
                rows[place].traces.push(row.trace);
            }
        }
        rows.retain(|row| self.filter.is_none() || row.frames.iter().any(|it| self.matches(it)));
        rows.sort_by_key(|row| Reverse(row.value));
        rows
    }

    fn traces(&self, contents: &Contents, weights: &Weights, style: Style) -> String {
        let rows = self.sorted_traces(contents, weights);
        let shown = rows.len().min(self.limit());
        let mut text = String::new();
        for row in &rows[..shown] {
            let traces = match row.traces.as_slice() {
                [one] => format!("trace {one}"),
                [first, ..] => format!("{} traces from {first} on", count(row.traces.len() as u64)),
                [] => String::new(),
            };
            let title = format!(
                "{} {} ({}), {traces}",
                count(row.value),
                weights.measure.unit(),
                percent(row.value, weights.total),
            );
            text.push_str(&format!("\n{}\n", style.bold(&title)));
            if let Some(class) = row.class {
                text.push_str(&format!("  {}\n", printable(class)));
            }
            if row.frames.is_empty() {
                text.push_str("    <empty trace>\n");
            }
            for frame in &row.frames {
                text.push_str(&format!("    {}\n", printable(frame)));
            }
        }
        text + &left_out(rows.len(), shown, style)
    }

    fn threads(&self, contents: &Contents, weights: &Weights, style: Style) -> String {
        let threads = by_thread(&contents.stacks, weights);
        if matches!(threads[..], [(None, _)]) {
            return "The profile does not keep threads apart; take it with thread=y.\n".to_owned();
        }
        let name = |thread: Option<ThreadSerial>| {
            let found = thread.and_then(|serial| contents.thread(serial));
            found.and_then(|thread| thread.name.clone())
        };
        // There may be a million virtual threads, and hardly any has a name.
        let (unnamed, named): (Vec<_>, Vec<_>) =
            (threads.iter().copied()).partition(|&(thread, _)| name(thread).as_deref() == Some(""));
        let mut threads: Vec<(u64, String, String)> = named
            .into_iter()
            .map(|(thread, cost)| {
                let serial = thread.map_or_else(String::new, |serial| serial.to_string());
                (
                    cost,
                    serial,
                    name(thread).unwrap_or_else(|| "<unknown>".to_owned()),
                )
            })
            .collect();
        if !unnamed.is_empty() {
            let cost = unnamed.iter().map(|(_, cost)| cost).sum();
            let all = plural(unnamed.len() as u64, "thread", "threads");
            threads.push((
                cost,
                String::new(),
                format!("({all} without a name, as virtual ones)"),
            ));
            threads.sort_by_key(|row| Reverse(row.0));
        }
        let rows: Vec<[String; 4]> = threads
            .iter()
            .take(self.limit())
            .map(|(cost, serial, name)| {
                [
                    percent(*cost, weights.total),
                    count(*cost),
                    serial.clone(),
                    name.clone(),
                ]
            })
            .collect();
        let head = [
            ("share", Align::Right),
            (weights.measure.unit(), Align::Right),
            ("thread", Align::Right),
            ("name", Align::Left),
        ];
        columns(style, head, &rows) + &left_out(threads.len(), rows.len(), style)
    }

    fn tree(&self, contents: &Contents, weights: &Weights, style: Style) -> String {
        let tree = CallTree::new(&contents.stacks, weights);
        let least = (self.min / 100.0 * tree.total as f64) as u64;
        let mut rows = Vec::new();
        let mut hidden = 0;
        // Deep stacks must not make this deep, so it keeps what is to be shown in a list.
        let mut open: Vec<(&Node, usize)> = tree.roots.iter().rev().map(|node| (node, 0)).collect();
        while let Some((node, depth)) = open.pop() {
            if node.total < least {
                hidden += 1;
                continue;
            }
            let own = match node.own {
                0 => String::new(),
                own => percent(own, tree.total),
            };
            rows.push([
                percent(node.total, tree.total),
                own,
                format!("{}{}", "  ".repeat(depth), printable(&node.name)),
            ]);
            open.extend(node.children.iter().rev().map(|child| (child, depth + 1)));
        }
        let head = [
            ("total", Align::Right),
            ("self", Align::Right),
            ("method", Align::Left),
        ];
        let mut text = whole_columns(style, head, &rows);
        if hidden > 0 {
            let branches = plural(hidden, "branch", "branches");
            let note = format!(
                "{branches} below {}% left out (--min 0 for all)\n",
                self.min
            );
            text.push_str(&style.dim(&note));
        }
        text
    }
}

/// The type of events with their cost, and the other costs that they have.
fn event_title(event: &str, contents: &Contents, weights: &Weights, style: Style) -> String {
    let cost = |it: &Weights| format!("{} {}", count(it.total), it.measure.unit());
    let others = contents.weights.iter().flatten();
    let others = others.filter(|it| it.measure != weights.measure);
    let (costs, names): (Vec<String>, Vec<&str>) = others
        .map(|it| {
            let name = match it.measure {
                Measure::Events => "count",
                Measure::EventTime => "time",
                _ => "bytes",
            };
            (cost(it), name)
        })
        .unzip();
    let others = match names.is_empty() {
        true => String::new(),
        false => format!(" ({}; --measure {})", costs.join(", "), names.join(", ")),
    };
    format!(
        "{}: {}{others}\n",
        style.bold(&printable(event)),
        cost(weights)
    )
}

/// A line about rows that the profiler left out of the file; nothing if there are none.
fn below_cutoff(contents: &Contents, weights: &Weights, style: Style) -> String {
    let table = match weights.measure {
        Measure::Samples => "cpu_samples",
        Measure::Time | Measure::Calls => "cpu_times",
        Measure::Contention | Measure::Waits => "monitor_time",
        Measure::NativeLock => "native_locks",
        _ => "sites",
    };
    let rows = cutoff::rows(contents, table);
    let missing = weights.missing();
    if missing == 0 && rows.is_none_or(|rows| rows == 0) {
        return String::new();
    }
    let share = percent(missing, weights.total);
    let rows = rows.map_or_else(|| "Rows".to_owned(), |rows| plural(rows, "row", "rows"));
    let line =
        format!("{rows} below the cutoff, {share}, are not in the file (cutoff=0 keeps all)");
    format!("{}\n", style.dim(&line))
}

/// A line about rows that are not shown.
fn left_out(all: usize, shown: usize, style: Style) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => {
            let note = format!("... {} more (--top 0 for all)", count(more as u64));
            format!("{}\n", style.dim(&note))
        }
    }
}

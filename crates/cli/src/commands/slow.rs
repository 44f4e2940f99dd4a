//! `hprof-rs slow`: timed calls of chosen methods, and the slowest of them.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use hprof_analysis::contents::Contents;
use hprof_stacks::call_strips::{CallStrips, NoStrips};
use hprof_stacks::slow::{Slow, SlowCall, SlowMethod, Threshold};
use hprof_stacks::slow_remarks::time;
use hprof_stacks::slow_table::{Most, SlowRow, SlowTable};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::slow_strips;
use crate::open::{self, PlainFileArgument, Times};
use crate::render::screen::{
    Align, Style, columns, count, more, plural, print, print_json, printable,
};

/// Show how long calls of methods took, and the slowest of them (slow=).
///
/// Reads profiles of the agent with `slow=com.acme.Api.handle`. Percentiles are right to a thousandth, all other figures are
/// exact. A call within one of the same method in the same thread is part of that one.
///
/// Each of the slowest calls has a strip of its time, by the samples of its thread: running, waiting for a CPU, a lock, input or
/// output, asleep. That needs cpu=wall; with cpu=samples it shows where calls ran. record --wall --slow METHOD has both.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SlowCommand {
    #[command(flatten)]
    file: PlainFileArgument,

    /// Show only methods whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// The number of methods, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// The number of calls that are listed for each method, 10 at most.
    #[arg(long, value_name = "N", default_value_t = 10)]
    calls: usize,

    /// Print JSON, with the histogram of each method; times are in nanoseconds.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  java -agentpath:$(hprof-rs agent-path)=slow=com.acme.Api.handle:200ms,file=api.hprof.txt -jar app.jar
  hprof-rs slow api.hprof.txt
  hprof-rs slow api.hprof.txt --filter Api.handle --calls 3
  hprof-rs slow api.hprof.txt --json | jq '.methods[] | {name, p99_ns}'";

impl SlowCommand {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let PlainFileArgument {
            file,
            strict,
            memory,
        } = &self.file;
        let times = Times {
            are_wanted: true,
            ..Times::default()
        };
        let opened = open::open_part(file, false, 0, *strict, *memory, times)?;
        open::warn_of_damage(&opened);
        let slow = &opened.contents.slow;
        if !slow.is_there() {
            match opened.contents.instead_of_data() {
                Some(instead) => bail!("{} holds {instead}", opened.name),
                None => bail!(
                    "{} holds no timed calls; slow=com.acme.Api.handle records them",
                    opened.name
                ),
            }
        }
        let filter = self.filter.as_deref().unwrap_or_default();
        let mut methods: Vec<&SlowMethod> = slow.methods.iter().collect();
        methods.retain(|method| method.full_name().contains(filter));
        let left_out = match self.top {
            0 => 0,
            top => methods.len().saturating_sub(top),
        };
        methods.truncate(methods.len() - left_out);
        let strips = opened.contents.call_strips();
        if self.json {
            return print_json(&json!({
                "file": opened.name,
                "patterns": slow.patterns,
                "methods": methods
                    .iter()
                    .map(|it| method_json(it, self.calls, strips.as_ref().ok()))
                    .collect::<Vec<_>>(),
                "no_strips": strips.as_ref().err().map(|why| why.words()),
                "methods_left_out": left_out,
            }));
        }
        let style = Style::of_stdout();
        let text = text(style, slow, &methods, self.calls, Some(&strips));
        print(&(text + &more(left_out)))
    }
}

/// All timed calls, as `hprof-rs slow` shows them.
pub(crate) fn in_words(slow: &Slow) -> String {
    let methods: Vec<&SlowMethod> = slow.methods.iter().collect();
    text(Style::of_stdout(), slow, &methods, usize::MAX, None)
}

/// The table of timed calls for `summary`; empty if none were timed.
pub(super) fn summary(contents: &Contents, rows: usize, style: Style) -> String {
    let methods: Vec<&SlowMethod> = contents.slow.methods.iter().take(rows).collect();
    if methods.is_empty() {
        return String::new();
    }
    let title = style.bold("Slow calls");
    let left = contents.slow.methods.len() - methods.len();
    let shows = "`hprof-rs slow` shows the slowest calls";
    let more = match left {
        0 => shows.to_owned(),
        left => format!("{} more; {shows}", plural(left as u64, "method", "methods")),
    };
    format!("\n{title}: {more}\n{}", table(style, &methods))
}

/// The rows of timed calls for `summary`; null if none were timed.
pub(super) fn summary_json(contents: &Contents, rows: usize) -> Value {
    let most = Most {
        methods: rows,
        ..Most::OF_PAGES
    };
    json!(SlowTable::of(&contents.slow, &contents.call_strips(), most))
}

fn text(
    style: Style,
    slow: &Slow,
    methods: &[&SlowMethod],
    calls: usize,
    strips: Option<&Result<CallStrips<'_>, NoStrips>>,
) -> String {
    let mut text = String::new();
    if !methods.is_empty() {
        text.push_str(&table(style, methods));
    }
    for method in methods {
        text.push_str(&remarks(method));
    }
    for method in methods.iter().filter(|it| !it.slowest.is_empty()) {
        if calls == 0 {
            break;
        }
        let name = printable(&shown(method, methods));
        let _ = writeln!(
            text,
            "\n{}",
            style.bold(&format!("Slowest calls of {name}"))
        );
        text.push_str(&slowest(style, method, calls));
        text.push_str(&call_remarks(method, calls));
        if let Some(Ok(strips)) = strips {
            text.push_str(&slow_strips::text(style, strips, method, calls));
        }
    }
    if let Some(Err(why)) = strips
        && calls > 0
        && methods.iter().any(|it| !it.slowest.is_empty())
    {
        let _ = writeln!(text, "\n{}", why.words());
    }
    for (pattern, why) in slow
        .patterns
        .iter()
        .filter_map(|it| Some((it, it.why.as_ref()?)))
    {
        let line = format!("{} has timed no call: {why}", pattern.pattern);
        let _ = writeln!(text, "{}", style.warn(&printable(&line)));
    }
    if methods.is_empty() && text.is_empty() {
        text.push_str(match slow.is_there() {
            true => "no timed method has this text in its name\n",
            false => "no calls came: the agent ended before it wrote those that it had timed\n",
        });
    }
    text
}

fn table(style: Style, methods: &[&SlowMethod]) -> String {
    let head = [
        ("calls", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
        ("in all", Align::Right),
        ("CPU", Align::Right),
        ("slow", Align::Right),
        ("method", Align::Left),
    ];
    let row = |method: &&SlowMethod| {
        let quantile = |share| time(method.quantile(share));
        [
            count(method.calls()),
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            quantile(0.999),
            time(method.max()),
            time(method.wall),
            time(method.cpu),
            slow_calls(method),
            printable(&shown(method, methods)),
        ]
    };
    let rows: Vec<_> = methods.iter().map(row).collect();
    columns(style, head, &rows)
}

/// Calls that are slow, with the time from which on they are.
fn slow_calls(method: &SlowMethod) -> String {
    match (method.asked, method.threshold) {
        (Threshold::None, _) => "-".to_owned(),
        (_, Some(threshold)) => format!("{} >= {}", count(method.slow), time(threshold)),
        (_, None) => format!("{} (too few calls for a percentile)", method.slow),
    }
}

/// The name, with parameters where several methods have it.
fn shown(method: &SlowMethod, methods: &[&SlowMethod]) -> String {
    let name = method.full_name();
    let same = methods.iter().filter(|other| other.full_name() == name);
    match same.count() > 1 {
        true => format!("{name}{}", method.descriptor),
        false => name,
    }
}

/// What the figures of a method leave out.
fn remarks(method: &SlowMethod) -> String {
    let mut text = String::new();
    let name = printable(&method.full_name());
    if method.every > 1 {
        let _ = writeln!(
            text,
            "{name}: called too often for each call to be timed: one in {} is, and the figures are estimates",
            count(method.every)
        );
    }
    if method.recursive > 0 {
        let _ = writeln!(
            text,
            "{name}: {} more calls within calls of the same method in the same thread",
            count(method.recursive)
        );
    }
    if method.lost > 0 {
        let _ = writeln!(text, "{name}: {} calls were not timed", count(method.lost));
    }
    if method.moved > 0 {
        let _ = writeln!(
            text,
            "{name}: {} spans ended in another thread than they began in: their CPU time is not known",
            count(method.moved)
        );
    }
    if method.running > 0 {
        let _ = writeln!(
            text,
            "{name}: {} calls had not ended, the longest for {}",
            count(method.running),
            time(method.longest_running)
        );
    }
    text
}

fn slowest(style: Style, method: &SlowMethod, most: usize) -> String {
    let head = [
        ("", Align::Right),
        ("time", Align::Right),
        ("CPU", Align::Right),
        ("began", Align::Left),
        ("thread", Align::Left),
    ];
    let row = |(number, call): (u64, &SlowCall)| {
        [
            count(number),
            time(call.wall),
            time(call.cpu),
            local(call.began),
            printable(&call.thread),
        ]
    };
    let rows: Vec<_> = (1..)
        .zip(method.slowest.iter().take(most))
        .map(row)
        .collect();
    columns(style, head, &rows)
}

/// Sentences on the slowest calls, each with the number of its call.
fn call_remarks(method: &SlowMethod, most: usize) -> String {
    let mut text = String::new();
    for (number, call) in (1..).zip(method.slowest.iter().take(most)) {
        for remark in call.remarks() {
            let _ = writeln!(text, "call {}: {}", count(number), printable(&remark));
        }
    }
    text
}

fn local(nanos: i64) -> String {
    let at = Timestamp::from_nanosecond(i128::from(nanos)).unwrap_or_default();
    let at = at.to_zoned(TimeZone::system());
    at.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

fn method_json(method: &SlowMethod, calls: usize, strips: Option<&CallStrips<'_>>) -> Value {
    let most = Most {
        methods: 1,
        calls,
        parts: usize::MAX,
    };
    let mut row = json!(SlowRow::of(method, strips, most));
    row["histogram"] = json!(method.times.counters().collect::<Vec<_>>());
    for call in row["slowest"].as_array_mut().into_iter().flatten() {
        let began = call["began_ns"].as_i64().unwrap_or_default();
        let began = Timestamp::from_nanosecond(i128::from(began)).unwrap_or_default();
        call["began"] = began.to_string().into();
    }
    row
}

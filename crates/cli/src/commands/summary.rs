//! `hprof-rs summary`: what is in a file, on one screen.

pub mod monitors;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use hprof_analysis::android::{AndroidFacts, android_facts};
use hprof_analysis::contents::{Contents, Dump, Format, TextDump};
use hprof_analysis::heap::{Group, Histogram, LayoutSource, histogram, text_histogram};
use hprof_analysis::input::Compression;
use hprof_analysis::snapshot::{OpenOptions, Snapshot};
use hprof_analysis::stacks::{Measure, OwnCosts, Weights, by_method};
use hprof_foreign::Others;
use hprof_format::reader::Version;
use serde_json::{Value, json};

use super::android::fact_lines;
use super::{slow, top};
use crate::open::{FileArgument, Opened, Times};
use crate::render::screen::{
    Align, Style, bytes, columns, count, percent, plural, print, printable,
};
use crate::render::table;
use crate::window::WindowArgument;
use crate::{by_time, left_out, nothing};

/// Summarize a heap dump or profile on one screen.
///
/// The command reads the file once. `--top 50` gives `summary`, `histogram --top 50` and `top --top
/// 50` in that one pass.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Summary {
    #[command(flatten)]
    file: FileArgument,

    /// The number of rows of each list, 0 for all. This option also adds the list of the largest
    /// arrays, at most 100 [default: 5].
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    #[command(flatten)]
    window: WindowArgument,

    /// Print JSON, with exact numbers.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs summary java.hprof.txt
  hprof-rs summary heap.hprof.gz
  hprof-rs summary --top 25 heap.hprof
  ssh host cat heap.hprof | hprof-rs summary -
  hprof-rs summary --json heap.hprof | jq .dumps[0].objects

Next: histogram, leaks and threads for heap dumps, samples and sites for profiles.";

/// The rows of each list, so that all of it fits a screen.
const ROWS: usize = 5;
/// The largest arrays to keep when all rows are wanted.
const ARRAYS: usize = 100;

impl Summary {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let (rows, arrays) = match self.top {
            None => (ROWS, 0),
            Some(0) => (usize::MAX, ARRAYS),
            Some(top) => (top, top),
        };
        let times = Times {
            window: Some(&self.window),
            calls: None,
            are_wanted: true,
            lanes_are_wanted: false,
        };
        let opened = self.file.open_part(true, arrays, times)?;
        let facts = facts(&self.file, &opened);
        if self.json {
            let mut all = as_json(&opened, rows);
            all["android"] = json!(facts);
            return crate::render::screen::print_json(&all);
        }
        let text = as_text(&opened, facts.as_ref(), rows, Style::of_stdout());
        print(&text)
    }
}

/// Device and program of an Android dump. They are fields of objects in the heap, so this reads the
/// file once more, which is impossible for a pipe.
fn facts(file: &FileArgument, opened: &Opened) -> Option<AndroidFacts> {
    if !opened.contents.is_android() || opened.contents.dumps.is_empty() {
        return None;
    }
    let snapshot = match file.plain.file == Path::new("-") {
        true => None,
        false => Snapshot::open(&file.plain.file, &OpenOptions::default()).ok(),
    };
    Some(snapshot.as_ref().map(android_facts).unwrap_or_default())
}

fn as_text(opened: &Opened, android: Option<&AndroidFacts>, rows: usize, style: Style) -> String {
    let contents = &opened.contents;
    let mut text = format!("{}\n{}\n", style.bold(&opened.name), format_line(opened));
    let mut facts = Vec::new();
    if let Some(time) = created(contents) {
        facts.push(("created", printable(&time)));
    }
    facts.extend(of_run(contents));
    if contents.names.class_count() > 0 {
        let classes = plural(contents.names.class_count() as u64, "class", "classes");
        let strings = plural(contents.names.string_count() as u64, "string", "strings");
        facts.push(("names", format!("{classes}, {strings}")));
    }
    if !contents.stacks.is_empty() {
        let traces = plural(contents.stacks.len() as u64, "trace", "traces");
        let frames = plural(contents.stacks.frame_count() as u64, "frame", "frames");
        facts.push(("stacks", format!("{traces} of {frames}")));
    }
    if !contents.threads.is_empty() {
        facts.push(("threads", count(contents.threads.len() as u64)));
    }
    if let Some(summary) = contents.heap_summary {
        let live = format!(
            "{} in {} objects alive",
            bytes(summary.live_bytes),
            count(summary.live_objects)
        );
        let all = format!(
            "{} in {} objects allocated",
            bytes(summary.allocated_bytes),
            count(summary.allocated_objects)
        );
        facts.push(("heap", format!("{live}, {all}")));
    }
    let facts = facts.into_iter();
    text.push_str(&table::facts(
        facts.map(|(name, value)| (name.to_owned(), value)),
    ));
    if let Some(facts) = android {
        text.push_str(&fact_lines(facts));
    }
    for (index, dump) in contents.dumps.iter().enumerate() {
        text.push_str(&dump_text(contents, dump, index, rows, style));
    }
    for dump in &contents.text_dumps {
        text.push_str(&text_dump(dump, rows, style));
    }
    for measure in Measure::ALL {
        if let Some(weights) = Weights::of(contents, measure) {
            text.push_str(&profile_text(contents, &weights, rows, style));
        }
    }
    if !contents.old_cpu.is_empty() {
        let title = style.bold("Calls (cpu=old)");
        let rows = plural(contents.old_cpu.len() as u64, "row", "rows");
        text.push_str(&format!("\n{title}: {rows}\n"));
    }
    text.push_str(&monitors::text(contents, rows, style));
    text.push_str(&slow::summary(contents, rows, style));
    text.push_str(&by_time::summary(opened, style));
    text.push_str(&others(contents));
    for note in &contents.notes {
        text.push_str(&format!(
            "\n{}\n",
            style.warn(&printable(&note.to_string()))
        ));
    }
    for nothing in nothing::of(contents) {
        let line = style.warn(&printable(&nothing.why));
        text.push_str(&format!("\n{line}\n"));
    }
    for part in left_out::by_counts(contents) {
        text.push_str(&format!("\n{}\n", style.warn(&part)));
    }
    if let Some(instead) = contents.instead_of_data() {
        text.push_str(&format!(
            "\n{}\n",
            style.warn(&format!("The file holds {instead}."))
        ));
    }
    if !contents.damage.is_empty() {
        let places = plural(contents.damage.count, "damaged place", "damaged places");
        let lost = bytes(contents.damage.lost_bytes);
        let line = format!("{places}, {lost} not read; `hprof-rs check` lists them");
        text.push_str(&format!("\n{}\n", style.warn(&line)));
    }
    text
}

/// Where and how long the program ran, as far as the agent says so.
fn of_run(contents: &Contents) -> Vec<(&'static str, String)> {
    let run = contents.run_facts();
    let cpu = run.cpu_words().map(|words| match run.mostly_waits() {
        true => format!("{words}; it mostly waited: --wall shows what for"),
        false => words,
    });
    [
        ("command", run.command.as_deref().map(printable)),
        ("JVM", run.vm.as_deref().map(printable)),
        ("host", run.host.as_deref().map(printable)),
        ("CPU", cpu),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// The events of a recording that other commands show.
fn others(contents: &Contents) -> String {
    let Others {
        collections,
        thread_dumps,
    } = contents.others;
    let mut text = String::new();
    let rows = [
        (
            collections,
            "garbage collection",
            "garbage collections",
            "gc",
        ),
        (thread_dumps, "thread dump", "thread dumps", "stacks"),
    ];
    for (number, one, many, command) in rows.into_iter().filter(|it| it.0 > 0) {
        let shows = if number == 1 {
            "shows it"
        } else {
            "shows them"
        };
        let number = plural(number, one, many);
        text.push_str(&format!("\n{number}: `hprof-rs {command}` {shows}\n"));
    }
    text
}

fn format_line(opened: &Opened) -> String {
    let contents = &opened.contents;
    let mut line = format_words(contents.format);
    line.push_str(&format!(", {}", bytes(contents.bytes)));
    if let Some(on_disk) = opened.file_bytes.filter(|&size| size != contents.bytes) {
        let kind = match opened.compression {
            Compression::None => "without elements",
            compression => compression.name(),
        };
        line.push_str(&format!(" ({} as {kind})", bytes(on_disk)));
    }
    line
}

fn format_words(format: Format) -> String {
    match format {
        Format::Text => "HPROF text".to_owned(),
        Format::Foreign(kind) => kind.name().to_owned(),
        Format::Binary { version, id_size } => {
            let version = match version {
                Version::V1_0_1 => "1.0.1",
                Version::V1_0_2 => "1.0.2",
                Version::V1_0_3 => "1.0.3 (Android)",
            };
            format!("HPROF {version}, identifiers of {} bytes", id_size.bytes())
        }
    }
}

fn created(contents: &Contents) -> Option<String> {
    if let Some(text) = &contents.created_text {
        return Some(text.clone());
    }
    let millis = i64::try_from(contents.created_millis.filter(|&ms| ms > 0)?).ok()?;
    let time = jiff::Timestamp::from_millisecond(millis).ok()?;
    Some(time.to_string())
}

fn dump_text(contents: &Contents, dump: &Dump, index: usize, rows: usize, style: Style) -> String {
    let census = &dump.census;
    let histogram = histogram(contents, dump, Group::Family);
    let title = match contents.dumps.len() {
        1 => "Heap dump".to_owned(),
        _ => format!("Heap dump {}", index + 1),
    };
    let mut text = format!(
        "\n{}: {}, {}; {}\n",
        style.bold(&title),
        plural(histogram.total.objects, "object", "objects"),
        bytes(histogram.total.shallow_bytes),
        plural(census.shapes.len() as u64, "class", "classes"),
    );
    text.push_str(&style.dim(&layout_line(&histogram)));
    text.push('\n');
    if !dump.is_ended {
        let line = "The record that ends the dump is missing: it may be incomplete.";
        text.push_str(&format!("{}\n", style.warn(line)));
    }
    let roots: Vec<String> = census
        .roots
        .iter()
        .map(|(kind, number)| format!("{} {kind}", count(*number)))
        .collect();
    if !roots.is_empty() {
        text.push_str(&format!("Roots: {}\n", roots.join(", ")));
    }
    if census.heaps.len() > 1 {
        let heaps: Vec<String> = census
            .heaps
            .iter()
            .filter(|heap| heap.objects > 0)
            .map(|heap| {
                let name = contents.names.string(heap.name);
                let name = name.map_or_else(|| "default".to_owned(), |name| name.into_owned());
                format!("{} {}", count(heap.objects), printable(&name))
            })
            .collect();
        text.push_str(&format!("Objects by heap: {}\n", heaps.join(", ")));
    }
    text.push_str(&classes(&histogram, rows, style));
    if !census.largest.is_empty() {
        text.push_str(&format!("{}\n", style.bold("Largest arrays")));
        text.push_str(&top::as_text(contents, dump, style));
    }
    text
}

fn text_dump(dump: &TextDump, rows: usize, style: Style) -> String {
    let histogram = text_histogram(dump, Group::Family);
    let mut text = format!(
        "\n{}: {}, {}; {}, {}\n",
        style.bold("Heap dump in text"),
        plural(dump.objects, "object", "objects"),
        bytes(dump.bytes),
        plural(dump.class_dumps, "class", "classes"),
        plural(dump.roots, "root", "roots"),
    );
    text.push_str(&style.dim(&layout_line(&histogram)));
    text.push('\n');
    text.push_str(&classes(&histogram, rows, style));
    text
}

/// The classes that take most.
fn classes(histogram: &Histogram, rows: usize, style: Style) -> String {
    let rows: Vec<[String; 4]> = histogram
        .rows
        .iter()
        .take(rows)
        .map(|row| {
            [
                percent(row.shallow_bytes, histogram.total.shallow_bytes),
                count(row.shallow_bytes),
                count(row.objects),
                row.name.clone(),
            ]
        })
        .collect();
    let head = [
        ("share", Align::Right),
        ("bytes", Align::Right),
        ("objects", Align::Right),
        ("class", Align::Left),
    ];
    columns(style, head, &rows)
}

/// How the sizes were worked out.
pub fn layout_line(histogram: &Histogram) -> String {
    match histogram.layout_source {
        LayoutSource::Stated => "Sizes as the file states them.".to_owned(),
        LayoutSource::Measured => format!(
            "Sizes as HotSpot lays objects out with {}, told from the distances between them.",
            histogram.layout.describe()
        ),
        LayoutSource::Assumed => format!(
            "Sizes as HotSpot lays objects out with {}, an assumption: the file does not tell.",
            histogram.layout.describe()
        ),
    }
}

fn profile_text(contents: &Contents, weights: &Weights, rows: usize, style: Style) -> String {
    let before = of_table_before(weights.measure).iter();
    let before = before.filter_map(|&measure| Some(Weights::of(contents, measure)?.total));
    let before: Vec<u64> = before.collect();
    // Those of one table stand together.
    let gap = if before.is_empty() { "\n" } else { "" };
    let facts = contents.run_facts();
    let mut text = format!(
        "{gap}{}: {} {}\n",
        style.bold(&printable(&facts.title(weights.measure))),
        count(weights.total),
        facts.unit(weights.measure)
    );
    // The methods of one measure stand for all of a table.
    if weights.total == 0 || before.iter().any(|&total| total > 0) {
        return text;
    }
    let own = OwnCosts::of(&contents.stacks, weights, None, contents.stack_limit());
    if let Some(sentence) = &own.headline {
        text.push_str(&format!("{}\n", printable(sentence)));
    }
    if let Some(cut) = own.cut {
        text.push_str(&format!("{}\n", style.warn(&cut.to_string())));
    }
    let costs = by_method(&contents.stacks, weights);
    let rows: Vec<[String; 3]> = costs
        .iter()
        .take(rows)
        .map(|cost| {
            [
                percent(cost.own, weights.total),
                count(cost.own),
                cost.name.clone(),
            ]
        })
        .collect();
    let unit = weights.measure.unit();
    let head = [
        ("share", Align::Right),
        (unit, Align::Right),
        ("method", Align::Left),
    ];
    text.push_str(&columns(style, head, &rows));
    text
}

/// The measures of the same table that come before a measure.
fn of_table_before(measure: Measure) -> &'static [Measure] {
    match measure {
        Measure::Calls => &[Measure::Time],
        Measure::LiveObjects => &[Measure::LiveBytes],
        Measure::AllocatedBytes => &[Measure::LiveBytes, Measure::LiveObjects],
        Measure::AllocatedObjects => &[
            Measure::LiveBytes,
            Measure::LiveObjects,
            Measure::AllocatedBytes,
        ],
        _ => &[],
    }
}

/// The summary as JSON; lists have at most `rows` rows.
pub(super) fn as_json(opened: &Opened, rows: usize) -> Value {
    let contents = &opened.contents;
    let dumps: Vec<Value> = contents
        .dumps
        .iter()
        .map(|dump| {
            let mut histogram = histogram(contents, dump, Group::Class);
            histogram.rows.truncate(rows);
            json!({
                "objects": histogram.total.objects,
                "shallow_bytes": histogram.total.shallow_bytes,
                "classes": dump.census.shapes.len(),
                "segments": dump.segments,
                "is_ended": dump.is_ended,
                "layout": histogram.layout,
                "layout_source": histogram.layout_source,
                "roots": dump.census.roots,
                "histogram": histogram.rows,
                "largest_arrays": top::as_json(contents, dump),
            })
        })
        .collect();
    let profiles: Vec<Value> = Measure::ALL
        .into_iter()
        .filter_map(|measure| Weights::of(contents, measure))
        .map(|weights| {
            let own = OwnCosts::of(&contents.stacks, &weights, None, contents.stack_limit());
            json!({
                "measure": weights.measure, "unit": weights.measure.unit(), "total": weights.total,
                "headline": own.headline, "cut_before_own": own.cut,
            })
        })
        .collect();
    let records: serde_json::Map<String, Value> = contents
        .records
        .iter()
        .map(|(tag, number)| (format!("0x{tag:02x}"), json!(number)))
        .collect();
    json!({
        "file": opened.name,
        "file_bytes": opened.file_bytes,
        "compression": opened.compression,
        "bytes": contents.bytes,
        "lacks_elements": contents.lacks_elements,
        "missing": left_out::by_counts(contents),
        "nothing_counted": nothing::as_json(contents),
        "instead_of_data": contents.instead_of_data(),
        "format": format_words(contents.format),
        "created": created(contents),
        "records": records,
        "classes": contents.names.class_count(),
        "strings": contents.names.string_count(),
        "traces": contents.stacks.len(),
        "threads": contents.threads.len(),
        "settings": contents.settings,
        "dumps": dumps,
        "text_dumps": contents.text_dumps.len(),
        "profiles": profiles,
        "timeline": by_time::summary_json(opened),
        "slow": slow::summary_json(contents, rows),
        "garbage_collections": contents.others.collections,
        "thread_dumps": contents.others.thread_dumps,
        "monitors": monitors::as_json(contents),
        "notes": contents.notes,
        "is_partly_read": contents.is_partly_read(),
        "damage": {"count": contents.damage.count, "lost_bytes": contents.damage.lost_bytes},
    })
}

//! `hprof-rs sites`: where objects are allocated.

use std::cmp::Reverse;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use hprof_analysis::contents::{Contents, SiteRow, SiteTable};
use hprof_analysis::names::family;
use hprof_analysis::stacks::{FrameIndex, Measure, Own, Weights};
use hprof_format::held::Held;
use serde_json::{Value, json};

use super::cutoff;
use crate::measure::OwnArgument;
use crate::open::{self, FileArgument};
use crate::render::screen::{
    Align, Style, bytes, columns, count, percent, plural, print, print_json, printable,
    whole_columns,
};

/// Show where a profile's objects were allocated (heap=sites), or memory outside of the heap (native=).
///
/// A site is a class and the stack that allocated its objects. The last table of the file is
/// shown, without the numbers and addresses of lambdas and hidden classes, which differ from run to
/// run; `--json` keeps them. Of memory outside of the heap, what was allocated in the first half of the recording and is still
/// held follows, the most first. `samples --measure allocated-bytes` sums sites by method.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Sites {
    #[command(flatten)]
    file: FileArgument,

    /// The order of the rows [default: live, or allocated if the file has no live figures].
    #[arg(long, value_enum)]
    sort: Option<Sort>,

    /// The number of sites, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Show only sites whose class or stack contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    #[command(flatten)]
    own: OwnArgument,

    /// Also show the whole stack of each site.
    #[arg(long)]
    stacks: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs sites java.hprof.txt
  hprof-rs sites --sort allocated --stacks --top 5 java.hprof
  hprof-rs sites --filter com.example. java.hprof.txt";

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Bytes still alive.
    Live,
    /// Bytes ever allocated.
    Allocated,
}

impl Sites {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let opened = self.file.open(false, 0)?;
        open::warn_of_damage(&opened);
        let contents = &opened.contents;
        let Some(table) = contents.sites.last() else {
            match contents.instead_of_data() {
                Some(instead) => bail!("{} holds {instead}", opened.name),
                None => bail!(
                    "{} holds no allocation sites: {}; heap=sites records them, native=512k those outside of the heap",
                    opened.name,
                    open::shown_by(contents)
                ),
            }
        };
        let mut rows: Vec<(&SiteRow, Vec<String>)> = table
            .rows
            .iter()
            .map(|row| (row, stack(contents, row)))
            .filter(|(row, stack)| self.matches(row, stack))
            .collect();
        let known = Known::of(contents);
        let sort = self.sort.unwrap_or(match known.live {
            true => Sort::Live,
            false => Sort::Allocated,
        });
        let key = |row: &SiteRow| match sort {
            Sort::Live => (row.live_bytes, row.allocated_bytes),
            Sort::Allocated => (row.allocated_bytes, row.live_bytes),
        };
        rows.sort_by_key(|(row, _)| Reverse(key(row)));
        let own = self.rule(contents, sort);
        let all = rows.len();
        if self.top > 0 {
            rows.truncate(self.top);
        }
        if self.json {
            let rows: Vec<Value> = rows
                .iter()
                .map(|(row, stack)| as_json(row, stack, own_frame(contents, row, &own), known))
                .collect();
            let mut all = json!({"file": opened.name, "own": own, "sites": rows});
            if table.is_native {
                let held = held(contents).map(|held| held_as_json(contents, &held));
                all["held"] = held.collect();
            }
            return print_json(&all);
        }
        let totals = Totals::of(contents, table);
        let at_own = |row: &SiteRow| own_frame(contents, row, &own);
        let mut text = self.text(totals, known, sort, (&rows, all), at_own, Words::of(table));
        if table.is_native {
            text.push_str(&held_text(contents));
        }
        let left_out = cutoff::last(contents, "sites", "rows_below_cutoff").unwrap_or_default();
        if left_out > 0 {
            let part = |name: &str, whole: &str| {
                let number = |name: &str| cutoff::last(contents, "sites", name).unwrap_or_default();
                percent(number(name), number(whole))
            };
            let line = format!(
                "{} below the cutoff, {} of what is alive and {} of what was allocated, are not in \
                 the file (cutoff=0 keeps all)",
                plural(left_out, "site", "sites"),
                part("live_bytes_below_cutoff", "live_bytes"),
                part("allocated_bytes_below_cutoff", "allocated_bytes"),
            );
            text.push_str(&format!("{}\n", Style::of_stdout().dim(&line)));
        }
        print(&text)
    }

    /// Which methods are the program's.
    fn rule(&self, contents: &Contents, sort: Sort) -> Own {
        let measure = match sort {
            Sort::Live => Measure::LiveBytes,
            Sort::Allocated => Measure::AllocatedBytes,
        };
        let weights = Weights::of(contents, measure).or_else(|| Weights::first_of(contents));
        weights.map_or_else(Own::default, |weights| {
            self.own.costs(contents, &weights).own
        })
    }

    fn matches(&self, row: &SiteRow, stack: &[String]) -> bool {
        let Some(filter) = &self.filter else {
            return true;
        };
        row.class_name.contains(filter.as_str()) || stack.iter().any(|frame| frame.contains(filter))
    }

    fn text(
        &self,
        totals: Totals,
        known: Known,
        sort: Sort,
        (rows, all): (&[(&SiteRow, Vec<String>)], usize),
        at_own: impl Fn(&SiteRow) -> Option<String>,
        words: Words,
    ) -> String {
        let style = Style::of_stdout();
        let Totals { live, allocated } = totals;
        let title = style.bold(words.title);
        let mut text = match (known.live, known.allocated) {
            (true, false) => format!("{title}: {} alive\n", bytes(live)),
            (true, true) => {
                format!(
                    "{title}: {} alive of {} allocated\n",
                    bytes(live),
                    bytes(allocated)
                )
            }
            (false, _) => format!(
                "{title}: {} allocated; the file has no live figures\n",
                bytes(allocated)
            ),
        };
        let number = |is_known: bool, number: u64| match is_known {
            true => count(number),
            false => "-".to_owned(),
        };
        let line = |(row, stack): &(&SiteRow, Vec<String>)| {
            let (part, whole) = match sort {
                Sort::Live => (row.live_bytes, live),
                Sort::Allocated => (row.allocated_bytes, allocated),
            };
            [
                percent(part, whole),
                number(known.live, row.live_bytes),
                number(known.live_objects, row.live_objects),
                number(known.allocated, row.allocated_bytes),
                number(known.allocated_objects, row.allocated_objects),
                family(&row.class_name).into_owned(),
                stack
                    .first()
                    .cloned()
                    .unwrap_or_else(|| "<empty trace>".to_owned()),
            ]
        };
        let lines: Vec<[String; 7]> = rows.iter().map(line).collect();
        let own: Vec<Option<String>> = rows.iter().map(|(row, _)| at_own(row)).collect();
        // The program's method, where that is not the one that allocates.
        let is_other = |(own, line): (&Option<String>, &[String; 7])| {
            own.as_ref().is_some_and(|own| *own != line[6])
        };
        let has_own = !self.stacks && own.iter().zip(&lines).any(is_other);
        let head = [
            ("share", Align::Right),
            ("live bytes", Align::Right),
            (words.objects, Align::Right),
            ("allocated", Align::Right),
            (words.objects, Align::Right),
            (words.class, Align::Left),
            ("at", Align::Left),
        ];
        if has_own {
            let lines: Vec<[String; 8]> = (lines.iter().zip(own))
                .map(
                    |([share, live, objects, allocated, number, class, at], own)| {
                        let numbers = [share, live, objects, allocated, number].map(String::clone);
                        let [share, live, objects, allocated, number] = numbers;
                        let names = [own.unwrap_or_default(), class.clone(), at.clone()];
                        let [own, class, at] = names;
                        [share, live, objects, allocated, number, class, own, at]
                    },
                )
                .collect();
            let [share, live, objects, allocated, number, class, at] = head;
            let own = ("own code", Align::Left);
            let head = [share, live, objects, allocated, number, class, own, at];
            text.push_str(&columns(style, head, &lines));
        } else if !self.stacks {
            text.push_str(&columns(style, head, &lines));
        } else {
            let listing = whole_columns(style, head, &lines);
            let mut listed = listing.lines();
            text.extend(listed.next().map(|head| format!("{head}\n")));
            for (line, (_, stack)) in listed.zip(rows) {
                text.push_str(&format!("{line}\n"));
                for frame in stack.iter().skip(1) {
                    text.push_str(&format!("      {}\n", printable(frame)));
                }
            }
        }
        if all > rows.len() {
            let more = plural((all - rows.len()) as u64, "site", "sites");
            text.push_str(&style.dim(&format!("... {more} more (--top 0 for all)\n")));
        }
        text
    }
}

/// The words for a table of the heap, or of memory outside of it.
#[derive(Debug, Clone, Copy)]
struct Words {
    title: &'static str,
    objects: &'static str,
    class: &'static str,
}

impl Words {
    fn of(table: &SiteTable) -> Self {
        match table.is_native {
            true => Self {
                title: "Memory outside of the heap",
                objects: "blocks",
                class: "function",
            },
            false => Self {
                title: "Allocation sites",
                objects: "objects",
                class: "class",
            },
        }
    }
}

/// Memory that is held for long, the most first, by the last table's remarks.
fn held(contents: &Contents) -> impl Iterator<Item = Held> {
    let all: Vec<Held> = contents
        .comments
        .iter()
        .filter_map(|remark| Held::parse(remark))
        .collect();
    // Each table has a list of its own.
    let last = all.iter().rposition(|held| held.rank == 1).unwrap_or(0);
    all.into_iter().skip(last)
}

/// The innermost method of Java of a stack, and the frame that called the function.
fn places(contents: &Contents, held: &Held) -> (String, String) {
    let frames = contents.stacks.frames_of(held.trace);
    let is_java = |frame: &&FrameIndex| !contents.stacks.frame(**frame).name().starts_with('[');
    let java = frames.iter().find(is_java).or(frames.first());
    let of = |frame: Option<&FrameIndex>| {
        frame.map_or_else(|| "<empty trace>".to_owned(), |&it| shown(contents, it))
    };
    (of(java), of(frames.first()))
}

fn held_text(contents: &Contents) -> String {
    let style = Style::of_stdout();
    let lines: Vec<[String; 6]> = held(contents)
        .map(|held| {
            let (java, at) = places(contents, &held);
            [
                count(held.bytes),
                count(held.blocks),
                format!("{} s", held.oldest_millis / 1000),
                held.function,
                java,
                at,
            ]
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let title = style.bold("Allocated in the first half of the recording, and still held");
    let head = [
        ("bytes", Align::Right),
        ("blocks", Align::Right),
        ("since", Align::Right),
        ("function", Align::Left),
        ("below", Align::Left),
        ("at", Align::Left),
    ];
    format!("\n{title}\n{}", columns(style, head, &lines))
}

fn held_as_json(contents: &Contents, held: &Held) -> Value {
    let frames = contents.stacks.frames_of(held.trace).iter();
    let stack: Vec<String> = frames.map(|&frame| shown(contents, frame)).collect();
    json!({
        "bytes": held.bytes,
        "blocks": held.blocks,
        "oldest_ms": held.oldest_millis,
        "trace": held.trace.get(),
        "function": held.function,
        "stack": stack,
    })
}

/// The numbers of sites that the file tells; profiles of other tools have some of them.
#[derive(Debug, Clone, Copy)]
struct Known {
    live: bool,
    live_objects: bool,
    allocated: bool,
    allocated_objects: bool,
}

impl Known {
    fn of(contents: &Contents) -> Self {
        let has = |measure| {
            let told = contents.weights.as_ref();
            told.is_none_or(|told| told.iter().any(|it| it.measure == measure))
        };
        Self {
            live: has(Measure::LiveBytes),
            live_objects: has(Measure::LiveObjects),
            allocated: has(Measure::AllocatedBytes),
            allocated_objects: has(Measure::AllocatedObjects),
        }
    }
}

/// The bytes of the whole program.
#[derive(Debug, Clone, Copy)]
struct Totals {
    live: u64,
    allocated: u64,
}

impl Totals {
    /// As a binary table has them, as the agent remarks them in text, or else the sums of the rows,
    /// which lack what a cutoff dropped.
    fn of(contents: &Contents, table: &SiteTable) -> Self {
        let of = |value: fn(&SiteRow) -> u64, remark: &str| match &table.totals {
            Some(totals) => value(totals),
            None => cutoff::last(contents, "sites", remark)
                .unwrap_or_else(|| table.rows.iter().map(value).sum()),
        };
        Self {
            live: of(|row| row.live_bytes, "live_bytes"),
            allocated: of(|row| row.allocated_bytes, "allocated_bytes"),
        }
    }
}

/// The frames of a site, innermost first.
fn stack(contents: &Contents, row: &SiteRow) -> Vec<String> {
    let frames = contents.stacks.frames_of(row.trace).iter();
    frames.map(|&frame| shown(contents, frame)).collect()
}

/// The innermost frame of the program.
fn own_frame(contents: &Contents, row: &SiteRow, own: &Own) -> Option<String> {
    let mut frames = contents.stacks.frames_of(row.trace).iter();
    let found = frames.find(|&&frame| own.is_own(contents.stacks.frame(frame)));
    found.map(|&frame| shown(contents, frame))
}

fn shown(contents: &Contents, frame: FrameIndex) -> String {
    let frame = contents.stacks.frame(frame);
    format!("{} ({})", frame.name(), frame.place())
}

fn as_json(row: &SiteRow, stack: &[String], own: Option<String>, known: Known) -> Value {
    let number = |is_known: bool, number: u64| is_known.then_some(number);
    json!({
        "class": row.class_name,
        "trace": row.trace.get(),
        "live_bytes": number(known.live, row.live_bytes),
        "live_objects": number(known.live_objects, row.live_objects),
        "allocated_bytes": number(known.allocated, row.allocated_bytes),
        "allocated_objects": number(known.allocated_objects, row.allocated_objects),
        "own": own,
        "stack": stack,
    })
}

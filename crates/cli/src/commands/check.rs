//! `hprof-rs check`: what is wrong with a file.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::android::LeftOut;
use hprof_analysis::contents::{Dump, ReadError};
use hprof_analysis::graph::Gaps;
use serde_json::json;

use crate::left_out;
use crate::open::{self, Opened, PlainFileArgument};
use crate::render::out::tell;
use crate::render::screen::{Style, bytes, count, plural, print, print_json, printable};

/// Read a whole file and report every place that is damaged.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    #[command(flatten)]
    file: PlainFileArgument,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Exit status:
  0  the file is sound
  1  a part is damaged or missing; the rest can be read
  2  the file cannot be read at all

Examples:
  hprof-rs check heap.hprof && upload heap.hprof
  hprof-rs check --json heap.hprof.gz";

impl Check {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let (opened, input) = match self.file.open_mapped() {
            Ok(opened) => opened,
            Err(error) => {
                tell!("hprof-rs: {error:#}");
                let is_damaged = matches!(error.downcast_ref(), Some(ReadError::Damage(_)));
                return Ok(ExitCode::from(if is_damaged { 1 } else { 2 }));
            }
        };
        let mut missing = missing_parts(&opened);
        let gaps = gaps(&opened, input.mapped().unwrap_or_default());
        missing.extend(gaps.iter().flat_map(|(number, gaps, repeated)| {
            let (number, gaps) = (*number, *gaps);
            let dump = opened.contents.dumps.get(number - 1);
            let missing = dump.map(|dump| LeftOut::of_dump(&opened.contents, dump));
            let lines = left_out::dangling(missing.unwrap_or_default(), gaps);
            let absent = dump.map_or(0, left_out::objects_without_class);
            let broken = gaps.without_class.saturating_sub(absent);
            let lines = lines.into_iter().chain(left_out::broken_classes(broken));
            let lines = lines.chain(left_out::repeated(gaps.repeated_objects, repeated));
            lines.map(move |line| format!("heap dump {number}: {line}"))
        }));
        let old_versions = old_versions(&opened);
        let is_sound = opened.contents.damage.is_empty() && missing.is_empty();
        if self.json {
            print_json(&json!({
                "file": opened.name,
                "is_sound": is_sound,
                "bytes": opened.contents.bytes,
                "damage": opened.contents.damage,
                "instead_of_data": opened.contents.instead_of_data(),
                "missing": missing,
                "old_versions": old_versions,
                "roots": opened.contents.dumps.iter().map(|it| &it.census.roots).collect::<Vec<_>>(),
                "gaps": gaps.iter().map(|(_, gaps, _)| gaps).collect::<Vec<_>>(),
            }))?;
        } else {
            print(&as_text(
                &opened,
                &missing,
                &old_versions,
                Style::of_stdout(),
            ))?;
        }
        Ok(ExitCode::from(u8::from(!is_sound)))
    }
}

/// The gaps of each heap dump, by number from 1, with some of the identifiers that several objects
/// have.
fn gaps(opened: &Opened, file: &[u8]) -> Vec<(usize, Gaps, Vec<u64>)> {
    let bar = open::spinner(opened, "looking up what is referred to");
    let all = Gaps::of_all(file, &opened.contents).into_iter();
    let found = (1..)
        .zip(all)
        .filter_map(|(number, found)| found.map(|(gaps, repeated)| (number, gaps, repeated)));
    let found = found.collect();
    bar.finish_and_clear();
    found
}

/// The missing parts that a complete file has.
fn missing_parts(opened: &Opened) -> Vec<String> {
    let contents = &opened.contents;
    let mut missing = Vec::new();
    missing.extend(left_out::by_counts(contents));
    if contents.lacks_tables() {
        missing.push("the tables of the profile are missing".to_owned());
    }
    for (number, dump) in (1..).zip(&contents.dumps) {
        if !dump.is_ended {
            missing.push(format!(
                "heap dump {number} lacks the record that ends it: it may be incomplete"
            ));
        }
        let unknown = left_out::objects_without_class(dump);
        if unknown > 0 {
            let objects = plural(unknown, "object", "objects");
            missing.push(format!("heap dump {number} lacks the classes of {objects}"));
        }
    }
    missing
}

/// The classes of which the dumps name an old version too, each once.
fn old_versions(opened: &Opened) -> Vec<String> {
    let contents = &opened.contents;
    if contents.is_android() {
        return Vec::new();
    }
    let of_dump = |dump: &Dump| {
        let shapes = &dump.census.shapes;
        contents
            .names
            .old_versions(|class| shapes.contains_key(&class))
    };
    let mut names: Vec<String> = contents.dumps.iter().flat_map(of_dump).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Classes with old versions that are named.
const OLD_VERSIONS: usize = 10;

/// A line on old versions of classes, which are no damage.
fn on_old_versions(names: &[String]) -> Option<String> {
    let first = names.iter().take(OLD_VERSIONS).cloned().collect::<Vec<_>>();
    let more = match names.len().saturating_sub(OLD_VERSIONS) {
        0 => String::new(),
        more => format!(" and {} more", count(more as u64)),
    };
    (!names.is_empty()).then(|| {
        format!(
            "old versions of redefined classes, which HotSpot lists and does not dump: {}{more}",
            first.join(", ")
        )
    })
}

fn as_text(opened: &Opened, missing: &[String], old_versions: &[String], style: Style) -> String {
    let contents = &opened.contents;
    let damage = &contents.damage;
    let mut text = String::new();
    for entry in &damage.entries {
        text.push_str(&format!("{}\n", printable(&entry.message)));
    }
    let left_out = damage.count.saturating_sub(damage.entries.len() as u64);
    if left_out > 0 {
        text.push_str(&format!("... and {} more places\n", count(left_out)));
    }
    for line in missing {
        text.push_str(&format!("{line}\n"));
    }
    if let Some(line) = on_old_versions(old_versions) {
        text.push_str(&format!("{}\n", printable(&line)));
    }
    // A listener makes such files of streams that end early, and says so in their names.
    if let Some(instead) = contents.instead_of_data() {
        text.push_str(&format!("the file holds {instead}\n"));
    }
    let objects: u64 = contents
        .dumps
        .iter()
        .map(|dump| dump.census.objects())
        .sum();
    let records: u64 = contents.records.values().map(|number| number.count).sum();
    let mut read = bytes(contents.bytes);
    if records > 0 {
        read.push_str(&format!(", {}", plural(records, "record", "records")));
    }
    if objects > 0 {
        read.push_str(&format!(", {}", plural(objects, "object", "objects")));
    }
    let verdict = if damage.is_empty() && missing.is_empty() {
        style.bold("sound")
    } else if damage.is_empty() {
        style.warn("incomplete")
    } else {
        let places = plural(damage.count, "place", "places");
        let lost = bytes(damage.lost_bytes);
        style.warn(&format!("damaged in {places}, {lost} not read"))
    };
    text.push_str(&format!(
        "{}: {verdict} ({read})\n",
        printable(&opened.name)
    ));
    text
}

//! `hprof-rs growth`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hprof_analysis::growth::{self, Place};
use hprof_analysis::retained::{RetainedBy, RetainedRow, retained_by};
use serde_json::json;

use crate::render::screen::{
    Align, Style, bytes, columns, count, more, plural, print, print_json, printable, signed,
};
use crate::snapshot::{self, OpenArguments};

/// Show what has grown over two or more dumps of one program, by class.
///
/// Classes that grew from every dump to the next come first; a single growth may be a warm-up. With
/// --fail-above the status is 1 if the retained bytes of a class grew by more than PERCENT.
#[derive(Debug, Args)]
#[command(after_help = GROWTH_EXAMPLES)]
pub struct Growth {
    /// Heap dumps, the oldest first.
    #[arg(value_name = "FILE", num_args = 2.., required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    look: OpenArguments,

    /// The number of rows, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Exit with status 1 if a class that retains 1% of the heap grew by more than PERCENT.
    #[arg(long, value_name = "PERCENT")]
    fail_above: Option<f64>,

    /// Print JSON, with exact numbers.
    #[arg(long)]
    json: bool,
}

const GROWTH_EXAMPLES: &str = "\
Examples:
  hprof-rs growth monday.hprof tuesday.hprof wednesday.hprof
  hprof-rs growth --fail-above 20 before.hprof after.hprof";

/// A class over several dumps.
#[derive(serde::Serialize)]
struct Grown {
    name: String,
    objects: Vec<u64>,
    retained_bytes: Vec<u64>,
    grows_steadily: bool,
}

/// Objects at the end of the same path in several dumps.
#[derive(serde::Serialize)]
struct Held {
    /// Classes.
    path: Vec<String>,
    /// For each of them, the field of the one before that leads to it, where that is of the program.
    fields: Vec<Option<String>>,
    /// The last of these fields, as `Class.field`.
    field: Option<String>,
    #[serde(skip)]
    steps: Vec<String>,
    #[serde(flatten)]
    counts: Counts,
}

/// The objects of a place in several dumps.
#[derive(serde::Serialize)]
struct Counts {
    objects: Vec<u64>,
    bytes: Vec<u64>,
    /// The identifier of one of them in the last dump that has any.
    #[serde(serialize_with = "in_hexadecimal")]
    example: u64,
}

fn in_hexadecimal<S: serde::Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{id:#x}"))
}

/// A step of a path in words: a class, after the field of the step before that leads to it, where that is of the program.
fn step(place: &Place) -> String {
    match &place.field {
        Some(field) => format!("{field}: {}", place.name()),
        None => place.name().into_owned(),
    }
}

/// The last field that a path names, as `Class.field`.
fn last_field(path: &[&Place]) -> Option<String> {
    path.windows(2).rev().find_map(|pair| {
        let (holder, field) = (&pair[0].class, pair[1].field.as_ref()?);
        Some(format!("{holder}.{field}"))
    })
}

/// Paths that are shown.
const PATHS: usize = 10;

impl Held {
    fn new(path: &[&Place], counts: Counts) -> Self {
        Self {
            path: path.iter().map(|it| it.name().into_owned()).collect(),
            fields: path.iter().map(|it| it.field.clone()).collect(),
            field: last_field(path),
            steps: path.iter().map(|it| step(it)).collect(),
            counts,
        }
    }
}

impl Counts {
    /// True if there are never fewer objects than before, and more at the end.
    fn grows(&self) -> bool {
        self.objects.windows(2).all(|pair| pair[1] >= pair[0])
            && self.objects.first() < self.objects.last()
            && self.by() > 0
    }

    fn by(&self) -> u64 {
        let (first, last) = (self.bytes.first(), self.bytes.last());
        last.unwrap_or(&0).saturating_sub(*first.unwrap_or(&0))
    }
}

impl Growth {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let mut classes: BTreeMap<String, Grown> = BTreeMap::new();
        let mut live = Vec::new();
        let mut counts: BTreeMap<u64, Counts> = BTreeMap::new();
        let mut all_places = growth::Places::default();
        for (index, file) in self.files.iter().enumerate() {
            // One at a time, so that memory does not grow with the number of dumps.
            let snapshot = snapshot::open(file, &self.look)?;
            live.push(snapshot.dominators().live_bytes());
            let paths = growth::lasting_paths(&snapshot)?;
            let places = growth::places(&snapshot, &paths)?;
            for (number, place) in places {
                let row = counts.entry(number).or_insert_with(|| Counts {
                    objects: vec![0; self.files.len()],
                    bytes: vec![0; self.files.len()],
                    example: 0,
                });
                row.objects[index] = place.objects;
                row.bytes[index] = place.bytes;
                row.example = snapshot.graph().id(place.example);
                all_places.entry(number).or_insert(place);
            }
            for row in retained_by(&snapshot, RetainedBy::Family)? {
                let RetainedRow {
                    name,
                    objects,
                    retained_bytes,
                    ..
                } = row;
                let grown = classes.entry(name.clone()).or_insert_with(|| Grown {
                    name,
                    objects: vec![0; self.files.len()],
                    retained_bytes: vec![0; self.files.len()],
                    grows_steadily: false,
                });
                grown.objects[index] += objects;
                grown.retained_bytes[index] += retained_bytes;
            }
        }
        let mut rows: Vec<Grown> = classes.into_values().collect();
        for row in &mut rows {
            row.grows_steadily = row.objects.windows(2).all(|pair| pair[1] > pair[0]);
        }
        rows.retain(|row| by(row) > 0);
        rows.sort_by_key(|row| (!row.grows_steadily, Reverse(by(row))));
        let last_live = live.last().copied().unwrap_or(0);
        let is_too_much = |row: &&Grown| {
            let (first, last) = ends(row);
            let limit = self.fail_above.unwrap_or(f64::INFINITY);
            last >= last_live / 100
                && last.saturating_sub(first) as f64 > limit / 100.0 * first as f64
        };
        let failed: Vec<String> = rows
            .iter()
            .filter(is_too_much)
            .map(|row| row.name.clone())
            .collect();
        let all = rows.len();
        rows.truncate(if self.top == 0 { usize::MAX } else { self.top });
        let left_out = all - rows.len();
        let mut counts: Vec<(u64, Counts)> = counts.into_iter().collect();
        counts.retain(|(_, row)| row.grows());
        counts.sort_by_key(|(number, row)| (Reverse(row.by()), *number));
        counts.truncate(if self.top == 0 {
            usize::MAX
        } else {
            self.top.min(PATHS)
        });
        let held = counts.into_iter();
        let held: Vec<Held> = held
            .map(|(number, row)| Held::new(&growth::path(&all_places, number), row))
            .collect();
        let status = ExitCode::from(u8::from(!failed.is_empty()));
        if self.json {
            print_json(&json!({
                "files": self.files,
                "live_bytes": live,
                "classes": rows,
                "rows_left_out": left_out,
                "paths": held,
                "failed": failed,
            }))?;
            return Ok(status);
        }
        let head = [
            ("retained", Align::Right),
            ("by", Align::Right),
            ("objects", Align::Right),
            ("grows", Align::Left),
            ("class", Align::Left),
        ];
        let lines: Vec<_> = rows
            .iter()
            .map(|row| {
                let (first, last) = ends(row);
                let objects: Vec<String> = row.objects.iter().map(|&n| count(n)).collect();
                [
                    bytes(last),
                    signed(i128::from(last) - i128::from(first)),
                    objects.join(" \u{2192} "),
                    if row.grows_steadily { "always" } else { "" }.to_owned(),
                    printable(&row.name),
                ]
            })
            .collect();
        let mut text = match lines.is_empty() {
            true => "No class keeps more memory alive at the end than at the start.\n".to_owned(),
            false => columns(Style::of_stdout(), head, &lines) + &more(left_out),
        };
        let live: Vec<String> = live.iter().map(|&live| bytes(live)).collect();
        text.push_str(&format!("Live: {}\n", live.join(" \u{2192} ")));
        if !held.is_empty() {
            let style = Style::of_stdout();
            text.push_str(&format!(
                "\n{}\n",
                style.bold("Where it grows, by the path from the roots")
            ));
        }
        for (place, row) in held.iter().enumerate() {
            let Counts {
                objects, example, ..
            } = &row.counts;
            let objects: Vec<String> = objects.iter().map(|&n| count(n)).collect();
            let field = row.field.as_ref();
            text.push_str(&format!(
                "{}. +{}{} in objects {}, such as {example:#x}\n",
                place + 1,
                bytes(row.counts.by()),
                field.map_or_else(String::new, |it| format!(" by {}", printable(it))),
                objects.join(" \u{2192} "),
            ));
            let (shared, with) = shared_steps(&held[..place], &row.steps);
            if let Some(last) = row.steps.get(shared.wrapping_sub(1)) {
                let last = printable(last);
                text.push_str(&format!("  as {} down to {last}, then\n", with + 1));
            }
            for (depth, name) in row.steps.iter().enumerate().skip(shared) {
                text.push_str(&format!("  {:depth$}{}\n", "", printable(name)));
            }
        }
        if let Some(first) = failed.first() {
            text.push_str(&format!(
                "Too much growth: {}, the first being {}\n",
                plural(failed.len() as u64, "class", "classes"),
                printable(first)
            ));
        }
        print(&text)?;
        Ok(status)
    }
}

/// The number of steps that a path need not repeat, and the place of the row that shows them. A step or two are shorter
/// than a sentence about them.
fn shared_steps(before: &[Held], path: &[String]) -> (usize, usize) {
    let shared = |row: &Held| {
        let both = row.steps.iter().zip(path);
        both.take_while(|(one, other)| one == other).count()
    };
    let found = before.iter().map(shared).enumerate();
    let found = found.max_by_key(|&(place, steps)| (steps, Reverse(place)));
    match found {
        Some((place, steps)) if steps > 2 => (steps, place),
        _ => (0, 0),
    }
}

fn ends(row: &Grown) -> (u64, u64) {
    let first = row.retained_bytes.first().copied().unwrap_or(0);
    let last = row.retained_bytes.last().copied().unwrap_or(0);
    (first, last)
}

fn by(row: &Grown) -> i128 {
    let (first, last) = ends(row);
    i128::from(last) - i128::from(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_row_that_shows_their_beginning() {
        let path = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let held = |text: &str| Held {
            path: Vec::new(),
            fields: Vec::new(),
            field: None,
            steps: path(text),
            counts: Counts {
                objects: Vec::new(),
                bytes: Vec::new(),
                example: 0,
            },
        };
        let before = [held("a b c d"), held("a b c e f"), held("a b c e f")];
        assert_eq!(shared_steps(&before, &path("a b c e f g")), (5, 1));
        assert_eq!(shared_steps(&before, &path("a b c x")), (3, 0));
        assert_eq!(shared_steps(&before, &path("a b x")), (0, 0));
        assert_eq!(shared_steps(&[], &path("a b c d")), (0, 0));
    }
}

//! The page: tables of cells, with the agent's and the VM's lines as notes below.

use std::fmt::Write;

use crate::cell::{Cell, Lost};
use crate::command::USES;
use crate::mode::MODES;

/// A table: its first column, then one column per JDK.
pub struct Table {
    /// Headline.
    pub title: String,
    /// Name of the first column.
    pub corner: &'static str,
    /// Name and cells of each row.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// Samples that lack their stack: name and figures of each row.
pub type LostRows = Vec<(String, Vec<Option<Lost>>)>;

const HEAD: &str = "# Which mode runs on which JDK

`scripts/jdk-matrix` makes this page: it runs each mode on each JDK with a program whose figures are known, and compares the
profile with them. It fails where a figure differs, so each cell is one of these:

- **exact**: all figures are those of the program, and the agent printed no remark.
- **fallback** (*n*): the figures are right, but the agent gets them in another way, as it says in the line *n* [below](#notes).
- **lossy** (*n*): the shares are right, but more samples lack their stack than in the other cells.
- **not possible** (*n*): the VM or the agent refuses, for the reason *n*.

Each JVM ran with a heap of 128 MB on Linux, x86-64.
";

/// The notes of a page: each text once, numbered from 1.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn number(&mut self, text: &str) -> usize {
        let found = self.0.iter().position(|it| it == text);
        1 + found.unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        })
    }

    fn show(&mut self, cell: &Cell) -> String {
        match cell {
            Cell::Exact => "exact".to_owned(),
            Cell::Fallback(line) => format!("fallback ({})", self.number(line)),
            Cell::NotPossible(why) => format!("not possible ({})", self.number(why)),
            Cell::Lossy(lost) => format!("lossy ({})", self.number(lost)),
            Cell::Wrong(what) => format!("**wrong** ({})", self.number(what)),
        }
    }
}

/// The page as Markdown. `versions` are the columns.
pub fn page(versions: &[String], tables: &[Table], lost: &LostRows) -> String {
    let mut text = HEAD.to_owned();
    let mut notes = Notes::default();
    for table in tables {
        let _ = write!(text, "\n## {}\n\n", table.title);
        head(&mut text, table.corner, versions);
        for (name, cells) in &table.rows {
            let cells: Vec<String> = cells.iter().map(|cell| notes.show(cell)).collect();
            let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
        }
    }
    text.push_str("\n## Samples without their whole stack\n\nOf the samples in the program's own methods, in these runs. ");
    text.push_str("They differ a little from run to run.\n\n");
    head(&mut text, "Mode", versions);
    for (name, figures) in lost {
        let cells: Vec<String> = figures.iter().map(|it| show_lost(*it)).collect();
        let _ = writeln!(text, "| `{name}` | {} |", cells.join(" | "));
    }
    text.push_str("\n## Compared figures\n\n| Mode | Program of `java-test-harness/java` | Compared |\n|---|---|---|\n");
    for mode in MODES {
        let (name, program) = (mode.name, mode.program.join(" "));
        let _ = writeln!(text, "| `{name}` | `{program}` | {} |", mode.compares);
    }
    for it in USES {
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {} |",
            it.name, it.program, it.compares
        );
    }
    text.push_str("\n## Notes\n\n");
    for (index, note) in notes.0.iter().enumerate() {
        let _ = writeln!(text, "{}. `{}`", index + 1, note.replace('`', "'"));
    }
    text
}

fn head(text: &mut String, corner: &str, versions: &[String]) {
    let _ = writeln!(text, "| {corner} | {} |", versions.join(" | "));
    let _ = writeln!(text, "|---{}|", "|---".repeat(versions.len()));
}

fn show_lost(figures: Option<Lost>) -> String {
    match figures {
        Some(Lost { lost, all }) if all > 0 => {
            format!("{lost} of {all}, {:.1} %", 100.0 * lost as f64 / all as f64)
        }
        _ => "not taken".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_one_note() {
        let line = |text: &str| text.to_owned();
        let cells = vec![
            Cell::Exact,
            Cell::Fallback(line("HPROF: slow")),
            Cell::NotPossible(line("HPROF: slow")),
            Cell::Wrong(line("3, not 4")),
        ];
        let table = Table {
            title: line("Modes"),
            corner: "Mode",
            rows: vec![(line("`a`"), cells)],
        };
        let versions = ["8", "11", "17", "28"].map(str::to_owned);
        let lost = vec![(
            line("a"),
            vec![None, Some(Lost { lost: 1, all: 8 }), None, None],
        )];
        let text = page(&versions, &[table], &lost);
        let row = "| `a` | exact | fallback (1) | not possible (1) | **wrong** (2) |\n";
        assert!(text.contains(row), "{text}");
        assert!(
            text.contains("| `a` | not taken | 1 of 8, 12.5 % | not taken"),
            "{text}"
        );
        assert!(
            text.ends_with("1. `HPROF: slow`\n2. `3, not 4`\n"),
            "{text}"
        );
    }
}

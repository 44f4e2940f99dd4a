//! The report in Markdown.

use std::fmt::Write;

use hprof_analysis::paths::{Line, Path};

use super::Report;
use crate::left_out::kept_alive;
use crate::render::screen::{bytes, count, percent, printable};

/// The report in Markdown, for tickets and merge requests.
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(report, &mut text);
    text
}

fn write(report: &Report, out: &mut String) -> std::fmt::Result {
    let summary = &report.summary;
    writeln!(out, "# Heap report: {}\n", cell(&report.file))?;
    for note in &report.notes {
        writeln!(out, "> {}\n", cell(note))?;
    }
    writeln!(
        out,
        "{} alive in {} objects of {} classes; {} not reached from roots; {} threads.\n",
        bytes(summary.live_bytes),
        count(summary.live_objects),
        count(summary.classes),
        bytes(summary.unreached_bytes),
        count(summary.threads)
    )?;
    if let Some(facts) = &report.android {
        for (name, value) in facts.lines() {
            writeln!(out, "- {name}: {}", cell(&value))?;
        }
        writeln!(out)?;
    }
    if !report.dead_objects.is_empty() {
        writeln!(out, "## Objects that should be gone\n")?;
    }
    for trace in &report.dead_objects {
        let last = trace.path.end().map_or("", |step| &step.description);
        writeln!(
            out,
            "### {} x {}, {}\n",
            count(trace.count),
            cell(last),
            kept_alive(trace)
        )?;
        if let Some(leak) = trace.library_leak {
            writeln!(out, "A known leak of Android itself: {leak}.\n")?;
        }
        path(&trace.path, out)?;
    }
    writeln!(out, "## Leak suspects\n")?;
    for (index, suspect) in report.leaks.suspects.iter().enumerate() {
        writeln!(out, "### {}. {}\n", index + 1, cell(&suspect.headline))?;
        for sentence in &suspect.sentences {
            writeln!(out, "- {}", cell(sentence))?;
        }
        writeln!(out)?;
        path(&suspect.suspect.path, out)?;
    }
    writeln!(
        out,
        "## Classes\n\n| Share | Retained | Shallow | Objects | Class |\n|--:|--:|--:|--:|---|"
    )?;
    for row in report.classes.iter().take(30) {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            percent(row.retained_bytes, summary.live_bytes),
            bytes(row.retained_bytes),
            bytes(row.shallow_bytes),
            count(row.objects),
            code(&row.name)
        )?;
    }
    writeln!(
        out,
        "\n## Largest objects\n\n| Retained | Object | Id |\n|--:|---|---|"
    )?;
    for row in report.objects.iter().take(20) {
        let retained = bytes(row.retained_bytes);
        writeln!(
            out,
            "| {retained} | {} | {} |",
            cell(&row.description),
            row.id
        )?;
    }
    writeln!(
        out,
        "\n## Threads\n\n| Retained | Thread | Top of the stack |\n|--:|---|---|"
    )?;
    for thread in report.threads.iter().take(30) {
        writeln!(
            out,
            "| {} | {} | {} |",
            bytes(thread.retained_bytes),
            cell(&thread.name),
            thread
                .stack
                .first()
                .map_or(String::new(), |frame| cell(frame))
        )?;
    }
    writeln!(
        out,
        "\n## Equal strings and arrays\n\n| Wasted | Times | Content |\n|--:|--:|---|"
    )?;
    for group in report.duplicates.groups.iter().take(20) {
        let short: String = group.preview.chars().take(60).collect();
        writeln!(
            out,
            "| {} | {} | {} |",
            bytes(group.wasted_bytes),
            count(group.count),
            cell(&short)
        )?;
    }
    writeln!(out, "\n{}", report.model)
}

/// A path as a block of lines; the middle of long ones is left out.
fn path(path: &Path, out: &mut String) -> std::fmt::Result {
    writeln!(out, "```\n{}", printable(&path.root))?;
    for line in path.lines(15) {
        let step = match line {
            Line::Step(step) => step,
            Line::More(left_out) => {
                writeln!(out, "... {} more", count(left_out))?;
                continue;
            }
        };
        let edge = step
            .edge
            .as_ref()
            .map_or(String::new(), |edge| format!("{edge} -> "));
        writeln!(
            out,
            "{}{} ({}, keeps {})",
            printable(edge.trim_start()),
            printable(&step.description),
            step.id,
            bytes(step.retained_bytes)
        )?;
    }
    writeln!(out, "```\n")
}

/// Text as code in a table's cell, where only a pipe needs an escape: entities would be shown as they are written.
fn code(text: &str) -> String {
    let text = printable(text).replace('|', "\\|");
    if !text.contains('`') {
        return format!("`{text}`");
    }
    // A longer row of backticks than any within.
    let fence = "`".repeat(1 + text.split(|c| c != '`').map(str::len).max().unwrap_or(0));
    format!("{fence} {text} {fence}")
}

/// Text that cannot break out of a table's cell.
fn cell(text: &str) -> String {
    printable(text)
        .replace('|', "\\|")
        .replace('`', "'")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_no_entities_and_no_way_out() {
        assert_eq!(code("a.B<init>&[]"), "`a.B<init>&[]`");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(code("`"), "`` ` ``");
    }
}

//! The report in Markdown.

use std::fmt::Write;

use hprof_analysis::leaks::{Filling, Finding, Holder, Subject, Suspect};
use hprof_analysis::paths::{Line, Path};

use super::Report;
use crate::left_out::kept_alive;
use crate::render::screen::{bytes, count, percent, plural, printable};
use crate::suspects;

/// The report in Markdown, for tickets and merge requests.
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(report, &mut text);
    text
}

fn write(report: &Report, out: &mut String) -> std::fmt::Result {
    let summary = &report.summary;
    writeln!(out, "# Heap report: {}\n", code(&report.file))?;
    for note in &report.notes {
        writeln!(out, "> {}\n", prose(note))?;
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
    if let Some(direct) = summary.direct_buffers.filter(|it| it.buffers > 0) {
        let buffers = plural(direct.buffers, "direct buffer holds", "direct buffers hold");
        let capacity = bytes(direct.capacity);
        writeln!(out, "{buffers} {capacity} outside of the heap.\n")?;
    }
    if let Some(facts) = &report.android {
        for (name, value) in facts.lines() {
            writeln!(out, "- {name}: {}", code(&value))?;
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
            code(last),
            prose(&kept_alive(trace))
        )?;
        if let Some(leak) = trace.library_leak {
            writeln!(out, "A known leak of Android itself: {leak}.\n")?;
        }
        path(&trace.path, out)?;
    }
    if !report.observations.is_empty() {
        writeln!(out, "## Observations\n")?;
    }
    for said in &report.observations {
        writeln!(out, "- **{}**", prose(&said.headline))?;
        for sentence in &said.sentences {
            writeln!(out, "  - {}", prose(sentence))?;
        }
    }
    if !report.observations.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "## Leak suspects\n")?;
    if report.leaks.suspects.is_empty() {
        writeln!(
            out,
            "{}\n",
            prose(&suspects::nothing(report.leaks.threshold))
        )?;
    }
    let shown = report.leaks.suspects.iter().chain(&report.leaks.largest);
    for (index, suspect) in shown.enumerate() {
        let (headline, sentences) = in_words(&suspect.suspect);
        writeln!(out, "### {}. {headline}\n", index + 1)?;
        for sentence in sentences {
            writeln!(out, "- {sentence}")?;
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
            code_cell(&row.name)
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
            code_cell(&row.description),
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
            code_cell(&thread.name),
            thread
                .stack
                .first()
                .map_or(String::new(), |frame| code_cell(frame))
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
            code_cell(&short)
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

/// A name from the dump, which nothing outside of it can be taken for, in a line.
fn code(text: &str) -> String {
    let text = printable(text);
    if text.trim().is_empty() {
        return String::new();
    }
    // Blanks at the ends would be taken off.
    let is_plain = !text.contains('`') && text.trim() == text;
    if is_plain {
        return format!("`{text}`");
    }
    // A longer row of backticks than any within.
    let fence = "`".repeat(1 + text.split(|c| c != '`').map(str::len).max().unwrap_or(0));
    format!("{fence} {text} {fence}")
}

/// A name from the dump in a table's cell, where a pipe needs an escape even in code. Entities would
/// be shown as they are written.
fn code_cell(text: &str) -> String {
    let text = code(text);
    let mut cell = String::with_capacity(text.len());
    let mut backslashes = 0;
    for c in text.chars() {
        if c == '|' {
            // Those in front would escape each other, and the last of them not the pipe.
            cell.push_str(&"\\".repeat(backslashes + 1));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        cell.push(c);
    }
    cell
}

/// A sentence of this command, in which nothing is mark-up.
fn prose(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        if r"\`*_[]<>|~&!#".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Headline and sentences on a suspect, with all names as code.
fn in_words(suspect: &Suspect) -> (String, Vec<String>) {
    let mut suspect = suspect.clone();
    let each = |names: &mut Vec<String>| names.iter_mut().for_each(set_code);
    let Finding {
        subject,
        holder,
        field,
        statics,
        filling,
        ..
    } = &mut suspect.finding;
    each(statics);
    match subject {
        Subject::Object(description) => {
            // The sentence on a class begins with that word, which is no part of a name.
            let words = description.detail.take();
            if let Some(words) = words {
                description.class = format!("{} {words}", description.class);
            }
            set_code(&mut description.class);
        }
        Subject::Group(name)
        | Subject::Alike(name)
        | Subject::ThreadLocals(name)
        | Subject::HiddenClasses(name) => set_code(name),
        Subject::Threads { name, class, .. } => {
            name.iter_mut().for_each(set_code);
            if !class.starts_with("java.lang.") {
                set_code(class);
            }
        }
    }
    match holder {
        Holder::None => {}
        Holder::ThreadLocal { variable, threads } => {
            (variable.iter_mut()).for_each(|field| set_code(&mut field.name));
            threads.iter_mut().for_each(set_code);
        }
        Holder::Threads {
            local,
            through,
            field,
            method,
            value,
            ..
        } => {
            local.iter_mut().for_each(set_code);
            field.iter_mut().for_each(set_code);
            each(through);
            method.iter_mut().for_each(set_code);
            set_code(value);
        }
        Holder::Static { field, through } => {
            set_code(field);
            each(through);
        }
        Holder::Root { local, through } => {
            local.iter_mut().for_each(set_code);
            each(through);
        }
    }
    (field.iter_mut()).for_each(|field| set_code(&mut field.name));
    if let Some(Filling::Objects {
        class,
        nodes,
        within,
        copies,
        references,
        ..
    }) = filling
    {
        (references.iter_mut()).for_each(|it| set_code(&mut it.class));
        set_code(class);
        (within.iter_mut()).for_each(|within| set_code(&mut within.class));
        nodes.iter_mut().for_each(set_code);
        (copies.iter_mut()).for_each(|copies| set_code(&mut copies.example_class));
    }
    set_code(&mut suspect.path.root);
    (suspect.contents.iter_mut()).for_each(|share| set_code(&mut share.name));
    for site in &mut suspect.sites {
        each(&mut site.stack);
    }
    (suspects::headline(&suspect), suspects::sentences(&suspect))
}

fn set_code(name: &mut String) {
    *name = code(name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_no_entities_and_no_way_out() {
        assert_eq!(code("a.B<init>&[]"), "`a.B<init>&[]`");
        assert_eq!(code("a|b"), "`a|b`");
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(" a"), "`  a `");
        assert_eq!(code(" "), "");
        assert_eq!(code_cell("a|b"), r"`a\|b`");
        assert_eq!(code_cell(r"a\|b"), r"`a\\\|b`");
        assert_eq!(code_cell(r"a\b|"), r"`a\b\|`");
    }

    #[test]
    fn sentences_hold_no_mark_up() {
        assert_eq!(prose("a_b [x](y) <z> |"), r"a\_b \[x\](y) \<z\> \|");
    }
}

//! Findings as text and Markdown.

use std::fmt::Write as _;

use hprof_findings::{Finding, Level};

use super::Judged;
use crate::render::foreign::printable;
use crate::render::screen::{Style, plural};

/// Findings for a terminal.
pub fn text(judged: &Judged, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&summary(judged)));
    for note in &judged.notes {
        let _ = writeln!(text, "{}", printable(note));
    }
    if let Some(change) = &judged.change_sentence {
        let _ = writeln!(text, "{}", printable(change));
    }
    for finding in judged.findings.alarms() {
        let level = style.warn(finding.level.name());
        let _ = writeln!(text, "\n{level}: {}", printable(&finding.headline));
        for line in [&finding.cause, &finding.next].into_iter().flatten() {
            let _ = writeln!(text, "    {}", printable(line));
        }
    }
    let healthy: Vec<&Finding> = healthy(judged).collect();
    if !healthy.is_empty() {
        text.push('\n');
    }
    for finding in healthy {
        let _ = writeln!(
            text,
            "{}: {}",
            style.dim("OK"),
            printable(&finding.headline)
        );
    }
    for line in not_judged(judged) {
        let _ = writeln!(text, "{}", style.dim(&line));
    }
    text
}

/// Findings as Markdown.
pub fn markdown(judged: &Judged) -> String {
    let mut text = format!("# {}\n", summary(judged));
    for note in &judged.notes {
        let _ = writeln!(text, "\n{note}");
    }
    if let Some(change) = &judged.change_sentence {
        let _ = writeln!(text, "\n{}", escaped(change));
    }
    for finding in judged.findings.alarms() {
        let _ = writeln!(
            text,
            "\n## {}: {}",
            finding.level.name(),
            escaped(&finding.headline)
        );
        for line in [&finding.cause, &finding.next].into_iter().flatten() {
            let _ = writeln!(text, "\n{}", escaped(line));
        }
    }
    let lines: Vec<String> = healthy(judged)
        .map(|finding| format!("- OK: {}", escaped(&finding.headline)))
        .chain(not_judged(judged).map(|line| format!("- {line}")))
        .collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{}", lines.join("\n"));
    }
    text
}

fn healthy(judged: &Judged) -> impl Iterator<Item = &Finding> {
    let all = judged.findings.findings.iter();
    all.filter(|finding| finding.level == Level::Ok)
}

fn summary(judged: &Judged) -> String {
    let file = printable(&judged.file);
    let seconds = judged.findings.seconds;
    let seconds = seconds.map_or_else(String::new, |it| match it {
        short if short < 0.95 => format!(" in {:.0} ms", short * 1000.0),
        seconds => format!(" in {seconds:.1} s"),
    });
    let count = |level| {
        let all = judged.findings.alarms();
        all.filter(|finding| finding.level == level).count() as u64
    };
    match (count(Level::Serious), count(Level::Warning)) {
        (0, 0) if judged.findings.findings.is_empty() => format!("{file}: nothing could be judged"),
        (0, 0) => format!("{file}: nothing is noteworthy{seconds}"),
        (serious, warnings) => format!(
            "{file}: {} and {}{seconds}",
            plural(serious, "serious finding", "serious findings"),
            plural(warnings, "warning", "warnings")
        ),
    }
}

fn not_judged(judged: &Judged) -> impl Iterator<Item = String> {
    let all = judged.findings.not_judged.iter();
    all.map(|it| {
        let needs = it.needs.join(", ");
        format!(
            "not judged: {}, as the recording lacks events of: {needs}",
            it.rule
        )
    })
}

/// Text whose characters mean nothing in Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(char, '*' | '_' | '<' | '>' | '[' | ']' | '|' | '\\') {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

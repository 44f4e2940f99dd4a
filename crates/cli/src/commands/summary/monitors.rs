//! The monitors of a profile: its last dump, and calls of `Object.wait`.

use hprof_analysis::contents::Contents;
use serde_json::{Value, json};

use crate::render::screen::{Align, Style, columns, count, plural};

/// The monitors in words and a table; empty if the file has none.
pub fn text(contents: &Contents, rows: usize, style: Style) -> String {
    let mut text = String::new();
    if let Some(last) = contents.monitor_dumps.last() {
        let title = match contents.monitor_dumps.len() {
            1 => "Monitor dump".to_owned(),
            dumps => format!("Last of {} monitor dumps", count(dumps as u64)),
        };
        let blocked = match last.blocked() as u64 {
            0 => "no thread waits to enter one".to_owned(),
            1 => "1 thread waits to enter one".to_owned(),
            threads => format!("{} threads wait to enter one", count(threads)),
        };
        text.push_str(&format!(
            "\n{}: {}, {} in use, {blocked}; `hprof-rs stacks` shows who holds which\n",
            style.bold(&title),
            plural(last.threads.len() as u64, "thread", "threads"),
            plural(last.monitors.len() as u64, "monitor", "monitors"),
        ));
    }
    if !contents.waits.is_empty() {
        let all = contents.waits.by_class();
        let calls: u64 = all.iter().map(|sum| sum.begun.max(sum.ended)).sum();
        let millis: u64 = all.iter().map(|sum| sum.millis).sum();
        text.push_str(&format!(
            "\n{}: {}, {} ms\n",
            style.bold("Waits for notifications (Object.wait)"),
            plural(calls, "call", "calls"),
            count(millis),
        ));
        let cells: Vec<[String; 4]> = (all.iter().take(rows))
            .map(|sum| {
                let open = sum.begun.saturating_sub(sum.ended);
                [
                    count(sum.millis),
                    count(sum.ended),
                    count(open),
                    sum.class.clone(),
                ]
            })
            .collect();
        let head = [
            ("ms", Align::Right),
            ("ended", Align::Right),
            ("under way", Align::Right),
            ("class", Align::Left),
        ];
        text.push_str(&columns(style, head, &cells));
    }
    text
}

/// A line that says which commands show them; empty if the file has none.
pub fn pointer(contents: &Contents, style: Style) -> String {
    let dumps = contents.monitor_dumps.len() as u64;
    let mut parts = Vec::new();
    if dumps > 0 {
        let dumps = plural(dumps, "monitor dump", "monitor dumps");
        parts.push(format!(
            "{dumps} (`hprof-rs stacks` shows who holds which lock)"
        ));
    }
    if !contents.waits.is_empty() {
        parts.push("calls of Object.wait one by one (`hprof-rs summary` sums them)".to_owned());
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!(
            "{}\n",
            style.dim(&format!("The file also has {}", parts.join(" and ")))
        ),
    }
}

/// The monitors as JSON: the last dump in numbers, and calls of `Object.wait` by class.
pub fn as_json(contents: &Contents) -> Value {
    let last = contents.monitor_dumps.last();
    json!({
        "dumps": contents.monitor_dumps.len(),
        "last_dump": last.map(|dump| json!({
            "threads": dump.threads.len(), "monitors": dump.monitors.len(), "blocked": dump.blocked(),
        })),
        "waits": contents.waits.by_class(),
    })
}

//! Thread dumps in tables.

use std::collections::BTreeMap;

use hprof_thread_dumps::{Deadlock, Moved, Report, StackGroup, State};

use crate::render::screen::{Align, Style, columns, count, more, percent, plural, printable};
use crate::render::table::wrapping_facts;

/// Frames of a group.
const FRAMES: usize = 12;
/// Names in a row.
const NAMES: usize = 4;

/// A report on one screen or more.
pub fn all(report: &Report, top: usize, style: Style) -> String {
    let circles = report.deadlocks.iter();
    let mut text: String = circles.map(|it| circle(it, style) + "\n").collect();
    text.push_str(&wrapping_facts(about(report)));
    if report.dumps.len() > 1 {
        text.push_str(&dumps(report, top, style));
    }
    if let Some(moved) = &report.moved {
        text.push_str(&changes(moved, top, style));
    }
    if !report.locks.is_empty() {
        text.push_str(&locks(report, top, style));
    }
    text.push_str(&pools(report, top, style));
    text.push_str(&stacks(report, top, style));
    text
}

fn about(report: &Report) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut add = |name: &str, value: String| rows.push((name.to_owned(), value));
    if report.dumps.len() > 1 {
        let times = report.dumps.iter().filter_map(|dump| dump.time.clone());
        let times: Vec<String> = times.collect();
        let times = match (times.first(), times.last()) {
            (Some(first), Some(last)) => format!(", {first} to {last}; the tables are of the last"),
            _ => "; the tables are of the last".to_owned(),
        };
        add(
            "Dumps",
            format!("{}{times}", count(report.dumps.len() as u64)),
        );
    }
    if let Some(last) = report.dumps.last() {
        let jvm = [last.jvm.clone(), last.time.clone()];
        let jvm: Vec<String> = jvm.into_iter().flatten().collect();
        if !jvm.is_empty() {
            add("JVM", jvm.join(", "));
        }
        let of_these = match last.virtual_threads {
            0 => String::new(),
            count => format!(", {} virtual", self::count(count as u64)),
        };
        add(
            "Threads",
            format!(
                "{}{of_these}: {}",
                count(last.threads as u64),
                states(&last.states)
            ),
        );
    }
    let deadlocks = plural(report.deadlocks.len() as u64, "deadlock", "deadlocks");
    let unknown = match report.dumps.last().map_or(0, |last| last.without_locks) {
        0 => String::new(),
        some => format!(
            "; the locks of {} are unknown, as JDKs before 24 write none",
            plural(some as u64, "virtual thread", "virtual threads")
        ),
    };
    add(
        "Locks",
        format!(
            "{deadlocks}, {} contended{unknown}",
            count(contended(report))
        ),
    );
    rows
}

/// The dumps with their times.
fn dumps(report: &Report, top: usize, style: Style) -> String {
    let shown = limit(top, report.dumps.len());
    let rows: Vec<[String; 4]> = (report.dumps[..shown].iter().zip(1_u64..))
        .map(|(dump, number)| {
            [
                count(number),
                dump.time.clone().unwrap_or_else(|| "-".to_owned()),
                count(dump.threads as u64),
                states(&dump.states),
            ]
        })
        .collect();
    let head = [
        ("dump", Align::Right),
        ("time", Align::Left),
        ("threads", Align::Right),
        ("states", Align::Left),
    ];
    let more = more(report.dumps.len() - shown);
    format!(
        "\n{}\n{}{more}",
        style.bold("Dumps"),
        columns(style, head, &rows)
    )
}

fn contended(report: &Report) -> u64 {
    report
        .locks
        .iter()
        .filter(|lock| lock.owner.is_some())
        .count() as u64
}

fn states(states: &BTreeMap<State, usize>) -> String {
    let mut rows: Vec<_> = states.iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let rows = rows.into_iter();
    let words = rows.map(|(state, threads)| format!("{} {}", count(*threads as u64), state.name()));
    words.collect::<Vec<_>>().join(", ")
}

fn circle(deadlock: &Deadlock, style: Style) -> String {
    let by = match deadlock.is_reported {
        true => "",
        false => ", inferred from their locks",
    };
    let threads = plural(deadlock.steps.len() as u64, "thread", "threads");
    let title = style.warn(&format!("Deadlock of {threads}{by}"));
    let mut text = format!("{title}\n");
    for step in &deadlock.steps {
        // In JSON dumps the class is a part of it.
        let lock = match step.lock_id.starts_with(&*step.lock) {
            true => step.lock_id.clone(),
            false => format!("{} {}", step.lock, step.lock_id),
        };
        let lock = match lock.trim() {
            "" => "a lock".to_owned(),
            lock => printable(lock),
        };
        text.push_str(&format!(
            "  {} waits for {lock}, which {} holds\n",
            quoted(&step.thread),
            quoted(&step.owner)
        ));
        for frame in step.frames.iter().take(FRAMES) {
            text.push_str(&format!("    at {}\n", printable(frame)));
        }
        if step.frames.len() > FRAMES {
            let left = plural((step.frames.len() - FRAMES) as u64, "frame", "frames");
            text.push_str(&style.dim(&format!("    ... {left} more\n")));
        }
    }
    text
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", printable(name))
}

fn limit(top: usize, rows: usize) -> usize {
    if top == 0 { rows } else { top.min(rows) }
}

fn changes(moved: &Moved, top: usize, style: Style) -> String {
    let span = moved
        .elapsed_ms
        .map(|millis| format!(" in {:.1} s", millis / 1000.0));
    let mut text = format!(
        "\n{}\n{} began, {} ended, {} waited in one place\n",
        style.bold(&format!("What moved{}", span.unwrap_or_default())),
        plural(moved.started as u64, "thread", "threads"),
        count(moved.ended as u64),
        count(moved.idle as u64)
    );
    if !moved.busy.is_empty() {
        let shown = limit(top, moved.busy.len());
        let rows: Vec<[String; 4]> = (moved.busy[..shown].iter())
            .map(|busy| {
                let share = busy.share.map(|share| format!("{:.1}%", 100.0 * share));
                let share = share.unwrap_or_default();
                [
                    millis(busy.cpu_ms),
                    share,
                    busy.name.clone(),
                    busy.frame.clone(),
                ]
            })
            .collect();
        let head = [
            ("cpu", Align::Right),
            ("of the time", Align::Right),
            ("thread", Align::Left),
            ("frame", Align::Left),
        ];
        text.push_str(&columns(style, head, &rows));
        text.push_str(&more(moved.busy.len() - shown));
    }
    if !moved.stuck.is_empty() {
        let shown = limit(top, moved.stuck.len());
        let rows: Vec<[String; 4]> = (moved.stuck[..shown].iter())
            .map(|stuck| {
                let owner = stuck.owner.as_ref().map(|owner| format!(" by {owner}"));
                let state = format!("{}{}", stuck.state.name(), owner.unwrap_or_default());
                let cpu = stuck.cpu_ms.map(millis).unwrap_or_default();
                [cpu, stuck.name.clone(), state, stuck.frame.clone()]
            })
            .collect();
        let head = [
            ("cpu", Align::Right),
            ("stays in one place", Align::Left),
            ("state", Align::Left),
            ("frame", Align::Left),
        ];
        text.push('\n');
        text.push_str(&columns(style, head, &rows));
        text.push_str(&more(moved.stuck.len() - shown));
    }
    text
}

fn locks(report: &Report, top: usize, style: Style) -> String {
    let shown = limit(top, report.locks.len());
    let rows: Vec<[String; 4]> = (report.locks[..shown].iter())
        .map(|lock| {
            let owner = lock.owner.clone();
            [
                count(lock.waiting as u64),
                owner.unwrap_or_else(|| "-".to_owned()),
                format!("{} {}", lock.lock.class, lock.lock.id),
                some(&lock.names, lock.waiting),
            ]
        })
        .collect();
    let head = [
        ("waiting", Align::Right),
        ("held by", Align::Left),
        ("lock", Align::Left),
        ("who waits", Align::Left),
    ];
    let more = more(report.locks.len() - shown);
    format!(
        "\n{}\n{}{more}",
        style.bold("Locks"),
        columns(style, head, &rows)
    )
}

/// Some names, and how many more there are.
fn some(names: &[String], all: usize) -> String {
    let shown = names.len().min(NAMES);
    let text = names[..shown].join(", ");
    match all - shown {
        0 => text,
        left => format!("{text}, {} more", count(left as u64)),
    }
}

fn pools(report: &Report, top: usize, style: Style) -> String {
    let shown = limit(top, report.pools.len());
    let rows: Vec<[String; 5]> = (report.pools[..shown].iter())
        .map(|pool| {
            [
                count(pool.threads as u64),
                pool.cpu_ms.map(millis).unwrap_or_default(),
                pool.name.clone(),
                states(&pool.states),
                pool.frame.clone(),
            ]
        })
        .collect();
    let head = [
        ("threads", Align::Right),
        ("cpu", Align::Right),
        ("pool", Align::Left),
        ("states", Align::Left),
        ("most are in", Align::Left),
    ];
    let more = more(report.pools.len() - shown);
    format!(
        "\n{}\n{}{more}",
        style.bold("Pools"),
        columns(style, head, &rows)
    )
}

fn stacks(report: &Report, top: usize, style: Style) -> String {
    let groups: Vec<&StackGroup> = report
        .stacks
        .iter()
        .filter(|it| !it.frames.is_empty())
        .collect();
    let shown = limit(top, groups.len());
    let total: usize = report.dumps.last().map_or(0, |dump| dump.threads);
    let mut text = format!("\n{}\n", style.bold("Stacks"));
    for group in &groups[..shown] {
        let cpu = group.cpu_ms.map(|cpu| format!(", cpu {}", millis(cpu)));
        text.push_str(&format!(
            "{} ({}), {}{}: {}\n",
            plural(group.threads as u64, "thread", "threads"),
            percent(group.threads as u64, total as u64),
            states(&group.states),
            cpu.unwrap_or_default(),
            printable(&some(&group.names, group.threads))
        ));
        for frame in group.frames.iter().take(FRAMES) {
            text.push_str(&format!("    at {}\n", printable(frame)));
        }
        if group.frames.len() > FRAMES {
            let left = plural((group.frames.len() - FRAMES) as u64, "frame", "frames");
            text.push_str(&style.dim(&format!("    ... {left} more\n")));
        }
    }
    text.push_str(&more(groups.len() - shown));
    text
}

fn millis(millis: f64) -> String {
    match millis {
        millis if millis >= 1000.0 => format!("{:.2} s", millis / 1000.0),
        millis => format!("{millis:.1} ms"),
    }
}

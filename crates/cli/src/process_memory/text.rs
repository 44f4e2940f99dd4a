//! The account as text for a terminal.

use hprof_process_memory::course::{Change, PartChange};
use hprof_process_memory::course_sentence::{Seconds, rate};
use hprof_process_memory::{Basis, Bytes, Kind, Row};
use hprof_server::live::{MemoryFact, MemoryNow, MemoryRow};

use super::Snapshot;
use super::record::Recording;
use super::saved::Saved;
use crate::render::screen::{Align, Style, columns, count, percent, printable};
use crate::render::table;

/// Parts of a row are shown up to this many.
const PARTS: usize = 3;
/// And this many on the server's page.
const SERVER_PARTS: usize = 10;

/// The whole account.
pub fn all(snapshot: &Snapshot, style: Style) -> String {
    let mut text = head(snapshot, style);
    let rows: Vec<[String; 6]> = snapshot
        .table
        .rows
        .iter()
        .map(|row| cells(row, snapshot))
        .collect();
    let head = [
        ("resident", Align::Right),
        ("share", Align::Right),
        ("committed", Align::Right),
        ("used", Align::Right),
        ("row", Align::Left),
        ("of which", Align::Left),
    ];
    text.push_str(&columns(style, head, &rows));
    text.push_str(&format!("\n{}", table::facts(limits(snapshot))));
    text
}

/// The account for the server's page.
pub fn for_server(snapshot: &Snapshot) -> MemoryNow {
    let bytes = |size: Option<Bytes>| size.map(|size| size.0);
    let rows = snapshot.table.rows.iter().map(|row| MemoryRow {
        name: row.kind.title().to_owned(),
        resident: row.resident.0,
        committed: bytes(row.committed),
        used: bytes(row.used),
        details: details(row, snapshot, SERVER_PARTS),
    });
    let facts = limits(snapshot).into_iter();
    MemoryNow {
        resident: snapshot.table.resident.0,
        limit: bytes(snapshot.group.as_ref().and_then(|group| group.limit)),
        left: bytes(snapshot.left()),
        causes: snapshot
            .causes
            .iter()
            .map(|named| printable(&named.sentence))
            .collect(),
        rows: rows.collect(),
        facts: facts
            .map(|(name, value)| MemoryFact { name, value })
            .collect(),
        notes: snapshot.notes.iter().map(|note| printable(note)).collect(),
    }
}

/// The parts of each row that has some, as a table for each.
pub fn parts(snapshot: &Snapshot, style: Style) -> String {
    let mut text = String::new();
    for row in snapshot
        .table
        .rows
        .iter()
        .filter(|row| !row.parts.is_empty())
    {
        text.push_str(&format!("\n{}\n", style.bold(row.kind.title())));
        let parts = row.parts.iter().map(|part| {
            let number = match part.count {
                0 => String::new(),
                number => count(number),
            };
            [part.resident.to_string(), number, printable(&part.name)]
        });
        let head = [
            ("size", Align::Right),
            ("count", Align::Right),
            ("part", Align::Left),
        ];
        text.push_str(&columns(style, head, &parts.collect::<Vec<_>>()));
    }
    text
}

/// A recording: its sentence, how each row changed, and the limits at its end.
pub fn recorded(recording: &Recording, style: Style) -> String {
    let text = changes(&Saved::of(recording), style);
    format!("{text}\n{}", table::facts(limits(&recording.last)))
}

/// The sentence of a recording, and how each row changed.
pub fn changes(saved: &Saved, style: Style) -> String {
    let jdk = saved.jdk.as_ref();
    let jdk = jdk.map_or(String::new(), |jdk| format!(", JDK {}", printable(jdk)));
    let line = format!(
        "{} ({}{jdk}): {} resident after {}, {} looks",
        printable(&saved.name),
        saved.pid,
        saved.resident.last,
        Seconds(saved.seconds),
        count(saved.looks)
    );
    let mut text = format!("{}\n{}\n", style.bold(&line), printable(&saved.sentence));
    for cause in &saved.causes {
        text.push_str(&format!("{}\n", printable(cause)));
    }
    text.push('\n');
    let cells = |name: &str, change: &Change, part: Option<&PartChange>| {
        [
            change.first.to_string(),
            change.last.to_string(),
            change.peak.to_string(),
            rate(change.rate),
            rate(change.recent_rate),
            printable(name),
            part.map_or(String::new(), |part| printable(&part.to_string())),
        ]
    };
    let mut rows = vec![cells("resident set", &saved.resident, None)];
    rows.extend(
        saved
            .rows
            .iter()
            .map(|row| cells(&row.title, &row.change, row.part.as_ref())),
    );
    let head = [
        ("first", Align::Right),
        ("last", Align::Right),
        ("peak", Align::Right),
        ("growth", Align::Right),
        ("2nd half", Align::Right),
        ("row", Align::Left),
        ("grew most", Align::Left),
    ];
    text + &columns(style, head, &rows)
}

/// Program, resident set, and the sentences.
fn head(snapshot: &Snapshot, style: Style) -> String {
    let jdk = snapshot.jdk.as_ref();
    let jdk = jdk.map_or(String::new(), |jdk| format!(", JDK {}", printable(jdk)));
    let line = format!(
        "{} ({}{jdk}): {} resident",
        snapshot.name, snapshot.pid, snapshot.table.resident
    );
    let mut text = style.bold(&line) + "\n";
    for named in &snapshot.causes {
        text.push_str(&format!("{}\n", printable(&named.sentence)));
    }
    text + "\n"
}

fn cells(row: &Row, snapshot: &Snapshot) -> [String; 6] {
    let size = |bytes: Option<Bytes>| bytes.map_or(String::new(), |bytes| bytes.to_string());
    [
        row.resident.to_string(),
        percent(row.resident.0, snapshot.table.resident.0),
        size(row.committed),
        size(row.used),
        row.kind.title().to_owned(),
        details(row, snapshot, PARTS),
    ]
}

/// The parts of a row, and how it was found if not by its mappings.
fn details(row: &Row, snapshot: &Snapshot, most: usize) -> String {
    let mut words = Vec::new();
    match row.kind {
        Kind::ThreadStacks => words.push(format!("{} threads", count(row.count))),
        Kind::MallocFree => words.push(format!("{} arenas", count(row.count))),
        _ => {}
    }
    match row.basis {
        Basis::Mappings => {}
        Basis::Tracking => words.push("as the JVM counts".to_owned()),
        Basis::Estimate => words.push("estimate".to_owned()),
    }
    if row.huge.0 > 0 {
        words.push(format!("{} in huge pages", row.huge));
    }
    let parts = row.parts.iter().take(most).map(|part| {
        let name = part.name.rsplit('/').next().unwrap_or(&part.name);
        let times = match part.count {
            0 | 1 => String::new(),
            many if matches!(row.kind, Kind::ThreadStacks | Kind::Metaspace) => {
                format!(" x{}", count(many))
            }
            _ => String::new(),
        };
        format!("{}{times} {}", printable(name), part.resident)
    });
    words.extend(parts);
    if row.kind == Kind::Unexplained && row.resident.0 > 0 && !snapshot.table.sees_malloc {
        words.push("malloc among it".to_owned());
    }
    words.join(", ")
}

/// Limits beside what they bound.
fn limits(snapshot: &Snapshot) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    match &snapshot.group {
        Some(group) => {
            let limit = match group.limit {
                Some(limit) => format!("limit {limit}"),
                None => "no limit".to_owned(),
            };
            let high = group
                .high
                .map_or(String::new(), |high| format!(", high {high}"));
            fact(
                "cgroup",
                format!(
                    "{limit}{high}; {} count: {} of no file, {} page cache, {} shared memory and tmpfs, {} kernel, {} sockets",
                    group.current,
                    group.parts.anonymous,
                    group.parts.cache(),
                    group.parts.shared,
                    group.parts.kernel,
                    group.parts.sockets
                ),
            );
            let events = group.events;
            if events.max + events.high + events.kills > 0 {
                fact(
                    "events",
                    format!(
                        "limit reached {} times, high {} times, {} processes killed",
                        count(events.max),
                        count(events.high),
                        count(events.kills)
                    ),
                );
            }
        }
        None => fact("cgroup", "none with figures of memory".to_owned()),
    }
    let limits = &snapshot.limits;
    if let Some(most) = limits.max_heap {
        let percentage = limits
            .max_ram_percentage
            .map_or(String::new(), |part| format!(" (MaxRAMPercentage {part})"));
        fact("-Xmx", format!("{most}{percentage}"));
    }
    let mut others = Vec::new();
    for (name, value) in [
        ("MaxDirectMemorySize", limits.max_direct),
        ("MaxMetaspaceSize", limits.max_metaspace),
        ("ReservedCodeCacheSize", limits.code_cache),
        ("ThreadStackSize", limits.thread_stack),
        ("ulimit -v", limits.address_space),
        ("machine", limits.machine),
    ] {
        if let Some(value) = value {
            others.push(format!("{name} {value}"));
        }
    }
    fact("bounds", others.join(", "));
    let status = &snapshot.status;
    fact(
        "kernel",
        format!(
            "peak {}, page tables {} (not in the resident set), {} threads",
            status.peak,
            status.page_tables,
            count(status.threads)
        ),
    );
    facts
}

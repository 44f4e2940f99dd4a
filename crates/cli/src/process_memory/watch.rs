//! The account again and again: which row grows.

use std::thread;
use std::time::Duration;

use hprof_process_memory::Bytes;
use hprof_process_memory::course_sentence::{Seconds, rate};
use serde_json::to_string;

use super::{Effort, Snapshot, look};
use crate::attach::Target;
use crate::render::foreign;
use crate::render::out::{Out, tell};

/// How often to look.
#[derive(Debug, Clone, Copy)]
pub struct Rhythm {
    /// The pause between two looks.
    pub every: Duration,
    /// The number of looks; `None` until the process ends.
    pub times: Option<u64>,
}

/// Looks until the process ends or all looks are done, and prints a line for each, or a JSON document on a line.
///
/// # Errors
/// If the first look fails, or standard output.
pub fn run(target: &Target, effort: &Effort, rhythm: Rhythm, json: bool) -> anyhow::Result<()> {
    let mut first: Option<Snapshot> = None;
    let mut number = 0;
    let began = target.pid().began().ok();
    let mut out = Out::new();
    loop {
        let mut snapshot = match look(target, effort) {
            Err(error) if first.is_none() => return Err(error),
            // Of a process that is ending the kernel still shows files, which are empty; a later one may have its number.
            Ok(snapshot)
                if first.is_none()
                    || snapshot.table.resident > Bytes::ZERO
                        && target.pid().began().ok() == began =>
            {
                snapshot
            }
            Ok(_) | Err(_) => {
                tell!("hprof-rs: process {} ended meanwhile", target.pid().0);
                return Ok(());
            }
        };
        if let Some(first) = &first {
            snapshot.compare(first);
        } else if !json {
            for note in &snapshot.notes {
                tell!("hprof-rs: {note}");
            }
        }
        match json {
            true => out.json(&format!("{}\n", to_string(&snapshot)?))?,
            false => out.text(&foreign::printable(&line(&snapshot)))?,
        }
        if !json {
            out.text("\n")?;
        }
        out.flush()?;
        number += 1;
        if rhythm.times.is_some_and(|times| number >= times) {
            return Ok(());
        }
        first.get_or_insert(snapshot);
        thread::sleep(rhythm.every);
    }
}

/// One look on one line.
pub fn line(snapshot: &Snapshot) -> String {
    let mut line = format!("{:>9} resident", snapshot.table.resident.to_string());
    let Some(growth) = &snapshot.growth else {
        let mut rows: Vec<_> = snapshot.table.rows.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.resident));
        for row in rows.into_iter().take(3) {
            line.push_str(&format!(", {} {}", row.kind.title(), row.resident));
        }
        return line;
    };
    line.push_str(&format!(", {}", rate(growth.resident)));
    match growth.fastest() {
        Some(row) => line.push_str(&format!(
            "; {} grows by {}",
            row.kind.title(),
            rate(row.rate)
        )),
        None => line.push_str("; no row grows"),
    }
    if let Some(seconds) = growth.seconds_to_limit {
        line.push_str(&format!("; {} to the limit", Seconds(seconds)));
    }
    line
}

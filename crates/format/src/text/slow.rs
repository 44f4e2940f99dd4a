//! Writes timed calls as text.

use std::fmt::{self, Write};

use super::escape::{Name, Quoted};
use crate::model::SlowRow;

/// Writes a section with a line for each method, and the slowest calls of each.
pub(super) fn table(s: &mut String, rows: &[SlowRow<'_>], ctime: &str) -> fmt::Result {
    let calls: u64 = rows.iter().map(|row| row.calls).sum();
    let ctime = Name(ctime);
    writeln!(
        s,
        "SLOW CALLS BEGIN (total = {calls} calls, times in ms) {ctime}"
    )?;
    if !rows.is_empty() {
        s.push_str(
            "rank      calls  recursive        p50        p90        p99      p99.9        max         wall          cpu   \
             threshold       slow method\n",
        );
    }
    for (rank, row) in (1..).zip(rows) {
        let [p50, p90, p99, p999] = row.quantiles.map(Millis);
        writeln!(
            s,
            "{rank:4} {:10} {:10} {p50:>10} {p90:>10} {p99:>10} {p999:>10} {:>10} {:>12} {:>12} {:>11} {:10} {}",
            row.calls,
            row.recursive,
            Millis(row.max),
            Millis(row.wall),
            Millis(row.cpu),
            row.threshold,
            row.slow,
            Name(row.method),
        )?;
    }
    for (rank, row) in (1..).zip(rows).filter(|(_, row)| !row.slowest.is_empty()) {
        writeln!(s, "slowest calls of {rank}, {}", Name(row.method))?;
        s.push_str("rank         ms     cpu ms began                   thread\n");
        for (rank, call) in (1..).zip(&row.slowest) {
            writeln!(
                s,
                "{rank:4} {:>10} {:>10} {} \"{}\"",
                Millis(call.wall),
                Millis(call.cpu),
                call.began,
                Quoted(call.thread),
            )?;
        }
    }
    s.write_str("SLOW CALLS END\n")
}

/// Nanoseconds as milliseconds, to a microsecond; those of less than a millisecond to a nanosecond.
struct Millis(u64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_000_000 {
            return f.pad(&format!("0.{:06}", self.0));
        }
        let micros = self.0.saturating_add(500) / 1000;
        f.pad(&format!("{}.{:03}", micros / 1000, micros % 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SlowCallRow;

    #[test]
    fn a_section_has_methods_and_their_slowest_calls() {
        let rows = [SlowRow {
            method: "com.acme.Api.handle",
            calls: 3,
            recursive: 1,
            quantiles: [1_000_000, 2_000_000, 3_000_000, 3_000_000],
            max: 3_000_499,
            wall: 6_000_000,
            cpu: 1_234_567,
            threshold: "2.000",
            slow: 2,
            slowest: vec![SlowCallRow {
                wall: 3_000_499,
                cpu: 1_000,
                began: "2026-11-29 11:20:03.123",
                thread: "http\n1",
            }],
        }];
        let mut text = String::new();
        table(&mut text, &rows, "Sun Nov 29").unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "SLOW CALLS BEGIN (total = 3 calls, times in ms) Sun Nov 29"
        );
        let words: Vec<_> = lines[2].split_whitespace().collect();
        assert_eq!(
            words,
            [
                "1",
                "3",
                "1",
                "1.000",
                "2.000",
                "3.000",
                "3.000",
                "3.000",
                "6.000",
                "1.235",
                "2.000",
                "2",
                "com.acme.Api.handle"
            ]
        );
        assert_eq!(
            lines[5],
            "   1      3.000   0.001000 2026-11-29 11:20:03.123 \"http\\u000a1\""
        );
        assert_eq!(*lines.last().unwrap(), "SLOW CALLS END");
        assert!(
            lines
                .iter()
                .all(|line| crate::text::TextReader::new(line).next().is_none())
        );
    }
}

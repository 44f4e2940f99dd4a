//! The course of a recording: which row grows, how fast, and when it reaches the limit.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::Bytes;
use crate::row::{Kind, Row};
use crate::series::{Point, Series};
use crate::table::Table;

/// Slower growth is taken for noise, in bytes a second.
const NOISE: f64 = 4096.0;
/// Less growth than this over the half that counts is noise, too.
const LEAST: Bytes = Bytes::kib(256);
/// With fewer looks nothing can be said about growth.
const LEAST_LOOKS: usize = 3;
/// Slopes are taken between no more points than these.
const MAX_SAMPLE: usize = 150;

/// A size from the first look to the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// At the first look.
    pub first: Bytes,
    /// At the last look.
    pub last: Bytes,
    /// The most of all looks.
    pub peak: Bytes,
    /// The growth in bytes a second: the median of the slopes between all pairs of looks, which one jump does not move.
    pub rate: f64,
    /// The rate over the second half, when the program has warmed up.
    pub recent_rate: f64,
}

/// The change of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowChange {
    /// The row.
    pub kind: Kind,
    /// Its name.
    pub title: &'static str,
    /// The change of its resident memory.
    #[serde(flatten)]
    pub change: Change,
    /// True if it still grew in the second half.
    pub grows: bool,
    /// The part of it that grew most, where parts are known.
    pub part: Option<PartChange>,
}

/// The change of a part of a row: of a file, a group of threads, a class of loaders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartChange {
    /// Its name.
    pub name: String,
    /// Its resident memory at the first look and at the last.
    pub from: Bytes,
    /// At the last look.
    pub to: Bytes,
    /// How many things it had first.
    pub count_from: u64,
    /// And last.
    pub count_to: u64,
}

/// The conclusion of a recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// A row grew to the end.
    Grows {
        /// The row.
        kind: Kind,
        /// The growth in bytes a second, over the second half.
        rate: f64,
        /// Its part of the growth of all rows that grow, from 0 to 1.
        share: f64,
        /// The part of the row that grew most.
        part: Option<PartChange>,
        /// The seconds from the first look to the last.
        seconds: f64,
        /// The most that the row may take, where the JVM bounds it.
        bound: Option<Bytes>,
        /// The limit of the cgroup.
        limit: Option<Bytes>,
        /// Seconds from the last look until the limit at the rate of the whole process.
        seconds_to_limit: Option<f64>,
    },
    /// No row grew in the second half.
    Steady {
        /// The resident set at the first look.
        first: Bytes,
        /// And at the last.
        last: Bytes,
        /// The seconds between them.
        seconds: f64,
    },
    /// There were too few looks.
    TooShort {
        /// How many.
        looks: u64,
    },
}

/// The bounds that a verdict mentions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// The limit of the cgroup.
    pub limit: Option<Bytes>,
    /// The memory that the limit leaves now.
    pub left: Option<Bytes>,
    /// The most that the Java heap may take.
    pub heap: Option<Bytes>,
    /// The most metadata of classes.
    pub metaspace: Option<Bytes>,
    /// The most compiled code.
    pub code_cache: Option<Bytes>,
    /// The most that direct buffers may take.
    pub direct: Option<Bytes>,
}

impl Bounds {
    fn of(self, kind: Kind) -> Option<Bytes> {
        match kind {
            Kind::JavaHeap => self.heap,
            Kind::Metaspace | Kind::ClassSpace => self.metaspace,
            Kind::CodeCache => self.code_cache,
            Kind::DirectBuffers => self.direct,
            _ => None,
        }
    }
}

/// All that a recording shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Course {
    /// The resident set.
    pub resident: Change,
    /// The rows, those that grow fastest in the second half first.
    pub rows: Vec<RowChange>,
    /// The conclusion.
    pub verdict: Verdict,
}

impl Course {
    /// The course of a series, with the tables of its first and its last look.
    pub fn of(series: &Series, first: &Table, last: &Table, bounds: Bounds) -> Self {
        let resident = change(series, series.peak, |point| point.resident);
        let half = series.seconds() / 2.0;
        let mut rows: Vec<RowChange> = series
            .kinds()
            .map(|kind| {
                let peak = series.peaks.get(&kind).copied().unwrap_or_default();
                let change = change(series, peak, |point| point.row(kind));
                let grown = change.recent_rate * half;
                RowChange {
                    kind,
                    title: kind.title(),
                    change,
                    grows: change.recent_rate > NOISE && grown >= LEAST.0 as f64,
                    part: part(first.row(kind), last.row(kind)),
                }
            })
            .collect();
        rows.sort_by(|one, other| {
            let by_rate = other.change.recent_rate.total_cmp(&one.change.recent_rate);
            by_rate.then_with(|| Reverse(one.change.last).cmp(&Reverse(other.change.last)))
        });
        let verdict = verdict(series, &resident, &rows, bounds);
        Self {
            resident,
            rows,
            verdict,
        }
    }
}

fn verdict(series: &Series, resident: &Change, rows: &[RowChange], bounds: Bounds) -> Verdict {
    if series.points.len() < LEAST_LOOKS {
        return Verdict::TooShort {
            looks: series.looks,
        };
    }
    let growing = || rows.iter().filter(|row| row.grows);
    let Some(row) = growing().next() else {
        return Verdict::Steady {
            first: resident.first,
            last: resident.last,
            seconds: series.seconds(),
        };
    };
    let rate = row.change.recent_rate;
    let all: f64 = growing().map(|row| row.change.recent_rate).sum();
    let whole = resident.recent_rate;
    Verdict::Grows {
        kind: row.kind,
        rate,
        share: rate / all,
        part: row.part.clone(),
        seconds: series.seconds(),
        bound: bounds.of(row.kind),
        limit: bounds.limit,
        seconds_to_limit: bounds
            .left
            .filter(|_| whole > NOISE)
            .map(|left| left.0 as f64 / whole),
    }
}

fn change(series: &Series, peak: Bytes, size: impl Fn(&Point) -> Bytes) -> Change {
    let sizes: Vec<(f64, f64)> = series
        .points
        .iter()
        .map(|point| (point.seconds, size(point).0 as f64))
        .collect();
    let end = |point: Option<&Point>| point.map(&size).unwrap_or_default();
    let middle = series.points.first().map_or(0.0, |first| first.seconds) + series.seconds() / 2.0;
    let half = sizes.partition_point(|&(seconds, _)| seconds < middle);
    // With three looks the second half has one beside the middle.
    let half = half.min(sizes.len().saturating_sub(2));
    Change {
        first: end(series.points.first()),
        last: end(series.points.last()),
        peak,
        rate: slope(&sizes),
        recent_rate: slope(&sizes[half..]),
    }
}

/// The median of the slopes between all pairs of points (Theil and Sen); 0 of fewer than two points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let each = points.len().div_ceil(MAX_SAMPLE).max(1);
    let sample: Vec<(f64, f64)> = points.iter().rev().step_by(each).copied().collect();
    let mut slopes = Vec::with_capacity(sample.len() * sample.len() / 2);
    for (at, later) in sample.iter().enumerate() {
        for earlier in &sample[at + 1..] {
            let seconds = later.0 - earlier.0;
            if seconds > 0.0 {
                slopes.push((later.1 - earlier.1) / seconds);
            }
        }
    }
    if slopes.is_empty() {
        return 0.0;
    }
    let middle = slopes.len() / 2;
    let (_, median, _) = slopes.select_nth_unstable_by(middle, f64::total_cmp);
    *median
}

/// The part of a row that grew most.
fn part(first: Option<&Row>, last: Option<&Row>) -> Option<PartChange> {
    let before = first.map(|row| &row.parts[..]).unwrap_or_default();
    let changes = last?.parts.iter().map(|part| {
        let earlier = before.iter().find(|earlier| earlier.name == part.name);
        let (from, count_from) =
            earlier.map_or((Bytes::ZERO, 0), |part| (part.resident, part.count));
        PartChange {
            name: part.name.clone(),
            from,
            to: part.resident,
            count_from,
            count_to: part.count,
        }
    });
    changes
        .filter(|change| change.to > change.from)
        .max_by_key(|change| change.to - change.from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Part;
    use proptest::prelude::*;

    const MIB: f64 = 1_048_576.0;

    fn table(rows: &[(Kind, u64, &str)]) -> Table {
        let rows: Vec<Row> = rows
            .iter()
            .map(|&(kind, mib, part)| Row {
                resident: Bytes::mib(mib),
                parts: vec![Part {
                    name: part.to_owned(),
                    count: mib,
                    resident: Bytes::mib(mib),
                }],
                ..Row::new(kind)
            })
            .collect();
        Table {
            resident: rows.iter().map(|row| row.resident).sum(),
            rows,
            arenas: 0,
            free_in_arenas: Bytes::ZERO,
            has_tracking: false,
            sees_malloc: true,
            heap_views: 1,
        }
    }

    /// A look each second, with the sizes of heap and stacks in MiB.
    fn course(looks: u64, sizes: impl Fn(u64) -> (u64, u64), bounds: Bounds) -> Course {
        let at = |look: u64| {
            let (heap, stacks) = sizes(look);
            table(&[
                (Kind::JavaHeap, heap, "a"),
                (Kind::ThreadStacks, stacks, "pool-#"),
            ])
        };
        let mut series = Series::default();
        for look in 0..looks {
            series.push(Point::of(look as f64, &at(look), 1, None));
        }
        Course::of(&series, &at(0), &at(looks - 1), bounds)
    }

    #[test]
    fn the_row_that_grows_is_named_with_its_part_and_the_time_that_is_left() {
        let bounds = Bounds {
            limit: Some(Bytes::mib(1000)),
            left: Some(Bytes::mib(100)),
            ..Bounds::default()
        };
        // The heap goes up and down, the stacks take 2 MiB a second.
        let found = course(41, |look| (100 + look % 4, 10 + 2 * look), bounds);
        let Verdict::Grows {
            kind,
            rate,
            share,
            part,
            seconds,
            seconds_to_limit,
            ..
        } = found.verdict
        else {
            panic!("{:?}", found.verdict);
        };
        assert_eq!((kind, seconds), (Kind::ThreadStacks, 40.0));
        assert!((rate - 2.0 * MIB).abs() < 1.0, "{rate}");
        assert!((0.9..=1.0).contains(&share), "{share}");
        assert!(seconds_to_limit.is_some_and(|it| (45.0..55.0).contains(&it)));
        let part = part.expect("a part");
        assert_eq!(
            (&*part.name, part.count_from, part.count_to),
            ("pool-#", 10, 90)
        );
        assert_eq!(
            found.resident.peak,
            found.resident.last.max(found.resident.peak)
        );
    }

    #[test]
    fn a_start_and_one_jump_are_no_growth() {
        let warm = course(60, |look| (10 * look.min(20), 10), Bounds::default());
        assert!(matches!(warm.verdict, Verdict::Steady { .. }), "{warm:?}");
        assert!(warm.resident.last > warm.resident.first);
        let jump = course(
            60,
            |look| (100 + 200 * u64::from(look > 50), 10),
            Bounds::default(),
        );
        assert!(matches!(jump.verdict, Verdict::Steady { .. }), "{jump:?}");
        let short = course(2, |look| (100 * look, 10), Bounds::default());
        assert_eq!(short.verdict, Verdict::TooShort { looks: 2 });
    }

    #[test]
    fn a_row_that_the_jvm_bounds_has_its_bound() {
        let bounds = Bounds {
            heap: Some(Bytes::mib(512)),
            ..Bounds::default()
        };
        let found = course(20, |look| (100 + look, 10), bounds);
        assert!(matches!(
            found.verdict,
            Verdict::Grows { kind: Kind::JavaHeap, bound: Some(bound), seconds_to_limit: None, .. } if bound == Bytes::mib(512)
        ));
    }

    proptest! {
        #[test]
        fn rates_are_those_of_straight_lines(looks in 3..400_u64, step in 0..50_u64, from in 0..1000_u64) {
            let found = course(looks, |look| (from + step * look, 10), Bounds::default());
            let row = found.rows.iter().find(|row| row.kind == Kind::JavaHeap).expect("a row");
            let expected = step as f64 * MIB;
            prop_assert!((row.change.rate - expected).abs() < 1.0);
            prop_assert!((row.change.recent_rate - expected).abs() < 1.0);
            prop_assert_eq!(row.grows, step > 0);
        }
    }
}

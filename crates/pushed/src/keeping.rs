//! Merges segments, makes old ones coarser, and removes those that are too old or too much.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::batch::{At, Series};
use crate::chunk::{self, HOUR, Rows};
use crate::segment::{self, Segment};
use crate::tree::Tree;
use crate::{Pushed, Shared, failed, log};

/// Segments of one level that are merged.
const MERGED: usize = 8;
/// Segments of this level are not merged any more.
const LAST_LEVEL: u32 = 4;
/// The rows of a merged segment.
const MAX_ROWS: u64 = 32 << 20;
const DAY: u32 = 24 * 60 * 60;
/// Rows older than the first number of seconds are summed over as many as the second.
const COARSER: [(u32, u32); 2] = [(7 * DAY, 60), (DAY, 10)];

/// How long pushed profiles stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Profiles that are older go, in days.
    pub days: u32,
    /// The oldest go while all take more, in bytes.
    pub bytes: u64,
}

/// The second of a row that is this old.
fn coarse(second: u32, now: u32) -> u32 {
    let age = now.saturating_sub(second);
    let step = COARSER.iter().find(|known| age > known.0);
    step.map_or(second, |&(_, step)| second / step * step + step / 2)
}

impl Pushed {
    /// Merges what is due, and removes what is too old or too much, at this second since 1970-01-01 UTC.
    ///
    /// # Errors
    /// If the disk or the index fails.
    pub fn keep(&self, keep: Retention, now: u32) -> io::Result<()> {
        let shared = &self.shared;
        let _alone = shared.keeping.lock();
        let all = || shared.held.read().segments.clone();
        let gone = too_much(all(), keep, now);
        if !gone.is_empty() {
            tracing::info!(segments = gone.len(), "pushed profiles are removed");
            change(shared, &[], &numbers(&gone))?;
        }
        while let Some((due, level)) = due(&all()) {
            let merged = Arc::new(merged(shared, &due, level, now)?);
            change(shared, &[merged], &numbers(&due))?;
        }
        Ok(())
    }
}

fn numbers(segments: &[Arc<Segment>]) -> Vec<u64> {
    segments.iter().map(|segment| segment.number).collect()
}

/// Has segments count in the place of others, in one step, and removes the files of these. Readers have them open.
///
/// # Errors
/// If the index fails, and nothing is changed. A file that stays is removed at the next start.
pub(super) fn change(shared: &Shared, new: &[Arc<Segment>], gone: &[u64]) -> io::Result<()> {
    let changed = shared.index.change(new, gone, None);
    changed.map_err(failed)?;
    let mut held = shared.held.write();
    held.segments
        .retain(|segment| !gone.contains(&segment.number));
    held.segments.extend_from_slice(new);
    drop(held);
    shared.stacks.forget(gone);
    for &number in gone {
        if let Err(error) = fs::remove_file(shared.segment(number)) {
            tracing::warn!(number, %error, "the file of a replaced segment stays");
        }
    }
    Ok(())
}

/// The segments that are too old or too much.
pub(super) fn too_much(mut all: Vec<Arc<Segment>>, keep: Retention, now: u32) -> Vec<Arc<Segment>> {
    all.sort_by_key(|segment| segment.span().1);
    let mut occupied: u64 = all.iter().map(|segment| segment.bytes).sum();
    let oldest = now.saturating_sub(keep.days.saturating_mul(DAY));
    all.retain(|segment| {
        let goes = segment.span().1 < oldest || occupied > keep.bytes;
        if goes {
            occupied -= segment.bytes;
        }
        goes
    });
    all
}

/// Segments that are to become one, and the level of that.
pub(super) fn due(all: &[Arc<Segment>]) -> Option<(Vec<Arc<Segment>>, u32)> {
    (0..LAST_LEVEL).find_map(|level| {
        let mut due = all.to_vec();
        due.retain(|segment| segment.level == level);
        due.sort_by_key(|segment| segment.span());
        due.truncate(MERGED);
        let rows: u64 = due.iter().map(|segment| segment.rows()).sum();
        (due.len() == MERGED && rows <= MAX_ROWS).then_some((due, level + 1))
    })
}

/// The rows of a series by hour, each with the place of its segment.
type Hours = BTreeMap<u32, Vec<(usize, Rows)>>;

/// One segment with the rows of some. It does not count yet.
pub(super) fn merged(
    shared: &Shared,
    due: &[Arc<Segment>],
    level: u32,
    now: u32,
) -> io::Result<Segment> {
    let number = shared.next_segment.fetch_add(1, Ordering::Relaxed);
    let path = shared.segment(number);
    let new = path.with_extension("new");
    let mut tree = Tree::default();
    let mut maps = Vec::new();
    // Hour by hour, so that memory has the rows of one.
    let mut series: BTreeMap<&Arc<Series>, Hours> = BTreeMap::new();
    for (at, segment) in due.iter().enumerate() {
        let stacks = segment.stacks()?;
        let names: Vec<u32> = stacks.names.iter().map(|name| tree.name(name)).collect();
        let nodes = tree.take(&names, &stacks.nodes);
        maps.push((names, nodes));
        for part in &segment.parts {
            let hours = series.entry(&part.series).or_default();
            for chunk in &part.chunks {
                // Those of earlier servers have several.
                for hour in chunk.from / HOUR..=chunk.to / HOUR {
                    hours.entry(hour).or_default().push((at, chunk.rows));
                }
            }
        }
    }
    let mut writer = segment::Writer::create(&new, true)?;
    for (series, hours) in series {
        let is_state = crate::kind::is_state(&series.kind);
        let hours = hours.into_iter().map(|(hour, blocks)| {
            let (mut read, mut rows) = (Vec::new(), Vec::new());
            for (at, block) in blocks {
                let (names, nodes) = &maps[at];
                let mapped = |map: &[u32], at: u32| map.get(at as usize).copied().unwrap_or(0);
                due[at].read_rows(block, &mut read)?;
                for (row, value) in read.drain(..).filter(|row| row.0.second / HOUR == hour) {
                    let at = At {
                        // States of a minute do not add up. A step of others lies within an hour.
                        second: if is_state {
                            row.second
                        } else {
                            coarse(row.second, now)
                        },
                        thread: mapped(names, row.thread),
                        node: mapped(nodes, row.node),
                    };
                    rows.push((at, value));
                }
            }
            chunk::join(&mut rows);
            Ok(rows)
        });
        writer.add_hours(series, hours)?;
    }
    writer.finish(&tree)?;
    fs::rename(&new, &path)?;
    log::sync_folder(&shared.folder)?;
    Segment::open(&path, number, level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_rows_are_coarser() {
        let now = 20 * DAY;
        assert_eq!(coarse(now - 17, now), now - 17);
        let day = now - 2 * DAY;
        assert_eq!([day + 1, day + 9].map(|at| coarse(at, now)), [day + 5; 2]);
        let week = now - 9 * DAY;
        assert_eq!(
            [week + 1, week + 59].map(|at| coarse(at, now)),
            [week + 30; 2]
        );
    }
}

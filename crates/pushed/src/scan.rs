//! The rows that a question is about, source by source: memory, then each segment.

use std::io;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::batch::{At, Series};
use crate::segment::{Segment, Stacks};
use crate::selector::Selector;
use crate::{Held, Pushed};

/// Which rows.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub selector: Selector,
    /// The key of the kind; all kinds without it.
    pub kind: Option<String>,
    /// The first second.
    pub from: u32,
    /// The second after the last.
    pub to: u32,
}

/// Costs of a series.
type Rows = Vec<(At, u64)>;

/// Rows of some series, and the stacks that they refer to.
pub(super) struct Source {
    pub stacks: Stacks,
    pub parts: Vec<(Arc<Series>, Rows)>,
}

impl Wanted {
    fn takes(&self, series: &Series) -> bool {
        let is_kind = |kind: &String| series.kind == *kind;
        self.kind.as_ref().is_none_or(is_kind) && self.selector.takes(series)
    }

    fn is_within(&self, at: At) -> bool {
        self.from <= at.second && at.second < self.to
    }

    /// Leaves the rows of wanted threads.
    fn of_threads(&self, source: &mut Source) {
        if !self.selector.has_threads() {
            return;
        }
        let names = &source.stacks.names;
        let mut known: FxHashMap<u32, bool> = FxHashMap::default();
        for (_, rows) in &mut source.parts {
            rows.retain(|(at, _)| {
                *known.entry(at.thread).or_insert_with(|| {
                    let name = names.get(at.thread as usize);
                    self.selector.takes_thread(name.map_or("", |name| name))
                })
            });
        }
    }
}

/// The rows in memory.
fn of_memory(held: &Held, wanted: &Wanted) -> Source {
    let head = &held.head;
    let mut parts = Vec::new();
    for (series, rows) in head.series.iter().zip(&head.rows) {
        if wanted.takes(series) {
            let rows = rows.iter().filter(|row| wanted.is_within(*row.0));
            let rows: Vec<(At, u64)> = rows.map(|(at, value)| (*at, *value)).collect();
            if !rows.is_empty() {
                parts.push((Arc::clone(series), rows));
            }
        }
    }
    let mut stacks = Stacks {
        names: Vec::new(),
        nodes: Vec::new(),
    };
    if !parts.is_empty() {
        stacks.names = head.tree.names.clone();
        stacks.nodes = head.tree.nodes.clone();
    }
    Source { stacks, parts }
}

/// Calls a function with each source that has wanted rows.
fn scan_parts(
    mut source: Source,
    segments: &[Arc<Segment>],
    wanted: &Wanted,
    mut each: impl FnMut(&Source) -> io::Result<()>,
) -> io::Result<()> {
    wanted.of_threads(&mut source);
    if !source.parts.is_empty() {
        each(&source)?;
    }
    drop(source);
    for segment in segments {
        let parts = segment.parts.iter();
        let parts = parts.filter(|part| part.from < wanted.to && part.to >= wanted.from);
        let mut found = Vec::new();
        for part in parts.filter(|part| wanted.takes(&part.series)) {
            let mut rows = segment.rows_of(part)?;
            rows.retain(|row| wanted.is_within(row.0));
            if !rows.is_empty() {
                found.push((Arc::clone(&part.series), rows));
            }
        }
        if found.is_empty() {
            continue;
        }
        let stacks = segment.stacks()?;
        let mut source = Source {
            stacks,
            parts: found,
        };
        wanted.of_threads(&mut source);
        each(&source)?;
    }
    Ok(())
}

/// Calls a function with each source of a store that has wanted rows.
pub(super) fn scan(
    held: &Held,
    wanted: &Wanted,
    each: impl FnMut(&Source) -> io::Result<()>,
) -> io::Result<()> {
    scan_parts(of_memory(held, wanted), &held.segments, wanted, each)
}

impl Pushed {
    /// Calls a function with each source that has wanted rows.
    pub(super) fn scan(
        &self,
        wanted: &Wanted,
        each: impl FnMut(&Source) -> io::Result<()>,
    ) -> io::Result<()> {
        // Both of one moment; writers do not wait for the rest.
        let held = self.shared.held.read();
        let (source, segments) = (of_memory(&held, wanted), held.segments.clone());
        drop(held);
        scan_parts(source, &segments, wanted, each)
    }

    /// Calls a function with each series that there is, and its first and last second.
    pub(super) fn each_series(&self, mut each: impl FnMut(&Arc<Series>, u32, u32)) {
        let held = self.shared.held.read();
        for (series, rows) in held.head.series.iter().zip(&held.head.rows) {
            let seconds = rows.keys().map(|at| at.second);
            let (mut from, mut to) = (u32::MAX, 0);
            for second in seconds {
                (from, to) = (from.min(second), to.max(second));
            }
            each(series, from, to);
        }
        let segments = held.segments.clone();
        drop(held);
        for segment in segments {
            for part in &segment.parts {
                each(&part.series, part.from, part.to);
            }
        }
    }
}

//! The rows that a question is about, source by source: memory, then each segment.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use rustc_hash::FxHashMap;

use crate::batch::{At, Series};
use crate::chunk::{Chunk, Detail};
use crate::segment::Segment;
use crate::selector::Selector;
use crate::stacks::{Stacks, StacksCache};
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
    /// The detail of rows that is needed.
    pub detail: Detail,
    /// False if stacks and names of threads do not matter: sources have none then.
    pub has_names: bool,
    /// The one second of each series whose rows are wanted: a state counts as it was last.
    pub last: Option<FxHashMap<Arc<Series>, u32>>,
}

/// Rows that are in memory at once.
const TOGETHER: usize = 1 << 20;

/// Costs of a series.
type Rows = Vec<(At, u64)>;

/// Rows of some series, and the stacks that they refer to.
pub(super) struct Source {
    /// Sources of one number have the same stacks.
    pub number: usize,
    pub stacks: Arc<Stacks>,
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

    /// Keeps the wanted rows of a series.
    fn keep(&self, series: &Arc<Series>, rows: &mut Rows) {
        match &self.last {
            None => rows.retain(|row| self.is_within(row.0)),
            Some(last) => {
                let last = last.get(series);
                rows.retain(|row| Some(&row.0.second) == last);
            }
        }
    }

    /// Adds the wanted rows of a chunk to others.
    fn read(
        &self,
        segment: &Segment,
        series: &Arc<Series>,
        chunk: &Chunk,
        all: &mut Rows,
    ) -> io::Result<()> {
        let has_last = |last: &FxHashMap<Arc<Series>, u32>| {
            let second = last.get(series);
            second.is_some_and(|second| (chunk.from..=chunk.to).contains(second))
        };
        let is_wanted = match &self.last {
            None => chunk.from < self.to && chunk.to >= self.from,
            Some(last) => has_last(last),
        };
        if !is_wanted {
            return Ok(());
        }
        let is_whole = self.last.is_none() && self.from <= chunk.from && chunk.to < self.to;
        if is_whole {
            return segment.read_rows(chunk.least(self.detail), all);
        }
        let mut rows = Vec::new();
        segment.read_rows(chunk.rows, &mut rows)?;
        self.keep(series, &mut rows);
        all.append(&mut rows);
        Ok(())
    }

    /// Keeps the rows of wanted threads.
    fn of_threads(&self, source: &mut Source) {
        if !self.selector.has_threads() {
            return;
        }
        let names = &source.stacks.names;
        let mut known: FxHashMap<u32, bool> = FxHashMap::default();
        for (_, rows) in &mut source.parts {
            rows.retain(|(at, _)| {
                *known.entry(at.thread).or_insert_with(|| {
                    let name = names.get(at.thread);
                    self.selector.takes_thread(name.unwrap_or_default())
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
            let mut rows: Rows = rows.map(|(at, value)| (*at, *value)).collect();
            wanted.keep(series, &mut rows);
            if !rows.is_empty() {
                parts.push((Arc::clone(series), rows));
            }
        }
    }
    let mut stacks = Stacks::default();
    if !parts.is_empty() && wanted.has_names {
        stacks.names = head.tree.names.clone();
        stacks.nodes = head.tree.nodes.clone();
    }
    Source {
        number: 0,
        stacks: Arc::new(stacks),
        parts,
    }
}

/// Calls a function with sources until all wanted rows were in one. A thread reads ahead: the disk and the packing take
/// as long as most functions. Memory has room for three times [`TOGETHER`] rows, and for those of an hour of a series.
fn scan_parts(
    memory: Source,
    segments: &[Arc<Segment>],
    known: Option<&StacksCache>,
    wanted: &Wanted,
    mut each: impl FnMut(&Source) -> io::Result<()>,
) -> io::Result<()> {
    let mut give = |mut source: Source| {
        wanted.of_threads(&mut source);
        source.parts.retain(|part| !part.1.is_empty());
        match source.parts.is_empty() {
            true => Ok(()),
            false => each(&source),
        }
    };
    give(memory)?;
    thread::scope(|scope| {
        let (send, sources) = sync_channel(1);
        let reader = thread::Builder::new().name("pushed rows".to_owned());
        let reader = reader.spawn_scoped(scope, move || {
            read_all(segments, known, wanted, |source| {
                // The receiver has gone if it failed.
                send.send(source).map_err(|_| io::ErrorKind::BrokenPipe)
            })
        })?;
        for source in sources {
            give(source)?;
        }
        reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Reads the wanted rows of segments.
fn read_all(
    segments: &[Arc<Segment>],
    known: Option<&StacksCache>,
    wanted: &Wanted,
    mut give: impl FnMut(Source) -> Result<(), io::ErrorKind>,
) -> io::Result<()> {
    for (at, segment) in segments.iter().enumerate() {
        let parts = segment.parts.iter();
        let parts = parts.filter(|part| part.from < wanted.to && part.to >= wanted.from);
        let mut chunks = parts
            .filter(|part| wanted.takes(&part.series))
            .flat_map(|part| part.chunks.iter().map(|chunk| (&part.series, chunk)));
        let mut stacks = None;
        loop {
            let (mut parts, mut together): (Vec<(Arc<Series>, Rows)>, usize) = (Vec::new(), 0);
            for (series, chunk) in &mut chunks {
                if parts.last().is_none_or(|last| last.0 != *series) {
                    parts.push((Arc::clone(series), Rows::new()));
                }
                if let Some((_, rows)) = parts.last_mut() {
                    let before = rows.len();
                    wanted.read(segment, series, chunk, rows)?;
                    together += rows.len() - before;
                }
                if together >= TOGETHER {
                    break;
                }
            }
            if together == 0 {
                break;
            }
            let stacks = match &stacks {
                Some(stacks) => Arc::clone(stacks),
                None => {
                    let read = match known {
                        _ if !wanted.has_names => Arc::default(),
                        Some(known) => known.of(segment)?,
                        None => Arc::new(segment.stacks()?),
                    };
                    Arc::clone(stacks.insert(read))
                }
            };
            give(Source {
                number: at + 1,
                stacks,
                parts,
            })?;
        }
    }
    Ok(())
}

/// Calls a function with each source of a store that has wanted rows.
pub(super) fn scan(
    held: &Held,
    wanted: &Wanted,
    each: impl FnMut(&Source) -> io::Result<()>,
) -> io::Result<()> {
    scan_parts(of_memory(held, wanted), &held.segments, None, wanted, each)
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
        scan_parts(source, &segments, Some(&self.shared.stacks), wanted, each)
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

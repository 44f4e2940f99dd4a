//! The store of a folder as it is at one moment, read while a server may write to it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::chunk::Detail;
use crate::head::Head;
use crate::index::Index;
use crate::scan::{Source, Wanted, scan};
use crate::segment::Segment;
use crate::selector::{self, Selector};
use crate::tree::ROOT;
use crate::{Held, failed, log, segment_path};

/// How often it begins again as segments are merged or written meanwhile.
const ATTEMPTS: u32 = 5;

/// The store; nothing of it is changed.
pub struct Archive(Held);

/// Which costs.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Conditions of labels; all series if it is empty.
    pub selector: String,
    /// The key of a kind of values; all kinds without it.
    pub kind: Option<String>,
    /// The first second since 1970-01-01 UTC.
    pub from: u32,
    /// The second after the last.
    pub to: u32,
}

/// The sum of a second, a thread and a stack.
#[derive(Debug, Clone, Copy)]
pub struct Cost<'a> {
    /// The second since 1970-01-01 UTC.
    pub second: u32,
    /// The labels, as JSON.
    pub labels: &'a str,
    /// The labels `service.name`, `host.name` and `k8s.pod.name`; empty if there is none.
    pub places: [&'a str; 3],
    /// The key of its kind.
    pub kind: &'a str,
    /// Its unit.
    pub unit: &'a str,
    /// The name of the thread; empty if it is not known.
    pub thread: &'a str,
    /// The innermost frame.
    pub method: &'a str,
    /// All frames, the outermost first, with `;` between.
    pub stack: &'a str,
    /// The sum.
    pub value: u64,
}

impl Archive {
    /// Reads the folder of a server's store, `pushed` in the server's folder.
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let index_file = folder.join("index.db");
        if !index_file.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "there are no pushed profiles",
            ));
        }
        let index = Index::existing(&index_file).map_err(failed)?;
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            match read(folder, &index) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && left > 0 => {}
                held => return held.map(Self),
            }
        }
    }

    /// Calls a function with the costs of one part of the store after the other.
    ///
    /// # Errors
    /// If the selector makes no sense, the disk fails, or the function does.
    pub fn each<E: From<io::Error>>(
        &self,
        choice: &Choice,
        mut each: impl FnMut(&mut dyn Iterator<Item = Cost<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let selector = Selector::parse(&choice.selector)
            .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let wanted = Wanted {
            selector,
            kind: choice.kind.clone(),
            from: choice.from,
            to: choice.to,
            detail: Detail::Rows,
            has_names: true,
            last: None,
        };
        let mut failure = None;
        let scanned = scan(&self.0, &wanted, |source| {
            with_costs(source, &mut each).map_err(|error| {
                failure = Some(error);
                io::Error::other("the receiver of rows has failed")
            })
        });
        match failure {
            Some(error) => Err(error),
            None => scanned.map_err(E::from),
        }
    }
}

fn read(folder: &Path, index: &Index) -> io::Result<Held> {
    let counted = index.counted().map_err(failed)?;
    let mut segments = Vec::new();
    for &(number, level) in &counted.segments {
        let segment = Segment::open(&segment_path(folder, number), number, level)?;
        segments.push(Arc::new(segment));
    }
    let mut head = Head::default();
    for (number, path) in log::files(folder)? {
        if number > counted.done {
            log::replay(&path, &mut |entry| {
                // The server reports what it cannot read.
                if let Ok(decoded) = entry.decode() {
                    head.add(&decoded.batch);
                }
            })?;
        }
    }
    Ok(Held { head, segments })
}

/// Calls a function with the costs of a source. Texts of stacks are made once.
fn with_costs<E>(
    source: &Source,
    each: &mut impl FnMut(&mut dyn Iterator<Item = Cost<'_>>) -> Result<(), E>,
) -> Result<(), E> {
    let stacks = &source.stacks;
    let name = |at: u32| stacks.names.get(at).unwrap_or_default();
    let mut texts: Vec<Option<String>> = vec![None; stacks.nodes.len()];
    for (_, rows) in &source.parts {
        for (at, _) in rows {
            let Some(text @ None) = texts.get_mut(at.node as usize) else {
                continue;
            };
            let mut frames = Vec::new();
            let mut node = at.node;
            while node != ROOT {
                let Some(&(parent, of)) = stacks.nodes.get(node as usize) else {
                    break;
                };
                frames.push(name(of));
                // Callers come first.
                node = if parent < node { parent } else { ROOT };
            }
            frames.reverse();
            *text = Some(frames.join(";"));
        }
    }
    let parts = source.parts.iter().map(|(series, rows)| {
        let labels = serde_json::to_string(&series.labels).unwrap_or_default();
        let places = ["service", "host", "pod"].map(|label| selector::value(series, label));
        (series, labels, places, rows)
    });
    let parts: Vec<_> = parts.collect();
    let mut costs = parts.iter().flat_map(|(series, labels, places, rows)| {
        let texts = &texts;
        rows.iter().map(move |&(at, value)| Cost {
            second: at.second,
            labels,
            places: *places,
            kind: &series.kind,
            unit: &series.unit,
            thread: name(at.thread),
            method: name(stacks.nodes.get(at.node as usize).map_or(0, |it| it.1)),
            stack: texts
                .get(at.node as usize)
                .and_then(Option::as_deref)
                .unwrap_or_default(),
            value,
        })
    });
    each(&mut costs)
}

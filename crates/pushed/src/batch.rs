//! Pushed profiles as the store takes them, whatever their protocol.

use std::collections::BTreeMap;
use std::sync::Arc;

use hprof_foreign::otlp::read::Request;
use serde::{Deserialize, Serialize};

use crate::kind::{self, Kind};
use crate::tree::{ROOT, Tree};

/// The label that every series has.
pub(super) const SERVICE: &str = "service.name";
/// The service of profiles that name none.
const UNKNOWN_SERVICE: &str = "unknown_service";
/// Labels of a series.
const MAX_LABELS: usize = 48;
/// The longest value of a label, in bytes.
const MAX_VALUE: usize = 512;
/// Profiles from later than this are refused, in seconds: a clock is wrong.
pub(super) const FUTURE: u64 = 3600;
/// The name of stacks without frames.
pub(super) const EMPTY: &str = hprof_stacks::EMPTY;

/// Labels, kind and unit that profiles have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Series {
    /// Sender, host, pod and so on.
    pub labels: BTreeMap<String, String>,
    /// The key of its kind.
    pub kind: String,
    /// The unit of its values.
    pub unit: String,
}

/// A cost: the sum of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct At {
    /// Seconds since 1970-01-01 UTC.
    pub second: u32,
    /// The number of the thread's name; 0 for none.
    pub thread: u32,
    /// The node of its stack.
    pub node: u32,
}

/// The costs of a series.
#[derive(Debug)]
pub(super) struct Costs {
    pub series: Arc<Series>,
    pub rows: Vec<(At, u64)>,
}

/// Profiles of one request.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Stacks and names of threads.
    pub tree: Tree,
    pub costs: Vec<Costs>,
    /// The profiles that are in `costs`.
    pub profiles: u64,
    /// Profiles that are not taken, and why.
    pub rejected: u64,
    /// Why not.
    pub reason: String,
}

/// A label's value that is not too long.
fn short(value: &str) -> String {
    let end = value.floor_char_boundary(MAX_VALUE);
    value.get(..end).unwrap_or_default().to_owned()
}

/// The series with these labels.
pub(super) fn series(labels: impl IntoIterator<Item = (String, String)>, kind: &Kind) -> Series {
    let named = |(key, value): &(String, String)| !key.is_empty() && !value.is_empty();
    let labels = labels.into_iter().filter(named).take(MAX_LABELS);
    let mut labels: BTreeMap<String, String> = labels
        .map(|(key, value)| (short(&key), short(&value)))
        .collect();
    let service = labels.entry(SERVICE.to_owned());
    service.or_insert_with(|| UNKNOWN_SERVICE.to_owned());
    Series {
        labels,
        kind: kind.key.clone(),
        unit: kind.unit.clone(),
    }
}

impl Batch {
    /// The profiles of a request of OTLP that came at a time, in seconds.
    pub(super) fn of_otlp(request: &Request, came: u64) -> Self {
        let mut batch = Self::default();
        let names: Vec<u32> = request.names.iter().map(|it| batch.tree.name(it)).collect();
        let threads = request.threads.iter();
        let threads: Vec<u32> = threads.map(|name| batch.tree.name(name)).collect();
        let empty = batch.tree.name(EMPTY);
        let mut nodes = Vec::with_capacity(request.stacks.len());
        for stack in &request.stacks {
            let mut node = ROOT;
            for &name in stack {
                node = batch.tree.child(node, names[name as usize]);
            }
            if node == ROOT {
                node = batch.tree.child(ROOT, empty);
            }
            nodes.push(node);
        }
        for sent in &request.profiles {
            let kind = kind::of_sender(&sent.kind, &sent.unit);
            let from = match sent.from {
                0 => came.saturating_mul(1_000_000_000),
                from => from,
            };
            // Costs without times count at the middle of their profile, those of states at its end.
            let own = match kind::is_state(&kind.key) {
                true => from.saturating_add(sent.length.saturating_sub(1)),
                false => from.saturating_add(sent.length / 2),
            };
            if own / 1_000_000_000 > came + FUTURE {
                batch.reject(own / 1_000_000_000, came);
                continue;
            }
            let rows = sent.points.iter().map(|point| {
                let at = point.at.unwrap_or(own) / 1_000_000_000;
                let at = At {
                    second: u32::try_from(at.min(came + FUTURE)).unwrap_or(u32::MAX),
                    thread: point.thread.map_or(0, |thread| threads[thread as usize]),
                    node: nodes[point.stack as usize],
                };
                (at, point.value.saturating_mul(kind.factor))
            });
            let rows = rows.collect();
            batch.add(series(sent.labels.iter().cloned(), &kind), rows);
        }
        batch.profiles = request.received.saturating_sub(batch.rejected);
        batch
    }

    /// Notes a profile of the future.
    pub(super) fn reject(&mut self, at: u64, came: u64) {
        self.rejected += 1;
        self.reason = format!(
            "a profile is from {} s in the future: set the clock of its machine",
            at.saturating_sub(came)
        );
    }

    /// Adds the costs of a series.
    pub(super) fn add(&mut self, series: Series, rows: Vec<(At, u64)>) {
        if !rows.is_empty() {
            let series = Arc::new(series);
            self.costs.push(Costs { series, rows });
        }
    }
}

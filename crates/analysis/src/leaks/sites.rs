//! Where the objects of a suspect were allocated.

use hprof_format::binary::SubRecord;
use hprof_format::ids::TraceSerial;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// A place in the program that allocated objects.
#[derive(Debug, Clone, Serialize)]
pub struct AllocationSite {
    /// How many of the objects that were looked at come from here.
    pub objects: u64,
    /// How many were looked at.
    pub of: u64,
    /// The methods, innermost first.
    pub stack: Vec<String>,
}

/// The sites of some objects, the most frequent first. Dumps that VMs write have none: their
/// objects all name a trace without frames.
pub fn sites_of(
    snapshot: &Snapshot,
    objects: impl Iterator<Item = ObjectNumber>,
    most: usize,
) -> Vec<AllocationSite> {
    let stacks = &snapshot.contents().stacks;
    let has_frames = |trace: TraceSerial| {
        stacks
            .trace(trace)
            .is_some_and(|trace| !trace.frames.is_empty())
    };
    let mut counts: FxHashMap<TraceSerial, u64> = FxHashMap::default();
    let mut of = 0;
    for object in objects {
        let trace = match snapshot.graph().locate(snapshot.file(), object) {
            Some((_, SubRecord::Instance { trace, .. })) => trace,
            Some((_, SubRecord::ObjectArray { trace, .. })) => trace,
            Some((_, SubRecord::PrimitiveArray { trace, .. })) => trace,
            _ => continue,
        };
        of += 1;
        if has_frames(trace) {
            *counts.entry(trace).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(trace, count)| (std::cmp::Reverse(count), trace));
    counts.truncate(most);
    let in_words = |trace| {
        let frames = stacks
            .trace(trace)
            .map_or(&[][..], |trace| &trace.frames[..]);
        let words = frames.iter().map(|&frame| {
            let frame = stacks.frame(frame);
            format!("{}({})", frame.name(), frame.place())
        });
        words.collect()
    };
    (counts.into_iter())
        .map(|(trace, objects)| AllocationSite {
            objects,
            of,
            stack: in_words(trace),
        })
        .collect()
}

//! Finds identifiers that several objects have. References lead to one object of an identifier, so
//! that the others look unreachable and the sums of sizes are wrong.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

use hprof_format::binary::{IdSize, SubRecord};

use super::ids::IdMap;
use super::scan::Scan;
use crate::walk::{Block, Pass};

/// Identifiers that are kept as examples.
const EXAMPLES: usize = 3;

impl Scan {
    /// The number of objects whose identifier another object before them has.
    pub fn repeated(&self) -> u64 {
        let objects: u64 = self.blocks.iter().map(|block| block.objects).sum();
        let classes = self
            .classes
            .iter()
            .filter(|class| !class.id.is_null())
            .count();
        let all = objects + classes as u64;
        all.saturating_sub(self.ids.len() as u64)
    }
}

/// The lowest of the identifiers that several objects have. That takes a bit for each object.
pub(super) fn examples(
    file: &[u8],
    id_size: IdSize,
    ids: &IdMap,
    blocks: &[Block],
    pass: Pass<'_>,
) -> Vec<u64> {
    let seen: Vec<AtomicU64> = (0..ids.len().div_ceil(64))
        .map(|_| AtomicU64::new(0))
        .collect();
    let parts = pass.run(Pass::tasks_of(blocks), |tasks| {
        let mut found = BTreeSet::new();
        for task in tasks {
            let Ok::<(), Infallible>(()) = pass.runs(file, id_size, blocks, task, |sub_record| {
                let id = id_of(sub_record);
                if let Some((id, number)) = id.and_then(|id| Some((id, ids.number(id)?))) {
                    let bit = 1 << (number % 64);
                    let before = seen[number / 64].fetch_or(bit, Ordering::Relaxed);
                    if before & bit != 0 {
                        keep(&mut found, id);
                    }
                }
                Ok(())
            });
        }
        found
    });
    let mut all = BTreeSet::new();
    for id in parts.into_iter().flatten() {
        keep(&mut all, id);
    }
    all.into_iter().collect()
}

fn keep(found: &mut BTreeSet<u64>, id: u64) {
    found.insert(id);
    if found.len() > EXAMPLES {
        found.pop_last();
    }
}

/// The identifier of an object or class.
fn id_of(sub_record: &SubRecord<'_>) -> Option<u64> {
    Some(match *sub_record {
        SubRecord::Instance { object, .. } => object.get(),
        SubRecord::ObjectArray { array, .. }
        | SubRecord::PrimitiveArray { array, .. }
        | SubRecord::PrimitiveArrayNoData { array, .. } => array.get(),
        SubRecord::Class(dump) if !dump.class.is_null() => dump.class.get(),
        _ => return None,
    })
}

//! The walks over the dump: one that digests arrays, and one that compares them.

use std::convert::Infallible;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use hprof_format::binary::{BasicType, SubRecord};
use memmap2::Mmap;
use rustc_hash::{FxHashMap, FxHashSet};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::groups::{Entry, Group, Parts, Pending};
use crate::graph::{Graph, Store};
use crate::heap::{SeenTexts, SeenUses, StringCount, StringUses, is_uniform};
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;
use crate::walk::Pass;

/// Equal for arrays of one type with equal elements, big-endian.
pub(crate) trait Digest: Sync {
    /// The digest of an array.
    fn of(&self, element: BasicType, values: &[u8]) -> [u64; 2];
}

/// A digest with a secret key.
#[derive(Debug)]
pub(crate) struct Keyed(SipHasher13);

impl Keyed {
    /// With a new key.
    pub fn new() -> Self {
        // The standard library's hashers have keys from the system's random numbers.
        let key = || RandomState::new().hash_one(0);
        Self(SipHasher13::new_with_keys(key(), key()))
    }
}

impl Digest for Keyed {
    #[inline]
    fn of(&self, element: BasicType, values: &[u8]) -> [u64; 2] {
        let mut hasher = self.0;
        hasher.write_u8(element.code());
        hasher.write(values);
        let digest = hasher.finish128();
        [digest.h1, digest.h2]
    }
}

/// The arrays of a dump by their digests, alive or not, and the arrays of its strings: all that a first
/// walk over the dump finds. The dominators need not be known for that.
pub(crate) struct Digested<D> {
    pub(super) digest: D,
    pub(super) parts: Parts,
    /// The arrays of all strings, where memory suffices for them.
    pub(super) strings: Option<(StringUses, Vec<SeenUses>)>,
}

impl<D: Digest> Digested<D> {
    /// Walks over the dump on a number of threads, 0 for as many as the machine has.
    pub(super) fn new(
        graph: &Graph,
        file: &Arc<Mmap>,
        store: &Store,
        threads: usize,
        digest: D,
    ) -> Self {
        let parts = Parts::new(store.clone());
        // What is known of each string is kept in memory.
        let strings = (!store.is_limited()).then(|| StringUses::new(graph));
        let pass = Pass {
            threads,
            progress: &|_| {},
            forget: &|range| crate::input::forget(file, range),
        };
        let blocks = graph.blocks();
        let uses = pass.run(Pass::tasks_of(blocks), |tasks| {
            let mut walk = Walk {
                graph,
                digest: &digest,
                strings: strings.as_ref(),
                uses: SeenUses::default(),
                pending: parts.pending(),
            };
            for task in tasks {
                let Ok::<(), Infallible>(()) =
                    pass.runs(file, graph.id_size(), blocks, task, |sub_record| {
                        walk.see(sub_record);
                        Ok(())
                    });
            }
            walk.pending.finish();
            walk.uses
        });
        let strings = strings.map(|strings| (strings, uses));
        Self {
            digest,
            parts,
            strings,
        }
    }
}

impl Digested<Keyed> {
    /// As [`Digested::new`], with a digest that no one who made the dump knows.
    pub fn keyed(graph: &Graph, file: &Arc<Mmap>, store: &Store, threads: usize) -> Self {
        Self::new(graph, file, store, threads, Keyed::new())
    }
}

/// The first walk, on one thread.
struct Walk<'w, D> {
    graph: &'w Graph,
    digest: &'w D,
    strings: Option<&'w StringUses>,
    uses: SeenUses,
    pending: Pending<'w>,
}

impl<D: Digest> Walk<'_, D> {
    #[inline]
    fn see(&mut self, sub_record: &SubRecord<'_>) {
        if let Some(strings) = self.strings {
            strings.see(&mut self.uses, sub_record);
        }
        if let SubRecord::PrimitiveArray {
            array,
            element,
            values,
            ..
        } = *sub_record
            && let Some(object) = self.graph.number(array.get())
        {
            let is_uniform = !values.is_empty() && is_uniform(element, values);
            let digest = self.digest.of(element, values);
            self.pending.push(Entry::new(digest, object, is_uniform));
        }
    }
}

/// Compares the contents within some groups. In each, the arrays stay that are equal to the first
/// one; a group without any goes. The walk serves `strings` too.
pub(super) fn confirm(
    snapshot: &Snapshot,
    digest: &impl Digest,
    groups: &mut Vec<Group>,
    strings: Option<&StringCount<'_>>,
) -> Vec<SeenTexts> {
    let graph = snapshot.graph();
    let first = |group: &Group| match graph
        .locate(snapshot.file(), ObjectNumber::new(group.first as usize))
    {
        Some((
            _,
            SubRecord::PrimitiveArray {
                element, values, ..
            },
        )) => Some((element, values)),
        _ => None,
    };
    let firsts: Vec<_> = groups.iter().map(first).collect();
    // Most arrays of a heap are of another length than those that are looked for.
    let lengths: FxHashSet<(BasicType, usize)> = (firsts.iter().flatten())
        .map(|&(element, values)| (element, values.len()))
        .collect();
    let by_digest: FxHashMap<[u64; 2], usize> = (groups.iter().zip(0..))
        .map(|(group, index)| (group.digest, index))
        .collect();
    let results = snapshot.each_thread(|sub_records| {
        let (mut equal, mut texts) = (vec![0u64; groups.len()], SeenTexts::default());
        sub_records.each(|sub_record| {
            if let Some(strings) = strings {
                strings.see(&mut texts, sub_record);
            }
            if let SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } = *sub_record
                && lengths.contains(&(element, values.len()))
                && let Some(&group) = by_digest.get(&digest.of(element, values))
                && firsts[group] == Some((element, values))
                && live(snapshot, array.get()).is_some()
            {
                equal[group] += 1;
            }
        });
        (equal, texts)
    });
    let (counts, texts): (Vec<_>, _) = results.into_iter().unzip();
    for (index, group) in groups.iter_mut().enumerate() {
        group.count = counts.iter().map(|equal| equal[index]).sum();
        let bytes = graph.size(ObjectNumber::new(group.first as usize));
        group.wasted_bytes = group.count.saturating_sub(1) * bytes;
    }
    groups.retain(|group| group.count > 1);
    texts
}

/// The object with an identifier, if it is alive.
#[inline]
fn live(snapshot: &Snapshot, id: u64) -> Option<ObjectNumber> {
    let object = snapshot.graph().number(id)?;
    snapshot.dominators().place(object).map(|_| object)
}

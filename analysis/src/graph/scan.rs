//! The first pass over a dump: which objects and classes there are, and where.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use hprof_format::binary::{BasicType, IdSize, SubRecord, SubRecords};
use hprof_format::ids::{ObjectId, StringId};
use hprof_format::model::Root;
use rustc_hash::{FxHashMap, FxHashSet};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::classes::RawClass;
use super::ids::{IdCollector, IdMap, IdPlan};
use crate::contents::DamageLog;
use crate::heap::{AddressSample, Distances, LOOKED_AT, LayoutVotes};
use crate::input::whole_stretches;

/// A run of sub-records within a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Block {
    /// Where in the file it starts.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The lowest identifier of an object or class in it; above `last` if there is none.
    pub first: u64,
    /// The highest one.
    pub last: u64,
    /// Objects and arrays.
    pub objects: u64,
    /// Android: the heap they belong to.
    pub heap: u64,
}

/// About the bytes of a block: so many are looked through to find one object.
const BLOCK_BYTES: u64 = 32 << 10;

/// What the first pass finds.
pub(super) struct Scan {
    pub ids: IdMap,
    pub blocks: Vec<Block>,
    pub classes: Vec<RawClass>,
    pub used_classes: FxHashSet<u64>,
    pub roots: Vec<Root>,
    pub heaps: Vec<(u32, StringId)>,
    pub votes: LayoutVotes,
    pub sample: AddressSample,
    pub distances: Distances,
    pub damage: DamageLog,
    /// Android: objects marked as not reachable.
    pub unreachable_marks: u64,
}

/// What one thread finds.
struct Part {
    ids: IdCollector,
    blocks: Vec<Block>,
    classes: Vec<RawClass>,
    used_classes: FxHashSet<u64>,
    last_class: ObjectId,
    roots: Vec<Root>,
    heaps: FxHashMap<u32, StringId>,
    votes: LayoutVotes,
    sample: AddressSample,
    distances: Distances,
    damage: DamageLog,
    unreachable_marks: u64,
}

/// How to pass over a file.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    pub threads: usize,
    /// Is told how many bytes of the file are done with.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Is told which part of the file is not needed for now.
    pub forget: &'a (dyn Fn(std::ops::Range<usize>) + Sync),
}

impl Pass<'_> {
    /// Runs `work` on each thread; its argument gives the next task until there is none.
    pub fn run<P: Send>(
        &self,
        tasks: usize,
        work: impl Fn(&dyn Fn() -> Option<usize>) -> P + Sync,
    ) -> Vec<P> {
        let machine = thread::available_parallelism().map_or(1, NonZero::get);
        let wanted = if self.threads == 0 {
            machine
        } else {
            self.threads
        };
        let next = AtomicUsize::new(0);
        let take = || {
            let task = next.fetch_add(1, Ordering::Relaxed);
            (task < tasks).then_some(task)
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..wanted.clamp(1, tasks.max(1)))
                .map_while(|_| {
                    let builder = thread::Builder::new();
                    builder.spawn_scoped(scope, || work(&take)).ok()
                })
                .collect();
            let mut parts = vec![work(&take)];
            for other in others {
                match other.join() {
                    Ok(part) => parts.push(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            parts
        })
    }

    fn done(&self, from: u64, to: u64) {
        (self.progress)(to - from);
        if let Some(whole) = whole_stretches(from, to) {
            (self.forget)(whole);
        }
    }
}

pub(super) fn scan(
    segments: &[SubRecords<'_>],
    id_size: IdSize,
    sees_addresses: bool,
    pass: Pass<'_>,
) -> Scan {
    let bytes: usize = segments.iter().map(|segment| segment.rest().len()).sum();
    for plan in IdPlan::all(id_size.bytes() == 8, bytes) {
        let is_unsuited = AtomicBool::new(false);
        let parts = pass.run(segments.len(), |take| {
            let mut part = Part::new(plan);
            while let Some(task) = take() {
                if is_unsuited.load(Ordering::Relaxed) {
                    break;
                }
                part.segment(segments[task], sees_addresses, pass);
                if !part.ids.suits() {
                    is_unsuited.store(true, Ordering::Relaxed);
                }
            }
            part
        });
        if is_unsuited.load(Ordering::Relaxed) {
            continue;
        }
        if let Some(scan) = merge(parts) {
            return scan;
        }
    }
    // Not reached: the last plan suits any identifiers.
    Scan {
        ids: IdMap::empty(),
        blocks: Vec::new(),
        classes: Vec::new(),
        used_classes: FxHashSet::default(),
        roots: Vec::new(),
        heaps: Vec::new(),
        votes: LayoutVotes::default(),
        sample: AddressSample::default(),
        distances: Distances::default(),
        damage: DamageLog::default(),
        unreachable_marks: 0,
    }
}

fn merge(parts: Vec<Part>) -> Option<Scan> {
    let mut ids = Vec::new();
    let mut heaps = std::collections::BTreeMap::new();
    let mut scan = Scan {
        ids: IdMap::empty(),
        blocks: Vec::new(),
        classes: Vec::new(),
        used_classes: FxHashSet::default(),
        roots: Vec::new(),
        heaps: Vec::new(),
        votes: LayoutVotes::default(),
        sample: AddressSample::default(),
        distances: Distances::default(),
        damage: DamageLog::default(),
        unreachable_marks: 0,
    };
    for part in parts {
        ids.push(part.ids);
        scan.blocks.extend(part.blocks);
        scan.classes.extend(part.classes);
        scan.used_classes.extend(part.used_classes);
        scan.roots.extend(part.roots);
        for (heap, name) in part.heaps {
            heaps.entry(heap).or_insert(name);
        }
        scan.votes.merge(&part.votes);
        scan.sample.merge(&part.sample);
        scan.distances.merge(&part.distances);
        scan.damage.merge(part.damage);
        scan.unreachable_marks += part.unreachable_marks;
    }
    // Threads take segments in any order; answers must not depend on it.
    scan.blocks.sort_unstable_by_key(|block| block.offset);
    scan.classes.sort_by_key(|class| class.id);
    scan.heaps = heaps.into_iter().collect();
    scan.damage.sort();
    scan.ids = IdMap::new(ids)?;
    Some(scan)
}

impl Part {
    fn new(plan: IdPlan) -> Self {
        Self {
            ids: IdCollector::new(plan),
            blocks: Vec::new(),
            classes: Vec::new(),
            used_classes: FxHashSet::default(),
            last_class: ObjectId::NULL,
            roots: Vec::new(),
            heaps: FxHashMap::default(),
            votes: LayoutVotes::default(),
            sample: AddressSample::default(),
            distances: Distances::default(),
            damage: DamageLog::default(),
            unreachable_marks: 0,
        }
    }

    fn segment(&mut self, mut segment: SubRecords<'_>, sees_addresses: bool, pass: Pass<'_>) {
        let mut block = Block::new(segment.offset(), 0);
        let mut reported = segment.offset();
        self.distances.interrupt();
        loop {
            let before = segment.offset();
            if before - block.offset >= BLOCK_BYTES {
                let heap = block.heap;
                self.close(block, before);
                block = Block::new(before, heap);
                if before - reported >= 4 << 20 {
                    pass.done(reported, before);
                    reported = before;
                }
            }
            let sub_record = match segment.next() {
                None => break,
                Some(Err(damage)) => {
                    self.close(block, before);
                    self.damage.add(damage);
                    block = Block::new(segment.offset(), 0);
                    continue;
                }
                Some(Ok(sub_record)) => sub_record,
            };
            match sub_record {
                SubRecord::Instance { object, class, .. } => {
                    self.object(&mut block, object);
                    self.class(class);
                    if sees_addresses {
                        self.address(object, None);
                    }
                    if sees_addresses && self.distances.seen(class) < LOOKED_AT {
                        self.distances.is_instance(object, class);
                    }
                }
                SubRecord::ObjectArray {
                    array,
                    class,
                    elements,
                    ..
                } => {
                    self.object(&mut block, array);
                    self.class(class);
                    if sees_addresses {
                        self.address(array, Some((elements.len() as u64, true)));
                    }
                }
                SubRecord::PrimitiveArray {
                    array,
                    element,
                    values,
                    ..
                } => {
                    self.object(&mut block, array);
                    if sees_addresses && element != BasicType::Object {
                        self.address(array, Some((values.len() as u64, false)));
                    }
                }
                SubRecord::PrimitiveArrayNoData { array, .. } => {
                    self.object(&mut block, array);
                    if sees_addresses {
                        self.address(array, None);
                    }
                }
                SubRecord::Class(dump) => {
                    if !dump.class.is_null() {
                        self.ids.add(dump.class.get());
                        block.see(dump.class);
                    }
                    self.classes.push(RawClass::new(&dump));
                }
                SubRecord::Root(root) => self.roots.push(root),
                SubRecord::Unreachable { .. } => self.unreachable_marks += 1,
                SubRecord::HeapInfo { heap, name } => {
                    if block.heap != u64::from(heap) {
                        self.close(block, before);
                        block = Block::new(before, u64::from(heap));
                    }
                    let known = self.heaps.entry(heap).or_insert(name);
                    if known.is_null() {
                        *known = name;
                    }
                }
            }
        }
        self.close(block, segment.offset());
        pass.done(reported, segment.offset());
    }

    #[inline]
    fn object(&mut self, block: &mut Block, object: ObjectId) {
        self.ids.add(object.get());
        self.distances.see(object);
        block.see(object);
        block.objects += 1;
    }

    /// Sees an address; of an array also its length, and whether it is of references.
    #[inline]
    fn address(&mut self, object: ObjectId, array: Option<(u64, bool)>) {
        self.sample.see(object, array);
        if self.votes.wants() {
            self.votes.see(object, array);
        }
    }

    #[inline]
    fn class(&mut self, class: ObjectId) {
        if class != self.last_class {
            self.last_class = class;
            self.used_classes.insert(class.get());
        }
    }

    fn close(&mut self, mut block: Block, end: u64) {
        block.bytes = end - block.offset;
        if block.bytes > 0 {
            self.blocks.push(block);
        }
    }
}

impl Block {
    fn new(offset: u64, heap: u64) -> Self {
        Self {
            offset,
            bytes: 0,
            first: u64::MAX,
            last: 0,
            objects: 0,
            heap,
        }
    }

    #[inline]
    fn see(&mut self, object: ObjectId) {
        self.first = self.first.min(object.get());
        self.last = self.last.max(object.get());
    }
}

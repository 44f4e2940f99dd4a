//! The first pass over a dump: which objects and classes there are, and where.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use hprof_format::binary::{BasicType, IdSize, SubRecord, SubRecords};
use hprof_format::ids::{ObjectId, StringId};
use hprof_format::model::Root;
use hprof_format::reader::Damage;
use rustc_hash::{FxHashMap, FxHashSet};

use super::classes::RawClass;
use super::ids::{IdCollector, IdMap, IdPlan};
use crate::contents::DamageLog;
use crate::heap::LayoutObserver;
use crate::walk::{Block, Pass, Visit};

/// The approximate size of a block in bytes. A search for one object reads one block.
const BLOCK_BYTES: u64 = 32 << 10;

/// The results of the first pass.
pub(super) struct Scan {
    pub ids: IdMap,
    pub blocks: Vec<Block>,
    pub classes: Vec<RawClass>,
    pub used_classes: FxHashSet<u64>,
    pub roots: Vec<Root>,
    pub heaps: Vec<(u32, StringId)>,
    pub observer: LayoutObserver,
    pub damage: DamageLog,
    /// Android: objects marked as not reachable.
    pub unreachable_marks: u64,
    /// A bit for the code of each primitive type that has arrays.
    pub primitive_types: u16,
}

impl Scan {
    /// Returns true if there are primitive arrays of other types than those of texts and pictures.
    pub fn has_arrays_of_numbers(&self) -> bool {
        let of_contents = [BasicType::Byte, BasicType::Char].map(bit_of);
        self.primitive_types & !(of_contents[0] | of_contents[1]) != 0
    }

    /// No object, class or root.
    fn empty() -> Self {
        Self {
            ids: IdMap::empty(),
            blocks: Vec::new(),
            classes: Vec::new(),
            used_classes: FxHashSet::default(),
            roots: Vec::new(),
            heaps: Vec::new(),
            observer: LayoutObserver::default(),
            damage: DamageLog::default(),
            unreachable_marks: 0,
            primitive_types: 0,
        }
    }
}

/// The bit of a primitive type.
#[inline]
fn bit_of(element: BasicType) -> u16 {
    // Type codes are below 16.
    1 << (element.code() & 15)
}

/// The results of one thread.
struct Part {
    /// The run of sub-records that is being walked over.
    block: Block,
    ids: IdCollector,
    blocks: Vec<Block>,
    classes: Vec<RawClass>,
    used_classes: FxHashSet<u64>,
    last_class: ObjectId,
    roots: Vec<Root>,
    heaps: FxHashMap<u32, StringId>,
    observer: LayoutObserver,
    damage: DamageLog,
    unreachable_marks: u64,
    primitive_types: u16,
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
        let parts = pass.run(segments.len(), |tasks| {
            let mut part = Part::new(plan, sees_addresses);
            for task in tasks {
                if is_unsuited.load(Ordering::Relaxed) {
                    break;
                }
                let segment = segments[task];
                part.begin(segment.offset());
                let end = pass.walk(segment, u64::MAX, &mut part);
                part.close(end);
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
    Scan::empty()
}

fn merge(parts: Vec<Part>) -> Option<Scan> {
    let mut ids = Vec::new();
    let mut heaps = std::collections::BTreeMap::new();
    let mut scan = Scan::empty();
    for part in parts {
        ids.push(part.ids);
        scan.blocks.extend(part.blocks);
        scan.classes.extend(part.classes);
        scan.used_classes.extend(part.used_classes);
        scan.roots.extend(part.roots);
        for (heap, name) in part.heaps {
            heaps.entry(heap).or_insert(name);
        }
        scan.observer.merge(&part.observer);
        scan.damage.merge(part.damage);
        scan.unreachable_marks += part.unreachable_marks;
        scan.primitive_types |= part.primitive_types;
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
    fn new(plan: IdPlan, sees_addresses: bool) -> Self {
        Self {
            block: Block::new(0, 0),
            ids: IdCollector::new(plan),
            blocks: Vec::new(),
            classes: Vec::new(),
            used_classes: FxHashSet::default(),
            last_class: ObjectId::NULL,
            roots: Vec::new(),
            heaps: FxHashMap::default(),
            observer: LayoutObserver::new(sees_addresses),
            damage: DamageLog::default(),
            unreachable_marks: 0,
            primitive_types: 0,
        }
    }

    /// Tells that a segment begins.
    fn begin(&mut self, offset: u64) {
        self.block = Block::new(offset, 0);
        self.observer.interrupt();
    }

    #[inline]
    fn object(&mut self, object: ObjectId) {
        self.ids.add(object.get());
        self.block.see(object);
        self.block.objects += 1;
    }

    #[inline]
    fn class(&mut self, class: ObjectId) {
        if class != self.last_class {
            self.last_class = class;
            self.used_classes.insert(class.get());
        }
    }

    /// Ends the present block, which reaches to `end`.
    fn close(&mut self, end: u64) {
        self.block.bytes = end - self.block.offset;
        if self.block.bytes > 0 {
            self.blocks.push(self.block);
        }
    }

    /// Sees a sub-record that is no object or array.
    #[cold]
    fn other(&mut self, offset: u64, sub_record: &SubRecord<'_>) {
        match *sub_record {
            SubRecord::Class(dump) => {
                if !dump.class.is_null() {
                    self.ids.add(dump.class.get());
                    self.block.see(dump.class);
                }
                self.classes.push(RawClass::new(&dump));
            }
            SubRecord::Root(root) => self.roots.push(root),
            SubRecord::Unreachable { .. } => self.unreachable_marks += 1,
            SubRecord::HeapInfo { heap, name } => {
                if self.block.heap != u64::from(heap) {
                    self.close(offset);
                    self.block = Block::new(offset, u64::from(heap));
                }
                let known = self.heaps.entry(heap).or_insert(name);
                if known.is_null() {
                    *known = name;
                }
            }
            _ => {}
        }
    }
}

impl Visit for Part {
    #[inline]
    fn sub_record(&mut self, offset: u64, sub_record: &SubRecord<'_>) {
        if offset - self.block.offset >= BLOCK_BYTES {
            self.close(offset);
            self.block = Block::new(offset, self.block.heap);
        }
        match *sub_record {
            SubRecord::Instance { object, class, .. } => {
                self.object(object);
                self.class(class);
                self.observer.see_instance(object, class);
            }
            SubRecord::ObjectArray {
                array,
                class,
                elements,
                ..
            } => {
                self.object(array);
                self.class(class);
                self.observer
                    .see(array, Some((elements.len() as u64, true)));
            }
            SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } => {
                self.object(array);
                self.primitive_types |= bit_of(element);
                self.observer.see(array, Some((values.len() as u64, false)));
            }
            SubRecord::PrimitiveArrayNoData { array, element, .. } => {
                self.object(array);
                self.primitive_types |= bit_of(element);
                self.observer.see(array, None);
            }
            _ => self.other(offset, sub_record),
        }
    }

    fn damage(&mut self, offset: u64, next: u64, damage: Damage) -> ControlFlow<()> {
        self.close(offset);
        self.damage.add(damage);
        self.block = Block::new(next, 0);
        ControlFlow::Continue(())
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

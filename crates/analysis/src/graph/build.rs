//! The second pass over a dump: what refers to what.

use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;

use hprof_format::binary::{BasicType, IdSize, SubRecord};
use rustc_hash::{FxHashMap, FxHashSet};
use zerocopy::{FromBytes, IntoBytes};

use super::array::{Array, Plain};
use super::class_of::{ClassOf, ClassSink};
use super::classes::Classes;
use super::ids::IdMap;
use super::missing::MissingIds;
use super::number::Number;
use super::options::Follow;
use super::references::{ReferenceSink, ReferenceWriter, References};
use super::sizes::{SizeSink, Sizes};
use super::store::Store;
use crate::gate;
use crate::heap::{Layout, stack_words};
use crate::numbers::ClassNumber;
use crate::walk::{Block, Pass};

/// The inputs of the second pass.
pub(super) struct Plan<'a> {
    pub file: &'a [u8],
    pub id_size: IdSize,
    pub ids: &'a IdMap,
    pub blocks: &'a [Block],
    pub classes: &'a Classes,
    pub layout: Layout,
    pub follow: &'a Follow,
    /// References that no field holds, by object, such as those of a thread to its locals.
    pub extra: &'a FxHashMap<usize, Vec<usize>>,
    /// The objects of global references of native code, by identifier.
    pub archives: &'a FxHashSet<u64>,
    pub store: &'a Store,
}

/// The results of the second pass.
pub(super) struct Built<N> {
    pub references: References<N>,
    /// By object: its class.
    pub class_of: ClassOf,
    pub sizes: Sizes,
    /// References that do not keep alive what they refer to: from, to; sorted.
    pub passed_over: Vec<(u64, u64)>,
    pub counts: Counts,
}

/// The number of inconsistencies, by kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// References to objects that the file lacks.
    pub dangling: u64,
    /// Dangling references in arrays that native code holds.
    pub archived: u64,
    /// The objects that the other dangling references lead to, as far as they are distinguished.
    pub missing: u64,
    /// Objects of classes that the file does not describe.
    pub without_class: u64,
}

/// How to read the instances of a class.
pub(super) struct ClassPlan {
    references: Box<[u32]>,
    passed_over: Box<[u32]>,
    units: Option<u32>,
    /// The bytes of the fields of a virtual thread's stack, an object with a size of its own.
    stack_chunk: Option<u64>,
}

impl ClassPlan {
    /// Where all references of an instance lie, those that keep nothing alive too.
    pub(super) fn all_references(&self) -> impl Iterator<Item = usize> {
        let all = self.references.iter().chain(&self.passed_over);
        all.map(|&at| at as usize)
    }

    /// True if all classes above are known, so that the instances can be read.
    pub(super) fn is_whole(&self) -> bool {
        self.units.is_some() || self.stack_chunk.is_some()
    }
}

pub(super) fn plans(classes: &Classes, follow: &Follow) -> Vec<ClassPlan> {
    let plan = |class: ClassNumber| {
        let of_class = classes.get(class);
        let kind = of_class.reference_kind;
        let mut references = Vec::new();
        let mut passed_over = Vec::new();
        for field in classes.fields(class) {
            if field.field.basic_type() != BasicType::Object {
                continue;
            }
            let declared_by = &classes.get(field.class).name;
            let to = match follow.passes_over(kind, declared_by, &field.field.name) {
                true => &mut passed_over,
                false => &mut references,
            };
            to.push(field.offset as u32);
        }
        // Of all others their class tells the size.
        let is_stack = of_class.loader == 0 && of_class.name == "jdk.internal.vm.StackChunk";
        ClassPlan {
            references: references.into(),
            passed_over: passed_over.into(),
            units: of_class.instance_bytes.filter(|_| !is_stack).map(units),
            stack_chunk: of_class.instance_bytes.filter(|_| is_stack),
        }
    };
    classes.numbers().map(plan).collect()
}

/// Bytes in units of eight. No object has more than 2^32 of them.
pub(super) fn units(bytes: u64) -> u32 {
    u32::try_from(bytes / 8).unwrap_or(u32::MAX)
}

struct Shared<'a, N: Number> {
    plan: &'a Plan<'a>,
    plans: &'a [ClassPlan],
    start: &'a [N::Atomic],
    class_of: ClassSink<'a>,
    sizes: SizeSink<'a>,
    object_class: ClassNumber,
}

struct Worker<'w, 's, 'a, N: Number> {
    shared: &'w Shared<'w, N>,
    writer: ReferenceWriter<'s, 'a, N>,
    targets: Vec<N>,
    last_class: Option<(u64, ClassNumber)>,
    passed_over: Vec<(u64, u64)>,
    /// Sizes that are no byte, by object.
    large: Vec<[u64; 2]>,
    counts: Counts,
    missing: MissingIds,
    /// The identifier of the array whose elements are looked at, else 0.
    array: u64,
}

pub(super) fn build<N: Number>(plan: &Plan<'_>, pass: Pass<'_>) -> io::Result<Built<N>> {
    let count = plan.ids.len();
    let mut start = plan.store.filled(count, N::NONE)?;
    let mut class_of = ClassOf::unknown(count, plan.classes.list().len(), plan.store)?;
    let mut sizes = plan.store.zeros(count)?;
    let class_plans = plans(plan.classes, plan.follow);
    let sink = ReferenceSink::new(plan.store);
    let error = Mutex::new(None);
    let (mut passed_over, mut large) = (Vec::new(), Vec::new());
    let mut counts = Counts::default();
    let mut missing = MissingIds::default();
    {
        let shared = Shared::<N> {
            plan,
            plans: &class_plans,
            start: atomics(&mut start),
            class_of: ClassSink::new(&mut class_of),
            sizes: SizeSink::new(&mut sizes),
            object_class: plan.classes.class_of_classes(),
        };
        let last = Pass::tasks_of(plan.blocks);
        let parts = pass.run(last + 1, |tasks| {
            let mut worker = Worker {
                shared: &shared,
                writer: sink.writer(),
                targets: Vec::new(),
                last_class: None,
                passed_over: Vec::new(),
                large: Vec::new(),
                counts: Counts::default(),
                missing: MissingIds::default(),
                array: 0,
            };
            for task in tasks {
                let result = if task == last {
                    worker.classes()
                } else {
                    // Damage was reported by the first pass.
                    pass.runs(plan.file, plan.id_size, plan.blocks, task, |sub_record| {
                        worker.sub_record(sub_record)
                    })
                };
                if let Err(failed) = result {
                    *error.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
                    break;
                }
            }
            worker.writer.flush();
            let Worker {
                passed_over,
                large,
                counts,
                missing,
                ..
            } = worker;
            (passed_over, large, counts, missing)
        });
        for (more, sizes, sums, ids) in parts {
            passed_over.extend(more);
            large.extend(sizes);
            missing.merge(ids);
            counts.dangling += sums.dangling;
            counts.archived += sums.archived;
            counts.without_class += sums.without_class;
        }
    }
    if let Some(error) = error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    counts.missing = missing.len();
    let mut references = References {
        start,
        chunks: Vec::new(),
    };
    let mut writer = sink.writer();
    add_extra(&mut references, plan, &mut writer, &sink)?;
    writer.flush();
    drop(writer);
    references.chunks = sink.finish();
    passed_over.sort_unstable();
    Ok(Built {
        references,
        class_of,
        sizes: Sizes::joined(sizes, large),
        passed_over,
        counts,
    })
}

/// Numbers that several threads store into.
pub(super) fn atomics<A: FromBytes + IntoBytes, T: Plain>(numbers: &mut Array<T>) -> &[A] {
    // Arrays are whole elements, aligned for them.
    <[A]>::mut_from_bytes(numbers.as_mut_bytes()).map_or(&[], |atomics| atomics)
}

/// Appends references that no field holds, by writing the object's list once more.
fn add_extra<N: Number>(
    references: &mut References<N>,
    plan: &Plan<'_>,
    writer: &mut ReferenceWriter<'_, '_, N>,
    sink: &ReferenceSink<'_, N>,
) -> io::Result<()> {
    let mut owners: Vec<&usize> = plan.extra.keys().collect();
    owners.sort_unstable();
    for &owner in owners {
        let start = references.start[owner];
        let mut targets: Vec<N> = sink.list(start);
        targets.extend(plan.extra[&owner].iter().map(|&target| N::of(target)));
        references.start[owner] = writer.write(&mut targets)?;
    }
    Ok(())
}

impl<N: Number> Worker<'_, '_, '_, N> {
    #[inline]
    fn sub_record(&mut self, sub_record: &SubRecord<'_>) -> io::Result<()> {
        let plan = self.shared.plan;
        match *sub_record {
            SubRecord::Instance {
                object,
                class,
                values,
                ..
            } => {
                let Some(number) = plan.ids.number(object.get()) else {
                    return Ok(());
                };
                let class = self.class(class.get());
                if class == self.shared.object_class && plan.classes.by_id(object.get()).is_some() {
                    // The class dump tells more of the same object, but not its size.
                    let size = self.shared.plans[class.index()].units.unwrap_or(0);
                    self.shared.sizes.store(number, size, &mut self.large);
                    return Ok(());
                }
                self.targets.clear();
                let class_plan = &self.shared.plans[class.index()];
                for &at in &class_plan.references {
                    self.target(values, at as usize);
                }
                for &at in &class_plan.passed_over {
                    let before = self.targets.len();
                    self.target(values, at as usize);
                    if let Some(target) = self.targets.get(before) {
                        self.passed_over.push((number as u64, target.get() as u64));
                        self.targets.truncate(before);
                    }
                }
                let size = class_plan.units.unwrap_or_else(|| {
                    if let Some(fields) = class_plan.stack_chunk {
                        let words = stack_words(values, plan.id_size.bytes()).unwrap_or(0);
                        return units(plan.layout.stack_chunk(fields, words));
                    }
                    self.counts.without_class += 1;
                    units(plan.layout.without_class(values.len() as u64))
                });
                self.finish(number, class, size)
            }
            SubRecord::ObjectArray {
                array,
                class,
                elements,
                ..
            } => {
                let Some(number) = plan.ids.number(array.get()) else {
                    return Ok(());
                };
                self.targets.clear();
                let bytes = elements.as_bytes();
                let step = plan.id_size.bytes();
                self.array = array.get();
                for at in (0..bytes.len()).step_by(step) {
                    self.target(bytes, at);
                }
                self.array = 0;
                let class = self.class(class.get());
                let size = units(plan.layout.object_array(elements.len() as u64));
                self.finish(number, class, size)
            }
            SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } => self.primitive_array(array.get(), element, values.len() as u64),
            SubRecord::PrimitiveArrayNoData {
                array,
                element,
                length,
                ..
            } => {
                let bytes = u64::from(length) * element.width(plan.id_size) as u64;
                self.primitive_array(array.get(), element, bytes)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn primitive_array(&mut self, id: u64, element: BasicType, bytes: u64) -> io::Result<()> {
        let plan = self.shared.plan;
        let Some(number) = plan.ids.number(id) else {
            return Ok(());
        };
        self.targets.clear();
        let class = plan.classes.primitive_array(element);
        self.finish(number, class, units(plan.layout.primitive_array(bytes)))
    }

    #[inline]
    fn class(&mut self, id: u64) -> ClassNumber {
        if let Some((last, class)) = self.last_class
            && last == id
        {
            return class;
        }
        let class = self.shared.plan.classes.by_id(id);
        let class = class.unwrap_or(ClassNumber::UNKNOWN);
        self.last_class = Some((id, class));
        class
    }

    #[inline]
    fn target(&mut self, bytes: &[u8], at: usize) {
        let id = match self.shared.plan.id_size {
            IdSize::Eight => match bytes.get(at..at + 8) {
                Some(field) => u64::from_be_bytes(field.try_into().unwrap_or_default()),
                None => return,
            },
            IdSize::Four => match bytes.get(at..at + 4) {
                Some(field) => u64::from(u32::from_be_bytes(field.try_into().unwrap_or_default())),
                None => return,
            },
        };
        if id != 0 {
            self.reference(id);
        }
    }

    #[inline]
    fn reference(&mut self, id: u64) {
        match self.shared.plan.ids.number(id) {
            Some(target) => self.targets.push(N::of(target)),
            None => self.dangling(id),
        }
    }

    #[cold]
    fn dangling(&mut self, id: u64) {
        self.counts.dangling += 1;
        match self.shared.plan.archives.contains(&self.array) {
            true => self.counts.archived += 1,
            false => self.missing.add(id),
        }
    }

    #[inline]
    fn finish(&mut self, number: usize, class: ClassNumber, size: u32) -> io::Result<()> {
        gate::pass();
        let position = self.writer.write(&mut self.targets)?;
        N::store(&self.shared.start[number], position);
        self.shared.class_of.store(number, class);
        self.shared.sizes.store(number, size, &mut self.large);
        Ok(())
    }

    /// The class objects, whose references no instance record tells.
    fn classes(&mut self) -> io::Result<()> {
        let plan = self.shared.plan;
        for class in plan.classes.list() {
            let Some(number) = plan.ids.number(class.id).filter(|_| class.is_described) else {
                continue;
            };
            self.targets.clear();
            for id in class.references() {
                if id != 0 {
                    self.reference(id);
                }
            }
            // The room that the object takes is zero unless an instance dump tells it.
            let position = self.writer.write(&mut self.targets)?;
            N::store(&self.shared.start[number], position);
            (self.shared.class_of).store(number, self.shared.object_class);
        }
        Ok(())
    }
}

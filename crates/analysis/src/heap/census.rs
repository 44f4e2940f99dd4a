//! Counts the objects of a heap dump.

use hprof_format::binary::{BasicType, IdSize, SubRecord};
use hprof_format::ids::{ObjectId, StringId, ThreadSerial, TraceSerial};
use hprof_format::model::{Root, RootKind};
use rustc_hash::FxHashMap;

use super::class_shape::ClassShape;
use super::counts::{ArrayCount, ClassCount, HeapCount, RootCounts};
use super::hotspot::stack_words;
use super::largest::{Large, LargeKind, Largest, PREVIEW};
use super::layout::Layout;
use super::layout_observer::LayoutObserver;
use crate::names::Names;

/// The objects of a heap dump, counted by class.
#[derive(Debug, Clone)]
pub struct Census {
    classes: Vec<(ObjectId, ClassCount)>,
    class_index: FxHashMap<ObjectId, u32>,
    last_class: (ObjectId, u32),
    /// By the code of the element's type; each is made when its first array comes, as a file may
    /// hold thousands of dumps with nothing in them.
    primitives: [Option<Box<ArrayCount>>; 16],
    /// The classes by their objects.
    pub shapes: FxHashMap<ObjectId, ClassShape>,
    /// Class dumps, repeated ones included.
    pub class_dumps: u64,
    /// Roots by kind.
    pub roots: RootCounts,
    /// The threads of `ROOT THREAD OBJECT`: object, serial, trace.
    pub threads: Vec<(ObjectId, ThreadSerial, TraceSerial)>,
    /// Android: objects marked as not reachable.
    pub unreachable: u64,
    /// Arrays whose elements were left out of the file.
    pub without_data: u64,
    /// Android's heaps; one entry without a name in other files.
    pub heaps: Vec<HeapCount>,
    /// Where the count of each heap but the first is.
    heap_index: FxHashMap<u32, usize>,
    heap: usize,
    /// The largest arrays.
    pub largest: Largest,
    observer: LayoutObserver,
    /// The class of the stacks of virtual threads.
    stack_chunk: Option<ObjectId>,
    /// The stacks of virtual threads by the words that they hold.
    stacks: FxHashMap<u32, u64>,
}

impl Census {
    /// An empty census that keeps the `largest` largest arrays. `sees_addresses` tells that
    /// identifiers are addresses, from which the layout can be guessed.
    pub fn new(largest: usize, sees_addresses: bool) -> Self {
        Self {
            classes: Vec::new(),
            class_index: FxHashMap::default(),
            last_class: (ObjectId::NULL, u32::MAX),
            primitives: Default::default(),
            shapes: FxHashMap::default(),
            class_dumps: 0,
            roots: RootCounts::new(),
            threads: Vec::new(),
            unreachable: 0,
            without_data: 0,
            heaps: vec![HeapCount {
                heap: 0,
                name: StringId::NULL,
                objects: 0,
            }],
            heap_index: FxHashMap::default(),
            heap: 0,
            largest: Largest::new(largest),
            observer: LayoutObserver::new(sees_addresses),
            stack_chunk: None,
            stacks: FxHashMap::default(),
        }
    }

    /// Tells which class has the stacks of virtual threads, whose sizes are looked at.
    pub fn look_at_stacks(&mut self, class: Option<ObjectId>) {
        if self.observer.sees_addresses() {
            self.stack_chunk = class;
        }
    }

    /// Tells that a segment begins: Android's heap is the default one again.
    pub fn begin_segment(&mut self) {
        self.heap = 0;
        self.observer.interrupt();
    }

    /// Counts a sub-record.
    #[inline]
    pub fn add(&mut self, sub_record: &SubRecord<'_>) {
        match *sub_record {
            SubRecord::Instance {
                object,
                class,
                values,
                ..
            } => {
                self.heaps[self.heap].objects += 1;
                self.observer.see_instance(object, class);
                if self.stack_chunk == Some(class) {
                    self.add_stack(values);
                }
                let count = self.class(class);
                count.instances += 1;
                count.value_bytes += values.len() as u64;
            }
            SubRecord::ObjectArray {
                array,
                class,
                elements,
                ..
            } => {
                let data_bytes = elements.as_bytes().len() as u64;
                self.object_array(array, class, elements.len() as u64, data_bytes);
            }
            SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } => {
                let data_bytes = values.len() as u64;
                self.seen(array, Some((data_bytes, false)));
                self.primitive(array, element, data_bytes, values);
            }
            SubRecord::PrimitiveArrayNoData {
                array,
                element,
                length,
                ..
            } => {
                self.without_data += 1;
                self.seen(array, None);
                let width = element.width(IdSize::Four) as u64;
                self.primitive(array, element, u64::from(length) * width, &[]);
            }
            _ => self.add_other(sub_record),
        }
    }

    #[inline]
    fn seen(&mut self, object: ObjectId, array: Option<(u64, bool)>) {
        self.heaps[self.heap].objects += 1;
        self.observer.see(object, array);
    }

    #[cold]
    fn add_stack(&mut self, values: &[u8]) {
        if let Some(words) = stack_words(values, IdSize::Eight.bytes()) {
            *self.stacks.entry(words).or_default() += 1;
        }
    }

    /// Counts an object or array of which only the first values are there; `bytes` is the length
    /// of all of them.
    pub fn add_long(&mut self, start: &SubRecord<'_>, bytes: u64) {
        match *start {
            SubRecord::Instance { object, class, .. } => {
                self.seen(object, None);
                let count = self.class(class);
                count.instances += 1;
                count.value_bytes += bytes;
            }
            SubRecord::ObjectArray {
                array,
                class,
                elements,
                ..
            } => {
                let width = elements.id_size().bytes() as u64;
                self.object_array(array, class, bytes / width, bytes);
            }
            SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } => {
                self.seen(array, Some((bytes, false)));
                self.primitive(array, element, bytes, values);
            }
            _ => self.add_other(start),
        }
    }

    #[inline]
    fn object_array(&mut self, array: ObjectId, class: ObjectId, length: u64, data_bytes: u64) {
        self.seen(array, Some((length, true)));
        let count = self.class(class);
        count.add_array(length);
        if self.largest.wants_objects(data_bytes) {
            self.largest.add(Large {
                data_bytes,
                object: array,
                length,
                kind: LargeKind::Objects(class),
            });
        }
    }

    #[inline]
    fn primitive(&mut self, array: ObjectId, element: BasicType, data_bytes: u64, values: &[u8]) {
        let width = element.width(IdSize::Four) as u64;
        let length = data_bytes / width;
        // Type codes are below 16.
        let count = &mut self.primitives[usize::from(element.code() & 15)];
        count.get_or_insert_default().add(length, data_bytes);
        if self.largest.wants_primitives(data_bytes) {
            let preview = &values[..values.len().min(PREVIEW)];
            self.largest.add(Large {
                data_bytes,
                object: array,
                length,
                kind: LargeKind::Primitives(element.code(), preview.into()),
            });
        }
    }

    #[inline]
    fn class(&mut self, class: ObjectId) -> &mut ClassCount {
        let (last, index) = self.last_class;
        let index = if last == class && index != u32::MAX {
            index
        } else {
            let next = self.classes.len() as u32;
            let index = *self.class_index.entry(class).or_insert(next);
            if index == next {
                self.classes.push((class, ClassCount::default()));
            }
            self.last_class = (class, index);
            index
        };
        &mut self.classes[index as usize].1
    }

    #[cold]
    fn add_other(&mut self, sub_record: &SubRecord<'_>) {
        match *sub_record {
            SubRecord::Class(dump) => {
                self.class_dumps += 1;
                self.shapes
                    .entry(dump.class)
                    .or_insert_with(|| ClassShape::new(&dump));
            }
            SubRecord::Root(root) => {
                *self.roots.entry(root_name(&root)).or_default() += 1;
                if let RootKind::ThreadObject { thread, trace } = root.kind {
                    self.threads.push((root.object, thread, trace));
                }
            }
            SubRecord::Unreachable { .. } => self.unreachable += 1,
            SubRecord::HeapInfo { heap, name } => {
                self.heap = self.heap_number(heap, name);
                let named = &mut self.heaps[self.heap];
                if named.name.is_null() {
                    named.name = name;
                }
            }
            _ => {}
        }
    }

    /// The place of the count of one of Android's heaps.
    fn heap_number(&mut self, heap: u32, name: StringId) -> usize {
        let next = self.heaps.len();
        // The first is there before any is named.
        let found = match heap {
            0 => 0,
            heap => *self.heap_index.entry(heap).or_insert(next),
        };
        if found == next {
            let objects = 0;
            self.heaps.push(HeapCount {
                heap,
                name,
                objects,
            });
        }
        found
    }

    /// Adds another part of the same dump.
    pub fn merge(&mut self, other: Self) {
        for (class, count) in &other.classes {
            self.class(*class).merge(count);
        }
        for (sum, more) in self.primitives.iter_mut().zip(&other.primitives) {
            if let Some(more) = more {
                sum.get_or_insert_default().merge(more);
            }
        }
        for (class, shape) in other.shapes {
            self.shapes.entry(class).or_insert(shape);
        }
        self.class_dumps += other.class_dumps;
        for (kind, count) in other.roots {
            *self.roots.entry(kind).or_default() += count;
        }
        self.threads.extend(other.threads);
        self.unreachable += other.unreachable;
        self.without_data += other.without_data;
        for more in other.heaps {
            let found = self.heap_number(more.heap, more.name);
            self.heaps[found].objects += more.objects;
        }
        self.largest.merge(other.largest);
        self.observer.merge(&other.observer);
        for (words, count) in other.stacks {
            *self.stacks.entry(words).or_default() += count;
        }
    }

    /// The room of all stacks of virtual threads, and their number; `fields` is what the fields of
    /// each take.
    pub(super) fn stacks(&self, layout: &Layout, fields: u64) -> (u64, u64) {
        let mut sum = (0, 0);
        for (&words, &count) in &self.stacks {
            sum.0 += count * layout.stack_chunk(fields, words);
            sum.1 += count;
        }
        sum
    }

    /// The class of the stacks of virtual threads.
    pub(super) fn stack_chunk(&self) -> Option<ObjectId> {
        self.stack_chunk
    }

    /// All classes that have instances or arrays, in no order.
    pub fn classes(&self) -> impl Iterator<Item = (ObjectId, &ClassCount)> {
        self.classes.iter().map(|(class, count)| (*class, count))
    }

    /// All primitive types that have arrays.
    pub fn primitive_arrays(&self) -> impl Iterator<Item = (BasicType, &ArrayCount)> {
        BasicType::ALL.into_iter().filter_map(|element| {
            let count = self.primitives[usize::from(element.code() & 15)].as_deref()?;
            Some((element, count))
        })
    }

    /// Objects and arrays of all kinds; class objects are not among them.
    pub fn objects(&self) -> u64 {
        self.heaps.iter().map(|count| count.objects).sum()
    }

    /// Instances that are no arrays.
    pub fn instances(&self) -> u64 {
        self.classes.iter().map(|(_, count)| count.instances).sum()
    }

    /// Arrays of references.
    pub fn object_arrays(&self) -> u64 {
        self.classes.iter().map(|(_, count)| count.arrays).sum()
    }

    /// The sizes of instances that the distances between objects tell, by class; none if objects
    /// do not come in the order of their addresses.
    pub fn measured_sizes(&self, names: &Names) -> FxHashMap<ObjectId, u64> {
        self.observer.sizes(names, self.shapes.keys().copied())
    }

    /// The layout that the distances between objects tell.
    pub fn measured_layout(&self) -> Option<Layout> {
        self.observer.layout()
    }
}

/// The name of a root's kind, as the format's manual has it.
pub(crate) fn root_name(root: &Root) -> &'static str {
    match root.kind {
        RootKind::Unknown => "unknown",
        RootKind::JniGlobal { .. } => "JNI global",
        RootKind::JniLocal { .. } => "JNI local",
        RootKind::JavaFrame { .. } => "Java frame",
        RootKind::NativeStack { .. } => "native stack",
        RootKind::StickyClass => "sticky class",
        RootKind::ThreadBlock { .. } => "thread block",
        RootKind::MonitorUsed => "monitor used",
        RootKind::ThreadObject { .. } => "thread object",
        RootKind::InternedString => "interned string",
        RootKind::Finalizing => "finalizing",
        RootKind::Debugger => "debugger",
        RootKind::ReferenceCleanup => "reference cleanup",
        RootKind::VmInternal => "VM internal",
        RootKind::JniMonitor { .. } => "JNI monitor",
    }
}

//! The definitions of a file.

use std::collections::{HashMap, HashSet};

use super::Faults;
use crate::binary::{BasicType, ClassDump, IdSize, Record, SubRecord};
use crate::ids::ObjectId;
use crate::model::RootKind;
use crate::reader::Event;

/// The fields that a class itself declares.
#[derive(Debug)]
struct Shape {
    super_class: ObjectId,
    fields: Vec<BasicType>,
}

/// Everything that references may point to.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) id_size: IdSize,
    pub(super) strings: HashSet<u64>,
    pub(super) frames: HashSet<u64>,
    pub(super) traces: HashSet<u32>,
    pub(super) threads: HashSet<u32>,
    pub(super) class_serials: HashSet<u32>,
    /// Classes with a name.
    pub(super) loaded: HashSet<u64>,
    /// Objects, arrays and classes of heap dumps, sorted once all are known.
    pub(super) objects: Vec<u64>,
    /// The objects of global JNI references.
    pub(super) jni_globals: HashSet<u64>,
    shapes: HashMap<u64, Shape>,
    /// True if segments of a heap dump still lack their end.
    is_open: bool,
}

/// More super classes than any class has: a cycle.
const DEEPEST: usize = 1 << 16;

impl Known {
    /// For a file with ids of this width.
    pub(super) fn new(id_size: IdSize) -> Self {
        Self {
            id_size,
            strings: HashSet::new(),
            frames: HashSet::new(),
            traces: HashSet::new(),
            threads: HashSet::new(),
            class_serials: HashSet::new(),
            loaded: HashSet::new(),
            objects: Vec::new(),
            jni_globals: HashSet::new(),
            shapes: HashMap::new(),
            is_open: false,
        }
    }

    /// Learns what `event` defines.
    pub(super) fn add(&mut self, event: &Event<'_>) {
        match event {
            Event::Record(found) => self.add_record(&found.record),
            Event::Heap { is_segment, .. } => {
                self.is_open |= *is_segment;
            }
            Event::SubRecord { sub_record, .. }
            | Event::LongSubRecord {
                start: sub_record, ..
            } => self.add_sub_record(sub_record),
        }
    }

    fn add_record(&mut self, record: &Record<'_>) {
        match *record {
            Record::Utf8 { id, .. } => {
                self.strings.insert(id.get());
            }
            Record::LoadClass { serial, class, .. } => {
                self.class_serials.insert(serial.get());
                self.loaded.insert(class.get());
            }
            Record::Frame { id, .. } => {
                self.frames.insert(id.get());
            }
            Record::Trace { serial, .. } => {
                self.traces.insert(serial.get());
            }
            Record::StartThread { serial, .. } => {
                self.threads.insert(serial.get());
            }
            Record::HeapDumpEnd => self.is_open = false,
            _ => {}
        }
    }

    fn add_sub_record(&mut self, sub_record: &SubRecord<'_>) {
        match *sub_record {
            SubRecord::Class(class) => self.add_class(&class),
            SubRecord::Instance { object, .. } => self.objects.push(object.get()),
            SubRecord::ObjectArray { array, .. }
            | SubRecord::PrimitiveArray { array, .. }
            | SubRecord::PrimitiveArrayNoData { array, .. } => self.objects.push(array.get()),
            SubRecord::Root(root) => match root.kind {
                RootKind::ThreadObject { thread, .. } => {
                    self.threads.insert(thread.get());
                }
                RootKind::JniGlobal { .. } => {
                    self.jni_globals.insert(root.object.get());
                }
                _ => {}
            },
            SubRecord::Unreachable { .. } | SubRecord::HeapInfo { .. } => {}
        }
    }

    fn add_class(&mut self, class: &ClassDump<'_>) {
        self.objects.push(class.class.get());
        let fields = class.fields.iter().map(|field| field.basic_type).collect();
        let super_class = class.super_class;
        let shape = Shape {
            super_class,
            fields,
        };
        self.shapes.insert(class.class.get(), shape);
    }

    /// Ends the learning.
    pub(super) fn finish(&mut self, faults: &mut Faults) {
        self.objects.sort_unstable();
        if self.is_open {
            faults.add("no end", || {
                "the heap dump has no end: it may be incomplete".to_owned()
            });
        }
    }

    /// Returns whether a heap dump has the object.
    pub(super) fn has_object(&self, object: ObjectId) -> bool {
        self.objects.binary_search(&object.get()).is_ok()
    }

    /// The width of an instance's values, and where its references are; `None` if a class is
    /// missing.
    pub(super) fn layout(&self, class: ObjectId, id_size: IdSize) -> Option<Layout> {
        let mut layout = Layout::default();
        let mut next = class;
        for _ in 0..DEEPEST {
            let shape = self.shapes.get(&next.get())?;
            for field in &shape.fields {
                if *field == BasicType::Object {
                    layout.references.push(layout.width);
                }
                layout.width += field.width(id_size);
            }
            next = shape.super_class;
            if next.is_null() {
                return Some(layout);
            }
        }
        None
    }
}

/// How the values of an instance lie.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Bytes of all values.
    pub(super) width: usize,
    /// Where the references start.
    pub(super) references: Vec<usize>,
}

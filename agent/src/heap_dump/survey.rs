//! The first reading of the VM's dump: everything but the objects themselves.
//!
//! Memory grows with classes, names, threads and roots, not with objects.

use std::io::Read;

use hashbrown::HashMap;
use hprof_format::binary::{
    BasicType, ClassDump, IdSize, Record, SubRecord, SubRecords, Value, mutf8,
};
use hprof_format::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};
use hprof_format::model::{InstanceLayout, Root};
use hprof_format::reader::Damage;

use super::primitive_array;
use super::reader::{DumpError, Visitor};
use super::thread_objects::ThreadObjects;
use super::vm_names;
use crate::vm::ArrayLayout;

/// A class of the dump.
pub struct Class {
    /// The class object.
    pub id: ObjectId,
    /// Its name as Java source has it.
    pub name: Box<str>,
    /// The super class, or null.
    pub super_class: ObjectId,
    /// The loader, or null.
    pub loader: ObjectId,
    /// The signers, or null.
    pub signers: ObjectId,
    /// The protection domain, or null.
    pub domain: ObjectId,
    /// The static fields.
    pub statics: Box<[(StringId, Value)]>,
    /// The instance fields that the class itself declares.
    pub fields: Box<[(StringId, BasicType)]>,
    /// The number of its instances, arrays included.
    pub instances: u64,
}

/// A frame of a thread's stack.
pub struct StackFrame {
    /// Name of the method.
    pub method: StringId,
    /// Its descriptor.
    pub signature: StringId,
    /// The source file, or null.
    pub source_file: StringId,
    /// The class.
    pub class: ClassSerial,
    /// The line, or what [`hprof_format::binary::tags::line`] has.
    pub line: i32,
}

/// The stack of a thread.
pub struct Stack {
    /// The VM's number of the trace.
    pub trace: TraceSerial,
    /// The VM's number of the thread.
    pub thread: ThreadSerial,
    /// Its frames, innermost first.
    pub frames: Box<[FrameId]>,
}

/// The results of the first reading.
#[derive(Default)]
pub struct Survey {
    strings: HashMap<StringId, Box<str>>,
    class_names: HashMap<ObjectId, StringId>,
    class_ids: HashMap<ClassSerial, ObjectId>,
    class_places: HashMap<ObjectId, usize>,
    last_class: (u64, usize),
    arrays: Option<ArrayLayout>,
    /// All classes, in the order of the file.
    pub classes: Vec<Class>,
    /// All frames.
    pub frames: HashMap<FrameId, StackFrame>,
    /// All stacks of threads.
    pub stacks: Vec<Stack>,
    /// All roots.
    pub roots: Vec<Root>,
    /// The threads among the objects, once objects come.
    pub threads: Option<Box<ThreadObjects>>,
    /// Objects and arrays.
    pub objects: u64,
    /// Bytes that all arrays take in the heap, as far as [`Self::new`] was told their layout.
    pub array_bytes: u64,
    /// Objects whose class the dump does not have.
    pub unknown_class: u64,
}

impl Survey {
    /// Nothing found yet.
    pub fn new(arrays: Option<ArrayLayout>) -> Self {
        Self {
            arrays,
            ..Self::default()
        }
    }

    /// A name, `""` for null or a name that the dump does not have.
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get(&id).map_or("", |text| text)
    }

    /// The class with this class object.
    #[inline]
    pub fn class(&self, id: ObjectId) -> Option<&Class> {
        self.place(id).map(|place| &self.classes[place])
    }

    /// Where the class with this class object is in [`Self::classes`].
    #[inline]
    pub fn place(&self, id: ObjectId) -> Option<usize> {
        self.class_places.get(&id).copied()
    }

    /// Class object and name for a class serial.
    pub fn loaded_class(&self, serial: ClassSerial) -> (ObjectId, String) {
        let Some(&id) = self.class_ids.get(&serial) else {
            return (ObjectId::NULL, "Unknown_class".to_owned());
        };
        (id, self.name_of(id))
    }

    /// The classes from `id` up to the topmost.
    pub fn hierarchy(&self, id: ObjectId) -> impl Iterator<Item = &Class> {
        // A damaged dump could have a circle.
        const DEEPEST: usize = 1 << 10;
        std::iter::successors(self.class(id), |class| self.class(class.super_class)).take(DEEPEST)
    }

    /// All fields of an instance.
    pub fn layout(&self, id: ObjectId) -> InstanceLayout {
        let mut layout = InstanceLayout::default();
        for (_, basic_type) in self.hierarchy(id).flat_map(|class| &class.fields) {
            layout.add(*basic_type);
        }
        layout
    }

    /// Takes names and stacks from another survey, for classes that were found without.
    pub fn take_names(&mut self, names: Self) {
        self.strings = names.strings;
        self.class_names = names.class_names;
        self.class_ids = names.class_ids;
        self.frames = names.frames;
        self.stacks = names.stacks;
        let mut classes = std::mem::take(&mut self.classes);
        for class in &mut classes {
            class.name = self.name_of(class.id).into();
        }
        self.classes = classes;
    }

    fn name_of(&self, class: ObjectId) -> String {
        match self.class_names.get(&class) {
            Some(&name) => vm_names::class_name(self.text(name)),
            None => "Unknown_class".to_owned(),
        }
    }

    /// The VM's pointer to the thread that an object is, 0 if it is none that lives.
    pub fn vm_thread(&self, object: ObjectId) -> u64 {
        let known = self
            .threads
            .as_ref()
            .and_then(|it| it.pointers.get(&object));
        known.copied().unwrap_or(0)
    }

    /// Takes in a sub-record that is no object.
    pub fn add(&mut self, sub: &SubRecord<'_>) {
        match sub {
            SubRecord::Class(class) => self.add_class(class),
            SubRecord::Root(root) => self.roots.push(*root),
            // Only Android writes others.
            _ => {}
        }
    }

    fn add_class(&mut self, dump: &ClassDump<'_>) {
        if self.class_places.contains_key(&dump.class) {
            return;
        }
        self.class_places.insert(dump.class, self.classes.len());
        self.classes.push(Class {
            id: dump.class,
            name: self.name_of(dump.class).into(),
            super_class: dump.super_class,
            loader: dump.loader,
            signers: dump.signers,
            domain: dump.domain,
            statics: dump.statics.iter().map(|it| (it.name, it.value)).collect(),
            fields: dump
                .fields
                .iter()
                .map(|it| (it.name, it.basic_type))
                .collect(),
            instances: 0,
        });
    }

    #[inline]
    fn add_array(&mut self, length: u64, width: Option<u64>) {
        if let Some(layout) = self.arrays {
            self.array_bytes += layout.bytes(length, width);
        }
    }

    #[inline]
    fn count(&mut self, class: ObjectId) {
        self.objects += 1;
        let place = if self.last_class.0 == class.get() {
            self.last_class.1
        } else {
            let Some(place) = self.place(class) else {
                self.unknown_class += 1;
                return;
            };
            self.last_class = (class.get(), place);
            place
        };
        self.classes[place].instances += 1;
    }
}

impl Visitor for Survey {
    fn record(&mut self, record: &Record<'_>) -> Result<(), DumpError> {
        match *record {
            Record::Utf8 { id, bytes } => {
                self.strings
                    .entry(id)
                    .or_insert_with(|| mutf8::decode(bytes).into());
            }
            Record::LoadClass {
                serial,
                class,
                name,
                ..
            } => {
                self.class_ids.insert(serial, class);
                self.class_names.insert(class, name);
            }
            Record::Frame {
                id,
                method,
                signature,
                source_file,
                class,
                line,
            } => {
                let frame = StackFrame {
                    method,
                    signature,
                    source_file,
                    class,
                    line,
                };
                self.frames.insert(id, frame);
            }
            Record::Trace {
                serial,
                thread,
                frames,
            } => self.stacks.push(Stack {
                trace: serial,
                thread,
                frames: frames.iter().map(FrameId::new).collect(),
            }),
            _ => {}
        }
        Ok(())
    }

    fn sub_records(&mut self, bytes: &mut [u8], offset: u64) -> Result<usize, DumpError> {
        let mut subs = SubRecords::new(bytes, IdSize::Eight, offset);
        loop {
            let done = (subs.offset() - offset) as usize;
            let sub = match subs.next() {
                None => return Ok(done),
                Some(Err(Damage::SubRecordBody { .. })) => return Ok(done),
                Some(Err(damage)) => return Err(damage.into()),
                Some(Ok(sub)) => sub,
            };
            match sub {
                SubRecord::Instance {
                    object,
                    class,
                    values,
                    ..
                } => {
                    self.count(class);
                    if self.threads.is_none() {
                        // Classes come before objects.
                        self.threads = Some(Box::new(ThreadObjects::new(self)));
                    }
                    if let Some(threads) = &mut self.threads {
                        threads.note(object, class, values);
                    }
                }
                SubRecord::ObjectArray {
                    class, elements, ..
                } => {
                    self.count(class);
                    self.add_array(elements.len() as u64, None);
                }
                SubRecord::PrimitiveArray {
                    element, values, ..
                } => {
                    self.objects += 1;
                    let width = element.width(IdSize::Eight);
                    self.add_array((values.len() / width) as u64, Some(width as u64));
                }
                other => self.add(&other),
            }
        }
    }

    fn large_array(
        &mut self,
        head: &[u8; primitive_array::HEAD],
        _elements: &mut dyn Read,
        _offset: u64,
    ) -> Result<(), DumpError> {
        self.objects += 1;
        if let Some((length, element)) = primitive_array::elements(head) {
            let width = element.width(IdSize::Eight) as u64;
            self.add_array(u64::from(length), Some(width));
        }
        Ok(())
    }
}

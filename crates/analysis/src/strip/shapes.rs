//! Names and classes of a file, read by themselves and not by the plan of a copy.

use std::io::Read;

use hprof_format::binary::{BasicType, IdSize, Record, SubRecord};
use hprof_format::ids::{ObjectId, StringId};
use hprof_format::reader::Event;
use rustc_hash::{FxHashMap, FxHashSet};

use super::StripError;
use super::names::{MAX_HIERARCHY, each_event};
use crate::heap::ClassShape;

/// A number of HPROF, whose bytes begin with the highest.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A field of an instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// Where its value begins, from the first value of the instance.
    pub at: usize,
    /// The bytes of its value.
    pub width: usize,
    /// Its type.
    pub basic_type: BasicType,
    /// Its name.
    pub name: StringId,
    /// The class that declares it.
    pub declaring: ObjectId,
}

/// The names and classes of a file.
#[derive(Debug)]
pub(super) struct Shapes {
    pub id_size: IdSize,
    classes: FxHashMap<ObjectId, ClassShape>,
    class_names: FxHashMap<ObjectId, StringId>,
    /// Strings that name classes, fields, methods, signatures, files and heaps.
    names: FxHashSet<StringId>,
    /// The names of threads so far.
    threads: u32,
    /// The names of groups so far that named no thread before.
    groups: u32,
    /// The numbers that stand for the names of threads and groups.
    thread_names: FxHashMap<StringId, String>,
    /// The strings that are names.
    texts: FxHashMap<StringId, Box<str>>,
}

impl Shapes {
    /// Reads a file from its start to its end. Damage is no error.
    pub fn of(input: impl Read) -> Result<Self, StripError> {
        let mut shapes = Self {
            id_size: IdSize::Eight,
            classes: FxHashMap::default(),
            class_names: FxHashMap::default(),
            names: FxHashSet::default(),
            threads: 0,
            groups: 0,
            thread_names: FxHashMap::default(),
            texts: FxHashMap::default(),
        };
        shapes.id_size = each_event(input, |event| shapes.see(event))?.id_size;
        let Self { names, texts, .. } = &mut shapes;
        texts.retain(|id, _| names.contains(id));
        Ok(shapes)
    }

    fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Record(found) => match found.record {
                Record::Utf8 { id, .. } => {
                    let text = found.record.text().unwrap_or_default();
                    self.texts.insert(id, text.into());
                }
                Record::LoadClass { class, name, .. } => {
                    self.names.insert(name);
                    self.class_names.insert(class, name);
                }
                Record::Frame {
                    method,
                    signature,
                    source_file,
                    ..
                } => self.names.extend([method, signature, source_file]),
                Record::StartThread {
                    name,
                    group,
                    parent_group,
                    ..
                } => {
                    for (is_thread, name) in [(true, name), (false, group), (false, parent_group)] {
                        self.name_thread(is_thread, name);
                    }
                }
                _ => {}
            },
            Event::SubRecord { sub_record, .. } => match sub_record {
                SubRecord::Class(class) => {
                    self.names.extend(class.statics.iter().map(|it| it.name));
                    self.names.extend(class.fields.iter().map(|it| it.name));
                    let shape = ClassShape::new(class);
                    self.classes.entry(class.class).or_insert(shape);
                }
                SubRecord::HeapInfo { name, .. } => {
                    self.names.insert(*name);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn name_thread(&mut self, is_thread: bool, name: StringId) {
        if self.thread_names.contains_key(&name) {
            return;
        }
        let (word, before) = match is_thread {
            true => ("thread", &mut self.threads),
            false => ("thread-group", &mut self.groups),
        };
        *before += 1;
        let number = format!("{word}-{before}");
        self.thread_names.insert(name, number);
    }

    /// True for a string that names a class, a field, a method, a signature, a file or a heap.
    pub fn is_name(&self, text: StringId) -> bool {
        self.names.contains(&text)
    }

    /// True for a string that names a thread or its group, and nothing else.
    pub fn is_thread_name(&self, text: StringId) -> bool {
        self.thread_number(text).is_some()
    }

    /// The text that stands for a string that names a thread or its group, and nothing else, where
    /// threads have numbers.
    pub fn thread_number(&self, text: StringId) -> Option<&str> {
        let number = self.thread_names.get(&text)?;
        (!self.is_name(text)).then_some(number)
    }

    /// A name; empty if there is none.
    pub fn text(&self, name: StringId) -> &str {
        self.texts.get(&name).map_or("", |text| text)
    }

    /// The name of a class as Java writes it; empty if it is not known.
    pub fn class_name(&self, class: ObjectId) -> String {
        let name = self.class_names.get(&class);
        name.map_or_else(String::new, |&name| self.text(name).replace('/', "."))
    }

    fn hierarchy(&self, class: ObjectId) -> impl Iterator<Item = ObjectId> + '_ {
        let above = |class: &ObjectId| {
            let shape = self.classes.get(class)?;
            (!shape.super_class.is_null()).then_some(shape.super_class)
        };
        std::iter::successors(Some(class), above).take(MAX_HIERARCHY)
    }

    /// All fields of a class's instances in the order of their values; `None` if a class above it is
    /// not in the file.
    pub fn fields(&self, class: ObjectId) -> Option<Vec<Field>> {
        let (mut fields, mut at) = (Vec::new(), 0);
        for declaring in self.hierarchy(class) {
            for &(name, basic_type) in &self.classes.get(&declaring)?.fields {
                let width = basic_type.width(self.id_size);
                fields.push(Field {
                    at,
                    width,
                    basic_type,
                    name,
                    declaring,
                });
                at += width;
            }
        }
        Some(fields)
    }
}

/// Reads a file and passes on each instance, with its fields, and each static field.
pub(super) fn each_reference_holder(
    input: impl Read,
    shapes: &Shapes,
    mut see: impl FnMut(Holder<'_>),
) -> Result<(), StripError> {
    let mut known: FxHashMap<ObjectId, Vec<Field>> = FxHashMap::default();
    each_event(input, |event| match event {
        Event::SubRecord {
            sub_record:
                SubRecord::Instance {
                    object,
                    class,
                    values,
                    ..
                },
            ..
        } => {
            let fields = known.entry(*class);
            let fields = fields.or_insert_with(|| shapes.fields(*class).unwrap_or_default());
            see(Holder::Instance {
                object: *object,
                class: *class,
                fields,
                values,
            });
        }
        Event::SubRecord { sub_record, .. } => see(Holder::Other(sub_record)),
        Event::LongSubRecord {
            start: SubRecord::ObjectArray { .. } | SubRecord::Instance { .. },
            ..
        } => see(Holder::Long),
        _ => {}
    })?;
    Ok(())
}

/// Something in a heap that may refer to objects.
pub(super) enum Holder<'a> {
    /// An instance.
    Instance {
        object: ObjectId,
        class: ObjectId,
        fields: &'a [Field],
        values: &'a [u8],
    },
    /// An object that is too long to be held, so that not all of its references are known.
    Long,
    /// Any other sub-record.
    Other(&'a SubRecord<'a>),
}

impl Field {
    /// The object that the field refers to, among the values of an instance; `None` for null.
    pub fn reference(&self, values: &[u8]) -> Option<u64> {
        if self.basic_type != BasicType::Object {
            return None;
        }
        let bytes = values.get(self.at..self.at + self.width)?;
        Some(number(bytes)).filter(|&object| object != 0)
    }
}

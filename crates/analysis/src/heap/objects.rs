//! Looks single objects of a heap dump up.
//!
//! A dump may list its objects in any order and has no index, so each look-up is a walk over the
//! file for all objects that are wanted at that step.

use std::ops::ControlFlow;

use hprof_format::binary::{BasicType, IdSize, SubRecord};
use hprof_format::ids::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::text::Text;
use crate::contents::{Contents, Dump, Format};
use crate::walk::each_segment;

/// Longer class hierarchies are damage.
const MAX_HIERARCHY: usize = 256;

/// A heap dump with the bytes it was read from.
#[derive(Clone, Copy)]
pub struct HeapFile<'a> {
    file: &'a [u8],
    contents: &'a Contents,
    dump: &'a Dump,
    /// The place of the dump among those of the file.
    number: usize,
    id_size: IdSize,
}

/// An object as a walk has found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// An object that is no array.
    Instance {
        /// Its class.
        class: ObjectId,
        /// The values of its fields.
        values: Vec<u8>,
    },
    /// An array of references.
    Objects {
        /// The class of the array.
        class: ObjectId,
        /// The number of elements.
        length: usize,
    },
    /// An array of a primitive type.
    Primitives {
        /// The type of the elements.
        element: BasicType,
        /// The elements, big-endian.
        values: Vec<u8>,
    },
    /// A class.
    Class,
}

impl<'a> HeapFile<'a> {
    /// The dump number `number`, from 0, of a file whose contents are known. `None` if there is no
    /// such dump.
    pub fn new(file: &'a [u8], contents: &'a Contents, number: usize) -> Option<Self> {
        let Format::Binary { id_size, .. } = contents.format else {
            return None;
        };
        Some(Self {
            file,
            contents,
            dump: contents.dumps.get(number)?,
            number,
            id_size,
        })
    }

    /// The dump.
    pub fn dump(&self) -> &'a Dump {
        self.dump
    }

    /// The contents of the file.
    pub fn contents(&self) -> &'a Contents {
        self.contents
    }

    /// The width of identifiers.
    pub fn id_size(&self) -> IdSize {
        self.id_size
    }

    /// Visits all sub-records that can be read, until `visit` returns false.
    pub fn walk(&self, mut visit: impl FnMut(&SubRecord<'a>) -> bool) {
        each_segment(self.file, &|_| {}, |dump, segment| {
            let is_wanted = dump == self.number;
            let is_over = dump > self.number
                || is_wanted && !segment.flatten().all(|sub_record| visit(&sub_record));
            match is_over {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
    }

    /// Finds those objects that the dump has.
    pub fn find(&self, wanted: &FxHashSet<ObjectId>) -> FxHashMap<ObjectId, Object> {
        let mut found = FxHashMap::default();
        if wanted.is_empty() {
            return found;
        }
        self.walk(|sub_record| {
            let (object, value) = match *sub_record {
                SubRecord::Instance {
                    object,
                    class,
                    values,
                    ..
                } if wanted.contains(&object) => {
                    let values = values.to_vec();
                    (object, Object::Instance { class, values })
                }
                SubRecord::PrimitiveArray {
                    array,
                    element,
                    values,
                    ..
                } if wanted.contains(&array) => {
                    let values = values.to_vec();
                    (array, Object::Primitives { element, values })
                }
                SubRecord::ObjectArray {
                    array,
                    class,
                    elements,
                    ..
                } if wanted.contains(&array) => {
                    let length = elements.len();
                    (array, Object::Objects { class, length })
                }
                SubRecord::Class(dump) if wanted.contains(&dump.class) => {
                    (dump.class, Object::Class)
                }
                _ => return true,
            };
            found.insert(object, value);
            found.len() < wanted.len()
        });
        found
    }

    /// Where the value of a field begins among the values of an instance. Of several fields of one
    /// name, that of the class itself counts, or else that of its nearest super class.
    pub fn offset_of(&self, class: ObjectId, name: &str, wanted: BasicType) -> Option<usize> {
        let names = &self.contents.names;
        let mut at = 0;
        let mut next = class;
        for _ in 0..MAX_HIERARCHY {
            let shape = self.dump.census.shapes.get(&next)?;
            for &(field, basic_type) in &shape.fields {
                if basic_type == wanted && names.string(field).is_some_and(|n| n == name) {
                    return Some(at);
                }
                at += basic_type.width(self.id_size);
            }
            next = shape.super_class;
        }
        None
    }

    /// The value of a field of an instance, big-endian.
    pub fn field<'v>(&self, object: &'v Object, name: &str, wanted: BasicType) -> Option<&'v [u8]> {
        let Object::Instance { class, values } = object else {
            return None;
        };
        let at = self.offset_of(*class, name, wanted)?;
        values.get(at..at + wanted.width(self.id_size))
    }

    /// The object that a field refers to; `None` for null.
    pub fn reference(&self, object: &Object, name: &str) -> Option<ObjectId> {
        let id = number(self.field(object, name, BasicType::Object)?);
        (id != 0).then(|| ObjectId::new(id))
    }

    /// The value of a field of type `int`.
    pub fn int(&self, object: &Object, name: &str) -> Option<i32> {
        Some(number(self.field(object, name, BasicType::Int)?) as i32)
    }

    /// The value of a field of type `boolean`.
    pub fn boolean(&self, object: &Object, name: &str) -> Option<bool> {
        Some(number(self.field(object, name, BasicType::Boolean)?) != 0)
    }

    /// The name of an object's class as Java source has it.
    pub fn class_name(&self, object: &Object) -> String {
        let of_class = |class: ObjectId| {
            let name = self.contents.names.class(class);
            name.unwrap_or_else(|| format!("<class {class:x}>"))
        };
        match object {
            Object::Instance { class, .. } | Object::Objects { class, .. } => of_class(*class),
            Object::Primitives { element, .. } => format!("{}[]", element.name()),
            Object::Class => "java.lang.Class".to_owned(),
        }
    }

    /// The texts of strings: objects of class `java.lang.String`, or the arrays of characters that
    /// old versions of the JDK use in their place.
    pub fn texts(&self, strings: &FxHashSet<ObjectId>) -> FxHashMap<ObjectId, String> {
        let found = self.find(strings);
        self.texts_of(&found)
    }

    /// The texts of those of the objects that are strings.
    pub fn texts_of(&self, objects: &FxHashMap<ObjectId, Object>) -> FxHashMap<ObjectId, String> {
        let mut texts = FxHashMap::default();
        let mut arrays: FxHashMap<ObjectId, Vec<(ObjectId, u8)>> = FxHashMap::default();
        for (&string, object) in objects {
            if let Some(text) = text(object, 0) {
                texts.insert(string, text);
            } else if self.is_string(object)
                && let Some(value) = self.reference(object, "value")
            {
                let coder = self.field(object, "coder", BasicType::Byte);
                let coder = coder.and_then(|bytes| bytes.first().copied()).unwrap_or(0);
                arrays.entry(value).or_default().push((string, coder));
            }
        }
        for (array, object) in self.find(&arrays.keys().copied().collect()) {
            for &(string, coder) in arrays.get(&array).map_or(&[][..], |users| users) {
                if let Some(text) = text(&object, coder) {
                    texts.insert(string, text);
                }
            }
        }
        texts
    }

    fn is_string(&self, object: &Object) -> bool {
        matches!(object, Object::Instance { .. }) && self.class_name(object) == "java.lang.String"
    }
}

/// A big-endian number of up to eight bytes.
#[inline]
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The text in an array. `coder` is that of the `String`: 1 for UTF-16.
fn text(object: &Object, coder: u8) -> Option<String> {
    let Object::Primitives { element, values } = object else {
        return None;
    };
    let text = Text::of(*element, coder == 1, None, values)?;
    Some(text.decode(usize::MAX))
}

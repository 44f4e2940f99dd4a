//! Reads the names of threads out of the thread objects of a dump.
//!
//! Only the JDK's agent writes records with thread names. In the dumps of VMs the name is a field
//! of the thread object: `name`, a `String` (a `char[]` up to JDK 8), whose `value` is a `char[]`
//! or since JDK 9 a `byte[]` (JEP 254). The objects may come in any order, so each step is a walk
//! over the file.

use hprof_format::binary::{BasicType, IdSize, Record, SubRecord};
use hprof_format::ids::{ObjectId, StringId};
use hprof_format::reader::Reader;
use rustc_hash::{FxHashMap, FxHashSet};

use super::class_shape::ClassShape;
use crate::contents::{Contents, Dump, Format};

/// Longer classes hierarchies are damage.
const MAX_HIERARCHY: usize = 256;

/// What a walk has found of an object.
enum Found {
    Instance { class: ObjectId, values: Vec<u8> },
    Array { element: BasicType, values: Vec<u8> },
}

/// The names of threads, by thread object. `file` holds the bytes that `contents` was read from.
pub fn thread_names(file: &[u8], contents: &Contents, dump: &Dump) -> FxHashMap<ObjectId, String> {
    let Format::Binary { id_size, .. } = contents.format else {
        return FxHashMap::default();
    };
    let threads: FxHashSet<ObjectId> = dump.census.threads.iter().map(|thread| thread.0).collect();
    let fields = Fields {
        contents,
        shapes: &dump.census.shapes,
        id_size,
    };
    // Thread objects, then what `name` refers to, then what `value` refers to.
    let found = find(file, &threads);
    let mut owners: FxHashMap<ObjectId, Vec<ObjectId>> = FxHashMap::default();
    for (thread, found) in found {
        if let Some(name) = fields.reference(&found, "name") {
            owners.entry(name).or_default().push(thread);
        }
    }
    let mut names = FxHashMap::default();
    let mut arrays: FxHashMap<ObjectId, Vec<(ObjectId, u8)>> = FxHashMap::default();
    for (object, found) in find(file, &owners.keys().copied().collect()) {
        let threads = owners.get(&object).map_or(&[][..], |threads| threads);
        if let Some(text) = text(&found, 0) {
            names.extend(threads.iter().map(|&thread| (thread, text.clone())));
        } else if let Some(value) = fields.reference(&found, "value") {
            let coder = fields.byte(&found, "coder").unwrap_or(0);
            let users = arrays.entry(value).or_default();
            users.extend(threads.iter().map(|&thread| (thread, coder)));
        }
    }
    for (array, found) in find(file, &arrays.keys().copied().collect()) {
        for &(thread, coder) in arrays.get(&array).map_or(&[][..], |users| users) {
            if let Some(text) = text(&found, coder) {
                names.insert(thread, text);
            }
        }
    }
    names
}

/// Walks over the file for some objects.
fn find(file: &[u8], wanted: &FxHashSet<ObjectId>) -> FxHashMap<ObjectId, Found> {
    let mut found = FxHashMap::default();
    let Ok(reader) = Reader::new(file) else {
        return found;
    };
    for record in reader.flatten() {
        let (Record::HeapDump(heap) | Record::HeapDumpSegment(heap)) = record.record else {
            continue;
        };
        if found.len() == wanted.len() {
            break;
        }
        for sub_record in heap.flatten() {
            match sub_record {
                SubRecord::Instance {
                    object,
                    class,
                    values,
                    ..
                } if wanted.contains(&object) => {
                    let values = values.to_vec();
                    found.insert(object, Found::Instance { class, values });
                }
                SubRecord::PrimitiveArray {
                    array,
                    element,
                    values,
                    ..
                } if wanted.contains(&array) => {
                    let values = values.to_vec();
                    found.insert(array, Found::Array { element, values });
                }
                _ => {}
            }
        }
    }
    found
}

/// Finds fields by name in the values of an instance.
struct Fields<'a> {
    contents: &'a Contents,
    shapes: &'a FxHashMap<ObjectId, ClassShape>,
    id_size: IdSize,
}

impl Fields<'_> {
    fn value<'v>(&self, found: &'v Found, name: &str, wanted: BasicType) -> Option<&'v [u8]> {
        let Found::Instance { class, values } = found else {
            return None;
        };
        let is_name = |id: StringId| self.contents.names.string(id).is_some_and(|n| n == name);
        let mut at = 0;
        let mut next = *class;
        for _ in 0..MAX_HIERARCHY {
            let shape = self.shapes.get(&next)?;
            for &(field, basic_type) in &shape.fields {
                let width = basic_type.width(self.id_size);
                if basic_type == wanted && is_name(field) {
                    return values.get(at..at + width);
                }
                at += width;
            }
            next = shape.super_class;
        }
        None
    }

    fn reference(&self, found: &Found, name: &str) -> Option<ObjectId> {
        let value = self.value(found, name, BasicType::Object)?;
        let id = value.iter().fold(0, |id, &byte| id << 8 | u64::from(byte));
        (id != 0).then(|| ObjectId::new(id))
    }

    fn byte(&self, found: &Found, name: &str) -> Option<u8> {
        self.value(found, name, BasicType::Byte)?.first().copied()
    }
}

/// The text in an array. `coder` is that of the `String`: 1 for UTF-16 in the byte order of the
/// VM, which the file does not tell; all of today's are little-endian.
fn text(found: &Found, coder: u8) -> Option<String> {
    let Found::Array { element, values } = found else {
        return None;
    };
    let units = |from: fn([u8; 2]) -> u16| -> String {
        let units: Vec<u16> = values.chunks_exact(2).map(|u| from([u[0], u[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match element {
        BasicType::Char => Some(units(u16::from_be_bytes)),
        BasicType::Byte if coder == 1 => Some(units(u16::from_le_bytes)),
        BasicType::Byte => Some(values.iter().map(|&byte| char::from(byte)).collect()),
        _ => None,
    }
}

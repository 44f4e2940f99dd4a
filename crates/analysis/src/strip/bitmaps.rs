//! Android bitmaps with equal pixels, which can share one buffer as in Matrix's shrunk files.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};

use hprof_format::binary::{IdSize, SubRecord, SubRecords, Value};
use hprof_format::ids::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::StripError;
use super::contents::{Kind, walk};
use super::shapes::{Field, Holder, Shapes, each_reference_holder};

/// The class of bitmaps, and their field for the pixels; since Android 8 these are not in the heap.
const BITMAP: &str = "android.graphics.Bitmap";
const BUFFER: &str = "mBuffer";

/// Which buffers of bitmaps are equal.
#[derive(Debug, Default)]
pub struct Bitmaps {
    /// Buffers that are left out, and the equal one that comes first. Only bitmaps refer to them: a buffer that
    /// something else needs as well would stay, and nothing would be gained.
    equal: FxHashMap<u64, u64>,
    /// The bytes of their elements.
    saved: u64,
    /// Where the field is in instances of each class of bitmaps.
    fields: FxHashMap<ObjectId, Field>,
}

impl Bitmaps {
    /// Looks for equal buffers in a file that `open` opens.
    pub(super) fn of<R: Read>(
        open: &mut impl FnMut() -> io::Result<R>,
        shapes: &Shapes,
    ) -> Result<Self, StripError> {
        let mut found = Self::default();
        let mut buffers: FxHashSet<u64> = FxHashSet::default();
        each_reference_holder(open()?, shapes, |holder| {
            if let Holder::Instance {
                class,
                fields,
                values,
                ..
            } = holder
                && let Some(field) = found.field(shapes, class, fields)
            {
                buffers.extend(field.reference(values));
            }
        })?;
        if buffers.is_empty() {
            return Ok(found);
        }
        let lengths = found.compare(open()?, shapes, &buffers)?;
        found.keep_others(open()?, shapes)?;
        let removed = found.equal.keys();
        found.saved = removed.filter_map(|buffer| lengths.get(buffer)).sum();
        Ok(found)
    }

    /// The number of buffers that equal another one and are left out.
    pub fn count(&self) -> u64 {
        self.equal.len() as u64
    }

    /// The bytes of the buffers that are left out.
    pub fn saved(&self) -> u64 {
        self.saved
    }

    /// The field for the pixels, if the class is of bitmaps.
    fn field(&mut self, shapes: &Shapes, class: ObjectId, fields: &[Field]) -> Option<Field> {
        if let Some(field) = self.fields.get(&class) {
            return Some(*field);
        }
        let field = fields.iter().find(|field| {
            shapes.text(field.name) == BUFFER && shapes.class_name(field.declaring) == BITMAP
        })?;
        self.fields.insert(class, *field);
        Some(*field)
    }

    /// Finds equal buffers, and gives the lengths of all.
    fn compare(
        &mut self,
        input: impl Read,
        shapes: &Shapes,
        buffers: &FxHashSet<u64>,
    ) -> Result<FxHashMap<u64, u64>, StripError> {
        // The standard library's hashers have keys from the system's random numbers.
        let key = || RandomState::new().hash_one(0);
        let keyed = SipHasher13::new_with_keys(key(), key());
        let mut lengths = FxHashMap::default();
        let mut first: FxHashMap<(u64, u64, u64), u64> = FxHashMap::default();
        let (mut hasher, mut length, mut is_empty) = (keyed, 0u64, true);
        walk(input, shapes, &mut |place, chunk| {
            let Kind::Array { array, element } = place.kind else {
                return Ok(true);
            };
            if !buffers.contains(&array.get()) {
                return Ok(true);
            }
            let new = &chunk.bytes[chunk.seen..];
            hasher.write(new);
            length += new.len() as u64;
            is_empty &= new.iter().all(|&byte| byte == 0);
            if chunk.is_last {
                hasher.write_u8(element.code());
                let hash = hasher.finish128();
                // Pixels that are all zero were left out by some tool, and may have been anything.
                if !is_empty {
                    let same = first.entry((hash.h1, hash.h2, length));
                    let same = *same.or_insert(array.get());
                    if same != array.get() {
                        self.equal.insert(array.get(), same);
                    }
                }
                lengths.insert(array.get(), length);
                (hasher, length, is_empty) = (keyed, 0, true);
            }
            Ok(true)
        })?;
        Ok(lengths)
    }

    /// Keeps buffers that something else refers to as well.
    fn keep_others(&mut self, input: impl Read, shapes: &Shapes) -> Result<(), StripError> {
        let Self { equal, fields, .. } = self;
        each_reference_holder(input, shapes, |holder| match holder {
            Holder::Instance {
                class,
                fields: all,
                values,
                ..
            } => {
                let pixels = fields.get(&class).map(|field| field.at);
                let others = all.iter().filter(|field| Some(field.at) != pixels);
                for target in others.filter_map(|field| field.reference(values)) {
                    equal.remove(&target);
                }
            }
            Holder::Other(SubRecord::Class(class)) => {
                for field in class.statics.iter() {
                    if let Value::Object(target) = field.value {
                        equal.remove(&target.get());
                    }
                }
            }
            Holder::Other(SubRecord::ObjectArray { elements, .. }) => {
                for target in elements.iter() {
                    equal.remove(&target);
                }
            }
            Holder::Other(SubRecord::Root(root)) => {
                equal.remove(&root.object.get());
            }
            // Not all of its elements are read.
            Holder::Long => equal.clear(),
            Holder::Other(_) => {}
        })
    }

    /// True for a buffer that is left out.
    pub(super) fn removes(&self, sub: &SubRecord<'_>) -> bool {
        match sub {
            SubRecord::PrimitiveArray { array, .. }
            | SubRecord::PrimitiveArrayNoData { array, .. } => {
                self.equal.contains_key(&array.get())
            }
            _ => false,
        }
    }

    /// The bytes of the buffers in a segment that are left out.
    pub(super) fn removed_bytes(&self, body: &[u8], id_size: IdSize) -> usize {
        let mut subs = SubRecords::new(body, id_size, 0);
        let mut removed = 0;
        loop {
            let at = subs.offset();
            match subs.next() {
                Some(Ok(sub)) if self.removes(&sub) => removed += (subs.offset() - at) as usize,
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return removed,
            }
        }
    }

    /// A bitmap that refers to the first of the buffers that equal its own; `None` for others.
    pub(super) fn repointed(
        &self,
        sub: &SubRecord<'_>,
        bytes: &[u8],
        id_size: IdSize,
    ) -> Option<Vec<u8>> {
        let SubRecord::Instance { class, values, .. } = sub else {
            return None;
        };
        let field = self.fields.get(class)?;
        let same = self.equal.get(&field.reference(values)?)?;
        let mut changed = bytes.to_vec();
        let at = bytes.len() - values.len() + field.at;
        let width = id_size.bytes();
        changed[at..at + width].copy_from_slice(&same.to_be_bytes()[8 - width..]);
        Some(changed)
    }
}

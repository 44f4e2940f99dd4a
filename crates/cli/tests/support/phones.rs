//! The results of tools for phones on an Android dump, written after their documentation: KOOM's hook, Matrix's
//! shrinker, `hprof-conv`.

use std::collections::{BTreeMap, HashMap, HashSet};

use hprof_format::binary::{BasicType, IdSize, Record, SubRecord, SubRecords};
use hprof_format::reader::Reader;

/// The bytes of a primitive array in front of its elements, with identifiers of four bytes.
const ARRAY_HEAD: usize = 14;
/// The bytes of an instance in front of its values.
const INSTANCE_HEAD: usize = 17;
/// The bytes of a record's head: tag, time, length.
const RECORD_HEAD: usize = 9;

/// The fate of a sub-record.
pub enum Fate {
    /// It stays as it is.
    Stays,
    /// These bytes take its place.
    Becomes(Vec<u8>),
    /// As [`Self::Becomes`], but the record states the length of all bytes that were there.
    Hides(Vec<u8>),
}

/// Gives each sub-record its fate, and puts the file together again. `change` receives the heap that the
/// sub-record belongs to, 0 for the default one.
pub fn rewrite(file: &[u8], mut change: impl FnMut(u32, &SubRecord<'_>, &[u8]) -> Fate) -> Vec<u8> {
    let head = file.iter().position(|&byte| byte == 0).expect("a version") + 13;
    let mut out = file[..head].to_vec();
    for found in Reader::new(file).expect("a header") {
        let found = found.expect("sound");
        let start = found.offset as usize;
        let length = &file[start + 5..start + RECORD_HEAD];
        let length = u32::from_be_bytes(length.try_into().expect("four bytes"));
        let whole = &file[start..][..RECORD_HEAD + length as usize];
        let (Record::HeapDump(mut heap) | Record::HeapDumpSegment(mut heap)) = found.record else {
            out.extend(whole);
            continue;
        };
        assert_eq!(heap.id_size(), IdSize::Four);
        let (mut new, mut hidden, mut current) = (Vec::new(), 0, 0);
        while let Some((bytes, sub)) = next(file, &mut heap) {
            if let SubRecord::HeapInfo { heap, .. } = sub {
                current = heap;
            }
            match change(current, &sub, bytes) {
                Fate::Stays => new.extend(bytes),
                Fate::Becomes(other) => new.extend(other),
                Fate::Hides(other) => {
                    hidden += bytes.len() - other.len();
                    new.extend(other);
                }
            }
        }
        out.extend(&whole[..5]);
        out.extend(((new.len() + hidden) as u32).to_be_bytes());
        out.extend(new);
    }
    out
}

/// The next sub-record with its bytes.
fn next<'f>(file: &'f [u8], heap: &mut SubRecords<'f>) -> Option<(&'f [u8], SubRecord<'f>)> {
    let from = heap.offset() as usize;
    let sub = heap.next()?.expect("sound");
    Some((&file[from..heap.offset() as usize], sub))
}

/// All sub-records, one after the other.
fn each<'f>(file: &'f [u8], mut visit: impl FnMut(&SubRecord<'f>)) {
    for found in Reader::new(file).expect("a header") {
        let record = found.expect("sound").record;
        let (Record::HeapDump(mut heap) | Record::HeapDumpSegment(mut heap)) = record else {
            continue;
        };
        while let Some((_, sub)) = next(file, &mut heap) {
            visit(&sub);
        }
    }
}

/// KOOM's hook: objects and heap markers of the zygote and of the image are gone; of the elements of
/// primitive arrays the segment's length still tells. `also_zygote` is false for a program that leaves
/// those objects in.
pub fn koom(file: &[u8], also_zygote: bool) -> Vec<u8> {
    rewrite(file, |heap, sub, bytes| {
        let is_foreign = heap == u32::from(b'Z') || heap == u32::from(b'I');
        match sub {
            SubRecord::Root(_) | SubRecord::Class(_) => Fate::Stays,
            _ if is_foreign && also_zygote => Fate::Becomes(Vec::new()),
            SubRecord::PrimitiveArray { .. } => Fate::Hides(bytes[..ARRAY_HEAD].to_vec()),
            _ => Fate::Stays,
        }
    })
}

/// A field that a class declares itself: its place among the values.
fn own_field(names: &HashMap<u64, String>, sub: &SubRecord<'_>, wanted: &str) -> Option<usize> {
    let SubRecord::Class(class) = sub else {
        return None;
    };
    let mut at = 0;
    for field in class.fields.iter() {
        if names
            .get(&field.name.get())
            .is_some_and(|name| name == wanted)
        {
            return Some(at);
        }
        at += field.basic_type.width(IdSize::Four);
    }
    None
}

/// The facts that Matrix looks up before it shrinks.
struct Shrinker {
    bitmap: u64,
    buffer_at: Option<usize>,
    texts: HashSet<u64>,
    /// Buffers of bitmaps that equal others, and the one that stays.
    merged: HashMap<u64, u64>,
}

impl Shrinker {
    fn new(file: &[u8]) -> Self {
        let (mut names, mut classes) = (HashMap::new(), HashMap::new());
        for found in Reader::new(file).expect("a header") {
            match found.expect("sound").record {
                Record::Utf8 { id, bytes } => {
                    names.insert(id.get(), String::from_utf8_lossy(bytes).into_owned());
                }
                Record::LoadClass { class, name, .. } => {
                    let name = names.get(&name.get()).cloned().unwrap_or_default();
                    classes.entry(name).or_insert(class.get());
                }
                _ => {}
            }
        }
        let class = |name: &str| classes.get(name).copied().unwrap_or(0);
        let (bitmap, string) = (class("android.graphics.Bitmap"), class("java.lang.String"));
        let (mut buffer_at, mut value_at) = (None, None);
        each(file, |sub| {
            if let SubRecord::Class(class) = sub {
                let id = class.class.get();
                if id == bitmap {
                    buffer_at = own_field(&names, sub, "mBuffer");
                } else if id == string {
                    value_at = own_field(&names, sub, "value");
                }
            }
        });
        let (mut buffers, mut texts) = (HashSet::new(), HashSet::new());
        each(file, |sub| {
            if let SubRecord::Instance { class, values, .. } = sub {
                if class.get() == bitmap {
                    buffers.extend(buffer_at.map(|at| id_at(values, at)));
                } else if class.get() == string {
                    texts.extend(value_at.map(|at| id_at(values, at)));
                }
            }
        });
        let mut equal: BTreeMap<&[u8], Vec<u64>> = BTreeMap::new();
        each(file, |sub| {
            if let SubRecord::PrimitiveArray { array, values, .. } = *sub
                && buffers.contains(&array.get())
            {
                equal.entry(values).or_default().push(array.get());
            }
        });
        let several = equal.into_values().filter(|ids| ids.len() > 1);
        let merged = several.flat_map(|ids| ids.clone().into_iter().map(move |id| (id, ids[0])));
        Self {
            bitmap,
            buffer_at,
            texts,
            merged: merged.collect(),
        }
    }
}

/// Matrix's shrinker: of primitive arrays only the values of strings stay, and of the buffers of bitmaps one
/// of each that several have, to which these bitmaps then refer. Buffers that no other equals are gone.
pub fn matrix(file: &[u8]) -> Vec<u8> {
    let shrinker = Shrinker::new(file);
    rewrite(file, |_, sub, bytes| match *sub {
        SubRecord::PrimitiveArray { array, .. } | SubRecord::PrimitiveArrayNoData { array, .. } => {
            let id = array.get();
            let stays = shrinker.texts.contains(&id) || shrinker.merged.get(&id) == Some(&id);
            match stays {
                true => Fate::Stays,
                false => Fate::Becomes(Vec::new()),
            }
        }
        SubRecord::Instance { class, values, .. } if class.get() == shrinker.bitmap => {
            let Some(at) = shrinker.buffer_at else {
                return Fate::Stays;
            };
            let Some(kept) = shrinker.merged.get(&id_at(values, at)) else {
                return Fate::Stays;
            };
            let mut new = bytes.to_vec();
            new[INSTANCE_HEAD + at..][..4].copy_from_slice(&(*kept as u32).to_be_bytes());
            Fate::Becomes(new)
        }
        _ => Fate::Stays,
    })
}

fn id_at(values: &[u8], at: usize) -> u64 {
    let id: [u8; 4] = values[at..at + 4].try_into().expect("four bytes");
    u64::from(u32::from_be_bytes(id))
}

/// `hprof-conv`: the version is that of other VMs, marks of heaps are gone, roots that only Android has are
/// unknown ones, and arrays without elements have none. `-z` leaves out what is not in the program's heap.
pub fn hprof_conv(file: &[u8], only_app: bool) -> Vec<u8> {
    let mut out = rewrite(file, |heap, sub, bytes| {
        let is_foreign = heap != 0 && heap != u32::from(b'A');
        match (bytes[0], sub) {
            (0xfe, _) => Fate::Becomes(Vec::new()),
            (0x89..=0x8e | 0x90, _) => Fate::Becomes([&[0xff], &bytes[1..5]].concat()),
            (_, SubRecord::Root(_) | SubRecord::Class(_)) => Fate::Stays,
            _ if is_foreign && only_app => Fate::Becomes(Vec::new()),
            (0xc3, _) => {
                let mut array = bytes.to_vec();
                array[0] = 0x23;
                array[9..13].fill(0);
                Fate::Becomes(array)
            }
            _ => Fate::Stays,
        }
    });
    let version = out.iter().position(|&byte| byte == 0).expect("a version");
    out[version - 1] = b'2';
    out
}

/// The number of primitive arrays whose elements are of other types than those of texts and pictures.
pub fn arrays_of_numbers(file: &[u8]) -> usize {
    let mut number = 0;
    each(file, |sub| {
        if let SubRecord::PrimitiveArray { element, .. } = sub
            && !matches!(element, BasicType::Byte | BasicType::Char)
        {
            number += 1;
        }
    });
    number
}

//! Strings by content: how many there are of each, and what the spare ones take.
//!
//! A `java.lang.String` holds its characters in a `char[]`, or since JDK 9 in a `byte[]` of Latin-1
//! or UTF-16 units, told by its field `coder` (JEP 254). Up to JDK 6, and on early Android, it may be
//! a part of a longer array, told by `offset` and `count`.

use std::cmp::Reverse;

use hprof_format::binary::{BasicType, SubRecord};
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::histogram::layout;
use super::layout::Layout;
use super::objects::{HeapFile, number};
use super::sizes::Sizes;
use super::text::{Key, Text};

/// Strings of one content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StringGroup {
    /// Strings.
    pub strings: u64,
    /// The arrays that hold their characters; fewer if strings share them.
    pub arrays: u64,
    /// The room that strings and arrays take, in bytes.
    pub bytes: u64,
    /// The bytes of all but one string and its array.
    pub waste: u64,
    /// UTF-16 units of one string.
    pub length: u64,
    /// The beginning of the text.
    pub text: String,
}

/// All strings of a dump.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StringReport {
    /// Strings.
    pub strings: u64,
    /// The arrays that hold their characters.
    pub arrays: u64,
    /// The room that strings and arrays take, in bytes.
    pub bytes: u64,
    /// Different contents.
    pub contents: u64,
    /// The bytes of duplicates: all strings and arrays but one of each content.
    pub waste: u64,
    /// Strings of one byte per character.
    pub latin1: u64,
    /// Strings of two bytes per character.
    pub utf16: u64,
    /// Strings of two bytes per character that one byte would do for.
    pub could_be_latin1: u64,
    /// Strings without characters in the dump, such as ones of a null array.
    pub without_value: u64,
    /// Strings whose characters were blotted out, in a dump from which somebody stripped contents;
    /// they are in no other figure.
    pub blank: u64,
    /// The contents, those of most waste first, then the longest.
    pub groups: Vec<StringGroup>,
}

/// A part of an array that strings use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Use {
    array: ObjectId,
    /// Units before the first and units in all.
    part: Option<(u32, u32)>,
    is_utf16: bool,
}

struct Counted {
    group: StringGroup,
    encoding: Encoding,
    is_uniform: bool,
    /// The bytes of one string with its array.
    one: u64,
}

/// Strings by encoding.
#[derive(Debug, Clone, Copy, Default)]
struct Encoding {
    latin1: u64,
    utf16: u64,
    could_be_latin1: u64,
}

/// Where the fields of class `java.lang.String` are.
pub(crate) struct StringClass {
    /// The class.
    pub class: ObjectId,
    /// The array of characters.
    pub value: usize,
    /// The encoding, since JDK 9.
    pub coder: Option<usize>,
    /// The part of the array that is in use: `offset` and `count`, up to JDK 6.
    pub part: Option<(usize, usize)>,
    /// The bytes of a string without its array.
    pub shallow: u64,
}

/// A heap dump as far as strings matter.
pub(crate) trait StringSource {
    /// How objects are laid out.
    fn layout(&self) -> Layout;
    /// The bytes of an identifier.
    fn id_bytes(&self) -> usize;
    /// All classes of strings; there is one but on Android, where dumps were seen with two.
    fn string_classes(&self) -> Vec<StringClass>;
    /// Visits all sub-records that can be read.
    fn each(&self, visit: &mut dyn FnMut(&SubRecord<'_>));
}

impl StringSource for HeapFile<'_> {
    fn layout(&self) -> Layout {
        layout(self.contents(), &self.dump().census).0
    }

    fn id_bytes(&self) -> usize {
        self.id_size().bytes()
    }

    fn string_classes(&self) -> Vec<StringClass> {
        string_classes(self, &StringSource::layout(self))
    }

    fn each(&self, visit: &mut dyn FnMut(&SubRecord<'_>)) {
        self.walk(|sub_record| {
            visit(sub_record);
            true
        });
    }
}

/// Counts the strings of a dump by content, or only those that contain the text `wanted`; of each
/// group at most `preview` characters of text are kept.
pub fn strings(heap: &HeapFile<'_>, preview: usize, wanted: Option<&str>) -> StringReport {
    count_strings(heap, preview, wanted)
}

/// Counts the strings of any source by content.
pub(crate) fn count_strings(
    heap: &impl StringSource,
    preview: usize,
    wanted: Option<&str>,
) -> StringReport {
    let layout = heap.layout();
    let mut report = StringReport::default();
    let classes = heap.string_classes();
    let mut uses: FxHashMap<Use, (u64, u64)> = FxHashMap::default();
    let id = heap.id_bytes();
    heap.each(&mut |sub_record| {
        let SubRecord::Instance { class, values, .. } = sub_record else {
            return;
        };
        let Some(string) = classes.iter().find(|string| string.class == *class) else {
            return;
        };
        let int = |at: usize| values.get(at..at + 4).map(|bytes| number(bytes) as u32);
        let array = values.get(string.value..string.value + id).map(number);
        match array {
            Some(array) if array != 0 => {
                let coder = string.coder.and_then(|at| values.get(at));
                let part = string
                    .part
                    .and_then(|(offset, count)| Some((int(offset)?, int(count)?)));
                let key = Use {
                    array: ObjectId::new(array),
                    part,
                    is_utf16: coder.is_some_and(|&coder| coder == 1),
                };
                let count = uses.entry(key).or_default();
                *count = (count.0 + 1, string.shallow);
            }
            _ => report.without_value += 1,
        }
    });
    // Nearly all arrays are used by one string.
    let mut by_array: Vec<(Use, (u64, u64))> = uses.into_iter().collect();
    by_array.sort_unstable();
    let mut groups: FxHashMap<Key, Counted> = FxHashMap::default();
    let mut stripped = Uniform::default();
    heap.each(&mut |sub_record| {
        let SubRecord::PrimitiveArray {
            array,
            element,
            values,
            ..
        } = sub_record
        else {
            return;
        };
        let first = by_array.partition_point(|(used, _)| used.array < *array);
        let users = by_array[first..].iter();
        let mut shared = false;
        for (used, (strings, shallow)) in users.take_while(|(used, _)| used.array == *array) {
            if !shared {
                stripped.see(*element, values);
            }
            let Some(text) = Text::of(*element, used.is_utf16, used.part, values) else {
                report.without_value += strings;
                continue;
            };
            if wanted.is_some_and(|wanted| !text.decode(usize::MAX).contains(wanted)) {
                continue;
            }
            // An array whose parts are different strings counts for the first of them.
            let array_bytes = match std::mem::replace(&mut shared, true) {
                false => layout.primitive_array(values.len() as u64),
                true => 0,
            };
            let counted = groups.entry(text.key()).or_insert_with(|| Counted {
                group: StringGroup {
                    length: text.length(),
                    text: text.decode(preview),
                    ..StringGroup::default()
                },
                encoding: Encoding::default(),
                is_uniform: is_uniform(*element, values),
                one: shallow + array_bytes,
            });
            counted.encoding.add(&text, *strings);
            counted.group.strings += strings;
            counted.group.arrays += u64::from(array_bytes > 0);
            counted.group.bytes += strings * shallow + array_bytes;
        }
    });
    if stripped.is_stripped() {
        groups.retain(|_, counted| {
            let is_blank = counted.is_uniform && counted.group.length > 0;
            report.blank += if is_blank { counted.group.strings } else { 0 };
            !is_blank
        });
    }
    report.finish(groups)
}

/// True if all elements of an array are the same one.
pub(crate) fn is_uniform(element: BasicType, values: &[u8]) -> bool {
    let width = element.width(hprof_format::binary::IdSize::Eight);
    let mut elements = values.chunks_exact(width);
    let first = elements.next();
    elements.all(|element| Some(element) == first)
}

/// Tells dumps whose contents were blotted out from others: in these, texts of a single character
/// repeated are rare; in those, nearly all are such, of zeros, asterisks or question marks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Uniform {
    seen: u64,
    uniform: u64,
}

impl Uniform {
    /// Looks at the characters of a string.
    pub(crate) fn see(&mut self, element: BasicType, values: &[u8]) {
        // Short ones say nothing.
        if values.len() >= 4 * element.width(hprof_format::binary::IdSize::Eight) {
            self.seen += 1;
            self.uniform += u64::from(is_uniform(element, values));
        }
    }

    /// True if contents were blotted out.
    pub(crate) fn is_stripped(self) -> bool {
        self.seen >= 8 && self.uniform * 10 >= self.seen * 9
    }
}

impl Encoding {
    fn add(&mut self, text: &Text<'_>, strings: u64) {
        match text {
            Text::Latin1(_) => self.latin1 += strings,
            Text::Utf16 { .. } => {
                self.utf16 += strings;
                self.could_be_latin1 += if text.is_narrow() { strings } else { 0 };
            }
        }
    }
}

impl StringReport {
    fn finish(mut self, groups: FxHashMap<Key, Counted>) -> Self {
        self.contents = groups.len() as u64;
        for Counted { encoding, .. } in groups.values() {
            self.latin1 += encoding.latin1;
            self.utf16 += encoding.utf16;
            self.could_be_latin1 += encoding.could_be_latin1;
        }
        self.groups = groups
            .into_values()
            .map(|Counted { group, one, .. }| StringGroup {
                waste: group.bytes.saturating_sub(one),
                ..group
            })
            .collect();
        for group in &self.groups {
            self.strings += group.strings;
            self.arrays += group.arrays;
            self.bytes += group.bytes;
            self.waste += group.waste;
        }
        self.groups.sort_by(|a, b| {
            let key = |group: &StringGroup| Reverse((group.waste, group.bytes, group.strings));
            key(a).cmp(&key(b)).then_with(|| a.text.cmp(&b.text))
        });
        self
    }
}

fn string_classes(heap: &HeapFile<'_>, layout: &Layout) -> Vec<StringClass> {
    let census = &heap.dump().census;
    let is_android = heap.contents().is_android();
    let names = &heap.contents().names;
    let mut sizes = Sizes::new(*layout, is_android, &census.shapes).of_vm(names);
    let mut classes: Vec<ObjectId> = census.shapes.keys().copied().collect();
    classes.retain(|&class| {
        names
            .class(class)
            .is_some_and(|name| name == "java.lang.String")
    });
    let offset = |class, name, kind| heap.offset_of(class, name, kind);
    let described = classes.into_iter().filter_map(|class| {
        let count = offset(class, "count", BasicType::Int);
        Some(StringClass {
            class,
            value: offset(class, "value", BasicType::Object)?,
            coder: offset(class, "coder", BasicType::Byte),
            part: offset(class, "offset", BasicType::Int).zip(count),
            shallow: sizes.instance(class).unwrap_or(0),
        })
    });
    described.collect()
}

#[cfg(test)]
mod tests;

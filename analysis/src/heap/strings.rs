//! Strings by content: how many there are of each, and what the spare ones take.
//!
//! A `java.lang.String` holds its characters in a `char[]`, or since JDK 9 in a `byte[]` of Latin-1
//! or UTF-16 units, told by its field `coder` (JEP 254). Up to JDK 6, and on early Android, it may be
//! a part of a longer array, told by `offset` and `count`.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use hprof_format::binary::{BasicType, SubRecord};
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::histogram::layout;
use super::layout::Layout;
use super::objects::{HeapFile, number};
use super::sizes::Sizes;
use super::text::{Key, Text};
use crate::parallel;

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

/// A string's use of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Use {
    array: ObjectId,
    /// Units before the first and units in all.
    part: Option<(u32, u32)>,
    is_utf16: bool,
    /// The index of the string's class.
    class: u8,
}

/// The strings of one content.
#[derive(Debug, Default)]
struct Counted {
    strings: u64,
    arrays: u64,
    bytes: u64,
    /// The bytes of one string with its array.
    one: u64,
    /// UTF-16 units.
    length: u32,
    is_uniform: bool,
}

/// Sums over strings.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    strings: u64,
    arrays: u64,
    bytes: u64,
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
    /// Visits all sub-records that can be read, maybe on several threads, each of which fills a
    /// part of its own.
    fn visit<P: Default + Send>(&self, visit: impl Fn(&mut P, &SubRecord<'_>) + Sync) -> Vec<P>;
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

    fn visit<P: Default + Send>(&self, visit: impl Fn(&mut P, &SubRecord<'_>) + Sync) -> Vec<P> {
        let mut part = P::default();
        self.walk(|sub_record| {
            visit(&mut part, sub_record);
            true
        });
        vec![part]
    }
}

/// Counts the strings of a dump by content, or only those that contain the text `wanted`; of each
/// group at most `preview` characters of text are kept.
pub fn strings(heap: &HeapFile<'_>, preview: usize, wanted: Option<&str>) -> StringReport {
    count_strings(heap, Some(preview), wanted)
}

/// Counts the strings of any source by content; without groups if there is no `preview`.
pub(crate) fn count_strings(
    heap: &impl StringSource,
    preview: Option<usize>,
    wanted: Option<&str>,
) -> StringReport {
    let classes = heap.string_classes();
    let (uses, without_array) = uses(heap, &classes);
    let count = Count {
        layout: heap.layout(),
        classes: &classes,
        uses: &uses,
        preview,
        wanted,
        shards: (0..1 << SHARD_BITS).map(|_| Mutex::default()).collect(),
    };
    let parts = heap.visit(|part: &mut Part, sub_record| {
        if let SubRecord::PrimitiveArray {
            array,
            element,
            values,
            ..
        } = *sub_record
        {
            count.array(part, array, element, values);
        }
    });
    let mut part = Part::default();
    parts.into_iter().for_each(|other| part.add(other));
    let without_value = without_array + part.without_value;
    count.report(part, without_value)
}

/// All uses of arrays by strings, in order; and the number of strings without an array.
fn uses(heap: &impl StringSource, classes: &[StringClass]) -> (Vec<Use>, u64) {
    let id = heap.id_bytes();
    let parts = heap.visit(|(uses, without): &mut (Vec<Use>, u64), sub_record| {
        let SubRecord::Instance { class, values, .. } = sub_record else {
            return;
        };
        let mut known = classes.iter().zip(0..);
        let Some((string, index)) = known.find(|(string, _)| string.class == *class) else {
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
                uses.push(Use {
                    array: ObjectId::new(array),
                    part,
                    is_utf16: coder.is_some_and(|&coder| coder == 1),
                    class: index,
                });
            }
            _ => *without += 1,
        }
    });
    let without = parts.iter().map(|(_, without)| without).sum();
    let mut parts = parts.into_iter().map(|(uses, _)| uses);
    let mut all = parts.next().unwrap_or_default();
    parts.for_each(|more| all.extend(more));
    parallel::sort(&mut all);
    (all, without)
}

/// The contents are spread over `2^SHARD_BITS` tables, so that threads seldom wait for each other.
const SHARD_BITS: u32 = 6;

/// The contents of a shard, and of each the beginning of its text.
#[derive(Default)]
struct Shard {
    counted: FxHashMap<Key, Counted>,
    texts: FxHashMap<Key, Box<str>>,
}

/// What one thread has counted.
#[derive(Default)]
struct Part {
    /// Where the array before was in the list of uses. Arrays mostly come in its order.
    cursor: usize,
    /// Of texts of several kinds of units, and of those of a single one.
    sums: [Sums; 2],
    stripped: Uniform,
    without_value: u64,
}

/// The counting of strings by content.
struct Count<'a> {
    layout: Layout,
    classes: &'a [StringClass],
    /// In the order of arrays. Nearly all arrays are used by one string.
    uses: &'a [Use],
    preview: Option<usize>,
    wanted: Option<&'a str>,
    shards: Vec<Mutex<Shard>>,
}

impl Count<'_> {
    /// Counts the strings that use an array.
    fn array(&self, part: &mut Part, array: ObjectId, element: BasicType, values: &[u8]) {
        let first = seek(self.uses, part.cursor, array);
        part.cursor = first;
        let users = &self.uses[first..];
        let end = users.iter().take_while(|used| used.array == array).count();
        if end > 0 {
            part.stripped.see(element, values);
        }
        let mut shared = false;
        for same in users[..end].chunk_by(PartialEq::eq) {
            let (used, strings) = (same[0], same.len() as u64);
            let Some(text) = Text::of(element, used.is_utf16, used.part, values) else {
                part.without_value += strings;
                continue;
            };
            if (self.wanted).is_some_and(|wanted| !text.decode(usize::MAX).contains(wanted)) {
                continue;
            }
            // An array whose parts are different strings counts for the first of them.
            let array_bytes = match std::mem::replace(&mut shared, true) {
                false => self.layout.primitive_array(values.len() as u64),
                true => 0,
            };
            let shallow = self.classes[usize::from(used.class)].shallow;
            let one = Counted {
                strings,
                arrays: u64::from(array_bytes > 0),
                bytes: strings * shallow + array_bytes,
                one: shallow + array_bytes,
                length: text.length() as u32,
                is_uniform: text.is_uniform(),
            };
            part.sums[usize::from(one.is_uniform)].add(&one, &text);
            self.enter(&text, one);
        }
    }

    fn enter(&self, text: &Text<'_>, one: Counted) {
        let key = text.key();
        let shard = &self.shards[key.shard(SHARD_BITS)];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = shard.counted.get_mut(&key) {
            counted.strings += one.strings;
            counted.arrays += one.arrays;
            counted.bytes += one.bytes;
            counted.one = counted.one.max(one.one);
            return;
        }
        if let Some(preview) = self.preview {
            shard.texts.insert(key, text.decode(preview).into());
        }
        shard.counted.insert(key, one);
    }

    fn report(self, part: Part, without_value: u64) -> StringReport {
        let [of_several, of_one] = part.sums;
        let is_stripped = part.stripped.is_stripped();
        let sums = match is_stripped {
            true => of_several,
            false => of_several.and(of_one),
        };
        let mut report = StringReport {
            strings: sums.strings,
            arrays: sums.arrays,
            bytes: sums.bytes,
            latin1: sums.latin1,
            utf16: sums.utf16,
            could_be_latin1: sums.could_be_latin1,
            without_value,
            blank: if is_stripped { of_one.strings } else { 0 },
            ..StringReport::default()
        };
        for shard in self.shards {
            let mut shard = shard.into_inner().unwrap_or_else(PoisonError::into_inner);
            for (key, counted) in shard.counted {
                if is_stripped && counted.is_uniform {
                    continue;
                }
                let waste = counted.bytes.saturating_sub(counted.one);
                report.contents += 1;
                report.waste += waste;
                if let Some(text) = shard.texts.remove(&key) {
                    report.groups.push(StringGroup {
                        strings: counted.strings,
                        arrays: counted.arrays,
                        bytes: counted.bytes,
                        waste,
                        length: u64::from(counted.length),
                        text: text.into(),
                    });
                }
            }
        }
        report.groups.sort_by(|a, b| {
            let key = |group: &StringGroup| Reverse((group.waste, group.bytes, group.strings));
            key(a).cmp(&key(b)).then_with(|| a.text.cmp(&b.text))
        });
        report
    }
}

/// Where the uses of an array start, or would. Looks near `from` first.
fn seek(uses: &[Use], from: usize, array: ObjectId) -> usize {
    let is_before = |at: usize| uses[at].array < array;
    let mut low = from;
    if low > 0 && !is_before(low - 1) {
        return uses.partition_point(|used| used.array < array);
    }
    let mut step = 1;
    while low + step <= uses.len() && is_before(low + step - 1) {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(uses.len());
    low + uses[low..high].partition_point(|used| used.array < array)
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

    /// Adds what another one has seen.
    fn add(&mut self, other: Self) {
        self.seen += other.seen;
        self.uniform += other.uniform;
    }

    /// True if contents were blotted out.
    pub(crate) fn is_stripped(self) -> bool {
        self.seen >= 8 && self.uniform * 10 >= self.seen * 9
    }
}

impl Sums {
    fn add(&mut self, one: &Counted, text: &Text<'_>) {
        self.strings += one.strings;
        self.arrays += one.arrays;
        self.bytes += one.bytes;
        match text {
            Text::Latin1(_) => self.latin1 += one.strings,
            Text::Utf16 { .. } => {
                self.utf16 += one.strings;
                self.could_be_latin1 += if text.is_narrow() { one.strings } else { 0 };
            }
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            strings: self.strings + other.strings,
            arrays: self.arrays + other.arrays,
            bytes: self.bytes + other.bytes,
            latin1: self.latin1 + other.latin1,
            utf16: self.utf16 + other.utf16,
            could_be_latin1: self.could_be_latin1 + other.could_be_latin1,
        }
    }
}

impl Part {
    fn add(&mut self, other: Self) {
        for (sums, more) in self.sums.iter_mut().zip(other.sums) {
            *sums = sums.and(more);
        }
        self.stripped.add(other.stripped);
        self.without_value += other.without_value;
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

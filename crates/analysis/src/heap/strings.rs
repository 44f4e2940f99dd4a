//! Strings by content: how many there are of each, and what the spare ones take.
//!
//! A `java.lang.String` holds its characters in a `char[]`, or since JDK 9 in a `byte[]` of Latin-1
//! or UTF-16 units, told by its field `coder` (JEP 254). Up to JDK 6, and on early Android, it may be
//! a part of a longer array, told by `offset` and `count`.

mod count;
mod uses;

use hprof_format::binary::BasicType;
use hprof_format::ids::ObjectId;
use serde::Serialize;

use super::histogram::layout;
use super::layout::Layout;
use super::objects::HeapFile;
use super::sizes::Sizes;
pub(crate) use count::{SeenTexts, StringCount};
pub(crate) use uses::{SeenUses, StringUses};

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
    /// Strings whose characters were blanked, in a dump from which a tool stripped contents;
    /// they are in no other figure.
    pub blank: u64,
    /// The contents, those of most waste first, then the longest.
    pub groups: Vec<StringGroup>,
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
}

/// Counts the strings of a dump by content, or only those that contain the text `wanted`; of each
/// group at most `preview` characters of text are kept.
pub fn strings(heap: &HeapFile<'_>, preview: usize, wanted: Option<&str>) -> StringReport {
    let uses = StringUses::new(heap);
    let mut seen = SeenUses::default();
    heap.walk(|sub_record| {
        uses.see(&mut seen, sub_record);
        true
    });
    let mut count = uses.counting(vec![seen]);
    (count.preview, count.wanted) = (Some(preview), wanted);
    let mut seen = SeenTexts::default();
    heap.walk(|sub_record| {
        count.see(&mut seen, sub_record);
        true
    });
    count.report(vec![seen])
}

/// True if all elements of an array are the same one.
pub(crate) fn is_uniform(element: BasicType, values: &[u8]) -> bool {
    let width = element.width(hprof_format::binary::IdSize::Eight);
    let mut elements = values.chunks_exact(width);
    let first = elements.next();
    elements.all(|element| Some(element) == first)
}

/// Tells dumps whose contents were blanked from others: in these, texts of a single character
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

    /// True if contents were blanked.
    pub(crate) fn is_stripped(self) -> bool {
        is_blanked(self.seen, self.uniform)
    }
}

/// True if contents were blanked: of `seen` texts of four characters or more, `uniform` are a single character repeated.
pub(crate) fn is_blanked(seen: u64, uniform: u64) -> bool {
    seen >= 8 && uniform * 10 >= seen * 9
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

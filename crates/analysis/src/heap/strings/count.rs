//! The second walk over a dump: the contents of the arrays that strings use.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use hprof_format::binary::{BasicType, SubRecord};
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;

use super::uses::Use;
use super::{StringClass, StringGroup, StringReport, Uniform};
use crate::heap::layout::Layout;
use crate::heap::text::{Key, Text};
use crate::parallel;

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

/// The contents are spread over `2^SHARD_BITS` tables, so that threads seldom wait for each other.
const SHARD_BITS: u32 = 6;

/// The contents of a shard, and of each the beginning of its text.
#[derive(Default)]
struct Shard {
    counted: FxHashMap<Key, Counted>,
    texts: FxHashMap<Key, Box<str>>,
}

/// Strings that use one array. Where most contents are there once, sorting these takes less time and
/// memory than a table of contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Met {
    key: Key,
    bytes: u64,
    /// The bytes of one string with its array.
    one: u64,
}

/// The sums of one thread.
#[derive(Default)]
pub(crate) struct SeenTexts {
    /// Where the array before was in the list of uses. Arrays mostly come in its order.
    cursor: usize,
    /// The sums of texts of several kinds of units, and of those of a single one.
    sums: [Sums; 2],
    /// The texts met of these two kinds, where no texts are kept.
    met: [Vec<Met>; 2],
    stripped: Uniform,
    without_value: u64,
}

/// The second walk over a dump: the contents of the arrays that strings use.
pub(crate) struct StringCount<'w> {
    layout: Layout,
    classes: Vec<StringClass>,
    /// In the order of arrays. Nearly all arrays are used by one string.
    uses: Vec<Use>,
    without_array: u64,
    /// The characters of each text that are kept; without groups if there is none.
    pub(super) preview: Option<usize>,
    /// The pattern that a text must contain to be counted.
    pub(super) wanted: Option<&'w str>,
    shards: Vec<Mutex<Shard>>,
}

impl<'w> StringCount<'w> {
    /// Nothing is counted yet. `uses` are in order.
    pub(super) fn new(
        layout: Layout,
        classes: Vec<StringClass>,
        uses: Vec<Use>,
        without_array: u64,
    ) -> Self {
        Self {
            layout,
            classes,
            uses,
            without_array,
            preview: None,
            wanted: None,
            shards: (0..1 << SHARD_BITS).map(|_| Mutex::default()).collect(),
        }
    }
    /// Looks at a sub-record of the dump.
    #[inline]
    pub(crate) fn see(&self, part: &mut SeenTexts, sub_record: &SubRecord<'_>) {
        if let SubRecord::PrimitiveArray {
            array,
            element,
            values,
            ..
        } = *sub_record
        {
            self.array(part, array, element, values);
        }
    }

    /// Counts the strings that use an array.
    fn array(&self, part: &mut SeenTexts, array: ObjectId, element: BasicType, values: &[u8]) {
        let first = seek(&self.uses, part.cursor, array);
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
            let kind = usize::from(one.is_uniform);
            part.sums[kind].add(&one, &text);
            match self.preview {
                Some(preview) => self.enter(&text, one, preview),
                None => part.met[kind].push(Met {
                    key: text.key(),
                    bytes: one.bytes,
                    one: one.one,
                }),
            }
        }
    }

    fn enter(&self, text: &Text<'_>, one: Counted, preview: usize) {
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
        shard.texts.insert(key, text.decode(preview).into());
        shard.counted.insert(key, one);
    }

    /// Sums up what all threads have seen.
    pub(crate) fn report(mut self, parts: Vec<SeenTexts>) -> StringReport {
        // They are as many as what is put together now.
        self.uses = Vec::new();
        let mut part = SeenTexts::default();
        parts.into_iter().for_each(|other| part.add(other));
        let without_value = self.without_array + part.without_value;
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
        for (kind, mut met) in part.met.into_iter().enumerate() {
            if is_stripped && kind == 1 {
                continue;
            }
            parallel::sort(&mut met);
            for equal in met.chunk_by(|a, b| a.key == b.key) {
                let bytes: u64 = equal.iter().map(|met| met.bytes).sum();
                let one = equal.iter().map(|met| met.one).max().unwrap_or(0);
                report.contents += 1;
                report.waste += bytes.saturating_sub(one);
            }
        }
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

impl SeenTexts {
    fn add(&mut self, other: Self) {
        for (sums, more) in self.sums.iter_mut().zip(other.sums) {
            *sums = sums.and(more);
        }
        for (met, more) in self.met.iter_mut().zip(other.met) {
            match met.is_empty() {
                true => *met = more,
                false => met.extend(more),
            }
        }
        self.stripped.add(other.stripped);
        self.without_value += other.without_value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_array_is_found_from_wherever_the_search_starts(
            arrays in prop::collection::vec(1u64..40, 0..30),
            from: prop::sample::Index,
            wanted in 0u64..42,
        ) {
            let mut arrays = arrays;
            arrays.sort_unstable();
            let all = arrays.iter().map(|&array| Use {
                array: ObjectId::new(array),
                part: None,
                is_utf16: false,
                class: 0,
            });
            let uses: Vec<Use> = all.collect();
            let from = from.index(uses.len() + 1);
            let first = arrays.partition_point(|&array| array < wanted);
            prop_assert_eq!(seek(&uses, from, ObjectId::new(wanted)), first);
        }
    }
}

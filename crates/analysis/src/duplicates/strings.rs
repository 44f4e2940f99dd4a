//! Equal strings, by the digests of the arrays that they use.
//!
//! Strings of one VM keep equal texts in one form: an array of characters, or one of bytes, in Latin-1 wherever
//! that suffices (JEP 254). So equal texts are equal arrays, and one byte for each object says how strings
//! use it. Where that may not hold, [`by_walks`] compares the texts themselves.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use hprof_format::ids::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::groups::{Entry, Traits};
use crate::graph::{Graph, Number, References, Width};
use crate::heap::{
    SeenTexts, SeenUses, StringClass, StringSource, StringUses, is_blanked, number_of,
};
use crate::marks::{Marks, SharedMarks};
use crate::numbers::ObjectNumber;
use crate::parallel;
use crate::snapshot::Snapshot;

/// The number of strings that use an array; this one stands for as many and more.
const MANY: u8 = 0x3f;
/// Some use it as text of one byte for each character.
const NARROW: u8 = 0x40;
/// Some use it as units of two bytes.
const WIDE: u8 = 0x80;

/// How strings use arrays.
pub(super) struct StringArrays {
    /// The class of strings; none if there are several, or none with characters.
    class: Option<StringClass>,
    id_bytes: usize,
    /// By object.
    uses: Vec<AtomicU8>,
    /// Further uses of those that [`MANY`] strings use.
    more: Mutex<FxHashMap<ObjectNumber, u64>>,
    /// True if equal texts may be different arrays.
    is_irregular: AtomicBool,
}

/// The further uses that one thread has seen.
#[derive(Default)]
pub(super) struct SeenMore(FxHashMap<ObjectNumber, u64>);

/// Sums over strings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StringSums {
    /// Strings.
    pub strings: u64,
    /// The bytes of all strings and arrays but one of each text.
    pub waste: u64,
    /// Arrays of four characters or more, and those of these with a single one repeated.
    uniform: [u64; 2],
    /// Kinds of arrays that were seen.
    kinds: u8,
}

/// Kinds of arrays of strings.
const LATIN1: u8 = 1;
const UTF16: u8 = 2;
const CHARS: u8 = 4;
/// Bytes, empty or not.
const BYTES: u8 = 8;
/// Units of two bytes for which one would do.
const SPARSE: u8 = 16;
/// What no VM writes.
const ODD: u8 = 32;

impl StringArrays {
    pub fn new(graph: &Graph) -> Self {
        let mut classes = graph.string_classes();
        let is_regular = classes.len() <= 1
            && !graph.is_android()
            && graph.gaps().repeated_objects == 0
            && classes.iter().all(|class| class.part.is_none());
        Self {
            class: classes.pop(),
            id_bytes: graph.id_bytes(),
            uses: (0..graph.len()).map(|_| AtomicU8::new(0)).collect(),
            more: Mutex::default(),
            is_irregular: AtomicBool::new(!is_regular),
        }
    }

    /// Sees an instance.
    #[inline]
    pub fn see(&self, more: &mut SeenMore, graph: &Graph, class: ObjectId, values: &[u8]) {
        let Some(string) = self.class.as_ref().filter(|it| it.class == class) else {
            return;
        };
        let reference = values.get(string.value..string.value + self.id_bytes);
        let array = reference.and_then(|id| graph.number(number_of(id)));
        let Some(array) = array else {
            return;
        };
        let coder = string.coder.and_then(|at| values.get(at));
        let kind = match coder {
            Some(1) => WIDE,
            _ => NARROW,
        };
        let cell = &self.uses[array.index()];
        let mut known = cell.load(Ordering::Relaxed);
        loop {
            let one = u8::from(known & MANY < MANY);
            let order = Ordering::Relaxed;
            match cell.compare_exchange_weak(known, (known | kind) + one, order, order) {
                Ok(_) => break,
                Err(other) => known = other,
            }
        }
        if known & MANY == MANY {
            *more.0.entry(array).or_default() += 1;
        }
    }

    /// Adds what a thread has seen.
    pub fn add(&self, more: SeenMore) {
        let mut known = self.more.lock().unwrap_or_else(PoisonError::into_inner);
        for (array, strings) in more.0 {
            *known.entry(array).or_default() += strings;
        }
    }

    /// Adds arrays with equal digests.
    pub fn count(&self, graph: &Graph, equal: &[Entry], sums: &mut StringSums) {
        let shallow = self.class.as_ref().map_or(0, |class| class.shallow);
        // By kind: all bytes, and those of one string with its array.
        let mut bytes = [(0, 0); 2];
        for entry in equal {
            let used = self.uses[entry.object().index()].load(Ordering::Relaxed);
            let traits = entry.traits();
            if used == 0 || !traits.has(Traits::BYTES | Traits::CHARS) {
                continue;
            }
            let strings = match used & MANY {
                MANY => {
                    let more = self.more.lock().unwrap_or_else(PoisonError::into_inner);
                    u64::from(MANY) + more.get(&entry.object()).copied().unwrap_or(0)
                }
                few => u64::from(few),
            };
            let is_wide = used & WIDE != 0 && traits.has(Traits::BYTES);
            sums.kinds |= kinds(used, traits);
            if traits.has(Traits::SEVERAL) {
                sums.uniform[0] += 1;
                sums.uniform[1] += u64::from(traits.has(Traits::UNIFORM));
            }
            let array = graph.size(entry.object());
            // Empty texts are equal in both forms.
            let of_kind = &mut bytes[usize::from(is_wide && !traits.has(Traits::EMPTY))];
            *of_kind = (of_kind.0 + strings * shallow + array, shallow + array);
            sums.strings += strings;
        }
        sums.waste += bytes.iter().map(|(all, one)| all - one).sum::<u64>();
    }

    /// The sums of all threads; `None` if equal texts may be different arrays, or contents were blanked.
    pub fn sums(&self, parts: impl Iterator<Item = StringSums>) -> Option<StringSums> {
        let mut sums = StringSums::default();
        for part in parts {
            sums.strings += part.strings;
            sums.waste += part.waste;
            sums.uniform[0] += part.uniform[0];
            sums.uniform[1] += part.uniform[1];
            sums.kinds |= part.kinds;
        }
        let has = |kinds: u8| sums.kinds & kinds == kinds;
        let is_regular = !self.is_irregular.load(Ordering::Relaxed)
            && !has(ODD)
            && !has(CHARS | BYTES)
            && !has(SPARSE | LATIN1);
        let [several, uniform] = sums.uniform;
        (is_regular && !is_blanked(several, uniform)).then_some(sums)
    }
}

/// The kinds that an array is of.
fn kinds(used: u8, traits: Traits) -> u8 {
    if traits.has(Traits::CHARS) {
        return CHARS;
    }
    let when = |is_so: bool, kind: u8| if is_so { kind } else { 0 };
    let (is_narrow, is_wide) = (used & NARROW != 0, used & WIDE != 0);
    let has_text = !traits.has(Traits::EMPTY);
    BYTES
        | when(is_narrow && has_text, LATIN1)
        | when(is_wide && has_text, UTF16)
        | when(is_wide && has_text && traits.has(Traits::NARROW), SPARSE)
        | when(
            is_wide && (is_narrow && has_text || traits.has(Traits::ODD)),
            ODD,
        )
}

/// The strings of a dump and the bytes of all but one of each text, by two walks that compare texts.
pub(super) fn by_walks(snapshot: &Snapshot) -> (u64, u64) {
    let uses = StringUses::new(snapshot);
    let seen = snapshot.each_thread(|sub_records| {
        let mut seen = SeenUses::default();
        sub_records.each(|sub_record| uses.see(&mut seen, sub_record));
        seen
    });
    let counting = uses.counting(seen);
    let texts = snapshot.each_thread(|sub_records| {
        let mut texts = SeenTexts::default();
        sub_records.each(|sub_record| counting.see(&mut texts, sub_record));
        texts
    });
    let report = counting.report(texts);
    (report.strings, report.waste)
}

/// Those of some arrays that strings which live consist of.
pub(super) fn of_live_strings(
    snapshot: &Snapshot,
    arrays: impl Iterator<Item = ObjectNumber>,
) -> FxHashSet<ObjectNumber> {
    match snapshot.graph().width() {
        Width::Narrow(references) => of_strings(snapshot, references, arrays),
        Width::Wide(references) => of_strings(snapshot, references, arrays),
    }
}

/// Objects in one task.
const TASK: usize = 1 << 16;

fn of_strings<N: Number>(
    snapshot: &Snapshot,
    references: &References<N>,
    arrays: impl Iterator<Item = ObjectNumber>,
) -> FxHashSet<ObjectNumber> {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let mut wanted = Marks::new(graph.len());
    arrays.for_each(|array| wanted.set(array.index()));
    let classes = graph.classes();
    let is_string: Vec<bool> = (classes.numbers())
        .map(|number| {
            let class = classes.get(number);
            class.name == "java.lang.String"
                && classes.by_id(class.id) == Some(number)
                && classes.field(number, "value").is_some()
        })
        .collect();
    let found = SharedMarks::new(graph.len());
    let view = references.view();
    parallel::run(0, graph.len().div_ceil(TASK), |tasks| {
        for object in tasks.flat_map(|task| TASK * task..graph.len().min(TASK * (task + 1))) {
            let number = ObjectNumber::new(object);
            if is_string[graph.class_of(number).index()] && dominators.place(number).is_some() {
                for target in view.of(object).filter(|&target| wanted.has(target)) {
                    found.set(target);
                }
            }
        }
    });
    let found = found.into_marks();
    found.iter().map(ObjectNumber::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(object: usize, digest: u64, traits: u8) -> Entry {
        Entry::new(
            [digest, u64::MAX],
            ObjectNumber::new(object),
            Traits(traits),
        )
    }

    #[test]
    fn arrays_whose_texts_may_be_equal_in_other_forms_are_not_counted_by_digests() {
        let text = Traits(Traits::BYTES);
        let sparse = Traits(Traits::BYTES | Traits::NARROW);
        assert_eq!(kinds(NARROW | 1, text), BYTES | LATIN1);
        assert_eq!(kinds(WIDE | 1, text), BYTES | UTF16);
        assert_eq!(kinds(WIDE | 1, sparse), BYTES | UTF16 | SPARSE);
        assert_eq!(kinds(NARROW | WIDE | 2, text), BYTES | LATIN1 | UTF16 | ODD);
        assert_eq!(kinds(NARROW | 1, Traits(Traits::CHARS)), CHARS);
        let empty = Traits(Traits::BYTES | Traits::EMPTY | Traits::NARROW);
        assert_eq!(kinds(NARROW | WIDE | 2, empty), BYTES);
        let odd = Traits(Traits::BYTES | Traits::ODD);
        assert_eq!(kinds(WIDE | 1, odd), BYTES | UTF16 | ODD);
        assert_eq!(kinds(NARROW | 1, odd), BYTES | LATIN1);
        let (one, other) = (entry(3, 1, 0x7f), entry(4, 1, 0));
        assert_eq!(
            (one.object().index(), one.traits(), one.count()),
            (3, Traits(0x7f), 1)
        );
        assert!(one.is_like(&other) && !one.is_like(&entry(3, 2, 0x7f)));
    }
}

//! The walks over the dump: one that digests arrays, and one that compares them.

use std::hash::{BuildHasher, Hasher, RandomState};

use hprof_format::binary::{BasicType, SubRecord};
use rustc_hash::{FxHashMap, FxHashSet};
use siphasher::sip::SipHasher13;

use super::groups::{Entry, Group, Parts, Pending};
use crate::graph::PlacedField;
use crate::heap::{SeenTexts, SeenUses, StringCount, StringUses, is_uniform};
use crate::marks::SharedMarks;
use crate::numbers::ObjectNumber;
use crate::snapshot::{Snapshot, Value};

/// Equal for arrays of one type with equal elements, big-endian.
pub(super) trait Digest: Fn(BasicType, &[u8]) -> u64 + Sync {}
impl<D: Fn(BasicType, &[u8]) -> u64 + Sync> Digest for D {}

/// A digest with a secret key.
pub(super) fn keyed_digest() -> impl Digest {
    // The standard library's hashers have keys from the system's random numbers.
    let key = || RandomState::new().hash_one(0);
    let keyed = SipHasher13::new_with_keys(key(), key());
    move |element, values| {
        let mut hasher = keyed;
        hasher.write_u8(element.code());
        hasher.write(values);
        hasher.finish()
    }
}

/// The results of the first walk, besides the entries.
pub(super) struct Seen {
    /// Arrays whose elements were blanked.
    pub blank: u64,
    /// The other arrays.
    pub arrays: u64,
    /// Their size.
    pub bytes: u64,
    /// The arrays that strings consist of.
    pub of_strings: SharedMarks,
}

/// The first walk, on one thread.
struct Walk<'w, 'a, D> {
    snapshot: &'w Snapshot,
    digest: &'w D,
    of_strings: &'w SharedMarks,
    /// Classes of strings by identifier, with the field that refers to the characters.
    string_classes: &'w [(u64, PlacedField<'w>)],
    is_stripped: bool,
    /// All strings, where memory suffices for them.
    strings: Option<&'w StringUses>,
    uses: SeenUses,
    pending: Pending<'w, 'a>,
    blank: u64,
    arrays: u64,
    bytes: u64,
}

/// Enters all live arrays into `parts`, and the arrays of all strings into what is returned.
pub(super) fn enter(
    snapshot: &Snapshot,
    digest: &impl Digest,
    parts: &Parts<'_>,
    strings: Option<&StringUses>,
) -> (Seen, Vec<SeenUses>) {
    let graph = snapshot.graph();
    let of_strings = SharedMarks::new(graph.len());
    let classes = graph.classes();
    let of_class = |number| {
        let class = classes.get(number);
        let is_it = class.name == "java.lang.String" && classes.by_id(class.id) == Some(number);
        match is_it {
            true => Some((class.id, classes.field(number, "value")?)),
            false => None,
        }
    };
    let string_classes: Vec<_> = classes.numbers().filter_map(of_class).collect();
    let is_stripped = snapshot.is_stripped();
    let results = snapshot.each_thread(|sub_records| {
        let mut walk = Walk {
            snapshot,
            digest,
            of_strings: &of_strings,
            string_classes: &string_classes,
            is_stripped,
            strings,
            uses: SeenUses::default(),
            pending: parts.pending(),
            blank: 0,
            arrays: 0,
            bytes: 0,
        };
        sub_records.each(|sub_record| walk.see(sub_record));
        walk.pending.finish();
        ([walk.blank, walk.arrays, walk.bytes], walk.uses)
    });
    let (sums, uses): (Vec<[u64; 3]>, _) = results.into_iter().unzip();
    let [blank, arrays, bytes] =
        std::array::from_fn(|which| sums.iter().map(|sums| sums[which]).sum());
    let seen = Seen {
        blank,
        arrays,
        bytes,
        of_strings,
    };
    (seen, uses)
}

impl<D: Digest> Walk<'_, '_, D> {
    fn see(&mut self, sub_record: &SubRecord<'_>) {
        if let Some(strings) = self.strings {
            strings.see(&mut self.uses, sub_record);
        }
        match *sub_record {
            SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } => {
                let Some(object) = live(self.snapshot, array.get()) else {
                    return;
                };
                if self.is_stripped && !values.is_empty() && is_uniform(element, values) {
                    self.blank += 1;
                    return;
                }
                self.arrays += 1;
                self.bytes += self.snapshot.graph().size(object);
                let digest = (self.digest)(element, values);
                self.pending.push(Entry::new(digest, object));
            }
            SubRecord::Instance {
                object,
                class,
                values,
                ..
            } => {
                let mut classes = self.string_classes.iter();
                let Some((_, placed)) = classes.find(|(id, _)| *id == class.get()) else {
                    return;
                };
                if live(self.snapshot, object.get()).is_none() {
                    return;
                }
                let basic_type = placed.field.basic_type();
                let value = (values.get(placed.offset..))
                    .and_then(|value| self.snapshot.value(basic_type, value));
                if let Some(Value::Object(array)) = value {
                    self.of_strings.set(array.index());
                }
            }
            _ => {}
        }
    }
}

/// Compares the contents within some groups. In each, the arrays stay that are equal to the first
/// one; a group without any goes. The walk serves `strings` too.
pub(super) fn confirm(
    snapshot: &Snapshot,
    digest: &impl Digest,
    groups: &mut Vec<Group>,
    strings: Option<&StringCount<'_>>,
) -> Vec<SeenTexts> {
    let graph = snapshot.graph();
    let first = |group: &Group| match graph
        .locate(snapshot.file(), ObjectNumber::new(group.first as usize))
    {
        Some((
            _,
            SubRecord::PrimitiveArray {
                element, values, ..
            },
        )) => Some((element, values)),
        _ => None,
    };
    let firsts: Vec<_> = groups.iter().map(first).collect();
    // Most arrays of a heap are of another length than those that are looked for.
    let lengths: FxHashSet<(BasicType, usize)> = (firsts.iter().flatten())
        .map(|&(element, values)| (element, values.len()))
        .collect();
    let by_digest: FxHashMap<u64, usize> = (groups.iter().zip(0..))
        .map(|(group, index)| (group.digest, index))
        .collect();
    let results = snapshot.each_thread(|sub_records| {
        let (mut equal, mut texts) = (vec![0u64; groups.len()], SeenTexts::default());
        sub_records.each(|sub_record| {
            if let Some(strings) = strings {
                strings.see(&mut texts, sub_record);
            }
            if let SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } = *sub_record
                && lengths.contains(&(element, values.len()))
                && let Some(&group) = by_digest.get(&digest(element, values))
                && firsts[group] == Some((element, values))
                && live(snapshot, array.get()).is_some()
            {
                equal[group] += 1;
            }
        });
        (equal, texts)
    });
    let (counts, texts): (Vec<_>, _) = results.into_iter().unzip();
    for (index, group) in groups.iter_mut().enumerate() {
        group.count = counts.iter().map(|equal| equal[index]).sum();
        let bytes = graph.size(ObjectNumber::new(group.first as usize));
        group.wasted_bytes = group.count.saturating_sub(1) * bytes;
    }
    groups.retain(|group| group.count > 1);
    texts
}

/// The object with an identifier, if it is alive.
#[inline]
fn live(snapshot: &Snapshot, id: u64) -> Option<ObjectNumber> {
    let object = snapshot.graph().number(id)?;
    snapshot.dominators().place(object).map(|_| object)
}

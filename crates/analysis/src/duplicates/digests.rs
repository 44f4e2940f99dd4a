//! The walk over a dump that digests its arrays of primitives and notes which of them strings use.

use std::convert::Infallible;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use hprof_format::binary::{BasicType, SubRecord};
use memmap2::Mmap;
use siphasher::sip128::{Hasher128, SipHasher13};

use super::groups::{Entry, Parts, Pending, Traits};
use super::strings::{SeenMore, StringArrays};
use crate::dominators::Dominators;
use crate::graph::{Graph, Store};
use crate::heap::is_uniform;
use crate::trace;
use crate::walk::Pass;

/// All arrays of primitives of a dump by their contents.
///
/// To know which of them live takes the dominators, but where memory is limited, entries of equal arrays are merged
/// at once: then only arrays that live have entries.
pub(crate) struct Digests {
    pub(super) parts: Parts,
    /// What strings use, where memory suffices for that.
    pub(super) strings: Option<StringArrays>,
    /// True if only arrays that live have entries.
    pub(super) only_live: bool,
}

impl Digests {
    /// Walks over a dump.
    ///
    /// # Errors
    /// If the store has no room for what is known of each array.
    pub(crate) fn of(
        file: &Mmap,
        graph: &Graph,
        store: &Store,
        live: Option<&Dominators>,
        threads: usize,
    ) -> io::Result<Self> {
        let live = live.filter(|_| store.is_limited());
        let digests = Self {
            parts: Parts::new(store),
            strings: (!store.is_limited()).then(|| StringArrays::new(graph)),
            only_live: live.is_some(),
        };
        let hashers = Hashers::new();
        let pass = Pass {
            threads,
            progress: &trace::advance,
            forget: &|range| crate::input::forget(file, range),
        };
        let more = pass.run(Pass::tasks_of(graph.blocks()), |tasks| {
            let mut walk = Walk {
                graph,
                hashers: &hashers,
                strings: digests.strings.as_ref(),
                live,
                pending: digests.parts.pending(),
                more: SeenMore::default(),
            };
            for task in tasks {
                let Ok::<(), Infallible>(()) =
                    pass.runs(file, graph.id_size(), graph.blocks(), task, |sub_record| {
                        walk.see(sub_record);
                        Ok(())
                    });
            }
            walk.pending.finish();
            walk.more
        });
        digests.parts.check()?;
        if let Some(strings) = &digests.strings {
            more.into_iter().for_each(|more| strings.add(more));
        }
        Ok(digests)
    }
}

/// Hashers with a secret key, one for the elements of each type.
struct Hashers([SipHasher13; 16]);

impl Hashers {
    fn new() -> Self {
        // The standard library's hashers have keys from the system's random numbers.
        let key = || RandomState::new().hash_one(0);
        let (one, other) = (key(), key());
        // Type codes are below 16.
        Self(std::array::from_fn(|code| {
            SipHasher13::new_with_keys(one, other ^ code as u64)
        }))
    }

    /// Equal for arrays of one type with equal elements, big-endian.
    fn digest(&self, element: BasicType, values: &[u8]) -> [u64; 2] {
        let mut hasher = self.0[usize::from(element.code() & 15)];
        hasher.write(values);
        let hash = hasher.finish128();
        [hash.h1, hash.h2]
    }
}

/// The walk, on one thread.
struct Walk<'w> {
    graph: &'w Graph,
    hashers: &'w Hashers,
    strings: Option<&'w StringArrays>,
    live: Option<&'w Dominators>,
    pending: Pending<'w>,
    more: SeenMore,
}

impl Walk<'_> {
    #[inline]
    fn see(&mut self, sub_record: &SubRecord<'_>) {
        match *sub_record {
            SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } => {
                let Some(object) = self.graph.number(array.get()) else {
                    return;
                };
                if (self.live).is_some_and(|live| live.place(object).is_none()) {
                    return;
                }
                let digest = self.hashers.digest(element, values);
                let entry = Entry::new(digest, object, traits(element, values));
                self.pending.push(entry);
            }
            SubRecord::Instance { class, values, .. } => {
                if let Some(strings) = self.strings {
                    strings.see(&mut self.more, self.graph, class, values);
                }
            }
            _ => {}
        }
    }
}

/// What the elements of an array are like.
fn traits(element: BasicType, values: &[u8]) -> Traits {
    let width = element.width(hprof_format::binary::IdSize::Eight);
    let when = |is_so: bool, bit: u8| if is_so { bit } else { 0 };
    let is_bytes = element == BasicType::Byte;
    let is_narrow = || values.iter().skip(1).step_by(2).all(|&high| high == 0);
    Traits(
        when(values.is_empty(), Traits::EMPTY)
            | when(
                !values.is_empty() && is_uniform(element, values),
                Traits::UNIFORM,
            )
            | when(values.len() >= 4 * width, Traits::SEVERAL)
            | when(is_bytes, Traits::BYTES)
            | when(element == BasicType::Char, Traits::CHARS)
            | when(is_bytes && !values.len().is_multiple_of(2), Traits::ODD)
            | when(is_bytes && is_narrow(), Traits::NARROW),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_of_type_and_elements() {
        let hashers = Hashers::new();
        let digest = |element, values: &[u8]| hashers.digest(element, values);
        let bytes = digest(BasicType::Byte, b"12345678");
        assert_eq!(bytes, digest(BasicType::Byte, b"12345678"));
        assert_ne!(bytes, digest(BasicType::Byte, b"12345679"));
        assert_ne!(bytes, digest(BasicType::Long, b"12345678"));
        assert_ne!(bytes, Hashers::new().digest(BasicType::Byte, b"12345678"));
    }

    #[test]
    fn traits_are_those_of_the_elements() {
        let of = |element, values: &[u8]| traits(element, values).0;
        let bytes = |values| of(BasicType::Byte, values);
        assert_eq!(bytes(b""), Traits::BYTES | Traits::EMPTY | Traits::NARROW);
        assert_eq!(bytes(b"ab"), Traits::BYTES);
        assert_eq!(
            bytes(b"aaaa"),
            Traits::BYTES | Traits::UNIFORM | Traits::SEVERAL
        );
        assert_eq!(bytes(b"a\0b"), Traits::BYTES | Traits::ODD | Traits::NARROW);
        let chars = of(BasicType::Char, b"\0a\0a");
        assert_eq!(chars, Traits::CHARS | Traits::UNIFORM);
        let ints = of(BasicType::Int, &[1; 16]);
        assert_eq!(ints, Traits::UNIFORM | Traits::SEVERAL);
    }
}

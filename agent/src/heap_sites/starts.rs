//! A set of addresses of objects, in which each has a number.
//!
//! The heap is divided into pages. A page of many objects has a bit for each eight bytes: where objects have 40 bytes on the
//! average, that is two bits and a half for each of them. A page of few has a list of two bytes for each, so that a huge heap
//! of which few objects are followed does not take a bit for all that lies between them.

use std::cell::Cell;

use hashbrown::HashMap;

/// The addresses of objects, which are multiples of eight.
#[derive(Default)]
pub(super) struct Starts {
    pages: Vec<Page>,
    /// By number of a page: its place in `pages`.
    places: HashMap<u64, u32>,
    /// The page that was asked for last: objects near each other come one after another.
    last: Cell<Option<(u64, u32)>>,
}

/// The starts of objects in a part of the heap.
struct Page {
    offsets: Offsets,
    /// The addresses in the pages before.
    number: u32,
}

/// Eighths of the bytes from the start of a page to each address in it.
enum Offsets {
    /// At most [`FEW`], in order.
    Few(Vec<u16>),
    Many(Box<Bits>),
}

/// A bit for each offset.
struct Bits {
    words: [u64; WORDS],
    /// The offsets in the words before each group of [`GROUP`] words.
    before: [u16; WORDS / GROUP],
}

/// Words of a page, which is of 32 KiB.
const WORDS: usize = 64;
/// Words in a group.
const GROUP: usize = 8;
/// The offsets up to which a list is kept, a quarter of what the bits take.
const FEW: usize = 64;
/// From an address to the number of its page.
const PAGE_SHIFT: u32 = 15;

/// The offset of an address in its page.
#[inline]
fn offset_of(address: u64) -> u16 {
    (address >> 3) as u16 % (64 * WORDS as u16)
}

impl Offsets {
    #[inline]
    fn add(&mut self, offset: u16) {
        match self {
            Self::Many(bits) => bits.add(offset),
            Self::Few(list) => match list.binary_search(&offset) {
                Ok(_) => {}
                Err(place) if list.len() < FEW => list.insert(place, offset),
                Err(_) => {
                    let mut bits = Box::new(Bits {
                        words: [0; WORDS],
                        before: [0; WORDS / GROUP],
                    });
                    list.iter().for_each(|&offset| bits.add(offset));
                    bits.add(offset);
                    *self = Self::Many(bits);
                }
            },
        }
    }

    /// Makes it ready for [`Self::number_of`], and gives how many they are.
    fn number(&mut self) -> usize {
        match self {
            Self::Few(list) => {
                list.shrink_to_fit();
                list.len()
            }
            Self::Many(bits) => {
                let mut all = 0;
                for (before, words) in bits.before.iter_mut().zip(bits.words.chunks(GROUP)) {
                    *before = all;
                    all += words
                        .iter()
                        .map(|word| word.count_ones() as u16)
                        .sum::<u16>();
                }
                usize::from(all)
            }
        }
    }

    /// How many are smaller than one of them; `None` for another.
    #[inline]
    fn number_of(&self, offset: u16) -> Option<usize> {
        match self {
            Self::Few(list) => list.binary_search(&offset).ok(),
            Self::Many(bits) => bits.number_of(offset),
        }
    }
}

impl Bits {
    #[inline]
    fn add(&mut self, offset: u16) {
        self.words[usize::from(offset / 64)] |= 1 << (offset % 64);
    }

    #[inline]
    fn number_of(&self, offset: u16) -> Option<usize> {
        let (word, bit) = (usize::from(offset / 64), offset % 64);
        if self.words[word] >> bit & 1 == 0 {
            return None;
        }
        let group = word / GROUP;
        let others = self.words[GROUP * group..word].iter();
        let before_word: u32 = others.map(|word| word.count_ones()).sum();
        let before_bit = (self.words[word] & ((1 << bit) - 1)).count_ones();
        Some(usize::from(self.before[group]) + (before_word + before_bit) as usize)
    }
}

impl Starts {
    /// Adds an address. Not after [`Self::number`].
    #[inline]
    pub(super) fn add(&mut self, address: u64) {
        let wanted = address >> PAGE_SHIFT;
        let place = match self.last.get() {
            Some((page, place)) if page == wanted => place,
            _ => {
                let next = self.pages.len();
                // 2^32 pages are 2^47 bytes, more than a process has.
                let place = *self.places.entry(wanted).or_insert(next as u32);
                if place as usize == next {
                    self.pages.push(Page {
                        offsets: Offsets::Few(Vec::new()),
                        number: 0,
                    });
                }
                self.last.set(Some((wanted, place)));
                place
            }
        };
        if let Some(page) = self.pages.get_mut(place as usize) {
            page.offsets.add(offset_of(address));
        }
    }

    /// Numbers the addresses, and gives how many they are.
    pub(super) fn number(&mut self) -> usize {
        let mut all = 0;
        for page in &mut self.pages {
            page.number = all;
            all += page.offsets.number() as u32;
        }
        all as usize
    }

    /// The number of an address, if it is one of these.
    #[inline]
    pub(super) fn number_of(&self, address: u64) -> Option<usize> {
        let wanted = address >> PAGE_SHIFT;
        let place = match self.last.get() {
            Some((page, place)) if page == wanted => place,
            _ => {
                let place = *self.places.get(&wanted)?;
                self.last.set(Some((wanted, place)));
                place
            }
        };
        let page = self.pages.get(place as usize)?;
        let within = page.offsets.number_of(offset_of(address))?;
        Some(page.number as usize + within)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Some near each other, some far away, and none where no object was added.
        #[test]
        fn each_address_has_a_number_of_its_own(
            near in prop::collection::vec(0u64..10_000, 0..400),
            far in prop::collection::vec(any::<u64>(), 0..20),
            others in prop::collection::vec(0u64..10_000, 0..50),
        ) {
            let near = near.iter().map(|&number| 0x7fff_0000_0000 + 8 * number);
            let addresses: Vec<u64> = near.chain(far.iter().map(|&address| address & !7)).collect();
            let mut starts = Starts::default();
            addresses.iter().for_each(|&address| starts.add(address));
            let all: BTreeSet<u64> = addresses.into_iter().collect();
            prop_assert_eq!(starts.number(), all.len());
            let numbers: Option<BTreeSet<usize>> = all.iter().map(|&it| starts.number_of(it)).collect();
            prop_assert_eq!(numbers, Some((0..all.len()).collect()));
            for other in others.iter().map(|&number| 0x7fff_0000_0000 + 8 * number) {
                prop_assert_eq!(starts.number_of(other).is_some(), all.contains(&other));
            }
        }
    }

    #[test]
    fn a_full_page_is_counted() {
        let mut starts = Starts::default();
        (0..2 << PAGE_SHIFT)
            .step_by(8)
            .for_each(|address| starts.add(address));
        assert_eq!(starts.number(), 8192);
        assert_eq!(starts.number_of(0), Some(0));
        assert_eq!(starts.number_of(8 * 8191), Some(8191));
        assert_eq!(starts.number_of(8 * 8192), None);
    }
}

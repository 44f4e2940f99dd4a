//! A set of addresses of objects, in which each has a number.
//!
//! A bit for each eight bytes of the pages in which there are any: a heap whose objects have 40 bytes on the average takes
//! two bits and a half for each of them.

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

/// Those in a part of the heap.
struct Page {
    words: [u64; WORDS],
    /// The addresses in the words before each group of [`GROUP`] words.
    before: [u16; WORDS / GROUP],
    /// The addresses in the pages before.
    number: u32,
}

/// Words of a page, which is of 32 KiB.
const WORDS: usize = 64;
/// Words in a group.
const GROUP: usize = 8;
/// From an address to the number of its page.
const PAGE_SHIFT: u32 = 15;

/// Where the bit of an address is in its page.
#[inline]
fn bit_of(address: u64) -> (usize, u32) {
    let bit = address >> 3;
    ((bit >> 6) as usize % WORDS, (bit & 63) as u32)
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
                        words: [0; WORDS],
                        before: [0; WORDS / GROUP],
                        number: 0,
                    });
                }
                self.last.set(Some((wanted, place)));
                place
            }
        };
        let (word, bit) = bit_of(address);
        if let Some(page) = self.pages.get_mut(place as usize) {
            page.words[word] |= 1 << bit;
        }
    }

    /// Numbers the addresses, and gives how many they are.
    pub(super) fn number(&mut self) -> usize {
        let mut all = 0u32;
        for page in &mut self.pages {
            page.number = all;
            let mut in_page = 0;
            for (before, words) in page.before.iter_mut().zip(page.words.chunks(GROUP)) {
                *before = in_page;
                in_page += words
                    .iter()
                    .map(|word| word.count_ones() as u16)
                    .sum::<u16>();
            }
            all += u32::from(in_page);
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
        let (word, bit) = bit_of(address);
        if page.words[word] >> bit & 1 == 0 {
            return None;
        }
        let group = word / GROUP;
        let others = page.words[GROUP * group..word].iter();
        let before_word: u32 = others.map(|word| word.count_ones()).sum();
        let before_bit = (page.words[word] & ((1 << bit) - 1)).count_ones();
        let number = page.number + u32::from(page.before[group]) + before_word + before_bit;
        Some(number as usize)
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
            near in prop::collection::vec(0u64..40_000, 0..400),
            far in prop::collection::vec(any::<u64>(), 0..20),
            others in prop::collection::vec(0u64..40_000, 0..50),
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

//! Where the objects of a dump were allocated.

use hashbrown::HashMap;
use hprof_format::ids::{ObjectId, TraceSerial};

use super::sites::SiteId;
use super::starts::Starts;

/// Where followed objects are, and the sites at which they were allocated: two or three bytes for each object, and what its
/// address takes in [`Starts`].
#[derive(Default)]
pub(super) struct Places {
    starts: Starts,
    numbers: Numbers,
    /// By number in `numbers`.
    sites: Vec<SiteId>,
}

impl Places {
    /// Looks at followed objects twice, which must not move meanwhile. `each` gives what it is given their addresses and
    /// sites; objects that it gives at the second look only are left out.
    pub(super) fn read(mut each: impl FnMut(&mut dyn FnMut(u64, SiteId))) -> Self {
        let mut starts = Starts::default();
        each(&mut |address, _| starts.add(address));
        let mut numbers = Numbers::new(starts.number());
        let (mut sites, mut places) = (Vec::new(), HashMap::new());
        // Objects come from one site after another often.
        let mut last = None;
        each(&mut |address, site| {
            let Some(object) = starts.number_of(address) else {
                return;
            };
            let number = match last {
                Some((known, number)) if known == site => number,
                _ => *places.entry(site).or_insert_with(|| {
                    sites.push(site);
                    sites.len() - 1
                }),
            };
            last = Some((site, number));
            numbers.set(object, number);
        });
        Self {
            starts,
            numbers,
            sites,
        }
    }
}

/// A number of at most three bytes for each object, or none.
#[derive(Default)]
struct Numbers {
    /// One more than each number, without the highest byte; 0 for none.
    low: Vec<u16>,
    /// The highest bytes, once one is not 0.
    high: Vec<u8>,
}

impl Numbers {
    fn new(objects: usize) -> Self {
        Self {
            low: vec![0; objects],
            high: Vec::new(),
        }
    }

    /// Numbers that are too large are left out.
    #[inline]
    fn set(&mut self, object: usize, number: usize) {
        let [low, middle, high, ..] = (number + 1).to_le_bytes();
        if number + 1 >= 1 << 24 {
            return;
        }
        if high != 0 && self.high.is_empty() {
            self.high = vec![0; self.low.len()];
        }
        if let Some(to) = self.low.get_mut(object) {
            *to = u16::from_le_bytes([low, middle]);
        }
        if let Some(to) = self.high.get_mut(object) {
            *to = high;
        }
    }

    #[inline]
    fn get(&self, object: usize) -> Option<usize> {
        let low = usize::from(*self.low.get(object)?);
        let high = usize::from(self.high.get(object).copied().unwrap_or(0));
        (high << 16 | low).checked_sub(1)
    }
}

/// The traces of the objects of one dump.
#[derive(Default)]
pub struct Located {
    starts: Starts,
    numbers: Numbers,
    /// By number in `numbers`.
    traces: Vec<TraceSerial>,
}

impl Located {
    /// `traces` are those of all sites, by their numbers.
    pub(super) fn new(places: Places, traces: &[TraceSerial]) -> Self {
        let trace = |site: &SiteId| traces.get(site.0 as usize).copied();
        let sites = places.sites.iter();
        Self {
            starts: places.starts,
            numbers: places.numbers,
            traces: sites
                .map(|site| trace(site).unwrap_or(TraceSerial::SYSTEM))
                .collect(),
        }
    }

    /// All traces that occur, some more than once.
    pub fn traces(&self) -> &[TraceSerial] {
        &self.traces
    }

    /// Where an object was allocated; the system trace when that is not known.
    #[inline]
    pub fn trace(&self, object: ObjectId) -> TraceSerial {
        let number = self.starts.number_of(object.get());
        let site = number.and_then(|number| self.numbers.get(number));
        let trace = site.and_then(|site| self.traces.get(site).copied());
        trace.unwrap_or(TraceSerial::SYSTEM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(addresses: impl Iterator<Item = u64> + Clone) -> Located {
        let traces: Vec<_> = (0..10)
            .map(|number| TraceSerial::new(300_000 + number))
            .collect();
        let places = Places::read(|visit| {
            let all = addresses.clone();
            all.for_each(|address| visit(address, SiteId((address / 8 % 10) as u32)));
        });
        Located::new(places, &traces)
    }

    #[test]
    fn objects_are_found_in_any_order() {
        let all = located((0..1000).rev().map(|number| 0x7fff_0000_0000 + 24 * number));
        let expected = |address: u64| TraceSerial::new(300_000 + (address / 8 % 10) as u32);
        let order = (0..1000)
            .chain((0..1000).rev())
            .chain((0..1000).map(|n| n * 7919 % 1000));
        for number in order {
            let address = 0x7fff_0000_0000 + 24 * number;
            assert_eq!(all.trace(ObjectId::new(address)), expected(address));
            assert_eq!(all.trace(ObjectId::new(address + 8)), TraceSerial::SYSTEM);
        }
        assert_eq!(all.trace(ObjectId::NULL), TraceSerial::SYSTEM);
        assert_eq!(all.trace(ObjectId::new(u64::MAX)), TraceSerial::SYSTEM);
        assert_eq!(all.traces().len(), 10);
    }

    /// Threads go on while the profile thread looks.
    #[test]
    fn objects_that_are_new_at_the_second_look_are_left_out() {
        let mut looks = 0;
        let places = Places::read(|visit| {
            (0..10 + looks).for_each(|number| visit(16 * number, SiteId(0)));
            looks += 1;
        });
        let located = Located::new(places, &[TraceSerial::new(300_000)]);
        let expected = [
            (0, 300_000),
            (144, 300_000),
            (160, TraceSerial::SYSTEM.get()),
        ];
        for (address, trace) in expected {
            assert_eq!(
                located.trace(ObjectId::new(address)).get(),
                trace,
                "{address}"
            );
        }
    }

    #[test]
    fn numbers_of_three_bytes_are_kept() {
        let mut numbers = Numbers::new(4);
        let most = (1 << 24) - 2;
        for (object, number) in [(0, 0), (1, 65_534), (2, 65_535), (3, most), (0, 7)] {
            numbers.set(object, number);
            assert_eq!(numbers.get(object), Some(number));
        }
        assert_eq!(numbers.get(1), Some(65_534));
        assert_eq!(numbers.get(0), Some(7));
        numbers.set(0, most + 1);
        assert_eq!((numbers.get(0), numbers.get(4)), (Some(7), None));
        assert_eq!(Numbers::new(1).get(0), None);
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(
            Located::default().trace(ObjectId::new(8)),
            TraceSerial::SYSTEM
        );
    }
}

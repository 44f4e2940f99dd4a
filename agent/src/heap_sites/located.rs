//! Where the objects of a dump were allocated.

use std::cell::Cell;
use std::collections::HashMap;

use hprof_format::ids::{ObjectId, TraceSerial};

use super::sites::SiteId;

/// Where followed objects are: the address and the site of each, in eight bytes.
#[derive(Default)]
pub(super) struct Places {
    /// Address / 8 above, the place in `sites` below.
    objects: Vec<u64>,
    sites: Vec<SiteId>,
    numbers: HashMap<SiteId, u64>,
    /// Objects come from one site after another often.
    last: Option<(SiteId, u64)>,
}

impl Places {
    /// With memory for as many objects.
    pub(super) fn with_room(objects: usize) -> Self {
        Self {
            objects: Vec::with_capacity(objects),
            ..Self::default()
        }
    }

    /// Adds an object. More sites than have a number are not told apart from unknown ones.
    pub(super) fn add(&mut self, address: u64, site: SiteId) {
        let number = match self.last {
            Some((last, number)) if last == site => number,
            _ => {
                let next = self.sites.len() as u64;
                let number = match self.numbers.get(&site) {
                    Some(&number) => number,
                    None if next >= 1 << TRACE_BITS => return,
                    None => {
                        self.sites.push(site);
                        self.numbers.insert(site, next);
                        next
                    }
                };
                self.last = Some((site, number));
                number
            }
        };
        if address >> ADDRESS_BITS == 0 {
            self.objects.push(address >> 3 << TRACE_BITS | number);
        }
    }
}

/// The traces of the objects of one dump.
#[derive(Default)]
pub struct Located {
    /// Address / 8 above, the place in `traces` below; in order.
    objects: Vec<u64>,
    traces: Vec<TraceSerial>,
    /// Where the last search ended: dumpers go through the heap in the order of addresses.
    cursor: Cell<usize>,
}

const TRACE_BITS: u32 = 20;
const ADDRESS_BITS: u32 = u64::BITS - TRACE_BITS + 3;

impl Located {
    /// `traces` are those of all sites, by their numbers.
    pub(super) fn new(places: Places, traces: &[TraceSerial]) -> Self {
        let mut objects = places.objects;
        objects.sort_unstable();
        let trace = |site: &SiteId| traces.get(site.0 as usize).copied();
        let sites = places.sites.iter();
        Self {
            objects,
            traces: sites
                .map(|site| trace(site).unwrap_or(TraceSerial::SYSTEM))
                .collect(),
            cursor: Cell::new(0),
        }
    }

    /// All traces that occur, some more than once.
    pub fn traces(&self) -> &[TraceSerial] {
        &self.traces
    }

    /// Where an object was allocated; the system trace when that is not known.
    #[inline]
    pub fn trace(&self, object: ObjectId) -> TraceSerial {
        let wanted = object.get() >> 3;
        let at = |place: usize| self.objects.get(place).map(|object| object >> TRACE_BITS);
        let cursor = self.cursor.get();
        let place = (cursor..cursor + NEAR)
            .find(|&place| at(place).is_none_or(|address| address >= wanted))
            .filter(|_| cursor == 0 || at(cursor - 1).is_some_and(|address| address < wanted))
            .unwrap_or_else(|| {
                self.objects
                    .partition_point(|object| object >> TRACE_BITS < wanted)
            });
        self.cursor.set(place);
        match self.objects.get(place) {
            Some(object) if object >> TRACE_BITS == wanted => {
                let number = object & ((1 << TRACE_BITS) - 1);
                let trace = self.traces.get(number as usize).copied();
                trace.unwrap_or(TraceSerial::SYSTEM)
            }
            _ => TraceSerial::SYSTEM,
        }
    }
}

/// How far to look before all are searched.
const NEAR: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn located(addresses: impl Iterator<Item = u64>) -> Located {
        let traces: Vec<_> = (0..10)
            .map(|number| TraceSerial::new(300_000 + number))
            .collect();
        let mut places = Places::default();
        addresses.for_each(|address| places.add(address, SiteId((address / 8 % 10) as u32)));
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

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(
            Located::default().trace(ObjectId::new(8)),
            TraceSerial::SYSTEM
        );
    }
}

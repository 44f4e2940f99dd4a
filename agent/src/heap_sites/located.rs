//! Where the objects of a dump were allocated.

use std::cell::Cell;
use std::collections::HashMap;

use hprof_format::ids::{ObjectId, TraceSerial};

use super::sites::SiteId;

/// An object's address and its site.
pub(super) type Place = (u64, SiteId);

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
    pub(super) fn new(places: Vec<Place>, traces: &[TraceSerial]) -> Self {
        let mut used = vec![TraceSerial::SYSTEM];
        let mut numbers: HashMap<TraceSerial, u64> = HashMap::from([(TraceSerial::SYSTEM, 0)]);
        let mut by_site = vec![None; traces.len()];
        let mut objects = Vec::with_capacity(places.len());
        for (address, site) in places {
            let Some(number) = by_site.get_mut(site.0 as usize) else {
                continue;
            };
            let number = *number.get_or_insert_with(|| {
                let trace = traces[site.0 as usize];
                if used.len() >= 1 << TRACE_BITS {
                    return numbers.get(&trace).copied().unwrap_or(0);
                }
                *numbers.entry(trace).or_insert_with(|| {
                    used.push(trace);
                    used.len() as u64 - 1
                })
            });
            if address >> ADDRESS_BITS == 0 {
                objects.push(address >> 3 << TRACE_BITS | number);
            }
        }
        objects.sort_unstable();
        Self {
            objects,
            traces: used,
            cursor: Cell::new(0),
        }
    }

    /// All traces that occur.
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
        let places = addresses.map(|address| (address, SiteId((address / 8 % 10) as u32)));
        Located::new(places.collect(), &traces)
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

//! Where followed objects are in a dump of the VM (heap=all).
//!
//! The VM's dumper names objects by their addresses, and a reference's word is the address as long
//! as nothing moves. Collectors that move objects in pauses announce each pause
//! (`GarbageCollectionStart`): whoever comes first after the dump's own pause, the next
//! collection or the profile thread, reads all words. A collection that starts while the profile thread
//! reads waits for it. So the words are those of the dump, exactly.
//!
//! Collectors that move objects while the program runs (ZGC, Shenandoah) are asked through JNI after
//! the dump, and the answer counts only if no phase of a collection has begun since before it.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hprof_format::ids::{ObjectId, TraceSerial};

use super::live::{Packed, Segment};
use super::profile::SitesProfile;
use super::sites::SiteId;
use super::sweep::Sweeper;
use super::{HeapSites, stacks::StackId};
use crate::names::Names;
use crate::vm::{Jni, Vm, handle_word};
use hprof_native_headers as raw;

/// Tells whether the VM has written its dump, though perhaps not all of the file.
pub type IsDumped = Box<dyn Fn() -> bool + Send + Sync>;

/// An object's address and its site.
type Place = (u64, SiteId);

/// A dump that is being taken.
pub(super) struct Watch {
    /// The followed objects, lent by the profile thread.
    sweeper: Sweeper,
    is_dumped: IsDumped,
    /// Taken out of the channel meanwhile.
    segments: Vec<Arc<Segment>>,
    places: Option<Vec<Place>>,
}

/// How the objects of the dump to come are going to be found.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    /// By the words of their references.
    Words,
    /// Through JNI, if no more phases of collections than these begin.
    References(usize),
}

impl HeapSites {
    /// A collection starts; called before it moves anything.
    pub(super) fn collection_starts(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        if let Some(watch) = &mut *self.watch.lock()
            && watch.places.is_none()
            && (watch.is_dumped)()
        {
            self.read_words(watch);
        }
    }

    fn read_words(&self, watch: &mut Watch) {
        let mut places = Vec::new();
        watch.sweeper.for_each(
            &self.threads.open_segments(),
            &mut watch.segments,
            |object| {
                let object = object.unpack();
                // SAFETY: HotSpot, as `expect_dump` has checked, and the reference was not deleted.
                let word = unsafe { handle_word(object.weak.as_raw()) };
                if word != 0 {
                    places.push((word as u64, object.site));
                }
            },
        );
        watch.places = Some(places);
    }
}

impl SitesProfile {
    /// The VM is about to dump its heap, and [`Self::locate`] follows.
    pub fn expect_dump(&mut self, is_dumped: IsDumped) {
        let sites = self.sites();
        let event = raw::JVMTI_EVENT_GARBAGE_COLLECTION_START;
        if !sites.pulse.hotspot || sites.jvmti.set_event(event, true).is_err() {
            self.expected = None;
        } else if sites.moves_in_pauses {
            let sweeper = self.lend_sweeper();
            *sites.watch.lock() = Some(Watch {
                sweeper,
                is_dumped,
                segments: Vec::new(),
                places: None,
            });
            self.expected = Some(Expected::Words);
        } else {
            let begun = sites.begun.load(Ordering::SeqCst);
            self.expected = Some(Expected::References(begun));
        }
    }

    /// The VM has dumped its heap: tells which traces its objects have. `None` when that is not
    /// known, because the collector was at work.
    pub fn locate(&mut self, vm: Vm<'_>, names: &mut Names) -> Option<Located> {
        let expected = self.expected.take()?;
        let places = match expected {
            Expected::Words => Some(self.places_by_words()),
            Expected::References(begun) => self.places_by_references(vm.jni, begun),
        };
        // The next dump enables it again in any case.
        let event = raw::JVMTI_EVENT_GARBAGE_COLLECTION_START;
        let _ = self.sites().jvmti.set_event(event, false);
        let places = places?;
        self.name_stacks(vm, names);
        Some(Located::new(places, &self.site_traces()))
    }

    fn places_by_words(&mut self) -> Vec<Place> {
        let sites = self.sites();
        let mut watch = sites.watch.lock();
        if let Some(watch) = &mut *watch
            && watch.places.is_none()
        {
            sites.read_words(watch);
        }
        let taken = watch.take();
        drop(watch);
        let Some(taken) = taken else {
            return Vec::new();
        };
        self.take_back(taken.sweeper);
        self.sweeper_mut().add_young(taken.segments);
        taken.places.unwrap_or_default()
    }

    fn places_by_references(&mut self, jni: &Jni, begun: usize) -> Option<Vec<Place>> {
        /// References to hold at a time.
        const FRAME: usize = 512;
        let sites = self.sites();
        let mut segments = Vec::new();
        let mut objects: Vec<Packed> = Vec::new();
        let open = sites.threads.open_segments();
        self.sweeper()
            .for_each(&open, &mut segments, |object| objects.push(object));
        self.sweeper_mut().add_young(segments);
        let mut places = Vec::with_capacity(objects.len());
        for some in objects.chunks(FRAME) {
            let jni = &*jni.local_frame(FRAME as u32 + 16);
            for object in some {
                let object = object.unpack();
                if let Some(strong) = jni.upgrade(&object.weak) {
                    // SAFETY: HotSpot, as `expect_dump` has checked, and the reference is live.
                    let word = unsafe { handle_word(strong.get().as_raw()) };
                    places.push((word as u64, object.site));
                }
            }
        }
        (sites.begun.load(Ordering::SeqCst) == begun).then_some(places)
    }

    /// The traces of all sites, by their numbers.
    fn site_traces(&self) -> Vec<TraceSerial> {
        let rows = self.sites().sites.rows();
        let trace = |stack: StackId| self.trace_of(stack);
        rows.iter().map(|&(stack, _, _)| trace(stack)).collect()
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
    fn new(places: Vec<Place>, traces: &[TraceSerial]) -> Self {
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

//! Where followed objects are in a dump of the VM (heap=all).
//!
//! The VM's dumper names objects by their addresses, and a reference's word is the address as long
//! as nothing moves. Collectors that move objects in pauses announce each pause
//! (`GarbageCollectionStart`): the first to come after the dump's own pause, the next
//! collection or the profile thread, reads all words. A collection that starts while the profile thread
//! reads waits for it. So the words are those of the dump, exactly.
//!
//! Collectors that move objects while the program runs (ZGC, Shenandoah) are asked through JNI after
//! the dump, and the answer counts only if no phase of a collection has begun since before it.

use std::sync::atomic::Ordering;

use hprof_format::ids::TraceSerial;

use super::dump_watch::{Expected, IsDumped, Watch};
use super::live::Packed;
use super::located::{Located, Places};
use super::profile::SitesProfile;
use super::{HeapSites, stacks::StackId};
use crate::names::Names;
use crate::vm::{Jni, Vm, handle_word};
use hprof_native_headers as raw;

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
        let open = self.threads.open_segments();
        let (sweeper, segments) = (&watch.sweeper, &mut watch.segments);
        watch.places = Some(Places::read(|visit| {
            sweeper.for_each(&open, segments, |object| {
                let object = object.unpack();
                // SAFETY: HotSpot, as `expect_dump` has checked, and the reference was not deleted.
                let word = unsafe { handle_word(object.weak.as_raw()) };
                if word != 0 {
                    visit(word as u64, object.site);
                }
            });
        }));
    }
}

impl SitesProfile {
    /// The VM is about to dump its heap, and [`Self::locate`] follows.
    pub fn expect_dump(&mut self, is_dumped: IsDumped) {
        let sites = self.sites();
        let event = raw::JVMTI_EVENT_GARBAGE_COLLECTION_START;
        if !sites.liveness.hotspot || sites.jvmti.set_event(event, true).is_err() {
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
    /// known, because the collector was running.
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

    fn places_by_words(&mut self) -> Places {
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
            return Places::default();
        };
        self.take_back(taken.sweeper);
        self.sweeper_mut().add_young(taken.segments);
        taken.places.unwrap_or_default()
    }

    fn places_by_references(&mut self, jni: &Jni, begun: usize) -> Option<Places> {
        /// References to hold at a time.
        const FRAME: usize = 512;
        let sites = self.sites();
        let mut segments = Vec::new();
        let open = sites.threads.open_segments();
        let sweeper = self.sweeper();
        let places = Places::read(|visit| {
            let mut some: Vec<Packed> = Vec::with_capacity(FRAME);
            let mut look = |some: &mut Vec<Packed>| {
                let jni = &*jni.local_frame(FRAME as u32 + 16);
                for object in some.drain(..) {
                    let object = object.unpack();
                    if let Some(strong) = jni.upgrade(&object.weak) {
                        // SAFETY: HotSpot, as `expect_dump` has checked, and the reference is live.
                        let word = unsafe { handle_word(strong.get().as_raw()) };
                        visit(word as u64, object.site);
                    }
                }
            };
            sweeper.for_each(&open, &mut segments, |object| {
                some.push(object);
                if some.len() == FRAME {
                    look(&mut some);
                }
            });
            look(&mut some);
        });
        self.sweeper_mut().add_young(segments);
        (sites.begun.load(Ordering::SeqCst) == begun).then_some(places)
    }

    /// The traces of all sites, by their numbers.
    fn site_traces(&self) -> Vec<TraceSerial> {
        let rows = self.sites().sites.rows();
        let trace = |stack: StackId| self.trace_of(stack);
        rows.iter().map(|&(stack, _, _)| trace(stack)).collect()
    }
}

//! Learns from the places of objects how the VM lays them out.

use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;

use super::address_sample::AddressSample;
use super::distances::Distances;
use super::layout::Layout;
use super::layout_votes::LayoutVotes;
use crate::names::Names;

/// Sees the objects of a dump in the order of the file, and tells from their identifiers the layout
/// of arrays and the sizes of instances. That needs identifiers that are addresses.
#[derive(Debug, Clone, Default)]
pub struct LayoutObserver {
    sees_addresses: bool,
    votes: LayoutVotes,
    distances: Distances,
    sample: AddressSample,
}

impl LayoutObserver {
    /// An observer that has seen nothing. With `sees_addresses` false it learns nothing.
    pub fn new(sees_addresses: bool) -> Self {
        Self {
            sees_addresses,
            ..Self::default()
        }
    }

    /// True if identifiers are addresses.
    pub fn sees_addresses(&self) -> bool {
        self.sees_addresses
    }

    /// Sees an object or array. `array` holds the number of elements, or of bytes for primitives,
    /// and whether the elements are references; it is `None` for instances.
    #[inline]
    pub fn see(&mut self, object: ObjectId, array: Option<(u64, bool)>) {
        if self.sees_addresses {
            self.distances.see(object);
            self.sample.see(object, array);
            if self.votes.wants() {
                self.votes.see(object, array);
            }
        }
    }

    /// Sees an instance of a class.
    #[inline]
    pub fn see_instance(&mut self, object: ObjectId, class: ObjectId) {
        self.see(object, None);
        if self.sees_addresses && self.distances.wants(class) {
            self.distances.is_instance(object, class);
        }
    }

    /// Tells that the next object does not follow on the last one.
    pub fn interrupt(&mut self) {
        self.distances.interrupt();
    }

    /// Adds what was seen of another part of the dump.
    pub fn merge(&mut self, other: &Self) {
        self.votes.merge(&other.votes);
        self.distances.merge(&other.distances);
        self.sample.merge(&other.sample);
    }

    /// The layout that the distances between objects tell.
    pub fn layout(&self) -> Option<Layout> {
        self.sample.layout().or_else(|| self.votes.winner())
    }

    /// The sizes of instances in bytes, by class; none if objects do not come in the order of their
    /// addresses. `dumped` are the classes of the dump.
    pub fn sizes(
        &self,
        names: &Names,
        dumped: impl Iterator<Item = ObjectId>,
    ) -> FxHashMap<ObjectId, u64> {
        match self.votes.is_in_order() {
            true => self.distances.sizes(&names.all_classes(dumped)),
            false => FxHashMap::default(),
        }
    }
}

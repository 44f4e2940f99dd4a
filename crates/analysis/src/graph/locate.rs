//! Finds objects in the file again.

use std::sync::Mutex;

use hprof_format::binary::{SubRecord, SubRecords};

use super::Graph;
use super::array::Array;
use crate::gate;
use crate::numbers::ObjectNumber;
use crate::walk::Block;

/// The runs of sub-records by the identifiers in them.
///
/// VMs write objects in the order of their addresses, region by region, so that few runs come into
/// question for an identifier, mostly one.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// In the order of the file.
    pub list: Array<Block>,
    /// Indexes into the list, ordered by first identifier.
    order: Vec<u32>,
    /// By position in the order: the highest identifier so far.
    highest: Vec<u64>,
    /// Where each object lies in the runs that were looked through lately.
    known: Mutex<[Known; SLOTS]>,
}

/// Runs whose objects are known at a time.
const SLOTS: usize = 32;

/// A run that was looked through.
#[derive(Debug, Default)]
struct Known {
    /// One more than its index in the list.
    run: usize,
    /// Once it was looked through twice: identifiers with the places of their records, in order.
    /// Objects that are asked for one after the other often lie together, and to look through a
    /// run for each would take a thousand times longer than the answer.
    places: Option<Vec<(u64, u64)>>,
}

/// The known place of an object.
enum Place {
    At(u64),
    /// It is not in that run.
    Elsewhere,
    Unknown,
}

impl Blocks {
    pub fn new(list: impl Into<Array<Block>>) -> Self {
        let list = list.into();
        let mut order: Vec<u32> = (0..list.len() as u32).collect();
        order.retain(|&index| list[index as usize].first <= list[index as usize].last);
        order.sort_unstable_by_key(|&index| list[index as usize].first);
        let mut highest = 0;
        let highest = order
            .iter()
            .map(|&index| {
                highest = list[index as usize].last.max(highest);
                highest
            })
            .collect();
        Self {
            list,
            order,
            highest,
            known: Mutex::default(),
        }
    }

    /// Where an object lies in a run. `places` lists those of all its objects, if it comes to that.
    fn place(&self, run: usize, id: u64, places: impl FnOnce() -> Vec<(u64, u64)>) -> Place {
        // Other threads need not wait: they look through the run themselves.
        let Ok(mut known) = self.known.try_lock() else {
            return Place::Unknown;
        };
        let known = &mut known[run % SLOTS];
        if known.run != run + 1 {
            *known = Known {
                run: run + 1,
                places: None,
            };
            return Place::Unknown;
        }
        let places = known.places.get_or_insert_with(places);
        match places.binary_search_by_key(&id, |place| place.0) {
            Ok(at) => Place::At(places[at].1),
            Err(_) => Place::Elsewhere,
        }
    }

    /// The runs that may hold an identifier, the likeliest first.
    fn candidates(&self, id: u64) -> impl Iterator<Item = (usize, &Block)> {
        let end = (self.order).partition_point(|&index| self.list[index as usize].first <= id);
        (0..end)
            .rev()
            .take_while(move |&at| self.highest[at] >= id)
            .map(|at| self.order[at] as usize)
            .map(|index| (index, &self.list[index]))
            .filter(move |(_, block)| block.last >= id)
    }
}

impl Graph {
    /// The record of an object in the file that the graph was made from, with its place in bytes
    /// from the start of the file.
    pub fn locate<'f>(&self, file: &'f [u8], object: ObjectNumber) -> Option<(u64, SubRecord<'f>)> {
        gate::pass();
        let id = self.id(object);
        self.blocks.candidates(id).find_map(|(run, block)| {
            let mut sub_records = self.sub_records(file, block);
            match self.blocks.place(run, id, || self.places(file, block)) {
                Place::At(offset) => {
                    let found = sub_records.starting_at(offset).next()?.ok()?;
                    return Some((offset, found));
                }
                Place::Elsewhere => return None,
                Place::Unknown => {}
            }
            loop {
                let offset = sub_records.offset();
                let sub_record = sub_records.next()?.ok()?;
                if object_id(&sub_record) == Some(id) {
                    return Some((offset, sub_record));
                }
            }
        })
    }

    /// The objects of a run by identifier, with the places of their records; of several records of
    /// one object the first.
    fn places(&self, file: &[u8], block: &Block) -> Vec<(u64, u64)> {
        let mut sub_records = self.sub_records(file, block);
        let mut places = Vec::new();
        loop {
            let offset = sub_records.offset();
            let Some(Ok(sub_record)) = sub_records.next() else {
                break;
            };
            places.extend(object_id(&sub_record).map(|id| (id, offset)));
        }
        places.sort_unstable();
        places.dedup_by_key(|place| place.0);
        places
    }

    /// The Android heap of an object, by number.
    pub fn heap_of(&self, file: &[u8], object: ObjectNumber) -> Option<u32> {
        let id = self.id(object);
        let holds = |(_, block): &(usize, &Block)| {
            let mut sub_records = self.sub_records(file, block).flatten();
            sub_records.any(|sub_record| object_id(&sub_record) == Some(id))
        };
        let (_, block) = self.blocks.candidates(id).find(holds)?;
        u32::try_from(block.heap).ok()
    }

    /// The runs of sub-records, in the order of the file.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks.list
    }

    /// The sub-records of a run.
    pub fn sub_records<'f>(&self, file: &'f [u8], block: &Block) -> SubRecords<'f> {
        block.sub_records(file, self.id_size)
    }
}

/// The identifier of the object, array or class in a record.
pub(crate) fn object_id(sub_record: &SubRecord<'_>) -> Option<u64> {
    match sub_record {
        SubRecord::Instance { object, .. } => Some(object.get()),
        SubRecord::ObjectArray { array, .. }
        | SubRecord::PrimitiveArray { array, .. }
        | SubRecord::PrimitiveArrayNoData { array, .. } => Some(array.get()),
        SubRecord::Class(dump) => Some(dump.class.get()),
        _ => None,
    }
}

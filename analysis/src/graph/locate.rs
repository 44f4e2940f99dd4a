//! Finds objects in the file again.

use hprof_format::binary::{SubRecord, SubRecords};

use super::Graph;
use super::array::Array;
use super::scan::Block;

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
        }
    }

    /// The runs that may hold an identifier, the likeliest first.
    fn candidates(&self, id: u64) -> impl Iterator<Item = &Block> {
        let end = (self.order).partition_point(|&index| self.list[index as usize].first <= id);
        (0..end)
            .rev()
            .take_while(move |&at| self.highest[at] >= id)
            .map(|at| &self.list[self.order[at] as usize])
            .filter(move |block| block.last >= id)
    }
}

impl Graph {
    /// The record of an object in the file that the graph was made from, with its place in bytes
    /// from the start of the file.
    pub fn locate<'f>(&self, file: &'f [u8], object: usize) -> Option<(u64, SubRecord<'f>)> {
        let id = self.id(object);
        self.blocks.candidates(id).find_map(|block| {
            let mut sub_records = self.sub_records(file, block);
            loop {
                let offset = sub_records.offset();
                let sub_record = sub_records.next()?.ok()?;
                if object_id(&sub_record) == Some(id) {
                    return Some((offset, sub_record));
                }
            }
        })
    }

    /// The Android heap of an object, by number.
    pub fn heap_of(&self, file: &[u8], object: usize) -> Option<u32> {
        let id = self.id(object);
        let holds = |block: &&Block| {
            let mut sub_records = self.sub_records(file, block).flatten();
            sub_records.any(|sub_record| object_id(&sub_record) == Some(id))
        };
        let block = self.blocks.candidates(id).find(holds)?;
        u32::try_from(block.heap).ok()
    }

    /// The runs of sub-records, in the order of the file.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks.list
    }

    /// The sub-records of a run.
    pub fn sub_records<'f>(&self, file: &'f [u8], block: &Block) -> SubRecords<'f> {
        let range = block.offset as usize..(block.offset + block.bytes) as usize;
        SubRecords::new(
            file.get(range).unwrap_or_default(),
            self.id_size,
            block.offset,
        )
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

//! Walks the binary format, for assertions: insists that whatever a record refers to has been
//! written.
//!
//! Written from the format's description in the HPROF manual ("HPROF Binary Format") alone.

mod bytes;
mod walker;

use std::collections::{BTreeMap, BTreeSet};

use crate::binary_heap::BinaryHeap;
use walker::Walker;

pub(crate) use bytes::Bytes;

/// A binary profile in which every reference has been followed.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct BinaryProfile {
    /// `1.0.1` or `1.0.2`.
    pub version: String,
    /// Size of an id in bytes.
    pub id_size: u32,
    /// Creation time, in milliseconds since 1970.
    pub created: u64,
    /// CONTROL SETTINGS: flags (2: CPU sampling) and depth.
    pub control: Option<(u32, u16)>,
    /// STRING records, by id.
    pub strings: BTreeMap<u64, String>,
    /// Class names of the LOAD CLASS records, by class serial.
    pub classes: BTreeMap<u32, String>,
    /// Class objects of the LOAD CLASS records, by class serial.
    pub class_ids: BTreeMap<u32, u64>,
    /// FRAME records, by id.
    pub frames: BTreeMap<u64, BinaryFrame>,
    /// TRACE records, by serial.
    pub traces: BTreeMap<u32, BinaryTrace>,
    /// Names of the START THREAD records, by thread serial.
    pub threads: BTreeMap<u32, String>,
    /// Objects of the START THREAD records, by thread serial.
    pub thread_objects: BTreeMap<u32, u64>,
    /// Serials of the END THREAD records.
    pub ended_threads: BTreeSet<u32>,
    /// CPU SAMPLES records, one per dump.
    pub tables: Vec<BinaryTable>,
    /// ALLOC SITES records, in order.
    pub site_tables: Vec<Vec<BinarySite>>,
    /// Heap dumps.
    pub heaps: Vec<BinaryHeap>,
    /// Class names in Java form by the id of the class object.
    pub class_names: BTreeMap<u64, String>,
}

/// A FRAME record, with its references resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryFrame {
    /// `Class.method`, the class in its Java form.
    pub method: String,
    /// Signature of the method.
    pub signature: String,
    /// Source file, unless unknown.
    pub source: Option<String>,
    /// Line, or a negative number: -1 unknown, -2 compiled, -3 native.
    pub line: i32,
}

/// A TRACE record.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryTrace {
    /// Thread serial, or 0.
    pub thread: u32,
    /// Frame ids, innermost first.
    pub frames: Vec<u64>,
}

/// A row of an ALLOC SITES record.
#[derive(Debug, Clone, PartialEq)]
pub struct BinarySite {
    /// Name of the class.
    pub class: String,
    /// The class object.
    pub class_id: u64,
    /// Trace serial.
    pub trace: u32,
    /// Bytes alive.
    pub live_bytes: u32,
    /// Objects alive.
    pub live_objects: u32,
    /// Bytes ever allocated.
    pub allocated_bytes: u32,
    /// Objects ever allocated.
    pub allocated_objects: u32,
}

/// A CPU SAMPLES record.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryTable {
    /// Samples in total.
    pub total: u32,
    /// Samples and trace serial of each row.
    pub rows: Vec<(u32, u32)>,
}

impl BinaryProfile {
    /// Walks a file.
    ///
    /// # Errors
    ///
    /// Tells what is malformed, written twice, or referred to without having been written.
    pub fn parse(bytes: &[u8]) -> Result<BinaryProfile, String> {
        Self::walk(bytes, Walker::new(false))
    }

    /// Walks the heap dump that a VM wrote by itself, whose habits are its own: no settings, names
    /// in internal form, records that are written twice.
    ///
    /// # Errors
    ///
    /// Tells what is malformed or referred to without having been written.
    pub fn parse_vm_dump(bytes: &[u8]) -> Result<BinaryProfile, String> {
        Self::walk(bytes, Walker::new(true))
    }

    /// The only heap dump.
    ///
    /// # Panics
    ///
    /// When there is none or several.
    pub fn heap(&self) -> &BinaryHeap {
        assert_eq!(self.heaps.len(), 1, "heap dumps");
        &self.heaps[0]
    }

    fn walk(bytes: &[u8], mut walker: Walker) -> Result<BinaryProfile, String> {
        let mut file = Bytes(bytes);
        walker.header(&mut file)?;
        while !file.0.is_empty() {
            let at = bytes.len() - file.0.len();
            let tag = file.u1()?;
            let _time = file.u4()?;
            let length = file.u4()? as usize;
            walker.place = (at, at + 9 + length);
            let mut body = Bytes(file.take(length)?);
            walker
                .record(tag, &mut body)
                .and_then(|()| {
                    body.0
                        .is_empty()
                        .then_some(())
                        .ok_or("bytes left over".into())
                })
                .map_err(|problem| format!("record 0x{tag:02x} at byte {at}: {problem}"))?;
        }
        walker.end()
    }

    /// The last table.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn table(&self) -> &BinaryTable {
        self.tables
            .last()
            .expect("the profile has a CPU SAMPLES record")
    }

    /// Samples of the last table with this method, given as `Class.method`, anywhere in the trace.
    pub fn samples_with(&self, method: &str) -> u64 {
        let has = |trace: u32| {
            let frames = &self.traces[&trace].frames;
            frames
                .iter()
                .any(|frame| self.frames[frame].method == method)
        };
        let rows = self.table().rows.iter().filter(|(_, trace)| has(*trace));
        rows.map(|(count, _)| u64::from(*count)).sum()
    }
}

#[cfg(test)]
mod tests;

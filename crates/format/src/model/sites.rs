//! Descriptions of allocation sites.

use crate::binary::BasicType;
use crate::ids::{ObjectId, TraceSerial};

/// The size of objects of one class, allocated at one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteRow<'a> {
    /// The class, as Java source has it: `java.util.HashMap`, `int[]`.
    pub class_name: &'a str,
    /// The class object; may be null.
    pub class_id: ObjectId,
    /// The type of the elements if the class is an array.
    pub element: Option<BasicType>,
    /// The trace.
    pub trace: TraceSerial,
    /// Bytes still alive.
    pub live_bytes: u64,
    /// Objects still alive.
    pub live_objects: u64,
    /// Bytes ever allocated.
    pub allocated_bytes: u64,
    /// Objects ever allocated.
    pub allocated_objects: u64,
}

/// The order of a table of sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SiteOrder {
    /// Bytes still alive.
    LiveBytes,
    /// Bytes ever allocated.
    AllocatedBytes,
}

/// Totals of all that was recorded about the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapSummary {
    /// Bytes still alive.
    pub live_bytes: u64,
    /// Objects still alive.
    pub live_objects: u64,
    /// Bytes ever allocated.
    pub allocated_bytes: u64,
    /// Objects ever allocated.
    pub allocated_objects: u64,
}

/// All allocation sites, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteTable<'a> {
    /// The order of the table, and the share to which the cutoff applies.
    pub order: SiteOrder,
    /// Only sites that changed since the table before are in it.
    pub is_incremental: bool,
    /// A garbage collection was forced before.
    pub is_after_gc: bool,
    /// The totals of all sites, also of those not in the table.
    pub totals: HeapSummary,
    /// One row per class and trace.
    pub rows: &'a [SiteRow<'a>],
}

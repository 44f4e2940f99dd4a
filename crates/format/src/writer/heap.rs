//! The part of the interface about the heap.

use std::io::{self, Write};

use crate::model::{
    HeapClass, HeapInstance, HeapObjectArray, HeapPrimitiveArray, HeapRoot, HeapSummary, HeapTotals,
};
use crate::rank::RankedSiteTable;

/// Writes what is known about the heap.
///
/// A heap dump is [`heap_begin`](Self::heap_begin), any number of roots, objects, arrays and classes,
/// and [`heap_end`](Self::heap_end). Readers of the text format are used to roots first, then objects
/// and arrays, then classes, each super class before its subclasses. Write all traces
/// before: those of a binary dump that the file lacks are replaced by
/// [`TraceSerial::SYSTEM`](crate::ids::TraceSerial::SYSTEM). A dump is streamed: the binary format keeps
/// about a mebibyte in memory and no more than the largest object beyond that.
pub trait HeapWriter {
    /// Writes a table of allocation sites. `ctime` is the present time in the form of
    /// [`Header::created_ctime`](crate::model::Header::created_ctime).
    fn site_table(&mut self, table: &RankedSiteTable<'_>, ctime: &str) -> io::Result<()>;

    /// Writes the totals of the heap. The text format has no place for them.
    fn heap_summary(&mut self, summary: &HeapSummary) -> io::Result<()>;

    /// Writes the names of a class and its fields, which [`heap_class`](Self::heap_class) refers to.
    ///
    /// Optional; but if it was called for all classes before [`heap_begin`](Self::heap_begin), the
    /// segments of a binary dump follow each other without other records in between, and some readers
    /// know no other files. The text format needs no such thing.
    fn heap_class_names(&mut self, class: &HeapClass<'_>) -> io::Result<()>;

    /// Begins a heap dump. The text format shows the totals; a caller that wants them to be right
    /// counts before it writes.
    fn heap_begin(&mut self, totals: &HeapTotals, ctime: &str) -> io::Result<()>;

    /// Writes a root.
    fn heap_root(&mut self, root: &HeapRoot<'_>) -> io::Result<()>;

    /// Writes an object that is no array.
    fn heap_instance(&mut self, instance: &HeapInstance<'_>) -> io::Result<()>;

    /// Writes an array of references.
    ///
    /// A binary record holds less than 4 GiB; of a longer array the end is left out, as HotSpot
    /// does. [`heap_primitive_array`](Self::heap_primitive_array) does that too.
    fn heap_object_array(&mut self, array: &HeapObjectArray<'_>) -> io::Result<()>;

    /// Writes an array of a primitive type. The text format does not show elements.
    fn heap_primitive_array(&mut self, array: &HeapPrimitiveArray<'_>) -> io::Result<()>;

    /// Begins a segment of instances and arrays that are encoded already: exactly `length` bytes of
    /// whole sub-records with identifiers of eight bytes, which the caller then writes.
    /// Traces they name must have been written.
    ///
    /// The text format cannot take them: [`io::ErrorKind::Unsupported`].
    fn heap_encoded(&mut self, length: u32) -> io::Result<&mut dyn Write>;

    /// Writes a class.
    fn heap_class(&mut self, class: &HeapClass<'_>) -> io::Result<()>;

    /// Ends a heap dump.
    fn heap_end(&mut self) -> io::Result<()>;
}

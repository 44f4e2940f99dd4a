//! Writes the heap in the binary format.

use std::io::{self, Write};

use super::Value;
use super::basic_type::BasicType;
use super::body::Body;
use super::class_dump::{Constant, InstanceField, StaticField};
use super::lists::AllocSite;
use super::sub_record::SubRecord;
use super::tags::{heap as sub_tag, record as tag, sites as flag};
use super::writer::BinaryWriter;
use crate::ids::ThreadSerial;
use crate::model::{
    HeapClass, HeapInstance, HeapObjectArray, HeapPrimitiveArray, HeapRoot, HeapSummary,
    HeapTotals, MonitorDump, PrimitiveValues, Root, RootKind, SiteOrder,
};
use crate::rank::{RankedMonitorTable, RankedSiteTable};
use crate::writer::{HeapWriter, MonitorWriter};

/// A segment is written once it is at least this long. HotSpot's dumper has segments of about the
/// same size; small ones keep memory low and suit parallel readers.
const SEGMENT: usize = 1 << 20;

impl<W: Write> BinaryWriter<W> {
    /// Appends a sub-record to the segment, and writes that when it is long enough. As names that
    /// the sub-record refers to were written at once, they come before it.
    fn sub_record(&mut self, fill: impl FnOnce(&mut Body)) -> io::Result<()> {
        fill(&mut self.segment);
        if self.segment.bytes().len() >= SEGMENT {
            self.end_segment()
        } else {
            Ok(())
        }
    }

    fn end_segment(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.write_segment()
    }

    /// Ends the segment if another sub-record of this many bytes would make it too long for its
    /// length field.
    fn make_room(&mut self, length: usize) -> io::Result<()> {
        if self.segment.bytes().len().saturating_add(length) > u32::MAX as usize {
            self.end_segment()
        } else {
            Ok(())
        }
    }
}

impl<W: Write> HeapWriter for BinaryWriter<W> {
    fn site_table(&mut self, table: &RankedSiteTable<'_>, _ctime: &str) -> io::Result<()> {
        let rows = table.rows().iter().map(|ranked| {
            let row = &ranked.row;
            Ok(AllocSite {
                array_kind: row.element.map_or(0, BasicType::code),
                class: self.class(row.class_id, row.class_name)?,
                trace: self.known_trace(row.trace),
                live_bytes: clamp(row.live_bytes),
                live_instances: clamp(row.live_objects),
                allocated_bytes: clamp(row.allocated_bytes),
                allocated_instances: clamp(row.allocated_objects),
            })
        });
        let rows = rows.collect::<io::Result<Vec<AllocSite>>>()?;
        let flags = [
            (table.is_incremental(), flag::INCREMENTAL),
            (
                table.order() == SiteOrder::AllocatedBytes,
                flag::BY_ALLOCATED,
            ),
            (table.is_after_gc(), flag::AFTER_GC),
        ];
        let flags = flags
            .iter()
            .filter(|(is_set, _)| *is_set)
            .fold(0, |all, (_, flag)| all | flag);
        let totals = *table.totals();
        self.record(tag::ALLOC_SITES, |body| {
            body.u2(flags).u4((table.cutoff() as f32).to_bits());
            body.counter(totals.live_bytes).counter(totals.live_objects);
            body.u8(totals.allocated_bytes).u8(totals.allocated_objects);
            body.counter(rows.len() as u64);
            rows.iter().for_each(|row| row.write(body));
        })?;
        self.write_pending()
    }

    fn heap_summary(&mut self, summary: &HeapSummary) -> io::Result<()> {
        self.record(tag::HEAP_SUMMARY, |body| {
            body.counter(summary.live_bytes)
                .counter(summary.live_objects);
            body.u8(summary.allocated_bytes)
                .u8(summary.allocated_objects);
        })?;
        self.write_pending()
    }

    fn heap_class_names(&mut self, class: &HeapClass<'_>) -> io::Result<()> {
        self.class(class.class, class.name)?;
        self.note_dumped(class.class, class.name)?;
        self.names(few(class.statics).iter().map(|field| field.name))?;
        self.names(few(class.fields).iter().map(|field| field.name))?;
        self.write_pending()
    }

    fn heap_begin(&mut self, _totals: &HeapTotals, _ctime: &str) -> io::Result<()> {
        self.segment.clear();
        Ok(())
    }

    fn heap_root(&mut self, root: &HeapRoot<'_>) -> io::Result<()> {
        let mut kind = root.root.kind;
        if let RootKind::ThreadObject { trace, .. } = &mut kind {
            *trace = self.known_trace(*trace);
        }
        let root = Root { kind, ..root.root };
        self.sub_record(|body| SubRecord::Root(root).encode(body))
    }

    fn heap_instance(&mut self, instance: &HeapInstance<'_>) -> io::Result<()> {
        let trace = self.known_trace(instance.trace);
        let id_size = self.segment.id_size();
        let values = || {
            instance
                .fields
                .iter()
                .flat_map(|fields| *fields)
                .map(|field| field.value)
        };
        let length: usize = values()
            .map(|value| value.basic_type().width(id_size))
            .sum();
        self.make_room(length + 64)?;
        self.sub_record(|body| {
            body.u1(sub_tag::INSTANCE_DUMP)
                .object(instance.object)
                .trace(trace);
            body.object(instance.class).counter(length as u64);
            values().for_each(|value| value.write(body));
        })
    }

    fn heap_object_array(&mut self, array: &HeapObjectArray<'_>) -> io::Result<()> {
        let trace = self.known_trace(array.trace);
        let width = self.segment.id_size().bytes();
        let elements = &array.elements[..array.elements.len().min(most_elements(width))];
        self.make_room(elements.len() * width + 64)?;
        self.sub_record(|body| {
            body.u1(sub_tag::OBJECT_ARRAY_DUMP)
                .object(array.array)
                .trace(trace);
            body.counter(elements.len() as u64).object(array.class);
            elements.iter().for_each(|&id| {
                body.object(id);
            });
        })
    }

    fn heap_primitive_array(&mut self, array: &HeapPrimitiveArray<'_>) -> io::Result<()> {
        let trace = self.known_trace(array.trace);
        let element = array.values.element();
        let width = element.width(self.segment.id_size());
        let length = match array.values {
            PrimitiveValues::Omitted { .. } => 0,
            values => values.len().min(most_elements(width)),
        };
        self.make_room(length * width + 64)?;
        self.sub_record(|body| {
            body.u1(sub_tag::PRIMITIVE_ARRAY_DUMP)
                .object(array.array)
                .trace(trace);
            body.counter(length as u64).u1(element.code());
            elements(array.values, length, body);
        })
    }

    fn heap_encoded(&mut self, length: u32) -> io::Result<&mut dyn Write> {
        self.end_segment()?;
        self.begin_encoded_segment(length)
    }

    fn heap_class(&mut self, class: &HeapClass<'_>) -> io::Result<()> {
        self.class(class.class, class.name)?;
        self.note_dumped(class.class, class.name)?;
        let trace = self.known_trace(class.trace);
        // Names first, since they are records of their own. No class file has more than 65535 of
        // anything, so a longer list is cut to what the count can tell.
        let (constants, statics, fields) =
            (few(class.constants), few(class.statics), few(class.fields));
        let static_names = self.names(statics.iter().map(|field| field.name))?;
        let field_names = self.names(fields.iter().map(|field| field.name))?;
        let size = class.instance.bytes(self.segment.id_size());
        self.sub_record(|body| {
            body.u1(sub_tag::CLASS_DUMP)
                .object(class.class)
                .trace(trace);
            body.object(class.super_class).object(class.loader);
            body.object(class.signers)
                .object(class.domain)
                .id(0)
                .id(0)
                .counter(size);
            body.u2(constants.len() as u16);
            for &(index, id) in constants {
                Constant {
                    index,
                    value: Value::Object(id),
                }
                .write(body);
            }
            body.u2(statics.len() as u16);
            for (field, name) in statics.iter().zip(static_names) {
                StaticField {
                    name,
                    value: field.value,
                }
                .write(body);
            }
            body.u2(fields.len() as u16);
            for (field, name) in fields.iter().zip(field_names) {
                InstanceField {
                    name,
                    basic_type: field.basic_type,
                }
                .write(body);
            }
        })
    }

    fn heap_end(&mut self) -> io::Result<()> {
        self.end_segment()?;
        self.record(tag::HEAP_DUMP_END, |_| {})?;
        self.write_pending()
    }
}

impl<W: Write> MonitorWriter for BinaryWriter<W> {
    fn wait(&mut self, _: &str, _timeout_millis: u64, _: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    fn waited(&mut self, _: &str, _millis: u64, _: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    fn monitor_dump(&mut self, _: &MonitorDump<'_>) -> io::Result<()> {
        Ok(())
    }

    fn monitor_table(&mut self, _: &RankedMonitorTable<'_>, _ctime: &str) -> io::Result<()> {
        Ok(())
    }
}

fn clamp(counter: u64) -> u32 {
    u32::try_from(counter).unwrap_or(u32::MAX)
}

fn few<T>(list: &[T]) -> &[T] {
    &list[..list.len().min(usize::from(u16::MAX))]
}

/// The number of elements of `width` bytes that a sub-record has room for, besides its head.
fn most_elements(width: usize) -> usize {
    (u32::MAX as usize - 64) / width
}

fn elements(values: PrimitiveValues<'_>, length: usize, body: &mut Body) {
    /// Appends the values in the order of the file.
    fn put<T: Copy, const N: usize>(values: &[T], body: &mut Body, bytes: impl Fn(T) -> [u8; N]) {
        let room = body.grow(values.len() * N);
        room.chunks_exact_mut(N)
            .zip(values)
            .for_each(|(r, &v)| r.copy_from_slice(&bytes(v)));
    }
    match values {
        PrimitiveValues::Boolean(values) => {
            body.raw(&values[..length]);
        }
        PrimitiveValues::Byte(values) => put(&values[..length], body, i8::to_be_bytes),
        PrimitiveValues::Char(values) => put(&values[..length], body, u16::to_be_bytes),
        PrimitiveValues::Short(values) => put(&values[..length], body, i16::to_be_bytes),
        PrimitiveValues::Int(values) => put(&values[..length], body, i32::to_be_bytes),
        PrimitiveValues::Long(values) => put(&values[..length], body, i64::to_be_bytes),
        PrimitiveValues::Float(values) => put(&values[..length], body, f32::to_be_bytes),
        PrimitiveValues::Double(values) => put(&values[..length], body, f64::to_be_bytes),
        PrimitiveValues::Omitted { .. } => {}
    }
}

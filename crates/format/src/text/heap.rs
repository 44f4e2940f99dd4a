//! Writes the heap as text.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use super::TextWriter;
use super::digits::{decimal, hex, name};
use super::escape::Name;
use crate::binary::Value;
use crate::ids::{ObjectId, TraceSerial};
use crate::model::{
    HeapClass, HeapField, HeapInstance, HeapObjectArray, HeapPrimitiveArray, HeapRoot, HeapSummary,
    HeapTotals, RootKind, SiteOrder,
};
use crate::rank::RankedSiteTable;
use crate::writer::HeapWriter;

impl<W: Write> HeapWriter for TextWriter<W> {
    fn site_table(&mut self, table: &RankedSiteTable<'_>, ctime: &str) -> io::Result<()> {
        let order = match table.order() {
            SiteOrder::LiveBytes => "live bytes",
            SiteOrder::AllocatedBytes => "allocated bytes",
        };
        let title = match table.is_native() {
            true => "NATIVE SITES",
            false => "SITES",
        };
        self.write(|s| {
            writeln!(
                s,
                "{title} BEGIN (ordered by {order}) {}",
                Name(ctime.trim_end())
            )?;
            s.push_str("          percent          live          alloc'ed  stack class\n");
            // Tools compare this line literally.
            s.push_str(" rank   self  accum     bytes objs     bytes  objs trace name\n");
            for ranked in table.rows() {
                let row = &ranked.row;
                writeln!(
                    s,
                    "{:5} {:5.2}% {:5.2}% {:9} {:4} {:9} {:5} {:5} {}",
                    ranked.rank,
                    ranked.self_percent,
                    ranked.accum_percent,
                    row.live_bytes,
                    row.live_objects,
                    row.allocated_bytes,
                    row.allocated_objects,
                    row.trace.get(),
                    Name(row.class_name)
                )?;
            }
            writeln!(s, "{title} END")
        })
    }

    fn heap_summary(&mut self, _summary: &HeapSummary) -> io::Result<()> {
        Ok(())
    }

    fn heap_class_names(&mut self, _class: &HeapClass<'_>) -> io::Result<()> {
        Ok(())
    }

    fn heap_begin(&mut self, totals: &HeapTotals, ctime: &str) -> io::Result<()> {
        let (HeapTotals { objects, bytes }, ctime) = (totals, Name(ctime.trim_end()));
        self.write(|s| {
            writeln!(
                s,
                "HEAP DUMP BEGIN ({objects} objects, {bytes} bytes) {ctime}"
            )
        })
    }

    fn heap_root(&mut self, root: &HeapRoot<'_>) -> io::Result<()> {
        self.write(|s| root_line(s, root))
    }

    fn heap_instance(&mut self, instance: &HeapInstance<'_>) -> io::Result<()> {
        self.write_bytes(|out| {
            out.extend_from_slice(b"OBJ ");
            hex(out, instance.object.get());
            out.extend_from_slice(b" (sz=");
            decimal(out, instance.size);
            out.extend_from_slice(b", trace=");
            decimal(out, instance.trace.get().into());
            out.extend_from_slice(b", class=");
            name(out, instance.class_name);
            out.push(b'@');
            hex(out, instance.class.get());
            out.extend_from_slice(b")\n");
            // The text format has the topmost class first.
            let lists = instance.fields.iter().rev();
            for (field, id) in lists.flat_map(|fields| references(fields)) {
                out.push(b'\t');
                name(out, field);
                out.extend_from_slice(if field.len() < 8 { b"\t\t" } else { b"\t" });
                hex(out, id.get());
                out.push(b'\n');
            }
        })
    }

    fn heap_object_array(&mut self, array: &HeapObjectArray<'_>) -> io::Result<()> {
        self.write_bytes(|out| {
            let length = array.elements.len() as u64;
            array_head(out, array.array, array.size, array.trace, length);
            name(out, array.class_name);
            out.push(b'@');
            hex(out, array.class.get());
            out.extend_from_slice(b")\n");
            for (index, id) in array.elements.iter().enumerate() {
                if !id.is_null() {
                    out.extend_from_slice(b"\t[");
                    decimal(out, index as u64);
                    out.extend_from_slice(b"]\t\t");
                    hex(out, id.get());
                    out.push(b'\n');
                }
            }
        })
    }

    fn heap_primitive_array(&mut self, array: &HeapPrimitiveArray<'_>) -> io::Result<()> {
        self.write_bytes(|out| {
            let length = array.values.len() as u64;
            array_head(out, array.array, array.size, array.trace, length);
            out.extend_from_slice(array.values.element().name().as_bytes());
            out.extend_from_slice(b"[])\n");
        })
    }

    fn heap_encoded(&mut self, _length: u32) -> io::Result<&mut dyn Write> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn heap_class(&mut self, class: &HeapClass<'_>) -> io::Result<()> {
        self.write(|s| {
            let name = Name(class.name);
            writeln!(
                s,
                "CLS {:x} (name={name}, trace={})",
                class.class, class.trace
            )?;
            let parts = [
                ("super", class.super_class),
                ("loader", class.loader),
                ("signers", class.signers),
                ("domain", class.domain),
            ];
            for (part, id) in parts.iter().filter(|(_, id)| !id.is_null()) {
                writeln!(s, "\t{part}\t\t{id:x}")?;
            }
            for (name, id) in references(class.statics) {
                writeln!(s, "\tstatic {}\t{id:x}", Name(name))?;
            }
            for (index, id) in class.constants.iter().filter(|(_, id)| !id.is_null()) {
                writeln!(s, "\tconstant pool entry {index}\t{id:x}")?;
            }
            Ok(())
        })
    }

    fn heap_end(&mut self) -> io::Result<()> {
        self.write(|s| s.write_str("HEAP DUMP END\n"))
    }
}

/// The head of an array's line up to the name of its class.
fn array_head(out: &mut Vec<u8>, array: ObjectId, size: u64, trace: TraceSerial, length: u64) {
    out.extend_from_slice(b"ARR ");
    hex(out, array.get());
    out.extend_from_slice(b" (sz=");
    decimal(out, size);
    out.extend_from_slice(b", trace=");
    decimal(out, trace.get().into());
    out.extend_from_slice(b", nelems=");
    decimal(out, length);
    out.extend_from_slice(b", elem type=");
}

/// Names and values of the references that are not null.
fn references<'a>(fields: &'a [HeapField<'a>]) -> impl Iterator<Item = (&'a str, ObjectId)> {
    fields.iter().filter_map(|field| match field.value {
        Value::Object(id) if !id.is_null() => Some((field.name, id)),
        _ => None,
    })
}

fn root_line(s: &mut String, root: &HeapRoot<'_>) -> fmt::Result {
    // -1 is what JVMTI and the binary format have for "no frame".
    let number = |frame: Option<u32>| frame.map_or(-1, i64::from);
    write!(s, "ROOT {:x} (kind=<", root.root.object)?;
    match root.root.kind {
        RootKind::ThreadObject { thread, trace } => {
            write!(s, "thread>, id={thread}, trace={trace}")?;
        }
        RootKind::ThreadBlock { thread } => write!(s, "thread block>, thread={thread}")?,
        RootKind::JavaFrame { thread, frame } => {
            write!(s, "Java stack>, thread={thread}, frame={}", number(frame))?;
        }
        RootKind::JniLocal { thread, frame } => {
            write!(
                s,
                "JNI local ref>, thread={thread}, frame={}",
                number(frame)
            )?;
        }
        RootKind::JniGlobal { reference } => {
            write!(s, "JNI global ref>, id={reference:x}, trace={}", root.trace)?;
        }
        RootKind::StickyClass => write!(s, "system class>, name={}", Name(root.class_name))?,
        RootKind::MonitorUsed => s.push_str("busy monitor>"),
        RootKind::NativeStack { thread } => write!(s, "native stack>, thread={thread}")?,
        // The text format has no names for the kinds of Android.
        RootKind::Unknown
        | RootKind::InternedString
        | RootKind::Finalizing
        | RootKind::Debugger
        | RootKind::ReferenceCleanup
        | RootKind::VmInternal
        | RootKind::JniMonitor { .. } => s.push_str("unknown>"),
    }
    s.write_str(")\n")
}

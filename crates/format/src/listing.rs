//! Records as lines of text, for a look at the bytes' meaning: the tag, the name, the fields.
//! Identifiers are hexadecimal, serials decimal.

use std::fmt;

use crate::binary::{Record, SubRecord, tags};
use crate::model::RootKind;
use crate::reader::Event;

/// The names of records that [`Listed`] gives, but for `UNKNOWN`.
pub const RECORDS: [&str; 14] = [
    "UTF8",
    "LOAD_CLASS",
    "UNLOAD_CLASS",
    "FRAME",
    "TRACE",
    "ALLOC_SITES",
    "HEAP_SUMMARY",
    "START_THREAD",
    "END_THREAD",
    "HEAP_DUMP",
    "CPU_SAMPLES",
    "CONTROL_SETTINGS",
    "HEAP_DUMP_SEGMENT",
    "HEAP_DUMP_END",
];

/// The names of sub-records that [`Listed`] gives.
pub const SUB_RECORDS: [&str; 22] = [
    "ROOT_UNKNOWN",
    "ROOT_JNI_GLOBAL",
    "ROOT_JNI_LOCAL",
    "ROOT_JAVA_FRAME",
    "ROOT_NATIVE_STACK",
    "ROOT_STICKY_CLASS",
    "ROOT_THREAD_BLOCK",
    "ROOT_MONITOR_USED",
    "ROOT_THREAD_OBJ",
    "ROOT_INTERNED_STRING",
    "ROOT_FINALIZING",
    "ROOT_DEBUGGER",
    "ROOT_REFERENCE_CLEANUP",
    "ROOT_VM_INTERNAL",
    "ROOT_JNI_MONITOR",
    "UNREACHABLE",
    "HEAP_DUMP_INFO",
    "CLASS_DUMP",
    "INSTANCE_DUMP",
    "OBJECT_ARRAY_DUMP",
    "PRIMITIVE_ARRAY_DUMP",
    "PRIMITIVE_ARRAY_NODATA",
];

/// A record or sub-record in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Where it starts, in bytes from the start of the file.
    pub offset: u64,
    /// Its tag.
    pub tag: u8,
    /// The name of that tag, as in the manual.
    pub name: &'static str,
    /// Its fields. Text of the file is quoted, with its control characters as they are.
    pub fields: String,
    /// True if it is a part of a heap dump.
    pub is_sub_record: bool,
}

impl Listed {
    /// Describes what a reader has met.
    #[must_use]
    pub fn new(event: &Event<'_>) -> Self {
        match event {
            Event::Record(found) => Self {
                offset: found.offset,
                tag: found.record.tag(),
                name: record_name(found.record.tag()),
                fields: record_text(&found.record),
                is_sub_record: false,
            },
            Event::Heap {
                offset, is_segment, ..
            } => {
                let tag = if *is_segment {
                    tags::record::HEAP_DUMP_SEGMENT
                } else {
                    tags::record::HEAP_DUMP
                };
                Self {
                    offset: *offset,
                    tag,
                    name: record_name(tag),
                    fields: String::new(),
                    is_sub_record: false,
                }
            }
            Event::SubRecord { offset, sub_record } => {
                let (tag, name) = sub_record_name(sub_record);
                Self {
                    offset: *offset,
                    tag,
                    name,
                    fields: sub_record_text(sub_record, None),
                    is_sub_record: true,
                }
            }
            Event::LongSubRecord {
                offset,
                start,
                bytes,
            } => {
                let (tag, name) = sub_record_name(start);
                Self {
                    offset: *offset,
                    tag,
                    name,
                    fields: sub_record_text(start, Some(*bytes)),
                    is_sub_record: true,
                }
            }
        }
    }
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = if self.is_sub_record { "  " } else { "" };
        let line = format!(
            "{:>12}  {indent}{:02x} {:<16} {}",
            self.offset, self.tag, self.name, self.fields
        );
        f.write_str(line.trim_end())
    }
}

fn record_name(tag: u8) -> &'static str {
    match tag {
        0x01 => "UTF8",
        0x02 => "LOAD_CLASS",
        0x03 => "UNLOAD_CLASS",
        0x04 => "FRAME",
        0x05 => "TRACE",
        0x06 => "ALLOC_SITES",
        0x07 => "HEAP_SUMMARY",
        0x0a => "START_THREAD",
        0x0b => "END_THREAD",
        0x0c => "HEAP_DUMP",
        0x0d => "CPU_SAMPLES",
        0x0e => "CONTROL_SETTINGS",
        0x1c => "HEAP_DUMP_SEGMENT",
        0x2c => "HEAP_DUMP_END",
        _ => "UNKNOWN",
    }
}

/// A text in quotes. Control characters stay in it: the code that prints the line escapes them, once.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

fn record_text(record: &Record<'_>) -> String {
    match record {
        Record::Utf8 { id, .. } => {
            let text = record.text().unwrap_or_default();
            format!("{id:x} {}", quoted(&text))
        }
        Record::LoadClass {
            serial,
            class,
            trace,
            name,
        } => format!("serial={serial} class={class:x} trace={trace} name={name:x}"),
        Record::UnloadClass { serial } => format!("serial={serial}"),
        Record::Frame {
            id,
            method,
            signature,
            source_file,
            class,
            line,
        } => format!(
            "{id:x} method={method:x} signature={signature:x} source={source_file:x} class={class} \
             line={line}"
        ),
        Record::Trace {
            serial,
            thread,
            frames,
        } => {
            let frames: Vec<String> = frames.iter().map(|id| format!("{id:x}")).collect();
            format!(
                "serial={serial} thread={thread} frames={}",
                frames.join(",")
            )
        }
        Record::AllocSites {
            flags,
            live_bytes,
            live_instances,
            allocated_bytes,
            allocated_instances,
            sites,
            ..
        } => format!(
            "flags={flags:#x} live={live_bytes}/{live_instances} \
             allocated={allocated_bytes}/{allocated_instances} sites={}",
            sites.len()
        ),
        Record::HeapSummary {
            live_bytes,
            live_instances,
            allocated_bytes,
            allocated_instances,
        } => format!(
            "live={live_bytes}/{live_instances} allocated={allocated_bytes}/{allocated_instances}"
        ),
        Record::StartThread {
            serial,
            object,
            trace,
            name,
            group,
            parent_group,
        } => format!(
            "serial={serial} object={object:x} trace={trace} name={name:x} group={group:x} \
             parent={parent_group:x}"
        ),
        Record::EndThread { serial } => format!("serial={serial}"),
        Record::CpuSamples { total, samples } => format!("total={total} rows={}", samples.len()),
        Record::ControlSettings { flags, depth } => format!("flags={flags:#x} depth={depth}"),
        Record::Unknown { body, .. } => format!("{} bytes", body.len()),
        Record::HeapDump(_) | Record::HeapDumpSegment(_) | Record::HeapDumpEnd => String::new(),
    }
}

fn sub_record_name(sub_record: &SubRecord<'_>) -> (u8, &'static str) {
    match sub_record {
        SubRecord::Root(root) => match root.kind {
            RootKind::Unknown => (0xff, "ROOT_UNKNOWN"),
            RootKind::JniGlobal { .. } => (0x01, "ROOT_JNI_GLOBAL"),
            RootKind::JniLocal { .. } => (0x02, "ROOT_JNI_LOCAL"),
            RootKind::JavaFrame { .. } => (0x03, "ROOT_JAVA_FRAME"),
            RootKind::NativeStack { .. } => (0x04, "ROOT_NATIVE_STACK"),
            RootKind::StickyClass => (0x05, "ROOT_STICKY_CLASS"),
            RootKind::ThreadBlock { .. } => (0x06, "ROOT_THREAD_BLOCK"),
            RootKind::MonitorUsed => (0x07, "ROOT_MONITOR_USED"),
            RootKind::ThreadObject { .. } => (0x08, "ROOT_THREAD_OBJ"),
            RootKind::InternedString => (0x89, "ROOT_INTERNED_STRING"),
            RootKind::Finalizing => (0x8a, "ROOT_FINALIZING"),
            RootKind::Debugger => (0x8b, "ROOT_DEBUGGER"),
            RootKind::ReferenceCleanup => (0x8c, "ROOT_REFERENCE_CLEANUP"),
            RootKind::VmInternal => (0x8d, "ROOT_VM_INTERNAL"),
            RootKind::JniMonitor { .. } => (0x8e, "ROOT_JNI_MONITOR"),
        },
        SubRecord::Unreachable { .. } => (0x90, "UNREACHABLE"),
        SubRecord::HeapInfo { .. } => (0xfe, "HEAP_DUMP_INFO"),
        SubRecord::Class(_) => (0x20, "CLASS_DUMP"),
        SubRecord::Instance { .. } => (0x21, "INSTANCE_DUMP"),
        SubRecord::ObjectArray { .. } => (0x22, "OBJECT_ARRAY_DUMP"),
        SubRecord::PrimitiveArray { .. } => (0x23, "PRIMITIVE_ARRAY_DUMP"),
        SubRecord::PrimitiveArrayNoData { .. } => (0xc3, "PRIMITIVE_ARRAY_NODATA"),
    }
}

/// `bytes` is the length of the values if the sub-record has only the first of them.
fn sub_record_text(sub_record: &SubRecord<'_>, bytes: Option<u64>) -> String {
    let length = |shown: usize| bytes.unwrap_or(shown as u64);
    match sub_record {
        SubRecord::Root(root) => {
            let object = root.object;
            match root.kind {
                RootKind::JniGlobal { reference } => format!("{object:x} reference={reference:x}"),
                RootKind::JniLocal { thread, frame }
                | RootKind::JavaFrame { thread, frame }
                | RootKind::JniMonitor { thread, frame } => {
                    let frame = frame.map_or_else(|| "none".to_owned(), |frame| frame.to_string());
                    format!("{object:x} thread={thread} frame={frame}")
                }
                RootKind::NativeStack { thread } | RootKind::ThreadBlock { thread } => {
                    format!("{object:x} thread={thread}")
                }
                RootKind::ThreadObject { thread, trace } => {
                    format!("{object:x} thread={thread} trace={trace}")
                }
                _ => format!("{object:x}"),
            }
        }
        SubRecord::Unreachable { object } => format!("{object:x}"),
        SubRecord::HeapInfo { heap, name } => format!("heap={heap} name={name:x}"),
        SubRecord::Class(class) => format!(
            "{:x} super={:x} loader={:x} size={} constants={} statics={} fields={}",
            class.class,
            class.super_class,
            class.loader,
            class.instance_size,
            class.constants.len(),
            class.statics.len(),
            class.fields.len()
        ),
        SubRecord::Instance {
            object,
            trace,
            class,
            values,
        } => format!(
            "{object:x} class={class:x} trace={trace} bytes={}",
            length(values.len())
        ),
        SubRecord::ObjectArray {
            array,
            trace,
            class,
            elements,
        } => format!(
            "{array:x} class={class:x} trace={trace} length={}",
            length(elements.as_bytes().len()) / elements.id_size().bytes() as u64
        ),
        SubRecord::PrimitiveArray {
            array,
            trace,
            element,
            values,
        } => format!(
            "{array:x} {}[] trace={trace} bytes={}",
            element.name(),
            length(values.len())
        ),
        SubRecord::PrimitiveArrayNoData {
            array,
            trace,
            element,
            length,
        } => format!(
            "{array:x} {}[] trace={trace} length={length}",
            element.name()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::StreamReader;

    #[test]
    fn all_names_are_among_those_that_are_listed() {
        let of_tags = (0..=255).map(record_name).filter(|name| *name != "UNKNOWN");
        assert!(of_tags.eq(RECORDS));
        for file in ["hprof-32.bin", "cpu-samples-b.hprof"] {
            let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
            let bytes = std::fs::read(path).unwrap();
            let mut reader = StreamReader::new(&*bytes).unwrap();
            while let Some(event) = reader.next() {
                let Ok(event) = event else {
                    continue;
                };
                let listed = Listed::new(&event);
                let names = match listed.is_sub_record {
                    true => &SUB_RECORDS[..],
                    false => &RECORDS,
                };
                assert!(names.contains(&listed.name), "{listed}");
            }
        }
    }
}

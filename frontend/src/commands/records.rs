//! `hprof-rs records`: the records of a binary file as they stand in it.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::input::Input;
<<<<<<< HEAD
use hprof_format::binary::{Record, SubRecord};
use hprof_format::model::RootKind;
use hprof_format::reader::{Event, Positioned, StreamError, StreamReader};
=======
use hprof_format::listing::Listed;
use hprof_format::reader::{Event, StreamError, StreamReader};
>>>>>>> main

use crate::open::FileArgument;

/// List the records of a binary file with their offsets, for a look at the bytes' meaning.
///
/// One line per record: the offset in the uncompressed file, the tag, the name, the fields.
/// Identifiers are hexadecimal, serials decimal.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Records {
    #[command(flatten)]
    file: FileArgument,

    /// Also the sub-records of heap dumps, indented.
    #[arg(long)]
    sub: bool,

    /// Only records of this name or tag: TRACE, UTF8, 0x05.
    #[arg(long, value_name = "NAME|TAG")]
    only: Option<String>,

    /// Stop after so many lines, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    top: u64,

    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs records java.hprof | less
  hprof-rs records --only TRACE java.hprof
  hprof-rs records --sub heap.hprof | grep ROOT_THREAD_OBJ
  hprof-rs records --json heap.hprof | jq -c 'select(.tag == 12)'";

impl Records {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let input = Input::open(&self.file.file)?;
        let name = input.name.clone();
        let length = input.mapped().map(|bytes| bytes.len() as u64);
        let mut reader = StreamReader::new(input.into_reader())
            .map_err(anyhow::Error::from)
            .with_context(|| format!("{name} has no records to list"))?;
        if let Some(length) = length {
            reader.set_file_length(length);
        }
        let mut out = BufWriter::new(io::stdout().lock());
        let mut shown = 0;
        let mut is_damaged = false;
        while let Some(event) = reader.next() {
            let line = match event {
<<<<<<< HEAD
                Ok(Event::Record(Positioned {
                    offset,
                    record: Record::Unknown { tag, .. },
                    ..
                })) if self.file.strict => {
                    bail!("at byte {offset}: a record of unknown kind (tag {tag:#04x})")
                }
                Ok(Event::Record(found)) => Line {
                    offset: found.offset,
                    tag: found.record.tag(),
                    name: record_name(found.record.tag()),
                    text: record_text(&found.record),
                    is_sub: false,
                },
                Ok(Event::Heap {
                    offset, is_segment, ..
                }) => {
                    let tag = if is_segment { 0x1c } else { 0x0c };
                    Line {
                        offset,
                        tag,
                        name: record_name(tag),
                        text: String::new(),
                        is_sub: false,
                    }
                }
                Ok(Event::SubRecord { .. }) if !self.sub => continue,
                Ok(Event::SubRecord { offset, sub_record }) => {
                    let (tag, name) = sub_record_name(&sub_record);
                    Line {
                        offset,
                        tag,
                        name,
                        text: sub_record_text(&sub_record, None),
                        is_sub: true,
                    }
                }
                Ok(Event::LongSubRecord { .. }) if !self.sub => continue,
                Ok(Event::LongSubRecord {
                    offset,
                    start,
                    bytes,
                }) => {
                    let (tag, name) = sub_record_name(&start);
                    Line {
                        offset,
                        tag,
                        name,
                        text: sub_record_text(&start, Some(bytes)),
                        is_sub: true,
                    }
                }
=======
                Ok(Event::SubRecord { .. }) if !self.sub => continue,
                Ok(event) => Listed::new(&event),
>>>>>>> main
                Err(StreamError::Damage(damage)) => {
                    is_damaged = true;
                    out.flush()?;
                    if self.file.strict {
                        bail!(damage);
                    }
                    eprintln!("hprof-rs: {damage}");
                    continue;
                }
                Err(error) => bail!(error),
            };
            if !self.wants(&line) {
                continue;
            }
            if self.json {
                writeln!(out, "{}", as_json(&line))?;
            } else {
                writeln!(out, "{line}")?;
            }
            shown += 1;
            if shown == self.top {
                break;
            }
        }
        out.flush()?;
        Ok(ExitCode::from(u8::from(is_damaged)))
    }

    fn wants(&self, line: &Listed) -> bool {
        let Some(only) = &self.only else { return true };
        let tag = only
            .strip_prefix("0x")
            .map(|hex| u8::from_str_radix(hex, 16));
        match tag {
            Some(tag) => tag == Ok(line.tag),
            None => line.name.eq_ignore_ascii_case(only),
        }
    }
}

<<<<<<< HEAD
/// A line of the listing.
struct Line {
    offset: u64,
    tag: u8,
    name: &'static str,
    text: String,
    is_sub: bool,
}

impl Line {
    fn write(&self, out: &mut impl Write, as_json: bool) -> io::Result<()> {
        let Self {
            offset,
            tag,
            name,
            text,
            is_sub,
        } = self;
        if as_json {
            let value = serde_json::json!({
                "offset": offset, "tag": tag, "name": name, "fields": text, "is_sub_record": is_sub,
            });
            return writeln!(out, "{value}");
        }
        let indent = if *is_sub { "  " } else { "" };
        let line = format!("{offset:>12}  {indent}{tag:02x} {name:<16} {text}");
        writeln!(out, "{}", line.trim_end())
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

fn record_text(record: &Record<'_>) -> String {
    match record {
        Record::Utf8 { id, .. } => {
            let text = record.text().unwrap_or_default();
            format!("{id:x} {:?}", printable(&text))
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
=======
fn as_json(line: &Listed) -> serde_json::Value {
    serde_json::json!({
        "offset": line.offset, "tag": line.tag, "name": line.name, "fields": line.fields,
        "is_sub_record": line.is_sub_record,
    })
>>>>>>> main
}

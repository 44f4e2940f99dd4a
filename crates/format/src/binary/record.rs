//! Top-level records.

use super::body::{Body, IdSize};
use super::bytes::Fields;
use super::lists::{AllocSiteRows, CpuSamples, Ids};
use super::sub_records::SubRecords;
use super::{mutf8, tags::record as tag};
use crate::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};

/// A top-level record, borrowing from the bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Record<'a> {
    /// A string. See [`Record::text`].
    Utf8 {
        /// The identifier by which other records refer to it.
        id: StringId,
        /// Modified UTF-8, or at times no text at all.
        bytes: &'a [u8],
    },
    /// A class. HotSpot repeats array classes, with another serial each time.
    LoadClass {
        /// The number by which frames and sites refer to the class.
        serial: ClassSerial,
        /// The class object.
        class: ObjectId,
        /// Where it was loaded.
        trace: TraceSerial,
        /// The name: `java/lang/String`, `[I` in HotSpot's files, `java.lang.String`, `int[]` in others.
        name: StringId,
    },
    /// A class was unloaded.
    UnloadClass {
        /// Its serial, which need not have been mentioned before.
        serial: ClassSerial,
    },
    /// A stack frame.
    Frame {
        /// The identifier by which traces refer to it.
        id: FrameId,
        /// The name of the method.
        method: StringId,
        /// The method's descriptor.
        signature: StringId,
        /// The source file, null if unknown.
        source_file: StringId,
        /// The class that declares the method.
        class: ClassSerial,
        /// The line if positive, else one of [`line`](super::tags::line).
        line: i32,
    },
    /// A stack trace.
    Trace {
        /// The number by which other records refer to it.
        serial: TraceSerial,
        /// The thread, 0 for none.
        thread: ThreadSerial,
        /// Its frames ([`FrameId`]), innermost first.
        frames: Ids<'a>,
    },
    /// Allocation statistics.
    AllocSites {
        /// 1: since the last such record only; 2: sorted by allocation, else by what is alive;
        /// 4: after a garbage collection.
        flags: u16,
        /// The share below which sites were left out. Files of the JDK's agent have noise here, the
        /// lower half of a double.
        cutoff: f32,
        /// Bytes alive in all sites.
        live_bytes: u32,
        /// Objects alive in all sites.
        live_instances: u32,
        /// Bytes ever allocated.
        allocated_bytes: u64,
        /// Objects ever allocated.
        allocated_instances: u64,
        /// The sites.
        sites: AllocSiteRows<'a>,
    },
    /// Totals of the heap.
    HeapSummary {
        /// Bytes alive.
        live_bytes: u32,
        /// Objects alive.
        live_instances: u32,
        /// Bytes ever allocated.
        allocated_bytes: u64,
        /// Objects ever allocated.
        allocated_instances: u64,
    },
    /// A thread started.
    StartThread {
        /// The number by which other records refer to it.
        serial: ThreadSerial,
        /// The thread object.
        object: ObjectId,
        /// Where it was started.
        trace: TraceSerial,
        /// The thread's name.
        name: StringId,
        /// The name of its group.
        group: StringId,
        /// The name of that group's parent.
        parent_group: StringId,
    },
    /// A thread ended.
    EndThread {
        /// Its serial.
        serial: ThreadSerial,
    },
    /// A whole heap dump.
    HeapDump(SubRecords<'a>),
    /// A part of a heap dump, ended by [`Record::HeapDumpEnd`].
    HeapDumpSegment(SubRecords<'a>),
    /// The end of a heap dump in segments.
    HeapDumpEnd,
    /// CPU use.
    CpuSamples {
        /// The cost of all traces.
        total: u32,
        /// The traces that cost most.
        samples: CpuSamples<'a>,
    },
    /// The recording settings of the profiler.
    ControlSettings {
        /// See [`control`](super::tags::control).
        flags: u32,
        /// The greatest number of frames in a trace.
        depth: u16,
    },
    /// A record of unknown tag.
    Unknown {
        /// The tag.
        tag: u8,
        /// The body as it is.
        body: &'a [u8],
    },
}

impl<'a> Record<'a> {
    /// Decodes the body of a record; `None` if the body is too short for its fields. Bytes after
    /// the known fields are ignored.
    ///
    /// `offset` is where in the file the body starts, for reports about sub-records.
    pub fn decode(tag: u8, body: &'a [u8], id_size: IdSize, offset: u64) -> Option<Self> {
        let mut f = Fields::new(body, id_size);
        Some(match tag {
            tag::UTF8 => Self::Utf8 {
                id: f.string()?,
                bytes: f.rest(),
            },
            tag::LOAD_CLASS => Self::LoadClass {
                serial: f.class()?,
                class: f.object()?,
                trace: f.trace()?,
                name: f.string()?,
            },
            tag::UNLOAD_CLASS => Self::UnloadClass { serial: f.class()? },
            tag::FRAME => Self::Frame {
                id: f.frame()?,
                method: f.string()?,
                signature: f.string()?,
                source_file: f.string()?,
                class: f.class()?,
                line: f.i4()?,
            },
            tag::TRACE => {
                let (serial, thread, count) = (f.trace()?, f.thread()?, f.u4()?);
                let frames = Ids::new(f.take_list(count, id_size.bytes())?, id_size);
                Self::Trace {
                    serial,
                    thread,
                    frames,
                }
            }
            tag::ALLOC_SITES => Self::AllocSites {
                flags: f.u2()?,
                cutoff: f32::from_bits(f.u4()?),
                live_bytes: f.u4()?,
                live_instances: f.u4()?,
                allocated_bytes: f.u8()?,
                allocated_instances: f.u8()?,
                sites: {
                    let count = f.u4()?;
                    AllocSiteRows(f.take_list(count, AllocSiteRows::ROW)?)
                },
            },
            tag::HEAP_SUMMARY => Self::HeapSummary {
                live_bytes: f.u4()?,
                live_instances: f.u4()?,
                allocated_bytes: f.u8()?,
                allocated_instances: f.u8()?,
            },
            tag::START_THREAD => Self::StartThread {
                serial: f.thread()?,
                object: f.object()?,
                trace: f.trace()?,
                name: f.string()?,
                group: f.string()?,
                parent_group: f.string()?,
            },
            tag::END_THREAD => Self::EndThread {
                serial: f.thread()?,
            },
            tag::HEAP_DUMP => Self::HeapDump(SubRecords::new(body, id_size, offset)),
            tag::HEAP_DUMP_SEGMENT => Self::HeapDumpSegment(SubRecords::new(body, id_size, offset)),
            tag::HEAP_DUMP_END => Self::HeapDumpEnd,
            tag::CPU_SAMPLES => {
                let (total, count) = (f.u4()?, f.u4()?);
                Self::CpuSamples {
                    total,
                    samples: CpuSamples(f.take_list(count, CpuSamples::ROW)?),
                }
            }
            tag::CONTROL_SETTINGS => Self::ControlSettings {
                flags: f.u4()?,
                depth: f.u2()?,
            },
            tag => Self::Unknown { tag, body },
        })
    }

    /// The tag of this record.
    pub fn tag(&self) -> u8 {
        match self {
            Self::Utf8 { .. } => tag::UTF8,
            Self::LoadClass { .. } => tag::LOAD_CLASS,
            Self::UnloadClass { .. } => tag::UNLOAD_CLASS,
            Self::Frame { .. } => tag::FRAME,
            Self::Trace { .. } => tag::TRACE,
            Self::AllocSites { .. } => tag::ALLOC_SITES,
            Self::HeapSummary { .. } => tag::HEAP_SUMMARY,
            Self::StartThread { .. } => tag::START_THREAD,
            Self::EndThread { .. } => tag::END_THREAD,
            Self::HeapDump(_) => tag::HEAP_DUMP,
            Self::HeapDumpSegment(_) => tag::HEAP_DUMP_SEGMENT,
            Self::HeapDumpEnd => tag::HEAP_DUMP_END,
            Self::CpuSamples { .. } => tag::CPU_SAMPLES,
            Self::ControlSettings { .. } => tag::CONTROL_SETTINGS,
            Self::Unknown { tag, .. } => *tag,
        }
    }

    /// The text of a [`Record::Utf8`].
    pub fn text(&self) -> Option<std::borrow::Cow<'a, str>> {
        match *self {
            Self::Utf8 { bytes, .. } => Some(mutf8::decode(bytes)),
            _ => None,
        }
    }

    /// Appends the body of this record. Sub-records of heap dumps are copied as they are and so
    /// must have identifiers of the same width as `body`.
    pub fn encode(&self, body: &mut Body) {
        match *self {
            Self::Utf8 { id, bytes } => body.string(id).raw(bytes),
            Self::LoadClass {
                serial,
                class,
                trace,
                name,
            } => body.class(serial).object(class).trace(trace).string(name),
            Self::UnloadClass { serial } => body.class(serial),
            Self::Frame {
                id,
                method,
                signature,
                source_file,
                class,
                line,
            } => {
                body.frame(id)
                    .string(method)
                    .string(signature)
                    .string(source_file);
                body.class(class).i4(line)
            }
            Self::Trace {
                serial,
                thread,
                frames,
            } => {
                body.trace(serial)
                    .thread(thread)
                    .counter(frames.len() as u64);
                frames.write(body);
                body
            }
            Self::AllocSites {
                flags,
                cutoff,
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                sites,
            } => {
                body.u2(flags)
                    .u4(cutoff.to_bits())
                    .u4(live_bytes)
                    .u4(live_instances);
                body.u8(allocated_bytes).u8(allocated_instances);
                body.counter(sites.len() as u64).raw(sites.0)
            }
            Self::HeapSummary {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
            } => body
                .u4(live_bytes)
                .u4(live_instances)
                .u8(allocated_bytes)
                .u8(allocated_instances),
            Self::StartThread {
                serial,
                object,
                trace,
                name,
                group,
                parent_group,
            } => {
                body.thread(serial).object(object).trace(trace);
                body.string(name).string(group).string(parent_group)
            }
            Self::EndThread { serial } => body.thread(serial),
            Self::HeapDump(heap) | Self::HeapDumpSegment(heap) => body.raw(heap.rest()),
            Self::HeapDumpEnd => body,
            Self::CpuSamples { total, samples } => {
                body.u4(total).counter(samples.len() as u64).raw(samples.0)
            }
            Self::ControlSettings { flags, depth } => body.u4(flags).u2(depth),
            Self::Unknown { body: bytes, .. } => body.raw(bytes),
        };
    }
}

//! Collects the records of a binary file.

use hprof_format::binary::{BasicType, CpuSample, Ids, Record, mutf8, tags};
use hprof_format::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};
use hprof_format::model::{CpuKind, HeapSummary, Line, SiteOrder};
use hprof_stacks::events::Chunk;
use hprof_stacks::slow::Slow;
use rustc_hash::FxHashMap;

use super::{
    Contents, ControlSettings, CpuRow, CpuTable, Dump, Format, SiteRow, SiteTable, Thread,
};
use crate::heap::Census;
use crate::names::{Names, source_form};
use crate::stacks::{Frame, FrameIndex, Trace};
use crate::walk::DumpNumbers;

/// The bytes of a record's head.
const RECORD_HEAD: u64 = 9;

/// The heap dumps that are kept. Each takes memory, and an empty one takes 18 bytes of a file.
const MAX_DUMPS: usize = 4096;

/// A frame whose names may still come.
struct RawFrame {
    method: StringId,
    source_file: StringId,
    class: ClassSerial,
    line: i32,
}

struct RawTrace {
    serial: TraceSerial,
    thread: ThreadSerial,
    frames: Box<[FrameId]>,
}

struct RawThread {
    thread: Thread,
    name: StringId,
    group: StringId,
}

struct RawSite {
    array: Option<BasicType>,
    class: ClassSerial,
    row: SiteRow,
}

/// Collects the records of a binary file. Names are looked up at the end, as they may come in any
/// order.
pub(super) struct Builder {
    pub contents: Contents,
    largest: usize,
    frames: FxHashMap<FrameId, RawFrame>,
    traces: Vec<RawTrace>,
    threads: Vec<RawThread>,
    /// The last thread of each serial, by its place.
    running: FxHashMap<ThreadSerial, usize>,
    sites: Vec<(SiteOrder, SiteRow, Vec<RawSite>)>,
    is_sampling: Option<bool>,
    /// Which dump the next heap record belongs to.
    dumps: DumpNumbers,
    /// Set when there are more dumps than are kept.
    has_too_many_dumps: bool,
    /// The times of samples.
    chunks: Vec<Chunk>,
}

impl Builder {
    pub fn new(format: Format, largest: usize) -> Self {
        Self {
            contents: Contents::new(format),
            largest,
            frames: FxHashMap::default(),
            traces: Vec::new(),
            threads: Vec::new(),
            running: FxHashMap::default(),
            sites: Vec::new(),
            is_sampling: None,
            dumps: DumpNumbers::default(),
            has_too_many_dumps: false,
            chunks: Vec::new(),
        }
    }

    /// An empty census for this file.
    pub fn new_census(format: Format, largest: usize) -> Census {
        // Identifiers of four bytes are running numbers in most files, and Android states sizes.
        let is_wide = matches!(format, Format::Binary { id_size, .. } if id_size.bytes() == 8);
        Census::new(largest, is_wide && !format.is_android())
    }

    /// Tells that a heap dump or segment begins; gives the number of the dump that it belongs to,
    /// `None` if that is one too many.
    pub fn begin_heap(&mut self, is_segment: bool) -> Option<usize> {
        let number = self.dumps.begin(is_segment);
        if number >= MAX_DUMPS {
            if !std::mem::replace(&mut self.has_too_many_dumps, true) {
                self.contents.damage.note(format!(
                    "the file has more than {MAX_DUMPS} heap dumps; the others are not read"
                ));
            }
            return None;
        }
        if number == self.contents.dumps.len() {
            self.contents.dumps.push(Dump {
                census: Self::new_census(self.contents.format, self.largest),
                segments: 0,
                is_ended: !is_segment,
            });
        }
        let stack_chunks = self.contents.names.stack_chunks();
        let dump = self.contents.dumps.get_mut(number)?;
        dump.segments += 1;
        dump.census.look_at_stacks(stack_chunks);
        Some(number)
    }

    /// The census of the present dump; `None` if it is one too many.
    #[inline]
    pub fn census(&mut self) -> Option<&mut Census> {
        if self.has_too_many_dumps {
            return None;
        }
        self.contents.dumps.last_mut().map(|dump| &mut dump.census)
    }

    /// Counts a heap record that began at the offset given and ends here.
    pub fn heap_ended(&mut self, began: Option<(u64, bool)>, end: u64) {
        if let Some((offset, is_segment)) = began {
            let tag = if is_segment {
                tags::record::HEAP_DUMP_SEGMENT
            } else {
                tags::record::HEAP_DUMP
            };
            self.count(tag, end.saturating_sub(offset));
        }
    }

    fn count(&mut self, tag: u8, bytes: u64) {
        let count = self.contents.records.entry(tag).or_default();
        count.count += 1;
        count.bytes += bytes;
    }

    /// Collects the record at byte `offset` of the file. Heap dumps are only counted; their sub-records are the caller's.
    pub fn record(&mut self, offset: u64, record: &Record<'_>) {
        self.count(
            record.tag(),
            RECORD_HEAD + body_length(record, self.id_bytes()),
        );
        match *record {
            Record::Utf8 { bytes, .. } if Chunk::is_one(bytes) => {
                let chunk = Chunk::parse(&String::from_utf8_lossy(bytes));
                self.chunks.extend(chunk);
            }
            Record::Utf8 { bytes, .. } if Slow::is_one(bytes) => {
                let text = mutf8::decode(bytes);
                self.contents.slow.take(&text);
            }
            Record::Utf8 { id, bytes } => self.contents.names.add_string(id, bytes),
            Record::LoadClass {
                serial,
                class,
                name,
                ..
            } => self.contents.names.add_class(serial, class, name),
            Record::Frame {
                id,
                method,
                source_file,
                class,
                line,
                ..
            } => {
                self.frames.entry(id).or_insert(RawFrame {
                    method,
                    source_file,
                    class,
                    line,
                });
            }
            Record::Trace {
                serial,
                thread,
                frames,
            } => self.traces.push(RawTrace {
                serial,
                thread,
                frames: frame_ids(frames),
            }),
            Record::StartThread {
                serial,
                object,
                trace,
                name,
                group,
                ..
            } => {
                let known = self.running.get(&serial).copied();
                let known = known.and_then(|at| self.threads.get_mut(at));
                let is_it =
                    |raw: &&mut RawThread| !raw.thread.has_ended && raw.thread.object == object;
                if let Some(raw) = known.filter(is_it) {
                    // The thread has been renamed.
                    raw.name = name;
                    return;
                }
                self.running.insert(serial, self.threads.len());
                self.threads.push(RawThread {
                    thread: Thread {
                        serial,
                        object,
                        name: None,
                        group: None,
                        trace: Some(trace),
                        has_ended: false,
                    },
                    name,
                    group,
                });
            }
            Record::EndThread { serial } => {
                let thread = self.running.get(&serial).copied();
                if let Some(raw) = thread.and_then(|at| self.threads.get_mut(at)) {
                    raw.thread.has_ended = true;
                }
            }
            Record::HeapDumpEnd => {
                if self.has_too_many_dumps {
                    // It ends a dump that is not kept.
                } else if let Some(dump) = self.contents.dumps.last_mut() {
                    dump.is_ended = true;
                }
                self.dumps.end();
            }
            Record::ControlSettings { flags, depth } => {
                let cpu_sampling = flags & tags::control::CPU_SAMPLING != 0;
                self.is_sampling = Some(cpu_sampling);
                self.contents.settings = Some(ControlSettings {
                    allocation_traces: flags & tags::control::ALLOC_TRACES != 0,
                    cpu_sampling,
                    depth,
                });
            }
            Record::CpuSamples { total, samples } => {
                // The record does not say whether it holds samples or milliseconds, but the
                // agent sets the flag of sampling for samples only.
                let kind = match self.is_sampling {
                    Some(false) => CpuKind::Times,
                    _ => CpuKind::Samples,
                };
                let row = |CpuSample { cost, trace }| CpuRow {
                    trace,
                    cost: u64::from(cost),
                    calls: None,
                };
                self.contents.cpu.push(CpuTable {
                    kind,
                    total: u64::from(total),
                    rows: samples.iter().map(row).collect(),
                });
            }
            Record::HeapSummary {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
            } => {
                self.contents.heap_summary = Some(HeapSummary {
                    live_bytes: u64::from(live_bytes),
                    live_objects: u64::from(live_instances),
                    allocated_bytes,
                    allocated_objects: allocated_instances,
                });
            }
            Record::AllocSites {
                flags,
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                sites,
                ..
            } => {
                let order = match flags & tags::sites::BY_ALLOCATED {
                    0 => SiteOrder::LiveBytes,
                    _ => SiteOrder::AllocatedBytes,
                };
                let totals = SiteRow {
                    trace: TraceSerial::new(0),
                    class_name: Box::default(),
                    live_bytes: u64::from(live_bytes),
                    live_objects: u64::from(live_instances),
                    allocated_bytes,
                    allocated_objects: allocated_instances,
                };
                let rows = sites.iter().map(|site| RawSite {
                    array: BasicType::from_code(site.array_kind),
                    class: site.class,
                    row: SiteRow {
                        trace: site.trace,
                        class_name: Box::default(),
                        live_bytes: u64::from(site.live_bytes),
                        live_objects: u64::from(site.live_instances),
                        allocated_bytes: u64::from(site.allocated_bytes),
                        allocated_objects: u64::from(site.allocated_instances),
                    },
                });
                self.sites.push((order, totals, rows.collect()));
            }
            Record::UnloadClass { .. } | Record::HeapDump(_) | Record::HeapDumpSegment(_) => {}
            // hprof-analyzer marks files from which it has removed data.
            Record::Unknown { tag: 0xde, body } if body.starts_with(b"REDACTED") => {}
            Record::Unknown { tag, body } => {
                self.contents.damage.unknown_record(offset, tag, body);
            }
        }
    }

    fn id_bytes(&self) -> u64 {
        match self.contents.format {
            Format::Binary { id_size, .. } => id_size.bytes() as u64,
            Format::Text | Format::Foreign(_) => 0,
        }
    }

    /// Looks all names up. Gives the times of samples too.
    pub fn finish(mut self) -> (Contents, Vec<Chunk>) {
        let contents = &mut self.contents;
        let mut known: FxHashMap<FrameId, FrameIndex> = FxHashMap::default();
        for raw in self.traces {
            let frames = raw.frames.iter().map(|&id| {
                *known.entry(id).or_insert_with(|| {
                    let frame = frame(self.frames.get(&id), &contents.names);
                    contents.stacks.intern(frame)
                })
            });
            let trace = Trace {
                frames: frames.collect(),
                thread: (raw.thread.get() != 0).then_some(raw.thread),
            };
            contents.stacks.add(raw.serial, trace);
        }
        let text = |id| contents.names.string(id).map(|text| text.into_owned());
        for raw in self.threads {
            contents.threads.push(Thread {
                name: text(raw.name),
                group: text(raw.group),
                ..raw.thread
            });
        }
        let known: rustc_hash::FxHashSet<ThreadSerial> = contents
            .threads
            .iter()
            .map(|thread| thread.serial)
            .collect();
        let mut added = rustc_hash::FxHashSet::default();
        let mut roots = Vec::new();
        for &(object, serial, trace) in contents.dumps.iter().flat_map(|d| &d.census.threads) {
            if !known.contains(&serial) && added.insert(serial) {
                roots.push(thread_of_root(object, serial, trace));
            }
        }
        // Segments are counted in parallel, so the roots come in any order.
        roots.sort_by_key(|thread| thread.serial);
        contents.threads.append(&mut roots);
        for (order, totals, rows) in self.sites {
            let rows = rows.into_iter().map(|raw| SiteRow {
                class_name: site_class(&contents.names, raw.class, raw.array),
                ..raw.row
            });
            contents.sites.push(SiteTable {
                order,
                is_native: false,
                totals: Some(totals),
                rows: rows.collect(),
            });
        }
        contents.damage.sort();
        (self.contents, self.chunks)
    }
}

fn thread_of_root(object: ObjectId, serial: ThreadSerial, trace: TraceSerial) -> Thread {
    Thread {
        serial,
        object,
        name: None,
        group: None,
        trace: Some(trace),
        has_ended: false,
    }
}

fn frame_ids(ids: Ids<'_>) -> Box<[FrameId]> {
    ids.iter().map(FrameId::new).collect()
}

fn frame(raw: Option<&RawFrame>, names: &Names) -> Frame {
    let Some(raw) = raw else {
        return Frame {
            class_name: Box::default(),
            method: "<unknown frame>".into(),
            source_file: None,
            line: Line::Unknown,
        };
    };
    let text = |id| {
        names
            .string(id)
            .map(|text| text.into_owned().into_boxed_str())
    };
    Frame {
        class_name: names.class_of_serial(raw.class).unwrap_or_default().into(),
        method: text(raw.method).unwrap_or_else(|| "<unknown method>".into()),
        source_file: text(raw.source_file).filter(|file| !file.is_empty()),
        line: match raw.line {
            tags::line::NATIVE => Line::Native,
            line => match u32::try_from(line) {
                Ok(line) if line > 0 => Line::Number(line),
                _ => Line::Unknown,
            },
        },
    }
}

/// The class of a site. The JDK's agent names the class of an array's elements in some rows.
fn site_class(names: &Names, class: ClassSerial, array: Option<BasicType>) -> Box<str> {
    let name = names
        .class_of_serial(class)
        .unwrap_or_else(|| format!("<class {class}>"));
    let name = source_form(&name);
    match array {
        Some(BasicType::Object) if !name.ends_with("[]") => format!("{name}[]").into(),
        Some(element) if element != BasicType::Object => format!("{}[]", element.name()).into(),
        _ => name.into(),
    }
}

/// The length of a record's body. Bytes after the known fields, which no producer is known to write,
/// are not in it.
fn body_length(record: &Record<'_>, id: u64) -> u64 {
    match record {
        Record::Utf8 { bytes, .. } => id + bytes.len() as u64,
        Record::LoadClass { .. } => 8 + 2 * id,
        Record::UnloadClass { .. } | Record::EndThread { .. } => 4,
        Record::Frame { .. } => 8 + 4 * id,
        Record::Trace { frames, .. } => 12 + frames.as_bytes().len() as u64,
        Record::AllocSites { sites, .. } => 34 + 25 * sites.len() as u64,
        Record::HeapSummary { .. } => 24,
        Record::StartThread { .. } => 8 + 4 * id,
        Record::HeapDump(heap) | Record::HeapDumpSegment(heap) => heap.rest().len() as u64,
        Record::HeapDumpEnd => 0,
        Record::CpuSamples { samples, .. } => 8 + 8 * samples.len() as u64,
        Record::ControlSettings { .. } => 6,
        Record::Unknown { body, .. } => body.len() as u64,
    }
}

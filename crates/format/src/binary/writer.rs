//! Writes the binary format.

use std::collections::HashMap;
use std::io::{self, Write};

use super::body::{Body, IdSize};
use super::{mutf8, tags};
use crate::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};
use crate::model::{CpuKind, Frame, Header, Line, OldCpuRow, Settings, ThreadStart, Trace};
use crate::rank::RankedCpuTable;
use crate::serial_set::SerialSet;
use crate::text::round_to_millis;
use crate::writer::{InnermostMethod, ProfileWriter};

/// Writes a profile in version 1.0.2 of the binary format, with identifiers of eight bytes.
///
/// Strings, classes, frames and traces are written once each, directly before the first record
/// that refers to them, so a reader can resolve every reference as it meets it.
#[derive(Debug)]
pub struct BinaryWriter<W> {
    out: W,
    micros: u32,
    body: Body,
    pending: Vec<u8>,
    traces: SerialSet,
    strings: HashMap<Box<str>, StringId>,
    /// How many strings nothing refers to.
    marks: u64,
    classes: HashMap<(ObjectId, StringId), ClassSerial>,
    /// The class objects of the last heap dump, by name.
    dumped: HashMap<StringId, ObjectId>,
    frames: HashMap<FrameKey, FrameId>,
    /// The sub-records of the heap segment under construction.
    pub(super) segment: Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FrameKey {
    class: ClassSerial,
    method: StringId,
    signature: StringId,
    source_file: StringId,
    line: i32,
}

impl<W: Write> BinaryWriter<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self {
            out,
            micros: 0,
            body: Body::new(IdSize::Eight),
            pending: Vec::new(),
            traces: SerialSet::default(),
            strings: HashMap::new(),
            marks: 0,
            classes: HashMap::new(),
            dumped: HashMap::new(),
            frames: HashMap::new(),
            segment: Body::new(IdSize::Eight),
        }
    }

    /// The underlying writer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Gives the underlying writer back.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Appends one record to those that wait to be written.
    pub(super) fn record(&mut self, tag: u8, fill: impl FnOnce(&mut Body)) -> io::Result<()> {
        self.body.clear();
        fill(&mut self.body);
        self.pending
            .extend_from_slice(&self.body.record_head(tag, self.micros)?);
        self.pending.extend_from_slice(self.body.bytes());
        Ok(())
    }

    /// Writes the waiting records in one piece.
    pub(super) fn write_pending(&mut self) -> io::Result<()> {
        let result = self.out.write_all(&self.pending);
        self.pending.clear();
        result
    }

    /// The identifier of a string, null for an empty one; writes it if it is new.
    pub(super) fn string(&mut self, text: &str) -> io::Result<StringId> {
        match text.is_empty() {
            true => Ok(StringId::NULL),
            false => self.name(text),
        }
    }

    /// As [`Self::string`], for what must have a name: an empty one is a string of its own.
    fn name(&mut self, text: &str) -> io::Result<StringId> {
        if let Some(&id) = self.strings.get(text) {
            return Ok(id);
        }
        let id = StringId::new(StringId::BASE + self.strings.len() as u64);
        let mut bytes = Vec::with_capacity(text.len());
        mutf8::encode(text, &mut bytes);
        self.record(tags::record::UTF8, |body| {
            body.string(id).raw(&bytes);
        })?;
        self.strings.insert(text.into(), id);
        Ok(id)
    }

    /// The serial of a class; writes it if it is new. The identifier of a heap dump takes the place of one that
    /// [is made up](ObjectId::is_made_up), so that class dump, frames and sites have the same.
    pub(super) fn class(&mut self, object: ObjectId, name: &str) -> io::Result<ClassSerial> {
        let dumped = self.dumped_class(name).filter(|_| object.is_made_up());
        let (object, name) = match dumped {
            Some(dumped) => dumped,
            None => (object, self.name(name)?),
        };
        if let Some(&serial) = self.classes.get(&(object, name)) {
            return Ok(serial);
        }
        let serial = ClassSerial::new(ClassSerial::BASE.wrapping_add(self.classes.len() as u32));
        self.record(tags::record::LOAD_CLASS, |body| {
            body.class(serial)
                .object(object)
                .trace(TraceSerial::SYSTEM)
                .string(name);
        })?;
        self.classes.insert((object, name), serial);
        Ok(serial)
    }

    /// The class of the last heap dump with this name. Up to JDK 14 dumps lack the number that JVMTI has behind the name of a
    /// class that the VM calls anonymous.
    fn dumped_class(&self, name: &str) -> Option<(ObjectId, StringId)> {
        let find = |name: &str| {
            let id = *self.strings.get(name)?;
            Some((*self.dumped.get(&id)?, id))
        };
        let without_number = || {
            let (family, number) = name.rsplit_once('.')?;
            let is_number = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
            is_number.then(|| find(family)).flatten()
        };
        find(name).or_else(without_number)
    }

    /// A heap dump has this class.
    pub(super) fn note_dumped(&mut self, object: ObjectId, name: &str) -> io::Result<()> {
        let name = self.name(name)?;
        if !object.is_made_up() {
            self.dumped.insert(name, object);
        }
        Ok(())
    }

    /// The identifier of a frame; writes it if it is new.
    fn frame(&mut self, frame: &Frame<'_>) -> io::Result<FrameId> {
        let key = FrameKey {
            class: self.class(frame.class_id, frame.class_name)?,
            method: self.string(frame.method)?,
            signature: self.string(frame.signature)?,
            source_file: self.string(frame.source_file.unwrap_or(""))?,
            line: line_number(frame.line),
        };
        if let Some(&id) = self.frames.get(&key) {
            return Ok(id);
        }
        let id = FrameId::new(FrameId::BASE + self.frames.len() as u64);
        self.record(tags::record::FRAME, |body| {
            body.frame(id)
                .string(key.method)
                .string(key.signature)
                .string(key.source_file);
            body.class(key.class).i4(key.line);
        })?;
        self.frames.insert(key, id);
        Ok(id)
    }

    /// The identifiers of several strings; writes those that are new.
    pub(super) fn names<'a>(
        &mut self,
        names: impl Iterator<Item = &'a str>,
    ) -> io::Result<Vec<StringId>> {
        names.map(|name| self.string(name)).collect()
    }

    /// Writes the sub-records of the segment, if there are any.
    pub(super) fn write_segment(&mut self) -> io::Result<()> {
        if self.segment.bytes().is_empty() {
            return Ok(());
        }
        self.out.write_all(
            &self
                .segment
                .record_head(tags::record::HEAP_DUMP_SEGMENT, self.micros)?,
        )?;
        let result = self.out.write_all(self.segment.bytes());
        self.segment.reset();
        result
    }

    /// Writes the head of a segment of `length` bytes, which go to the writer returned.
    pub(super) fn begin_encoded_segment(&mut self, length: u32) -> io::Result<&mut dyn Write> {
        let [t0, t1, t2, t3] = self.micros.to_be_bytes();
        let [l0, l1, l2, l3] = length.to_be_bytes();
        let tag = tags::record::HEAP_DUMP_SEGMENT;
        self.out.write_all(&[tag, t0, t1, t2, t3, l0, l1, l2, l3])?;
        Ok(&mut self.out)
    }

    /// The trace itself if the file has it, else the one for all unknown ones.
    pub(super) fn known_trace(&self, trace: TraceSerial) -> TraceSerial {
        if self.has_trace(trace) {
            trace
        } else {
            TraceSerial::SYSTEM
        }
    }

    fn trace_record(&mut self, trace: &Trace<'_>) -> io::Result<()> {
        let frames = &trace.frames[..trace.frames.len().min(u32::MAX as usize)];
        let frames = frames
            .iter()
            .map(|frame| self.frame(frame))
            .collect::<io::Result<Vec<FrameId>>>()?;
        self.record(tags::record::TRACE, |body| {
            body.trace(trace.serial)
                .u4(trace.thread.map_or(0, ThreadSerial::get));
            body.u4(frames.len() as u32);
            frames.iter().for_each(|&id| {
                body.frame(id);
            });
        })
    }

    fn control_settings(&mut self, settings: &Settings) -> io::Result<()> {
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        let flags = flag(settings.allocation_traces, tags::control::ALLOC_TRACES)
            | flag(settings.cpu_sampling, tags::control::CPU_SAMPLING);
        let depth = u16::try_from(settings.depth).unwrap_or(u16::MAX);
        self.record(tags::record::CONTROL_SETTINGS, |body| {
            body.u4(flags).u2(depth);
        })
    }
}

impl<W: Write> ProfileWriter for BinaryWriter<W> {
    fn begin(&mut self, header: &Header<'_>) -> io::Result<()> {
        self.pending.extend_from_slice(tags::MAGIC_1_0_2);
        self.pending.extend_from_slice(&8u32.to_be_bytes());
        self.pending
            .extend_from_slice(&header.created_millis.to_be_bytes());
        self.control_settings(&header.settings)?;
        self.trace(&Trace {
            serial: TraceSerial::SYSTEM,
            thread: None,
            frames: &[],
        })
    }

    fn set_time(&mut self, micros_since_creation: u64) {
        self.micros = micros_since_creation as u32;
    }

    fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        let name = self.string(thread.name)?;
        let group = self.string(thread.group)?;
        let parent_group = self.string(thread.parent_group)?;
        let trace = if self.has_trace(thread.trace) {
            thread.trace
        } else {
            TraceSerial::SYSTEM
        };
        self.record(tags::record::START_THREAD, |body| {
            body.thread(thread.serial)
                .object(thread.object)
                .trace(trace);
            body.string(name).string(group).string(parent_group);
        })?;
        self.write_pending()
    }

    fn thread_end(&mut self, thread: ThreadSerial) -> io::Result<()> {
        self.record(tags::record::END_THREAD, |body| {
            body.thread(thread);
        })?;
        self.write_pending()
    }

    fn trace(&mut self, trace: &Trace<'_>) -> io::Result<()> {
        if !self.traces.insert(trace.serial.get()) {
            return Ok(());
        }
        self.trace_record(trace)?;
        self.write_pending()
    }

    fn has_trace(&self, serial: TraceSerial) -> bool {
        self.traces.contains(serial.get())
    }

    fn cpu_table(
        &mut self,
        table: &RankedCpuTable,
        _ctime: &str,
        _innermost: InnermostMethod<'_>,
    ) -> io::Result<()> {
        let cost = |cost: u64| match table.kind() {
            CpuKind::Samples => cost,
            CpuKind::Times => round_to_millis(cost),
        };
        self.record(tags::record::CPU_SAMPLES, |body| {
            body.counter(cost(table.total()))
                .counter(table.rows().len() as u64);
            for ranked in table.rows() {
                body.counter(cost(ranked.row.cost)).trace(ranked.row.trace);
            }
        })?;
        self.write_pending()
    }

    fn old_cpu_table(&mut self, _rows: &[OldCpuRow<'_>]) -> io::Result<()> {
        Ok(())
    }

    fn comment(&mut self, _text: &str) -> io::Result<()> {
        Ok(())
    }

    fn mark(&mut self, text: &str) -> io::Result<()> {
        let id = StringId::new(StringId::MARKS + self.marks);
        self.marks += 1;
        let mut bytes = Vec::with_capacity(text.len());
        mutf8::encode(text, &mut bytes);
        self.record(tags::record::UTF8, |body| {
            body.string(id).raw(&bytes);
        })?;
        self.write_pending()
    }

    fn settings(&mut self, settings: &Settings) -> io::Result<()> {
        self.control_settings(settings)?;
        self.write_pending()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn line_number(line: Line) -> i32 {
    match line {
        Line::Number(0) | Line::Unknown => tags::line::UNKNOWN,
        Line::Number(line) => i32::try_from(line).unwrap_or(tags::line::UNKNOWN),
        Line::Native => tags::line::NATIVE,
    }
}

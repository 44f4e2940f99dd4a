//! Walks the records of a binary profile, and insists that whatever a record refers to has been
//! written.

use std::collections::BTreeSet;

use super::bytes::Bytes;
use super::{BinaryFrame, BinaryProfile, BinarySite, BinaryTable, BinaryTrace};
use crate::binary_heap::{BinaryHeap, Names};

/// The profile so far, and references to what may be written later.
#[derive(Default)]
pub(super) struct Walker {
    profile: BinaryProfile,
    expected_traces: BTreeSet<u32>,
    expected_threads: BTreeSet<u32>,
    /// True for the dump that a VM wrote by itself.
    of_the_vm: bool,
    /// Where the record is in the file.
    pub place: (usize, usize),
}

impl Walker {
    /// Nothing is read yet. `of_the_vm` is true for the dump that a VM wrote by itself.
    pub fn new(of_the_vm: bool) -> Self {
        Self {
            of_the_vm,
            ..Self::default()
        }
    }

    /// Reads the header.
    pub fn header(&mut self, file: &mut Bytes) -> Result<(), String> {
        let text = file.take(18)?;
        let version = text.strip_prefix(b"JAVA PROFILE ").unwrap_or_default();
        if !matches!(version, b"1.0.1" | b"1.0.2") || file.u1()? != 0 {
            return Err("no header".into());
        }
        self.profile.version = String::from_utf8_lossy(version).into_owned();
        self.profile.id_size = file.u4()?;
        if !matches!(self.profile.id_size, 4 | 8) {
            return Err(format!("ids of {} bytes", self.profile.id_size));
        }
        self.profile.created = (u64::from(file.u4()?) << 32) | u64::from(file.u4()?);
        Ok(())
    }

    /// Reads the body of a record.
    pub fn record(&mut self, tag: u8, body: &mut Bytes) -> Result<(), String> {
        if self.profile.control.is_none() && tag != 0x0e && !self.of_the_vm {
            return Err("before the CONTROL SETTINGS".into());
        }
        match tag {
            0x01 => self.string(body),
            0x02 => self.load_class(body),
            0x03 => self.class(body.u4()?).map(|_| ()),
            0x04 => self.frame(body),
            0x05 => self.trace(body),
            0x06 => self.alloc_sites(body),
            // The totals are left to tests of their own.
            0x07 => {
                body.0 = &[];
                Ok(())
            }
            0x0a => self.start_thread(body),
            0x0b => self.end_thread(body),
            0x0d => self.cpu_samples(body),
            0x0e => {
                // Later ones answer commands.
                let settings = (body.u4()?, body.u2()?);
                self.profile.control.get_or_insert(settings);
                Ok(())
            }
            0x0c | 0x1c => self.heap_segment(body),
            0x2c => match self.profile.heaps.last_mut() {
                Some(heap) if !heap.ended => {
                    heap.ended = true;
                    Ok(())
                }
                _ => Err("the end of no heap dump".into()),
            },
            _ => Err("unknown".into()),
        }
    }

    fn alloc_sites(&mut self, body: &mut Bytes) -> Result<(), String> {
        body.take(2 + 4 + 4 + 4 + 8 + 8)?;
        let mut rows = Vec::new();
        for _ in 0..body.u4()? {
            body.u1()?;
            let serial = body.u4()?;
            let class = self.class(serial)?.to_owned();
            let class_id = self.profile.class_ids[&serial];
            let trace = body.u4()?;
            if !self.profile.traces.contains_key(&trace) {
                return Err(format!("trace {trace} has not been written"));
            }
            let mut counts = [0; 4];
            for count in &mut counts {
                *count = body.u4()?;
            }
            let [live_bytes, live_objects, allocated_bytes, allocated_objects] = counts;
            rows.push(BinarySite {
                class,
                class_id,
                trace,
                live_bytes,
                live_objects,
                allocated_bytes,
                allocated_objects,
            });
        }
        self.profile.site_tables.push(rows);
        Ok(())
    }

    fn string(&mut self, body: &mut Bytes) -> Result<(), String> {
        let id = self.id(body)?;
        let text = String::from_utf8_lossy(std::mem::take(&mut body.0)).into_owned();
        let known = self.profile.strings.insert(id, text);
        let new = id != 0 && (known.is_none() || self.of_the_vm);
        new.then_some(())
            .ok_or_else(|| format!("string id {id:x} is zero or written twice"))
    }

    fn heap_segment(&mut self, body: &mut Bytes) -> Result<(), String> {
        let profile = &mut self.profile;
        if profile.heaps.last().is_none_or(|heap| heap.ended) {
            profile.heaps.push(BinaryHeap::default());
        }
        let names = Names {
            id_size: profile.id_size,
            strings: &profile.strings,
            class_names: &profile.class_names,
        };
        let heap = profile.heaps.last_mut().ok_or("no heap dump")?;
        heap.segments.push(self.place);
        let first = heap.roots.len();
        heap.segment(body, &names)?;
        if !self.of_the_vm {
            for root in &heap.roots[first..] {
                self.expected_threads.extend(root.thread);
                if root.tag == 0x08 {
                    self.expected_traces.extend(root.place);
                }
            }
        }
        Ok(())
    }

    fn load_class(&mut self, body: &mut Bytes) -> Result<(), String> {
        let serial = body.u4()?;
        let object = self.id(body)?;
        self.expected_traces.insert(body.u4()?);
        let mut name = self.text(body)?;
        if self.of_the_vm {
            name = java_name(&name);
            self.profile.class_names.insert(object, name.clone());
            self.profile.class_ids.insert(serial, object);
            self.profile.classes.insert(serial, name);
            return Ok(());
        }
        let again = self.profile.class_names.insert(object, name.clone());
        // After a dump a collection may move the object of another class to this address.
        let may_have_moved = self.profile.heaps.iter().any(|heap| heap.ended);
        if again.is_some() && !may_have_moved {
            return Err(format!("class object {object:x} was loaded before"));
        }
        self.profile.class_ids.insert(serial, object);
        let new = serial != 0 && self.profile.classes.insert(serial, name).is_none();
        new.then_some(())
            .ok_or_else(|| format!("class serial {serial} is zero or written twice"))
    }

    fn frame(&mut self, body: &mut Bytes) -> Result<(), String> {
        let id = self.id(body)?;
        let name = self.text(body)?;
        let signature = self.text(body)?;
        let source = self.optional_text(body)?;
        let class = self.class(body.u4()?)?.to_owned();
        let line = body.u4()? as i32;
        if (line == 0 && !self.of_the_vm) || line < -3 {
            return Err(format!("line {line}"));
        }
        let frame = BinaryFrame {
            method: format!("{class}.{name}"),
            signature,
            source,
            line,
        };
        let new = id != 0 && self.profile.frames.insert(id, frame).is_none();
        new.then_some(())
            .ok_or_else(|| format!("frame id {id:x} is zero or written twice"))
    }

    fn trace(&mut self, body: &mut Bytes) -> Result<(), String> {
        let serial = body.u4()?;
        let thread = body.u4()?;
        if thread != 0 && !self.of_the_vm {
            self.expected_threads.insert(thread);
        }
        let mut frames = Vec::new();
        for _ in 0..body.u4()? {
            let id = self.id(body)?;
            if !self.profile.frames.contains_key(&id) {
                return Err(format!("frame {id:x} has not been written"));
            }
            frames.push(id);
        }
        let trace = BinaryTrace { thread, frames };
        let new = serial != 0 && self.profile.traces.insert(serial, trace).is_none();
        new.then_some(())
            .ok_or_else(|| format!("trace serial {serial} is zero or written twice"))
    }

    fn start_thread(&mut self, body: &mut Bytes) -> Result<(), String> {
        let serial = body.u4()?;
        let object = self.id(body)?;
        self.profile.thread_objects.insert(serial, object);
        self.expected_traces.insert(body.u4()?);
        let name = self.text(body)?;
        let _group = self.optional_text(body)?;
        let _parent_group = self.optional_text(body)?;
        let new = serial != 0 && self.profile.threads.insert(serial, name).is_none();
        new.then_some(())
            .ok_or_else(|| format!("thread serial {serial} is zero or written twice"))
    }

    fn end_thread(&mut self, body: &mut Bytes) -> Result<(), String> {
        let serial = body.u4()?;
        let started = self.profile.threads.contains_key(&serial);
        let new = started && self.profile.ended_threads.insert(serial);
        new.then_some(())
            .ok_or_else(|| format!("thread {serial} not started or ended twice"))
    }

    fn cpu_samples(&mut self, body: &mut Bytes) -> Result<(), String> {
        let total = body.u4()?;
        let mut rows = Vec::new();
        for _ in 0..body.u4()? {
            let (count, trace) = (body.u4()?, body.u4()?);
            if !self.profile.traces.contains_key(&trace) {
                return Err(format!("trace {trace} has not been written"));
            }
            rows.push((count, trace));
        }
        let sum: u64 = rows.iter().map(|(count, _)| u64::from(*count)).sum();
        if sum > u64::from(total) {
            return Err(format!("rows make {sum} samples of {total}"));
        }
        self.profile.tables.push(BinaryTable { total, rows });
        Ok(())
    }

    /// The profile, if nothing is missing at the end.
    pub fn end(self) -> Result<BinaryProfile, String> {
        let Walker {
            profile,
            expected_traces,
            expected_threads,
            of_the_vm,
            ..
        } = self;
        if !of_the_vm {
            profile.control.ok_or("no CONTROL SETTINGS")?;
        }
        if let Some(serial) = expected_traces
            .iter()
            .find(|it| !profile.traces.contains_key(it))
        {
            return Err(format!("trace {serial} is referred to and never written"));
        }
        if let Some(serial) = expected_threads
            .iter()
            .find(|it| !profile.threads.contains_key(it))
        {
            return Err(format!("thread {serial} is referred to and never written"));
        }
        Ok(profile)
    }

    fn id(&self, body: &mut Bytes) -> Result<u64, String> {
        match self.profile.id_size {
            4 => body.u4().map(u64::from),
            _ => Ok((u64::from(body.u4()?) << 32) | u64::from(body.u4()?)),
        }
    }

    fn text(&self, body: &mut Bytes) -> Result<String, String> {
        self.optional_text(body)?.ok_or("a name is missing".into())
    }

    fn optional_text(&self, body: &mut Bytes) -> Result<Option<String>, String> {
        match self.id(body)? {
            0 => Ok(None),
            id => match self.profile.strings.get(&id) {
                Some(text) => Ok(Some(text.clone())),
                None => Err(format!("string {id:x} has not been written")),
            },
        }
    }

    fn class(&self, serial: u32) -> Result<&str, String> {
        let class = self.profile.classes.get(&serial);
        class
            .map(String::as_str)
            .ok_or_else(|| format!("class {serial} has not been written"))
    }
}

/// A class name in internal form (`[Ljava/lang/String;`) as Java source has it.
fn java_name(internal: &str) -> String {
    let element = internal.trim_start_matches('[');
    let dimensions = internal.len() - element.len();
    let name = match element {
        _ if dimensions == 0 => internal,
        "Z" => "boolean",
        "C" => "char",
        "F" => "float",
        "D" => "double",
        "B" => "byte",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        class => class.trim_start_matches('L').trim_end_matches(';'),
    };
    name.replace('/', ".").replace("+0x", ".0x") + &"[]".repeat(dimensions)
}

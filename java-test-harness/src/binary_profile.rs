//! Walks the binary format, for assertions: insists that whatever a record refers to has been
//! written.
//!
//! Written from the format's description in the HPROF manual ("HPROF Binary Format") alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::binary_heap::{BinaryHeap, Names};

/// A binary profile in which every reference has been followed.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct BinaryProfile {
    /// `1.0.1` or `1.0.2`.
    pub version: String,
    /// Size of an id in bytes.
    pub id_size: u32,
    /// Creation time, in milliseconds since 1970.
    pub created: u64,
    /// CONTROL SETTINGS: flags (2: CPU sampling) and depth.
    pub control: Option<(u32, u16)>,
    /// STRING records, by id.
    pub strings: BTreeMap<u64, String>,
    /// Class names of the LOAD CLASS records, by class serial.
    pub classes: BTreeMap<u32, String>,
    /// FRAME records, by id.
    pub frames: BTreeMap<u64, BinaryFrame>,
    /// TRACE records, by serial.
    pub traces: BTreeMap<u32, BinaryTrace>,
    /// Names of the START THREAD records, by thread serial.
    pub threads: BTreeMap<u32, String>,
    /// Serials of the END THREAD records.
    pub ended_threads: BTreeSet<u32>,
    /// CPU SAMPLES records, one per dump.
    pub tables: Vec<BinaryTable>,
    /// ALLOC SITES records, in order.
    pub site_tables: Vec<Vec<BinarySite>>,
    /// Heap dumps.
    pub heaps: Vec<BinaryHeap>,
    /// Class names in Java form by the id of the class object.
    pub class_names: BTreeMap<u64, String>,
}

/// A FRAME record, with its references resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryFrame {
    /// `Class.method`, the class in its Java form.
    pub method: String,
    /// Signature of the method.
    pub signature: String,
    /// Source file, unless unknown.
    pub source: Option<String>,
    /// Line, or a negative number: -1 unknown, -2 compiled, -3 native.
    pub line: i32,
}

/// A TRACE record.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryTrace {
    /// Thread serial, or 0.
    pub thread: u32,
    /// Frame ids, innermost first.
    pub frames: Vec<u64>,
}

/// A row of an ALLOC SITES record.
#[derive(Debug, Clone, PartialEq)]
pub struct BinarySite {
    /// Name of the class.
    pub class: String,
    /// Trace serial.
    pub trace: u32,
    /// Bytes alive.
    pub live_bytes: u32,
    /// Objects alive.
    pub live_objects: u32,
    /// Bytes ever allocated.
    pub allocated_bytes: u32,
    /// Objects ever allocated.
    pub allocated_objects: u32,
}

/// A CPU SAMPLES record.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryTable {
    /// Samples in total.
    pub total: u32,
    /// Samples and trace serial of each row.
    pub rows: Vec<(u32, u32)>,
}

impl BinaryProfile {
    /// Walks a file.
    ///
    /// # Errors
    ///
    /// Tells what is malformed, written twice, or referred to without having been written.
    pub fn parse(bytes: &[u8]) -> Result<BinaryProfile, String> {
        Self::walk(bytes, Walker::default())
    }

    /// Walks the heap dump that a VM wrote by itself, whose habits are its own: no settings, names
    /// in internal form, records that are written twice.
    ///
    /// # Errors
    ///
    /// Tells what is malformed or referred to without having been written.
    pub fn parse_vm_dump(bytes: &[u8]) -> Result<BinaryProfile, String> {
        let lenient = Walker {
            of_the_vm: true,
            ..Walker::default()
        };
        Self::walk(bytes, lenient)
    }

    /// The only heap dump.
    ///
    /// # Panics
    ///
    /// When there is none or several.
    pub fn heap(&self) -> &BinaryHeap {
        assert_eq!(self.heaps.len(), 1, "heap dumps");
        &self.heaps[0]
    }

    fn walk(bytes: &[u8], mut walker: Walker) -> Result<BinaryProfile, String> {
        let mut file = Bytes(bytes);
        walker.header(&mut file)?;
        while !file.0.is_empty() {
            let at = bytes.len() - file.0.len();
            let tag = file.u1()?;
            let _time = file.u4()?;
            let length = file.u4()? as usize;
            walker.place = (at, at + 9 + length);
            let mut body = Bytes(file.take(length)?);
            walker
                .record(tag, &mut body)
                .and_then(|()| {
                    body.0
                        .is_empty()
                        .then_some(())
                        .ok_or("bytes left over".into())
                })
                .map_err(|problem| format!("record 0x{tag:02x} at byte {at}: {problem}"))?;
        }
        walker.end()
    }

    /// The last table.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn table(&self) -> &BinaryTable {
        self.tables
            .last()
            .expect("the profile has a CPU SAMPLES record")
    }

    /// Samples of the last table with this method, given as `Class.method`, anywhere in the trace.
    pub fn samples_with(&self, method: &str) -> u64 {
        let has = |trace: u32| {
            let frames = &self.traces[&trace].frames;
            frames
                .iter()
                .any(|frame| self.frames[frame].method == method)
        };
        let rows = self.table().rows.iter().filter(|(_, trace)| has(*trace));
        rows.map(|(count, _)| u64::from(*count)).sum()
    }
}

/// The profile so far, and references to what may be written later.
#[derive(Default)]
struct Walker {
    profile: BinaryProfile,
    expected_traces: BTreeSet<u32>,
    expected_threads: BTreeSet<u32>,
    of_the_vm: bool,
    /// Where the record is in the file.
    place: (usize, usize),
}

impl Walker {
    fn header(&mut self, file: &mut Bytes) -> Result<(), String> {
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

    fn record(&mut self, tag: u8, body: &mut Bytes) -> Result<(), String> {
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
            let class = self.class(body.u4()?)?.to_owned();
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
            self.profile.classes.insert(serial, name);
            return Ok(());
        }
        let again = self.profile.class_names.insert(object, name.clone());
        if again.is_some() {
            return Err(format!("class object {object:x} was loaded before"));
        }
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
        let _object = self.id(body)?;
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

    fn end(self) -> Result<BinaryProfile, String> {
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

/// The bytes that are left to read.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn u1(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u2(&mut self) -> Result<u16, String> {
        Ok((u16::from(self.u1()?) << 8) | u16::from(self.u1()?))
    }

    pub(crate) fn u4(&mut self) -> Result<u32, String> {
        Ok((u32::from(self.u2()?) << 16) | u32::from(self.u2()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tag: u8, words: &[u32], rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag, 0, 0, 0, 0];
        bytes.extend((words.len() as u32 * 4 + rest.len() as u32).to_be_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend(rest);
        bytes
    }

    /// A small profile with ids of four bytes, record by record.
    fn sample() -> Vec<Vec<u8>> {
        vec![
            [
                b"JAVA PROFILE 1.0.2\0" as &[u8],
                &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9],
            ]
            .concat(),
            record(0x0e, &[2], &[0, 4]),
            record(0x01, &[1], b"Spin"),
            record(0x01, &[2], b"hot"),
            record(0x01, &[3], b"()V"),
            record(0x02, &[100, 77, 300, 1], b""),
            record(0x0a, &[200, 78, 300, 1, 0, 0], b""),
            record(0x04, &[7, 2, 3, 0, 100, 12], b""),
            record(0x05, &[300, 0, 0], b""),
            record(0x05, &[301, 200, 1, 7], b""),
            record(0x0d, &[5, 1, 4, 301], b""),
            record(0x0b, &[200], b""),
        ]
    }

    #[test]
    fn walks_a_profile() {
        let profile = BinaryProfile::parse(&sample().concat()).unwrap();
        assert_eq!(
            (profile.version.as_str(), profile.id_size, profile.created),
            ("1.0.2", 4, 9)
        );
        assert_eq!(profile.control, Some((2, 4)));
        assert_eq!(profile.frames[&7].method, "Spin.hot");
        assert_eq!(profile.samples_with("Spin.hot"), 4);
        assert_eq!(profile.table().total, 5);
        assert_eq!(profile.threads[&200], "Spin");
    }

    #[test]
    fn nothing_may_be_missing_or_twice() {
        // Without the table and the end of the thread a profile is still whole.
        for index in 0..10 {
            let mut records = sample();
            records.remove(index);
            assert!(
                BinaryProfile::parse(&records.concat()).is_err(),
                "without record {index}"
            );
        }
        // The settings may change while a program runs, which a second record of them tells.
        for index in (0..10).filter(|index| *index != 1) {
            let mut records = sample();
            records.insert(index, records[index].clone());
            assert!(
                BinaryProfile::parse(&records.concat()).is_err(),
                "with record {index} twice"
            );
        }
    }

    #[test]
    fn cut_files_are_noticed() {
        for (index, last) in sample().iter().enumerate() {
            let whole = sample()[..index].concat();
            for length in 1..last.len() {
                let cut = [&whole, &last[..length]].concat();
                assert!(
                    BinaryProfile::parse(&cut).is_err(),
                    "record {index} cut at {length}"
                );
            }
        }
    }
}

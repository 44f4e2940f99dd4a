//! A heap dump of any size, written without a JVM: as HotSpot writes one, with the references of a
//! program that keeps a chain of nodes, a list of strings, a map and arrays.
//!
//! Objects lie one after the other as HotSpot with compressed references lays them out, so that
//! they have the addresses and the sizes that a real heap would give them.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use hprof_format::binary::{
    BasicType, Body, ClassDump, Constants, IdSize, Ids, InstanceField, InstanceFields, Record,
    RecordWriter, StaticField, StaticFields, SubRecord, SubRecords, Value,
};
use hprof_format::ids::{ClassSerial, ObjectId, StringId, ThreadSerial, TraceSerial};
use hprof_format::model::{Root, RootKind};
use hprof_format::reader::{FileHeader, Version};

/// How large a dump is to be.
#[derive(Debug, Clone, Copy)]
pub struct MadeDump {
    /// Rounds of ten objects each.
    pub rounds: u64,
    /// The bytes of the note that each round has.
    pub note_bytes: u64,
}

/// The bytes of records in a segment, about as many as HotSpot's.
const SEGMENT: usize = 1 << 20;
/// The start of the heap.
const BASE: u64 = 0x7_0000_0000;
const CLASSES: u64 = 0x100;
const IDS: IdSize = IdSize::Eight;

/// Name, super class, fields; a class is known by its place here.
type Class = (&'static str, usize, &'static [(&'static str, BasicType)]);
const OBJECT: usize = 0;
const STRING: usize = 1;
const INTEGER: usize = 2;
const NODE: usize = 3;
const ENTRY: usize = 4;
const MAP: usize = 5;
const LIST: usize = 6;
const OBJECTS: usize = 7;
const ENTRIES: usize = 8;
const PROGRAM: usize = 9;
const THREAD: usize = 10;
const CLASS_LIST: [Class; 12] = [
    ("java/lang/Object", OBJECT, &[]),
    (
        "java/lang/String",
        OBJECT,
        &[
            ("value", BasicType::Object),
            ("hash", BasicType::Int),
            ("coder", BasicType::Byte),
        ],
    ),
    ("java/lang/Integer", OBJECT, &[("value", BasicType::Int)]),
    (
        "Program$Node",
        OBJECT,
        &[
            ("next", BasicType::Object),
            ("number", BasicType::Int),
            ("payload", BasicType::Object),
        ],
    ),
    (
        "java/util/HashMap$Node",
        OBJECT,
        &[
            ("hash", BasicType::Int),
            ("key", BasicType::Object),
            ("value", BasicType::Object),
            ("next", BasicType::Object),
        ],
    ),
    (
        "java/util/HashMap",
        OBJECT,
        &[("table", BasicType::Object), ("size", BasicType::Int)],
    ),
    (
        "java/util/ArrayList",
        OBJECT,
        &[("elementData", BasicType::Object), ("size", BasicType::Int)],
    ),
    ("[Ljava/lang/Object;", OBJECT, &[]),
    ("[Ljava/util/HashMap$Node;", OBJECT, &[]),
    ("Program", OBJECT, &[]),
    ("java/lang/Thread", OBJECT, &[("name", BasicType::Object)]),
    ("java/lang/Class", OBJECT, &[]),
];
/// The values of the program's static fields, in the order of the objects after the rounds.
const STATICS: [&str; 4] = ["chain", "list", "map", "arrays"];

fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(8)
}

/// The offsets of a round's objects, and its length.
struct Round {
    text: u64,
    note: u64,
    bytes: u64,
}

impl MadeDump {
    /// The number of objects, without those that hold all others.
    pub fn objects(&self) -> u64 {
        10 * self.rounds
    }

    fn round(&self) -> Round {
        // Three nodes, long[3], String, Integer, entry, Object[2].
        let text = 3 * 24 + 40 + 24 + 16 + 32 + 24;
        let note = text + aligned(16 + 17);
        Round {
            text,
            note,
            bytes: note + aligned(16 + self.note_bytes),
        }
    }

    /// Writes the dump.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let header = FileHeader {
            version: Version::V1_0_2,
            id_size: IDS,
            created_millis: 1_700_000_000_000,
        };
        let mut out = RecordWriter::new(out, &header)?;
        let names = write_names(&mut out)?;
        let round = self.round();
        let at = |number: u64| BASE + number * round.bytes;
        let end = at(self.rounds);
        let slots = 1u64 << self.rounds.max(2).ilog2();
        let list = end;
        let elements = list + 24;
        let map = elements + aligned(16 + 4 * self.rounds);
        let table = map + 24;
        let arrays = table + aligned(16 + 4 * slots);
        let array_elements = arrays + 24;
        let thread = array_elements + aligned(16 + 4 * self.rounds);
        let held = [at(self.rounds - 1) + 48, list, map, arrays];
        self.write_roots(&mut out, &names, held, thread)?;
        let mut segment = Segment::default();
        // A map spreads its keys over the table; numbers that an odd one multiplies do too.
        let slot = |number: u64| number.wrapping_mul(0x9e37_79b1) % slots;
        for number in 0..self.rounds {
            let own = at(number);
            let before = if number == 0 { 0 } else { at(number - 1) + 48 };
            let int = number as u32;
            let payload = own + 72;
            segment.node(own, before, int, payload);
            segment.node(own + 24, own, int.wrapping_neg(), 0);
            segment.node(own + 48, own + 24, int, 0);
            let longs = [number.to_be_bytes(), [0; 8], [0; 8]].concat();
            segment.array(payload, BasicType::Long, &longs);
            let text = own + round.text;
            segment.instance(own + 112, STRING, |body| {
                body.id(text).u4(0).u1(0);
            });
            segment.instance(own + 136, INTEGER, |body| {
                body.u4(int);
            });
            // At most two keys share a slot.
            let next = number + slots;
            let next = if next < self.rounds {
                at(next) + 152
            } else {
                0
            };
            segment.instance(own + 152, ENTRY, |body| {
                body.u4(int).id(own + 136).id(own + 48).id(next);
            });
            segment.objects(own + 184, OBJECTS, [own + 48, 0].into_iter());
            let words = format!("string {number:010}");
            segment.array(text, BasicType::Byte, words.as_bytes());
            let mut note = vec![b'n'; self.note_bytes as usize];
            // One note in four is like no other.
            if number % 4 == 0 {
                let digits = number.to_be_bytes();
                let length = note.len().min(8);
                note[..length].copy_from_slice(&digits[..length]);
            }
            segment.array(own + round.note, BasicType::Byte, &note);
            if segment.body.bytes().len() >= SEGMENT {
                segment.flush(&mut out)?;
            }
        }
        segment.instance(list, LIST, |body| {
            body.id(elements).u4(self.rounds as u32);
        });
        let strings = (0..self.rounds).map(|number| at(number) + 112);
        segment.objects(elements, OBJECTS, strings);
        segment.instance(map, MAP, |body| {
            body.id(table).u4(self.rounds as u32);
        });
        let mut slots: Vec<u64> = vec![0; slots as usize];
        for number in 0..self.rounds.min(slots.len() as u64) {
            slots[slot(number) as usize] = at(number) + 152;
        }
        segment.objects(table, ENTRIES, slots.into_iter());
        segment.flush(&mut out)?;
        segment.instance(arrays, LIST, |body| {
            body.id(array_elements).u4(self.rounds as u32);
        });
        // The list of arrays holds the arrays of even rounds and the notes of odd ones; the others
        // are garbage that was not collected.
        let all = (0..self.rounds)
            .map(|number| at(number) + if number % 2 == 0 { 184 } else { round.note });
        segment.objects(array_elements, OBJECTS, all);
        segment.instance(thread, THREAD, |body| {
            body.id(at(0) + 112);
        });
        segment.flush(&mut out)?;
        out.record(0, &Record::HeapDumpEnd)?;
        out.into_inner().into_inner()?.sync_all()
    }

    fn write_roots(
        &self,
        out: &mut RecordWriter<impl io::Write>,
        names: &Names,
        held: [u64; 4],
        thread: u64,
    ) -> io::Result<()> {
        let root = |object: u64, kind: RootKind| {
            let object = ObjectId::new(object);
            SubRecord::Root(Root { object, kind })
        };
        let mut all = vec![root(
            thread,
            RootKind::ThreadObject {
                thread: ThreadSerial::new(1),
                trace: TraceSerial::new(1),
            },
        )];
        let bytes: Vec<(Vec<u8>, Vec<u8>)> = (0..CLASS_LIST.len())
            .map(|class| names.members(class, held))
            .collect();
        for (class, (statics, fields)) in bytes.iter().enumerate() {
            let dump = ClassDump {
                class: class_id(class),
                trace: TraceSerial::new(1),
                super_class: match class {
                    OBJECT => ObjectId::NULL,
                    class => class_id(CLASS_LIST[class].1),
                },
                loader: ObjectId::NULL,
                signers: ObjectId::NULL,
                domain: ObjectId::NULL,
                instance_size: CLASS_LIST[class]
                    .2
                    .iter()
                    .map(|f| f.1.width(IDS) as u32)
                    .sum(),
                constants: Constants::new(&[], IDS).ok_or(io::ErrorKind::InvalidInput)?,
                statics: StaticFields::new(statics, IDS).ok_or(io::ErrorKind::InvalidInput)?,
                fields: InstanceFields::new(fields, IDS).ok_or(io::ErrorKind::InvalidInput)?,
            };
            all.push(SubRecord::Class(dump));
            all.push(root(class_id(class).get(), RootKind::StickyClass));
        }
        out.heap(0, true, all)
    }
}

fn class_id(class: usize) -> ObjectId {
    ObjectId::new(BASE - 0x10_0000 + CLASSES * class as u64)
}

/// The identifiers of names.
struct Names(Vec<&'static str>);

impl Names {
    fn of(&self, name: &str) -> StringId {
        let place = self.0.iter().position(|known| *known == name);
        StringId::new(place.map_or(0, |place| place as u64 + 1))
    }

    /// The static and instance fields of a class as bytes.
    fn members(&self, class: usize, held: [u64; 4]) -> (Vec<u8>, Vec<u8>) {
        let (mut statics, mut fields) = (Body::new(IDS), Body::new(IDS));
        if class == PROGRAM {
            for (name, object) in STATICS.into_iter().zip(held) {
                let value = Value::Object(ObjectId::new(object));
                let name = self.of(name);
                StaticField { name, value }.write(&mut statics);
            }
        }
        for &(name, basic_type) in CLASS_LIST[class].2 {
            let name = self.of(name);
            InstanceField { name, basic_type }.write(&mut fields);
        }
        (statics.bytes().to_vec(), fields.bytes().to_vec())
    }
}

fn write_names(out: &mut RecordWriter<impl io::Write>) -> io::Result<Names> {
    let mut names = Names(vec!["[B", "[J"]);
    names.0.extend(STATICS);
    for (class, _, fields) in CLASS_LIST {
        names.0.push(class);
        names.0.extend(fields.iter().map(|field| field.0));
    }
    for (place, name) in names.0.iter().enumerate() {
        let id = StringId::new(place as u64 + 1);
        let bytes = name.as_bytes();
        out.record(0, &Record::Utf8 { id, bytes })?;
    }
    for (place, (name, _, _)) in CLASS_LIST.iter().enumerate() {
        out.record(
            0,
            &Record::LoadClass {
                serial: ClassSerial::new(place as u32 + 1),
                class: class_id(place),
                trace: TraceSerial::new(1),
                name: names.of(name),
            },
        )?;
    }
    out.record(
        0,
        &Record::Trace {
            serial: TraceSerial::new(1),
            thread: ThreadSerial::new(1),
            frames: Ids::new(&[], IDS),
        },
    )?;
    Ok(names)
}

/// The segment that is being filled, as the bytes of its records.
struct Segment {
    body: Body,
    values: Body,
}

impl Default for Segment {
    fn default() -> Self {
        Self {
            body: Body::new(IDS),
            values: Body::new(IDS),
        }
    }
}

impl Segment {
    fn node(&mut self, own: u64, next: u64, number: u32, payload: u64) {
        self.instance(own, NODE, |body| {
            body.id(next).u4(number).id(payload);
        });
    }

    fn instance(&mut self, own: u64, class: usize, fill: impl FnOnce(&mut Body)) {
        self.values.clear();
        fill(&mut self.values);
        let record = SubRecord::Instance {
            object: ObjectId::new(own),
            trace: TraceSerial::new(1),
            class: class_id(class),
            values: self.values.bytes(),
        };
        record.encode(&mut self.body);
    }

    fn array(&mut self, own: u64, element: BasicType, values: &[u8]) {
        let record = SubRecord::PrimitiveArray {
            array: ObjectId::new(own),
            trace: TraceSerial::new(1),
            element,
            values,
        };
        record.encode(&mut self.body);
    }

    fn objects(&mut self, own: u64, class: usize, elements: impl Iterator<Item = u64>) {
        self.values.clear();
        for element in elements {
            self.values.id(element);
        }
        let record = SubRecord::ObjectArray {
            array: ObjectId::new(own),
            trace: TraceSerial::new(1),
            class: class_id(class),
            elements: Ids::new(self.values.bytes(), IDS),
        };
        record.encode(&mut self.body);
    }

    /// Writes the segment as it is.
    fn flush(&mut self, out: &mut RecordWriter<impl io::Write>) -> io::Result<()> {
        let records = SubRecords::new(self.body.bytes(), IDS, 0);
        out.record(0, &Record::HeapDumpSegment(records))?;
        self.body.clear();
        Ok(())
    }
}

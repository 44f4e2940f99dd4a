//! Written records are read back unchanged, for every record at both widths; and no bytes whatever
//! upset the readers.

mod common;

use proptest::prelude::*;

use hprof_format::binary::{
    AllocSite, AllocSiteRows, BasicType, Body, ClassDump, Constant, Constants, CpuSamples, IdSize,
    Ids, InstanceField, InstanceFields, Record, RecordWriter, StaticField, StaticFields, SubRecord,
    Value,
};
use hprof_format::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};
use hprof_format::model::{Root, RootKind};
use hprof_format::reader::{Damage, Event, FileHeader, Reader, Version};

fn header(id_size: IdSize) -> FileHeader {
    FileHeader {
        version: Version::V1_0_2,
        id_size,
        created_millis: 1,
    }
}

/// Numbers and bytes from which records of any kind are made.
#[derive(Debug, Clone)]
struct Seed {
    kind: u8,
    numbers: [u64; 6],
    micros: u32,
    bytes: Vec<u8>,
}

fn seeds(kinds: u8) -> impl Strategy<Value = Vec<Seed>> {
    let number = prop_oneof![0u64..4, any::<u32>().prop_map(u64::from), any::<u64>()];
    let bytes = prop::collection::vec(any::<u8>(), 0..100);
    let seed = (0..kinds, prop::array::uniform6(number), any::<u32>(), bytes).prop_map(
        |(kind, numbers, micros, bytes)| Seed {
            kind,
            numbers,
            micros,
            bytes,
        },
    );
    prop::collection::vec(seed, 0..12)
}

/// Hands out the numbers of a seed as fields.
struct Fields<'a> {
    seed: &'a Seed,
    id_size: IdSize,
    next: usize,
}

impl Fields<'_> {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.seed.numbers[(self.next - 1) % 6].rotate_left(self.next as u32 / 6)
    }

    fn u4(&mut self) -> u32 {
        self.number() as u32
    }

    fn id(&mut self) -> u64 {
        match self.id_size {
            IdSize::Four => self.number() & 0xffff_ffff,
            IdSize::Eight => self.number(),
        }
    }

    fn object(&mut self) -> ObjectId {
        ObjectId::new(self.id())
    }

    fn string(&mut self) -> StringId {
        StringId::new(self.id())
    }

    fn thread(&mut self) -> ThreadSerial {
        ThreadSerial::new(self.u4())
    }

    fn trace(&mut self) -> TraceSerial {
        TraceSerial::new(self.u4())
    }

    fn class(&mut self) -> ClassSerial {
        ClassSerial::new(self.u4())
    }

    fn basic_type(&mut self) -> BasicType {
        BasicType::ALL[self.number() as usize % 9]
    }

    fn value(&mut self) -> Value {
        let basic_type = self.basic_type();
        let mut body = Body::new(self.id_size);
        let number = self.number();
        body.u8(if basic_type == BasicType::Boolean {
            number >> 63 << 56
        } else {
            number
        });
        Value::read(basic_type, body.bytes(), self.id_size).unwrap()
    }
}

const RECORDS: u8 = 14;

fn record<'a>(seed: &'a Seed, id_size: IdSize) -> Record<'a> {
    let f = &mut Fields {
        seed,
        id_size,
        next: 0,
    };
    let bytes = &seed.bytes[..];
    match seed.kind {
        0 => Record::Utf8 {
            id: f.string(),
            bytes,
        },
        1 => Record::LoadClass {
            serial: f.class(),
            class: f.object(),
            trace: f.trace(),
            name: f.string(),
        },
        2 => Record::UnloadClass { serial: f.class() },
        3 => Record::Frame {
            id: FrameId::new(f.id()),
            method: f.string(),
            signature: f.string(),
            source_file: f.string(),
            class: f.class(),
            line: f.u4() as i32,
        },
        4 => {
            let frames = Ids::new(bytes, id_size);
            Record::Trace {
                serial: f.trace(),
                thread: f.thread(),
                frames,
            }
        }
        5 => Record::AllocSites {
            flags: f.u4() as u16,
            cutoff: 0.25,
            live_bytes: f.u4(),
            live_instances: f.u4(),
            allocated_bytes: f.number(),
            allocated_instances: f.number(),
            sites: AllocSiteRows::new(bytes),
        },
        6 => Record::HeapSummary {
            live_bytes: f.u4(),
            live_instances: f.u4(),
            allocated_bytes: f.number(),
            allocated_instances: f.number(),
        },
        7 => Record::StartThread {
            serial: f.thread(),
            object: f.object(),
            trace: f.trace(),
            name: f.string(),
            group: f.string(),
            parent_group: f.string(),
        },
        8 => Record::EndThread { serial: f.thread() },
        9 => Record::HeapDumpEnd,
        10 => Record::CpuSamples {
            total: f.u4(),
            samples: CpuSamples::new(bytes),
        },
        11 => Record::ControlSettings {
            flags: f.u4(),
            depth: f.u4() as u16,
        },
        12 => Record::Unknown {
            tag: 0xde,
            body: bytes,
        },
        _ => Record::Unknown {
            tag: 0x10,
            body: bytes,
        },
    }
}

const SUB_RECORDS: u8 = 22;

fn sub_record<'a>(seed: &'a Seed, id_size: IdSize, lists: &'a [Vec<u8>; 3]) -> SubRecord<'a> {
    let f = &mut Fields {
        seed,
        id_size,
        next: 0,
    };
    let bytes = &seed.bytes[..];
    let object = f.object();
    let root = |kind| SubRecord::Root(Root { object, kind });
    let whole = |element: BasicType| &bytes[..bytes.len() - bytes.len() % element.width(id_size)];
    match seed.kind {
        0 => root(RootKind::Unknown),
        1 => root(RootKind::JniGlobal { reference: f.id() }),
        2 => root(RootKind::JniLocal {
            thread: f.thread(),
            frame: None,
        }),
        3 => root(RootKind::JavaFrame {
            thread: f.thread(),
            frame: Some(f.u4() / 2),
        }),
        4 => root(RootKind::NativeStack { thread: f.thread() }),
        5 => root(RootKind::StickyClass),
        6 => root(RootKind::ThreadBlock { thread: f.thread() }),
        7 => root(RootKind::MonitorUsed),
        8 => root(RootKind::ThreadObject {
            thread: f.thread(),
            trace: f.trace(),
        }),
        9 => root(RootKind::InternedString),
        10 => root(RootKind::Finalizing),
        11 => root(RootKind::Debugger),
        12 => root(RootKind::ReferenceCleanup),
        13 => root(RootKind::VmInternal),
        14 => root(RootKind::JniMonitor {
            thread: f.thread(),
            frame: None,
        }),
        15 => SubRecord::Unreachable { object },
        16 => SubRecord::HeapInfo {
            heap: f.u4(),
            name: f.string(),
        },
        17 => SubRecord::Instance {
            object,
            trace: f.trace(),
            class: f.object(),
            values: bytes,
        },
        18 => {
            let elements = Ids::new(bytes, id_size);
            SubRecord::ObjectArray {
                array: object,
                trace: f.trace(),
                class: f.object(),
                elements,
            }
        }
        19 => {
            let (trace, element) = (f.trace(), f.basic_type());
            let values = whole(element);
            SubRecord::PrimitiveArray {
                array: object,
                trace,
                element,
                values,
            }
        }
        20 => {
            let (trace, element, length) = (f.trace(), f.basic_type(), f.u4());
            SubRecord::PrimitiveArrayNoData {
                array: object,
                trace,
                element,
                length,
            }
        }
        _ => SubRecord::Class(ClassDump {
            class: object,
            trace: f.trace(),
            super_class: f.object(),
            loader: f.object(),
            signers: f.object(),
            domain: f.object(),
            instance_size: f.u4(),
            constants: Constants::new(&lists[0], id_size).unwrap(),
            statics: StaticFields::new(&lists[1], id_size).unwrap(),
            fields: InstanceFields::new(&lists[2], id_size).unwrap(),
        }),
    }
}

/// Constants, static fields and instance fields as bytes.
fn class_lists(seed: &Seed, id_size: IdSize) -> [Vec<u8>; 3] {
    let f = &mut Fields {
        seed,
        id_size,
        next: 7,
    };
    let [mut constants, mut statics, mut fields] = [(); 3].map(|()| Body::new(id_size));
    for _ in 0..seed.bytes.len() % 5 {
        Constant {
            index: f.u4() as u16,
            value: f.value(),
        }
        .write(&mut constants);
        StaticField {
            name: f.string(),
            value: f.value(),
        }
        .write(&mut statics);
        StaticField {
            name: f.string(),
            value: f.value(),
        }
        .write(&mut statics);
        InstanceField {
            name: f.string(),
            basic_type: f.basic_type(),
        }
        .write(&mut fields);
    }
    [constants, statics, fields].map(|body| body.bytes().to_vec())
}

/// All records of a file and all sub-records of its heaps, or reports, by debug print.
fn read(file: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for item in Reader::new(file).unwrap() {
        match item.map(|positioned| (positioned, positioned.record)) {
            Ok((at, Record::HeapDump(heap))) => {
                found.push(format!("{} {} heap false", at.offset, at.micros));
                found.extend(heap.map(|sub| format!("{sub:?}")));
            }
            Ok((at, Record::HeapDumpSegment(heap))) => {
                found.push(format!("{} {} heap true", at.offset, at.micros));
                found.extend(heap.map(|sub| format!("{sub:?}")));
            }
            Ok((at, _)) => found.push(format!("{at:?}")),
            Err(damage) => found.push(format!("Err({damage:?})")),
        }
    }
    found
}

fn stream(file: &[u8], step: usize) -> Vec<String> {
    let mut found = Vec::new();
    common::for_each_event(file, step, |event| {
        found.push(match event {
            Ok(Event::Record(at)) => format!("{at:?}"),
            Ok(Event::LongSubRecord { .. }) => panic!("nothing here is that long"),
            Ok(Event::Heap {
                offset,
                micros,
                is_segment,
            }) => {
                format!("{offset} {micros} heap {is_segment}")
            }
            Ok(Event::SubRecord { sub_record, .. }) => {
                format!("{:?}", Ok::<SubRecord<'_>, Damage>(sub_record))
            }
            Err(damage) => {
                // Sub-records and records report alike here.
                format!("Err({damage:?})")
            }
        });
    });
    found
}

const SIZES: [IdSize; 2] = [IdSize::Four, IdSize::Eight];

proptest! {
    #[test]
    fn records(seeds in seeds(RECORDS), step in 1usize..200) {
        for id_size in SIZES {
            let mut writer = RecordWriter::new(Vec::new(), &header(id_size)).unwrap();
            let records: Vec<_> = seeds.iter().map(|seed| record(seed, id_size)).collect();
            for (seed, record) in seeds.iter().zip(&records) {
                writer.record(seed.micros, record).unwrap();
            }
            let file = writer.into_inner();
            let read: Vec<_> = Reader::new(&file).unwrap().map(Result::unwrap).collect();
            prop_assert_eq!(read.iter().map(|found| found.record).collect::<Vec<_>>(), records);
            let times = read.iter().map(|found| found.micros);
            prop_assert!(times.eq(seeds.iter().map(|seed| seed.micros)));
            prop_assert_eq!(stream(&file, step), self::read(&file));
        }
    }

    #[test]
    fn sub_records(seeds in seeds(SUB_RECORDS), is_segment: bool, step in 1usize..200) {
        for id_size in SIZES {
            let lists: Vec<_> = seeds.iter().map(|seed| class_lists(seed, id_size)).collect();
            let subs: Vec<_> = seeds
                .iter()
                .zip(&lists)
                .map(|(seed, lists)| sub_record(seed, id_size, lists))
                .collect();
            let mut writer = RecordWriter::new(Vec::new(), &header(id_size)).unwrap();
            writer.heap(7, is_segment, subs.iter().copied()).unwrap();
            let file = writer.into_inner();
            let found = Reader::new(&file).unwrap().next().unwrap().unwrap();
            let (Record::HeapDump(heap) | Record::HeapDumpSegment(heap)) = found.record else {
                panic!("{found:?}");
            };
            prop_assert_eq!(heap.map(Result::unwrap).collect::<Vec<_>>(), subs.as_slice());
            prop_assert_eq!(stream(&file, step), read(&file));
            // Records of one width copied to the other and back are the same; raw values of
            // instances cannot be, as only their class tells what they are.
            let other = SIZES[usize::from(id_size == SIZES[0])];
            for sub in subs.iter().filter(|sub| !matches!(sub, SubRecord::Instance { .. })) {
                let mut there = Body::new(other);
                sub.encode(&mut there);
                let is_whole = matches!(
                    sub, SubRecord::PrimitiveArray { element: BasicType::Object, .. });
                if there.check().is_ok() && !is_whole {
                    let copy = hprof_format::binary::SubRecords::new(there.bytes(), other, 0)
                        .next().unwrap().unwrap();
                    let mut back = Body::new(id_size);
                    copy.encode(&mut back);
                    let mut straight = Body::new(id_size);
                    sub.encode(&mut straight);
                    prop_assert_eq!(back.bytes(), straight.bytes());
                }
            }
        }
    }

    #[test]
    fn a_cut_loses_nothing_before_it(
        seeds in seeds(SUB_RECORDS), more in seeds(RECORDS), cut in any::<prop::sample::Index>(),
        step in 1usize..200,
    ) {
        let id_size = SIZES[seeds.len() % 2];
        let lists: Vec<_> = seeds.iter().map(|seed| class_lists(seed, id_size)).collect();
        let subs = seeds.iter().zip(&lists).map(|(seed, lists)| sub_record(seed, id_size, lists));
        let mut writer = RecordWriter::new(Vec::new(), &header(id_size)).unwrap();
        writer.record(0, &Record::HeapDumpEnd).unwrap();
        writer.heap(1, true, subs).unwrap();
        for seed in &more {
            writer.record(seed.micros, &record(seed, id_size)).unwrap();
        }
        let file = writer.into_inner();
        let cut = 31 + cut.index(file.len() - 30);
        let (whole, part) = (read(&file), read(&file[..cut]));
        let sound = part.iter().take_while(|found| !found.starts_with("Err")).count();
        prop_assert_eq!(&part[..sound], &whole[..sound]);
        prop_assert!(part.len() <= sound + 1);
        prop_assert_eq!(stream(&file[..cut], step), part);
    }

    #[test]
    fn flipped_bytes_upset_nobody(
        seeds in seeds(SUB_RECORDS), more in seeds(RECORDS),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let id_size = SIZES[seeds.len() % 2];
        let lists: Vec<_> = seeds.iter().map(|seed| class_lists(seed, id_size)).collect();
        let subs = seeds.iter().zip(&lists).map(|(seed, lists)| sub_record(seed, id_size, lists));
        let mut writer = RecordWriter::new(Vec::new(), &header(id_size)).unwrap();
        for seed in &more {
            writer.record(seed.micros, &record(seed, id_size)).unwrap();
        }
        writer.heap(1, true, subs).unwrap();
        writer.record(0, &Record::HeapDumpEnd).unwrap();
        let mut file = writer.into_inner();
        for (at, byte) in flips {
            let at = 31 + at.index(file.len() - 31);
            file[at] = byte;
        }
        prop_assert!(read(&file).len() <= file.len());
        stream(&file, 64);
    }

    #[test]
    fn any_bytes_upset_nobody(tail in prop::collection::vec(any::<u8>(), 0..300), heap: bool) {
        for id_size in SIZES {
            let mut file = header(id_size).to_bytes().to_vec();
            if heap {
                file.extend_from_slice(&[0x1c, 0, 0, 0, 0]);
                file.extend_from_slice(&(tail.len() as u32).to_be_bytes());
            }
            file.extend_from_slice(&tail);
            prop_assert!(read(&file).len() <= file.len());
            prop_assert_eq!(stream(&file, 32).len(), read(&file).len());
        }
    }
}

#[test]
fn sites_keep_their_fields() {
    let site = AllocSite {
        array_kind: 10,
        class: ClassSerial::new(1),
        trace: TraceSerial::new(2),
        live_bytes: 3,
        live_instances: 4,
        allocated_bytes: 5,
        allocated_instances: 6,
    };
    let mut body = Body::new(IdSize::Eight);
    site.write(&mut body);
    site.write(&mut body);
    let rows: Vec<AllocSite> = AllocSiteRows::new(body.bytes()).iter().collect();
    assert_eq!(rows, [site, site]);
}

//! Written records are read back unchanged, for every record at both widths; and no bytes whatever
//! upset the readers.

#[path = "../common/mod.rs"]
mod common;
mod seeds;

use proptest::prelude::*;

use hprof_format::binary::{
    AllocSite, AllocSiteRows, BasicType, Body, ClassDump, Constant, Constants, CpuSamples, IdSize,
    Ids, InstanceField, InstanceFields, Record, RecordWriter, StaticField, StaticFields, SubRecord,
    Value,
};
use hprof_format::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};
use hprof_format::model::{Root, RootKind};
use hprof_format::reader::{Damage, Event, FileHeader, Reader, Version};
use seeds::*;

fn header(id_size: IdSize) -> FileHeader {
    FileHeader {
        version: Version::V1_0_2,
        id_size,
        created_millis: 1,
    }
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

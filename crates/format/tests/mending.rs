//! Both readers go on behind damage at the next place where sound records begin, and say what was
//! lost: the same, whether the file is in memory or comes in pieces.

mod common;

use hprof_format::binary::{BasicType, IdSize, Ids, Record, RecordWriter, SubRecord};
use hprof_format::ids::{ClassSerial, ObjectId, StringId, TraceSerial};
use hprof_format::reader::{Damage, Event, FileHeader, Reader, StreamError, StreamReader, Version};
use proptest::prelude::*;

const TRACE: TraceSerial = TraceSerial::new(1);
const CLASS: ObjectId = ObjectId::new(0x7f00_0010);

/// 40 strings, 40 classes, two segments of 300 objects each, the end.
fn file(id_size: IdSize) -> Vec<u8> {
    let header = FileHeader {
        version: Version::V1_0_2,
        id_size,
        created_millis: 1,
    };
    let mut writer = RecordWriter::new(Vec::new(), &header).unwrap();
    for number in 0..40u32 {
        let id = StringId::new(u64::from(number) + 1);
        let bytes = b"java/lang/String";
        writer.record(0, &Record::Utf8 { id, bytes }).unwrap();
        let record = Record::LoadClass {
            serial: ClassSerial::new(number + 1),
            class: ObjectId::new(CLASS.get() + u64::from(number)),
            trace: TRACE,
            name: id,
        };
        writer.record(0, &record).unwrap();
    }
    let references = [0u8; 24];
    for segment in 0..2u64 {
        let subs = (0..300u64).map(|number| {
            let object = ObjectId::new(0x7000_0000 + segment * 0x10_0000 + number * 24);
            match number % 3 {
                0 => SubRecord::Instance {
                    object,
                    trace: TRACE,
                    class: CLASS,
                    values: &[0, 0, 0, 5, 1, 2],
                },
                1 => SubRecord::ObjectArray {
                    array: object,
                    trace: TRACE,
                    class: CLASS,
                    elements: Ids::new(&references, id_size),
                },
                _ => SubRecord::PrimitiveArray {
                    array: object,
                    trace: TRACE,
                    element: BasicType::Byte,
                    values: b"some text",
                },
            }
        });
        writer.heap(0, true, subs).unwrap();
    }
    writer.record(0, &Record::HeapDumpEnd).unwrap();
    writer.into_inner()
}

#[derive(Debug, Default, PartialEq)]
struct Found {
    records: usize,
    subs: usize,
    damages: Vec<Damage>,
}

fn in_memory(file: &[u8]) -> Found {
    let mut found = Found::default();
    for record in Reader::new(file).unwrap() {
        match record.map(|at| at.record) {
            Ok(Record::HeapDump(heap) | Record::HeapDumpSegment(heap)) => {
                found.records += 1;
                for sub in heap {
                    match sub {
                        Ok(_) => found.subs += 1,
                        Err(damage) => found.damages.push(damage),
                    }
                }
            }
            Ok(_) => found.records += 1,
            Err(damage) => found.damages.push(damage),
        }
    }
    found
}

fn in_pieces(file: &[u8], step: usize) -> Found {
    let mut found = Found::default();
    common::for_each_event(file, step, |event| match event {
        Ok(Event::Record(_) | Event::Heap { .. }) => found.records += 1,
        Ok(Event::SubRecord { .. } | Event::LongSubRecord { .. }) => found.subs += 1,
        Err(damage) => found.damages.push(damage),
    });
    found
}

fn found(file: &[u8]) -> Found {
    let found = in_memory(file);
    for step in [1000, 1 << 20] {
        assert_eq!(in_pieces(file, step), found, "step {step}");
    }
    found
}

const RECORDS: usize = 83;
const SUBS: usize = 600;

/// Where the `number`th sub-record of a file starts.
fn sub_offset(file: &[u8], number: usize) -> usize {
    let mut left = number;
    for record in Reader::new(file).unwrap() {
        if let Record::HeapDumpSegment(mut heap) = record.unwrap().record {
            while left > 0 && heap.next().is_some() {
                left -= 1;
            }
            if left == 0 && !heap.rest().is_empty() {
                return heap.offset() as usize;
            }
        }
    }
    panic!("no sub-record {number}")
}

#[test]
fn one_bad_sub_record_costs_itself_only() {
    for id_size in [IdSize::Four, IdSize::Eight] {
        let whole = file(id_size);
        for number in [0, 1, 2, 150, 299, 301, 500] {
            let at = sub_offset(&whole, number);
            for (byte, value) in [(at, 0x77), (at, 0)] {
                let mut bytes = whole.clone();
                bytes[byte] = value;
                let found = found(&bytes);
                assert_eq!(found.records, RECORDS);
                let lost = SUBS - found.subs;
                assert!(
                    (1..=3).contains(&lost),
                    "{lost} lost at {number}: {found:?}"
                );
                assert_eq!(found.damages[0].offset(), at as u64);
            }
        }
    }
}

#[test]
fn a_wrong_length_of_an_array_is_mended() {
    let whole = file(IdSize::Eight);
    let at = sub_offset(&whole, 101);
    assert_eq!(whole[at], 0x23);
    let mut bytes = whole.clone();
    // The first byte of the number of elements: the array claims 256 MiB.
    bytes[at + 13] = 0x10;
    let found = found(&bytes);
    assert_eq!((found.records, found.subs), (RECORDS, SUBS - 1));
    let expected = 10 + 8 + (0x10 << 24) + 9;
    let lost = 10 + 8 + 9;
    assert_eq!(
        found.damages,
        [Damage::SubRecordBody {
            offset: at as u64,
            tag: 0x23,
            expected,
            lost
        }]
    );
}

#[test]
fn a_wrong_length_of_a_record_is_mended() {
    for id_size in [IdSize::Four, IdSize::Eight] {
        let whole = file(id_size);
        let second = Reader::new(&whole).unwrap().nth(2).unwrap().unwrap();
        let at = second.offset as usize;
        let mut bytes = whole.clone();
        bytes[at + 5] = 0x40;
        let found = found(&bytes);
        assert_eq!((found.records, found.subs), (RECORDS - 1, SUBS));
        let lost = 9 + id_size.bytes() as u64 + 16;
        let expected = Damage::NoRecord {
            offset: at as u64,
            tag: 1,
            length: lost - 9 + (0x40 << 24),
            lost,
        };
        assert_eq!(found.damages, [expected]);
    }
}

#[test]
fn a_hole_of_zeros_costs_what_it_covers() {
    let whole = file(IdSize::Eight);
    let mut bytes = whole.clone();
    let from = 31 + 33;
    bytes[from..from + 700].fill(0);
    let found = found(&bytes);
    assert_eq!(found.subs, SUBS);
    assert!(found.records > RECORDS - 30, "{found:?}");
    let lost = found.damages[0].lost();
    assert!((700..800).contains(&lost), "{found:?}");
    // One in the heap, too.
    let mut bytes = whole.clone();
    let from = sub_offset(&whole, 40);
    bytes[from..from + 5000].fill(0);
    let found = self::found(&bytes);
    assert_eq!(found.records, RECORDS);
    assert!(found.subs > SUBS - 160, "{found:?}");
    let lost = found.damages[0].lost();
    assert!((5000..5100).contains(&lost), "{found:?}");
}

#[test]
fn bytes_between_two_records_are_skipped() {
    let whole = file(IdSize::Four);
    let mut bytes = whole.clone();
    let garbage: Vec<u8> = (0..70_000u32)
        .map(|i| (i % 1009 * (i % 251) % 251) as u8 | 0x40)
        .collect();
    bytes.splice(31..31, garbage);
    let found = found(&bytes);
    assert_eq!((found.records, found.subs), (RECORDS, SUBS));
    let lost: u64 = found.damages.iter().map(Damage::lost).sum();
    assert_eq!(lost, 70_000, "{:?}", found.damages);
}

#[test]
fn a_long_array_is_passed_over_by_streams() {
    let header = FileHeader {
        version: Version::V1_0_2,
        id_size: IdSize::Eight,
        created_millis: 1,
    };
    let mut writer = RecordWriter::new(Vec::new(), &header).unwrap();
    let values: Vec<u8> = (0..3 << 20).map(|i| (i % 256) as u8).collect();
    let long = SubRecord::PrimitiveArray {
        array: ObjectId::new(5),
        trace: TRACE,
        element: BasicType::Int,
        values: &values,
    };
    let references = SubRecord::ObjectArray {
        array: ObjectId::new(6),
        trace: TRACE,
        class: CLASS,
        elements: Ids::new(&values, IdSize::Eight),
    };
    writer.heap(0, true, [long, references]).unwrap();
    writer.record(0, &Record::HeapDumpEnd).unwrap();
    let file = writer.into_inner();
    let mut reader = StreamReader::new(&file[..]).unwrap();
    let mut longs = Vec::new();
    let mut others = 0;
    while let Some(event) = reader.next() {
        match event.unwrap() {
            Event::LongSubRecord {
                offset,
                start,
                bytes,
            } => {
                let (object, kept) = match start {
                    SubRecord::PrimitiveArray { array, values, .. } => (array, values.len()),
                    SubRecord::ObjectArray {
                        array, elements, ..
                    } => (array, elements.as_bytes().len()),
                    other => panic!("{other:?}"),
                };
                assert!((2000..5000).contains(&kept), "{kept}");
                longs.push((offset, object.get(), bytes));
            }
            _ => others += 1,
        }
    }
    assert_eq!(others, 2);
    assert_eq!(longs, [(40, 5, 3 << 20), (40 + 18 + (3 << 20), 6, 3 << 20)]);
    // Cut within the first.
    let mut reader = StreamReader::new(&file[..2 << 20]).unwrap();
    assert!(matches!(reader.next(), Some(Ok(Event::Heap { .. }))));
    let cut = match reader.next() {
        Some(Err(StreamError::Damage(damage))) => damage,
        other => panic!("{other:?}"),
    };
    assert_eq!((cut.offset(), cut.lost()), (40, (2 << 20) - 40));
    assert!(reader.next().is_none());
    assert_eq!(in_memory(&file[..2 << 20]).damages, [cut]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever bytes are changed, both ways of reading find the same, and every byte of the file
    /// is either read or reported.
    #[test]
    fn changed_bytes_are_read_alike(
        is_wide in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in prop::option::of(any::<prop::sample::Index>()),
        step in 100usize..5000,
    ) {
        let mut file = file(if is_wide { IdSize::Eight } else { IdSize::Four });
        for (at, value) in changes {
            let at = 31 + at.index(file.len() - 31);
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(31 + cut.index(file.len() - 31));
        }
        prop_assert_eq!(in_memory(&file), in_pieces(&file, step));
    }
}

//! The readers against files of all kinds of producers.
//!
//! The numbers are those of an independent parser.

mod common;

use std::collections::BTreeMap;

use common::{data, shared};
use hprof_format::binary::{Record, RecordWriter, SubRecord};
use hprof_format::reader::{Event, FileHeader, Reader};

type Counts = BTreeMap<u16, u64>;

/// Sub-records are counted under their tag plus this.
const SUB: u16 = 0x100;

/// Other totals, beside counts by tag.
const FRAMES: u16 = 0x200;
const SITES: u16 = 0x201;
const CPU_ROWS: u16 = 0x202;
const STRING_BYTES: u16 = 0x203;
const INSTANCE_BYTES: u16 = 0x210;
const ELEMENTS: u16 = 0x211;
const PRIMITIVE_BYTES: u16 = 0x212;
const CONSTANTS: u16 = 0x213;
const STATICS: u16 = 0x214;
const FIELDS: u16 = 0x215;

fn add(counts: &mut Counts, key: u16, number: usize) {
    if number > 0 {
        *counts.entry(key).or_default() += number as u64;
    }
}

fn count_record(counts: &mut Counts, record: &Record<'_>) {
    add(counts, u16::from(record.tag()), 1);
    match record {
        Record::Utf8 { bytes, .. } => add(counts, STRING_BYTES, bytes.len()),
        Record::Trace { frames, .. } => add(counts, FRAMES, frames.iter().count()),
        Record::AllocSites { sites, .. } => add(counts, SITES, sites.iter().count()),
        Record::CpuSamples { samples, .. } => add(counts, CPU_ROWS, samples.iter().count()),
        _ => {}
    }
}

fn count_sub_record(counts: &mut Counts, sub: &SubRecord<'_>, tag: u8) {
    add(counts, SUB + u16::from(tag), 1);
    match sub {
        SubRecord::Instance { values, .. } => add(counts, INSTANCE_BYTES, values.len()),
        SubRecord::ObjectArray { elements, .. } => add(counts, ELEMENTS, elements.iter().count()),
        SubRecord::PrimitiveArray { values, .. } => add(counts, PRIMITIVE_BYTES, values.len()),
        SubRecord::Class(class) => {
            add(counts, CONSTANTS, class.constants.iter().count());
            add(counts, STATICS, class.statics.iter().count());
            add(counts, FIELDS, class.fields.iter().count());
        }
        _ => {}
    }
}

/// Counts with [`Reader`] and writes everything again.
fn read_and_copy(file: &[u8]) -> (FileHeader, Counts, Vec<u8>) {
    let reader = Reader::new(file).unwrap();
    let header = *reader.header();
    let mut counts = Counts::new();
    let mut writer = RecordWriter::new(Vec::new(), &header).unwrap();
    for found in reader {
        let found = found.unwrap();
        count_record(&mut counts, &found.record);
        let (heap, is_segment) = match found.record {
            Record::HeapDump(heap) => (heap, false),
            Record::HeapDumpSegment(heap) => (heap, true),
            record => {
                writer.record(found.micros, &record).unwrap();
                continue;
            }
        };
        let mut subs = Vec::new();
        let mut rest = heap;
        while let (offset, Some(sub)) = (rest.offset(), rest.next()) {
            let sub = sub.unwrap();
            count_sub_record(&mut counts, &sub, file[offset as usize]);
            subs.push(sub);
        }
        writer.heap(found.micros, is_segment, subs).unwrap();
    }
    (header, counts, writer.into_inner())
}

/// Counts with a `StreamReader` that gets `step` bytes at a time.
fn stream(file: &[u8], step: usize) -> Counts {
    let mut counts = Counts::new();
    common::for_each_event(file, step, |event| match event.unwrap() {
        Event::Record(found) => count_record(&mut counts, &found.record),
        Event::Heap { offset, .. } => add(&mut counts, u16::from(file[offset as usize]), 1),
        Event::SubRecord { offset, sub_record } => {
            count_sub_record(&mut counts, &sub_record, file[offset as usize]);
        }
        Event::LongSubRecord {
            offset,
            start,
            bytes,
        } => count_long(&mut counts, &start, file[offset as usize], bytes),
    });
    counts
}

/// Counts a sub-record of which a stream shows the first values only.
fn count_long(counts: &mut Counts, start: &SubRecord<'_>, tag: u8, bytes: u64) {
    add(counts, SUB + u16::from(tag), 1);
    let key = match start {
        SubRecord::Instance { .. } => INSTANCE_BYTES,
        SubRecord::PrimitiveArray { .. } => PRIMITIVE_BYTES,
        other => panic!("{other:?} is not expected to be long"),
    };
    add(counts, key, bytes as usize);
}

fn check(file: &[u8], head: &str, expected: &[(u16, u64)]) {
    let (header, counts, copy) = read_and_copy(file);
    assert_eq!(format!("{:?} {:?}", header.version, header.id_size), head);
    assert_eq!(counts, expected.iter().copied().collect::<Counts>());
    assert!(copy == file, "the copy differs");
    assert_eq!(stream(file, 1 << 20), counts);
    assert_eq!(stream(file, 4099), counts);
}

#[test]
fn jdk_agent_with_heap_and_sites() {
    let expected = [
        (0x01, 1496),
        (0x02, 361),
        (0x04, 365),
        (0x05, 216),
        (0x06, 1),
        (0x0a, 5),
        (0x0b, 1),
        (0x0c, 1),
        (0x0e, 1),
        (0x101, 395),
        (0x102, 1),
        (0x103, 14),
        (0x105, 381),
        (0x106, 7),
        (0x107, 2),
        (0x108, 8),
        (0x120, 361),
        (0x121, 1293),
        (0x122, 423),
        (0x123, 849),
        (0x1ff, 54),
        (STRING_BYTES, 25979),
        (FRAMES, 832),
        (INSTANCE_BYTES, 22239),
        (PRIMITIVE_BYTES, 79964),
        (ELEMENTS, 2258),
        (CONSTANTS, 1891),
        (STATICS, 656),
        (FIELDS, 570),
        (SITES, 464),
    ];
    check(&data("hprof-32.bin"), "V1_0_1 Four", &expected);
}

#[test]
fn jdk_agent_with_cpu_samples() {
    let expected = [
        (0x01, 606),
        (0x02, 588),
        (0x04, 9),
        (0x05, 3),
        (0x0a, 5),
        (0x0b, 4),
        (0x0d, 1),
        (0x0e, 1),
        (STRING_BYTES, 18259),
        (FRAMES, 11),
        (CPU_ROWS, 3),
    ];
    check(&data("cpu-samples-b.hprof"), "V1_0_2 Four", &expected);
}

#[test]
fn jdk_agent_with_sites() {
    let expected = [
        (0x01, 652),
        (0x02, 505),
        (0x04, 112),
        (0x05, 57),
        (0x06, 1),
        (0x0a, 5),
        (0x0b, 2),
        (0x0e, 1),
        (STRING_BYTES, 18611),
        (FRAMES, 199),
        (SITES, 521),
    ];
    check(&data("heap-sites-b.hprof"), "V1_0_2 Four", &expected);
}

#[test]
fn jdk_agent_with_a_segmented_heap() {
    let Some(file) = shared("heap-all-b.hprof") else {
        return;
    };
    let expected = [
        (0x01, 1845),
        (0x02, 509),
        (0x04, 116),
        (0x05, 58),
        (0x06, 1),
        (0x0a, 5),
        (0x0b, 2),
        (0x0e, 1),
        (0x1c, 1),
        (0x2c, 1),
        (0x101, 513),
        (0x102, 1),
        (0x103, 13),
        (0x105, 757),
        (0x106, 7),
        (0x108, 8),
        (0x120, 509),
        (0x121, 14592),
        (0x122, 1232),
        (0x123, 7311),
        (0x1ff, 27),
        (STRING_BYTES, 33988),
        (FRAMES, 203),
        (INSTANCE_BYTES, 219_412),
        (ELEMENTS, 24555),
        (PRIMITIVE_BYTES, 247_231),
        (CONSTANTS, 5809),
        (STATICS, 1050),
        (FIELDS, 601),
        (SITES, 517),
    ];
    check(&file, "V1_0_2 Four", &expected);
}

#[test]
fn hotspot() {
    let Some(file) = shared("hprof-64.bin") else {
        return;
    };
    let expected = [
        (0x01, 10768),
        (0x02, 531),
        (0x04, 20),
        (0x05, 10),
        (0x0c, 1),
        (0x101, 5),
        (0x103, 22),
        (0x105, 413),
        (0x107, 4),
        (0x108, 9),
        (0x120, 474),
        (0x121, 4149),
        (0x122, 748),
        (0x123, 2891),
        (STRING_BYTES, 296_143),
        (FRAMES, 20),
        (STATICS, 1011),
        (FIELDS, 764),
        (PRIMITIVE_BYTES, 2_324_160),
        (INSTANCE_BYTES, 99952),
        (ELEMENTS, 7215),
    ];
    check(&file, "V1_0_1 Eight", &expected);
}

#[test]
fn android() {
    let Some(file) = shared("hprof-android.bin") else {
        return;
    };
    let expected = [
        (0x01, 23361),
        (0x02, 3631),
        (0x05, 1),
        (0x1c, 683),
        (0x2c, 1),
        (0x101, 270),
        (0x102, 7),
        (0x103, 99),
        (0x105, 3631),
        (0x108, 12),
        (0x120, 3631),
        (0x121, 25977),
        (0x122, 2060),
        (0x123, 13717),
        (0x189, 7309),
        (0x18a, 1),
        (0x18b, 3),
        (0x1fe, 595),
        (STRING_BYTES, 485_786),
        (PRIMITIVE_BYTES, 1_709_423),
        (STATICS, 18843),
        (FIELDS, 9508),
        (INSTANCE_BYTES, 426_956),
        (ELEMENTS, 34690),
    ];
    check(&file, "V1_0_3 Four", &expected);
}

/// Whatever byte a file is cut at, all that lies before stays readable and the cut is reported.
#[test]
fn a_file_cut_anywhere_yields_all_before_the_cut() {
    let file = data("hprof-32.bin");
    let whole = read_and_copy(&file).1;
    for cut in (31..file.len()).step_by(677) {
        let part = &file[..cut];
        let (mut counts, mut damaged) = (Counts::new(), Vec::new());
        for found in Reader::new(part).unwrap() {
            match found {
                Ok(found) => {
                    count_record(&mut counts, &found.record);
                    if let Record::HeapDump(mut heap) = found.record {
                        while let (offset, Some(sub)) = (heap.offset(), heap.next()) {
                            match sub {
                                Ok(sub) => {
                                    count_sub_record(&mut counts, &sub, file[offset as usize])
                                }
                                Err(damage) => damaged.push(damage),
                            }
                        }
                    }
                }
                Err(damage) => damaged.push(damage),
            }
        }
        assert!(damaged.len() <= 1, "{damaged:?}");
        assert!(counts.iter().all(|(key, number)| whole[key] >= *number));
        if let Some(damage) = damaged.first() {
            assert_eq!(damage.offset() + damage.lost(), cut as u64, "{damage}");
        }
        let (mut streamed, mut told) = (Counts::new(), Vec::new());
        common::for_each_event(part, 8192, |event| match event {
            Ok(Event::Record(found)) => count_record(&mut streamed, &found.record),
            Ok(Event::Heap { offset, .. }) => {
                add(&mut streamed, u16::from(file[offset as usize]), 1)
            }
            Ok(Event::SubRecord { offset, sub_record }) => {
                count_sub_record(&mut streamed, &sub_record, file[offset as usize]);
            }
            Ok(Event::LongSubRecord { .. }) => panic!("nothing in this file is long"),
            Err(damage) => told.push(damage),
        });
        assert_eq!((streamed, told), (counts, damaged), "cut at {cut}");
    }
}

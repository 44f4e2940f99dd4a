//! The readers' reports about damaged files, and how reading continues.

mod common;

use hprof_format::binary::{IdSize, Record, RecordWriter};
use hprof_format::ids::{ObjectId, StringId, ThreadSerial};
use hprof_format::model::{Root, RootKind};
use hprof_format::reader::{Damage, Event, FileHeader, Reader, Version};

use hprof_format::binary::SubRecord;

const STICKY: SubRecord<'static> = SubRecord::Root(Root {
    object: ObjectId::new(7),
    kind: RootKind::StickyClass,
});

/// A file with a string, a segment of two roots and a thread end. Offsets: 31, 46, 65, 78.
fn file() -> Vec<u8> {
    let (version, id_size) = (Version::V1_0_2, IdSize::Four);
    let header = FileHeader {
        version,
        id_size,
        created_millis: 0,
    };
    let mut writer = RecordWriter::new(Vec::new(), &header).unwrap();
    writer
        .record(
            1,
            &Record::Utf8 {
                id: StringId::new(1),
                bytes: b"ab",
            },
        )
        .unwrap();
    writer.heap(1, true, [STICKY, STICKY]).unwrap();
    writer
        .record(
            1,
            &Record::EndThread {
                serial: ThreadSerial::new(3),
            },
        )
        .unwrap();
    writer.into_inner()
}

/// A summary of the readers' findings: records by tag, sub-records by `sub`. Both must agree.
fn found(file: &[u8]) -> (Vec<String>, Vec<Damage>) {
    let (mut items, mut damages) = (Vec::new(), Vec::new());
    for item in Reader::new(file).unwrap() {
        match item {
            Ok(found) => {
                items.push(format!("{:02x}@{}", found.record.tag(), found.offset));
                if let Record::HeapDump(heap) | Record::HeapDumpSegment(heap) = found.record {
                    for sub in heap {
                        match sub {
                            Ok(_) => items.push("sub".to_owned()),
                            Err(damage) => damages.push(damage),
                        }
                    }
                }
            }
            Err(damage) => damages.push(damage),
        }
    }
    for step in [1, 7, 1000] {
        let (mut pieces, mut told) = (Vec::new(), Vec::new());
        common::for_each_event(file, step, |event| match event {
            Ok(Event::Record(found)) => {
                pieces.push(format!("{:02x}@{}", found.record.tag(), found.offset));
            }
            Ok(Event::Heap {
                offset, is_segment, ..
            }) => {
                pieces.push(format!("{}@{offset}", if is_segment { "1c" } else { "0c" }));
            }
            Ok(Event::SubRecord { .. }) => pieces.push("sub".to_owned()),
            Ok(Event::LongSubRecord { .. }) => pieces.push("long".to_owned()),
            Err(damage) => told.push(damage),
        });
        assert_eq!((&pieces, &told), (&items, &damages), "step {step}");
    }
    (items, damages)
}

fn check(file: &[u8], items: &[&str], damages: &[Damage]) {
    let (found, told) = found(file);
    assert_eq!(found, items);
    assert_eq!(told, damages);
}

const WHOLE: [&str; 5] = ["01@31", "1c@46", "sub", "sub", "0b@65"];

#[test]
fn a_sound_file_has_no_damage() {
    check(&file(), &WHOLE, &[]);
    check(&file()[..31], &[], &[]);
}

#[test]
fn unknown_records_are_passed_over() {
    let mut file = file();
    file[31] = 0xde;
    check(&file, &["de@31", "1c@46", "sub", "sub", "0b@65"], &[]);
}

#[test]
fn known_fields_may_be_followed_by_others() {
    let mut file = file();
    file[73] = 6;
    file.extend_from_slice(&[8, 8]);
    check(&file, &WHOLE, &[]);
}

#[test]
fn a_record_too_short_for_its_fields_is_skipped() {
    let mut file = file();
    // A string becomes a class, which has more fields.
    file[31] = 0x02;
    let short = Damage::ShortRecord {
        offset: 31,
        tag: 0x02,
        length: 6,
    };
    check(&file, &WHOLE[1..], &[short]);
    assert_eq!((short.offset(), short.lost()), (31, 15));
}

#[test]
fn a_count_larger_than_its_record_is_told() {
    let mut file = file();
    file.extend_from_slice(&[0x05, 0, 0, 0, 0, 0, 0, 0, 12]);
    file.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]);
    check(
        &file,
        &WHOLE,
        &[Damage::ShortRecord {
            offset: 78,
            tag: 5,
            length: 12,
        }],
    );
}

#[test]
fn a_cut_is_told_wherever_it_is() {
    let file = file();
    check(
        &file[..50],
        &WHOLE[..1],
        &[Damage::RecordHead {
            offset: 46,
            found: 4,
        }],
    );
    let body = Damage::RecordBody {
        offset: 65,
        tag: 0x0b,
        expected: 4,
        found: 3,
    };
    check(&file[..77], &WHOLE[..4], &[body]);
    let between = Damage::SegmentCut {
        offset: 60,
        missing: 5,
    };
    check(&file[..60], &WHOLE[..3], &[between]);
    let within = Damage::SubRecordBody {
        offset: 60,
        tag: 5,
        expected: 5,
        lost: 3,
    };
    check(&file[..63], &WHOLE[..3], &[within]);
}

#[test]
fn an_unknown_sub_record_ends_its_segment_only() {
    let mut file = file();
    file[55] = 0x42;
    let lost = Damage::SubRecordTag {
        offset: 55,
        tag: 0x42,
        lost: 10,
    };
    check(&file, &["01@31", "1c@46", "0b@65"], &[lost]);
}

#[test]
fn an_unknown_type_ends_its_segment_only() {
    let mut file = file();
    // A primitive array of type 3 instead of the end of the thread.
    file.truncate(65);
    file.extend_from_slice(&[0x1c, 0, 0, 0, 0, 0, 0, 0, 16, 0x23]);
    file.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 3, 0, 0]);
    file.extend_from_slice(&[0x2c, 0, 0, 0, 0, 0, 0, 0, 0]);
    let lost = Damage::Type {
        offset: 74,
        code: 3,
        lost: 16,
    };
    check(
        &file,
        &["01@31", "1c@46", "sub", "sub", "1c@65", "2c@90"],
        &[lost],
    );
}

#[test]
fn an_array_of_any_length_needs_the_bytes_for_it() {
    let mut file = file();
    file.truncate(65);
    file.extend_from_slice(&[0x1c, 0, 0, 0, 0, 0, 0, 0, 14, 0x23]);
    file.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 11]);
    let expected = 14 + 8 * u64::from(u32::MAX);
    let cut = Damage::SubRecordBody {
        offset: 74,
        tag: 0x23,
        expected,
        lost: 14,
    };
    check(&file, &["01@31", "1c@46", "sub", "sub", "1c@65"], &[cut]);
}

#[test]
fn zeros_at_the_end_are_told_as_such() {
    let mut file = file();
    file.extend_from_slice(&[0; 500]);
    check(
        &file,
        &WHOLE,
        &[Damage::ZeroFill {
            offset: 78,
            lost: 500,
        }],
    );
}

#[test]
fn a_heap_dump_of_length_0_reaches_to_the_end_unless_a_record_follows() {
    let mut file = file();
    file.extend_from_slice(&[0x1c, 0, 0, 0, 0, 0, 0, 0, 0]);
    let items = |more: &[&'static str]| [&WHOLE, more].concat();
    check(&file, &items(&["1c@78"]), &[]);
    let empty = [&file[..], &[0x2c, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    check(&empty, &items(&["1c@78", "2c@87"]), &[]);
    let unpatched = [&file[..], &[0xff, 0, 0, 0, 1, 0xff, 0, 0, 0, 1]].concat();
    check(&unpatched, &items(&["1c@78", "sub", "sub"]), &[]);
}

#[test]
fn reports_say_where_and_what() {
    let cut = Damage::RecordBody {
        offset: 65,
        tag: 0x0b,
        expected: 4,
        found: 3,
    };
    assert_eq!(
        cut.to_string(),
        "at byte 65: the file ends within a record (tag 0x0b): its body has 4 bytes, 3 are there"
    );
}

/// Earlier agents filled up to megabytes of room with one string of zeros, with an identifier of its own.
#[test]
fn a_string_that_fills_room_is_no_damage() {
    let (version, id_size) = (Version::V1_0_2, IdSize::Eight);
    let header = FileHeader {
        version,
        id_size,
        created_millis: 0,
    };
    let with_string = |id| {
        let mut writer = RecordWriter::new(Vec::new(), &header).unwrap();
        let id = StringId::new(id);
        let bytes = &vec![0; 3 << 20];
        (writer.record(0, &Record::Utf8 { id, bytes })).unwrap();
        writer.heap(1, true, [STICKY]).unwrap();
        found(&writer.into_inner())
    };
    let (items, damages) = with_string(0xb000_0000);
    assert_eq!((items.len(), damages), (3, vec![]), "{items:?}");
    // A string of a program is not as long.
    assert_eq!(with_string(0xb000_0003).1.len(), 1);
}

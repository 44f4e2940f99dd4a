use std::io::Cursor;

use super::*;
use crate::binary::{Body, IdSize, tags};
use crate::reader::{FileHeader, Version};

fn file(records: &[(u8, Vec<u8>)]) -> Cursor<Vec<u8>> {
    let header = FileHeader {
        version: Version::V1_0_2,
        id_size: IdSize::Eight,
        created_millis: 0,
    };
    let mut bytes = header.to_bytes().to_vec();
    for (tag, body) in records {
        bytes.push(*tag);
        bytes.extend([0; 4]);
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
    }
    Cursor::new(bytes)
}

fn body(fill: impl FnOnce(&mut Body)) -> Vec<u8> {
    let mut body = Body::new(IdSize::Eight);
    fill(&mut body);
    body.bytes().to_vec()
}

fn fields(fill: impl for<'a> FnOnce(&'a mut Body) -> &'a mut Body) -> Vec<u8> {
    body(|b| {
        fill(b);
    })
}

fn string(id: u64) -> (u8, Vec<u8>) {
    (tags::record::UTF8, fields(|b| b.id(id).raw(b"x")))
}

fn load_class(serial: u32, class: u64, name: u64) -> (u8, Vec<u8>) {
    let fields = fields(|b| b.u4(serial).id(class).u4(0).id(name));
    (tags::record::LOAD_CLASS, fields)
}

/// A class `id` with one reference field, named by string 1.
fn class(b: &mut Body, id: u64, super_class: u64) {
    b.u1(0x20).id(id).u4(0).id(super_class);
    for _ in 0..5 {
        b.id(0);
    }
    b.u4(8).u2(0).u2(0).u2(1).id(1).u1(2);
}

fn instance(b: &mut Body, object: u64, class: u64, values: &[u64]) {
    b.u1(0x21).id(object).u4(0).id(class);
    b.u4(8 * values.len() as u32);
    for &value in values {
        b.id(value);
    }
}

fn dump(fill: impl FnOnce(&mut Body)) -> [(u8, Vec<u8>); 4] {
    [
        string(1),
        load_class(7, 0x10, 1),
        (tags::record::HEAP_DUMP_SEGMENT, body(fill)),
        (tags::record::HEAP_DUMP_END, Vec::new()),
    ]
}

fn faults(records: &[(u8, Vec<u8>)]) -> Vec<String> {
    let verified = verify(file(records)).unwrap();
    assert_eq!(verified.faults as usize, verified.messages.len());
    verified.messages
}

#[test]
fn a_sound_dump_has_no_fault() {
    let records = dump(|b| {
        instance(b, 0x100, 0x10, &[0x101]);
        instance(b, 0x101, 0x10, &[0]);
        class(b, 0x10, 0);
        b.u1(0x05).id(0x10);
    });
    let verified = verify(file(&records)).unwrap();
    assert_eq!(verified.faults, 0, "{:?}", verified.messages);
    assert_eq!((verified.records, verified.sub_records), (4, 4));
    assert!(verified.references > 8);
}

#[test]
fn what_is_missing_is_named() {
    let records = dump(|b| {
        class(b, 0x10, 0);
        instance(b, 0x100, 0x10, &[0xbad]);
        instance(b, 0x101, 0x11, &[0]);
        instance(b, 0x102, 0x10, &[]);
        b.u1(0x05).id(0xdead);
        b.u1(0x22).id(0x103).u4(9).u4(0).id(0x10);
    });
    let found = faults(&records);
    for part in [
        "object 100 refers to object bad",
        "object 101 is of class 11",
        "object 102 has 0 bytes of values, its class has fields of 8",
        "a root refers to object dead",
        "a trace serial, 9, is defined nowhere",
    ] {
        assert!(found.iter().any(|m| m.contains(part)), "{part}: {found:?}");
    }
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn archived_class_objects_may_be_missing() {
    let records = dump(|b| {
        class(b, 0x10, 0);
        b.u1(0x22).id(0x100).u4(0).u4(1).id(0x10).id(0xbad);
        b.u1(0x01).id(0x100).id(1);
    });
    let verified = verify(file(&records)).unwrap();
    assert_eq!((verified.faults, verified.archived), (0, 1));
}

#[test]
fn names_frames_and_sums() {
    let frame = fields(|b| b.id(3).id(1).id(2).id(0).u4(8).i4(1));
    let trace = fields(|b| b.u4(5).u4(6).u4(1).id(4));
    let samples = fields(|b| b.u4(1).u4(1).u4(2).u4(5));
    let found = faults(&[
        string(1),
        (tags::record::FRAME, frame),
        (tags::record::TRACE, trace),
        (tags::record::CPU_SAMPLES, samples),
    ]);
    for part in [
        "a frame's signature, 2,",
        "a class serial, 8,",
        "a thread serial, 6,",
        "a trace's frame, 4,",
        "add up to 2, more than their total 1",
    ] {
        assert!(found.iter().any(|m| m.contains(part)), "{part}: {found:?}");
    }
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn a_dump_without_end_and_damage_are_faults() {
    let mut records = dump(|b| class(b, 0x10, 0)).to_vec();
    records.pop();
    assert!(faults(&records)[0].contains("no end"));
    let mut bytes = file(&records).into_inner();
    bytes.truncate(bytes.len() - 3);
    let verified = verify(Cursor::new(bytes)).unwrap();
    assert!(verified.faults >= 1);
}

#[test]
fn messages_of_a_kind_are_bounded() {
    let records = dump(|b| {
        class(b, 0x10, 0);
        for object in 0..1000 {
            instance(b, 0x100 + object, 0x10, &[0xbad]);
        }
    });
    let verified = verify(file(&records)).unwrap();
    assert_eq!(verified.faults, 1000);
    assert_eq!(verified.messages.len() as u64, MESSAGES + 1);
}

#[test]
fn a_class_that_is_its_own_super_class_ends() {
    let records = dump(|b| {
        class(b, 0x10, 0x10);
        instance(b, 0x100, 0x10, &[0]);
    });
    assert!(faults(&records)[0].contains("which or whose super class"));
}

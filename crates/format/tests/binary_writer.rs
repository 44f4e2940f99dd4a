//! The binary writer, read back record by record.

use hprof_format::binary::BinaryWriter;
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{
    CpuKind, CpuRow, CpuTable, Frame, Header, HeapClass, HeapTotals, InstanceLayout, Line,
    Settings, ThreadStart, Trace,
};
use hprof_format::rank::RankedCpuTable;
use hprof_format::writer::{HeapWriter, ProfileWriter};

const CREATED: u64 = 1_076_069_622_000;

fn begun() -> BinaryWriter<Vec<u8>> {
    let mut writer = BinaryWriter::new(Vec::new());
    let settings = Settings {
        allocation_traces: false,
        cpu_sampling: true,
        depth: 70_000,
    };
    let created_ctime = "Fri Feb  6 13:13:42 2004";
    writer
        .begin(&Header {
            created_millis: CREATED,
            created_ctime,
            settings,
        })
        .unwrap();
    writer
}

/// Splits a file into header and records of tag, time and body.
fn records(bytes: &[u8]) -> Vec<(u8, u32, &[u8])> {
    assert_eq!(&bytes[..19], b"JAVA PROFILE 1.0.2\0");
    assert_eq!(bytes[19..23], [0, 0, 0, 8]);
    assert_eq!(bytes[23..31], CREATED.to_be_bytes());
    let mut rest = &bytes[31..];
    let mut records = Vec::new();
    while !rest.is_empty() {
        let u4 = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().unwrap());
        let end = 9 + u4(5) as usize;
        records.push((rest[0], u4(1), &rest[9..end]));
        rest = &rest[end..];
    }
    records
}

fn fields(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn u4(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

fn id(value: u64) -> [u8; 8] {
    value.to_be_bytes()
}

const SYSTEM: [u8; 4] = 300_000u32.to_be_bytes();

#[test]
fn begins_with_settings_and_the_system_trace() {
    let bytes = begun().into_inner();
    let records = records(&bytes);
    assert_eq!(records.len(), 2);
    assert_eq!(records[0], (0x0e, 0, &[0, 0, 0, 2, 0xff, 0xff][..]));
    assert_eq!(
        records[1],
        (0x05, 0, &fields(&[&SYSTEM, &u4(0), &u4(0)])[..])
    );
}

#[test]
fn a_class_of_a_heap_dump_has_one_identifier_from_there_on() {
    let mut writer = begun();
    const DUMPED: u64 = 0x7_ffff_0010;
    let class = HeapClass {
        class: ObjectId::new(DUMPED),
        name: "Spin",
        trace: TraceSerial::SYSTEM,
        super_class: ObjectId::NULL,
        loader: ObjectId::NULL,
        signers: ObjectId::NULL,
        domain: ObjectId::NULL,
        instance: InstanceLayout::default(),
        constants: &[],
        statics: &[],
        fields: &[],
    };
    let frame = |class_name, class_id| Frame {
        class_name,
        class_id: ObjectId::new(class_id),
        method: "hot",
        signature: "()V",
        source_file: None,
        line: Line::Unknown,
    };
    writer.heap_class_names(&class).unwrap();
    writer.heap_begin(&HeapTotals::default(), "").unwrap();
    writer.heap_class(&class).unwrap();
    writer.heap_end().unwrap();
    for (serial, class_name, id) in [
        (300_001, "Spin", 0x1_5000_0009),
        // As JVMTI of JDK 11 names an anonymous class.
        (300_004, "Spin.1625635731", 0x1_5000_0019),
        (300_002, "Other", 0x1_5000_0011),
        // Another class of the dump.
        (300_003, "Spin", DUMPED + 8),
    ] {
        let trace = Trace {
            serial: TraceSerial::new(serial),
            thread: None,
            frames: &[frame(class_name, id)],
        };
        writer.trace(&trace).unwrap();
    }
    let bytes = writer.into_inner();
    let records = records(&bytes);
    let of_kind = |tag| records.iter().filter(move |record| record.0 == tag);
    let loaded: Vec<_> = of_kind(0x02)
        .map(|record| record.2[4..12].to_vec())
        .collect();
    let expected = [DUMPED, 0x1_5000_0011, DUMPED + 8].map(|it| id(it).to_vec());
    assert_eq!(loaded, expected);
    let classes: Vec<_> = of_kind(0x04)
        .map(|record| record.2[32..36].to_vec())
        .collect();
    assert_eq!(
        classes,
        [100_000, 100_001, 100_002].map(|it| u4(it).to_vec())
    );
}

#[test]
fn every_reference_is_written_once_before_its_first_use() {
    let mut writer = begun();
    writer.set_time((1 << 32) + 5000);
    let hot = Frame {
        class_name: "Spin",
        class_id: ObjectId::new(0x5000_0007),
        method: "hot",
        signature: "()V",
        source_file: Some("Spin.java"),
        line: Line::Number(4),
    };
    let native = Frame {
        line: Line::Native,
        source_file: None,
        ..hot
    };
    let other_loader = Frame {
        class_id: ObjectId::new(0x5000_0008),
        ..hot
    };
    let thread = Some(ThreadSerial::new(200_006));
    let first = Trace {
        serial: TraceSerial::new(300_001),
        thread,
        frames: &[hot, native],
    };
    let second = Trace {
        serial: TraceSerial::new(300_002),
        thread: None,
        frames: &[hot, other_loader],
    };
    writer.trace(&first).unwrap();
    writer.trace(&first).unwrap();
    writer.trace(&second).unwrap();
    assert!(writer.has_trace(second.serial) && writer.has_trace(TraceSerial::SYSTEM));

    let bytes = writer.into_inner();
    let records = &records(&bytes)[2..];
    assert!(records.iter().all(|&(_, micros, _)| micros == 5000));
    const S: u64 = 0xa000_0001;
    const F: u64 = 0x7000_0001;
    let load = |serial, object, name| fields(&[&u4(serial), &id(object), &SYSTEM, &id(name)]);
    let frame = |frame, source, class, line: i32| {
        let strings = [id(S + 1), id(S + 2), id(source)].concat();
        fields(&[&id(frame), &strings, &u4(class), &line.to_be_bytes()])
    };
    let expected = [
        (0x01, fields(&[&id(S), b"Spin"])),
        (0x02, load(100_000, 0x5000_0007, S)),
        (0x01, fields(&[&id(S + 1), b"hot"])),
        (0x01, fields(&[&id(S + 2), b"()V"])),
        (0x01, fields(&[&id(S + 3), b"Spin.java"])),
        (0x04, frame(F, S + 3, 100_000, 4)),
        (0x04, frame(F + 1, 0, 100_000, -3)),
        (
            0x05,
            fields(&[&u4(300_001), &u4(200_006), &u4(2), &id(F), &id(F + 1)]),
        ),
        (0x02, load(100_001, 0x5000_0008, S)),
        (0x04, frame(F + 2, S + 3, 100_001, 4)),
        (
            0x05,
            fields(&[&u4(300_002), &u4(0), &u4(2), &id(F), &id(F + 2)]),
        ),
    ];
    for (found, expected) in records.iter().zip(&expected) {
        assert_eq!((found.0, found.2), (expected.0, &expected.1[..]));
    }
    assert_eq!(records.len(), expected.len());
}

#[test]
fn threads_refer_to_traces_that_exist() {
    let mut writer = begun();
    let thread = ThreadStart {
        object: ObjectId::new(0x5000_0002),
        serial: ThreadSerial::new(200_001),
        name: "main",
        group: "main",
        parent_group: "",
        trace: TraceSerial::new(300_077),
    };
    writer.thread_start(&thread).unwrap();
    writer.thread_end(thread.serial).unwrap();
    let bytes = writer.into_inner();
    let records = &records(&bytes)[2..];
    let main = id(0xa000_0001);
    assert_eq!(records[0].2, fields(&[&main, b"main"]));
    let start = fields(&[
        &u4(200_001),
        &id(0x5000_0002),
        &SYSTEM,
        &main,
        &main,
        &id(0),
    ]);
    assert_eq!((records[1].0, records[1].2), (0x0a, &start[..]));
    assert_eq!((records[2].0, records[2].2), (0x0b, &u4(200_001)[..]));
    assert_eq!(records.len(), 3);
}

#[test]
fn cpu_samples_are_ranked_and_clamped() {
    let mut writer = begun();
    let row = |cost, trace| CpuRow {
        cost,
        count: cost,
        trace: TraceSerial::new(trace),
    };
    let rows = [row(3, 300_001), row(1 << 40, 300_002)];
    let table = CpuTable {
        kind: CpuKind::Samples,
        total: (1 << 40) + 3,
        rows: &rows,
    };
    writer
        .cpu_table(&RankedCpuTable::new(&table, 0.0), "", &|_| None)
        .unwrap();
    writer.comment("not in a binary file").unwrap();
    let bytes = writer.into_inner();
    let records = records(&bytes);
    let max = u4(u32::MAX);
    let expected = fields(&[&max, &u4(2), &max, &u4(300_002), &u4(3), &u4(300_001)]);
    assert_eq!((records[2].0, records[2].2), (0x0d, &expected[..]));
    assert_eq!(records.len(), 3);
}

#[test]
fn times_become_milliseconds() {
    let mut writer = begun();
    let rows = [CpuRow {
        cost: 2_500_000,
        count: 9,
        trace: TraceSerial::new(300_001),
    }];
    let table = CpuTable {
        kind: CpuKind::Times,
        total: 2_500_000,
        rows: &rows,
    };
    writer
        .cpu_table(&RankedCpuTable::new(&table, 0.0), "", &|_| None)
        .unwrap();
    let bytes = writer.into_inner();
    assert_eq!(
        records(&bytes)[2].2,
        fields(&[&u4(3), &u4(1), &u4(3), &u4(300_001)])
    );
}

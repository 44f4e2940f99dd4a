//! Heap dumps and sites in the binary format, read back with the reader.

mod large;

use std::collections::{HashMap, HashSet};

use hprof_format::binary::{BasicType, BinaryWriter, IdSize, Record, SubRecord, Value};
use hprof_format::ids::{ObjectId, StringId, ThreadSerial, TraceSerial};
use hprof_format::model::{
    Header, HeapClass, HeapField, HeapFieldType, HeapInstance, HeapObjectArray, HeapPrimitiveArray,
    HeapRoot, HeapSummary, HeapTotals, InstanceLayout, PrimitiveValues, Root, RootKind, Settings,
    SiteOrder, SiteRow, SiteTable, Trace,
};
use hprof_format::rank::RankedSiteTable;
use hprof_format::reader::{Positioned, Reader};
use hprof_format::writer::{HeapWriter, ProfileWriter};

const SITE: TraceSerial = TraceSerial::new(300_001);
const NOWHERE: TraceSerial = TraceSerial::new(300_999);

fn begun() -> BinaryWriter<Vec<u8>> {
    let mut writer = BinaryWriter::new(Vec::new());
    let settings = Settings {
        allocation_traces: true,
        cpu_sampling: false,
        depth: 4,
    };
    let header = Header {
        created_millis: 1,
        created_ctime: "",
        settings,
    };
    writer.begin(&header).unwrap();
    writer
        .trace(&Trace {
            serial: SITE,
            thread: None,
            frames: &[],
        })
        .unwrap();
    writer.heap_begin(&HeapTotals::default(), "").unwrap();
    writer
}

fn records(file: &[u8]) -> Vec<Positioned<'_>> {
    Reader::new(file).unwrap().map(Result::unwrap).collect()
}

/// The sub-records of all segments. Each segment has some, and one end comes behind them all.
fn sub_records(file: &[u8]) -> Vec<SubRecord<'_>> {
    let mut subs = Vec::new();
    let mut ends = 0;
    for found in records(file) {
        match found.record {
            Record::HeapDumpSegment(segment) => {
                assert_eq!(ends, 0);
                assert!(!segment.rest().is_empty());
                subs.extend(segment.map(Result::unwrap));
            }
            Record::HeapDumpEnd => ends += 1,
            Record::HeapDump(_) => panic!("an unsegmented dump"),
            _ => {}
        }
    }
    assert_eq!(ends, 1);
    subs
}

/// All strings, provided that each comes but once.
fn strings(file: &[u8]) -> HashMap<StringId, String> {
    let mut strings = HashMap::new();
    for found in records(file) {
        if let Record::Utf8 { id, .. } = found.record {
            let text = found.record.text().unwrap().into_owned();
            assert_eq!(strings.insert(id, text), None);
        }
    }
    strings
}

fn object(id: u64) -> ObjectId {
    ObjectId::new(0x5000_0000 + id)
}

#[test]
fn roots_keep_their_fields_and_refer_to_known_traces() {
    let thread = ThreadSerial::new(200_001);
    let kinds = [
        RootKind::Unknown,
        RootKind::JniGlobal { reference: 7 },
        RootKind::JniLocal {
            thread,
            frame: None,
        },
        RootKind::JavaFrame {
            thread,
            frame: Some(2),
        },
        RootKind::NativeStack { thread },
        RootKind::StickyClass,
        RootKind::ThreadBlock { thread },
        RootKind::MonitorUsed,
        RootKind::ThreadObject {
            thread,
            trace: SITE,
        },
    ];
    let mut writer = begun();
    let mut write = |kind| {
        let root = Root {
            object: object(1),
            kind,
        };
        writer
            .heap_root(&HeapRoot {
                root,
                trace: NOWHERE,
                class_name: "A",
            })
            .unwrap();
    };
    kinds.into_iter().for_each(&mut write);
    write(RootKind::ThreadObject {
        thread,
        trace: NOWHERE,
    });
    writer.heap_end().unwrap();
    let file = writer.into_inner();
    let unknown = RootKind::ThreadObject {
        thread,
        trace: TraceSerial::SYSTEM,
    };
    let expected: Vec<SubRecord<'_>> = kinds
        .into_iter()
        .chain([unknown])
        .map(|kind| {
            SubRecord::Root(Root {
                object: object(1),
                kind,
            })
        })
        .collect();
    assert_eq!(sub_records(&file), expected);
}

#[test]
fn a_class_and_its_instance_agree() {
    let inherited = [HeapField {
        name: "base",
        value: Value::Long(-1),
    }];
    let own = [
        HeapField {
            name: "next",
            value: Value::Object(object(9)),
        },
        HeapField {
            name: "flag",
            value: Value::Boolean(true),
        },
        HeapField {
            name: "unit",
            value: Value::Char(0xabcd),
        },
    ];
    let mut layout = InstanceLayout::default();
    own.iter()
        .chain(&inherited)
        .for_each(|field| layout.add(field.value.basic_type()));
    let field_types: Vec<HeapFieldType<'_>> = own
        .iter()
        .map(|field| HeapFieldType {
            name: field.name,
            basic_type: field.value.basic_type(),
        })
        .collect();
    let mut writer = begun();
    let instance = HeapInstance {
        object: object(1),
        size: 24,
        trace: SITE,
        class: object(2),
        class_name: "p.Node",
        fields: &[&own, &inherited],
    };
    writer.heap_instance(&instance).unwrap();
    let class = HeapClass {
        class: object(2),
        name: "p.Node",
        trace: NOWHERE,
        super_class: object(3),
        loader: object(4),
        signers: ObjectId::NULL,
        domain: object(5),
        instance: layout,
        constants: &[(17, object(6)), (3, object(7))],
        statics: &[
            HeapField {
                name: "next",
                value: Value::Float(0.5),
            },
            HeapField {
                name: "head",
                value: Value::Object(object(8)),
            },
        ],
        fields: &field_types,
    };
    writer.heap_class(&class).unwrap();
    writer.heap_end().unwrap();
    let file = writer.into_inner();

    let subs = sub_records(&file);
    let [
        SubRecord::Instance {
            object: id,
            trace,
            class,
            values,
        },
        SubRecord::Class(dump),
    ] = subs[..]
    else {
        panic!("{subs:?}")
    };
    assert_eq!((id, trace, class), (object(1), SITE, object(2)));
    let expected = [
        &object(9).get().to_be_bytes()[..],
        &[1, 0xab, 0xcd],
        &(-1i64).to_be_bytes(),
    ];
    assert_eq!(values, expected.concat());
    assert_eq!(dump.instance_size as usize, values.len());
    assert_eq!((dump.class, dump.trace), (object(2), TraceSerial::SYSTEM));
    assert_eq!((dump.super_class, dump.loader), (object(3), object(4)));
    assert_eq!((dump.signers, dump.domain), (ObjectId::NULL, object(5)));
    let constants: Vec<_> = dump.constants.iter().map(|c| (c.index, c.value)).collect();
    assert_eq!(
        constants,
        [
            (17, Value::Object(object(6))),
            (3, Value::Object(object(7)))
        ]
    );
    let strings = strings(&file);
    let statics: Vec<_> = dump
        .statics
        .iter()
        .map(|s| (&strings[&s.name][..], s.value))
        .collect();
    assert_eq!(
        statics,
        [
            ("next", Value::Float(0.5)),
            ("head", Value::Object(object(8)))
        ]
    );
    let fields: Vec<_> = dump
        .fields
        .iter()
        .map(|f| (&strings[&f.name][..], f.basic_type))
        .collect();
    let types = [BasicType::Object, BasicType::Boolean, BasicType::Char];
    assert_eq!(
        fields,
        ["next", "flag", "unit"]
            .into_iter()
            .zip(types)
            .collect::<Vec<_>>()
    );
    // The class is announced, with its name, before the segment it is in.
    let loads = records(&file)
        .into_iter()
        .take_while(|r| r.record.tag() != 0x1c);
    let loads: Vec<_> = loads
        .filter_map(|found| match found.record {
            Record::LoadClass { class, name, .. } => Some((class, strings[&name].clone())),
            _ => None,
        })
        .collect();
    assert_eq!(loads, [(object(2), "p.Node".to_owned())]);
}

#[test]
fn arrays_keep_all_elements() {
    let mut writer = begun();
    let elements = [object(1), ObjectId::NULL, object(2), ObjectId::NULL];
    writer
        .heap_object_array(&HeapObjectArray {
            array: object(3),
            size: 32,
            trace: SITE,
            class: object(4),
            class_name: "java.lang.Object[]",
            elements: &elements,
        })
        .unwrap();
    let primitives: [(PrimitiveValues<'_>, &[u8]); 10] = [
        (PrimitiveValues::Boolean(&[1, 0]), &[1, 0]),
        (PrimitiveValues::Byte(&[-1, 2]), &[0xff, 2]),
        (PrimitiveValues::Char(&[0x1234]), &[0x12, 0x34]),
        (PrimitiveValues::Short(&[-2]), &[0xff, 0xfe]),
        (
            PrimitiveValues::Int(&[1, -1]),
            &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff],
        ),
        (PrimitiveValues::Long(&[2]), &[0, 0, 0, 0, 0, 0, 0, 2]),
        (PrimitiveValues::Float(&[1.5]), &[0x3f, 0xc0, 0, 0]),
        (
            PrimitiveValues::Double(&[4.5]),
            &[0x40, 0x12, 0, 0, 0, 0, 0, 0],
        ),
        (PrimitiveValues::Int(&[]), &[]),
        (
            PrimitiveValues::Omitted {
                element: BasicType::Long,
                length: 3,
            },
            &[],
        ),
    ];
    for (values, _) in primitives {
        let (array, size, trace) = (object(5), 24, NOWHERE);
        writer
            .heap_primitive_array(&HeapPrimitiveArray {
                array,
                size,
                trace,
                values,
            })
            .unwrap();
    }
    writer.heap_end().unwrap();
    let file = writer.into_inner();
    let subs = sub_records(&file);
    let SubRecord::ObjectArray {
        array,
        trace,
        class,
        elements: read,
    } = subs[0]
    else {
        panic!("{:?}", subs[0])
    };
    assert_eq!((array, trace, class), (object(3), SITE, object(4)));
    assert!(read.iter().eq(elements.iter().map(|id| id.get())));
    assert_eq!(subs.len(), 1 + primitives.len());
    for (sub, (given, bytes)) in subs[1..].iter().zip(primitives) {
        let SubRecord::PrimitiveArray {
            array,
            trace,
            element,
            values,
        } = *sub
        else {
            panic!("{sub:?}")
        };
        assert_eq!((array, trace), (object(5), TraceSerial::SYSTEM));
        assert_eq!((element, values), (given.element(), bytes));
    }
}

#[test]
fn the_layout_of_instances_does_not_depend_on_the_width_of_identifiers() {
    let mut layout = InstanceLayout::default();
    BasicType::ALL
        .into_iter()
        .for_each(|basic_type| layout.add(basic_type));
    assert_eq!(
        layout,
        InstanceLayout {
            references: 1,
            primitive_bytes: 30
        }
    );
    assert_eq!(layout.bytes(IdSize::Four), 34);
    assert_eq!(layout.bytes(IdSize::Eight), 38);
}

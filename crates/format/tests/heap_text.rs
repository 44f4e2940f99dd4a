//! The text of a heap dump: lines of the JDK's agent are taken apart and written again.

mod common;

use hprof_format::binary::{BasicType, Value};
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{
    HeapClass, HeapField, HeapInstance, HeapObjectArray, HeapPrimitiveArray, HeapRoot, HeapTotals,
    InstanceLayout, PrimitiveValues, Root, RootKind,
};
use hprof_format::text::{TextItem, TextReader, TextWriter};
use hprof_format::writer::HeapWriter;

fn object(hex: &str) -> ObjectId {
    ObjectId::new(u64::from_str_radix(hex, 16).unwrap())
}

/// The value behind `key` in a title such as `OBJ 1 (sz=64, trace=300195, class=A@2)`.
fn value<'a>(title: &'a str, key: &str) -> &'a str {
    let (_, rest) = title
        .split_once(key)
        .unwrap_or_else(|| panic!("{key} in {title}"));
    rest.split([',', ')']).next().unwrap()
}

fn number(title: &str, key: &str) -> u32 {
    value(title, key).parse().unwrap()
}

fn write_root(writer: &mut TextWriter<Vec<u8>>, title: &str) {
    let thread = |key| ThreadSerial::new(number(title, key));
    let trace = || TraceSerial::new(number(title, "trace="));
    let frame = || Some(number(title, "frame="));
    let kind = match value(title, "kind=<").trim_end_matches('>') {
        "thread" => RootKind::ThreadObject {
            thread: thread(" id="),
            trace: trace(),
        },
        "thread block" => RootKind::ThreadBlock {
            thread: thread("thread="),
        },
        "Java stack" => RootKind::JavaFrame {
            thread: thread("thread="),
            frame: frame(),
        },
        "JNI local ref" => RootKind::JniLocal {
            thread: thread("thread="),
            frame: frame(),
        },
        "JNI global ref" => RootKind::JniGlobal {
            reference: object(value(title, "id=")).get(),
        },
        "system class" => RootKind::StickyClass,
        "busy monitor" => RootKind::MonitorUsed,
        "native stack" => RootKind::NativeStack {
            thread: thread("thread="),
        },
        "unknown" => RootKind::Unknown,
        other => panic!("{other}"),
    };
    let is_global = matches!(kind, RootKind::JniGlobal { .. });
    let is_class = kind == RootKind::StickyClass;
    let root = Root {
        object: object(title.split(' ').nth(1).unwrap()),
        kind,
    };
    let trace = if is_global {
        trace()
    } else {
        TraceSerial::SYSTEM
    };
    let class_name = if is_class { value(title, "name=") } else { "" };
    writer
        .heap_root(&HeapRoot {
            root,
            trace,
            class_name,
        })
        .unwrap();
}

/// Names and values, put into one list per class as the writer expects them.
fn write_instance(writer: &mut TextWriter<Vec<u8>>, title: &str, lines: &[&str]) {
    let (class_name, class) = value(title, "class=").rsplit_once('@').unwrap();
    let fields: Vec<HeapField<'_>> = lines
        .iter()
        .map(|line| {
            let (name, id) = line[1..].split_once('\t').unwrap();
            HeapField {
                name,
                value: Value::Object(object(id.trim())),
            }
        })
        .collect();
    // The first half is as if inherited; a number and a null show nowhere.
    let (above, own) = fields.split_at(fields.len() / 2);
    let hidden = [
        HeapField {
            name: "int",
            value: Value::Int(7),
        },
        HeapField {
            name: "none",
            value: Value::Object(ObjectId::NULL),
        },
    ];
    writer
        .heap_instance(&HeapInstance {
            object: object(title.split(' ').nth(1).unwrap()),
            size: number(title, "sz=").into(),
            trace: TraceSerial::new(number(title, "trace=")),
            class: object(class),
            class_name,
            fields: &[own, &hidden, above],
        })
        .unwrap();
}

fn write_array(writer: &mut TextWriter<Vec<u8>>, title: &str, lines: &[&str]) {
    let array = object(title.split(' ').nth(1).unwrap());
    let size = number(title, "sz=").into();
    let trace = TraceSerial::new(number(title, "trace="));
    let length = number(title, "nelems=") as usize;
    let (name, class) = match value(title, "elem type=").split_once('@') {
        Some((name, class)) => (name, Some(object(class))),
        None => (value(title, "elem type="), None),
    };
    if let Some(class) = class {
        let mut elements = vec![ObjectId::NULL; length];
        for line in lines {
            let (index, id) = line[2..].split_once(']').unwrap();
            elements[index.parse::<usize>().unwrap()] = object(id.trim());
        }
        let (class_name, elements) = (name, &elements[..]);
        let array = HeapObjectArray {
            array,
            size,
            trace,
            class,
            class_name,
            elements,
        };
        writer.heap_object_array(&array).unwrap();
    } else {
        let element = *BasicType::ALL
            .iter()
            .find(|basic_type| name.strip_suffix("[]") == Some(basic_type.name()))
            .unwrap();
        let values = PrimitiveValues::Omitted { element, length };
        writer
            .heap_primitive_array(&HeapPrimitiveArray {
                array,
                size,
                trace,
                values,
            })
            .unwrap();
    }
}

fn write_class(writer: &mut TextWriter<Vec<u8>>, title: &str, lines: &[&str]) {
    let part = |name: &str| {
        let line = lines.iter().find_map(|line| line[1..].strip_prefix(name));
        line.and_then(|id| id.strip_prefix("\t\t"))
            .map_or(ObjectId::NULL, object)
    };
    let mut statics = vec![HeapField {
        name: "none",
        value: Value::Object(ObjectId::NULL),
    }];
    let mut constants = Vec::new();
    for line in lines {
        if let Some((name, id)) = line[1..]
            .strip_prefix("static ")
            .and_then(|l| l.split_once('\t'))
        {
            statics.push(HeapField {
                name,
                value: Value::Object(object(id)),
            });
            statics.push(HeapField {
                name,
                value: Value::Boolean(true),
            });
        } else if let Some(entry) = line[1..].strip_prefix("constant pool entry ") {
            let (index, id) = entry.split_once('\t').unwrap();
            constants.push((index.parse().unwrap(), object(id)));
        }
    }
    writer
        .heap_class(&HeapClass {
            class: object(title.split(' ').nth(1).unwrap()),
            name: value(title, "name="),
            trace: TraceSerial::new(number(title, "trace=")),
            super_class: part("super"),
            loader: part("loader"),
            signers: part("signers"),
            domain: part("domain"),
            instance: InstanceLayout::default(),
            constants: &constants,
            statics: &statics,
            fields: &[],
        })
        .unwrap();
}

#[test]
fn lines_of_the_original_are_written_again_as_they_were() {
    let file = common::data("heap-dump-excerpt.txt");
    let text = std::str::from_utf8(&file).unwrap();
    let items: Vec<TextItem<'_>> = TextReader::new(text).collect();
    let [TextItem::HeapDump(dump)] = &items[..] else {
        panic!("{items:?}")
    };
    assert!(dump.is_complete);
    let mut writer = TextWriter::new(Vec::new());
    let totals = HeapTotals {
        objects: dump.objects,
        bytes: dump.bytes,
    };
    writer.heap_begin(&totals, dump.ctime).unwrap();
    let mut lines = dump.body.lines().peekable();
    while let Some(title) = lines.next() {
        let mut below = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('\t')) {
            below.push(line);
        }
        match &title[..4] {
            "ROOT" => write_root(&mut writer, title),
            "OBJ " => write_instance(&mut writer, title, &below),
            "ARR " => write_array(&mut writer, title, &below),
            "CLS " => write_class(&mut writer, title, &below),
            other => panic!("{other}"),
        }
    }
    writer.heap_end().unwrap();
    let written = String::from_utf8(writer.into_inner()).unwrap();
    for (ours, theirs) in written.lines().zip(text.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(written, text);
}

#[test]
fn kinds_the_original_never_wrote() {
    let mut writer = TextWriter::new(Vec::new());
    let thread = ThreadSerial::new(200_001);
    for kind in [
        RootKind::NativeStack { thread },
        RootKind::MonitorUsed,
        RootKind::JavaFrame {
            thread,
            frame: None,
        },
        RootKind::JniMonitor {
            thread,
            frame: Some(1),
        },
    ] {
        let root = Root {
            object: ObjectId::new(0xabc),
            kind,
        };
        let (trace, class_name) = (TraceSerial::SYSTEM, "");
        writer
            .heap_root(&HeapRoot {
                root,
                trace,
                class_name,
            })
            .unwrap();
    }
    assert_eq!(
        String::from_utf8(writer.into_inner()).unwrap(),
        "ROOT abc (kind=<native stack>, thread=200001)\n\
         ROOT abc (kind=<busy monitor>)\n\
         ROOT abc (kind=<Java stack>, thread=200001, frame=-1)\n\
         ROOT abc (kind=<unknown>)\n"
    );
}

//! The records and sub-records, field by field, from the descriptions of the format alone.

use crate::maker::Maker;

/// A record or sub-record.
pub struct Row {
    /// Its tag.
    pub tag: u8,
    /// Its name.
    pub name: &'static str,
    /// Writes its body, noting each field.
    pub make: fn(&mut Maker),
    /// In how many ways it can be filled, such as the types of an array's elements.
    pub variants: usize,
    /// A real file with such records: one of the test data, or of the fixtures beside.
    pub file: &'static str,
    /// Who defines it.
    pub source: &'static str,
}

const MANUAL: &str = "HPROF manual";
const AGENT: &str = "hprof_io.c, JDK 8";
const HOTSPOT: &str = "heapDumper.cpp";
const ART: &str = "ART, hprof.cc";

const fn row(
    tag: u8,
    name: &'static str,
    file: &'static str,
    source: &'static str,
    make: fn(&mut Maker),
) -> Row {
    Row {
        tag,
        name,
        make,
        variants: 1,
        file,
        source,
    }
}

/// The records of a file.
pub const RECORDS: [Row; 14] = [
    row(0x01, "UTF8", "hprof-32.bin", MANUAL, |m| {
        m.id("identifier");
        m.bytes("text");
    }),
    row(0x02, "LOAD CLASS", "hprof-32.bin", MANUAL, |m| {
        m.u4("class serial");
        m.id("class object");
        m.u4("trace serial");
        m.id("name");
    }),
    row(0x03, "UNLOAD CLASS", "", MANUAL, |m| m.u4("class serial")),
    row(0x04, "FRAME", "hprof-32.bin", MANUAL, |m| {
        m.id("identifier");
        m.id("method name");
        m.id("method signature");
        m.id("source file");
        m.u4("class serial");
        m.u4("line");
    }),
    row(0x05, "TRACE", "hprof-32.bin", MANUAL, |m| {
        m.u4("trace serial");
        m.u4("thread serial");
        m.list("frames", Maker::u4_count, |m| m.id("frame"));
    }),
    row(0x06, "ALLOC SITES", "heap-sites-b.hprof", MANUAL, |m| {
        m.u2("flags");
        m.u4("cutoff");
        m.u4("live bytes");
        m.u4("live instances");
        m.u8("allocated bytes");
        m.u8("allocated instances");
        m.list("sites", Maker::u4_count, |m| {
            m.u1("array kind");
            m.u4("class serial");
            m.u4("trace serial");
            m.u4("live bytes");
            m.u4("live instances");
            m.u4("allocated bytes");
            m.u4("allocated instances");
        });
    }),
    row(0x07, "HEAP SUMMARY", "", MANUAL, |m| {
        m.u4("live bytes");
        m.u4("live instances");
        m.u8("allocated bytes");
        m.u8("allocated instances");
    }),
    row(0x0a, "START THREAD", "cpu-samples-b.hprof", MANUAL, |m| {
        m.u4("thread serial");
        m.id("thread object");
        m.u4("trace serial");
        m.id("name");
        m.id("group name");
        m.id("parent group's name");
    }),
    row(0x0b, "END THREAD", "cpu-samples-b.hprof", MANUAL, |m| {
        m.u4("thread serial");
    }),
    row(0x0c, "HEAP DUMP", "hprof-32.bin", MANUAL, Maker::sub_record),
    row(0x0d, "CPU SAMPLES", "cpu-samples-b.hprof", MANUAL, |m| {
        m.u4("total");
        m.list("samples", Maker::u4_count, |m| {
            m.u4("samples");
            m.u4("trace serial");
        });
    }),
    row(0x0e, "CONTROL SETTINGS", "hprof-32.bin", MANUAL, |m| {
        m.u4("flags");
        m.u2("depth");
    }),
    row(
        0x1c,
        "HEAP DUMP SEGMENT",
        "hprof-android.bin",
        HOTSPOT,
        Maker::sub_record,
    ),
    row(0x2c, "HEAP DUMP END", "hprof-android.bin", HOTSPOT, |_| {}),
];

fn of_object(m: &mut Maker) {
    m.id("object");
}

fn with_thread(m: &mut Maker) {
    m.id("object");
    m.u4("thread serial");
}

fn with_frame(m: &mut Maker) {
    with_thread(m);
    m.frame("frame, -1 for none");
}

fn array_head(m: &mut Maker) {
    m.id("array");
    m.u4("trace serial");
}

/// The sub-records of a heap dump.
pub const SUB_RECORDS: [Row; 22] = [
    row(0xff, "ROOT UNKNOWN", "hprof-32.bin", MANUAL, of_object),
    row(0x01, "ROOT JNI GLOBAL", "hprof-32.bin", MANUAL, |m| {
        m.id("object");
        m.id("reference");
    }),
    row(0x02, "ROOT JNI LOCAL", "hprof-32.bin", MANUAL, with_frame),
    row(0x03, "ROOT JAVA FRAME", "hprof-32.bin", MANUAL, with_frame),
    row(0x04, "ROOT NATIVE STACK", "", MANUAL, with_thread),
    row(0x05, "ROOT STICKY CLASS", "hprof-32.bin", MANUAL, of_object),
    row(
        0x06,
        "ROOT THREAD BLOCK",
        "hprof-32.bin",
        MANUAL,
        with_thread,
    ),
    row(0x07, "ROOT MONITOR USED", "hprof-32.bin", MANUAL, of_object),
    row(0x08, "ROOT THREAD OBJECT", "hprof-32.bin", MANUAL, |m| {
        with_thread(m);
        m.u4("trace serial");
    }),
    row(
        0x89,
        "ROOT INTERNED STRING",
        "hprof-android.bin",
        ART,
        of_object,
    ),
    row(0x8a, "ROOT FINALIZING", "hprof-android.bin", ART, of_object),
    row(0x8b, "ROOT DEBUGGER", "hprof-android.bin", ART, of_object),
    row(0x8c, "ROOT REFERENCE CLEANUP", "", ART, of_object),
    row(0x8d, "ROOT VM INTERNAL", "", ART, of_object),
    row(0x8e, "ROOT JNI MONITOR", "", ART, with_frame),
    row(0x90, "UNREACHABLE", "", ART, of_object),
    row(0xfe, "HEAP DUMP INFO", "hprof-android.bin", ART, |m| {
        m.u4("heap");
        m.id("name");
    }),
    Row {
        variants: 2,
        ..row(0x20, "CLASS DUMP", "hprof-32.bin", AGENT, |m| {
            m.id("class object");
            m.u4("trace serial");
            m.id("super class");
            m.id("loader");
            m.id("signers");
            m.id("protection domain");
            m.reserved();
            m.reserved();
            m.u4("instance size");
            m.typed_list("constants", |m| m.u2("index"), true);
            m.typed_list("static fields", |m| m.id("name"), true);
            m.typed_list("instance fields", |m| m.id("name"), false);
        })
    },
    row(0x21, "INSTANCE DUMP", "hprof-32.bin", MANUAL, |m| {
        m.id("object");
        m.u4("trace serial");
        m.id("class object");
        m.u4_bytes("values");
    }),
    row(0x22, "OBJECT ARRAY DUMP", "hprof-32.bin", MANUAL, |m| {
        array_head(m);
        // The class stands between the number of elements and the elements.
        m.counted_list("elements", |m| m.id("array class"), |m| m.id("element"));
    }),
    Row {
        variants: 8,
        ..row(0x23, "PRIMITIVE ARRAY DUMP", "hprof-32.bin", MANUAL, |m| {
            array_head(m);
            m.elements();
        })
    },
    Row {
        variants: 8,
        ..row(0xc3, "PRIMITIVE ARRAY NODATA DUMP", "", ART, |m| {
            array_head(m);
            m.u4("number of elements");
            m.element_type();
        })
    },
];

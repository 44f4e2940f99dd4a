//! The verification matrix: each record and sub-record is written by hand as its description has
//! it, with boundary values and both widths of identifiers, and read back in each mode field by
//! field. `docs/verification.md` shows what was verified; `UPDATE=1 cargo test -p hprof-format
//! --test matrix` writes it anew.

#[path = "../common/mod.rs"]
mod common;
mod fields;
mod maker;
#[path = "../oracle/mod.rs"]
mod oracle;
mod rows;
mod types;

use std::fmt::Write as _;
use std::path::Path;

use hprof_format::binary::{IdSize, Record};
use hprof_format::reader::{Event, Reader};
use maker::{Maker, Values};
use rows::{RECORDS, Row, SUB_RECORDS};

/// A file with one record of a row between two others.
struct Made {
    file: Vec<u8>,
    /// Where the record or sub-record starts.
    at: usize,
    /// Where the record around it starts.
    record_at: usize,
    expected: Vec<u64>,
    id_size: IdSize,
}

fn record(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut record = vec![tag, 0, 0, 0, 9];
    record.extend((body.len() as u32).to_be_bytes());
    record.extend_from_slice(body);
    record
}

fn make(row: &Row, is_sub: bool, id: usize, maker: Maker) -> Made {
    let mut maker = maker;
    (row.make)(&mut maker);
    let mut file = b"JAVA PROFILE 1.0.2\0\0\0\0".to_vec();
    file.push(id as u8);
    file.extend([0; 8]);
    file.extend(record(0x0b, &[0, 0, 0, 1]));
    let record_at = file.len();
    let root = |number: u8| {
        let mut root = vec![0xff; 1 + id];
        root[id] = number;
        root
    };
    let at = if is_sub {
        let start = root(1);
        let at = record_at + 9 + start.len();
        let body = [&start[..], &[row.tag], &maker.body, &root(2)].concat();
        file.extend(record(0x1c, &body));
        at
    } else {
        file.extend(record(row.tag, &maker.body));
        record_at
    };
    file.extend(record(0x0b, &[0, 0, 0, 2]));
    Made {
        file,
        at,
        record_at,
        expected: maker.expected,
        id_size: if id == 4 { IdSize::Four } else { IdSize::Eight },
    }
}

impl Made {
    fn in_memory(&self, is_sub: bool) -> bool {
        let all: Vec<_> = Reader::new(&self.file)
            .expect("a header")
            .map(Result::unwrap)
            .collect();
        let found = all[1];
        let fields = match found.record {
            Record::HeapDumpSegment(heap) if is_sub => {
                let subs: Vec<_> = heap.map(Result::unwrap).collect();
                assert_eq!(subs.len(), 3, "{subs:?}");
                fields::of_sub_record(&subs[1], self.id_size)
            }
            other => fields::of_record(&other),
        };
        all.len() == 3 && (is_sub || found.micros == 9) && fields == self.expected
    }

    fn in_pieces(&self, is_sub: bool) -> bool {
        [1, 13, 4096].into_iter().all(|step| {
            let (mut found, mut records) = (Vec::new(), 0);
            common::for_each_event(&self.file, step, |event| match event.expect("sound") {
                Event::Record(at) => {
                    records += 1;
                    if at.offset as usize == self.at {
                        found.extend(fields::of_record(&at.record));
                    }
                }
                Event::Heap { .. } => records += 1,
                Event::SubRecord { offset, sub_record } => {
                    let offset = offset as usize;
                    if offset == self.at || (!is_sub && offset > self.at) {
                        found.extend(fields::of_sub_record(&sub_record, self.id_size));
                    }
                }
                Event::LongSubRecord { .. } => panic!("nothing here is that long"),
            });
            records == 3 && found == self.expected
        })
    }

    /// By its place alone, as one who keeps an index of places does.
    fn by_place(&self, is_sub: bool) -> bool {
        let mut reader = Reader::new(&self.file).expect("a header");
        reader.seek(self.record_at as u64);
        let record = reader.next().expect("a record").expect("sound").record;
        let found = match record {
            Record::HeapDumpSegment(heap) if is_sub => {
                let sub = heap.starting_at(self.at as u64).next();
                fields::of_sub_record(&sub.expect("a sub-record").expect("sound"), self.id_size)
            }
            other => fields::of_record(&other),
        };
        found == self.expected
    }
}

/// The verified properties of a row.
#[derive(Default)]
struct Verified {
    /// By width of identifiers: 4, 8.
    widths: [bool; 2],
    /// By [`Values`].
    values: [bool; 4],
    /// In memory, in pieces, by place.
    modes: [bool; 3],
    described: String,
}

fn verify(row: &Row, is_sub: bool) -> Verified {
    let mut verified = Verified {
        widths: [true; 2],
        values: [true; 4],
        modes: [true; 3],
        described: String::new(),
    };
    for (width, id) in [4, 8].into_iter().enumerate() {
        for (number, values) in Values::ALL.into_iter().enumerate() {
            for variant in 0..row.variants {
                for length in [0, 1, 3, 300] {
                    let maker = || Maker::new(id, values, variant, length);
                    let made = make(row, is_sub, id, maker());
                    let modes = [
                        made.in_memory(is_sub),
                        made.in_pieces(is_sub),
                        made.by_place(is_sub),
                    ];
                    for (verified, found) in verified.modes.iter_mut().zip(modes) {
                        *verified &= found;
                    }
                    let all = modes.iter().all(|&found| found);
                    verified.widths[width] &= all;
                    verified.values[number] &= all;
                    if length == 3 {
                        let mut maker = maker();
                        (row.make)(&mut maker);
                        verified.described = maker.described;
                    }
                }
            }
        }
    }
    verified
}

/// True if the file that a row names has such records; files beside the workspace may be missing.
fn is_in_file(row: &Row, is_sub: bool) -> bool {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let file = match data.join(row.file).exists() {
        true => Some(common::data(row.file)),
        false => common::shared(row.file),
    };
    let tag = u16::from(row.tag) + if is_sub { 0x100 } else { 0 };
    file.is_none_or(|file| oracle::walk(&file).counts.contains_key(&tag))
}

const HEAD: &str = "\
# Verification of the binary reader

Each record and sub-record is written byte by byte from its description, apart from the reader's code, with the values
0, all bits set, the sign bit only, and bytes that all differ, in each field, with lists of 0, 1, 3 and 300 entries, and
with each type of value. It is read back in three ways, and all fields are compared in their order: in memory (`Reader`),
as a stream that comes in pieces of 1, 13 and 4,096 bytes (`StreamReader`), and by its place alone, as indexes do
(`Reader::seek`, `SubRecords::starting_at`). \u{2713} means that all of this came out right, by width of identifiers and by
mode. Real files are those of `crates/format/tests/data`, or of the hprof-slurp project (`hprof-android.bin`);
their records are counted by a program of their own (`crates/format/tests/oracle`) and compared with those that the reader
finds.

This page is made by `UPDATE=1 cargo test -p hprof-format --test matrix`, and compared by the same test.

Sources: the [HPROF manual](https://docs.oracle.com/javase/8/docs/technotes/samples/hprof.html) and `manual.html` of the
JDK 8 sources; `hprof_io.c` of the JDK 8 agent; `heapDumper.cpp` of HotSpot; `runtime/hprof/hprof.cc` of ART.
";

fn table(title: &str, rows: &[Row], is_sub: bool) -> String {
    let mut text = format!(
        "\n## {title}\n\n| Tag | Record | Fields in order | Boundary values | Id 4 | Id 8 | In memory | \
         Streaming | Indexed | Real file | Source of truth |\n|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let verified = verify(row, is_sub);
        assert!(
            row.file.is_empty() || is_in_file(row, is_sub),
            "{} is not in {}",
            row.name,
            row.file
        );
        let mark = |verified: bool| if verified { "\u{2713}" } else { "**wrong**" };
        let all = |list: &[bool]| mark(list.iter().all(|&it| it));
        let file = match row.file {
            "" => "none known".to_owned(),
            file => format!("`{file}`"),
        };
        let described = match verified.described.as_str() {
            "" => "none",
            described => described,
        };
        writeln!(
            text,
            "| 0x{:02X} | {} | {described} | {} | {} | {} | {} | {} | {} | {file} | {} |",
            row.tag,
            row.name,
            all(&verified.values),
            mark(verified.widths[0]),
            mark(verified.widths[1]),
            mark(verified.modes[0]),
            mark(verified.modes[1]),
            mark(verified.modes[2]),
            row.source,
        )
        .expect("strings take all");
    }
    text
}

#[test]
fn the_matrix_is_verified_and_told() {
    let mut page = HEAD.to_owned();
    page += &table("Records", &RECORDS, false);
    page += &table("Sub-records of heap dumps", &SUB_RECORDS, true);
    page += &types::table();
    page += include_str!("graph.md");
    // Compared by hand.
    page += include_str!("recordings.md");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verification.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &page).expect("docs can be written");
    }
    assert!(!page.contains("**wrong**"), "{page}");
    let told = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        told, page,
        "make it anew: UPDATE=1 cargo test -p hprof-format --test matrix"
    );
}

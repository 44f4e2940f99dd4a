//! Both readers find as many records of each kind as an independent count does, in every file at
//! hand: those of this crate's test data, and all in the folder that `HPROF_FIXTURES` names.

mod common;
mod oracle;

use std::io::Read;
use std::path::{Path, PathBuf};

use hprof_format::binary::{BasicType, IdSize, Ids, Record, RecordWriter, SubRecord};
use hprof_format::ids::{ObjectId, StringId, ThreadSerial, TraceSerial};
use hprof_format::model::{Root, RootKind};
use hprof_format::reader::{Event, FileHeader, Reader, Version};
use hprof_format::text::{TextItem, TextReader};
use oracle::Counts;

fn in_memory(file: &[u8]) -> Counts {
    let mut counts = Counts::new();
    for found in Reader::new(file).unwrap() {
        let record = found.unwrap().record;
        *counts.entry(u16::from(record.tag())).or_default() += 1;
        if let Record::HeapDump(mut heap) | Record::HeapDumpSegment(mut heap) = record {
            while let (offset, Some(sub)) = (heap.offset(), heap.next()) {
                sub.unwrap();
                let tag = u16::from(file[offset as usize]);
                *counts.entry(0x100 + tag).or_default() += 1;
            }
        }
    }
    counts
}

fn in_pieces(file: &[u8]) -> Counts {
    let mut counts = Counts::new();
    common::for_each_event(file, 70_000, |event| {
        let (offset, base) = match event.unwrap() {
            Event::Record(found) => (found.offset, 0),
            Event::Heap { offset, .. } => (offset, 0),
            Event::SubRecord { offset, .. } | Event::LongSubRecord { offset, .. } => {
                (offset, 0x100)
            }
        };
        let tag = u16::from(file[offset as usize]);
        *counts.entry(base + tag).or_default() += 1;
    });
    counts
}

/// All files of the test data and of the folders with more of them.
fn files() -> Vec<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![manifest.join("tests/data")];
    folders.extend(["fixtures", "goldens"].map(|it| manifest.join("../../../shared").join(it)));
    folders.extend(std::env::var_os("HPROF_FIXTURES").map(PathBuf::from));
    let entries = folders.iter().filter_map(|it| it.read_dir().ok()).flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn binary_files_are_counted_alike() {
    let mut compared = 0;
    for path in files() {
        if path.is_dir() {
            continue;
        }
        let file = std::fs::read(&path).unwrap();
        if Reader::new(&file).is_err() {
            continue;
        }
        let expected = oracle::walk(&file).counts;
        assert_eq!(in_memory(&file), expected, "{}", path.display());
        assert_eq!(in_pieces(&file), expected, "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 3, "{compared} files compared");
}

/// The lines of a text file that begin or make up what the reader shows, counted by their look.
#[derive(Debug, Default, PartialEq)]
struct TextCounts {
    traces: usize,
    frames: usize,
    threads: usize,
    rows: usize,
    heap_lines: usize,
}

fn count_lines(text: &str) -> TextCounts {
    let mut counts = TextCounts::default();
    let mut section = "";
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_title = |last: &str| words.contains(&last) && line.starts_with(char::is_uppercase);
        if section.is_empty() && is_title("BEGIN") {
            section = words[0];
        } else if !section.is_empty() && is_title("END") {
            section = "";
        } else if section == "HEAP" {
            counts.heap_lines += 1;
        } else if line == "count callee caller time" {
            section = "old";
        } else if section == "old" {
            counts.rows += 1;
        } else if !section.is_empty() {
            counts.rows += usize::from(words[0].parse::<u32>().is_ok());
        } else if line.starts_with("TRACE ") && words[1].ends_with(':') {
            counts.traces += 1;
        } else if line.starts_with("THREAD START (") || line.starts_with("THREAD END (") {
            counts.threads += 1;
        } else if line.starts_with('\t') && counts.traces > 0 {
            counts.frames += usize::from(!line.contains("<empty>"));
        }
    }
    counts
}

fn read_items(text: &str) -> TextCounts {
    let mut counts = TextCounts::default();
    for item in TextReader::new(text) {
        match item {
            TextItem::Trace(trace) => {
                counts.traces += 1;
                counts.frames += trace.frames.len();
                assert_eq!(trace.bad_lines, 0, "{trace:?}");
            }
            TextItem::ThreadStart(_) | TextItem::ThreadEnd(_) => counts.threads += 1,
            TextItem::Cpu(table) => counts.rows += table.table.rows.len(),
            TextItem::OldCpu(table) => counts.rows += table.rows.len(),
            TextItem::Sites(table) => counts.rows += table.table.rows.len(),
            TextItem::MonitorTime(table) => counts.rows += table.table.rows.len(),
            TextItem::HeapDump(dump) => counts.heap_lines += dump.body.lines().count(),
            _ => {}
        }
    }
    counts
}

#[test]
fn text_files_are_counted_alike() {
    let mut compared = 0;
    for path in files() {
        let name = path.to_string_lossy();
        if !name.ends_with(".txt") && !name.ends_with(".txt.gz") {
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        if name.ends_with(".gz") {
            let packed = std::mem::take(&mut bytes);
            let mut unpacked = flate2::read::GzDecoder::new(&*packed);
            unpacked.read_to_end(&mut bytes).unwrap();
        }
        let text = hprof_format::binary::mutf8::decode(&bytes);
        let expected = count_lines(&text);
        assert_eq!(read_items(&text), expected, "{}", path.display());
        assert!(expected != TextCounts::default(), "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 5, "{compared} files compared");
}

/// Everything that Android's VMs write and no other does.
#[test]
fn a_file_of_android_loses_no_record() {
    for id_size in [IdSize::Four, IdSize::Eight] {
        let header = FileHeader {
            version: Version::V1_0_3,
            id_size,
            created_millis: 0,
        };
        let object = |number: u64| ObjectId::new(0xf000_0000 + number);
        let root = |number: u64, kind| {
            let object = object(number);
            SubRecord::Root(Root { object, kind })
        };
        let (thread, trace) = (ThreadSerial::new(7), TraceSerial::new(u32::MAX));
        let heap = |heap| SubRecord::HeapInfo {
            heap,
            name: StringId::new(0x40_0001),
        };
        let array = |number: u64| SubRecord::PrimitiveArray {
            array: object(number),
            trace,
            element: BasicType::Char,
            values: &[0, 65, 0, 66],
        };
        let subs = [
            root(1, RootKind::InternedString),
            root(2, RootKind::Finalizing),
            root(3, RootKind::Debugger),
            root(4, RootKind::ReferenceCleanup),
            root(5, RootKind::VmInternal),
            root(
                6,
                RootKind::JniMonitor {
                    thread,
                    frame: None,
                },
            ),
            root(7, RootKind::ThreadObject { thread, trace }),
            SubRecord::Unreachable { object: object(8) },
            heap(u32::from(b'Z')),
            SubRecord::PrimitiveArrayNoData {
                array: object(9),
                trace,
                element: BasicType::Long,
                length: 1_000_000,
            },
            array(10),
            heap(u32::from(b'A')),
            root(11, RootKind::VmInternal),
            SubRecord::ObjectArray {
                array: object(12),
                trace,
                class: object(13),
                elements: Ids::new(&[0; 16], id_size),
            },
            array(13),
        ];
        let mut writer = RecordWriter::new(Vec::new(), &header).unwrap();
        for _ in 0..3 {
            writer.heap(0, true, subs).unwrap();
        }
        writer.record(0, &Record::HeapDumpEnd).unwrap();
        let file = writer.into_inner();
        let expected = oracle::walk(&file).counts;
        let sub_records: u64 = expected.range(0x100..).map(|(_, count)| count).sum();
        assert_eq!(sub_records, 3 * subs.len() as u64);
        assert_eq!(in_memory(&file), expected);
        assert_eq!(in_pieces(&file), expected);
        let read: Vec<_> = Reader::new(&file)
            .unwrap()
            .filter_map(|found| match found.unwrap().record {
                Record::HeapDumpSegment(heap) => Some(heap.map(Result::unwrap)),
                _ => None,
            })
            .flatten()
            .collect();
        assert_eq!(read, subs.repeat(3));
    }
}

/// Cut at the start of each record and sub-record, a file yields what lies before; a cut within a
/// heap dump is reported.
#[test]
fn files_cut_at_each_boundary_lose_nothing_before_it() {
    for path in files() {
        let Ok(file) = std::fs::read(&path) else {
            continue;
        };
        if Reader::new(&file).is_err() {
            continue;
        }
        let places = oracle::walk(&file);
        let mut start = 31;
        for &cut in &places.records[1..] {
            // The record before the cut is the last, and whole.
            let mut reader = Reader::new(&file[..cut]).unwrap();
            reader.seek(start);
            assert!(
                reader.next().unwrap().is_ok(),
                "{} at {cut}",
                path.display()
            );
            assert!(reader.next().is_none(), "{} at {cut}", path.display());
            start = cut as u64;
        }
        let mut ends = places.records.clone();
        ends.push(file.len());
        let mut segment = 0;
        let mut last = None;
        for &cut in &places.sub_records {
            while ends[segment + 1] <= cut {
                segment += 1;
                last = None;
            }
            let mut reader = Reader::new(&file[..cut]).unwrap();
            reader.seek(ends[segment] as u64);
            let record = reader.next().unwrap().unwrap().record;
            let (Record::HeapDump(heap) | Record::HeapDumpSegment(heap)) = record else {
                panic!("{record:?}")
            };
            // Only the end of the segment is of interest, not all that lies before.
            let mut rest = heap.starting_at(last.unwrap_or(heap.offset()));
            if last.is_some() {
                assert!(rest.next().unwrap().is_ok(), "{} at {cut}", path.display());
            }
            let told = rest.next().unwrap().unwrap_err();
            assert_eq!(told.offset(), cut as u64, "{}", path.display());
            assert!(rest.next().is_none(), "{} at {cut}", path.display());
            assert!(reader.next().is_none(), "{} at {cut}", path.display());
            last = Some(cut as u64);
        }
    }
}

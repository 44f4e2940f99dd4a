//! Profiles that come in piece by piece, and end too early.

mod common;

use common::data;
use hprof_format::binary::{Record, SubRecord};
use hprof_format::reader::Reader;
use hprof_format::splitter::{BinaryPart, BinarySplitter, Cut, Section, TextPart, TextSplitter};
use hprof_format::text::{TextItem, TextReader};
use proptest::prelude::*;

/// A small dump of HotSpot's kind: segments, classes with constants and fields, arrays.
fn segments() -> Vec<u8> {
    let mut file = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
    let mut record = |tag: u8, body: &[u8]| {
        file.extend([tag, 0, 0, 0, 9]);
        file.extend((body.len() as u32).to_be_bytes());
        file.extend(body);
    };
    let id = |number: u8| [0, 0, 0, 0, 0, 0, 0, number];
    let text = |number: u8, text: &[u8]| [&id(number)[..], text].concat();
    record(0x01, &text(1, b"field"));
    record(0x01, &text(2, &[b'x'; 6000]));
    let mut class = vec![0x20];
    class.extend(id(3));
    class.extend([0, 0, 0, 1]);
    class.extend([0; 48]);
    class.extend([0, 0, 0, 8]);
    // Two constants, one static field, two fields.
    class.extend([0, 2, 0, 1, 2]);
    class.extend(id(7));
    class.extend([0, 2, 10, 1, 2, 3, 4]);
    class.extend([0, 1]);
    class.extend(id(1));
    class.extend([5, 0, b'c']);
    class.extend([0, 2]);
    class.extend([&id(1)[..], &[10], &id(1)[..], &[2]].concat());
    let mut instance = vec![0x21];
    instance.extend(
        [
            &id(4)[..],
            &[0, 0, 0, 1],
            &id(3)[..],
            &[0, 0, 0, 12],
            &[9; 12],
        ]
        .concat(),
    );
    let mut objects = vec![0x22];
    objects.extend(
        [
            &id(5)[..],
            &[0, 0, 0, 1, 0, 0, 0, 2],
            &id(3)[..],
            &id(4),
            &id(5),
        ]
        .concat(),
    );
    let mut chars = vec![0x23];
    chars.extend(
        [
            &id(6)[..],
            &[0, 0, 0, 1, 0, 0, 0, 3, 5, 0, b'a', 0, b'b', 0, b'c'],
        ]
        .concat(),
    );
    let root = [&[0x08][..], &id(4), &[0, 0, 0, 1, 0, 0, 0, 1]].concat();
    record(0x1c, &[class, instance.clone(), objects].concat());
    record(
        0x1c,
        &[chars, instance, root, vec![0x05], id(3).to_vec()].concat(),
    );
    record(0x2c, &[]);
    record(0x07, &[1; 24]);
    file
}

/// The contents of a file, in a form that can be compared, and the number of damaged places.
fn contents(file: &[u8]) -> (Vec<String>, usize) {
    let (mut found, mut damages) = (Vec::new(), 0);
    let mut subs = |subs: hprof_format::binary::SubRecords<'_>, found: &mut Vec<String>| {
        for sub in subs {
            match sub {
                Ok(sub) => found.push(describe(&sub)),
                Err(_) => damages += 1,
            }
        }
    };
    let mut broken = 0;
    for record in Reader::new(file).expect("a header") {
        match record.map(|it| it.record) {
            Ok(Record::HeapDump(it) | Record::HeapDumpSegment(it)) => subs(it, &mut found),
            Ok(record) => found.push(format!("{record:?}")),
            Err(_) => broken += 1,
        }
    }
    (found, damages + broken)
}

fn describe(sub: &SubRecord<'_>) -> String {
    format!("{sub:?}")
}

fn split(file: &[u8], step: usize) -> (BinarySplitter, Vec<(u8, u32)>) {
    let mut splitter = BinarySplitter::new();
    let mut records = Vec::new();
    for part in file.chunks(step.max(1)) {
        let pushed = splitter.push(part, |part| {
            if let BinaryPart::Record { tag, length, .. } = part {
                records.push((tag, length));
            }
        });
        pushed.expect("a good header");
    }
    (splitter, records)
}

fn mend(file: &[u8], cut: &Cut) -> Vec<u8> {
    let mut file = file[..cut.keep as usize].to_vec();
    if let Some(patch) = cut.patch {
        let at = patch.at as usize;
        file[at..at + 4].copy_from_slice(&patch.length.to_be_bytes());
    }
    file.extend(&cut.append);
    file
}

/// Checks that a file cut off at `at` becomes a good one with the same things at its beginning.
fn assert_mended(file: &[u8], at: usize, step: usize) {
    let part = &file[..at];
    let (splitter, _) = split(part, step);
    assert_eq!(splitter.offset(), at as u64);
    let mended = match splitter.end() {
        Some(cut) => mend(part, &cut),
        None => part.to_vec(),
    };
    if at < 31 {
        assert!(mended.is_empty(), "there is nothing to keep");
        return;
    }
    let (all, _) = contents(file);
    let (kept, damages) = contents(&mended);
    assert_eq!(damages, 0, "cut at {at}");
    let end = format!("{:?}", Record::HeapDumpEnd);
    let kept: Vec<String> = match kept.last() {
        Some(last) if *last == end && splitter.end().is_some() => kept[..kept.len() - 1].to_vec(),
        _ => kept,
    };
    assert!(all.starts_with(&kept), "cut at {at}: {kept:?}");
}

#[test]
fn every_cut_of_a_dump_in_segments_is_mended() {
    let file = segments();
    assert_eq!(contents(&file).1, 0);
    for at in 0..=file.len() {
        assert_mended(&file, at, 7);
    }
    let cut = split(&file[..file.len() - 60], 3)
        .0
        .end()
        .expect("in a segment");
    let end = [0x2c, 0, 0, 0, 9, 0, 0, 0, 0];
    assert_eq!(cut.append, end, "the dump gets its end");
}

#[test]
fn nothing_is_lost_but_what_is_not_whole() {
    let file = segments();
    let all = contents(&file).0.len();
    let mut kept = std::collections::BTreeSet::new();
    for at in 31..=file.len() {
        let (splitter, _) = split(&file[..at], 11);
        let mended = splitter
            .end()
            .map_or(file[..at].to_vec(), |cut| mend(&file[..at], &cut));
        let appended = splitter.end().is_some_and(|cut| !cut.append.is_empty());
        kept.insert(contents(&mended).0.len() - usize::from(appended));
    }
    // Every record and sub-record is kept as soon as it is whole.
    assert!(kept.into_iter().eq(0..=all));
}

#[test]
fn records_of_the_jdks_agent_are_counted() {
    for name in ["heap-sites-b.hprof", "cpu-samples-b.hprof", "hprof-32.bin"] {
        let file = data(name);
        let expected: Vec<u8> = Reader::new(&file)
            .expect("a header")
            .filter_map(|record| record.ok().map(|it| it.record.tag()))
            .collect();
        for step in [1, 13, 4096, file.len()] {
            let (splitter, records) = split(&file, step);
            let tags: Vec<u8> = records.iter().map(|record| record.0).collect();
            assert_eq!(tags, expected, "{name}");
            assert_eq!((splitter.end(), splitter.damaged()), (None, 0), "{name}");
            assert_eq!(splitter.whole(), file.len() as u64);
        }
    }
}

#[test]
fn the_largest_lengths_take_no_memory() {
    let mut file = segments();
    file.extend([0x01, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    let (mut splitter, _) = split(&file, 100);
    let whole = splitter.whole();
    for _ in 0..1000 {
        splitter
            .push(&[7; 4096], |part| panic!("{part:?}"))
            .unwrap();
    }
    assert_eq!(splitter.end().map(|cut| cut.keep), Some(whole));
}

#[test]
fn what_is_no_profile_is_refused() {
    let mut splitter = BinarySplitter::new();
    let garbage = [b'x'; 40];
    assert!(splitter.push(&garbage, |_| {}).is_err());
}

#[test]
fn sections_of_a_text_profile_are_seen_and_closed() {
    let text = String::from_utf8(data("cpu-samples.txt")).expect("UTF-8");
    let mut splitter = TextSplitter::new();
    let mut seen = Vec::new();
    for part in text.as_bytes().chunks(5) {
        splitter.push(part, |part| match part {
            TextPart::Begin(section, line) => seen.push(format!("{section:?} {}", line.len())),
            TextPart::End(section) => seen.push(format!("end {section:?}")),
            _ => {}
        });
    }
    assert_eq!(splitter.end(), None);
    assert!(seen[0].starts_with("CpuSamples "), "{seen:?}");
    assert_eq!(seen[1], format!("end {:?}", Section::CpuSamples));
    assert_eq!(splitter.lines(), text.lines().count() as u64);
}

/// The complete and incomplete tables in a text.
fn tables(text: &str) -> (usize, usize) {
    let (mut whole, mut open) = (0, 0);
    for item in TextReader::new(text) {
        match item {
            TextItem::Cpu(table) if table.table.is_complete => whole += 1,
            TextItem::Cpu(_) => open += 1,
            _ => {}
        }
    }
    (whole, open)
}

proptest! {
    // Each case reads three files twice.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_cut_of_a_real_profile_is_mended(at in 0_usize..60_000, step in 1_usize..9000) {
        for name in ["heap-sites-b.hprof", "cpu-samples-b.hprof", "hprof-32.bin"] {
            let file = data(name);
            assert_mended(&file, at % file.len(), step);
        }
    }

}

proptest! {
    #[test]
    fn any_cut_of_a_text_leaves_no_open_table(at in 0_usize..100_000) {
        let text = data("cpu-samples.txt");
        let part = &text[..at % text.len()];
        let mut splitter = TextSplitter::new();
        splitter.push(part, |_| {});
        let mended = splitter.end().map_or(part.to_vec(), |cut| mend(part, &cut));
        let mended = String::from_utf8_lossy(&mended);
        prop_assert_eq!(tables(&mended).1, 0);
        prop_assert!(mended.is_empty() || mended.ends_with('\n'));
    }

    #[test]
    fn garbage_gives_the_same_however_it_is_cut(
        garbage in prop::collection::vec(any::<u8>(), 0..600),
        step in 1_usize..50,
    ) {
        let mut file = segments();
        file.truncate(31);
        file.extend(&garbage);
        let (pieces, records) = split(&file, step);
        let (whole, at_once) = split(&file, file.len());
        prop_assert_eq!(records, at_once);
        prop_assert_eq!(pieces.end(), whole.end());
        prop_assert_eq!(pieces.damaged(), whole.damaged());
        // A heap whose inside is garbage is kept up to its last good sub-record.
        let mut file = segments();
        file.truncate(31);
        file.extend([0x1c, 0, 0, 0, 0, 0, 0, 2, 0]);
        file.extend(&garbage);
        let (pieces, _) = split(&file, step);
        let (whole, _) = split(&file, file.len());
        prop_assert_eq!(pieces.end(), whole.end());
    }
}

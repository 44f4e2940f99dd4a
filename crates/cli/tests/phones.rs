//! Dumps that tools on phones have made smaller: what cannot be seen is not said to be sound, nor
//! free of leaks.

mod support;

use std::fs;
use std::io::Write;

use hprof_format::binary::{BasicType, IdSize, Record, SubRecord};
use hprof_format::reader::Reader;
use support::{Scene, data, run, stderr, stdout};

/// The bytes of a primitive array in front of its elements, with identifiers of four bytes.
const HEAD: usize = 14;

/// A real dump whose sub-records are changed; `keeps_length` leaves the lengths of segments as they
/// were.
fn changed(keeps_length: bool, change: impl Fn(&SubRecord<'_>, &[u8]) -> Vec<u8>) -> Vec<u8> {
    let whole = fs::read(data("hprof-32.bin")).expect("a file");
    let mut out = whole[..31].to_vec();
    for found in Reader::new(&whole).expect("a header") {
        let found = found.expect("sound");
        let start = found.offset as usize;
        let head = &whole[start..start + 9];
        let length = u32::from_be_bytes(head[5..].try_into().expect("four bytes"));
        let body = &whole[start + 9..][..length as usize];
        let (Record::HeapDump(mut heap) | Record::HeapDumpSegment(mut heap)) = found.record else {
            out.extend([head, body].concat());
            continue;
        };
        assert_eq!(heap.id_size(), IdSize::Four);
        let mut new = Vec::new();
        loop {
            let from = heap.offset() as usize;
            let Some(sub) = heap.next() else { break };
            let bytes = &whole[from..heap.offset() as usize];
            new.extend(change(&sub.expect("sound"), bytes));
        }
        out.extend(&head[..5]);
        let stated = if keeps_length {
            length
        } else {
            new.len() as u32
        };
        out.extend(stated.to_be_bytes());
        out.extend(new);
    }
    out
}

/// As KOOM writes dumps: the elements of primitive arrays are left out of the stream, but their
/// counts stay, and so do the lengths of segments.
fn koom(keeps_length: bool) -> Vec<u8> {
    changed(keeps_length, |sub, bytes| match sub {
        SubRecord::PrimitiveArray { .. } => bytes[..HEAD].to_vec(),
        _ => bytes.to_vec(),
    })
}

/// As Matrix shrinks dumps: arrays that are neither texts nor pictures are gone.
fn matrix() -> Vec<u8> {
    changed(false, |sub, bytes| match sub {
        SubRecord::PrimitiveArray { element, .. } if *element != BasicType::Char => Vec::new(),
        _ => bytes.to_vec(),
    })
}

/// As `hprof-conv -z` writes dumps: the objects of some heaps are gone.
fn conv() -> Vec<u8> {
    changed(false, |sub, bytes| match sub {
        SubRecord::Instance { object, .. } if object.get() % 3 == 0 => Vec::new(),
        _ => bytes.to_vec(),
    })
}

/// An array whose count has swallowed what came after it.
fn swallowed() -> Vec<u8> {
    let whole = fs::read(data("hprof-32.bin")).expect("a file");
    for found in Reader::new(&whole).expect("a header") {
        let (Record::HeapDump(mut heap) | Record::HeapDumpSegment(mut heap)) =
            found.expect("sound").record
        else {
            continue;
        };
        let end = heap.offset() as usize + heap.rest().len();
        loop {
            let from = heap.offset() as usize;
            let Some(sub) = heap.next() else { break };
            if let Ok(SubRecord::PrimitiveArray { element, .. }) = sub
                && element == BasicType::Byte
                && end - from > 100_000
            {
                // The last record of the dump may be one that must be there.
                let count = (end - from - HEAD) as u32;
                let mut file = whole.clone();
                file[from + 9..from + 13].copy_from_slice(&count.to_be_bytes());
                return file;
            }
        }
    }
    panic!("the dump has no array of bytes in its first half");
}

#[test]
fn nothing_is_said_to_be_sound_that_could_not_be_seen() {
    let scene = Scene::new();
    for (name, bytes) in [
        ("koom", koom(true)),
        ("koom-mended", koom(false)),
        ("matrix", matrix()),
        ("conv", conv()),
        ("swallowed", swallowed()),
    ] {
        let path = scene.path(name);
        fs::write(&path, bytes).expect("a file");
        let path = path.display().to_string();
        let checked = run(&mut scene.hprof_rs(&["check", &path]), "");
        let text = stdout(&checked);
        assert_eq!(checked.status.code(), Some(1), "{name}: {text}");
        assert!(!text.contains("sound"), "{name}: {text}");
        let android = run(&mut scene.hprof_rs(&["android", &path]), "");
        let text = stdout(&android);
        // Objects and references are all there without the elements of arrays.
        let lacks_objects = name != "koom";
        assert!(
            !lacks_objects || !text.contains("0 leaks of"),
            "{name}: {text}"
        );
        let leaks = run(&mut scene.hprof_rs(&["leaks", &path]), "");
        let text = stdout(&leaks);
        let said = format!("{text}{}", stderr(&leaks));
        let is_said = text.contains("could not be seen")
            || said.contains("KOOM has left the elements")
            || !leaks.status.success();
        assert!(is_said, "{name}: {said}");
    }
}

/// Takes away what is said of an object by its contents.
fn without_texts(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.remove("description");
            fields.values_mut().for_each(without_texts);
        }
        serde_json::Value::Array(elements) => elements.iter_mut().for_each(without_texts),
        _ => {}
    }
}

/// Structure, counts and sizes of a dump without the elements of arrays are those of the whole dump.
#[test]
fn a_dump_of_koom_is_as_the_whole_one_but_for_contents() {
    let scene = Scene::new();
    let stripped = koom(true);
    let (whole, raw, packed) = (
        data("hprof-32.bin"),
        scene.path("raw"),
        scene.path("raw.gz"),
    );
    fs::write(&raw, &stripped).expect("a file");
    let file = fs::File::create(&packed).expect("a file");
    let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packer.write_all(&stripped).expect("a disk");
    packer.finish().expect("a disk");
    let piped = |arguments: &[&str]| {
        let mut command = scene.hprof_rs(arguments);
        command.stdin(fs::File::open(&raw).expect("a file"));
        command.output().expect("hprof-rs")
    };
    for command in [
        &["histogram", "--json"][..],
        &["dominators", "--json"],
        &["retained", "--json", "--by", "package"],
        &["android", "--json"],
    ] {
        let answer = |file: &str| {
            let arguments = [command, &[file]].concat();
            let output = match file {
                "-" => piped(&arguments),
                _ => run(&mut scene.hprof_rs(&arguments), ""),
            };
            assert!(output.status.success(), "{command:?}: {}", stderr(&output));
            let mut found: serde_json::Value =
                serde_json::from_str(&stdout(&output)).expect("JSON");
            found["file"] = serde_json::Value::Null;
            found["notes"] = serde_json::Value::Null;
            without_texts(&mut found);
            found
        };
        let wanted = answer(&whole);
        for file in [
            &*raw.display().to_string(),
            &packed.display().to_string(),
            "-",
        ] {
            assert_eq!(answer(file), wanted, "{command:?} {file}");
        }
    }
    let summary = run(
        &mut scene.hprof_rs(&["summary", &raw.display().to_string()]),
        "",
    );
    assert!(
        stdout(&summary).contains("KOOM has left the elements"),
        "{}",
        stdout(&summary)
    );
    let strings = run(
        &mut scene.hprof_rs(&["strings", &raw.display().to_string()]),
        "",
    );
    assert!(
        stdout(&strings).contains("blank strings were"),
        "{}",
        stdout(&strings)
    );
}

#[test]
fn a_whole_dump_is_sound_and_lacks_nothing() {
    let scene = Scene::new();
    let path = data("hprof-32.bin");
    let checked = run(&mut scene.hprof_rs(&["check", "--json", &path]), "");
    let found: serde_json::Value = serde_json::from_str(&stdout(&checked)).expect("JSON");
    assert_eq!(found["is_sound"], true, "{found}");
    assert_eq!(found["gaps"][0]["dangling_references"], 0, "{found}");
}

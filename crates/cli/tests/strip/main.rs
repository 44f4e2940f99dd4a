//! `hprof-rs strip`: nothing that objects hold is left, and all else is as before.

#![allow(clippy::disallowed_macros)]

#[path = "../../../analysis/tests/common/made.rs"]
mod made;
mod safe;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Output;

use hprof_format::binary::{Record, SubRecord};
use hprof_format::reader::Reader;
use java_test_harness::{Run, contains, each_jdk};
use made::Made;
use made::Put::{Int, Ref};
use serde_json::Value;
use support::{Scene, run, stderr, stdout};

fn heap(arguments: &[&str]) -> Output {
    run(&mut Scene::new().hprof_rs(arguments), "")
}

fn strip(arguments: &[&str]) {
    let output = heap(&[&["strip"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
}

/// The output of a command, without the name of the file.
fn json(arguments: &[&str]) -> Value {
    let output = heap(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut found: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    found["file"] = Value::Null;
    found
}

/// Bytes of arrays that are not zero.
fn filled_bytes(file: &[u8]) -> usize {
    let mut filled = 0;
    for found in Reader::new(file).expect("a header") {
        let record = found.expect("sound").record;
        if let Record::HeapDump(heap) | Record::HeapDumpSegment(heap) = record {
            for sub in heap {
                if let SubRecord::PrimitiveArray { values, .. } = sub.expect("sound") {
                    filled += values.iter().filter(|&&byte| byte != 0).count();
                }
            }
        }
    }
    filled
}

#[test]
fn structure_and_sizes_stay() {
    let scene = Scene::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let data = data.to_str().expect("UTF-8");
    let copy = |name: &str| scene.path(name).display().to_string();
    let (plain, fields, packed) = (copy("a.hprof"), copy("b.hprof"), copy("c.hprof.gz"));
    // Numbers of threads have other lengths than their names.
    let lengths = ["--thread-names", "remove", data, "-o"];
    strip(&[&lengths[..], &[&plain]].concat());
    strip(&[&["--fields"], &lengths[..], &[&fields]].concat());
    strip(&[&lengths[..], &[&packed]].concat());
    let again = copy("d.hprof");
    strip(&["--thread-names", "remove", &packed, "-o", &again]);
    let original = fs::read(data).expect("a file");
    assert!(filled_bytes(&original) > 1000);
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&*fs::read(&packed).expect("a file"))
        .read_to_end(&mut unpacked)
        .expect("gzip");
    assert_eq!(unpacked, fs::read(&plain).expect("a file"));
    assert_eq!(unpacked, fs::read(&again).expect("a file"));
    for file in [&plain, &fields] {
        let stripped = fs::read(file).expect("a file");
        assert_eq!(stripped.len(), original.len());
        assert_eq!(filled_bytes(&stripped), 0);
        for command in [
            &["histogram", "--json", "--top", "0"][..],
            &["retained", "--json", "--top", "0"],
            &["check", "--json"],
            &["samples", "--json", "--measure", "live-bytes"],
        ] {
            let of = |file: &str| json(&[command, &[file]].concat());
            assert_eq!(of(file), of(data), "{command:?}");
        }
    }
    assert!(fs::read(&plain).unwrap() != fs::read(&fields).unwrap());
}

#[test]
fn a_file_that_is_cut_short_is_copied_so_far() {
    let scene = Scene::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let whole = fs::read(data).expect("a file");
    let (cut, copy) = (scene.path("cut"), scene.path("copy"));
    for length in [40, 60_000, 150_001, 200_003] {
        fs::write(&cut, &whole[..length]).expect("a file");
        let output = heap(&["strip", cut.to_str().unwrap(), "-o", copy.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains("cut short"), "{}", stderr(&output));
        assert!(fs::read(&copy).unwrap().len() <= length);
    }
    let refused = heap(&[
        "strip",
        copy.to_str().unwrap(),
        "-o",
        copy.to_str().unwrap(),
    ]);
    assert!(!refused.status.success());
}

/// A record between two others of a real file.
fn with_record(tag: u8, length: u32, body: &[u8]) -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let whole = fs::read(data).expect("a file");
    let second = Reader::new(&whole).expect("a header").nth(1);
    let at = second.expect("a record").expect("sound").offset as usize;
    let mut head = vec![tag, 0, 0, 0, 0];
    head.extend(length.to_be_bytes());
    [&whole[..at], &head, body, &whole[at..]].concat()
}

#[test]
fn of_a_record_of_unknown_kind_the_head_is_copied_and_what_follows_too() {
    let scene = Scene::new();
    let (path, copy) = (scene.path("odd.hprof"), scene.path("copy.hprof"));
    fs::write(&path, with_record(0x77, 9, b"a secret!")).expect("a file");
    let (path, copy) = (path.display().to_string(), copy.display().to_string());
    let output = heap(&["strip", &path, "-o", &copy]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("1 record of unknown kinds"),
        "{}",
        stderr(&output)
    );
    let stripped = fs::read(&copy).expect("a file");
    assert!(!contains(&stripped, b"a secret!"));
    assert!(contains(&stripped, &[0x77, 0, 0, 0, 0, 0, 0, 0, 0]));
    for command in [
        &["histogram", "--json", "--top", "0"][..],
        &["retained", "--json"],
    ] {
        let of = |file: &str| json(&[command, &[file]].concat());
        assert_eq!(of(&copy), of(&path), "{command:?}");
    }
}

#[test]
fn a_copy_that_ends_at_damage_fails() {
    let scene = Scene::new();
    let (path, copy) = (scene.path("odd.hprof"), scene.path("copy.hprof"));
    fs::write(&path, with_record(0x77, 0x7fff_ffff, b"no record")).expect("a file");
    let (path, copy) = (path.display().to_string(), copy.display().to_string());
    let output = heap(&["strip", &path, "-o", &copy]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("is damaged"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_output_in_a_folder_that_is_not_there_is_named_as_the_user_did() {
    let data = support::data("hprof-32.bin");
    for command in [
        &["strip", &data, "-o", "/nonexist/x.hprof"][..],
        &["convert", &data, "-o", "/nonexist/x.html"],
        &["report", &data, "-o", "/nonexist/x.html"],
    ] {
        let output = heap(command);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("there is no folder /nonexist;"), "{errors}");
        // The checkout may lie below /tmp.
        assert!(!errors.replace(&data, "").contains("tmp"), "{errors}");
    }
}

/// A stack of a virtual thread is as long as its field `size` says.
#[test]
fn sizes_of_the_stacks_of_virtual_threads_stay() {
    let mut made = Made::new();
    let object = made.object();
    let fields = [("parent", Ref(0)), ("size", Int(0)), ("sp", Int(0))];
    let class = made.class("jdk.internal.vm.StackChunk", object, &fields);
    let stack = made.instance(class, &[("size", Int(4711)), ("sp", Int(17))]);
    made.root(0x05, stack);
    let scene = Scene::new();
    fs::write(scene.path("a.hprof"), made.bytes()).expect("written");
    let run = |arguments: &[&str]| {
        let output = run(&mut scene.hprof_rs(arguments), "");
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let proof = ["--prove", "proof.json"];
    run(&[
        &["strip", "--fields", "a.hprof", "-o", "b.hprof"][..],
        &proof,
    ]
    .concat());
    let histograms = ["a.hprof", "b.hprof"].map(|file| {
        let found: Value = serde_json::from_str(&run(&["histogram", "--json", file])).unwrap();
        found["histogram"]["rows"].clone()
    });
    assert!(histograms[0].is_array());
    assert_eq!(histograms[0], histograms[1]);
    let text = run(&["histogram", "b.hprof"]);
    assert!(text.contains("StackChunk"), "{text}");
    let values = ["size", "sp"].map(|field| {
        let sql = format!("SELECT value FROM fields WHERE name = '{field}'");
        run(&["query", "--csv", "b.hprof", &sql])
    });
    assert_eq!(values, ["value\n4711\n", "value\n0\n"]);
}

#[test]
fn a_full_disk_is_told_of_with_the_name_of_the_output() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let data = support::data("hprof-32.bin");
    let output = heap(&["strip", &data, "-o", "/dev/full"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write /dev/full: No space"), "{said}");
    assert!(!said.contains(&data), "{said}");
}

#[test]
fn no_text_of_a_program_is_left() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .class("KnownHeap")
            .args(["known.hprof"])
            .run()
            .expect_status(0);
        let path = outcome.path("known.hprof").display().to_string();
        let copy = outcome.path("copy.hprof").display().to_string();
        strip(&["--fields", &path, "-o", &copy]);
        let (original, stripped) = (fs::read(&path).unwrap(), fs::read(&copy).unwrap());
        // In an array, and among the symbols as a literal of the class.
        for text in ["known duplicate", "qqqqqqqqqq", "user.home"] {
            assert!(contains(&original, text.as_bytes()), "{text} on {jdk}");
            assert!(!contains(&stripped, text.as_bytes()), "{text} on {jdk}");
        }
        assert_eq!(filled_bytes(&stripped), 0);
        assert_eq!(original.len(), stripped.len());
        for command in [
            &["histogram", "--json", "--top", "0"][..],
            &["retained", "--json", "--top", "0"],
        ] {
            let of = |file: &str| json(&[command, &[file]].concat());
            assert_eq!(of(&copy), of(&path), "{command:?} on {jdk}");
        }
    });
}

/// The contents of `Customers.java` that are in a file.
fn contents(file: &str) -> Vec<&'static str> {
    const KNOWN: [(&str, &[u8]); 8] = [
        ("name", b"person-7-\xe9nd"),
        ("key", b"key-of-7-\xc3\xa9nd"),
        ("account", &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]),
        ("city", b"city-7-\xe9nd"),
        ("numbers", &[0x51, 0x52, 0x53, 0x54, 0x61, 0x62, 0x63, 0x64]),
        ("label", b"order-8-\xe9nd"),
        ("price", &[0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11]),
        ("motto", b"motto-9-\xe9nd"),
    ];
    let file = fs::read(file).expect("a file");
    let found = KNOWN.iter().filter(|(_, bytes)| contains(&file, bytes));
    found.map(|(name, _)| *name).collect()
}

#[test]
fn a_policy_decides_which_contents_stay() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .class("Customers")
            .args(["customers.hprof"])
            .run()
            .expect_status(0);
        let path = outcome.path("customers.hprof").display().to_string();
        let copy = outcome.path("copy.hprof").display().to_string();
        let all = [
            "name", "key", "account", "city", "numbers", "label", "price", "motto",
        ];
        assert_eq!(contents(&path), all, "{jdk}");
        let policies: [(&[&str], &[&str]); 9] = [
            (&[], &["account", "price"]),
            (&["--fields"], &[]),
            (
                &["--keep-strings"],
                &["name", "account", "city", "label", "price", "motto"],
            ),
            (&["--fields", "--keep", "Customers.motto"], &["motto"]),
            (
                &["--fields", "--keep", "Customers$Person.*"],
                &["name", "key", "account"],
            ),
            // Those that it inherits, too.
            (
                &["--fields", "--keep", "Customers$Customer.*"],
                &["name", "key", "account", "city", "numbers"],
            ),
            (
                &["--fields", "--keep", "*.numbers", "--keep", "*.price"],
                &["numbers", "price"],
            ),
            // An order refers to the city as well.
            (
                &["--keep-strings", "--drop", "Customers$Customer"],
                &["label", "price", "motto"],
            ),
            (
                &[
                    "--keep-strings",
                    "--drop",
                    "*Person",
                    "--keep",
                    "*.account",
                    "--drop",
                    "*.motto",
                ],
                &["account", "city", "label", "price"],
            ),
        ];
        for (policy, stay) in policies {
            strip(&[policy, &[&*path, "-o", &copy]].concat());
            assert_eq!(contents(&copy), stay, "{policy:?} on {jdk}");
            let of = |file: &str| json(&["retained", "--json", "--top", "0", file]);
            assert_eq!(of(&copy), of(&path), "{policy:?} on {jdk}");
        }
    });
}

/// A server keeps nothing of a copy that has no room, and says that by a status of its own.
#[test]
fn a_worker_ends_with_a_status_of_its_own_when_the_disk_is_full() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_hprof-rs"))
        .args(["worker", "--strip", "--rules", "{}"])
        .stdin(fs::File::open(data).expect("a dump"))
        .stdout(full.expect("/dev/full"))
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
}

//! `hprof-rs strip`: nothing that objects hold is left, and all else is as before.

#![allow(clippy::disallowed_macros)]

mod support;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Output;

use hprof_format::binary::{Record, SubRecord};
use hprof_format::reader::Reader;
use java_test_harness::{Run, each_jdk};
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

fn contains(file: &[u8], text: &[u8]) -> bool {
    file.windows(text.len()).any(|window| window == text)
}

#[test]
fn structure_and_sizes_stay() {
    let scene = Scene::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let data = data.to_str().expect("UTF-8");
    let copy = |name: &str| scene.path(name).display().to_string();
    let (plain, fields, packed) = (copy("a.hprof"), copy("b.hprof"), copy("c.hprof.gz"));
    strip(&[data, "-o", &plain]);
    strip(&["--fields", data, "-o", &fields]);
    strip(&[data, "-o", &packed]);
    let again = copy("d.hprof");
    strip(&[&packed, "-o", &again]);
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

/// The proof of a copy of a real file under a policy.
fn proof(scene: &Scene, policy: &[&str]) -> Value {
    let data = support::data("hprof-32.bin");
    let (copy, proof) = (scene.path("copy.hprof"), scene.path("proof.json"));
    let (copy, proof) = (copy.display().to_string(), proof.display().to_string());
    strip(&[policy, &["--prove", &proof, &*data, "-o", &copy]].concat());
    let text = fs::read_to_string(proof).expect("a proof");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_proof_says_what_is_left_and_why() {
    let scene = Scene::new();
    for (policy, allowed) in [
        (&["--fields"][..], &["names", "thread-names"][..]),
        (&[], &["fields", "names", "thread-names"]),
        (
            &["--fields", "--keep-strings"],
            &["keep-strings", "names", "thread-names"],
        ),
    ] {
        let proof = proof(&scene, policy);
        assert_eq!(proof["is_clean"], true, "{policy:?}");
        assert_eq!(proof["summary"]["forbidden"]["runs"], 0);
        let runs = proof["runs"].as_array().expect("runs");
        assert!(runs.len() > 100, "{policy:?}");
        for run in runs {
            let by = run["allowed_by"].as_str().expect("a policy");
            assert!(allowed.contains(&by), "{policy:?}: {run}");
            assert!(run["bytes"].as_u64().expect("bytes") >= 8);
            assert!(run["id"].as_str().expect("an identifier").starts_with("0x"));
        }
        for by in allowed.iter().filter(|by| **by != "thread-names") {
            assert!(runs.iter().any(|run| run["allowed_by"] == *by), "{by}");
        }
        let named = runs.iter().filter(|run| run["place"] == "fields");
        for run in named {
            assert!(!run["field"].as_str().expect("fields").is_empty());
            assert!(!run["class"].as_str().expect("a class").is_empty());
        }
    }
}

#[test]
fn no_report_is_written_over_a_dump() {
    let scene = Scene::new();
    let path = scene.path("heap.hprof").display().to_string();
    fs::copy(support::data("hprof-32.bin"), &path).expect("a file");
    let (copy, list) = (scene.path("copy.hprof"), scene.path("list.json"));
    let (copy, list) = (copy.display().to_string(), list.display().to_string());
    for reports in [
        &["--prove", &path][..],
        &["--prove", &copy],
        &["--redact-list", &path],
        &["--redact-list", &list, "--prove", &list],
    ] {
        let output = heap(&[&["strip"], reports, &[&*path, "-o", &copy]].concat());
        assert_eq!(output.status.code(), Some(1), "{reports:?}");
        assert!(stderr(&output).contains("need a name each"), "{reports:?}");
        assert!(!Path::new(&copy).exists(), "{reports:?}");
    }
    assert!(fs::read(&path).unwrap() == fs::read(support::data("hprof-32.bin")).unwrap());
}

#[test]
fn a_proof_needs_a_copy_that_can_be_read_again() {
    let data = support::data("hprof-32.bin");
    let output = heap(&["strip", "--prove", "p.json", &data, "-o", "-"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("-o the name of a file"));
}

#[test]
fn a_proof_of_a_large_copy_stays_below_its_memory() {
    const LENGTH: u32 = 3 << 20;
    let scene = Scene::new();
    // Numbers without a pattern, as the fields of an object whose class is not in the file.
    let mut number = 1u32;
    let values = (0..LENGTH).map(|_| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 24) as u8
    });
    let mut object = vec![0x21, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7];
    object.extend(LENGTH.to_be_bytes());
    object.extend(values);
    let path = scene.path("large.hprof").display().to_string();
    fs::write(&path, with_record(0x1c, object.len() as u32, &object)).expect("a file");
    let copy = scene.path("copy.hprof.gz").display().to_string();
    let proof = scene.path("proof.json").display().to_string();
    strip(&["--memory", "64M", "--prove", &proof, &path, "-o", &copy]);
    let proof: Value = serde_json::from_str(&fs::read_to_string(&proof).unwrap()).unwrap();
    assert_eq!(proof["is_clean"], true);
    assert!(
        proof["summary"]["slices"].as_u64() > Some(1),
        "{}",
        proof["summary"]
    );
    let runs = proof["runs"].as_array().expect("runs");
    let of = runs.iter().filter(|run| run["place"] == "instance");
    let bytes: u64 = of.map(|run| run["bytes"].as_u64().expect("bytes")).sum();
    assert!(bytes >= u64::from(LENGTH), "{bytes}");
}

#[test]
fn forms_for_readers_of_android_need_a_dump_of_android() {
    let scene = Scene::new();
    let data = support::data("hprof-32.bin");
    let copy = scene.path("copy.hprof").display().to_string();
    for (options, what) in [
        (&["--for", "koom"][..], "choose mat or shark"),
        (&["--for", "no-data"], "choose mat or shark"),
        (
            &["--for", "koom", "--keep-strings"],
            "leave out --keep-strings",
        ),
        (&["--redact-pattern", "("], "must be a regular expression"),
    ] {
        let output = heap(&[&["strip"], options, &[&*data, "-o", &copy]].concat());
        assert_eq!(output.status.code(), Some(1), "{options:?}");
        assert!(stderr(&output).contains(what), "{}", stderr(&output));
        assert!(!Path::new(&copy).exists());
    }
    for options in [
        &["--for", "mat"][..],
        &["--for", "shark"],
        &["--bitmaps", "dedupe"],
    ] {
        strip(&[options, &[&*data, "-o", &copy]].concat());
        let of = |file: &str| json(&["histogram", "--json", "--top", "0", file]);
        assert_eq!(of(&copy), of(&data), "{options:?}");
    }
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

#[test]
fn secrets_of_a_running_program_are_redacted() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .class("Customers")
            .jvm_args(["-Ddb.password=only-the-owner-knows"])
            .env("MAIL_API_TOKEN", "token-of-the-environment")
            .args(["customers.hprof"])
            .run()
            .expect_status(0);
        let file = |name: &str| outcome.path(name).display().to_string();
        let (path, copy) = (file("customers.hprof"), file("copy.hprof"));
        let (list, proof) = (file("list.json"), file("proof.json"));
        let secrets: [(&str, &[u8]); 6] = [
            ("password", b"only-the-owner-knows"),
            ("password", b"token-of-the-environment"),
            ("card", b"4111 1111 1111 1111"),
            ("jwt", b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmVk"),
            ("email", b"k\0i\0m\0@\0e\0x\0a\0m\0p\0l\0e\0.\0c\0o\0m\0"),
            ("pattern", b"KD-100042"),
        ];
        let output = heap(&[
            "strip",
            "--redact",
            "--redact-pattern",
            r"KD-\d{6}",
            "--redact-list",
            &list,
            "--prove",
            &proof,
            &path,
            "-o",
            &copy,
        ]);
        assert!(output.status.success(), "{jdk}: {}", stderr(&output));
        let (original, redacted) = (fs::read(&path).unwrap(), fs::read(&copy).unwrap());
        let list = fs::read_to_string(&list).expect("a list");
        let proof: Value = serde_json::from_str(&fs::read_to_string(&proof).unwrap()).unwrap();
        assert_eq!(proof["is_clean"], true, "{jdk}");
        let found: Value = serde_json::from_str(&list).expect("JSON");
        let found = found["found"].as_array().expect("a list");
        for (kind, secret) in secrets {
            assert!(contains(&original, secret), "{kind} on {jdk}");
            assert!(!contains(&redacted, secret), "{kind} on {jdk}");
            assert!(found.iter().any(|it| it["kind"] == kind), "{kind} on {jdk}");
            assert!(!contains(list.as_bytes(), secret), "{kind} on {jdk}");
            assert!(
                !contains(stderr(&output).as_bytes(), secret),
                "{kind} on {jdk}"
            );
        }
        for name in ["db.password", "MAIL_API_TOKEN"] {
            assert!(found.iter().any(|it| it["name"] == name), "{name} on {jdk}");
        }
        // Other texts, and all numbers, stay.
        let all = contents(&path);
        assert_eq!(contents(&copy), all, "{jdk}");
        let of = |file: &str| json(&["retained", "--json", "--top", "0", file]);
        assert_eq!(of(&copy), of(&path), "{jdk}");
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

//! Proofs, secrets, and forms for other readers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hprof_format::binary::Record;
use hprof_format::reader::Reader;
use java_test_harness::{Run, each_jdk};
use serde_json::Value;

use super::support::{self, Scene, stderr};
use super::{contains, contents, heap, json, strip, with_record};

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
fn a_proof_says_what_is_left_and_why() {
    let scene = Scene::new();
    for (policy, allowed) in [
        (&["--fields"][..], &["names"][..]),
        (&[], &["fields", "names"]),
        (
            &["--fields", "--thread-names", "keep"],
            &["keep", "names", "thread-names"],
        ),
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

/// The names in records of started threads, and all texts outside of the heap.
fn thread_records(file: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut texts, mut threads) = (BTreeMap::new(), Vec::new());
    for found in Reader::new(file).expect("a header") {
        let record = found.expect("sound").record;
        match record {
            Record::Utf8 { id, .. } => {
                texts.insert(id.get(), record.text().unwrap_or_default().to_string());
            }
            Record::StartThread { name, group, .. } => threads.push((name, group)),
            _ => {}
        }
    }
    // Threads that start before their group is known have none.
    let text = |id: hprof_format::ids::StringId| texts.get(&id.get()).cloned().unwrap_or_default();
    let names = threads
        .iter()
        .map(|&(name, group)| format!("{} in {}", text(name), text(group)));
    (names.collect(), texts.values().cloned().collect())
}

#[test]
fn threads_have_numbers_unless_their_names_may_stay() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let outcome = Run::new(jdk)
            .class("NamedThreads")
            .agent("heap=dump,format=b,file=named.hprof")
            .run()
            .expect_status(0);
        let path = outcome.path("named.hprof").display().to_string();
        let (before, _) = thread_records(&fs::read(&path).expect("a dump"));
        let of_customers =
            |names: &[String]| names.iter().filter(|it| it.contains("customer-")).count();
        assert_eq!(of_customers(&before), 4, "{before:?}");
        let copy = scene.path("copy.hprof").display().to_string();
        let proof = scene.path("proof.json").display().to_string();
        for (options, stays) in [
            (&[][..], false),
            (&["--fields"], false),
            (&["--keep-strings"], true),
            (
                &["--keep-strings", "--drop", "java.lang.Thread.name"],
                false,
            ),
            (&["--keep-strings", "--thread-names", "number"], false),
            (&["--redact", "--thread-names", "remove"], false),
            (&["--redact"], true),
            (&["--thread-names", "keep"], true),
            (&["--keep", "java.lang.Thread.name"], true),
        ] {
            strip(&[options, &["--prove", &proof, &path, "-o", &copy]].concat());
            let bytes = fs::read(&copy).expect("a copy");
            let (after, texts) = thread_records(&bytes);
            assert_eq!(after.len(), before.len());
            let left = of_customers(&after);
            assert_eq!(left, if stays { 4 } else { 0 }, "{options:?}: {after:?}");
            let is_in_heap =
                contains(&bytes, b"customer-alice") || contains(&bytes, b"\0c\0u\0s\0t");
            assert_eq!(is_in_heap, stays, "{options:?}");
            let removes = options.contains(&"remove");
            if !stays && !removes {
                // Two threads of one name are distinguished from the others, and not from each other.
                let groups = before
                    .iter()
                    .zip(&after)
                    .map(|(old, new)| (old.clone(), new.clone()));
                let pairs: BTreeMap<String, String> = groups.collect();
                let numbers: BTreeSet<&String> = pairs.values().collect();
                assert_eq!(numbers.len(), pairs.len(), "{options:?}: {pairs:?}");
                assert!(
                    after
                        .iter()
                        .all(|it| it.starts_with("thread-") || it.starts_with("main")),
                    "{after:?}"
                );
                let again = scene.path("again.hprof").display().to_string();
                strip(&[options, &[&*path, "-o", &again]].concat());
                assert!(fs::read(&again).expect("a copy") == bytes, "{options:?}");
            }
            assert!(
                texts.iter().all(|it| stays || !it.contains("customer")),
                "{options:?}"
            );
            let proof: Value =
                serde_json::from_str(&fs::read_to_string(&proof).expect("a proof")).expect("JSON");
            assert_eq!(proof["is_clean"], true, "{options:?}: {}", proof["summary"]);
            let of = |file: &str| json(&["histogram", "--json", "--top", "0", file]);
            assert_eq!(of(&copy), of(&path), "{options:?}");
        }
    });
}

//! Reports on damaged dumps.

use super::*;

#[test]
fn every_damaged_dump_gives_a_report_that_says_what_is_missing() {
    let bytes = fs::read(dump()).unwrap();
    let scene = Scene::new();
    let report = |bytes: &[u8]| {
        fs::write(scene.path("damaged.hprof"), bytes).unwrap();
        let output = run(
            &mut scene.hprof_rs(&["report", "--json", "damaged.hprof"]),
            "",
        );
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
        output
    };
    let whole: Value = serde_json::from_str(&stdout(&report(&bytes))).unwrap();
    assert_eq!(whole["notes"], json!([]));
    for part in 3..20 {
        let output = report(&bytes[..bytes.len() * part / 20]);
        if output.status.success() {
            let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
            assert_ne!(told["notes"], json!([]), "{part}/20");
        } else {
            // Before the heap there is nothing to report.
            let said = stderr(&output);
            let words = ["no binary heap dump", "neither a heap dump nor a profile"];
            assert!(words.iter().any(|it| said.contains(it)), "{said}");
            assert!(part < 10);
        }
    }
    for at in (100..bytes.len()).step_by(bytes.len() / 25) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0xff;
        let output = report(&flipped);
        match output.status.success() {
            true => drop(serde_json::from_str::<Value>(&stdout(&output)).unwrap()),
            false => assert!(
                stderr(&output).starts_with("hprof-rs: "),
                "{}",
                stderr(&output)
            ),
        }
    }
}

/// The bytes after each record of a sound file.
fn record_ends(bytes: &[u8]) -> Vec<usize> {
    let header = bytes.iter().position(|&byte| byte == 0).unwrap() + 13;
    let mut ends = vec![header];
    while let Some(length) = bytes
        .get(ends[ends.len() - 1] + 5..)
        .and_then(|it| it.get(..4))
    {
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        ends.push(ends[ends.len() - 1] + 9 + length);
    }
    ends
}

#[test]
fn damaged_dumps_of_every_producer_give_a_report_or_say_why_not() {
    let names = [
        "hprof-64.bin",
        "hprof-android.bin",
        "heap-all-b.hprof",
        "heap-sites-b.hprof",
        "cpu-samples-b.hprof",
    ];
    let scene = Scene::new();
    for (path, name) in names.iter().filter_map(|name| Some((shared(name)?, name))) {
        let bytes = fs::read(path).unwrap();
        let told = |what: &str, bytes: &[u8], command: &str| {
            fs::write(scene.path("damaged.hprof"), bytes).unwrap();
            let arguments = [command, "--json", "damaged.hprof"];
            let output = run(&mut scene.hprof_rs(&arguments), "");
            let said = stderr(&output);
            assert!(!said.contains("panicked"), "{name}, {what}: {said}");
            if output.status.success() {
                let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
                return Some(told["notes"] != json!([]));
            }
            assert!(said.starts_with("hprof-rs: "), "{name}, {what}: {said}");
            None
        };
        let ends = record_ends(&bytes);
        let last = ends[ends.len() - 1];
        let step = bytes.len() / 3;
        for (round, at) in (step / 2..bytes.len()).step_by(step).enumerate() {
            let command = ["report", "leaks"][round % 2];
            let noted = told("cut", &bytes[..at], command);
            assert_ne!(noted, Some(false), "{name}: the cut at {at} is not told");
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            told("flipped", &flipped, command);
            let end = ends.iter().rfind(|&&end| end <= at && end < last);
            told("cut between records", &bytes[..*end.unwrap()], command);
        }
    }
}

/// Text as gzip.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let scene = Scene::new();
    let plain = scene.path("plain");
    fs::write(&plain, bytes).unwrap();
    let gzip = std::process::Command::new("gzip")
        .arg("-c")
        .arg(&plain)
        .output();
    gzip.expect("gzip runs").stdout
}

#[test]
fn every_command_says_that_a_gzip_stream_is_damaged() {
    let scene = Scene::new();
    let packed = packed(&fs::read(dump()).unwrap());
    let end = packed.len();
    let broken = |at: usize, with: u8| {
        let mut bytes = packed.clone();
        bytes[at..at + 8].fill(with);
        bytes
    };
    let cases = [
        // The checksum is wrong.
        ("crc", broken(end - 8, 0x11), "is damaged after"),
        ("trailer", packed[..end - 4].to_vec(), "is cut short after"),
        ("late", broken(end * 9 / 10, 0xff), "is damaged after"),
        ("cut", packed[..end * 9 / 10].to_vec(), "is cut short after"),
    ];
    for (name, bytes, words) in cases {
        let file = format!("{name}.hprof.gz");
        fs::write(scene.path(&file), bytes).unwrap();
        for arguments in [
            &["check"][..],
            &["leaks"],
            &["threads"],
            &["histogram"],
            &["query"],
        ] {
            let mut arguments = [arguments, &[&file]].concat();
            if arguments[0] == "query" {
                arguments.push("SELECT count(*) FROM objects");
            }
            let output = run(&mut scene.hprof_rs(&arguments), "");
            let said = stdout(&output) + &stderr(&output);
            assert!(said.contains(words), "{arguments:?}: {said}");
            assert!(!said.contains("TMPDIR"), "{arguments:?}: {said}");
            let status = i32::from(arguments[0] == "check");
            assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        }
        let report = run(&mut scene.hprof_rs(&["report", "--json", &file]), "");
        let report: Value = serde_json::from_str(&stdout(&report)).unwrap();
        let note = report["notes"][0].as_str().unwrap();
        assert!(note.contains(words), "{name}: {note}");
        let check = run(&mut scene.hprof_rs(&["check", "--json", &file]), "");
        let check: Value = serde_json::from_str(&stdout(&check)).unwrap();
        assert_eq!(check["is_sound"], false, "{name}");
    }
}

#[test]
fn a_circle_of_superclasses_is_not_sound() {
    let scene = Scene::new();
    let mut made = Made::new();
    let (a, b) = (made.fresh(), made.fresh());
    made.describe_class(a, "A", b, &[("next", Ref(0))], &[], 0);
    made.describe_class(b, "B", a, &[], &[], 0);
    let only = made.fresh();
    made.put_record(only, a, &[0; 8]);
    made.root(0x05, only);
    fs::write(scene.path("circle.hprof"), made.bytes()).unwrap();
    for command in ["check", "leaks"] {
        let output = run(&mut scene.hprof_rs(&[command, "circle.hprof"]), "");
        let said = stdout(&output) + &stderr(&output);
        assert!(
            said.contains("1 object is of a class that the file"),
            "{said}"
        );
        assert!(said.contains("superclasses form a circle"), "{said}");
        assert_eq!(
            output.status.code(),
            Some(i32::from(command == "check")),
            "{said}"
        );
    }
}

#[test]
fn identifiers_that_several_objects_have_are_named() {
    let scene = Scene::new();
    let mut made = Made::new();
    let object = made.object();
    let class = made.class("A", object, &[("next", Ref(0))]);
    let other = made.class("B", object, &[("number", Int(0))]);
    let twice = made.instance(class, &[]);
    let once = made.instance(class, &[("next", Ref(twice))]);
    made.put_instance(twice, other, &[]);
    made.put_instance(twice, other, &[]);
    // A class and an instance.
    made.put_instance(other, class, &[]);
    made.root(0x05, once);
    fs::write(scene.path("twice.hprof"), made.bytes()).unwrap();
    let check = run(&mut scene.hprof_rs(&["check", "twice.hprof"]), "");
    let said = stdout(&check);
    let (low, high) = (twice.min(other), twice.max(other));
    assert!(
        said.contains(&format!(
            "3 objects have identifiers that another object of the file has too ({low:#x}, {high:#x}): "
        )),
        "{said}"
    );
    assert_eq!(check.status.code(), Some(1), "{said}");
    let check = run(&mut scene.hprof_rs(&["check", "--json", "twice.hprof"]), "");
    let check: Value = serde_json::from_str(&stdout(&check)).unwrap();
    assert_eq!(check["is_sound"], false);
    assert_eq!(check["gaps"][0]["repeated_objects"], 3);
    for _ in ["built", "from the index"] {
        let leaks = run(&mut scene.hprof_rs(&["leaks", "twice.hprof"]), "");
        let said = stdout(&leaks) + &stderr(&leaks);
        assert!(said.contains("3 objects have identifiers"), "{said}");
    }
}

/// In the header, among the traces, or after the last of them.
#[test]
fn a_text_profile_that_ends_before_its_tables_is_not_sound() {
    let profile = "JAVA PROFILE 1.0.1, created Fri Nov 27 22:29:02 2026\n\nProfile of a Java program\n\n--------\n\
                   THREAD START (obj=50000001, id = 200001, name=\"main\", group=\"main\")\nTRACE 300001:\n\tA.b(A.java:1)\n\
                   CPU SAMPLES BEGIN (total = 2) Fri Nov 27 22:29:03 2026\nrank   self  accum   count trace method\n   \
                   1 100.00% 100.00%       2 300001 A.b\nCPU SAMPLES END\n";
    let scene = Scene::new();
    let check = |length: usize, command: &str| {
        fs::write(scene.path("short.txt"), &profile[..length]).unwrap();
        let output = run(&mut scene.hprof_rs(&[command, "short.txt"]), "");
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let (status, said) = check(profile.len(), "check");
    assert!(status == Some(0) && said.contains("sound"), "{said}");
    let table = profile.find("CPU SAMPLES").unwrap();
    for length in [60, profile.find("TRACE").unwrap(), table] {
        let words = "no table: it is cut short, or nothing was dumped";
        let (status, said) = check(length, "check");
        assert_eq!(status, Some(1), "{said}");
        assert!(
            said.contains(&format!("the file holds {words}\n")),
            "{said}"
        );
        assert!(said.contains("short.txt: incomplete ("), "{said}");
        let (_, said) = check(length, "summary");
        assert!(said.contains(&format!("The file holds {words}.")), "{said}");
        let (status, said) = check(length, "samples");
        assert_eq!(status, Some(1), "{said}");
        assert_eq!(said, format!("hprof-rs: short.txt holds {words}\n"));
    }
}

#[test]
fn a_dump_that_ends_before_its_objects_says_that_it_has_none() {
    let bytes = fs::read(dump()).unwrap();
    let scene = Scene::new();
    let all = |length: usize, command: &[&str]| {
        fs::write(scene.path("short.hprof"), &bytes[..length]).unwrap();
        let output = run(
            &mut scene.hprof_rs(&[command, &["short.hprof"]].concat()),
            "",
        );
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let ends = record_ends(&bytes);
    // Header alone, between records, within a record.
    for (length, expected) in [(ends[0], 0), (ends[5], 0), (ends[5] + 12, 1)] {
        let (status, said) = all(length, &["check"]);
        assert_eq!(status, Some(expected), "{said}");
        let words = match length == ends[0] {
            true => "a header and nothing else: it is cut short",
            false => "neither a heap dump nor a profile: it may be cut short",
        };
        assert!(said.contains(words), "{said}");
        let (_, said) = all(length, &["summary"]);
        assert!(said.contains(&format!("The file holds {words}.")), "{said}");
        let (_, json) = all(length, &["summary", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["instead_of_data"], words);
    }
    for command in [&["leaks"][..], &["histogram"], &["samples"], &["sites"]] {
        let (status, said) = all(ends[0], command);
        assert_eq!(status, Some(1), "{said}");
        let sentence = "short.hprof holds a header and nothing else: it is cut short\n";
        assert_eq!(said, format!("hprof-rs: {sentence}"));
    }
    for command in [&["leaks"][..], &["histogram"], &["dominators"]] {
        let (status, said) = all(ends[5] + 12, command);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("no binary heap dump before"), "{said}");
    }
}

//! The commands for heap dumps, on dumps of real JVMs with known contents.

mod support;

use hprof_analysis::snapshot::{IndexPlace, OpenOptions, Snapshot, SnapshotError};
use java_test_harness::{Jdk, Outcome, Run, each_jdk};
use serde_json::Value;
use support::{Scene, run, stderr, stdout};

fn dump(jdk: &'static Jdk) -> (Outcome, String) {
    let outcome = Run::new(jdk)
        .class("KnownHeap")
        .args(["known.hprof"])
        .run()
        .expect_status(0);
    let path = outcome.path("known.hprof").display().to_string();
    (outcome, path)
}

fn text(arguments: &[&str]) -> String {
    let output = run(&mut Scene::new().hprof_rs(arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).expect("JSON")
}

#[test]
fn strings_are_counted_by_content() {
    each_jdk(|jdk| {
        let (_outcome, file) = dump(jdk);
        let all = json(&["strings", "--json", "--top", "0", &file]);
        let groups = all["strings"]["groups"].as_array().expect("groups");
        let group = |text: &str| -> (u64, u64, u64) {
            let found: Vec<&Value> = groups.iter().filter(|g| g["text"] == text).collect();
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            let number = |name: &str| found[0][name].as_u64().expect("a number");
            (number("strings"), number("arrays"), number("length"))
        };
        // The literal in the program is one more, with an array of its own.
        assert_eq!(group("known duplicate"), (1101, 1001, 15));
        assert_eq!(
            group("\u{3b1}\u{3b2}\u{3b3}\u{3b4}\u{3b5}\u{3b6}"),
            (50, 50, 6)
        );
        let sum = |name: &str| -> u64 {
            groups
                .iter()
                .map(|group| group[name].as_u64().expect("a number"))
                .sum()
        };
        for name in ["strings", "arrays", "bytes", "waste"] {
            assert_eq!(all["strings"][name].as_u64(), Some(sum(name)), "{name}");
        }
        // Every string is one of the class.
        let histogram = json(&[
            "histogram",
            "--json",
            "--top",
            "0",
            "--filter",
            "java.lang.String",
            &file,
        ]);
        let rows = histogram["histogram"]["rows"].as_array().expect("rows");
        let row = rows
            .iter()
            .find(|row| row["name"] == "java.lang.String")
            .expect("a row");
        let without = all["strings"]["without_value"].as_u64().expect("a number");
        assert_eq!(row["objects"].as_u64(), Some(sum("strings") + without));
        assert!(all["strings"]["utf16"].as_u64() >= Some(50));
        assert_eq!(all["strings"]["could_be_latin1"], 0);

        let longest = text(&["strings", "--sort", "length", "--filter", "qqqqq", &file]);
        assert!(longest.contains("5,000"), "{longest}");
        let fewer = json(&["strings", "--json", "--filter", "known dup", &file]);
        assert_eq!(fewer["strings"]["strings"], 1101);
    });
}

#[test]
fn waste_can_fail_a_script() {
    let (_outcome, file) = dump(Jdk::feature_release(17));
    let status = |limit: &str| {
        let arguments = [
            "strings",
            "--filter",
            "known duplicate",
            "--fail-above",
            limit,
            &file,
        ];
        run(&mut Scene::new().hprof_rs(&arguments), "")
            .status
            .code()
    };
    // At least a hundred times a string of 24 bytes, at most all of 24 and 32 bytes.
    assert_eq!(status("2400"), Some(1));
    assert_eq!(status("70000"), Some(0));
}

#[test]
fn threads_tell_their_state_and_what_they_hold() {
    each_jdk(|jdk| {
        let (outcome, file) = dump(jdk);
        let all = json(&["threads", "--json", &file]);
        let threads = all["threads"].as_array().expect("threads");
        let thread = |name: &str| -> &Value {
            let found = threads.iter().find(|thread| thread["name"] == name);
            found.unwrap_or_else(|| panic!("no {name}"))
        };
        for (name, state, is_daemon) in [
            ("known sleeper", "SLEEPING", false),
            ("known waiter", "WAITING", false),
            ("known parker", "WAITING", true),
            ("known blocked", "BLOCKED", false),
            ("known runner", "RUNNABLE", false),
            ("main", "RUNNABLE", false),
        ] {
            let found = thread(name);
            assert_eq!(
                (&found["state"], &found["is_daemon"]),
                (&state.into(), &is_daemon.into())
            );
            assert_eq!(found["group"], "main", "{name}");
        }
        let runner = thread("known runner");
        let frames = runner["stack"].as_array().expect("a stack");
        let hold = frames.iter().position(|frame| {
            frame
                .as_str()
                .is_some_and(|frame| frame.starts_with("KnownHeap.hold (KnownHeap.java:"))
        });
        assert!(hold.is_some(), "{frames:?}");
        let locals = runner["locals"].as_array().expect("locals");
        let local = |class: &str, key: &str, value: Value| {
            let found = locals
                .iter()
                .find(|local| local["class"] == class && local[key] == value);
            let found = found.unwrap_or_else(|| panic!("no {class} in {locals:?}"));
            assert_eq!(found["frame"].as_u64(), hold.map(|hold| hold as u64));
        };
        local("byte[]", "length", 1234.into());
        local("java.lang.String", "text", "known local".into());

        let shown = text(&["threads", "--locals", "--filter", "known runner", &file]);
        assert!(shown.contains("byte[] of 1,234 @ 0x"), "{shown}");
        assert!(shown.ends_with("1 thread: 1 RUNNABLE\n"), "{shown}");
        // The same from a compressed file.
        let packed = outcome.path("known.hprof.gz");
        let gzip = std::process::Command::new("gzip")
            .args(["-1", "-c", &file])
            .output();
        std::fs::write(&packed, gzip.expect("gzip runs").stdout).unwrap();
        let packed = packed.display().to_string();
        let again = text(&["threads", "--locals", "--filter", "known runner", &packed]);
        assert_eq!(again, shown);
    });
}

#[test]
fn an_index_tells_of_threads_what_the_file_does() {
    each_jdk(|jdk| {
        let (outcome, file) = dump(jdk);
        let ways: [&[&str]; 3] = [
            &["threads"],
            &["threads", "--names"],
            &["threads", "--top", "2"],
        ];
        let shown = || ways.map(|way| text(&[way, &[file.as_str()]].concat()));
        let options = OpenOptions {
            index: IndexPlace::Beside,
            only_indexed: true,
            ..OpenOptions::default()
        };
        let indexed = || Snapshot::open(outcome.path("known.hprof").as_ref(), &options);
        assert!(matches!(indexed(), Err(SnapshotError::NoIndex)));
        let read = shown();
        let folder = outcome.path("").display().to_string();
        let written = run(
            &mut Scene::new().hprof_rs(&["dominators", "--index", &folder, &file]),
            "",
        );
        assert!(written.status.success(), "{}", stderr(&written));
        // Otherwise the file is read, as what is missing may be a thread.
        let gaps = indexed().unwrap().graph().gaps();
        assert_eq!((gaps.dangling_roots, gaps.without_class), (0, 0));
        assert!(gaps.dangling_references <= gaps.archived_references);
        assert_eq!(shown(), read, "{}", jdk.home().display());
        // An index of another file is none.
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        assert!(indexed().is_err());
    });
}

#[test]
fn growth_names_the_path_at_which_objects_were_added() {
    let dump = |objects: &str| {
        let outcome = Run::new(Jdk::feature_release(17))
            .class("OrderHeap")
            .args([objects, "orders.hprof"])
            .run()
            .expect_status(0);
        let path = outcome.path("orders.hprof").display().to_string();
        (outcome, path)
    };
    let ((_first, small), (_second, large)) = (dump("2000"), dump("30000"));
    let grown = json(&["growth", "--json", &small, &large]);
    let path: Vec<&str> = (grown["paths"][0]["path"].as_array().expect("a path").iter())
        .map(|name| name.as_str().expect("a name"))
        .collect();
    // On JDK 17 the launcher holds the main class too, nearer to the roots; it says nothing.
    assert_eq!(path[0], "class OrderHeap", "{path:?}");
    assert!(path.contains(&"OrderHeap$Order"), "{path:?}");
    let objects = &grown["paths"][0]["objects"];
    assert!(objects[1].as_u64() > objects[0].as_u64(), "{objects}");
    let words = text(&["growth", &small, &large]);
    assert!(words.contains("by the path from the roots"), "{words}");
    let gate = ["growth", "--fail-above", "50", &small, &large];
    let output = run(&mut Scene::new().hprof_rs(&gate), "");
    assert_eq!(output.status.code(), Some(1));
}

/// In the second dump a local variable of a thread is nearer to the entries than the static field.
#[test]
fn growth_is_at_the_same_path_when_a_thread_holds_it_too() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .class("GrowsBehindALocal")
            .args(["small.hprof", "large.hprof", "5000"])
            .run()
            .expect_status(0);
        let file = |name: &str| outcome.path(name).display().to_string();
        let (small, large) = (file("small.hprof"), file("large.hprof"));
        let grown = json(&["growth", "--json", &small, &large]);
        let first = &grown["paths"][0];
        let path = first["path"].as_array().expect("a path");
        assert_eq!(path[0], "class GrowsBehindALocal", "{first}");
        let words = text(&["growth", &small, &large]);
        let field = first["field"].as_str().expect("a field");
        assert_eq!(field, "GrowsBehindALocal$Holder.entries", "{first}");
        assert!(
            words.contains(&format!(" by {field} in objects ")),
            "{words}"
        );
        let objects = first["objects"].as_array().expect("objects");
        let factor = objects[1].as_f64().unwrap() / objects[0].as_f64().unwrap();
        assert!((1.9..2.1).contains(&factor), "{first}");
    });
}

#[test]
fn the_largest_arrays_come_in_the_order_of_the_bytes_shown() {
    let (_outcome, file) = dump(Jdk::feature_release(17));
    let top = json(&["top", "--json", "--top", "200", &file]);
    let arrays = top["arrays"].as_array().expect("arrays");
    let bytes: Vec<u64> = (arrays.iter())
        .map(|array| array["shallow_bytes"].as_u64().expect("a number"))
        .collect();
    assert_eq!(bytes.len(), 200);
    assert!(bytes.is_sorted_by(|a, b| a >= b), "{bytes:?}");
    let of_objects = |array: &&Value| array["preview"] == "";
    let objects = arrays.iter().filter(of_objects).count();
    assert!((1..200).contains(&objects), "{objects}");
    // As SQL has it.
    let sql = "SELECT size FROM objects WHERE length NOT NULL ORDER BY size DESC LIMIT 200";
    let asked = json(&["query", "--json", &file, sql]);
    let asked = asked["rows"].as_array().expect("rows").iter();
    assert!(
        asked
            .map(|row| row["size"].as_u64())
            .eq(bytes.iter().copied().map(Some))
    );
}

#[test]
fn report_and_strings_agree_on_what_duplicates_waste() {
    each_jdk(|jdk| {
        let (_outcome, file) = dump(jdk);
        let strings = json(&["strings", "--json", "--top", "1", &file]);
        let duplicates = json(&["duplicates", "--json", &file]);
        let report = json(&["report", "--json", &file]);
        for found in [&duplicates["duplicates"], &report["duplicates"]] {
            assert_eq!(found["strings"], strings["strings"]["strings"]);
            assert_eq!(found["wasted_in_strings"], strings["strings"]["waste"]);
        }
        assert!(strings["strings"]["waste"].as_u64() > Some(24_000));
    });
}

#[test]
fn blank_contents_of_a_stripped_dump_are_not_compared() {
    let (outcome, file) = dump(Jdk::feature_release(17));
    let stripped = outcome.path("stripped.hprof").display().to_string();
    let done = run(
        &mut Scene::new().hprof_rs(&["strip", &file, "-o", &stripped]),
        "",
    );
    assert!(done.status.success(), "{}", stderr(&done));
    // Other programs leave question marks.
    let other = outcome.path("other.hprof").display().to_string();
    std::fs::write(&other, with_question_marks(&file)).expect("written");
    for file in [&stripped, &other] {
        let strings = json(&["strings", "--json", file]);
        // What is left are empty strings, which are equal for certain.
        assert_eq!(strings["strings"]["contents"], 1, "{strings}");
        assert!(
            strings["strings"]["blank"].as_u64() > Some(1100),
            "{strings}"
        );
        assert!(text(&["strings", file]).contains("blank strings were not compared"));
        let duplicates = json(&["duplicates", "--json", file]);
        assert!(duplicates["duplicates"]["wasted_in_strings"].as_u64() < Some(1000));
        assert!(duplicates["duplicates"]["blank"].as_u64() > Some(1100));
        assert!(text(&["duplicates", file]).contains("blank arrays were not compared"));
        let report = json(&["report", "--json", file]);
        let notes = report["notes"].as_array().expect("notes");
        let says = |note: &Value| note.as_str().is_some_and(|note| note.contains("are blank"));
        assert!(notes.iter().any(says), "{notes:?}");
    }
    let whole = json(&["strings", "--json", &file]);
    assert_eq!(whole["strings"]["blank"], 0);
}

/// The dump with a question mark in place of each byte of a string.
fn with_question_marks(path: &str) -> Vec<u8> {
    use hprof_format::binary::{Record, SubRecord};
    let mut bytes = std::fs::read(path).expect("a file");
    let file = bytes.clone();
    let start = file.as_ptr().addr();
    for record in hprof_format::reader::Reader::new(&file)
        .expect("a dump")
        .flatten()
    {
        let (Record::HeapDump(heap) | Record::HeapDumpSegment(heap)) = record.record else {
            continue;
        };
        for sub_record in heap.flatten() {
            if let SubRecord::PrimitiveArray { values, .. } = sub_record {
                let at = values.as_ptr().addr() - start;
                bytes[at..at + values.len()].fill(b'?');
            }
        }
    }
    bytes
}

#[test]
fn direct_buffers_are_those_that_the_jvm_counts() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .class("DirectBuffers")
            .args(["direct.hprof"])
            .run()
            .expect_status(0);
        let file = outcome.path("direct.hprof").display().to_string();
        let report = json(&["report", "--json", &file]);
        let direct = &report["summary"]["direct_buffers"];
        let number = |name: &str| direct[name].as_u64().expect("a number");
        let counted = outcome.stdout.trim().split_once(' ').expect("two numbers");
        let counted: (u64, u64) = (counted.0.parse().unwrap(), counted.1.parse().unwrap());
        assert!(counted >= (10, 5_500_000), "{counted:?}");
        // The JDK reads files by small buffers of its own, also for the dump itself.
        let difference = number("buffers").abs_diff(counted.0);
        assert!(difference <= 2, "{direct} {counted:?}");
        let difference = number("capacity").abs_diff(counted.1);
        assert!(difference <= 32 << 10, "{direct} {counted:?}");
        let markdown = text(&["report", "--md", &file]);
        let sentence = format!(
            "{} direct buffers hold 5.5 MB outside of the heap.",
            number("buffers")
        );
        assert!(markdown.contains(&sentence), "{markdown}");
    });
}

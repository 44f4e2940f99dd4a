//! The commands for heap dumps, on dumps of real JVMs with known contents.

mod support;

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
    // On JDK 17 the launcher holds the main class too, nearer to the roots.
    assert!(path.contains(&"class OrderHeap"), "{path:?}");
    assert!(path.contains(&"OrderHeap$Order"), "{path:?}");
    let objects = &grown["paths"][0]["objects"];
    assert!(objects[1].as_u64() > objects[0].as_u64(), "{objects}");
    let words = text(&["growth", &small, &large]);
    assert!(words.contains("by the path from the roots"), "{words}");
    let gate = ["growth", "--fail-above", "50", &small, &large];
    let output = run(&mut Scene::new().hprof_rs(&gate), "");
    assert_eq!(output.status.code(), Some(1));
}

//! Dumps of real JVMs that show more than leaks: deadlocks, memory that no root reaches, references that are
//! none of the program, memory outside of the heap.

mod support;

use java_test_harness::{Jdk, Outcome, Run, each_jdk, each_jdk_since, redefiner};
use serde_json::Value;
use support::{Scene, run, stderr, stdout};

fn dump(jdk: &'static Jdk, program: &str) -> (Outcome, String) {
    let run = Run::new(jdk).class(program).args(["heap.hprof"]);
    let outcome = run.run().expect_status(0);
    let path = outcome.path("heap.hprof").display().to_string();
    (outcome, path)
}

fn text(arguments: &[&str]) -> String {
    let output = run(&mut Scene::new().hprof_rs(arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).expect("JSON")
}

/// The observations of a kind in the report of a file.
fn of_kind(file: &str, kind: &str) -> Vec<Value> {
    let report = json(&["report", "--json", file]);
    let all = report["observations"].as_array().expect("observations");
    let found = all.iter().filter(|it| it["kind"] == kind);
    found.cloned().collect()
}

fn name(thread: &Value) -> &str {
    thread["name"].as_str().expect("a name")
}

/// The deadlocks and locks of an answer, each as a line.
fn lines(locks: &Value) -> Vec<String> {
    let array = |value: &Value| value.as_array().expect("an array").clone();
    let deadlock = |deadlock: &Value| {
        let wait = |wait: &Value| {
            let class = wait["lock"]["class"].as_str().expect("a class");
            format!("{}>{class}>{}", name(&wait["thread"]), name(&wait["owner"]))
        };
        let waits: Vec<String> = array(&deadlock["waits"]).iter().map(wait).collect();
        waits.join(" ")
    };
    let held = |held: &Value| {
        let class = held["lock"]["class"].as_str().expect("a class");
        format!(
            "{class} of {} for {}",
            name(&held["owner"]),
            array(&held["waiters"]).len()
        )
    };
    let mut lines: Vec<String> = array(&locks["deadlocks"]).iter().map(deadlock).collect();
    lines.extend(array(&locks["held"]).iter().map(held));
    lines.sort_unstable();
    lines
}

#[test]
fn deadlocks_and_owners_of_locks_are_found_in_dumps() {
    let lock = "java.util.concurrent.locks.ReentrantLock";
    let mut expected = vec![
        "monitor-1>java.lang.StringBuilder>monitor-2 monitor-2>java.lang.Object>monitor-1"
            .to_owned(),
        format!("lock-1>{lock}>lock-2 lock-2>{lock}>lock-1"),
        format!("mixed-1>{lock}>mixed-2 mixed-2>java.lang.Object>mixed-1"),
        format!("{lock} of owner-lock for 3"),
        "int[] of owner-monitor for 2".to_owned(),
    ];
    expected.sort_unstable();
    each_jdk(|jdk| {
        let (_outcome, file) = dump(jdk, "DeadlockDump");
        // Without the graph, with it, and from its index.
        assert_eq!(
            lines(&json(&["threads", "--json", "--names", &file])["locks"]),
            expected
        );
        assert_eq!(
            lines(&json(&["threads", "--json", "--retained", &file])["locks"]),
            expected
        );
        let said = text(&["threads", "--names", &file]);
        let first = said.lines().next().expect("a line");
        assert_eq!(
            first,
            "Deadlock: 2 threads wait for each other and will never go on."
        );
        assert!(
            said.contains("\"lock-1\" waits for the java.util.concurrent.locks.ReentrantLock 0x"),
            "{said}"
        );
        for kind in [("deadlock", 3), ("lock_held", 2)] {
            assert_eq!(of_kind(&file, kind.0).len(), kind.1, "{kind:?}");
        }
        let leaks = text(&["leaks", &file]);
        assert!(
            leaks.contains("Deadlock: 2 threads wait for each other"),
            "{leaks}"
        );
        let markdown = text(&["report", "--md", &file]);
        assert!(
            markdown.contains("**Deadlock: 2 threads wait for each other"),
            "{markdown}"
        );
    });
}

#[test]
fn a_dump_of_a_jvm_that_ran_out_of_memory_says_which_thread_it_was() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .class("RunsOut")
            .jvm_args([
                "-Xmx20m",
                "-XX:+HeapDumpOnOutOfMemoryError",
                "-XX:HeapDumpPath=heap.hprof",
            ])
            .run()
            .expect_status(0);
        let file = outcome.path("heap.hprof").display().to_string();
        let said = "This dump was written when thread \"report-loader\" threw OutOfMemoryError at \
                    RunsOut.load(RunsOut.java:9).";
        for command in ["threads", "leaks"] {
            let printed = text(&[command, &file]);
            assert!(printed.contains(said), "{printed}");
        }
        let found = of_kind(&file, "out_of_memory");
        assert_eq!(found[0]["thread"], "report-loader");
        // It is no error of other dumps.
        let (_outcome, file) = dump(jdk, "References");
        assert!(of_kind(&file, "out_of_memory").is_empty());
    });
}

#[test]
fn a_finalizer_that_hangs_is_why_memory_is_not_reached() {
    each_jdk(|jdk| {
        let (outcome, file) = dump(jdk, "FinalizerBacklog");
        assert_eq!(outcome.stdout.trim(), "true");
        let found = of_kind(&file, "finalizers_wait");
        let [backlog] = &found[..] else {
            panic!("{found:?}");
        };
        let class = backlog["classes"].as_array().unwrap().iter();
        let mut class = class.filter(|it| it["name"] == "FinalizerBacklog$Connection");
        let class = class.next().expect("the class");
        assert_eq!(class["objects"], 2000, "{class}");
        // All but the one in whose method the thread is; each with its array.
        assert_eq!(class["bytes"], 1999 * (16 + 1016), "{class}");
        let said = format!("{}{}", backlog["headline"], backlog["sentences"]);
        for word in [
            "wait for the finalizer and keep 2.",
            "FinalizerBacklog$Connection.finalize(FinalizerBacklog.java:",
        ] {
            assert!(said.contains(word), "{said}");
        }
        let not_reached = of_kind(&file, "not_reached");
        let said = not_reached[0]["sentences"].to_string();
        assert!(
            said.contains("of it is held by objects that wait for the finalizer"),
            "{said}"
        );
        let rows = json(&["finalizers", "--json", &file]);
        let rows = rows["finalizers"].as_array().unwrap().iter();
        let mut row = rows.filter(|it| it["name"] == "FinalizerBacklog$Connection");
        assert_eq!(row.next().unwrap()["held_bytes"], 1999 * (16 + 1016));
    });
}

#[test]
fn weak_entries_that_stay_and_soft_references_are_said_to_be_so() {
    each_jdk(|jdk| {
        let (_outcome, file) = dump(jdk, "References");
        let found = of_kind(&file, "weak_entries_stay");
        let [entries] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(entries["entries"], 200);
        assert_eq!(entries["map"], "java.util.WeakHashMap with 200 entries");
        assert_eq!(entries["held_by"], "References.SESSIONS");
        assert_eq!(entries["value_class"], "References$Session");
        assert_eq!(
            entries["way"],
            serde_json::json!(["References$Session.owner"])
        );
        let leaks = json(&["leaks", "--json", &file]);
        let suspects = leaks["leaks"]["suspects"].as_array().unwrap();
        let soft = |it: &&Value| {
            it["sentences"]
                .to_string()
                .contains("Only soft references lead to it")
        };
        let soft: Vec<&Value> = suspects.iter().filter(soft).collect();
        assert_eq!(soft.len(), 1, "{leaks:#}");
        let headline = soft[0]["headline"].as_str().unwrap();
        assert!(
            headline.contains("one java.util.ArrayList with 300 elements"),
            "{headline}"
        );
        let printed = text(&["leaks", &file]);
        assert!(
            printed.contains(".referent (soft) \u{2192} java.util.ArrayList"),
            "{printed}"
        );
    });
}

/// HotSpot lacks these frames up to JDK 21.
#[test]
fn virtual_threads_whose_frames_a_dump_lacks_are_why_memory_is_not_reached() {
    each_jdk_since(21, |jdk| {
        let (_outcome, file) = dump(jdk, "ParkedVirtual");
        let found = of_kind(&file, "not_reached");
        match &found[..] {
            [found] => {
                assert_eq!(found["threads_without_frames"], 50);
                assert!(found["bytes"].as_u64() >= Some(50 * 100_016));
                let said = found["sentences"].to_string();
                assert!(
                    said.contains("lacks the frames of 50 parked virtual threads (JDK-8299426)"),
                    "{said}"
                );
            }
            none => assert!(none.is_empty() && jdk.feature() > 21, "{none:?}"),
        }
    });
}

#[test]
fn old_versions_of_redefined_classes_are_named_and_nothing_is_incomplete() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .class("RedefinedDump")
            .jvm_arg(format!("-javaagent:{}", redefiner().display()))
            .args(["heap.hprof"])
            .run()
            .expect_status(0);
        let file = outcome.path("heap.hprof").display().to_string();
        let check = json(&["check", "--json", &file]);
        assert_eq!(check["is_sound"], true, "{check:#}");
        let old = check["old_versions"].as_array().expect("names");
        let class = "java.util.concurrent.locks.LockSupport";
        assert!(old.iter().all(|name| name == class), "{old:?}");
        assert_eq!(check["gaps"][0]["dangling_roots"], 0);
        // The one that the parked thread is in; of the other one nothing is left.
        assert_eq!(check["gaps"][0]["undumped_classes"], 1, "{check:#}");
        let printed = text(&["check", &file]);
        let line = format!(
            "old versions of redefined classes, which HotSpot lists and does not dump: {class}\n"
        );
        assert!(printed.starts_with(&line), "{printed}");
        let leaks = json(&["leaks", "--json", &file]);
        assert_eq!(leaks["is_partial"], false);
        assert_eq!(leaks["notes"], serde_json::json!([]));
    });
}

//! Programs that leak: the command names each leak in words.

use std::process::Command;

use java_test_harness::{Run, each_jdk};
use serde_json::Value;

/// Runs a program that writes a dump, and looks for leaks in it.
fn suspects(jdk: &'static java_test_harness::Jdk, program: &str) -> Value {
    let run = Run::new(jdk).class(program).args(["heap.hprof"]);
    let outcome = run.run().expect_status(0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_hprof-rs"));
    command.args(["leaks", "--json", "--no-index"]);
    let output = command.arg(outcome.path("heap.hprof")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    json["leaks"]["suspects"].clone()
}

/// The first suspect keeps most of the heap alive, and its words name what a reader must know.
fn assert_named(leaks: &Value, words: &[&str]) {
    let first = &leaks[0];
    let text = format!("{}\n{:#}", first["headline"], first["sentences"]);
    let text = text.replace("\\\"", "\"");
    assert!(first["share"].as_f64() > Some(0.5), "{text}");
    for word in words {
        assert!(text.contains(word), "{word} is missing in:\n{text}");
    }
}

#[test]
fn the_first_suspect_is_the_leak_in_words_that_name_it() {
    each_jdk(|jdk| {
        assert_named(
            &suspects(jdk, "LeakStaticMap"),
            &[
                "java.util.HashMap with 5,000 entries",
                "static field LeakStaticMap.SESSIONS",
                "5,000 objects of class LeakStaticMap$Session",
            ],
        );
        assert_named(
            &suspects(jdk, "LeakThreadLocal"),
            &[
                "8 values of ThreadLocals of class LeakThreadLocal$RequestContext",
                "ThreadLocal.remove()",
                "pool-1-thread-",
            ],
        );
        assert_named(
            &suspects(jdk, "LeakListeners"),
            &[
                "java.util.ArrayList with 3,000 elements",
                "LeakListeners$EventBus.listeners",
                "running thread \"main\"",
                "LeakListeners.main",
                "3,000 objects of class LeakListeners$Window",
            ],
        );
        assert_named(
            &suspects(jdk, "LeakLoader"),
            &[
                "java.util.ArrayList with 100 elements",
                "static field LeakLoader.HOOKS",
                "100 class loaders, such as LeakLoader$PluginLoader",
            ],
        );
        assert_named(
            &suspects(jdk, "LeakCache"),
            &[
                "java.util.LinkedHashMap with 4,000 entries",
                "static field LeakCache.service",
                "LeakCache$ResultCache.results",
                "4,000 objects of class LeakCache$Result",
            ],
        );
    });
}

/// Each node of a queue keeps the next one alive, so what keeps a tenth of the heap alive is a node
/// in its middle.
#[test]
fn a_queue_is_a_suspect_as_a_whole() {
    each_jdk(|jdk| {
        let leaks = suspects(jdk, "LeakQueue");
        assert_named(
            &leaks,
            &[
                "java.util.concurrent.LinkedBlockingQueue with 100,000 elements",
                "static field LeakQueue.tasks",
                "100,000 objects of class LeakQueue$Task",
            ],
        );
        let second = leaks[1]["headline"].as_str().unwrap();
        assert!(
            second.contains("one long[][] of 100 elements") && second.contains("keeps 8.0 MB"),
            "{second}"
        );
    });
}

//! Programs that leak, and the VM's own figures: what the analysis of dumps says of them.

use java_test_harness::{Run, each_jdk};

use hprof_analysis::leaks::{LeakOptions, Leaks, leaks};
use hprof_analysis::snapshot::{OpenOptions, Snapshot};

/// Runs a program that writes a dump, and looks for leaks in it.
fn suspects(jdk: &'static java_test_harness::Jdk, program: &str) -> Leaks {
    let run = Run::new(jdk).class(program).args(["heap.hprof"]);
    let outcome = run.run().expect_status(0);
    let dump = outcome.path("heap.hprof");
    let snapshot = Snapshot::open(&dump, &OpenOptions::default()).unwrap();
    leaks(&snapshot, LeakOptions::default()).unwrap()
}

/// The first suspect keeps most of the heap alive, and its words name what a reader must know.
fn assert_named(leaks: &Leaks, words: &[&str]) {
    let first = &leaks.suspects[0];
    let text = format!("{}\n{}", first.headline, first.sentences.join("\n"));
    assert!(first.share > 0.5, "{text}");
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
                "static field SESSIONS of class LeakStaticMap",
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
                "static field HOOKS of class LeakLoader",
                "100 class loaders, such as LeakLoader$PluginLoader",
            ],
        );
        assert_named(
            &suspects(jdk, "LeakCache"),
            &[
                "java.util.LinkedHashMap with 4,000 entries",
                "static field service of class LeakCache",
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
                "static field tasks of class LeakQueue",
                // The queue refers to the last node itself.
                "99,999 objects of class LeakQueue$Task",
            ],
        );
        let second = &leaks.suspects[1].headline;
        assert!(
            second.starts_with("One long[][] of 100 elements keeps 8.0 MB"),
            "{second}"
        );
    });
}

/// Lines of `GC.class_histogram`: class, objects, bytes.
fn class_histogram(text: &str) -> Vec<(String, u64, u64)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let rank = words.next()?;
        rank.strip_suffix(':')?.parse::<u64>().ok()?;
        let objects = words.next()?.parse().ok()?;
        let bytes = words.next()?.parse().ok()?;
        Some((words.next()?.to_owned(), objects, bytes))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn objects_and_bytes_of_a_class_are_those_of_the_vm() {
    each_jdk(|jdk| {
        let running = Run::new(jdk).class("Shapes").start();
        running.wait_for_line("ready");
        let vm = class_histogram(&running.jcmd(&["GC.class_histogram", "-all"]));
        let dump = running.path("heap.hprof");
        running.jcmd(&["GC.heap_dump", "-all", dump.to_str().unwrap()]);
        let snapshot = Snapshot::open(&dump, &OpenOptions::default()).unwrap();
        std::fs::write(running.path("end"), "").unwrap();
        running.finish().expect_status(0);
        let graph = snapshot.graph();
        for class in [
            "Shapes",
            "Shapes$Kid",
            "Shapes$Base",
            "[LShapes;",
            "[[I",
            "java.util.Locale",
            "java.util.Properties",
        ] {
            let Some((_, objects, bytes)) = vm.iter().find(|row| row.0 == class) else {
                continue;
            };
            let name = hprof_analysis::names::source_form(class);
            let all = (0..graph.len()).filter(|&object| {
                graph.class_of_object(object).is_none() && snapshot.class_name(object) == name
            });
            let (mut count, mut sum) = (0, 0);
            for object in all {
                count += 1;
                sum += graph.size(object);
            }
            assert_eq!((count, sum), (*objects, *bytes), "{class} on {jdk}");
        }
    });
}

//! The figures of dumps, compared with the VM's own.

use java_test_harness::{Run, each_jdk};

use hprof_analysis::snapshot::{OpenOptions, Snapshot};

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
            let all = graph.objects().filter(|&object| {
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

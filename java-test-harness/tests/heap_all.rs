//! heap=all: each object of the dump has the trace of its allocation, and the sites agree with the dump.

use std::collections::{BTreeMap, BTreeSet};

use java_test_harness::{
    BinaryHeap, BinaryProfile, Content, Run, SiteExpectation, TextProfile, each_collector, each_jdk,
};

const DUMPED: &str = "Dumping Java heap ... allocation sites ... done.\nHPROF: heap dump: ";
const NOWHERE: u32 = 300_000;

/// The primitive types in the order of their numbers in HPROF files, from 4 on.
const PRIMITIVES: [&str; 8] = [
    "boolean", "char", "float", "double", "byte", "short", "int", "long",
];

/// Objects of a text dump by class and trace.
fn text_counts(profile: &TextProfile) -> BTreeMap<(String, u32), (u64, u64)> {
    let mut counts: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for object in profile.heap().entries.values() {
        let count = counts
            .entry((object.class.clone(), object.trace))
            .or_default();
        count.0 += 1;
        count.1 += object.size;
    }
    counts
}

#[test]
fn each_object_has_its_trace_and_the_sites_agree() {
    each_collector(|jdk, collector| {
        let outcome = Run::new(jdk)
            .jvm_args(collector.arguments())
            .agent("heap=all,cutoff=0,depth=12")
            .class("Allocations")
            .run()
            .expect_status(0);
        assert!(outcome.stderr.starts_with(DUMPED), "{}", outcome.stderr);
        let profile = outcome.profile();
        let counts = text_counts(&profile);
        for expectation in SiteExpectation::printed(&outcome.stdout) {
            let of_site = counts.iter().filter(|((class, trace), _)| {
                expectation.is_of(class, &profile.traces[trace].methods())
            });
            let found: u64 = of_site.map(|(_, (objects, _))| objects).sum();
            assert_eq!(found, expectation.live, "{expectation:?}");
        }
        // Between dump and sites only the VM's own threads have worked.
        let is_programs = |trace: &u32| profile.traces[trace].has("Allocations.main");
        let mut compared = 0;
        for row in &profile.sites().rows {
            if is_programs(&row.trace) {
                let key = (row.class.clone(), row.trace);
                let found = counts.get(&key).copied().unwrap_or_default();
                // Class objects have no size in a dump, and the VM writes names of hidden classes in two
                // ways.
                if row.class != "java.lang.Class" && !row.class.contains("$$Lambda") {
                    assert_eq!(found, (row.live_objects, row.live_bytes), "{key:?}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 50, "{compared} sites");
    });
}

/// The names of the methods of a trace.
fn methods(profile: &BinaryProfile, trace: u32) -> Vec<&str> {
    let frames = profile.traces[&trace].frames.iter();
    frames
        .map(|id| profile.frames[id].method.as_str())
        .collect()
}

#[test]
fn a_binary_dump_has_the_traces_too() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("depth=12,format=b")
            .class("Allocations")
            .run()
            .expect_status(0);
        assert!(outcome.stderr.starts_with(DUMPED), "{}", outcome.stderr);
        let profile = outcome.binary_profile("java.hprof");
        assert_eq!(profile.version, "1.0.2");
        let heap = profile.heap();
        assert!(heap.ended);
        let mut counts: BTreeMap<(String, u32), u64> = BTreeMap::new();
        for object in heap.objects.values() {
            let class = match &object.content {
                Content::Instance(class, _) | Content::Objects(class, _) => heap.name(*class),
                Content::Primitives(kind, _) => format!("{}[]", PRIMITIVES[usize::from(*kind) - 4]),
            };
            *counts.entry((class, object.trace)).or_default() += 1;
        }
        for expectation in SiteExpectation::printed(&outcome.stdout) {
            let of_site = counts
                .iter()
                .filter(|((class, trace), _)| expectation.is_of(class, &methods(&profile, *trace)));
            let found = of_site.map(|it| it.1).sum::<u64>();
            assert_eq!(found, expectation.live, "{expectation:?}");
        }
        let (_, class) = heap.class_named("Allocations$Plain");
        assert!(
            methods(&profile, class.trace)
                .iter()
                .any(|it| it.contains("oadClass"))
        );
    });
}

/// Returns whether an object of the dump is a thread.
fn is_thread(heap: &BinaryHeap, object: u64) -> bool {
    let Some(Content::Instance(class, _)) = heap.objects.get(&object).map(|it| &it.content) else {
        return false;
    };
    let up = |class: &u64| heap.classes.get(class).map(|it| it.super_class);
    let mut line = std::iter::successors(Some(*class), up).take(20);
    line.any(|class| class != 0 && heap.name(class) == "java.lang.Thread")
}

#[test]
fn ids_of_classes_and_threads_are_those_of_the_dump() {
    each_collector(|jdk, collector| {
        let outcome = Run::new(jdk)
            .jvm_args(collector.arguments())
            .agent("heap=all,cpu=samples,format=b,cutoff=0,depth=12")
            .class("NamedThreads")
            .run()
            .expect_status(0);
        let profile = outcome.binary_profile("java.hprof");
        let heap = profile.heap();
        // Class dumps, frames of all traces, and rows have one record for each class.
        let ids: BTreeSet<u64> = profile.class_ids.values().copied().collect();
        assert_eq!(ids.len(), profile.class_ids.len());
        let dumped: BTreeSet<u64> = heap.classes.keys().copied().collect();
        let others: Vec<_> = ids.difference(&dumped).collect();
        assert!(others.is_empty(), "{others:x?}");
        let sites = profile.site_tables.last().expect("a table of sites");
        assert!(sites.len() > 100 && !profile.table().rows.is_empty());
        for site in sites {
            let class = heap.classes.get(&site.class_id).map(|it| &it.name);
            assert_eq!(class, Some(&site.class));
        }
        let mut customers = 0;
        for (serial, &object) in &profile.thread_objects {
            let name = &profile.threads[serial];
            let has_ended = profile.ended_threads.contains(serial);
            assert!(is_thread(heap, object) || has_ended, "{name}: {object:x}");
            customers += usize::from(!has_ended && name.starts_with("customer"));
        }
        assert_eq!(customers, 4);
    });
}

#[test]
fn threads_have_the_objects_of_the_dump_in_text() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("heap=dump,cpu=samples");
        let profile = run.class("NamedThreads").run().expect_status(0).profile();
        let heap = profile.heap();
        let mut customers = 0;
        for thread in &profile.threads {
            let object = heap.entries.get(&thread.object);
            let has_ended = profile.ended_threads.contains(&thread.serial);
            assert!(object.is_some() || has_ended, "{thread:?}");
            if thread.name.starts_with("customer") {
                assert_eq!(object.unwrap().class, "java.lang.Thread");
                customers += 1;
            }
        }
        assert_eq!(customers, 4);
    });
}

/// Dumps a program whose threads allocate, each class in one method: no object has the trace of another
/// one.
fn assert_traces_are_right(run: Run, threads: u32) {
    let running = run
        .jvm_arg("-Xmx256m")
        .agent("heap=all,format=b,depth=3,doe=n")
        .class("Busy")
        .args([threads.to_string()])
        .start();
    running.wait_for_line("ready");
    running.jcmd(&["JVMTI.data_dump"]);
    running.wait_until("the dump", |it| it.stderr().contains("heap dump: "));
    std::fs::write(running.path("end"), "").unwrap();
    let outcome = running.finish().expect_status(0);
    assert!(outcome.stdout.ends_with("ended\n"));
    let profile = outcome.binary_profile("java.hprof");
    let moved = outcome.stderr.contains("objects were moved");
    let heap = profile.heap();
    let (mut right, mut unknown) = (0, 0);
    for object in heap.objects.values() {
        let (Content::Instance(class, _) | Content::Objects(class, _)) = &object.content else {
            continue;
        };
        let method = match heap.name(*class).as_str() {
            "Busy$First" => "Busy.first",
            "Busy$Second" => "Busy.second",
            "Busy$Third[]" => "Busy.third",
            _ => continue,
        };
        if object.trace == NOWHERE {
            unknown += 1;
        } else {
            assert_eq!(methods(&profile, object.trace)[0], method);
            right += 1;
        }
    }
    let all = right + unknown;
    assert!(all >= 500, "{all} objects");
    // A thread may be about to note its object.
    assert!(
        unknown <= threads || moved,
        "{unknown} of {all} objects have no trace"
    );
}

#[test]
fn traces_are_right_while_the_collector_works() {
    each_collector(|jdk, collector| {
        assert_traces_are_right(Run::new(jdk).jvm_args(collector.arguments()), 20);
    });
}

#[test]
fn traces_are_right_while_a_thousand_threads_allocate() {
    each_jdk(|jdk| assert_traces_are_right(Run::new(jdk), 1000));
}

//! Binary dumps of large heaps: the file that the VM writes becomes the profile's.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hprof_analysis::snapshot::{OpenOptions, Snapshot};
use java_test_harness::{
    BinaryProfile, Content, Jdk, Run, Running, Signal, each_collector, each_jdk,
};

/// The first string that fills the room between the profile's names and the VM's objects. Copied dumps have none. From
/// JDK 22 on a dump is copied whose first part the VM has written before the agent has read enough of it.
const FILLER: u64 = 0xb000_0000;
/// A round makes eight objects and more, a hundred times.
const ROUNDS: u64 = 1_000;

fn big(jdk: &'static Jdk, options: &str) -> Run {
    let rounds = ROUNDS.to_string();
    let run = Run::new(jdk).agent(options).class("BigHeap");
    run.args([rounds.as_str(), "wait"])
}

fn full(run: Run) -> Running {
    let running = run.start();
    running.wait_for_line("full");
    running
}

fn end(running: Running) -> java_test_harness::Outcome {
    std::fs::write(running.path("end"), "").unwrap();
    let outcome = running.finish().expect_status(0);
    assert_eq!(outcome.files(), ["end", "java.hprof"], "{}", outcome.stderr);
    let mode = std::fs::metadata(outcome.path("java.hprof")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    outcome
}

/// Objects, references and threads of the program are there, and what a dump refers to.
fn check(profile: &BinaryProfile, what: &str) {
    let heap = profile.heap();
    assert!(heap.ended, "{what}");
    // One array of the VM refers to classes that were not loaded.
    let dangling = heap.dangling();
    let holders: BTreeSet<u64> = dangling.iter().map(|it| it.0).collect();
    assert!(holders.len() <= 1 && !holders.contains(&0), "{what}");
    let nodes = heap.instances("BigHeap$Node").len() as u64;
    assert_eq!(nodes, 300 * ROUNDS, "{what}");
    let threads = heap.roots.iter().filter(|root| root.tag == 8);
    let names: Vec<&str> = threads
        .filter_map(|root| profile.threads.get(&root.thread.unwrap()))
        .map(String::as_str)
        .collect();
    assert!(names.contains(&"Reference Handler"), "{what}: {names:?}");
    // Each thread of the dump is one of the profile, with a stack of the profile.
    for root in heap
        .roots
        .iter()
        .filter(|root| matches!(root.tag, 2 | 3 | 8))
    {
        let thread = root.thread.unwrap();
        assert!(profile.threads.contains_key(&thread), "{what}: {root:?}");
    }
}

/// The retained sizes of all objects of a class, in order.
fn retained(path: &Path, class: &str) -> Vec<u64> {
    let snapshot = Snapshot::open(path, &OpenOptions::default()).unwrap();
    let objects = snapshot.graph().objects();
    let objects = objects.filter(|object| snapshot.class_name(*object) == class);
    let mut sizes: Vec<u64> = objects.map(|object| snapshot.retained(object)).collect();
    sizes.sort_unstable();
    sizes
}

/// A reader finds nothing that is damaged.
fn check_whole(path: &Path, what: &str) {
    let snapshot = Snapshot::open(path, &OpenOptions::default()).unwrap();
    let damage = &snapshot.contents().damage;
    assert!(damage.entries.is_empty(), "{what}: {damage:?}");
}

/// Strings of megabytes look like damage.
fn check_fillers(profile: &BinaryProfile, what: &str) {
    let longest = profile.strings.values().map(String::len).max();
    assert!(longest <= Some(512 << 10), "{what}: {longest:?}");
}

fn is_in_place(profile: &BinaryProfile) -> bool {
    profile.strings.contains_key(&FILLER)
}

#[test]
fn the_vms_file_becomes_the_profile() {
    each_collector(|jdk, collector| {
        let run = big(jdk, "heap=dump,format=b").jvm_args(collector.arguments());
        let outcome = end(full(run.jvm_arg("-Xmx900m")));
        let profile = BinaryProfile::parse(&outcome.bytes("java.hprof")).unwrap();
        let what = format!("{jdk} {collector}");
        check(&profile, &what);
        check_whole(&outcome.path("java.hprof"), &what);
        check_fillers(&profile, &what);
        assert!(is_in_place(&profile) || jdk.feature() >= 22, "{what}");
        let values = |id: &u64| profile.heap().fields(*id);
        let nodes = profile.heap().instances("BigHeap$Node");
        let numbers = nodes
            .iter()
            .filter(|id| values(id).iter().any(|it| it.1 == 10 && it.2 != 0));
        assert!(numbers.count() as u64 > 200 * ROUNDS, "{what}");
    });
}

#[test]
fn values_are_blanked_where_the_vm_wrote_them() {
    each_jdk(|jdk| {
        let running = full(big(jdk, "heap=dump,format=b,dumplevel=1,doe=n"));
        running.jcmd(&["JVMTI.data_dump"]);
        running.wait_until("the dump", |it| it.stderr().contains("done"));
        let vm = running.path("vm.hprof");
        running.jcmd(&["GC.heap_dump", vm.to_str().unwrap()]);
        let full = std::fs::read(&vm).unwrap();
        let theirs = ["BigHeap$Node", "java.util.HashMap"].map(|class| retained(&vm, class));
        std::fs::remove_file(&vm).unwrap();
        let outcome = end(running);
        let file = outcome.path("java.hprof");
        let ours = ["BigHeap$Node", "java.util.HashMap"].map(|class| retained(&file, class));
        assert_eq!(ours[0].len() as u64, 300 * ROUNDS, "{jdk}");
        assert!(ours[0] == theirs[0], "{jdk}");
        // The program's map is the largest.
        assert_eq!(ours[1].last(), theirs[1].last(), "{jdk}");
        let profile = BinaryProfile::parse(&outcome.bytes("java.hprof")).unwrap();
        check(&profile, &jdk.to_string());
        assert!(is_in_place(&profile) || jdk.feature() >= 22, "{jdk}");
        let heap = profile.heap();
        for (id, object) in &heap.objects {
            match &object.content {
                Content::Primitives(_, bytes) => assert!(bytes.iter().all(|it| *it == 0)),
                Content::Instance(..) => {
                    let values = heap.fields(*id);
                    assert!(
                        !values.iter().any(|it| it.1 != 2 && it.2 != 0),
                        "{values:?}"
                    );
                }
                Content::Objects(..) => {}
            }
        }
        let full = BinaryProfile::parse_vm_dump(&full).unwrap();
        let (ours, theirs) = (heap.counts(), full.heap().counts());
        for class in [
            "BigHeap$Node",
            "java.util.HashMap$Node[]",
            "java.lang.Integer",
            "long[]",
            "java.lang.Object[]",
        ] {
            assert_eq!(ours.get(class), theirs.get(class), "{class} {jdk}");
        }
    });
}

/// The first dump's file is the VM's; a second one is copied behind it, as is what else is recorded.
#[test]
fn a_profile_with_more_than_a_dump_has_all() {
    each_jdk(|jdk| {
        let running = full(big(jdk, "cpu=samples,interval=1,heap=dump,format=b"));
        running.signal(Signal::Quit);
        running.wait_until("the first dump", |it| it.stderr().contains("done"));
        let outcome = end(running);
        let profile = BinaryProfile::parse(&outcome.bytes("java.hprof")).unwrap();
        assert_eq!((profile.heaps.len(), profile.tables.len()), (2, 2), "{jdk}");
        for heap in &profile.heaps {
            assert!(heap.ended, "{jdk}");
            let nodes = heap.instances("BigHeap$Node").len() as u64;
            assert_eq!(nodes, 300 * ROUNDS, "{jdk}");
        }
        assert!(is_in_place(&profile) || jdk.feature() >= 22, "{jdk}");
        let samples = profile.tables.iter().map(|table| table.total);
        assert!(samples.sum::<u32>() > 0, "{jdk}");
    });
}

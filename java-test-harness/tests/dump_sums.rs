//! The sums of the front-end's histogram are those that the VM itself counts.

use std::collections::BTreeMap;

use hprof_analysis::contents::{ReadOptions, read};
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::input::Input;
use hprof_analysis::names::{family, source_form};
use java_test_harness::{Jdk, Run, each_jdk, each_release_since};

/// Objects and bytes by class, as `jcmd PID GC.class_histogram` prints them.
fn vm_counts(histogram: &str) -> BTreeMap<String, (u64, u64)> {
    let rows = histogram.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [rank, objects, bytes, name, ..] = words.as_slice() else {
            return None;
        };
        rank.strip_suffix(':')?;
        // The address in a hidden class's name differs from command to command.
        let name = family(&source_form(name)).into_owned();
        // Objects that fill gaps are written as arrays of ints.
        let name = match name.as_str() {
            "jdk.internal.vm.FillerElement[]" => "int[]".to_owned(),
            _ => name,
        };
        let (objects, bytes): (u64, u64) = (objects.parse().ok()?, bytes.parse().ok()?);
        Some((name, (objects, bytes)))
    });
    let mut counts = BTreeMap::new();
    for (name, (objects, bytes)) in rows {
        let sum = counts.entry(name).or_insert((0, 0));
        *sum = (sum.0 + objects, sum.1 + bytes);
    }
    counts
}

fn compare(jdk: &'static Jdk, program: &str, flags: &[&str]) {
    let running = Run::new(jdk).jvm_args(flags).class(program).start();
    running.wait_for_line("ready");
    // The first commands load classes of their own.
    let path = running.path("first");
    running.jcmd(&["GC.heap_dump", path.to_str().unwrap()]);
    running.jcmd(&["GC.class_histogram"]);
    let before = vm_counts(&running.jcmd(&["GC.class_histogram"]));
    let path = running.path("dump");
    running.jcmd(&["GC.heap_dump", path.to_str().unwrap()]);
    let after = vm_counts(&running.jcmd(&["GC.class_histogram"]));
    std::fs::write(running.path("end"), "").unwrap();
    let outcome = running.finish().expect_status(0);

    let input = Input::open(&outcome.path("dump")).unwrap();
    let contents = read(input, &ReadOptions::default()).unwrap();
    assert!(contents.damage.is_empty(), "{:?}", contents.damage);
    let ours = histogram(&contents, &contents.dumps[0], Group::Family);
    let ours: BTreeMap<&str, (u64, u64)> = ours
        .rows
        .iter()
        .map(|row| (row.name.as_str(), (row.objects, row.shallow_bytes)))
        .collect();
    let (mut compared, mut different) = (0, Vec::new());
    for (name, counts) in &before {
        // Dumps have classes in place of their objects, without their size.
        if name == "java.lang.Class" {
            continue;
        }
        // Objects that fill gaps are not dumped since JDK 28.
        let fills = ["int[]", "jdk.internal.vm.FillerObject"];
        if jdk.feature() >= 28 && fills.contains(&name.as_str()) {
            continue;
        }
        // Objects that the VM itself counts differently the second time are made by the commands.
        if after.get(name) == Some(counts) {
            let found = ours.get(name.as_str()).copied().unwrap_or_default();
            compared += 1;
            if found != *counts {
                different.push(format!("{name}: {found:?}, not {counts:?}"));
            }
        }
    }
    let place = format!("on {jdk} with {flags:?}");
    assert!(compared > 200, "{compared} classes {place}");
    assert!(different.is_empty(), "{different:#?} {place}");
}

#[test]
fn sums_are_those_of_the_vm() {
    each_jdk(|jdk| compare(jdk, "Shapes", &["-XX:+UseSerialGC"]));
}

#[test]
fn sums_are_those_of_the_vm_with_wide_references() {
    each_jdk(|jdk| {
        compare(jdk, "Shapes", &["-XX:+UseG1GC", "-XX:-UseCompressedOops"]);
    });
}

#[test]
fn sums_are_those_of_the_vm_with_hidden_and_contended_fields() {
    // These write objects in the order in which they find them.
    each_release_since(11, |jdk| {
        for collector in ["-XX:+UseZGC", "-XX:+UseShenandoahGC"] {
            let flags = ["-XX:+UnlockExperimentalVMOptions", collector];
            compare(jdk, "HiddenFields", &flags);
        }
    });
}

#[test]
fn sums_are_those_of_the_vm_with_objects_aligned_to_16_bytes() {
    each_release_since(11, |jdk| {
        compare(jdk, "HiddenFields", &["-XX:ObjectAlignmentInBytes=16"])
    });
}

#[test]
fn sums_are_those_of_the_vm_with_wide_class_pointers() {
    each_jdk(|jdk| compare(jdk, "HiddenFields", &["-XX:-UseCompressedClassPointers"]));
}

#[test]
fn sums_are_those_of_the_vm_with_compact_headers() {
    each_release_since(11, |jdk| {
        // A product option since JDK 25 (JEP 519).
        if jdk.feature() >= 25 {
            for collector in ["-XX:+UseG1GC", "-XX:+UseZGC"] {
                let flags = ["-XX:+UseCompactObjectHeaders", collector];
                compare(jdk, "HiddenFields", &flags);
            }
        }
    });
}

//! heap=sites counts every allocation, and knows which objects are alive.

use std::collections::{BTreeMap, BTreeSet};

use hprof_analysis::names::{family, source_form};
use java_test_harness::{
    Outcome, Run, Running, SiteExpectation, SiteRow, TextProfile, contains, each_collector,
    each_jdk, each_release,
};

const DUMPED: &str = "Dumping allocation sites ... done.\n";

/// The sums of allocated and live objects of the rows.
fn counts<'a>(rows: impl Iterator<Item = &'a SiteRow>) -> (u64, u64) {
    rows.fold((0, 0), |(allocated, live), row| {
        (allocated + row.allocated_objects, live + row.live_objects)
    })
}

/// The rows that a program has announced.
fn rows_of<'a>(
    profile: &'a TextProfile,
    expectation: &SiteExpectation<'_>,
) -> impl Iterator<Item = &'a SiteRow> {
    let rows = profile.sites().rows.iter();
    rows.filter(|row| expectation.is_of(&row.class, &profile.traces[&row.trace].methods()))
}

/// The profile agrees with what the program has printed.
fn assert_sites(outcome: &Outcome, profile: &TextProfile) {
    for expectation in SiteExpectation::printed(&outcome.stdout) {
        assert_eq!(
            counts(rows_of(profile, &expectation)),
            (expectation.allocated, expectation.live),
            "{expectation:?}"
        );
    }
    for counter in [
        "events_without_stack",
        "stacks_mistaken",
        "events_without_class",
        "objects_not_followed",
        "threads_not_primed",
        "stacks_cut",
        "caches_unread",
        "internal_errors",
    ] {
        assert_eq!(profile.counter(counter), 0, "{counter}");
    }
}

#[test]
fn the_sites_of_a_small_program_are_exact() {
    each_collector(|jdk, collector| {
        let outcome = Run::new(jdk)
            .jvm_args(collector.arguments())
            .agent("heap=sites,cutoff=0")
            .class("Alloc")
            .run()
            .expect_status(0);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str()),
            ("done\n", DUMPED)
        );
        let profile = outcome.profile();
        for (class, method, allocated, live) in [
            ("Alloc$Payload", "Alloc.make", 5000, 1000),
            ("int[]", "Alloc.main", 100, 100),
            ("java.lang.Object[]", "Alloc.main", 7, 7),
        ] {
            let rows: Vec<&SiteRow> = profile
                .sites_with(method)
                .filter(|row| row.class == class)
                .collect();
            assert_eq!(rows.len(), 1, "{class}");
            assert_eq!(counts(rows.into_iter()), (allocated, live), "{class}");
        }
        let payload = profile.sites_with("Alloc.make").next().unwrap();
        assert_eq!(payload.allocated_bytes, 5 * payload.live_bytes);
        assert_eq!(payload.live_bytes % payload.live_objects, 0);
        // The 5,000 have one stack: the VM is asked for few more than there are different ones.
        if cfg!(target_arch = "x86_64") {
            let (taken, events) = (
                profile.counter("stacks_taken"),
                profile.counter("allocation_events"),
            );
            assert!(taken * 2 < events, "{taken} stacks of {events} objects");
        }
    });
}

#[test]
fn every_way_to_allocate_is_counted() {
    each_collector(|jdk, collector| {
        let outcome = Run::new(jdk)
            .jvm_args(collector.arguments())
            .agent("heap=sites,cutoff=0,depth=12")
            .class("Allocations")
            .run()
            .expect_status(0);
        assert_eq!(outcome.stderr, DUMPED);
        assert_sites(&outcome, &outcome.profile());
    });
}

/// Most objects are counted without an event of the VM, as the class word and the length in the object say. These lie in other
/// places with each of these options.
#[test]
fn objects_of_known_sites_are_counted_without_an_event() {
    each_release(|jdk| {
        let mut layouts = vec![vec!["-XX:+UseParallelGC"], vec!["-XX:-UseCompressedOops"]];
        if jdk.feature() < 25 {
            layouts.push(vec!["-XX:-UseCompressedClassPointers"]);
        } else {
            layouts.push(vec!["-XX:+UseCompactObjectHeaders"]);
        }
        // How these lay out or allocate objects does not depend on the release as headers and pointers do.
        if [17, 25, 27].contains(&jdk.feature()) {
            layouts.push(vec!["-XX:ObjectAlignmentInBytes=16"]);
            layouts.push(vec!["-Xint"]);
            layouts.push(vec!["-XX:TieredStopAtLevel=1"]);
            layouts.push(vec!["-XX:+UseG1GC", "-XX:-UseTLAB"]);
        }
        for layout in layouts {
            let run = |options: &str| {
                let run = Run::new(jdk).jvm_args(&layout).class("Allocations");
                run.agent(&format!("heap=sites,cutoff=0,depth=12{options}"))
                    .run()
                    .expect_status(0)
            };
            let (known, events) = (run(""), run(",shortcut=n"));
            let profiles = (known.profile(), events.profile());
            assert_sites(&known, &profiles.0);
            assert_sites(&events, &profiles.1);
            let without = |profile: &TextProfile| profile.counter("without_event");
            assert_eq!(without(&profiles.1), 0);
            if cfg!(target_arch = "x86_64") {
                let all = profiles.0.counter("allocation_events");
                let known = without(&profiles.0);
                assert!(known * 2 > all, "{layout:?}: {known}");
            }
            // Sizes too: of arrays by their lengths. The VM itself makes strings anywhere.
            let arrays =
                ["primitiveArrays", "matrices", "big"].map(|it| format!("Allocations.{it}"));
            let sizes = |profile: &TextProfile| {
                let mut sizes = BTreeMap::new();
                for row in &profile.sites().rows {
                    let methods = profile.traces[&row.trace].methods();
                    let is_array = arrays
                        .iter()
                        .any(|it| methods.first() == Some(&it.as_str()));
                    let is_programs = row.class.starts_with("Allocations$")
                        && !row.class.contains("$$Lambda")
                        && methods.iter().any(|it| it.starts_with("Allocations."));
                    if is_programs || is_array && row.class != "byte[]" {
                        let key = (row.class.clone(), methods.join("<"));
                        let size: &mut (u64, u64) = sizes.entry(key).or_default();
                        size.0 += row.allocated_objects;
                        size.1 += row.allocated_bytes;
                    }
                }
                sizes
            };
            let sizes = (sizes(&profiles.0), sizes(&profiles.1));
            assert!(sizes.0.len() > 15, "{}", sizes.0.len());
            assert_eq!(sizes.0, sizes.1, "{layout:?}");
        }
    });
}

/// A stack is known again when its methods were compiled, and with any class.
#[test]
fn a_stack_is_taken_once_for_all_compilers_and_classes() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("heap=sites,cutoff=0,depth=6")
            .class("OneStackManyClasses")
            .run()
            .expect_status(0);
        let profile = outcome.profile();
        assert_eq!(profile.counter("stacks_mistaken"), 0);
        let made = |method: &'static str, allocator: &str| {
            let mut made = BTreeMap::new();
            for row in profile.sites_with(method) {
                let methods = profile.traces[&row.trace].methods();
                if methods.first().is_some_and(|it| it.starts_with(allocator)) {
                    *made.entry(row.class.as_str()).or_default() += row.allocated_objects;
                }
            }
            made
        };
        let chains = made("OneStackManyClasses.first", "OneStackManyClasses.third");
        let chains: Vec<(&str, u64)> = chains.into_iter().collect();
        assert_eq!(chains, [("OneStackManyClasses$Made", 400_000)]);
        // By two stacks: compiled code has no frame of the native method Array.newArray. The VM makes the loop's iterator
        // there if it deoptimizes code that had done without it.
        let mut arrays = made("OneStackManyClasses.arrays", "java.lang.reflect.Array.");
        arrays.retain(|class, _| class.ends_with("[]"));
        let arrays: Vec<u64> = arrays.into_values().collect();
        assert_eq!(arrays, [2000; 120]);
        if cfg!(target_arch = "x86_64") {
            let counter = |name| profile.counter(name);
            // Once more for each compilation that is met before its methods have ids, and where it is due for
            // deoptimization: how many there are depends on when compilers get to run. It would be once for each array.
            let arrays = 120 * 2_000;
            let taken = counter("stacks_taken");
            assert!(taken < arrays / 4, "{taken} stacks");
            let events = counter("allocation_events") - counter("without_event");
            assert!(events < arrays / 4, "{events} events, {taken} stacks");
        }
    });
}

/// A class that comes after one that was unloaded may have its place in the VM's memory: its objects the same class word, and its
/// methods, while they are interpreted, the same address.
#[test]
fn objects_of_unloaded_classes_do_not_become_others() {
    each_jdk(|jdk| {
        let run = |pause| {
            let outcome = Run::new(jdk)
                .jvm_args(["-XX:+UseSerialGC", "-Xint"])
                .agent("heap=sites,cutoff=0,depth=4")
                .class("ReusedClasses")
                .args([pause])
                .run()
                .expect_status(0);
            let profile = outcome.profile();
            (outcome, profile)
        };
        // On a busy machine the agent may come too late for a name, and the VM's news of an unloaded class after the next
        // class.
        let (outcome, profile) = ["300", "1500"]
            .into_iter()
            .map(run)
            .find(|(outcome, profile)| {
                profile.counter("unknown_methods") == 0
                    && SiteExpectation::printed(&outcome.stdout)
                        .iter()
                        .all(|it| counts(rows_of(profile, it)) == (it.allocated, it.live))
            })
            .unwrap_or_else(|| run("6000"));
        assert_sites(&outcome, &profile);
    });
}

#[test]
fn every_depth_works() {
    each_jdk(|jdk| {
        for depth in [256, 2048] {
            let outcome = Run::new(jdk)
                .agent(&format!("heap=sites,cutoff=0,depth={depth}"))
                .class("Alloc")
                .run()
                .expect_status(0);
            let profile = outcome.profile();
            assert_eq!(counts(profile.sites_with("Alloc.make")), (5000, 1000));
        }
        let outcome = Run::new(jdk)
            .agent("heap=sites,cutoff=0,depth=0")
            .class("Alloc")
            .run()
            .expect_status(0);
        let profile = outcome.profile();
        let payload = profile.sites().rows.iter();
        let payload: Vec<_> = payload.filter(|row| row.class == "Alloc$Payload").collect();
        assert_eq!((payload.len(), payload[0].trace), (1, 300_000));
        assert_eq!(counts(payload.into_iter()), (5000, 1000));
    });
}

/// Objects and bytes by class.
type Totals = BTreeMap<String, (u64, u64)>;

/// A class's name as Java source has it, without what tells hidden classes apart.
fn source_name(name: &str) -> String {
    family(&source_form(name)).into_owned()
}

fn histogram(running: &Running) -> Totals {
    let mut totals = Totals::new();
    for line in running.jcmd(&["GC.class_histogram"]).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [rank, objects, bytes, name, ..] = words.as_slice()
            && rank.ends_with(':')
        {
            let total = totals.entry(source_name(name)).or_default();
            total.0 += objects.parse::<u64>().unwrap();
            total.1 += bytes.parse::<u64>().unwrap();
        }
    }
    totals
}

/// The live objects of all sites are those that the VM counts at the same time.
#[test]
fn live_objects_are_those_of_the_vm() {
    each_jdk(|jdk| {
        let running = Run::new(jdk)
            .agent("heap=sites,cutoff=0,doe=n")
            .class("Shapes")
            .start();
        running.wait_for_line("ready");
        // The first commands make the VM load classes.
        for dumps in 1..=2 {
            running.jcmd(&["JVMTI.data_dump"]);
            running.wait_until("the dump", |it| {
                it.stderr().matches("done.").count() == dumps
            });
            histogram(&running);
        }
        let before = histogram(&running);
        running.jcmd(&["JVMTI.data_dump"]);
        running.wait_until("the dump", |it| it.stderr().matches("done.").count() == 3);
        let after = histogram(&running);
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let mut ours = Totals::new();
        for row in &outcome.profile().sites().rows {
            let total = ours.entry(source_name(&row.class)).or_default();
            total.0 += row.live_objects;
            total.1 += row.live_bytes;
        }
        ours.retain(|_, total| *total != (0, 0));
        let names: BTreeSet<&String> = ours
            .keys()
            .chain(before.keys())
            .chain(after.keys())
            .collect();
        let mut same = 0;
        for name in names {
            let of = |totals: &Totals| totals.get(name).copied().unwrap_or_default();
            let (first, last) = (of(&before), of(&after));
            // Unused memory, which the VM makes look like objects; its histogram shows it, and we
            // do not.
            let is_filler = name.starts_with("jdk.internal.vm.Filler")
                || jdk.feature() < 19 && matches!(&**name, "int[]" | "java.lang.Object");
            // The program sleeps and looks for its file, even between collection and count.
            let is_new = matches!(
                &**name,
                "java.io.File" | "jdk.internal.event.ThreadSleepEvent"
            );
            if first != last || is_filler || is_new {
                continue;
            }
            assert_eq!(of(&ours), first, "{name}");
            same += 1;
        }
        assert!(same > 200, "{same} classes compared");
    });
}

#[test]
fn threads_that_go_on_allocating_do_not_hold_up_the_end() {
    each_jdk(|jdk| {
        for format in ["a", "b"] {
            let outcome = Run::new(jdk)
                .jvm_arg("-Xmx600m")
                .agent(&format!("heap=all,depth=200,format={format},file=profile"))
                .class("BusyExit")
                .run()
                .expect_status(7);
            assert_eq!(outcome.stdout, "exit\n");
            let file = std::fs::metadata(outcome.path("profile"));
            assert!(file.is_ok_and(|it| it.len() > 0), "format={format}");
        }
    });
}

#[test]
fn a_site_whose_objects_are_all_dead_is_shown_by_what_it_has_allocated() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("heap=sites").class("Garbage");
        let profile = run.run().expect_status(0).profile();
        let churned = profile.sites_with("Garbage.churn").next();
        let churned = churned.expect("the site of the garbage");
        assert_eq!((churned.live_objects, churned.allocated_objects), (0, 64));
        let table = &profile.site_tables[0].rows;
        let shown: u64 = table.iter().map(|row| row.allocated_bytes).sum();
        let left = profile.counter("allocated_bytes_below_cutoff");
        assert_eq!(profile.counter("allocated_bytes"), shown + left);
        assert!(left * 100 <= shown, "{left} of {shown} bytes are left out");
        let shown: u64 = table.iter().map(|row| row.live_objects).sum();
        assert!(profile.counter("live_objects") >= shown);
        // A cutoff that is given acts by itself.
        let run = Run::new(jdk)
            .agent("heap=sites,cutoff=0.5")
            .class("Garbage");
        let profile = run.run().expect_status(0).profile();
        let classes: Vec<_> = profile.site_tables[0].rows.iter().collect();
        assert_eq!(classes.len(), 2, "{classes:?}");
        assert!(profile.counter("rows_below_cutoff") > 10);
    });
}

#[test]
fn sampled_objects_that_all_live_are_all_alive_in_an_estimate() {
    each_jdk(|jdk| {
        let running = Run::new(jdk)
            .agent("heap=sites,heapinterval=4k,live=estimate,cutoff=0,file=sites.txt")
            .class("KeepsAndMakes")
            .start();
        running.wait_for_line("ready");
        std::fs::write(running.path("end"), "").unwrap();
        let profile = running.finish().expect_status(0).text_profile("sites.txt");
        let rows = profile.sites().rows.iter();
        let kept = rows.filter(|row| row.class.starts_with("KeepsAndMakes$Old"));
        let (allocated, live) = counts(kept);
        // 200,000 objects of 16 bytes in steps of 4 kB: about 780 are recorded, fewer than a site may have before
        // only some of its objects are followed.
        assert!((160_000..240_000).contains(&allocated), "{allocated}");
        assert_eq!(live, allocated);
    });
}

#[test]
fn hidden_classes_have_addresses_in_binary_files_only() {
    each_jdk(|jdk| {
        let run = |options: &str| {
            let options = format!("heap=sites,cutoff=0,depth=32,file=out,{options}");
            let run = Run::new(jdk).agent(&options).class("Allocations");
            run.run().expect_status(0)
        };
        // JDK 11 numbers them by hashes.
        let mark = if jdk.feature() == 11 { b"MH." } else { b".0x" };
        let hidden = |lines: &[u8]| {
            lines
                .windows(4)
                .any(|window| window.starts_with(mark) && window[3].is_ascii_digit())
        };
        let text = String::from_utf8(run("format=a").bytes("out")).expect("UTF-8");
        // Below the head, which quotes the original's manual.
        let profile = text.split_once("--------").expect("a head").1;
        assert!(profile.contains("Allocations$$Lambda\n"));
        assert!(!hidden(profile.as_bytes()));
        assert!(profile.contains("(format=b keeps them)"));
        let binary = run("format=b").bytes("out");
        assert!(contains(&binary, b"Allocations$$Lambda") && hidden(&binary));
        assert!(!contains(&binary, b"keeps them"));
    });
}

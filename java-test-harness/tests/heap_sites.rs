//! heap=sites counts every allocation, and knows which objects are alive.

use java_test_harness::{Outcome, Run, SiteRow, TextProfile, each_collector, each_jdk};

const DUMPED: &str = "Dumping allocation sites ... done.\n";

/// The sums of allocated and live objects of the rows.
fn counts<'a>(rows: impl Iterator<Item = &'a SiteRow>) -> (u64, u64) {
    rows.fold((0, 0), |(allocated, live), row| {
        (allocated + row.allocated_objects, live + row.live_objects)
    })
}

/// What a program prints as `site CLASS METHOD ALLOCATED LIVE` is what the profile says.
fn assert_sites(outcome: &Outcome, profile: &TextProfile) {
    let mut checked = 0;
    for line in outcome.stdout.lines() {
        let Some(expectation) = line.strip_prefix("site ") else {
            continue;
        };
        let words: Vec<&str> = expectation.split(' ').collect();
        let (class, method, is_innermost, allocated, live) = match words[..] {
            [class, method, allocated, live] => (class, method, false, allocated, live),
            [class, method, "innermost", allocated, live] => (class, method, true, allocated, live),
            _ => panic!("{line}"),
        };
        let rows = profile.sites_with(method).filter(|row| {
            let frames = &profile.traces[&row.trace].frames;
            !is_innermost || frames[0].starts_with(&format!("{method}("))
        });
        let found = counts(rows.filter(|row| match class.strip_suffix('*') {
            Some(start) => row.class.starts_with(start),
            None => row.class == class,
        }));
        assert_eq!(
            found,
            (allocated.parse().unwrap(), live.parse().unwrap()),
            "allocated and live {class} in {method}"
        );
        checked += 1;
    }
    assert!(checked > 0, "nothing was expected");
    for counter in [
        "events_without_stack",
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

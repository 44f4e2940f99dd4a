//! native=SIZE: memory outside of the heap, by the stacks that have allocated it.

use java_test_harness::{
    Outcome, Run, SiteRow, TextProfile, each_jdk, each_jdk_since, each_release, native_cycles,
};

/// What the program says that a method has allocated.
struct Truth {
    method: String,
    bytes: u64,
    calls: u64,
    is_held: bool,
}

fn truths(stdout: &str) -> Vec<Truth> {
    let truth = |line: &str| {
        let mut words = line.split(' ');
        Some(Truth {
            method: format!("NativeAllocations.{}", words.next()?),
            bytes: words.next()?.parse().ok()?,
            calls: words.next()?.parse().ok()?,
            is_held: words.next()? == "held",
        })
    };
    stdout.lines().filter_map(truth).collect()
}

/// The standard error of the sum of `calls` equal blocks of which each is sampled with a probability `p`, and stands
/// for `size / p` bytes then.
fn standard_error(truth: &Truth, interval: f64) -> f64 {
    let size = truth.bytes as f64 / truth.calls as f64;
    let p = 1.0 - (-size / interval).exp();
    size * (truth.calls as f64 * (1.0 - p) / p).sqrt()
}

/// A method's allocated and live bytes. What the JVM itself allocates below it, such as memory for compiled code, is
/// small against that.
fn sums(profile: &TextProfile, truth: &Truth) -> (f64, f64) {
    let has_function = |row: &&SiteRow| match truth.method.ends_with("grows") {
        true => row.class == "realloc",
        false => row.class == "malloc",
    };
    let rows = profile.sites_with(&truth.method).filter(has_function);
    rows.fold((0.0, 0.0), |(allocated, live), row| {
        (
            allocated + row.allocated_bytes as f64,
            live + row.live_bytes as f64,
        )
    })
}

/// The sums of the profile are those of the program, within five standard errors and half a percent.
fn assert_sums(outcome: &Outcome, profile: &TextProfile, interval: f64) {
    let truths = truths(&outcome.stdout);
    assert!(truths.len() >= 2, "{}", outcome.stdout);
    for truth in &truths {
        let (allocated, live) = sums(profile, truth);
        let total = truth.bytes as f64;
        let error = 5.0 * standard_error(truth, interval) + 0.005 * total;
        let (method, bytes) = (&truth.method, truth.bytes);
        assert!(
            (allocated - total).abs() <= error,
            "{method}: {allocated} of {bytes} bytes, {error}"
        );
        // The JVM frees what it has allocated below the method.
        let expected = if truth.is_held { allocated } else { 0.0 };
        assert!(
            (live - expected).abs() <= 0.01 * total,
            "{method}: {live} of {allocated}"
        );
    }
    assert_eq!(profile.counter("native_blocks_not_followed"), 0);
    assert_eq!(profile.counter("internal_errors"), 0);
}

/// Each of four threads allocates 20,000 blocks of each kind. With an interval of 16 KB the smallest ones, of 10,000
/// bytes, are sampled with a probability of 0.46: the standard error of their sum, 800 MB, is 0.4 %.
#[test]
fn sums_are_those_of_the_program_and_freed_memory_is_not_live() {
    each_release(|jdk| {
        let outcome = Run::new(jdk)
            .agent("native=16k,depth=64,cutoff=0")
            .class("NativeAllocations")
            .args(["4", "20000"])
            .run()
            .expect_status(0);
        let profile = outcome.profile();
        let text = String::from_utf8_lossy(&outcome.bytes("java.hprof.txt")).into_owned();
        assert!(text.contains("NATIVE SITES BEGIN (ordered by live bytes)"));
        assert_sums(&outcome, &profile, 16384.0);
        // Inflaters that are not closed have their memory by zlib.
        let inflaters = profile.sites_with("NativeAllocations.keepsOpen");
        let held: u64 = inflaters.map(|row| row.live_bytes).sum();
        assert!(held > 2_000 * 5_000, "{held}");
    });
}

/// With an interval of one byte each block is sampled, also those that the VM allocates while it makes a thread or ends one,
/// the main thread included.
#[test]
fn threads_that_begin_and_end_are_sampled() {
    each_release(|jdk| {
        let outcome = Run::new(jdk)
            .agent("native=1,depth=64,cutoff=0")
            .class("ThreadsThatInflate")
            .args(["50"])
            .run()
            .expect_status(0);
        assert_eq!(outcome.stdout, "ended 50\n");
        let profile = outcome.profile();
        let inflaters = profile.sites_with("java.util.zip.Inflater.init");
        // Those of the program: class loaders of JDK 8 keep one for archives.
        let lambda = "ThreadsThatInflate.lambda$main$0";
        let own = inflaters.filter(|row| profile.traces[&row.trace].has(lambda));
        let (calls, live) = own.fold((0, 0), |(calls, live), row| {
            (calls + row.allocated_objects, live + row.live_bytes)
        });
        assert!(calls >= 50, "{calls}");
        assert_eq!(live, 0);
    });
}

/// Pictures have the live bytes first. Blocks of 1 MB are all sampled, as they are 61 times larger than the interval.
#[test]
fn pictures_show_what_is_held() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("native=16k,file=native.collapsed")
            .class("NativeAllocations")
            .args(["1", "10"])
            .run()
            .expect_status(0);
        let text = String::from_utf8_lossy(&outcome.bytes("native.collapsed")).into_owned();
        let is_held = |line: &&str| {
            line.contains("NativeAllocations.main;NativeAllocations.holdsBuffers;")
                && line.contains(";malloc ")
        };
        let bytes = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
        let held: u64 = text.lines().filter(is_held).filter_map(bytes).sum();
        assert!((100_000_000..101_000_000).contains(&held), "{held}");
    });
}

/// A page begins with what was allocated in the first half and is still held, the program's method in a sentence.
#[test]
fn a_page_begins_with_what_is_held_for_long() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("native=16k,file=native.html")
            .class("NativeAllocations")
            .args(["1", "10"])
            .run()
            .expect_status(0);
        let page = String::from_utf8_lossy(&outcome.bytes("native.html")).into_owned();
        let first = page.find("\"title\":\"Held since the first half\"");
        let next = page.find("\"title\":\"Live bytes\"");
        assert!(first.is_some() && first < next, "{first:?} {next:?}");
        assert!(page.contains("% in NativeAllocations."), "no sentence");
    });
}

/// The short form of `scripts/bench cycles`.
#[test]
fn runs_begin_and_end_while_sixteen_threads_allocate() {
    // The jcmd of JDK 8 loads no agents.
    each_jdk_since(11, |jdk| {
        let cycles = native_cycles(jdk, 10, 1);
        assert!(cycles.compressed_bytes > 0);
        let outcome = cycles.outcome.expect_status(0);
        assert!(outcome.stdout.ends_with("ended\n"));
        assert!(
            !outcome.stderr.contains("HPROF ERROR"),
            "{}",
            outcome.stderr
        );
    });
}
